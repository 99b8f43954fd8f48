"""The import job: stored images, repeated imports and reports."""

import hashlib
import os
import threading
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from benthoscope.engine.exchange.image_import.import_plan import ImportOptions
from benthoscope.engine.jobs import JobQueue, run_now
from benthoscope.engine.jobs.library.import_preview import ImportPreview
from benthoscope.engine.jobs.process_pool import Lost, ProcessPool
from benthoscope.engine.problems import BadInput
from benthoscope.engine.workspace import Workspace

TRACK = """some text of the vehicle
year,month,day,hour,minute,second,latitude,longitude,depth,roll,pitch,heading,altitude,leftimage,rightimage,label
2019,5,13,12,0,0.5,-33.5,151.2,25.3,0,0,1.5,2.1,PR_20190513_120000_500_LC16.png,PR_20190513_120000_500_RM16.png,7
2019,5,13,12,0,2.5,-33.6,151.3,26.3,0,0,1.5,2.2,PR_20190513_120002_500_LC16.png,PR_20190513_120002_500_RM16.png,0
"""
NAMES = ("PR_20190513_120000_500_LC16.jpg", "PR_20190513_120002_500_LC16.jpg")


def picture(path: Path, seed: int, kind: str = "JPEG") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    coarse = np.random.default_rng(seed).integers(0, 256, (3, 4, 3), dtype=np.uint8)
    Image.fromarray(coarse).resize((40, 30), Image.Resampling.BICUBIC).save(path, kind)
    return path


@pytest.fixture
def reef(tmp_path):
    with Workspace.create(tmp_path / "reef") as workspace:
        yield workspace


@pytest.fixture
def dive(tmp_path):
    """A campaign of one dive with its track and, in another folder, one more image."""
    for number, name in enumerate(NAMES):
        picture(tmp_path / "PS2019" / "r20190513_120000_bay" / "i_gtif" / name, number)
    (tmp_path / "PS2019" / "r20190513_120000_bay" / "track_files").mkdir()
    (tmp_path / "PS2019" / "r20190513_120000_bay" / "track_files" / "bay_latlong.csv").write_text(TRACK)
    picture(tmp_path / "PS2019" / "r20190514_090000_reef" / "a.png", 7, "PNG")
    return tmp_path / "PS2019"


def bring_in(workspace, folder, **options):
    job = run_now(workspace, "import", {"folder": str(folder), "workers": 1, **options})
    assert job.state == "done", job.traceback
    return job.result


def stored(workspace):
    image_ids = workspace.library.images(workspace.library.columns("id")["id"])
    return {image.path: image for image in image_ids}


def test_images_are_stored_with_the_values_of_the_track(reef, dive):
    result = bring_in(reef, dive)
    assert (result["images"], result["new"], result["bad"], result["problems"]) == (3, 3, 0, 0)
    image = stored(reef)[f"r20190513_120000_bay/i_gtif/{NAMES[0]}"]
    assert (image.width, image.height, image.depth, image.altitude) == (40, 30, 25.3, 2.1)
    assert (image.latitude, image.longitude, image.details["cluster_label"]) == (-33.5, 151.2, 7)
    groups = {group.id: group.name for group in reef.library.groups()}
    assert set(groups.values()) == {"r20190513_120000_bay", "r20190514_090000_reef"}
    assert groups[image.group_id] == "r20190513_120000_bay"
    (collection,) = reef.library.collections()
    assert (collection.name, collection.kind) == ("PS2019", "campaign")


def test_an_import_ends_alike_on_both_databases(workspace, dive):
    (dive / "bad\nname.jpg").write_bytes(b"text")
    for expected in ((3, 0), (0, 3)):
        result = bring_in(workspace, dive)
        assert ((result["new"], result["unchanged"]), result["bad"]) == (expected, 1)
    assert stored(workspace)["r20190514_090000_reef/a.png"].width == 40
    assert workspace.library.problems()[0].where.endswith("bad\\nname.jpg")


def test_hash_and_thumbnails_are_those_of_the_file(reef, dive):
    bring_in(reef, dive)
    image = stored(reef)["r20190514_090000_reef/a.png"]
    data = (dive / image.path).read_bytes()
    assert image.sha256 == hashlib.sha256(data).hexdigest() and image.size == len(data)
    shown = Image.open(BytesIO(reef.thumbnails.get(image.sha256, 128)))
    difference = np.abs(np.asarray(shown).astype(int) - np.asarray(Image.open(dive / image.path))).mean()
    assert shown.size == (40, 30) and difference < 6


def test_images_are_never_changed(reef, dive):
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in dive.rglob("*.*") if path.is_file()}
    bring_in(reef, dive)
    assert {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in before} == before


def test_importing_again_reads_nothing_and_changes_nothing(reef, dive, monkeypatch):
    bring_in(reef, dive)
    before = stored(reef)
    monkeypatch.setattr(
        "benthoscope.engine.jobs.library.import_images.ProcessPool.run", lambda self, items, check: _nothing(items)
    )
    result = bring_in(reef, dive)
    assert (result["new"], result["changed"], result["unchanged"], result["updated"]) == (0, 0, 3, 0)
    assert stored(reef) == before


def _nothing(items):
    assert not list(items), "known files were read again"
    yield from ()


def test_changed_files_with_features_are_reported_for_repair(reef, dive):
    bring_in(reef, dive)
    with reef.features.writer("colour", width=1, extractor={}) as writer:
        ids = reef.library.columns("id")["id"]
        writer.append(ids, np.zeros((len(ids), 1), np.float32))
    os.utime(picture(dive / "r20190514_090000_reef" / "a.png", 9, "PNG"), ns=(1, 1))
    assert bring_in(reef, dive)["changed"] == 1
    problems = [problem for problem in reef.library.problems() if "1 images have changed" in problem.what]
    assert len(problems) == 1 and "--repair" in problems[0].remedy


def test_only_new_and_changed_files_are_read_and_keep_their_ids(reef, dive):
    bring_in(reef, dive)
    before = stored(reef)
    picture(dive / "r20190514_090000_reef" / "b.png", 8, "PNG")
    changed = picture(dive / "r20190514_090000_reef" / "a.png", 9, "PNG")
    os.utime(changed, ns=(1, 1))
    result = bring_in(reef, dive)
    assert (result["new"], result["changed"], result["unchanged"]) == (1, 1, 2)
    stored_rows = stored(reef)
    assert all(stored_rows[path].id == before[path].id for path in before)
    assert stored_rows["r20190514_090000_reef/a.png"].sha256 != before["r20190514_090000_reef/a.png"].sha256


def test_corrected_metadata_reach_images_that_need_not_be_read_again(reef, dive):
    bring_in(reef, dive)
    track = dive / "r20190513_120000_bay" / "track_files" / "bay_latlong.csv"
    track.write_text(TRACK.replace("25.3", "40.0"))
    result = bring_in(reef, dive)
    assert (result["unchanged"], result["updated"]) == (3, 1)
    assert stored(reef)[f"r20190513_120000_bay/i_gtif/{NAMES[0]}"].depth == 40.0


def test_a_thumbnail_that_was_lost_is_made_again(reef, dive):
    bring_in(reef, dive)
    for file in (reef.folder / "thumbnails").iterdir():
        file.unlink()
    reef.thumbnails.close()
    result = bring_in(reef, dive)
    assert (result["changed"], result["unchanged"]) == (0, 3)
    hashes = [image.sha256 for image in stored(reef).values()]
    assert reef.thumbnails.missing(hashes, 128) == reef.thumbnails.missing(hashes, 320) == []


def test_copies_are_found_and_named(reef, dive):
    original = dive / "r20190514_090000_reef" / "a.png"
    (dive / "r20190514_090000_reef" / "copy of a.png").write_bytes(original.read_bytes())
    result = bring_in(reef, dive)
    assert result["duplicates"] == 1
    assert sorted(result["duplicate_files"][0]) == [
        "r20190514_090000_reef/a.png",
        "r20190514_090000_reef/copy of a.png",
    ]


def test_a_bad_file_is_listed_until_it_is_mended(reef, dive):
    bad = dive / "r20190514_090000_reef" / "bad.png"
    bad.write_bytes((dive / "r20190514_090000_reef" / "a.png").read_bytes()[:300])
    assert bring_in(reef, dive)["bad"] == 1
    (problem,) = reef.library.problems()
    assert problem.where.endswith("bad.png") and problem.what == "the PNG data end too early: the file is truncated"
    picture(bad, 11, "PNG")
    assert bring_in(reef, dive)["new"] == 1
    assert reef.library.problems() == []


def test_a_remark_about_an_image_stays_when_it_is_not_read_again(reef, dive):
    picture(dive / "r20190514_090000_reef" / "b.jpg", 12, "PNG")
    for _ in range(2):
        assert bring_in(reef, dive)["problems"] == 1
        assert "contains a PNG image, but its name ends in .jpg" in str(reef.library.problems()[0])


def test_missing_images_are_reported_and_kept(reef, dive):
    bring_in(reef, dive)
    (dive / "r20190514_090000_reef" / "a.png").unlink()
    assert bring_in(reef, dive)["gone"] == 1
    assert "missing, such as r20190514_090000_reef/a.png" in str(reef.library.problems()[0])
    assert reef.library.count_images() == 3


def test_a_folder_below_an_imported_one_belongs_to_it(reef, dive):
    bring_in(reef, dive)
    picture(dive / "r20190514_090000_reef" / "b.png", 8, "PNG")
    result = bring_in(reef, dive / "r20190514_090000_reef")
    assert (result["images"], result["new"], result["unchanged"], result["gone"]) == (2, 1, 1, 0)
    assert len(reef.library.roots()) == 1 and len(reef.library.collections()) == 1
    assert "r20190514_090000_reef/b.png" in stored(reef)


def test_a_folder_above_an_imported_one_does_not_double_its_images(reef, dive):
    bring_in(reef, dive / "r20190514_090000_reef")
    result = bring_in(reef, dive)
    assert (result["new"], result["unchanged"], result["duplicates"]) == (2, 1, 0)
    assert bring_in(reef, dive)["unchanged"] == 3
    assert all(path.exists() for path in reef.library.locate(reef.library.columns("id")["id"]).values())


def test_options_are_applied(reef, tmp_path):
    picture(tmp_path / "trips" / "2019" / "Rome" / "a.jpg", 1)
    (tmp_path / "elsewhere.csv").write_text("file;Tiefe\na.jpg;7,5\n")
    bring_in(
        reef,
        tmp_path / "trips",
        collection="mine",
        kind="albums",
        group_level=1,
        mapping={"Tiefe": "depth"},
        metadata=[str(tmp_path / "elsewhere.csv")],
    )
    (image,) = stored(reef).values()
    assert image.depth == 7.5
    assert [group.name for group in reef.library.groups()] == ["2019"]
    assert [(collection.name, collection.kind) for collection in reef.library.collections()] == [("mine", "albums")]


def test_a_file_that_differs_from_its_metadata_is_reported(reef, tmp_path):
    picture(tmp_path / "set" / "a.jpg", 1)
    items = '{"a.jpg": {"image-hash-sha256": "' + "0" * 64 + '", "image-altitude-meters": -20}}'
    (tmp_path / "set" / "set.json").write_text(
        '{"image-set-header": {"image-set-name": "s", "image-license": {"name": "CC0"}}, "image-set-items": '
        + items
        + "}"
    )
    bring_in(reef, tmp_path / "set")
    assert "is not the file its metadata describe: the SHA-256 differs" in str(reef.library.problems()[0])
    assert stored(reef)["a.jpg"].depth == 20
    assert reef.library.groups()[0].details["ifdo"]["image-license"] == {"name": "CC0"}


def test_an_impossible_option_fails_with_a_one_line_error_and_stores_nothing(reef, dive):
    with pytest.raises(BadInput, match="mapping: there is no 'nothing'"):
        run_now(reef, "import", {"folder": str(dive), "mapping": {"nothing": "depth"}})
    assert reef.library.count_images() == 0 and JobQueue(reef).all() == []


def test_a_cancelled_import_keeps_stored_images_and_resumes(reef, tmp_path):
    for number in range(200):
        picture(tmp_path / "many" / f"{number:03}.jpg", number)
    queue = JobQueue(reef)

    def cancel_when_something_is_stored(job):
        if reef.library.count_images() and not job.finished:
            queue.cancel(job.id)

    job = run_now(
        reef, "import", {"folder": str(tmp_path / "many"), "workers": 1}, watch=cancel_when_something_is_stored
    )
    image_count = reef.library.count_images()
    assert job.state in ("cancelled", "done") and image_count > 0
    result = bring_in(reef, tmp_path / "many")
    assert result["unchanged"] == image_count and result["new"] == 200 - image_count


def test_a_full_disk_fails_in_one_line(reef, dive, monkeypatch):
    def no_space(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(reef.thumbnails, "add_many", no_space)
    job = run_now(reef, "import", {"folder": str(dive), "workers": 1})
    assert job.state == "failed"
    assert "cannot be written (No space left on device); free some space" in job.error


# --- the processes that read


def echo(item):
    return item * 2


def misbehave(item):
    if item == "crash":
        os.kill(os.getpid(), 11)
    if item == "hang":
        threading.Event().wait()
    if item == "mistake":
        raise ZeroDivisionError("our own")
    return item.upper()


def test_every_item_comes_back_with_its_result():
    assert dict(ProcessPool(echo, 2).run(range(50), lambda: None)) == {number: 2 * number for number in range(50)}


def test_an_item_that_kills_its_process_is_named_and_the_others_are_done():
    items = ["a", "crash", "b", "hang", "c", "d"]
    result_by_item = dict(ProcessPool(misbehave, 2, patience=1.5).run(items, lambda: None))
    assert {item: result_by_item[item] for item in "abcd"} == {"a": "A", "b": "B", "c": "C", "d": "D"}
    assert result_by_item["crash"] == Lost("it crashed the image decoder")
    assert result_by_item["hang"] == Lost("it could not be read within 1.5 seconds")


def test_an_internal_error_is_raised_with_its_traceback():
    with pytest.raises(RuntimeError, match=r"(?s)while reading mistake.*ZeroDivisionError: our own"):
        dict(ProcessPool(misbehave, 1).run(["mistake"], lambda: None))


def test_work_that_hangs_can_be_stopped_and_leaves_no_process():
    calls = []

    def stop():
        calls.append(1)
        if len(calls) > 3:
            raise KeyboardInterrupt

    pool = ProcessPool(misbehave, 1)
    with pytest.raises(KeyboardInterrupt):
        dict(pool.run(["hang"], stop))
    assert pool._members == []


# --- what a person sees before


def test_the_preview_shows_what_the_import_would_do(reef, dive):
    preview = ImportPreview.of(dive, workspace=reef)
    assert preview.images == 3 and reef.library.count_images() == 0
    assert [(group.collection, group.name, group.images) for group in preview.groups] == [
        ("PS2019", "r20190513_120000_bay", 2),
        ("PS2019", "r20190514_090000_reef", 1),
    ]
    (source,) = preview.sources
    assert (source.kind, source.images) == ("IMOS AUV track", 2)
    assert ("leftimage", "image") in [(column.name, column.meaning) for column in source.columns]
    row = preview.rows[0]
    assert (row.depth, row.taken_at) == (25.3, "2019-05-13 12:00:00 UTC")
    bring_in(
        reef,
        **{name: value for name, value in preview.parameters.items() if name != "folder"},
        folder=preview.parameters["folder"],
    )
    assert reef.library.count_images() == 3


def test_a_preview_is_corrected_without_scanning_again(dive, monkeypatch):
    table = dive / "r20190514_090000_reef" / "site.csv"
    table.write_text("Bild;Tiefe\na.png;12,5\n")
    preview = ImportPreview.of(dive)
    monkeypatch.setattr("benthoscope.engine.jobs.library.import_images.survey", None)
    mended = preview.with_meaning("Tiefe", "depth").with_group_level(0).with_collection("mine", "albums")
    assert {group.name for group in mended.groups} == {"mine"}
    assert [row.depth for row in mended.rows if row.path.endswith("a.png")] == [12.5]
    assert preview.plan.options == ImportOptions()
    with pytest.raises(BadInput, match="no 'deep'"):
        preview.with_meaning("Tiefe", "deep")
