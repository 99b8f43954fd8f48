"""The thumbnail library: what goes in comes out, and damage costs only what was damaged."""

import hashlib
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from benthoscope.engine.imaging import BadImage
from benthoscope.engine.problems import BadInput
from benthoscope.engine.workspace.storage.thumbnail_pack import HEADER, MAGIC
from benthoscope.engine.workspace.storage.thumbnails import ThumbnailLibrary


def sha(text):
    return hashlib.sha256(str(text).encode()).hexdigest()


def jpeg(number):
    return b"\xff\xd8" + bytes([number % 256]) * (50 + number)


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "thumbnails"


@pytest.fixture
def stocked(folder):
    library = ThumbnailLibrary(folder)
    library.add_many((sha(n), 320, jpeg(n)) for n in range(20))
    return library


def pack(folder):
    return folder / "320.pack"


def offset_of(folder, number):
    return pack(folder).read_bytes().index(jpeg(number))


def spoil(folder, at, data):
    with pack(folder).open("r+b") as file:
        file.seek(at)
        file.write(data)


def test_what_was_added_comes_out(stocked):
    assert [stocked.get(sha(n), 320) for n in range(20)] == [jpeg(n) for n in range(20)]
    assert stocked.get(sha("none"), 320) is None
    assert stocked.get(sha(3), 128) is None


def test_a_thumbnail_is_stored_once(stocked, folder):
    size = pack(folder).stat().st_size
    assert stocked.add_many([(sha(1), 320, jpeg(1)), (sha(99), 320, jpeg(99)), (sha(99), 320, jpeg(99))]) == 1
    assert pack(folder).stat().st_size == size + HEADER.size + len(jpeg(99))


def test_missing_keeps_the_order_asked_in(stocked):
    assert stocked.missing([sha("b"), sha(3), sha("a")], 320) == [sha("b"), sha("a")]


def test_a_reader_sees_what_another_process_adds_later(stocked, folder):
    reader = ThumbnailLibrary(folder)
    assert reader.get(sha(40), 320) is None
    stocked.add(sha(40), 320, jpeg(40))
    assert reader.get(sha(40), 320) == jpeg(40)


def test_a_reader_opened_before_the_first_thumbnail_sees_it(folder):
    reader = ThumbnailLibrary(folder)
    assert reader.get(sha(1), 320) is None
    ThumbnailLibrary(folder).add(sha(1), 320, jpeg(1))
    assert reader.get(sha(1), 320) == jpeg(1)


@pytest.mark.parametrize("spoilt_index", [None, b"", b"short", bytes(200), b"\xff" * 200], ids=repr)
def test_the_index_is_made_again_from_the_pack(stocked, folder, spoilt_index):
    index = folder / "320.index"
    index.unlink() if spoilt_index is None else index.write_bytes(spoilt_index)
    again = ThumbnailLibrary(folder)
    assert again.get(sha(7), 320) == jpeg(7)
    again.add(sha(50), 320, jpeg(50))
    assert len(index.read_bytes()) == 21 * 20
    assert ThumbnailLibrary(folder).missing([sha(n) for n in range(20)], 320) == []


def test_an_index_that_lags_behind_a_killed_writer_is_completed(stocked, folder):
    index = folder / "320.index"
    behind = index.read_bytes()[:-40]
    index.write_bytes(behind)
    again = ThumbnailLibrary(folder)
    assert again.get(sha(19), 320) == jpeg(19)
    again.add(sha(50), 320, jpeg(50))
    assert len(index.read_bytes()) == 21 * 20


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_file_cut_anywhere_keeps_every_whole_thumbnail_before_the_cut(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("cut")
    library = ThumbnailLibrary(folder)
    library.add_many((sha(n), 320, jpeg(n)) for n in range(6))
    ends = np.cumsum([HEADER.size + len(jpeg(n)) for n in range(6)])
    cut = data.draw(st.integers(0, int(ends[-1])))
    with pack(folder).open("r+b") as file:
        file.truncate(cut)
    again = ThumbnailLibrary(folder)
    complete_count = int((ends <= cut).sum())
    assert [again.get(sha(n), 320) is not None for n in range(6)] == [n < complete_count for n in range(6)]
    again.add(sha("after"), 320, jpeg(77))
    assert ThumbnailLibrary(folder).get(sha("after"), 320) == jpeg(77)
    assert pack(folder).stat().st_size == (ends[complete_count - 1] if complete_count else 0) + HEADER.size + len(
        jpeg(77)
    )


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.binary(min_size=1, max_size=300))
def test_overwritten_bytes_never_give_a_wrong_picture(tmp_path_factory, where, garbage):
    folder = tmp_path_factory.mktemp("spoilt")
    ThumbnailLibrary(folder).add_many((sha(n), 320, jpeg(n)) for n in range(6))
    spoil(folder, where % pack(folder).stat().st_size, garbage)
    again = ThumbnailLibrary(folder)
    assert all(again.get(sha(n), 320) in (None, jpeg(n)) for n in range(6))
    thumbnails = again.verify()[1].thumbnails
    lost = again.missing([sha(n) for n in range(6)], 320)
    assert thumbnails == 6 - len(lost)
    again.add_many((sha(n), 320, jpeg(n)) for n in range(6))
    assert [ThumbnailLibrary(folder).get(sha(n), 320) for n in range(6)] == [jpeg(n) for n in range(6)]


def test_a_damaged_thumbnail_counts_as_missing_and_can_be_added_again(stocked, folder):
    spoil(folder, offset_of(folder, 5) + 10, b"\0" * 4)
    reader = ThumbnailLibrary(folder)
    assert reader.get(sha(5), 320) is None
    assert reader.missing([sha(4), sha(5)], 320) == [sha(5)]
    reader.add(sha(5), 320, jpeg(5))
    assert reader.get(sha(5), 320) == jpeg(5)
    assert ThumbnailLibrary(folder).get(sha(5), 320) == jpeg(5)


def test_verifying_tells_what_is_damaged_and_keeps_the_rest(stocked, folder):
    spoil(folder, offset_of(folder, 5) - 3, b"\0\0\0\0")
    report = stocked.verify()[1]
    assert (report.size, report.thumbnails, report.damaged_bytes) == (320, 19, HEADER.size + len(jpeg(5)))
    assert ThumbnailLibrary(folder).missing([sha(n) for n in range(20)], 320) == [sha(5)]


def test_a_picture_that_contains_the_magic_does_not_confuse_the_scan(folder):
    library = ThumbnailLibrary(folder)
    library.add_many([(sha(1), 320, MAGIC * 40), (sha(2), 320, b"x" + MAGIC), (sha(3), 320, jpeg(3))])
    spoil(folder, 0, b"\0")
    assert library.verify()[1].thumbnails == 2
    assert library.get(sha(3), 320) == jpeg(3)


def test_a_pack_removed_behind_our_back_starts_again(stocked, folder):
    assert stocked.has(sha(1), 320)
    for file in folder.iterdir():
        file.unlink()
    stocked.add(sha(50), 320, jpeg(50))
    assert stocked.get(sha(50), 320) == jpeg(50)
    assert ThumbnailLibrary(folder).missing([sha(50), sha(1)], 320) == [sha(1)]


def test_more_thumbnails_than_the_recent_ones_are_all_found(folder):
    library = ThumbnailLibrary(folder)
    for start in range(0, 9000, 1500):
        library.add_many((sha(n), 128, b"j%d" % n) for n in range(start, start + 1500))
    assert library.missing([sha(n) for n in range(9000)], 128) == []
    assert ThumbnailLibrary(folder).get(sha(8999), 128) == b"j8999"


def test_threads_store_and_read_at_once(folder):
    library = ThumbnailLibrary(folder)

    def store_and_read(writer_number):
        for number in range(writer_number, 6_000, 6):
            library.add(sha(number), 128, b"j%d" % number)
            for known in range(writer_number, number + 1, 600):  # above all while another thread sorts the latest in
                if library.get(sha(known), 128) != b"j%d" % known:
                    return f"{known} is not found"
        return None

    with ThreadPoolExecutor(6) as pool:
        assert set(pool.map(store_and_read, range(6))) == {None}
    assert [library.get(sha(number), 128) for number in range(6_000)] == [b"j%d" % number for number in range(6_000)]
    assert library.verify()[0].damaged_bytes == 0


def test_the_large_view_is_made_from_the_original_and_kept(folder, tmp_path):
    original = tmp_path / "a.png"
    Image.fromarray(np.full((600, 2000, 3), 90, np.uint8)).save(original)
    digest = hashlib.sha256(original.read_bytes()).hexdigest()
    library = ThumbnailLibrary(folder)
    made = library.obtain(digest, 1024, original)
    assert Image.open(BytesIO(made)).size == (1024, 307)
    original.unlink()
    assert library.obtain(digest, 1024, original) == made


def test_the_large_view_of_a_changed_original_is_rejected(folder, tmp_path):
    original = tmp_path / "a.png"
    Image.new("RGB", (30, 20)).save(original)
    with pytest.raises(BadImage, match="has changed since it was imported; import its folder again"):
        ThumbnailLibrary(folder).obtain(sha("another"), 1024, original)


@pytest.mark.parametrize("bad", ["", "xyz", "A" * 64, "0" * 63, "../../etc"])
def test_a_hash_that_is_none_is_rejected(stocked, bad):
    with pytest.raises(BadInput, match="SHA-256"):
        stocked.get(bad, 320)


def test_an_unknown_size_is_rejected(stocked):
    with pytest.raises(BadInput, match="no '300'; did you mean '320'"):
        stocked.get(sha(1), 300)


def test_an_empty_thumbnail_is_rejected_and_nothing_is_written(stocked, folder):
    size = pack(folder).stat().st_size
    with pytest.raises(BadInput, match="0 bytes"):
        stocked.add(sha("empty"), 320, b"")
    assert pack(folder).stat().st_size == size
