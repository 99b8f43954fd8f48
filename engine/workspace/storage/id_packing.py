"""Sorted ids as bytes: compressed gaps in chunks, so that one id is looked up without unpacking a million.

    b"B2", number of chunks, first id of each chunk, where each chunk ends, the chunks

A chunk is one byte, the size of a gap in bytes, and the compressed gaps.
"""

import zlib

import numpy as np

MAGIC = b"B2"
CHUNK = 4096  # ids: unpacking one takes some twenty microseconds
HEAD = len(MAGIC) + 4


def pack_ids(ids: np.ndarray) -> bytes:
    """Of sorted ids, each once: a run of neighbours takes next to nothing."""
    parts = [ids[at : at + CHUNK] for at in range(0, len(ids), CHUNK)]
    chunks = [_compressed(np.diff(part, prepend=part[0])) for part in parts]
    firsts = np.array([part[0] for part in parts], "<i8")
    ends = np.cumsum([len(chunk) for chunk in chunks]).astype("<i8")
    return b"".join([MAGIC, len(parts).to_bytes(4, "little"), firsts.tobytes(), ends.tobytes(), *chunks])


def unpack_ids(packed: bytes) -> np.ndarray:
    if packed[: len(MAGIC)] != MAGIC:  # written before chunks were
        return np.cumsum(np.frombuffer(zlib.decompress(packed), "<i8"))
    firsts, _ = _directory(packed)
    parts = [_chunk(packed, number) for number in range(len(firsts))]
    return np.concatenate(parts) if parts else np.empty(0, np.int64)


def holds(packed: bytes, wanted: int) -> bool:
    """Whether the id is among those packed."""
    if packed[: len(MAGIC)] != MAGIC:
        return bool(np.isin(wanted, unpack_ids(packed)))
    number = int(np.searchsorted(_directory(packed)[0], wanted, "right")) - 1
    if number < 0:
        return False
    ids = _chunk(packed, number)
    place = int(np.searchsorted(ids, wanted))
    return place < len(ids) and ids[place] == wanted


def _directory(packed: bytes) -> tuple[np.ndarray, np.ndarray]:
    """(first id of every chunk, where every chunk ends)."""
    count = int.from_bytes(packed[len(MAGIC) : HEAD], "little")
    both = np.frombuffer(packed, "<i8", 2 * count, HEAD)
    return both[:count], both[count:]


def _chunk(packed: bytes, number: int) -> np.ndarray:
    firsts, ends = _directory(packed)
    begin = HEAD + 16 * len(firsts)
    start = int(ends[number - 1]) if number else 0
    chunk = packed[begin + start : begin + int(ends[number])]
    gaps = np.frombuffer(zlib.decompress(chunk[1:]), f"<u{chunk[0]}")
    return np.cumsum(gaps, dtype=np.int64) + firsts[number]


def _compressed(gaps: np.ndarray) -> bytes:
    """Gaps are never negative, and nearly always small."""
    size = next(size for size in (1, 2, 4, 8) if int(gaps.max()) < 1 << (8 * size))
    return bytes([size]) + zlib.compress(gaps.astype(f"<u{size}").tobytes(), 1)
