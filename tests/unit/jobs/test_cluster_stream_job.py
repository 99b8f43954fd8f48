"""Clustering in bounded memory from the queue or the command line."""

import json
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from typer.testing import CliRunner

from benthoscope.app.cli import app
from benthoscope.engine.jobs import JobQueue, JobRunner, run_now
from benthoscope.engine.jobs.cluster import streamed_rows
from benthoscope.engine.jobs.cluster.fit_request import limit_sentences
from benthoscope.engine.metrics import v_measure
from benthoscope.engine.problems import BadInput
from benthoscope.engine.streaming import MemoryBoundedVDP, memory_bounded_vdp
from benthoscope.engine.streaming.memory_bounded_vdp import learn as memory_bounded_vdp_learn
from benthoscope.engine.workspace import NewImage, Workspace

CENTRES = np.array([[0.0, 0, 0], [6, 0, 0], [0, 6, 0], [0, 0, 6]])
SMALL = {"memory": 60, "epoch": 100}


@pytest.fixture
def reef(tmp_path):
    """900 images in three dives, with features of four clusters that come one after the other."""
    rng = np.random.default_rng(0)
    with Workspace.create(tmp_path / "reef") as made:
        campaign, root = made.library.collection("c"), made.library.register_root(tmp_path)
        for dive in ("a", "b", "c"):
            group = made.library.group(campaign.id, dive)
            made.library.store_images(
                [NewImage(root.id, f"{dive}/{n}.jpg", group.id, 1, 1, "a" * 64, 8, 8) for n in range(300)]
            )
        made.truth = np.sort(rng.choice(4, 900))
        with made.features.writer("deep", width=3, extractor={"kind": "test"}) as features:
            features.append(made.library.columns("id")["id"], CENTRES[made.truth] + 0.5 * rng.normal(size=(900, 3)))
        yield made


def test_a_stream_finds_the_clusters_in_one_pass(reef):
    job = run_now(reef, "cluster", {"model": "mbvdp", "parameters": SMALL})
    assert job.state == "done", job.error
    run = reef.runs.current()
    assert v_measure(reef.truth, run.array("labels")) > 0.95
    assert set(job.result["levels"]) == {"coarser", "finer"}
    np.testing.assert_allclose(run.array("weights").sum(1), 1, atol=1e-6)
    model = MemoryBoundedVDP.from_arrays(
        {name.removeprefix("model_"): value for name, value in run.arrays().items() if name.startswith("model_")},
        run.arrays()["model"],
    )
    np.testing.assert_array_equal(model.predict(np.asarray(reef.features.open("deep").X)), run.array("labels"))


def test_each_dive_has_its_own_proportions_in_a_topic_model(reef):
    job = run_now(reef, "cluster", {"model": "mbtm", "parameters": SMALL})
    assert job.state == "done", job.error
    run = reef.runs.current()
    assert v_measure(reef.truth, run.array("labels")) > 0.95
    labels, K = np.asarray(run.array("labels")), job.result["clusters"]
    counted = np.stack([np.bincount(labels[300 * j : 300 * j + 300], minlength=K) / 300 for j in range(3)])
    np.testing.assert_allclose(run.array("weights"), counted, atol=0.05)


def test_a_part_of_a_feature_set_is_read_in_blocks(reef, monkeypatch):
    ids = reef.library.columns("id")["id"]
    with reef.features.writer("wide", width=12, extractor={"kind": "test"}) as features:
        rng = np.random.default_rng(1)
        features.append(ids, np.hstack([4 * CENTRES[reef.truth], np.zeros((900, 9))]) + rng.normal(size=(900, 12)))
    monkeypatch.setattr(streamed_rows, "MOST_VALUES", 100)
    parameters = {"model": "mbvdp", "features": "wide", "dimensions": 3, "parameters": SMALL}
    job = run_now(reef, "cluster", parameters)
    assert job.state == "done", job.error
    run = reef.runs.current()
    assert v_measure(reef.truth, run.array("labels")) > 0.95
    assert run.array("axes").shape == (12, 3)
    assert job.result["levels"] == {}


def test_rows_of_a_file_are_those_of_the_feature_set(reef):
    features = reef.features.open("deep")
    X = np.asarray(features.X)
    rows = streamed_rows.FileRows(features, np.arange(0, 900, 2))
    np.testing.assert_array_equal(rows.read(3, 200), X[6:400:2])
    few = streamed_rows.FileRows(features, np.array([5, 800]))
    np.testing.assert_array_equal(few.read(0, 2), X[[5, 800]])


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        ({"hold_out": 0.1}, "hold-out: mbvdp reads its images once"),
        ({"crowd": "x"}, "crowd: mbvdp cannot be steered"),
        ({"parameters": {"memory": 0}}, "memory: must be a whole number greater than 0"),
        ({"parameters": {"search": "greedy"}}, "has no parameter 'search'"),
    ],
)
def test_options_that_need_all_rows_are_refused(reef, extra, message):
    with pytest.raises(BadInput, match=message):
        run_now(reef, "cluster", {"model": "mbvdp", **extra})


def test_a_budget_that_binds_is_reported_with_the_option_that_raises_it(reef):
    run_now(reef, "cluster", {"model": "mbvdp", "parameters": {"memory": 6, "epoch": 100}})
    assert limit_sentences(reef.runs.current()) == [
        "The fit reached the limit of 6 remembered images; raise it with --memory."
    ]


def test_the_command_line_sets_the_budget(reef):
    reef_path = str(reef.folder)
    words = ["cluster", "--model", "mbvdp", "--memory", "60", "--epoch", "100", "--workspace", reef_path, "--json"]
    result = json.loads(CliRunner().invoke(app, words, catch_exceptions=False).stdout)
    run = reef.runs.get(result["run"])
    assert (run.parameters["memory"], run.parameters["epoch"]) == (60, 100)
    assert len(run.provenance["bounds"]) == 9


KILLED = """
import os, signal, sys
from benthoscope.engine.jobs import run_now
from benthoscope.engine.streaming import memory_bounded_vdp, stream_estimator
from benthoscope.engine.workspace import Workspace

stream_estimator.SECONDS_BETWEEN_CHECKPOINTS = 0.0
learn = memory_bounded_vdp.learn

def until_row_500(state, *values):
    if state.rows == 500:
        os.kill(os.getpid(), signal.SIGKILL)
    return learn(state, *values)

memory_bounded_vdp.learn = until_row_500
with Workspace.open(sys.argv[1]) as workspace:
    run_now(workspace, "cluster", {"model": "mbvdp", "parameters": {"memory": 60, "epoch": 100}})
"""


def test_a_killed_job_resumes_from_its_last_saved_round(reef, monkeypatch):
    command = [sys.executable, "-c", KILLED, str(reef.folder)]
    assert subprocess.run(command, check=False, capture_output=True).returncode == -signal.SIGKILL
    (stopped,) = JobQueue(reef).all()
    rounds = []

    def counted(state, *values):
        rounds.append(state.rows)
        return memory_bounded_vdp_learn(state, *values)

    monkeypatch.setattr(memory_bounded_vdp, "learn", counted)
    with JobRunner(reef):
        deadline = time.monotonic() + 60
        while not JobQueue(reef).get(stopped.id).finished and time.monotonic() < deadline:
            time.sleep(0.02)
    finished = JobQueue(reef).get(stopped.id)
    assert finished.state == "done", finished.error
    assert rounds == [500, 600, 700, 800]
    assert v_measure(reef.truth, reef.runs.current().array("labels")) > 0.95
