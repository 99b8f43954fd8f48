"""Files that can break programs, created byte by byte.

`images()` and `tables()` yield (name, content); `on_disk(folder)` creates what only a file system can hold. The names
describe the fault. Files whose name begins with `fine_` look dangerous but must be imported.
"""

import os
import socket
import struct
import zlib
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image

from tests.heif import heif

File = tuple[str, bytes]


def picture(seed: int = 0, size: tuple[int, int] = (64, 48)) -> Image.Image:
    """Return a small image of smooth noise that depends on the seed."""
    coarse = np.random.default_rng(seed).integers(0, 256, (6, 8, 3), dtype=np.uint8)
    return Image.fromarray(coarse).resize(size, Image.Resampling.BICUBIC)


def encoded(image: Image.Image, kind: str, **options) -> bytes:
    out = BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def images() -> Iterator[File]:
    yield from _cut_short()
    yield from _flipped()
    yield from _something_else()
    yield from _png()
    yield from _jpeg()
    yield from _tiff()
    yield from _other_files()
    yield from _exif()


# --- damage of every kind to every format

FORMATS = {
    "jpg": lambda: encoded(picture(), "JPEG", quality=90),
    "progressive.jpg": lambda: encoded(picture(), "JPEG", quality=90, progressive=True),
    "png": lambda: encoded(picture(), "PNG"),
    "tif": lambda: encoded(picture(), "TIFF"),
    "lzw.tif": lambda: encoded(picture(), "TIFF", compression="tiff_lzw"),
    "jpeg.tif": lambda: encoded(picture(), "TIFF", compression="jpeg"),
    "webp": lambda: encoded(picture(), "WEBP"),
    "lossless.webp": lambda: encoded(picture(), "WEBP", lossless=True),
    "heic": lambda: heif(np.asarray(picture(size=(32, 32)).convert("L"))),
}


def _cut_short() -> Iterator[File]:
    for ending, make in FORMATS.items():
        data = make()
        for at in (1, 4, 12, 30, len(data) // 4, len(data) // 2, len(data) * 9 // 10, len(data) - 1):
            yield f"cut_at_{at}.{ending}", data[:at]


def _flipped() -> Iterator[File]:
    draw = np.random.default_rng(7)
    for ending, make in FORMATS.items():
        for number in range(6):
            data = bytearray(make())
            for at in draw.integers(2, len(data), 1 + number * 4):
                data[at] ^= 1 << int(draw.integers(8))
            yield f"flipped_{number}.{ending}", bytes(data)
        data = bytearray(make())
        data[:2] = b"\0\0"
        yield f"head_overwritten.{ending}", bytes(data)


def _something_else() -> Iterator[File]:
    draw = np.random.default_rng(8)
    yield "empty.jpg", b""
    yield "one_byte.png", b"\xff"
    yield "zeros.tif", bytes(5_000)
    for number in range(6):
        yield f"noise_{number}.jpg", draw.bytes(3_000)
    yield from {
        "page.jpg": b"<!DOCTYPE html><html><body>404 Not Found</body></html>",
        "document.png": b"%PDF-1.7\n" + bytes(100),
        "archive.tif": b"PK\3\4" + bytes(100),
        "animation.jpg": encoded(picture(), "GIF"),
        "bitmap.jpg": encoded(picture(), "BMP"),
        "program.jpg": b"\x7fELF" + bytes(100),
        "note.jpg": b"see dive 7\n",
        "drawing.png": b"<svg xmlns='http://www.w3.org/2000/svg' width='9'/>",
        "clip.jpg": b"\0\0\0\x18ftypmp42" + bytes(90),
        "avif.jpg": b"\0\0\0\x18ftypavif" + bytes(90),
        "jp2.jpg": b"\0\0\0\x0cjP  \r\n\x87\n" + bytes(90),
        "script.jpg": b"#!/bin/sh\nrm -rf /\n",
        "photoshop.tif": b"8BPS\0\1" + bytes(90),
        "xml.jpg": b"<?xml version='1.0'?>",
    }.items()
    yield "fine_png_called.jpg", FORMATS["png"]()
    yield "fine_jpeg_called.tif", encoded(picture(1), "JPEG")
    yield "fine_webp_called.png", encoded(picture(2), "WEBP")


# --- PNG


def png(*chunks: tuple[bytes, bytes], end: bool = True) -> bytes:
    body = b"".join(chunk(*fields) for fields in chunks)
    return b"\x89PNG\r\n\x1a\n" + body + (chunk(b"IEND", b"") if end else b"")


def chunk(name: bytes, body: bytes, checksum: int | None = None) -> bytes:
    checksum = zlib.crc32(name + body) if checksum is None else checksum
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", checksum)


def head(width: int, height: int, depth: int = 8, colour: int = 2, interlace: int = 0) -> tuple[bytes, bytes]:
    return b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlace)


def pixels(width: int, height: int, bands: int = 3) -> tuple[bytes, bytes]:
    return b"IDAT", zlib.compress((b"\0" + b"\x80" * width * bands) * height)


def _png() -> Iterator[File]:
    good = pixels(4, 4)
    bomb = zlib.compress(bytes(200_000_000), 9)
    for name, width, height in (
        ("no_width", 0, 4),
        ("no_height", 4, 0),
        ("negative", 0x80000001, 4),
        ("long", 1, 0x7FFFFFFF),
        ("bomb", 60_000, 60_000),
        ("wide_bomb", 0x7FFFFFFF, 0x7FFFFFFF),
    ):
        yield f"png_{name}.png", png(head(width, height), good)
    yield "png_text_bomb.png", png(head(4, 4), (b"zTXt", b"Comment\0\0" + bomb), good)
    yield "png_unicode_text_bomb.png", png(head(4, 4), (b"iTXt", b"Comment\0\1\0\0\0" + bomb), good)
    yield "png_profile_bomb.png", png(head(4, 4), (b"iCCP", b"x\0\0" + bomb), good)
    yield "png_many_text_bombs.png", png(head(4, 4), *[(b"zTXt", b"C\0\0" + zlib.compress(bytes(900_000)))] * 100, good)
    yield "png_pixels_bomb.png", png(head(4, 4), (b"IDAT", bomb))
    yield "png_no_pixels.png", png(head(4, 4))
    yield "png_no_end.png", png(head(4, 4), (b"IDAT", good[1][:8]), end=False)
    yield "png_no_palette.png", png(head(4, 4, colour=3), pixels(4, 4, 1))
    yield "png_palette_too_short.png", png(head(4, 4, colour=3), (b"PLTE", b"\1\2\3"), pixels(4, 4, 1))
    yield "png_depth_3.png", png(head(4, 4, depth=3), good)
    yield "png_colour_5.png", png(head(4, 4, colour=5), good)
    yield "png_two_heads.png", png(head(4, 4), head(400, 400), good)
    yield "png_head_last.png", png(good, head(4, 4))
    yield "png_bad_checksum.png", b"\x89PNG\r\n\x1a\n" + chunk(*head(4, 4)) + chunk(*good, checksum=1)
    yield "png_chunk_beyond_the_end.png", png(head(4, 4), end=False) + struct.pack(">I", 0x7FFFFFFF) + b"IDAT"
    yield "png_unknown_critical_chunk.png", png(head(4, 4), (b"ABCD", b"?"), good)
    yield "png_not_zlib.png", png(head(4, 4), (b"IDAT", b"\1\2\3\4" * 9))
    yield "png_animation_without_frames.png", png(head(4, 4), (b"acTL", struct.pack(">II", 0, 0)), good)
    frame = struct.pack(">IIIIIHHBB", 0, 0xFFFF, 0xFFFF, 9, 9, 1, 1, 0, 0)
    yield "png_frame_outside.png", png(head(4, 4), (b"acTL", struct.pack(">II", 2, 0)), (b"fcTL", frame), good)
    yield "fine_png_10000_texts.png", png(head(4, 4), *[(b"tEXt", b"a\0b")] * 10_000, good)


# --- JPEG


def segment(marker: int, body: bytes) -> bytes:
    return struct.pack(">BBH", 0xFF, marker, len(body) + 2) + body


def with_size(data: bytes, width: int, height: int) -> bytes:
    """Return a JPEG with a wrong size in its header."""
    at = next(at for marker in (b"\xff\xc0", b"\xff\xc2") if (at := data.find(marker)) >= 0)
    return data[: at + 5] + struct.pack(">HH", height, width) + data[at + 9 :]


def _jpeg() -> Iterator[File]:
    good, progressive = FORMATS["jpg"](), FORMATS["progressive.jpg"]()
    for name, width, height in (
        ("no_width", 0, 48),
        ("no_height", 64, 0),
        ("bomb", 65_535, 65_535),
        ("taller", 64, 5_000),
    ):
        yield f"jpeg_{name}.jpg", with_size(good, width, height)
    scan = progressive[progressive.rfind(b"\xff\xda") : -2]
    yield "fine_jpeg_2000_scans.jpg", progressive[:-2] + scan * 2_000 + b"\xff\xd9"
    tables = good.find(b"\xff\xc4")
    yield "jpeg_no_huffman_tables.jpg", good[:tables] + good[good.rfind(b"\xff\xda") :]
    yield "jpeg_head_only.jpg", b"\xff\xd8\xff\xd9"
    yield "jpeg_endless_markers.jpg", b"\xff\xd8" + b"\xff" * 100_000
    yield "jpeg_segment_beyond_the_end.jpg", good[:2] + b"\xff\xe1\xff\xff" + good[2:100]
    yield "jpeg_segment_of_length_0.jpg", good[:2] + b"\xff\xe1\0\0" + good[2:]
    yield "jpeg_twelve_bits.jpg", good.replace(b"\xff\xc0\0\x11\x08", b"\xff\xc0\0\x11\x0c", 1)
    yield "jpeg_arithmetic.jpg", good.replace(b"\xff\xc0", b"\xff\xc9", 1)
    yield "jpeg_interrupted_copy.jpg", encoded(picture(size=(640, 480)), "JPEG")[:4_000] + bytes(20_000)
    yield "jpeg_two_images.jpg", good[:-200] + encoded(picture(3), "JPEG")
    yield "fine_jpeg_with_tail.jpg", encoded(picture(4), "JPEG") + b"a trailer some cameras write" * 99
    yield (
        "fine_jpeg_bad_profile.jpg",
        good[:2] + segment(0xE2, b"ICC_PROFILE\0\x09\x02garbage") + encoded(picture(5), "JPEG")[2:],
    )
    yield (
        "fine_jpeg_broken_mpf.jpg",
        good[:2] + segment(0xE2, b"MPF\0II*\0\xff\xff\xff\xff") + encoded(picture(6), "JPEG")[2:],
    )
    yield "fine_jpeg_60000_comments.jpg", good[:2] + segment(0xFE, b"") * 60_000 + encoded(picture(7), "JPEG")[2:]
    yield "fine_cmyk.jpg", encoded(picture(8).convert("CMYK"), "JPEG")


# --- TIFF


def tiff(*entries: tuple[int, int, int, int], following: int = 0, body: bytes = b"", order: str = "<") -> bytes:
    """Return a TIFF with one directory immediately after the header, followed by the body."""
    fields = b"".join(struct.pack(f"{order}HHII", *entry) for entry in entries)
    mark = b"II*\0" if order == "<" else b"MM\0*"
    return mark + struct.pack(f"{order}IH", 8, len(entries)) + fields + struct.pack(f"{order}I", following) + body


def plain_tiff(**changes: int) -> list[tuple[int, int, int, int]]:
    """Return the entries of a grey 4 x 4 image whose pixels follow the directory, some of them changed."""
    values = {
        "width": (256, 4),
        "height": (257, 4),
        "bits": (258, 8),
        "compression": (259, 1),
        "photometric": (262, 1),
        "offset": (273, 8 + 2 + 10 * 12 + 4),
        "samples": (277, 1),
        "rows": (278, 4),
        "bytes": (279, 16),
        "planar": (284, 1),
    }
    return [(tag, 4, 1, changes.get(name, value)) for name, (tag, value) in values.items()]


def _tiff() -> Iterator[File]:
    body = bytes(range(16))
    for name, change in {
        "no_width": {"width": 0},
        "bomb": {"width": 100_000, "height": 100_000},
        "strip_beyond_the_end": {"offset": 9**9},
        "bits_3": {"bits": 3},
        "bits_0": {"bits": 0},
        "compression_unknown": {"compression": 4711},
        "compression_old_jpeg": {"compression": 6},
        "photometric_unknown": {"photometric": 99},
        "no_samples": {"samples": 0},
        "samples_65535": {"samples": 65_535},
        "planar_7": {"planar": 7},
        "no_rows": {"rows": 0},
        "strip_of_4_gb": {"bytes": 2**32 - 1},
        "jpeg_without_tables": {"compression": 7},
        "fax": {"compression": 3, "bits": 1},
        "deflate_of_garbage": {"compression": 8},
        "palette_missing": {"photometric": 3},
        "zstd_of_garbage": {"compression": 50_000},
        "lzma_of_garbage": {"compression": 34_925},
    }.items():
        yield f"tiff_{name}.tif", tiff(*plain_tiff(**change), body=body)
    yield "tiff_no_entries.tif", tiff(body=body)
    yield "tiff_directory_beyond_the_end.tif", b"II*\0\xff\xff\xff\x7f" + bytes(50)
    yield "tiff_65535_entries.tif", b"II*\0\x08\0\0\0\xff\xff" + bytes(200)
    yield "tiff_value_of_4_billion.tif", tiff((256, 4, 2**32 - 1, 0), *plain_tiff()[1:], body=body)
    yield "tiff_big_cut.tif", b"II+\0\x08\0\0\0\xff\xff\xff\xff"
    yield (
        "tiff_tile_0.tif",
        tiff(*plain_tiff(), (322, 4, 1, 0), (323, 4, 1, 0), (324, 4, 1, 8), (325, 4, 1, 16), body=body),
    )
    unstripped = [entry for entry in plain_tiff() if entry[0] not in (273, 278, 279)]
    for side in (2**30, 20_000):
        tiles = [(322, 4, 1, side), (323, 4, 1, side), (324, 4, 1, 8), (325, 4, 1, 16)]
        yield f"tiff_tile_bomb_{side}.tif", tiff(*unstripped, *tiles, body=body)
    yield "fine_tiff_directory_after_itself.tif", tiff(*plain_tiff(), following=8, body=body)
    yield "fine_tiff_next_directory_nowhere.tif", tiff(*plain_tiff(), following=10**9, body=bytes(range(1, 17)))
    yield "fine_tiff_16_bits.tif", encoded(Image.fromarray(np.arange(64, dtype=np.uint16).reshape(8, 8) * 900), "TIFF")
    yield "fine_tiff_nan.tif", encoded(Image.fromarray(np.full((8, 8), np.nan, np.float32)), "TIFF")


# --- WebP, HEIF


def riff(kind: bytes, body: bytes, size: int | None = None) -> bytes:
    inner = b"WEBP" + kind + struct.pack("<I", len(body)) + body
    return b"RIFF" + struct.pack("<I", len(inner) if size is None else size) + inner


def box(kind: bytes, body: bytes, size: int | None = None) -> bytes:
    return struct.pack(">I", len(body) + 8 if size is None else size) + kind + body


def _other_files() -> Iterator[File]:
    canvas = b"\x02\0\0\0" + b"\xff\xff\xff" * 2
    yield "webp_bomb.webp", riff(b"VP8X", canvas)
    yield "webp_animation_without_frames.webp", riff(b"VP8X", b"\x02\0\0\0\3\0\0\3\0\0")
    yield "webp_size_wrong.webp", riff(b"VP8 ", b"\x9d\x01\x2a" * 9, size=2**31)
    yield "webp_lossless_garbage.webp", riff(b"VP8L", b"\x2f" + b"\xff" * 60)
    yield "webp_empty.webp", riff(b"VP8 ", b"")
    kind = box(b"ftyp", b"heic\0\0\0\0mif1heic")
    yield "fine_heif.heic", heif(np.full((32, 32), 77))
    yield "heif_head_only.heic", kind
    yield "heif_noise.heic", kind + np.random.default_rng(9).bytes(2_000)
    yield "heif_empty_meta.heic", kind + box(b"meta", bytes(4))
    yield "heif_box_of_4_gb.heic", kind + box(b"meta", bytes(40), size=2**32 - 1)
    yield "heif_nested.heic", kind + _nested(400)
    yield "fine_animated.png", encoded(picture(10), "PNG", save_all=True, append_images=[picture(11)])
    yield "fine_animated.webp", encoded(picture(12), "WEBP", save_all=True, append_images=[picture(13)])
    yield "fine_panorama.jpg", encoded(Image.new("RGB", (10_000, 4_000), (9, 60, 90)), "JPEG")


def _nested(depth: int) -> bytes:
    body = b""
    for _ in range(depth):
        body = box(b"meta", bytes(4) + body)
    return body


# --- EXIF: whatever it holds, the picture counts


def _exif() -> Iterator[File]:
    draw = np.random.default_rng(10)
    blocks = {
        "empty": b"",
        "no_directory": b"II*\0",
        "directory_beyond_the_end": b"II*\0\xff\xff\xff\xff",
        "directory_is_the_head": b"II*\0\0\0\0\0",
        "65535_entries": b"MM\0*\0\0\0\x08\xff\xff" + bytes(60),
        "points_to_itself": tiff((0x8769, 4, 1, 8), (0x8825, 4, 1, 8)),
        "wrong_types": tiff((0x0112, 2, 4, 6), (0x8769, 7, 4, 1)),
        "orientation_99": tiff((0x0112, 3, 1, 99)),
        "zero_denominators": tiff((0x8825, 4, 1, 26), body=_gps(0)),
        "far_north": tiff((0x8825, 4, 1, 26), body=_gps(1)),
        "four_billion_values": tiff((0x010F, 2, 2**32 - 1, 8)),
    }
    for number, (name, block) in enumerate(blocks.items(), 20):
        yield f"fine_exif_{name}.jpg", encoded(picture(number), "JPEG", exif=b"Exif\0\0" + block)
    for number in range(40, 50):
        yield (
            f"fine_exif_noise_{number}.jpg",
            encoded(picture(number), "JPEG", exif=b"Exif\0\0II*\0\x08\0\0\0" + draw.bytes(300)),
        )


def _gps(denominator: int) -> bytes:
    """Return a GPS directory at offset 26 with 999 degrees north, or without any position."""
    entries = struct.pack("<HHHIIHHIII", 2, 1, 2, 2, ord("N"), 2, 5, 3, 56, 0)
    return entries + struct.pack("<6I", *(999, denominator) * 3)


# --- what only a file system can hold


def on_disk(folder: Path) -> list[str]:
    """Create the files. Returns the readable names of those that must be listed as unusable."""
    (folder / "fine_inside.jpg").mkdir()  # a folder may be called so
    (folder / "fine_inside.jpg" / "fine_in_folder.jpg").write_bytes(encoded(picture(60), "JPEG"))
    (folder / "loop.jpg").symlink_to("loop.jpg")
    (folder / "loop_a.jpg").symlink_to("loop_b.jpg")
    (folder / "loop_b.jpg").symlink_to("loop_a.jpg")
    (folder / "dangling.jpg").symlink_to("nowhere.jpg")
    (folder / "round").mkdir()
    (folder / "round" / "and_round").symlink_to("..", target_is_directory=True)
    os.mkfifo(folder / "pipe.jpg")
    (folder / "device.jpg").symlink_to("/dev/zero")
    (folder / "terminal.png").symlink_to("/dev/tty")
    bad = [
        "loop.jpg",
        "loop_a.jpg",
        "loop_b.jpg",
        "dangling.jpg",
        "round/and_round",
        "pipe.jpg",
        "device.jpg",
        "terminal.png",
    ]
    return bad + _odd_names(folder) + _socket(folder)


def _odd_names(folder: Path) -> list[str]:
    names = [
        "fine_ leading and trailing .jpg",
        "fine_new\nline.jpg",
        "-rf.jpg",
        "fine_'; DROP TABLE image; --.jpg",
        "fine_" + "x" * 240 + ".jpg",
        "fine_\u202egnp.jpg",
        "fine_🐙.jpg",
        "fine_[red]markup.jpg",
        "fine_%s%n.jpg",
        "fine_tab\there.jpg",
        "fine_e\u0301.JPG",
    ]
    for number, name in enumerate(names, 70):
        (folder / name).write_bytes(encoded(picture(number), "JPEG"))
    (folder / "bad_\x1b[31mred\u202egnp.jpg").write_bytes(b"text")
    try:
        Path(os.fsdecode(os.fsencode(folder) + b"/caf\xe9.jpg")).write_bytes(encoded(picture(90), "JPEG"))
        Path(os.fsdecode(os.fsencode(folder) + b"/\xff\xfe")).mkdir()
    except OSError:  # macOS takes only UTF-8
        return []
    Path(os.fsdecode(os.fsencode(folder) + b"/\xff\xfe/inside.jpg")).write_bytes(encoded(picture(91), "JPEG"))
    return ["caf\\xe9.jpg", "\\xff\\xfe", "bad_\\x1b[31mred\\u202egnp.jpg"]


def _socket(folder: Path) -> list[str]:
    before = Path.cwd()
    try:
        os.chdir(folder)  # the path of a socket has at most 107 characters
        with socket.socket(socket.AF_UNIX) as end:
            end.bind("socket.jpg")
    finally:
        os.chdir(before)
    return ["socket.jpg"]


# --- tables and documents


def tables() -> Iterator[File]:
    head_, row = "filename,latitude,longitude,depth,taken_at\n", "fine.jpg,-33.5,151.2,20,2019-05-13 13:14:15\n"
    good = head_ + row
    for encoding in ("utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp1252", "cp037"):
        yield f"encoding_{encoding}.csv", good.replace("fine", "fïne").encode(encoding)
    yield "empty.csv", b""
    yield "only_mark.csv", b"\xef\xbb\xbf"
    yield "only_header.csv", head_.encode()
    yield "only_newlines.csv", b"\r\n" * 1_000
    yield "nul.csv", good.replace("20", "2\0 0").encode()
    yield "all_nul.csv", bytes(10_000)
    yield "noise.csv", np.random.default_rng(11).bytes(20_000)
    yield "newlines.csv", (head_.strip() + "\r" + row.strip() + "\n\r\r\n" + row.strip() + "\r\n").encode()
    yield "million_columns.csv", ("a," * 1_000_000 + "\n" + "1," * 1_000_000).encode()
    yield "million_cells.csv", (head_ + "x," * 1_000_000 + "\n" + row).encode()
    yield "same_headers.csv", b"filename,depth,depth,depth,\nfine.jpg,1,2,3,4\n"
    yield "formulas.csv", (head_ + "=cmd|' /C calc'!A0,=1+1,@SUM(A1),+1,-1\nfine.jpg,=33,=NOW(),1,2\n").encode()
    yield (
        "numbers.csv",
        (
            head_
            + "".join(
                f"fine.jpg,{n},{n},{n},{n}\n"
                for n in (
                    "1e999",
                    "-1e999",
                    "nan",
                    "inf",
                    "-inf",
                    "9" * 400,
                    "0x10",
                    "1_000",
                    "١٢",
                    "1e-400",
                    "--5",
                    "1,5",
                    "",
                    " ",
                )
            )
        ).encode(),
    )
    yield "open_quote.csv", (head_ + 'fine.jpg,"-33,151\n' + row * 200).encode()
    yield "long_cell.csv", (head_ + f"fine.jpg,{'9' * 5_000_000},1,2,3\n" + row).encode()
    yield (
        "times.csv",
        (
            head_
            + "".join(
                f"fine.jpg,1,2,3,{t}\n"
                for t in (
                    "0000-00-00",
                    "9999-12-31T23:59:60Z",
                    "1e18",
                    "-1",
                    "31/31/2019",
                    "2019-02-30 25:61:61",
                    "now",
                    "%Y",
                )
            )
        ).encode(),
    )
    yield "one_row_too_long.csv", (head_ + row.strip() + ",,,,extra\n").encode()
    yield (
        "names.csv",
        (head_ + "../../etc/passwd,1,2,3,\n/,1,2,3,\n\\\\host\\share\\fine.jpg,1,2,3,\n,1,2,3,\n.,,,,\n").encode(),
    )
    yield (
        "bomb.yaml",
        (
            "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
            + "".join(
                f"{n}: &{n} [{','.join([f'*{p}'] * 10)}]\n" for p, n in zip("abcdefghi", "bcdefghij", strict=True)
            )
        ).encode(),
    )
    yield "deep.yaml", b"[" * 500_000
    yield "deep_dashes.yaml", b"- " * 500_000 + b"a"
    yield "itself.yaml", b"image-set-header: &a {x: *a}\nimage-set-items: *a\n"
    yield "python.yaml", b"image-set-header: !!python/object/apply:os.system ['touch owned']\nimage-set-items: {}\n"
    yield "tabs.yaml", b"a:\n\t- b\n"
    yield "deep.json", b'{"image-set-header":' + b"[" * 500_000
    yield (
        "number.json",
        b'{"image-set-header":{},"image-set-items":{"fine.jpg":{"image-latitude":' + b"9" * 5_000 + b"}}}",
    )
    yield "cut.json", b'{"image-set-header":{"image-set-name":"x"},"image-set-items":{"fine.jpg":{"image-lat'
    for number, value in enumerate(
        (
            "null",
            "[]",
            "7",
            '"x"',
            "true",
            '[{"fine.jpg":{}}]',
            '{"fine.jpg":null}',
            '{"fine.jpg":[]}',
            '{"fine.jpg":[[]]}',
            '{"":{}}',
            '{"fine.jpg":[{},{}]}',
        )
    ):
        yield (
            f"items_{number}.json",
            f'{{"image-set-header":{{"image-set-name":"x"}},"image-set-items":{value}}}'.encode(),
        )
        yield f"header_{number}.json", f'{{"image-set-header":{value},"image-set-items":{{"fine.jpg":{{}}}}}}'.encode()
    wrong = ",".join(
        f'"{field}":{value}'
        for field in ("image-latitude", "image-altitude-meters", "image-datetime", "image-event")
        for value in ('{"a":1}',)
    )
    yield "wrong_types.json", f'{{"image-set-header":{{}},"image-set-items":{{"fine.jpg":{{{wrong}}}}}}}'.encode()
    yield (
        "nan.json",
        b'{"image-set-header":{"image-latitude":NaN},"image-set-items":{"fine.jpg":{"image-longitude":Infinity}}}',
    )
