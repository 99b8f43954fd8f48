"""A killed sample process leaves no incomplete file and no running worker, and the next call completes the sample."""

import hashlib
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import psutil
import pytest
from PIL import Image

from benthoscope.sample_data import make_campaign

ROOT = Path(__file__).parents[2]
SETTINGS = {"dives": 3, "images": 120, "size": (160, 120), "workers": 2}
PROGRAM = f"""
from benthoscope.sample_data import make_campaign
if __name__ == "__main__":
    make_campaign(FOLDER, **{SETTINGS!r}, on_step=lambda done, total: print(done, flush=True))
"""


def images(folder):
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.rglob("*.jpg")}


@pytest.fixture(scope="module")
def untouched(tmp_path_factory):
    return make_campaign(tmp_path_factory.mktemp("whole") / "c", **SETTINGS)


def killed_at(folder, images_done, delay):
    """Start the sample in a separate process and kill it some time after this number of images. Returns its
    processes."""
    script = folder.parent / "make.py"
    script.write_text(PROGRAM.replace("FOLDER", repr(str(folder))))
    process = subprocess.Popen(
        [sys.executable, str(script)], cwd=ROOT, env={"PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE, text=True
    )
    for line in process.stdout:
        if int(line) >= images_done:
            break
    time.sleep(delay)
    family = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    process.wait()
    return family


@pytest.mark.parametrize("moment", range(6))
def test_a_killed_sample_is_completed_by_the_next_call(untouched, tmp_path, moment):
    rng = np.random.default_rng(moment)
    family = killed_at(tmp_path / "c", int(rng.integers(0, 80)), float(rng.uniform(0, 0.12)))
    _, alive = psutil.wait_procs(family, timeout=20)
    assert not alive, "worker processes outlive their parent"
    for path in (tmp_path / "c").rglob("*.jpg"):
        with Image.open(path) as opened:
            opened.load()  # a half-written file would raise
    finished = make_campaign(tmp_path / "c", **{**SETTINGS, "workers": 1})
    assert images(tmp_path / "c") == images(untouched.folder)
    assert finished.points == untouched.points
    assert all((finished.mask(image) == untouched.mask(image)).all() for image in untouched.masked)
    assert not list((tmp_path / "c").rglob("*.part*"))
