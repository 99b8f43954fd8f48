"""Clustering from the queue or the command line: stored runs, and cancellation."""

import json
import threading

import numpy as np
import pytest
from typer.testing import CliRunner

from benthoscope.app.cli import app
from benthoscope.engine.jobs import JobQueue, JobRunner, run_now
from benthoscope.engine.jobs.cluster.compare_runs import compare_runs
from benthoscope.engine.jobs.cluster.fit_request import ONE_CLUSTER, POINTS, Trace, limit_sentences
from benthoscope.engine.jobs.cluster.inputs import supported
from benthoscope.engine.metrics import v_measure
from benthoscope.engine.mixtures import GMC
from benthoscope.engine.problems import BadInput
from benthoscope.engine.progress import Progress
from benthoscope.engine.workspace import NewImage, Run, Workspace

CENTRES = np.array([[0.0, 0, 0], [6, 0, 0], [0, 6, 0], [0, 0, 6]])
SHARES = {"dive a": (1, 1, 0, 0), "dive b": (0, 1, 1, 1), "dive c": (1, 0, 1, 1)}


@pytest.fixture
def reef(tmp_path):
    """600 images in three dives with features of four clusters; not every dive has every cluster."""
    rng = np.random.default_rng(0)
    with Workspace.create(tmp_path / "reef") as made:
        campaign, root = made.library.collection("c"), made.library.register_root(tmp_path)
        truth = []
        for dive, shares in SHARES.items():
            group = made.library.group(campaign.id, dive)
            made.library.store_images(
                [NewImage(root.id, f"{dive}/{n}.jpg", group.id, 1, 1, "a" * 64, 8, 8) for n in range(200)]
            )
            truth.append(rng.choice(4, 200, p=np.array(shares) / sum(shares)))
        ids, truth = made.library.columns("id")["id"], np.concatenate(truth)
        with made.features.writer("deep", width=3, extractor={"kind": "test"}) as features:
            features.append(ids, CENTRES[truth] + 0.5 * rng.standard_normal((600, 3)))
        made.truth = truth
        yield made


@pytest.mark.parametrize("model", ["gmc", "sgmc", "vdp", "bgmm"])
def test_every_model_finds_the_clusters_and_each_dives_mixture(reef, model):
    job = run_now(reef, "cluster", {"model": model})
    assert job.state == "done", job.error
    run = reef.runs.current()
    assert v_measure(reef.truth, run.array("labels")) > 0.98
    weights = run.array("weights")
    assert weights.shape == (3, 4)
    np.testing.assert_allclose(weights.sum(1), 1, atol=1e-6)
    counted = np.stack([np.bincount(run.array("labels")[200 * j : 200 * j + 200], minlength=4) / 200 for j in range(3)])
    np.testing.assert_allclose(weights, counted, atol=0.03)
    assert [cluster.size for cluster in reef.runs.clusters(run.id)] == np.bincount(run.array("labels")).tolist()
    assert run.array("probability").min() > 0.25


def test_a_run_remembers_how_it_was_made(reef):
    run_now(reef, "cluster", {"width": 0.1, "seed": 3, "hold_out": 0.2, "parameters": {"max_clusters": 9}})
    run = reef.runs.current()
    assert run.provenance["parameters"]["width"] == 0.1
    assert run.provenance["parameters"]["max_clusters"] == 9
    assert (run.provenance["seed"], run.parameters["width"]) == (3, 0.1)
    assert run.provenance["features"]["data_hash"] == reef.features.open("deep").sidecar.data_hash
    assert {"python", "numpy", "benthoscope"} <= set(run.provenance["versions"])
    assert run.provenance["bounds"][-1] == pytest.approx(run.summary["lower_bound"])
    assert np.isfinite(run.summary["held_out"])
    assert run.provenance["trace"]


def test_the_same_seed_gives_the_same_run(reef):
    for _ in range(2):
        run_now(reef, "cluster", {"seed": 5})
    first, other = reef.runs.all()
    np.testing.assert_array_equal(first.array("labels"), other.array("labels"))
    assert compare_runs(first, other).v_measure == pytest.approx(1.0)


def test_one_collection_can_be_clustered_alone(reef, tmp_path):
    group = reef.library.group(reef.library.collection("album", "albums").id, "2024")
    root = reef.library.register_root(tmp_path)
    new = reef.library.store_images([NewImage(root.id, "x.jpg", group.id, 1, 1, "b" * 64, 8, 8)])
    with reef.features.appending("deep") as features:
        features.append(np.array(new), np.ones((1, 3)))
    run_now(reef, "cluster", {"collection": "c"})
    assert len(reef.runs.current().array("labels")) == 600


def test_few_images_use_few_axes_and_the_run_stores_them(reef):
    assert [supported(count) for count in (10, 240, 2_048, 100_000)] == [4, 10, 32, 223]
    run_now(reef, "cluster", {"dimensions": 2})
    run = reef.runs.current()
    assert run.provenance["features"]["dimensions"] == 2
    projected = (reef.features.open("deep").X - run.array("axes_centre")) @ run.array("axes")
    model = GMC.from_arrays(
        {name.removeprefix("model_"): value for name, value in run.arrays().items() if name.startswith("model_")},
        run.arrays()["model"],
    )
    groups = np.repeat(run.array("group_ids"), 200)
    np.testing.assert_array_equal(model.predict(projected, groups), run.array("labels"))


def test_images_that_left_the_catalogue_are_left_out(reef):
    reef.library.forget_images(reef.library.columns("id")["id"][:100])
    run_now(reef, "cluster")
    assert len(reef.runs.current().array("image_ids")) == 500


@pytest.mark.parametrize(
    "parameters, told",
    [
        ({"model": "gmmc"}, "did you mean 'gmc'"),
        ({"features": "depe"}, "did you mean 'deep'"),
        ({"width": -1.0}, "width"),
        ({"hold_out": 1.5}, "hold-out"),
        ({"dimensions": 0}, "dimensions"),
        ({"collection": "nope"}, "collection"),
        ({"parameters": {"sticky": 1}}, "has no parameter 'sticky'"),
    ],
)
def test_a_wrong_parameter_gives_a_one_line_error(reef, parameters, told):
    with pytest.raises(BadInput, match=told):
        run_now(reef, "cluster", parameters)
    assert reef.runs.all() == [] and JobQueue(reef).all() == []


@pytest.mark.parametrize(
    "parameters",
    [{"dimensions": 2}, {"model": "rim", "parameters": {"n_init": 1}}, {"model": "krim", "dimensions": 3}],
    ids=str,
)
def test_a_value_too_large_is_named_with_its_row_and_image(reef, parameters):
    ids = reef.library.columns("id")["id"]
    rows = np.array(reef.features.open("deep").X)
    rows[417, 2] = 1e37
    with reef.features.writer("spoilt", width=3, extractor={"kind": "test"}) as features:
        features.append(ids, rows)
    reef.library.forget_images(ids[:100])
    job = run_now(reef, "cluster", {"features": "spoilt", **parameters})
    assert job.state == "failed" and "\n" not in job.error
    assert f"features spoilt row 417 (image {ids[417]}): contains 1e+37" in job.error and "column 2" in job.error


def test_cancelling_keeps_the_clusters_found_so_far(reef, monkeypatch):
    queue, event = JobQueue(reef), threading.Event()
    original = Trace.on_step

    def slow(self, progress):
        original(self, progress)
        if progress.figures.get("clusters", 0) >= 2:
            event.set()
            threading.Event().wait(0.05)

    monkeypatch.setattr(Trace, "on_step", slow)
    job = queue.add("cluster")
    with JobRunner(reef):
        assert event.wait(30)
        queue.cancel(job.id)
        while not queue.get(job.id).finished:
            threading.Event().wait(0.02)
    assert queue.get(job.id).state == "cancelled"
    (run,) = reef.runs.all()
    assert run.summary["partial"] and "stopped early" in run.name
    assert len(run.array("labels")) == 600


def test_runs_are_compared_on_the_images_they_share_and_splits_are_named(reef):
    run_now(reef, "cluster", {"name": "fine"})
    run_now(reef, "cluster", {"name": "coarse", "parameters": {"max_clusters": 2}})
    comparison = compare_runs(reef.runs.named("fine"), reef.runs.named("coarse"))
    assert comparison.table.sum() == 600
    assert comparison.splits()["other"], "a cluster of the coarse run is several of the fine run"
    assert 0 < comparison.v_measure < 1
    rows, columns = comparison.ordered()
    assert sorted(rows) == [0, 1, 2, 3] and sorted(columns) == [0, 1]


def invoke(workspace, *words):
    result = CliRunner().invoke(app, [*words, "--workspace", str(workspace.folder)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_the_command_line_sweeps_lists_compares_and_writes(reef, tmp_path):
    content = json.loads(invoke(reef, "cluster", "--sweep", "0.02,0.2", "--json"))
    assert [run["clusters"] for run in content] == [4, 4]
    assert all(np.isfinite(run["held_out"]) for run in content)
    assert len(json.loads(invoke(reef, "runs", "--json"))) == 2
    first, second = (str(run["run"]) for run in content)
    assert json.loads(invoke(reef, "runs", "compare", first, second, "--json"))["v_measure"] > 0.9
    assert "held-out" in invoke(reef, "runs", "compare", first, second)
    assert "data_hash" in invoke(reef, "runs", "show", first)
    invoke(reef, "runs", "rename", first, "fine")
    invoke(reef, "runs", "choose", "fine")
    assert reef.runs.current().name == "fine"
    invoke(reef, "runs", "delete", "fine")
    invoke(reef, "runs", "restore", first)
    invoke(reef, "runs", "assign", "fine", "--csv", str(tmp_path / "a.csv"))
    assert len((tmp_path / "a.csv").read_text().splitlines()) == 601
    invoke(reef, "runs", "delete", "fine")
    assert "Removed 1 run" in invoke(reef, "runs", "purge")


def test_a_step_that_is_reported_twice_counts_once():
    trace, step = Trace(lambda progress: None), Progress(1, None, "", {"bound_per_row": -1.0, "clusters": 3})
    for progress in (step, step, Progress(2, None, "", {"bound_per_row": -1.0, "clusters": 2})):
        trace.on_step(progress)
    assert trace.points == [[1, -1.0, 3], [2, -1.0, 2]]


def test_a_trace_stays_small_however_long_the_fit():
    trace = Trace(lambda progress: None)
    for step in range(10_000):
        trace.on_step(Progress(step, None, "", {"bound_per_row": float(step), "clusters": 3}))
    assert len(trace.points) <= POINTS
    assert [point[0] for point in trace.points] == sorted(point[0] for point in trace.points)
    assert trace.points[-1][0] > 9_900


@pytest.mark.parametrize(
    ("clusters", "bound", "most", "says"),
    [(1, -5.0, None, True), (2, -5.0, None, False), (1, None, None, False), (1, -5.0, 1, False)],
)
def test_a_run_with_a_single_cluster_says_what_overlap_means_for_the_bound(tmp_path, clusters, bound, most, says):
    summary = {"clusters": clusters, "lower_bound": bound, "limits": []}
    run = Run("a", "gmc", "deep", {}, {"parameters": {"max_clusters": most}}, summary, 1, tmp_path, True, 0.0, False)
    assert limit_sentences(run) == ([ONE_CLUSTER] if says else [])
