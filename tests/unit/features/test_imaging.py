"""Decoding: every kind of file comes out as the picture a person sees, or is refused with one plain reason."""

import os
import pickle
import struct
import sys
import zlib
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from io import BytesIO

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageFile

from benthoscope.engine.imaging import MAX_PIXELS, BadImage, decode, facts_of, probe, read_image, thumbnails
from benthoscope.engine.imaging.tags import Tags
from benthoscope.engine.problems import Problem
from tests.heif import heif

WIDTH, HEIGHT = 60, 40
MARK = (slice(0, 8), slice(0, 12))  # a white mark in the upper left corner tells which way is up


@pytest.fixture(scope="module")
def picture():
    rows, columns = np.mgrid[:HEIGHT, :WIDTH]
    pixels = np.stack([rows * 4, columns * 3, 200 - rows * 2], axis=2).astype(np.uint8)
    pixels[MARK] = 255
    return Image.fromarray(pixels)


def saved(image, kind, **options):
    out = BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def read(data, **options):
    return decode(data, where="a", **options)


def png16(samples):
    """A 16-bit PNG, which Pillow cannot write for colour."""
    lines = b"".join(b"\0" + row.astype(">u2").tobytes() for row in samples)
    head = struct.pack(">IIBBBBB", samples.shape[1], samples.shape[0], 16, {3: 2, 4: 6}[samples.shape[2]], 0, 0, 0)
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(lines)), (b"IEND", b""))
    return png(*chunks)


def png(*chunks):
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body)) for name, body in chunks
    )


def tiff16(samples, order="<"):
    """An uncompressed 16-bit RGB TIFF."""
    height, width, bands = samples.shape
    body = samples.astype(f"{order}u2").tobytes()
    bits, at = struct.pack(f"{order}3H", 16, 16, 16), 8 + len(body)
    fields = [
        (256, 4, 1, width),
        (257, 4, 1, height),
        (258, 3, 3, at),
        (259, 3, 1, 1),
        (262, 3, 1, 2),
        (273, 4, 1, 8),
        (277, 3, 1, bands),
        (278, 4, 1, height),
        (279, 4, 1, len(body)),
    ]
    entries = b"".join(
        struct.pack(f"{order}HHI", *field[:3])
        + struct.pack(
            f"{order}HH" if field[1] == 3 and field[2] == 1 else f"{order}I",
            *([field[3], 0] if field[1] == 3 and field[2] == 1 else [field[3]]),
        )
        for field in fields
    )
    head = {"<": b"II*\0", ">": b"MM\0*"}[order] + struct.pack(f"{order}I", at + len(bits))
    return head + body + bits + struct.pack(f"{order}H", len(fields)) + entries + bytes(4)


LOSSLESS = {
    "png": lambda im: saved(im, "PNG"),
    "tiff": lambda im: saved(im, "TIFF"),
    "compressed tiff": lambda im: saved(im, "TIFF", compression="tiff_lzw"),
    "webp": lambda im: saved(im, "WEBP", lossless=True),
    "png with full alpha": lambda im: saved(im.convert("RGBA"), "PNG"),
    "animated png": lambda im: saved(im, "PNG", save_all=True, append_images=[im.rotate(180)]),
    "animated webp": lambda im: saved(im, "WEBP", save_all=True, append_images=[im.rotate(180)], lossless=True),
    "tiff of two pages": lambda im: saved(im, "TIFF", save_all=True, append_images=[im.rotate(180)]),
    "16-bit png": lambda im: png16(np.asarray(im).astype(np.uint16) * 257),
    "12-bit png in 16": lambda im: png16(np.round(np.asarray(im) * (4095 / 255)).astype(np.uint16)),
    "16-bit tiff": lambda im: tiff16(np.asarray(im).astype(np.uint16) * 257),
    "12-bit tiff in 16": lambda im: tiff16(np.round(np.asarray(im) * (4095 / 255)).astype(np.uint16)),
    "big-endian 12-bit tiff": lambda im: tiff16(np.round(np.asarray(im) * (4095 / 255)).astype(np.uint16), ">"),
}


@pytest.mark.parametrize("kind", LOSSLESS)
def test_a_lossless_image_is_decoded_exactly(kind, picture):
    assert np.array_equal(read(LOSSLESS[kind](picture)), np.asarray(picture))


LOSSY = {
    "jpeg": lambda im: saved(im, "JPEG", quality=95),
    "progressive jpeg": lambda im: saved(im, "JPEG", quality=95, progressive=True),
    "webp": lambda im: saved(im, "WEBP", quality=95),
    "jpeg inside tiff": lambda im: saved(im, "TIFF", compression="jpeg"),
    "cmyk jpeg": lambda im: saved(im.convert("CMYK"), "JPEG", quality=95),
    "cmyk tiff": lambda im: saved(im.convert("CMYK"), "TIFF"),
    "stereo pair (mpo)": lambda im: saved(im, "MPO", save_all=True, append_images=[im.rotate(180)], quality=95),
    "palette": lambda im: saved(im.quantize(256), "PNG"),
    "ycbcr tiff": lambda im: saved(im.convert("YCbCr"), "TIFF"),
}


@pytest.mark.parametrize("kind", LOSSY)
def test_a_lossy_image_is_decoded_closely(kind, picture):
    difference = np.abs(read(LOSSY[kind](picture)).astype(int) - np.asarray(picture))
    assert difference.mean() < 4


@pytest.mark.parametrize(("turns", "corner"), [(0, (2, 2)), (1, (29, 2)), (2, (29, 29)), (3, (2, 29))])
def test_a_heif_image_comes_out_upright(turns, corner):
    luma = np.full((32, 32), 100, np.uint8)
    luma[:8, :8] = 235  # white, as video counts it
    data = heif(luma, quarter_turns=turns)
    pixels = read(data)
    assert pixels.shape == (32, 32, 3) and (pixels[corner] >= 254).all()
    assert np.abs(pixels[16, 16].astype(int) - 98).max() <= 2  # (100 - 16) * 255 / 219
    assert facts_of(data, where="a", suffix=".heic").notes == ()


GREY = {
    "8-bit": lambda grey: saved(Image.fromarray(grey), "PNG"),
    "grey with alpha": lambda grey: saved(Image.fromarray(grey).convert("LA"), "PNG"),
    "16-bit png": lambda grey: saved(Image.fromarray(grey.astype(np.uint16) * 257), "PNG"),
    "16-bit tiff": lambda grey: saved(Image.fromarray(grey.astype(np.uint16) * 257), "TIFF"),
    "12-bit tiff in 16": lambda grey: saved(Image.fromarray(np.round(grey * (4095 / 255)).astype(np.uint16)), "TIFF"),
    "32-bit tiff": lambda grey: saved(Image.fromarray(grey.astype(np.int32) * 257), "TIFF"),
    "reflectance": lambda grey: saved(Image.fromarray((grey / 255).astype(np.float32)), "TIFF"),
}


@pytest.mark.parametrize("kind", GREY)
def test_grey_images_of_any_depth_come_out_in_three_equal_channels(kind):
    grey = np.linspace(0, 255, HEIGHT * WIDTH).round().astype(np.uint8).reshape(HEIGHT, WIDTH)
    assert np.array_equal(read(GREY[kind](grey)), np.repeat(grey[..., None], 3, axis=2))


def test_missing_samples_of_a_float_image_are_black():
    samples = np.full((4, 6), 0.5, np.float32)
    samples[0, 0], samples[0, 1], samples[0, 2] = np.nan, np.inf, 1.0
    pixels = read(saved(Image.fromarray(samples), "TIFF"))
    assert pixels[0, :4, 0].tolist() == [0, 0, 255, 128]


def test_transparent_pixels_become_black(picture):
    exported = picture.convert("RGBA")
    exported.putalpha(Image.fromarray(np.repeat(np.uint8([[0, 255]]), WIDTH // 2, axis=1).repeat(HEIGHT, axis=0)))
    pixels = read(saved(exported, "PNG"))
    assert not pixels[:, : WIDTH // 2].any()
    assert np.array_equal(pixels[:, WIDTH // 2 :], np.asarray(picture)[:, WIDTH // 2 :])


@pytest.mark.parametrize("kind", ["PNG", "TIFF", "WEBP"])
@pytest.mark.parametrize("turn", range(1, 9))
def test_every_orientation_comes_out_upright(kind, turn, picture):
    upright = np.asarray(picture)
    lain = {
        1: upright,
        2: upright[:, ::-1],
        3: upright[::-1, ::-1],
        4: upright[::-1],
        5: upright.transpose(1, 0, 2),
        6: upright.transpose(1, 0, 2)[::-1],
        7: upright[::-1, ::-1].transpose(1, 0, 2),
        8: upright.transpose(1, 0, 2)[:, ::-1],
    }[turn]
    exif = Image.Exif()
    exif[0x0112] = turn
    options = {"lossless": True} if kind == "WEBP" else {}
    data = saved(Image.fromarray(np.ascontiguousarray(lain)), kind, exif=exif, **options)
    facts = facts_of(data, where="a")
    assert np.array_equal(read(data), upright)
    assert (facts.width, facts.height) == (WIDTH, HEIGHT)


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "TIFF", "WEBP"])
@pytest.mark.parametrize("size", [(300, 200), (200, 300), (1000, 10), (1, 500)])
def test_no_side_is_longer_than_asked_for(kind, size):
    pixels = read(saved(Image.new("RGB", size, (9, 99, 199)), kind), longest=64)
    assert max(pixels.shape[:2]) == 64 and min(pixels.shape[:2]) == max(1, round(64 * min(size) / max(size)))
    assert np.abs(pixels - np.array([9, 99, 199])).max() <= 4


def test_small_images_are_not_enlarged(picture):
    assert read(saved(picture, "PNG"), longest=500).shape == (HEIGHT, WIDTH, 3)


def test_shrinking_while_loading_shows_the_same_picture_as_shrinking_after(picture):
    large = picture.resize((960, 640), Image.Resampling.BICUBIC)
    quick, slow = read(saved(large, "JPEG", quality=95), longest=160), read(saved(large, "PNG"), longest=160)
    assert np.abs(quick.astype(int) - slow).mean() < 3


def test_a_forty_megapixel_panorama_passes():
    assert read(saved(Image.new("RGB", (10_000, 4_000), (10, 60, 90)), "JPEG"), longest=100).shape == (40, 100, 3)


def test_thumbnails_of_all_sizes_come_from_one_decoding(picture):
    made = thumbnails(saved(picture.resize((600, 400)), "JPEG"), (128, 320), where="a")
    assert {size: Image.open(BytesIO(jpeg)).size for size, jpeg in made.items()} == {128: (128, 85), 320: (320, 213)}


def bad(data, where="a.jpg"):
    with pytest.raises(BadImage) as caught:
        decode(data, where=where, longest=100)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_decompression_bomb_is_rejected_before_it_unpacks():
    side = int(MAX_PIXELS**0.5) + 1
    head = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    data = png((b"IHDR", head), (b"IDAT", zlib.compress(bytes(1000))))
    assert "more than the limit of 120 million; split it into tiles" in bad(data)


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"GIF89a" + bytes(50), "it contains a GIF image; use JPEG"),
        (b"<!DOCTYPE html><html>", "it contains a web page"),
        (bytes(100), "nothing but zero bytes"),
        (b"\0\0\0\x18ftypavif" + bytes(20), "an AVIF image"),
        (b"\0\0\0\x18ftypmp42" + bytes(20), "a video"),
        (b"my notes on dive 3", "it contains text"),
        (b"\x9f\x80\x7f\x01", "no known kind of image"),
    ],
)
def test_the_actual_content_of_a_file_is_reported(data, told):
    assert told in bad(data)


def test_a_truncated_jpeg_says_that_it_was_cut_short(picture):
    data = saved(picture.resize((600, 400)), "JPEG")
    assert "a.jpg: the JPEG data end too early" in bad(data[: len(data) // 2])


def test_an_interrupted_copy_is_recognised_by_its_zeros(picture):
    data = saved(picture.resize((600, 400)), "JPEG")
    assert "copying it was interrupted; copy it again" in bad(data[: len(data) // 2] + bytes(len(data) // 2))


def test_an_error_survives_the_way_out_of_a_process_pool():
    error = pickle.loads(pickle.dumps(BadImage(Problem("a", "b", "c"))))
    assert isinstance(error, BadImage) and str(error) == "a: b; c"


def test_decoding_leaves_pillow_as_it_was(picture):
    def state():
        return (Image.MAX_IMAGE_PIXELS, ImageFile.LOAD_TRUNCATED_IMAGES, ImageFile.MAXBLOCK, sorted(Image.OPEN))

    made = [make(picture) for make in (*LOSSLESS.values(), *LOSSY.values())]  # saving registers formats
    before = state()
    for data in made:
        read(data, longest=20)
    assert state() == before


def test_many_threads_decode_alike(picture):
    data = [make(picture) for make in LOSSLESS.values()]
    with ThreadPoolExecutor(8) as pool:
        read_in_threads = list(pool.map(read, data * 8))
    assert all(np.array_equal(pixels, np.asarray(picture)) for pixels in read_in_threads)


# --- files


def test_a_file_is_read_by_its_content_whatever_its_name_says(tmp_path, picture):
    path = tmp_path / "a.jpg"
    path.write_bytes(saved(picture, "PNG"))
    assert np.array_equal(read_image(path), np.asarray(picture))
    assert probe(path).notes == ("contains a PNG image, but its name ends in .jpg",)


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda path: path.touch(), "the file is empty"),
        (lambda path: path.mkdir(), "not a file but a folder"),
        (lambda path: os.mkfifo(path), "not a file but a pipe"),
        (lambda path: path.symlink_to(path), "a link that points back to itself; remove the link"),
        (lambda path: path.symlink_to("nowhere"), "a link to a file that does not exist"),
        (lambda path: None, "does not exist"),
        (lambda path: path.symlink_to("/dev/zero"), "not a file but a device"),
    ],
    ids=["empty", "folder", "pipe", "loop", "dangling", "missing", "device"],
)
def test_unreadable_files_are_rejected_immediately(tmp_path, make, told):
    path = tmp_path / "a.jpg"
    make(path)
    with pytest.raises(BadImage, match=told):
        read_image(path)


@pytest.mark.skipif(sys.platform == "darwin", reason="macOS file systems take only UTF-8 names")
def test_a_name_in_another_encoding_is_shown_readably(tmp_path):
    path = os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.jpg")
    with pytest.raises(BadImage) as caught:
        read_image(path)
    assert "caf\\xe9.jpg: does not exist" in str(caught.value).encode().decode()


# --- facts


@pytest.fixture
def exif():
    block = Image.Exif()
    block[0x010F], block[0x0110] = "GoPro", "GoPro Hero"
    block.get_ifd(0x8769).update({0x9003: "2017:05:26 04:25:55", 0x9291: "415"})
    gps_tags = {1: "S", 2: (33.0, 30.0, 36.0), 3: "E", 4: (151.0, 15.0, 0.0), 5: b"\1", 6: 30.5, 17: 90.0}
    block.get_ifd(0x8825).update(gps_tags)
    return block


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
def test_time_and_place_are_read_from_exif(kind, picture, exif):
    facts = facts_of(saved(picture, kind, exif=exif), where="a")
    assert facts.taken_at == datetime(2017, 5, 26, 4, 25, 55, 415000, tzinfo=UTC) and not facts.zone_known
    assert (facts.latitude, facts.longitude) == pytest.approx((-33.51, 151.25))
    assert (facts.elevation, facts.heading, facts.camera) == (-30.5, 90.0, "GoPro Hero")


def test_a_clock_with_a_known_offset_is_brought_to_utc(picture, exif):
    exif.get_ifd(0x8769)[0x9011] = "+10:00"
    facts = facts_of(saved(picture, "JPEG", exif=exif), where="a")
    assert facts.taken_at == datetime(2017, 5, 25, 18, 25, 55, 415000, tzinfo=UTC) and facts.zone_known


def test_a_position_of_zero_zero_is_a_receiver_without_a_fix(picture, exif):
    exif.get_ifd(0x8825).update({2: (0.0, 0.0, 0.0), 4: (0.0, 0.0, 0.0)})
    facts = facts_of(saved(picture, "JPEG", exif=exif), where="a")
    assert facts.latitude is None and facts.longitude is None


@pytest.mark.parametrize(("tag", "value"), [(2, (95.0, 0.0, 0.0)), (4, (181.0, 0.0, 0.0)), (2, (1.0, 2.0, 3.0, 4.0))])
def test_a_place_that_is_not_on_earth_is_left_out(picture, exif, tag, value):
    exif.get_ifd(0x8825)[tag] = value
    facts = facts_of(saved(picture, "JPEG", exif=exif), where="a")
    assert facts.latitude is None and facts.taken_at is not None


@pytest.mark.parametrize(
    "written", ["0000:00:00 00:00:00", "    :  :     :  :  ", "2017:13:45 99:00:00", "1753:01:01 00:00:00", "soon"]
)
def test_an_unset_clock_gives_no_time(picture, exif, written):
    exif.get_ifd(0x8769)[0x9003] = written
    assert facts_of(saved(picture, "JPEG", exif=exif), where="a").taken_at is None


def test_facts_need_no_pixels(picture):
    data = saved(picture.resize((600, 400)), "JPEG")
    assert facts_of(data[:800], where="a").width == 600


def test_notes_report_what_users_should_know(picture):
    def notes(data, suffix):
        return facts_of(data, where="a", suffix=suffix).notes

    assert notes(LOSSLESS["animated png"](picture), ".png") == ("is animated; its first frame is used",)
    assert notes(LOSSLESS["animated webp"](picture), ".webp") == ("is animated; its first frame is used",)
    assert notes(LOSSLESS["tiff of two pages"](picture), ".TIF") == ("has several pages; the first one is used",)
    assert notes(LOSSY["cmyk jpeg"](picture), ".jpeg") == ("has CMYK colours, which were converted to RGB",)
    assert notes(LOSSLESS["png"](picture), ".png") == ()


# --- hostile metadata


@settings(max_examples=300, deadline=None)
@given(st.sampled_from([b"II*\0", b"MM\0*", b"Exif\0\0II*\0"]), st.binary(max_size=400))
def test_arbitrary_bytes_never_make_the_tag_reader_fail(head, body):
    tags = Tags(head + body)
    assert all(isinstance(tag, int) for tag in (*tags.first, *tags.exif, *tags.gps))


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_damaged_exif_loses_metadata_but_never_the_image(data):
    block = Image.Exif()
    block.get_ifd(0x8769)[0x9003] = "2017:05:26 04:25:55"
    block.get_ifd(0x8825).update({1: "S", 2: (33.0, 30.0, 36.0), 3: "E", 4: (151.0, 15.0, 0.0)})
    raw = bytearray(block.tobytes())
    for _ in range(data.draw(st.integers(1, 8))):
        raw[data.draw(st.integers(6, len(raw) - 1))] = data.draw(st.integers(0, 255))
    picture = saved(Image.new("RGB", (8, 8), (1, 2, 3)), "JPEG", exif=bytes(raw))
    facts = facts_of(picture, where="a")
    assert facts.latitude is None or (abs(facts.latitude) <= 90 and abs(facts.longitude) <= 180)
    assert read(picture).shape == (8, 8, 3)
