"""Pack sorted ids to bytes: compressed gaps in chunks, so that a single id can be found without unpacking a million.

    b"B2", number of chunks, first id of each chunk, end of each chunk, the chunks

A chunk is one byte, the size of a gap in bytes, and the compressed gaps.
"""

import zlib

import numpy as np

MAGIC = b"B2"
CHUNK = 4096  # ids; unpacking a chunk takes about twenty microseconds
HEAD = len(MAGIC) + 4


def pack_ids(ids: np.ndarray) -> bytes:
    """Pack sorted distinct ids. Consecutive ids need almost no space."""
    blocks = [ids[at : at + CHUNK] for at in range(0, len(ids), CHUNK)]
    chunks = [_compressed(np.diff(block, prepend=block[0])) for block in blocks]
    firsts = np.array([block[0] for block in blocks], "<i8")
    ends = np.cumsum([len(chunk) for chunk in chunks]).astype("<i8")
    return b"".join([MAGIC, len(blocks).to_bytes(4, "little"), firsts.tobytes(), ends.tobytes(), *chunks])


def unpack_ids(packed: bytes) -> np.ndarray:
    if packed[: len(MAGIC)] != MAGIC:  # written before chunks were introduced
        return np.cumsum(np.frombuffer(zlib.decompress(packed), "<i8"))
    firsts, _ = _directory(packed)
    blocks = [_chunk(packed, number) for number in range(len(firsts))]
    return np.concatenate(blocks) if blocks else np.empty(0, np.int64)


def holds(packed: bytes, image_id: int) -> bool:
    """Return whether the id is among those packed."""
    if packed[: len(MAGIC)] != MAGIC:
        return bool(np.isin(image_id, unpack_ids(packed)))
    number = int(np.searchsorted(_directory(packed)[0], image_id, "right")) - 1
    if number < 0:
        return False
    ids = _chunk(packed, number)
    position = int(np.searchsorted(ids, image_id))
    return position < len(ids) and ids[position] == image_id


def _directory(packed: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Return (first id of each chunk, end of each chunk)."""
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
    """Compress gaps, which are never negative and almost always small."""
    size = next(size for size in (1, 2, 4, 8) if int(gaps.max()) < 1 << (8 * size))
    return bytes([size]) + zlib.compress(gaps.astype(f"<u{size}").tobytes(), 1)
