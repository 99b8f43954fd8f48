"""A killed clustering job resumes from its last checkpoint and gives the same result as an uninterrupted one."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

PROJECT = Path(__file__).parents[2]
RUN = """
import json, os, signal, sys
from pathlib import Path
import numpy as np
from benthoscope.engine.mixtures import GMC

class OnDisk:
    def __init__(self, folder, dies_at):
        self.path, self.dies_at, self.saves = Path(folder) / "state", dies_at, 0
    def save(self, state):
        arrays = {name: value for name, value in state.items() if isinstance(value, np.ndarray)}
        plain = {name: value for name, value in state.items() if name not in arrays}
        np.savez(self.path.with_suffix(".new.npz"), told=json.dumps(plain), **arrays)
        os.replace(self.path.with_suffix(".new.npz"), self.path.with_suffix(".npz"))
        self.saves += 1
        if self.saves == self.dies_at:
            os.kill(os.getpid(), signal.SIGKILL)
    def load(self):
        if not self.path.with_suffix(".npz").exists():
            return None
        with np.load(self.path.with_suffix(".npz")) as held:
            arrays = dict(held)
        return {**json.loads(str(arrays.pop("told"))), **arrays}

folder, dies_at = sys.argv[1], int(sys.argv[2])
rng = np.random.default_rng(0)
groups = np.repeat(np.arange(4), 3000)
kind = rng.integers(0, 3, 12_000) + groups % 3
X = 4 * rng.standard_normal((6, 5))[kind] + rng.standard_normal((12_000, 5))
kept = OnDisk(folder, dies_at)
model = GMC(search_rows=400, random_state=1).fit(X, groups=groups, checkpoint=kept)
np.savez(Path(folder) / "done.npz", labels=model.labels_, history=model.lower_bound_history_, saves=kept.saves)
"""


def run(folder: Path, dies_at: int) -> int:
    command = [sys.executable, "-c", RUN, str(folder), str(dies_at)]
    return subprocess.run(command, cwd=PROJECT, check=False, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"}).returncode


def test_runs_killed_repeatedly_end_with_the_labels_of_an_uninterrupted_one(tmp_path):
    (tmp_path / "whole").mkdir()
    (tmp_path / "torn").mkdir()
    assert run(tmp_path / "whole", 0) == 0
    archive = np.load(tmp_path / "whole" / "done.npz")
    kills = 0
    while run(tmp_path / "torn", 3) != 0:  # every process lives to save three times, the third of them its last
        kills += 1
        assert kills < 60
    torn = np.load(tmp_path / "torn" / "done.npz")
    assert kills >= 2
    assert (torn["labels"] == archive["labels"]).all()
    assert (torn["history"] == archive["history"]).all()


def test_the_state_on_disk_needs_no_pickle(tmp_path):
    run(tmp_path, 4)
    with np.load(tmp_path / "state.npz", allow_pickle=False) as archive:
        assert json.loads(str(archive["told"]))["shape"] == [12_000, 5]
        assert archive["moments"].shape[1] == 1 + 5 + 15
