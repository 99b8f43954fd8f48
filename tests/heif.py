"""A HEIF file made by hand, because no encoder of a free licence is at hand.

The picture is one HEVC coding unit of 32 x 32 whose samples are stored as they are (PCM, ITU-T H.265 7.3.8.7), so the
only entropy coding is of three flags.
"""

import struct

import numpy as np

SIDE = 32


def heif(luma: np.ndarray, chroma_blue: int = 128, chroma_red: int = 128, *, quarter_turns: int = 0) -> bytes:
    """A file showing the (32, 32) uint8 luma in one colour; the turns, against the clock, are left to the reader."""
    sets = [_nal(32, _vps()), _nal(33, _sps()), _nal(34, _pps())]
    samples = luma.astype(np.uint8).tobytes() + bytes([chroma_blue] * 256) + bytes([chroma_red] * 256)
    slice_ = _nal(19, _slice(samples))
    coded = struct.pack(">I", len(slice_)) + slice_
    kind = _box(b"ftyp", b"heic" + bytes(4) + b"mif1heic")
    start = len(kind) + len(_meta(sets, quarter_turns, 0, len(coded))) + 8
    return kind + _meta(sets, quarter_turns, start, len(coded)) + _box(b"mdat", coded)


# --- the container, ISO/IEC 23008-12


def _box(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body) + 8) + kind + body


def _full(kind: bytes, body: bytes, version: int = 0, flags: int = 0) -> bytes:
    return _box(kind, struct.pack(">I", version << 24 | flags) + body)


def _meta(sets: list[bytes], quarter_turns: int, start: int, length: int) -> bytes:
    entry = _full(b"infe", struct.pack(">HH", 1, 0) + b"hvc1\0", version=2, flags=0)
    properties = [
        _box(b"hvcC", _configuration(sets)),
        _full(b"ispe", struct.pack(">II", SIDE, SIDE)),
        _box(b"irot", bytes([quarter_turns])),
    ]
    associations = struct.pack(">IHBBBB", 1, 1, 3, 0x81, 0x02, 0x83)
    return _full(
        b"meta",
        b"".join(
            [
                _full(b"hdlr", bytes(4) + b"pict" + bytes(13)),
                _full(b"pitm", struct.pack(">H", 1)),
                _full(b"iinf", struct.pack(">H", 1) + entry),
                _box(b"iprp", _box(b"ipco", b"".join(properties)) + _full(b"ipma", associations)),
                _full(b"iloc", struct.pack(">BBHHHHII", 0x44, 0, 1, 1, 0, 1, start, length)),
            ]
        ),
    )


def _configuration(sets: list[bytes]) -> bytes:
    head = bytes([1, 3, 0x70, 0, 0, 0, 0x90, 0, 0, 0, 0, 0, 30, 0xF0, 0, 0xFC, 0xFD, 0xF8, 0xF8, 0, 0, 0x0F, len(sets)])
    arrays = [bytes([0x80 | sets[0] >> 1]) + struct.pack(">HH", 1, len(sets)) + sets for sets in sets]
    return head + b"".join(arrays)


# --- the bit stream, ITU-T H.265


class Bits:
    def __init__(self):
        self.text = ""

    def u(self, width: int, *values: int) -> "Bits":
        """Fixed-length numbers."""
        self.text += "".join(f"{value:0{width}b}" for value in values)
        return self

    def ue(self, *values: int) -> "Bits":
        """Exp-Golomb numbers."""
        for value in values:
            code = f"{value + 1:b}"
            self.text += "0" * (len(code) - 1) + code
        return self

    def ended(self) -> bytes:
        """With the stop bit, filled up to whole bytes."""
        return self.u(1, 1).to_bytes()

    def to_bytes(self) -> bytes:
        text = self.text + "0" * (-len(self.text) % 8)
        return bytes(int(text[at : at + 8], 2) for at in range(0, len(text), 8))


def _nal(kind: int, body: bytes) -> bytes:
    """The unit, with the bytes put in that keep start codes from appearing in it."""
    out, zeros = bytearray(), 0
    for byte in body:
        if zeros == 2 and byte <= 3:
            out.append(3)
            zeros = 0
        out.append(byte)
        zeros = zeros + 1 if byte == 0 else 0
    return bytes([kind << 1, 1]) + bytes(out)


def _profile(bits: Bits) -> Bits:
    return bits.u(2, 0).u(1, 0).u(5, 3).u(32, 0x70000000).u(1, 1, 0, 0, 1).u(43, 0).u(1, 0).u(8, 30)


def _vps() -> bytes:
    bits = _profile(Bits().u(4, 0).u(1, 1, 1).u(6, 0).u(3, 0).u(1, 1).u(16, 0xFFFF))
    return bits.u(1, 1).ue(0, 0, 0).u(6, 0).ue(0).u(1, 0, 0).ended()


def _sps() -> bytes:
    bits = _profile(Bits().u(4, 0).u(3, 0).u(1, 1)).ue(0, 1, SIDE, SIDE).u(1, 0).ue(0, 0, 0).u(1, 1).ue(0, 0, 0)
    bits.ue(2, 0, 0, 3, 0, 0)  # coding units of 32, transforms of 4 to 32
    bits.u(1, 0, 0, 0, 1).u(4, 7, 7).ue(2, 0).u(1, 1)  # no scaling lists, no offsets; PCM of 8 bits in units of 32
    return bits.ue(0).u(1, 0, 0, 0, 0, 0).ended()


def _pps() -> bytes:
    bits = Bits().ue(0, 0).u(1, 0, 0).u(3, 0).u(1, 0, 0).ue(0, 0, 0).u(1, 0, 0, 0).ue(0, 0)
    bits.u(1, 0, 0, 0, 0, 0, 0, 0).u(1, 1, 0, 1)  # deblocking is controlled, and off
    return bits.u(1, 0, 0).ue(0).u(1, 0, 0).ended()


def _slice(samples: bytes) -> bytes:
    head = Bits().u(1, 1, 0).ue(0, 2, 0).ended()
    flags = _terminated(510 - 240)  # behind part_mode, the likely symbol of a fresh context; the other takes 240 of 510
    return head + flags + samples + _terminated(510)


def _terminated(width: int) -> bytes:
    """The arithmetic code of a last flag that is set, in an interval of this width, and the flush behind it.

    The interval begins at 0 and its last two units stand for the flag; nine bits name them, the last is the stop bit.
    """
    return Bits().u(9, (width - 2) | 1).to_bytes()
