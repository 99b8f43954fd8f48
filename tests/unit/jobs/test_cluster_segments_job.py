"""Clustering segments and images at once from the queue or the command line: what a run keeps, and what is refused."""

import json
import threading

import numpy as np
import pytest
from typer.testing import CliRunner

from app.cli import app
from engine.jobs import JobQueue, JobRunner, run_now
from engine.jobs.models import ABOUT, MODELS
from engine.jobs.trace import Trace
from engine.metrics import v_measure
from engine.mixtures import MCM, SCM
from engine.workspace import NewImage, Workspace

OBJECTS = np.array([[0.0, 0, 0], [7, 0, 0], [0, 7, 0], [0, 0, 7]])
SCENES = np.array([[.8, .2, 0, 0], [0, .1, .6, .3], [.3, 0, .1, .6]])
LOOKS = np.array([[0.0, 0], [5, 0], [0, 5]])
DIVES = {"dive a": (0.7, 0.3, 0.0), "dive b": (0.0, 0.5, 0.5)}
EACH = 60


@pytest.fixture
def reef(tmp_path):
    """120 images in two dives, of three kinds of scenes, with 12 to 24 segments of four kinds of objects each."""
    rng = np.random.default_rng(0)
    with Workspace.create(tmp_path / "reef") as made:
        campaign, root = made.library.collection("c"), made.library.register_root(tmp_path)
        scenes = []
        for dive, shares in DIVES.items():
            group = made.library.group(campaign.id, dive)
            made.library.store_images([
                NewImage(root.id, f"{dive}/{n}.jpg", group.id, 1, 1, "a" * 64, 8, 8) for n in range(EACH)])
            scenes.append(rng.choice(3, EACH, p=shares))
        ids, scenes = made.library.columns("id")["id"], np.concatenate(scenes)
        counts = rng.integers(12, 25, len(ids))
        objects = np.concatenate([rng.choice(4, n, p=SCENES[s]) for n, s in zip(counts, scenes, strict=True)])
        with made.features.writer("segments", width=3, level="segment", extractor={"kind": "test"}) as features:
            features.append(ids, OBJECTS[objects] + rng.standard_normal((len(objects), 3)), counts)
        with made.features.writer("deep", width=2, extractor={"kind": "test"}) as features:
            features.append(ids[::-1], (LOOKS[scenes] + 0.7 * rng.standard_normal((len(ids), 2)))[::-1])
        made.objects, made.scenes, made.counts = objects, scenes, counts
        yield made


@pytest.mark.parametrize("model", ["mcm", "scm"])
def test_a_run_tells_objects_scenes_and_how_they_go_together(reef, model):
    job = run_now(reef, "cluster", {"model": model})
    assert job.state == "done", job.error
    run = reef.runs.current()
    held = run.parts()
    assert run.features == "segments"
    assert v_measure(reef.objects, held["segment_labels"]) > 0.98
    assert v_measure(reef.scenes, held["labels"]) > 0.95
    assert (run.summary["clusters"], run.summary["segment_clusters"]) == (3, 4)
    assert held["proportions"].shape == (3, 4) and held["image_weights"].shape == (120, 4)
    np.testing.assert_allclose(held["proportions"].sum(1), 1, atol=1e-6)
    np.testing.assert_allclose(held["image_weights"].sum(1), 1, atol=1e-6)
    for scene in range(3):
        of_scene = held["image_weights"][held["labels"] == scene].mean(0)
        np.testing.assert_allclose(held["proportions"][scene], of_scene, atol=0.03)
    for dive in range(2):
        counted = np.bincount(held["labels"][EACH * dive : EACH * (dive + 1)], minlength=3) / EACH
        np.testing.assert_allclose(held["weights"][dive], counted, atol=0.05)
    for level, labels in (("image", held["labels"]), ("segment", held["segment_labels"])):
        assert [found.size for found in reef.runs.clusters(run.id, level)] == np.bincount(labels).tolist()


def test_segments_can_be_clustered_alone_and_an_image_counts_as_what_fills_it(reef):
    run_now(reef, "cluster", {"model": "gmc-segments"})
    run = reef.runs.current()
    held = run.parts()
    assert v_measure(reef.objects, held["segment_labels"]) > 0.98
    starts = np.concatenate([[0], np.cumsum(reef.counts)])
    for image in range(0, 120, 17):
        mine = held["segment_labels"][starts[image] : starts[image + 1]]
        np.testing.assert_allclose(held["image_weights"][image], np.bincount(mine, minlength=4) / len(mine), atol=0.15)
    np.testing.assert_array_equal(held["labels"], held["image_weights"].argmax(1))
    assert run.summary["clusters"] == run.summary["segment_clusters"] == 4


def test_a_run_remembers_both_descriptions_and_can_be_asked_of_new_images(reef):
    run_now(reef, "cluster", {"model": "mcm", "width": 0.1, "segment_width": 0.5, "seed": 3})
    run = reef.runs.current()
    told = run.provenance
    assert (told["parameters"]["image_width"], told["parameters"]["width"], told["seed"]) == (0.1, 0.5, 3)
    assert told["features"]["data_hash"] == reef.features.open("segments").sidecar.data_hash
    assert told["image_features"]["name"] == "deep"
    assert told["bounds"][-1] == pytest.approx(run.summary["lower_bound"])
    held = run.parts()
    arrays = {name.removeprefix("model_"): value for name, value in held.items() if name.startswith("model_")}
    model, segments = MCM.from_arrays(arrays, held["model"]), reef.features.open("segments")
    deep = reef.features.open("deep").X[::-1]
    again = model.explain(segments.X, segments.image_of_row, np.repeat(held["group_ids"], EACH), image_features=deep)
    assert (again.image_labels == held["labels"]).mean() > 0.98
    assert (again.labels == held["segment_labels"]).mean() > 0.98


def test_segments_of_images_left_out_have_no_label(reef):
    ids = reef.library.columns("id")["id"]
    reef.library.forget_images(ids[:30])
    run_now(reef, "cluster", {"model": "scm"})
    run, gone = reef.runs.current(), int(reef.counts[:30].sum())
    labels = run.array("segment_labels")
    assert len(labels) == len(reef.objects)
    assert (labels[:gone] == -1).all() and (labels[gone:] >= 0).all()
    assert v_measure(reef.objects[gone:], labels[gone:]) > 0.98
    np.testing.assert_array_equal(run.array("image_ids"), ids[30:])


def test_only_images_with_both_descriptions_are_clustered_by_both(reef):
    ids = reef.library.columns("id")["id"]
    with reef.features.writer("colour", width=2, extractor={}) as features:
        features.append(ids[10:], np.random.default_rng(0).standard_normal((110, 2)))
    run_now(reef, "cluster", {"model": "mcm", "features": "colour"})
    np.testing.assert_array_equal(reef.runs.current().array("image_ids"), ids[10:])


def test_a_set_of_segments_named_where_images_are_meant_is_taken_for_the_segments(reef):
    run_now(reef, "cluster", {"model": "mcm", "features": "segments"})
    assert reef.runs.current().provenance["image_features"]["name"] == "deep"


@pytest.mark.parametrize("parameters, told", [
    ({"model": "mcn"}, "did you mean 'mcm'"),
    ({"model": "mcm", "features": "depe"}, "did you mean 'deep'"),
    ({"model": "scm", "segments": "deep"}, "describe whole images, not segments"),
    ({"model": "scm", "segment_width": -1.0}, "width"),
    ({"model": "mcm", "width": 0.0}, "image_width"),
    ({"model": "scm", "hold_out": 0.1}, "gives no density"),
    ({"model": "scm", "crowd": "1"}, "cannot be steered"),
    ({"model": "scm", "parameters": {"priors": "dg"}}, "priors: no 'dg'"),
    ({"model": "scm", "parameters": {"sticky": 1}}, "has no parameter 'sticky'"),
    ({"model": "gmc", "features": "segments"}, "describe segments, not whole images"),
])
def test_a_wrong_wish_is_told_in_one_line(reef, parameters, told):
    job = run_now(reef, "cluster", parameters)
    assert job.state == "failed" and told in job.error
    assert "Traceback" not in job.error and reef.runs.all() == []


def test_without_segments_the_way_to_them_is_told(reef):
    reef.features.remove("segments")
    job = run_now(reef, "cluster", {"model": "mcm"})
    assert job.state == "failed" and "benthoscope features --kind segments" in job.error


@pytest.mark.parametrize("model", ["mcm", "gmc-segments"])
def test_who_cancels_keeps_the_clusters_found_so_far(reef, monkeypatch, model):
    queue, seen = JobQueue(reef), threading.Event()
    original = Trace.on_step

    def slow(self, progress):
        original(self, progress)
        if progress.figures.get("clusters", 0) >= 2:
            seen.set()
            threading.Event().wait(0.05)

    monkeypatch.setattr(Trace, "on_step", slow)
    job = queue.add("cluster", {"model": model})
    with JobRunner(reef):
        assert seen.wait(30)
        queue.cancel(job.id)
        while not queue.get(job.id).finished:
            threading.Event().wait(0.02)
    assert queue.get(job.id).state == "cancelled"
    (run,) = reef.runs.all()
    assert run.summary["partial"] and "stopped early" in run.name
    assert len(run.array("segment_labels")) == len(reef.objects)
    assert run.array("image_weights").shape == (120, run.summary["segment_clusters"])


def test_the_command_line_clusters_and_lists(reef):
    def invoke(*words):
        result = CliRunner().invoke(app, [*words, "--workspace", str(reef.folder)], catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result.output

    told = json.loads(invoke("cluster", "--model", "mcm", "--json"))
    assert (told["clusters"], told["segment_clusters"], told["images"]) == (3, 4, 120)
    assert "Segment clusters" in invoke("cluster", "--model", "scm")
    assert "3, 4 of" in invoke("runs")
    assert [run["segment_clusters"] for run in json.loads(invoke("runs", "--json"))] == [4, 4]
    shown = json.loads(invoke("runs", "show", str(told["run"]), "--json"))
    assert sum(shown["segment_sizes"]) == len(reef.objects)


def test_every_model_says_which_question_it_answers():
    assert set(ABOUT) == set(MODELS)
    assert MODELS["scm"] is SCM
    text = " ".join(CliRunner().invoke(app, ["cluster", "--help"], catch_exceptions=False).output.split())
    assert [word for word in MODELS if word not in text] == []
