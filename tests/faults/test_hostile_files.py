"""Hundreds of corrupt files in one import: each is imported or listed with one reason in plain words, and nothing
breaks."""

import json
import os
import subprocess
import sys
import unicodedata
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from benthoscope.engine.exchange.image_import.sources import read_source
from benthoscope.engine.imaging import BadImage, facts_of, take_in
from benthoscope.engine.jobs import run_now
from benthoscope.engine.problems import BadInput, Problem
from benthoscope.engine.workspace import Workspace
from benthoscope.engine.workspace.records import Image
from tests.faults import hostile

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # pytest undoes the filter that decoding sets
IMAGES, TABLES = dict(hostile.images()), dict(hostile.tables())


class Imported(NamedTuple):
    workspace: Workspace
    images: dict[str, Image]  # by path
    problems: list[Problem]
    result: dict[str, Any]
    listed: list[str]  # ends of paths that must be among the problems

    @property
    def names(self):
        return {Path(path).name for path in self.images}


@pytest.fixture(scope="module")
def imported(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    for name, data in (*IMAGES.items(), *TABLES.items()):
        (folder / name).write_bytes(data)
    (folder / "fine.jpg").write_bytes(hostile.encoded(hostile.picture(99), "JPEG"))
    listed = hostile.on_disk(folder)
    with Workspace.create(tmp_path_factory.mktemp("ws") / "hostile") as workspace:
        job = run_now(workspace, "import", {"folder": str(folder)})
        assert job.state == "done", job.traceback
        images = workspace.library.images(workspace.library.columns("id")["id"])
        problems = workspace.library.problems()
        yield Imported(workspace, {image.path: image for image in images}, problems, job.result, listed)


def test_there_are_more_than_two_hundred_hostile_files(tmp_path):
    assert len(IMAGES) + len(TABLES) + len(hostile.on_disk(tmp_path)) > 300


def test_every_hostile_image_is_imported_or_listed(imported):
    names = {Path(problem.where).name for problem in imported.problems}
    assert [name for name in IMAGES if name not in imported.images and name not in names] == []


def test_files_that_only_look_dangerous_are_imported(imported):
    assert [name for name in IMAGES if name.startswith("fine_") and name not in imported.names] == []
    assert {"fine_in_folder.jpg", "-rf.jpg", "fine.jpg", "fine_new\nline.jpg", "fine_🐙.jpg"} <= imported.names
    assert "fine_'; DROP TABLE image; --.jpg" in imported.names


def test_files_that_are_not_images_are_not_imported(imported):
    signs = ("noise", "empty", "zeros", "heif", "png_bomb", "cut_at_1.")
    hopeless = {name for name in IMAGES if name.startswith(signs)}
    assert len(hopeless) > 15 and not hopeless & imported.names
    assert imported.result["bad"] > 100


def test_special_files_are_listed(imported):
    locations = [problem.where for problem in imported.problems]
    assert [name for name in imported.listed if not any(where.endswith(name) for where in locations)] == []


def test_every_reason_is_one_plain_line(imported):
    for problem in imported.problems:
        line = str(problem)
        assert not [letter for letter in line if unicodedata.category(letter) in ("Cc", "Cs")], repr(line)
        assert len(line) < 700 and problem.what and "Error" not in problem.what and " at 0x" not in problem.what, line


def test_every_problem_says_what_to_do(imported):
    assert [str(problem) for problem in imported.problems if not problem.remedy] == []


def test_every_image_imported_has_its_thumbnails(imported):
    hashes = {image.sha256 for image in imported.images.values()}
    assert len(imported.images) == imported.result["images"] - imported.result["bad"]
    assert [imported.workspace.thumbnails.missing(hashes, size) for size in (128, 320)] == [[], []]


def test_a_panorama_of_forty_megapixels_is_imported(imported):
    panorama = imported.images["fine_panorama.jpg"]
    assert (panorama.width, panorama.height) == (10_000, 4_000)


BOMBED = """
import json, sys
from pathlib import Path
from benthoscope.engine.imaging import BadImage, take_in
answers = {}
for path in map(Path, sys.argv[1:]):
    Path("/proc/self/clear_refs").write_text("5")  # the peak of memory begins anew
    refused = ""
    try:
        take_in(path, (128,))
    except BadImage as error:
        refused = str(error)
    # Not getrusage: its peak is inherited from the process that started this one.
    peak = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))
    answers[path.name] = (refused, int(peak))
print(json.dumps(answers))
"""
BOMBS = [name for name in IMAGES if "bomb" in name]


@pytest.fixture(scope="module")
def bombed(tmp_path_factory):
    """{name: (why it was rejected, peak of memory in kilobytes)} of all bombs, in one process."""
    folder = tmp_path_factory.mktemp("bombs")
    for name in BOMBS:
        (folder / name).write_bytes(IMAGES[name])
    command = [sys.executable, "-c", BOMBED, *(folder / name for name in BOMBS)]
    run = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2], timeout=60)
    return json.loads(run.stdout)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of memory is only told by Linux")
@pytest.mark.parametrize("name", BOMBS)
def test_a_decompression_bomb_is_rejected_without_unpacking_it(name, bombed):
    refused, kilobytes = bombed[name]
    assert refused or name == "png_pixels_bomb.png"  # its decoder stops after the pixels it was promised
    assert kilobytes < 250_000


@pytest.mark.parametrize("name", TABLES)
def test_a_hostile_table_gives_records_or_one_reason(name):
    try:
        source = read_source(TABLES[name], name=name)
    except BadInput as error:
        assert name in error.problem.where and "\n" not in str(error)
        return
    for record in source.reading.records if source else ():
        assert record.latitude is None or (abs(record.latitude) <= 90 and abs(record.longitude) <= 180)
        json.dumps(record.details, allow_nan=False)


def test_yaml_cannot_run_programs(imported):
    assert not (Path.cwd() / "owned").exists()


def test_a_file_without_permission_is_listed(tmp_path):
    path = tmp_path / "a.jpg"
    path.write_bytes(IMAGES["fine_cmyk.jpg"])
    path.chmod(0)
    child = os.fork()
    if child == 0:
        os._exit(_refused_for_lack_of_permission(path))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def _refused_for_lack_of_permission(path):
    """Return 0 if a process without privileges may not read the file."""
    try:
        if os.geteuid() == 0:
            os.setuid(65_534)
        take_in(path, (128,))
    except BadImage as error:
        return 0 if "this account may not read it; change its permissions" in str(error) else 1
    except BaseException:
        return 2
    return 3


def test_facts_of_hostile_images_never_raise_anything_but_one_reason():
    for name, data in IMAGES.items():
        try:
            facts = facts_of(data, where=name, suffix=Path(name).suffix)
        except BadImage as error:
            assert error.problem.where == name
        else:
            assert facts.width > 0 and facts.height > 0
