"""kill -9 during an import, fifty times: stored images stay intact, and the import finishes normally."""

import random
import time

import numpy as np
import psutil
import pytest
from PIL import Image

from benthoscope.engine.jobs import run_now
from benthoscope.engine.workspace import Workspace
from benthoscope.engine.workspace.storage.thumbnails import AT_IMPORT
from tests.faults.victims import import_folder, killed_at_a_random_moment, running

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
KILLS = 50
IMAGES = 200


@pytest.fixture
def folder(tmp_path):
    """Create different images of two dives that take some time to read."""
    rng = np.random.default_rng(0)
    for number in range(IMAGES):
        path = tmp_path / "images" / f"dive{number % 2}" / f"{number:04}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        small = rng.integers(0, 255, (12, 16, 3), dtype=np.uint8)
        Image.fromarray(small).resize((640, 480)).save(path, quality=85)
    return tmp_path / "images"


def test_an_import_killed_fifty_times_loses_nothing(folder, tmp_path):
    draw, seconds = random.Random(0), _seconds_undisturbed(folder, tmp_path / "undisturbed")
    reefs, count, in_the_middle = [_empty(tmp_path / "reef")], 0, 0
    for _ in range(KILLS):
        killed_at_a_random_moment(import_folder, reefs[-1], folder, within=seconds, draw=draw)
        with Workspace.open(reefs[-1]) as workspace:
            hashes = workspace.library.columns("sha256")["sha256"]
            assert len(hashes) >= count, "images that were stored are gone"
            assert all(not workspace.thumbnails.missing(hashes, size) for size in AT_IMPORT)
            count, in_the_middle = len(hashes), in_the_middle + (count < len(hashes) < IMAGES)
        if not in_the_middle:  # the machine may be busier than at first
            seconds *= 1.1
        if count == IMAGES:  # the import ended before the kill: start again
            reefs, count = [*reefs, _empty(tmp_path / f"reef{len(reefs)}")], 0
    assert in_the_middle >= 3, "the import never got going between the kills"
    for reef in reefs:
        _assert_ends_whole(reef, folder)
    assert not _left_behind(tmp_path), "readers outlived the import that started them"


def _empty(path):
    Workspace.create(path).close()
    return path


def _seconds_undisturbed(folder, reef):
    began = time.monotonic()
    with running(import_folder, _empty(reef), folder) as process:
        process.join()
    return time.monotonic() - began


def _assert_ends_whole(reef, folder):
    with Workspace.open(reef) as workspace:
        assert run_now(workspace, "import", {"folder": str(folder)}).state == "done"
        assert workspace.library.count_images() == IMAGES
        assert {summary.group.name: summary.images for summary in workspace.library.summaries()} == {
            "dive0": IMAGES // 2,
            "dive1": IMAGES // 2,
        }
        assert all(
            pack.damaged_bytes == 0 or pack.thumbnails >= IMAGES
            for pack in workspace.thumbnails.verify()
            if pack.size in AT_IMPORT
        )


def _left_behind(position) -> list[int]:
    """Return processes that still have open files below the folder, a few seconds after the last kill."""
    for _ in range(50):
        holders = [
            process.pid
            for process in psutil.process_iter()
            if process.pid != psutil.Process().pid and _holds(process, str(position))
        ]
        if not holders:
            return []
        time.sleep(0.1)
    return holders


def _holds(process: psutil.Process, position: str) -> bool:
    try:
        return any(file.path.startswith(position) for file in process.open_files())
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return False
