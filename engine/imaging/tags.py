"""Read the EXIF and TIFF tags we use from untrusted bytes.

One bounded reader handles EXIF blocks and TIFF files (an EXIF block is a TIFF file without pixels). It never raises and
never follows an offset outside the data. Unreadable tags are treated as missing.
"""

import struct
from collections.abc import Iterator

MAX_ENTRIES = 1000  # per directory; real ones have fewer than 100
MAX_VALUES = 64  # per tag; longer ones are maker notes and strip tables, which are not needed

NEW_SUBFILE, ORIENTATION, DATE_TIME, EXIF_IFD, GPS_IFD = 0x00FE, 0x0112, 0x0132, 0x8769, 0x8825
MAKE, MODEL = 0x010F, 0x0110
ORIGINAL, ORIGINAL_OFFSET, ORIGINAL_SUBSECONDS, SUBJECT_AREA = 0x9003, 0x9011, 0x9291, 0x9214
(GPS_LATITUDE_REF, GPS_LATITUDE, GPS_LONGITUDE_REF, GPS_LONGITUDE, GPS_ALTITUDE_REF, GPS_ALTITUDE, GPS_DIRECTION) = (
    1,
    2,
    3,
    4,
    5,
    6,
    17,
)

NUMBERS = {1: "B", 3: "H", 4: "I", 6: "b", 8: "h", 9: "i", 11: "f", 12: "d"}
RATIONALS = {5: "II", 10: "ii"}
TEXT = 2
Value = str | tuple[float, ...]


class Tags:
    """Tags of the first directory, its EXIF and its GPS directory, and whether more pages follow."""

    def __init__(self, data: bytes):
        self._data = data.removeprefix(b"Exif\0\0")
        self._order = {b"II*\0": "<", b"MM\0*": ">"}.get(self._data[:4])
        self.first, following = self._directory(self._unsigned("I", 4))
        self.exif = self._child(EXIF_IFD)
        self.gps = self._child(GPS_IFD)
        self.second, _ = self._directory(following)

    def number(self, directory: dict[int, Value], tag: int) -> float | None:
        """Return the value of a tag that contains exactly one number."""
        values = directory.get(tag)
        return values[0] if isinstance(values, tuple) and len(values) == 1 else None

    def text(self, directory: dict[int, Value], tag: int) -> str:
        value = directory.get(tag, "")
        return value if isinstance(value, str) else ""

    def _child(self, tag: int) -> dict[int, Value]:
        return self._directory(self.number(self.first, tag))[0]

    def _directory(self, offset: float | None) -> tuple[dict[int, Value], int | None]:
        """Return the tags at the offset and the position of the next directory (None if there is none)."""
        if not self._order or not offset:
            return {}, None
        start = int(offset)
        count = self._unsigned("H", start)
        if count is None or count > MAX_ENTRIES:
            return {}, None
        entries = {tag: value for at in range(count) for tag, value in self._entry(start + 2 + 12 * at)}
        return entries, self._unsigned("I", start + 2 + 12 * count)

    def _entry(self, at: int) -> Iterator[tuple[int, Value]]:
        head = self._unpack("HHI", at)
        if head is None:
            return
        tag, kind, count = head
        value = self._value(kind, count, at + 8)
        if value is not None:
            yield tag, value

    def _value(self, kind: int, count: int, at: int) -> Value | None:
        code = "B" if kind == TEXT else NUMBERS.get(kind) or RATIONALS.get(kind)
        if code is None or not 0 < count <= MAX_VALUES:
            return None
        form = code * count
        start = at if struct.calcsize("=" + form) <= 4 else self._unsigned("I", at)
        raw = None if start is None else self._unpack(form, start)
        if raw is None:
            return None
        if kind == TEXT:
            return bytes(raw).split(b"\0")[0].decode("latin-1").strip()
        return _ratios(raw) if kind in RATIONALS else tuple(float(number) for number in raw)

    def _unsigned(self, code: str, at: int) -> int | None:
        values = self._unpack(code, at)
        return values[0] if values else None

    def _unpack(self, form: str, at: int) -> tuple | None:
        if not self._order or not 0 <= at <= len(self._data) - struct.calcsize("=" + form):
            return None
        return struct.unpack_from(self._order + form, self._data, at)


def _ratios(raw: tuple[int, ...]) -> tuple[float, ...] | None:
    pairs = list(zip(raw[::2], raw[1::2], strict=True))
    return None if any(below == 0 for _, below in pairs) else tuple(above / below for above, below in pairs)
