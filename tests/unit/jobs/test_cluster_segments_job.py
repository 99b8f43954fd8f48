"""Clustering segments and images together from the queue or the command line: stored runs and rejected requests."""

import json
import threading

import numpy as np
import pytest
from typer.testing import CliRunner

from benthoscope.app.cli import app
from benthoscope.engine.jobs import JobQueue, JobRunner, run_now
from benthoscope.engine.jobs.cluster.fit_request import Trace
from benthoscope.engine.jobs.cluster.model_catalog import CATALOG, ENTRIES
from benthoscope.engine.metrics import v_measure
from benthoscope.engine.mixtures import MCM, SCM
from benthoscope.engine.problems import BadInput
from benthoscope.engine.workspace import NewImage, Workspace

OBJECTS = np.array([[0.0, 0, 0], [7, 0, 0], [0, 7, 0], [0, 0, 7]])
SCENES = np.array([[0.8, 0.2, 0, 0], [0, 0.1, 0.6, 0.3], [0.3, 0, 0.1, 0.6]])
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
            made.library.store_images(
                [NewImage(root.id, f"{dive}/{n}.jpg", group.id, 1, 1, "a" * 64, 8, 8) for n in range(EACH)]
            )
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
def test_a_run_contains_objects_scenes_and_proportions(reef, model):
    job = run_now(reef, "cluster", {"model": model})
    assert job.state == "done", job.error
    run = reef.runs.current()
    arrays = run.arrays()
    assert run.features == "segments"
    assert v_measure(reef.objects, arrays["segment_labels"]) > 0.98
    assert v_measure(reef.scenes, arrays["labels"]) > 0.95
    assert (run.summary["clusters"], run.summary["segment_clusters"]) == (3, 4)
    assert arrays["proportions"].shape == (3, 4) and arrays["image_weights"].shape == (120, 4)
    np.testing.assert_allclose(arrays["proportions"].sum(1), 1, atol=1e-6)
    np.testing.assert_allclose(arrays["image_weights"].sum(1), 1, atol=1e-6)
    for scene in range(3):
        of_scene = arrays["image_weights"][arrays["labels"] == scene].mean(0)
        np.testing.assert_allclose(arrays["proportions"][scene], of_scene, atol=0.03)
    for dive in range(2):
        counted = np.bincount(arrays["labels"][EACH * dive : EACH * (dive + 1)], minlength=3) / EACH
        np.testing.assert_allclose(arrays["weights"][dive], counted, atol=0.05)
    for level, labels in (("image", arrays["labels"]), ("segment", arrays["segment_labels"])):
        assert [cluster.size for cluster in reef.runs.clusters(run.id, level)] == np.bincount(labels).tolist()


def test_segments_can_be_clustered_alone_and_label_images_by_the_most_frequent(reef):
    run_now(reef, "cluster", {"model": "gmc-segments"})
    run = reef.runs.current()
    arrays = run.arrays()
    assert v_measure(reef.objects, arrays["segment_labels"]) > 0.98
    starts = np.concatenate([[0], np.cumsum(reef.counts)])
    for image in range(0, 120, 17):
        segment_labels = arrays["segment_labels"][starts[image] : starts[image + 1]]
        counted = np.bincount(segment_labels, minlength=arrays["image_weights"].shape[1])
        np.testing.assert_allclose(arrays["image_weights"][image], counted / len(segment_labels), atol=0.15)
    np.testing.assert_array_equal(arrays["labels"], arrays["image_weights"].argmax(1))
    assert run.summary["clusters"] == run.summary["segment_clusters"] == 4


def test_a_run_records_both_feature_sets_and_predicts_new_images(reef):
    run_now(reef, "cluster", {"model": "mcm", "width": 0.1, "segment_width": 0.5, "seed": 3})
    run = reef.runs.current()
    provenance = run.provenance
    assert (provenance["parameters"]["image_width"], provenance["parameters"]["width"], provenance["seed"]) == (
        0.1,
        0.5,
        3,
    )
    assert provenance["features"]["data_hash"] == reef.features.open("segments").sidecar.data_hash
    assert provenance["image_features"]["name"] == "deep"
    assert provenance["bounds"][-1] == pytest.approx(run.summary["lower_bound"])
    stored_arrays = run.arrays()
    arrays = {name.removeprefix("model_"): value for name, value in stored_arrays.items() if name.startswith("model_")}
    model, segments = MCM.from_arrays(arrays, stored_arrays["model"]), reef.features.open("segments")
    deep = reef.features.open("deep").X[::-1]
    again = model.explain(
        segments.X, segments.image_of_row, np.repeat(stored_arrays["group_ids"], EACH), image_features=deep
    )
    assert (again.image_labels == stored_arrays["labels"]).mean() > 0.98
    assert (again.labels == stored_arrays["segment_labels"]).mean() > 0.98


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


@pytest.mark.parametrize(
    "parameters, told",
    [
        ({"model": "mcn"}, "did you mean 'mcm'"),
        ({"model": "mcm", "features": "depe"}, "did you mean 'deep'"),
        ({"model": "scm", "segments": "deep"}, "describe whole images, not segments"),
        ({"model": "scm", "segment_width": -1.0}, "width"),
        ({"model": "mcm", "width": 0.0}, "image_width"),
        ({"model": "scm", "hold_out": 0.1}, "has no density"),
        ({"model": "scm", "crowd": "1"}, "cannot use a crowd's answers"),
        ({"model": "scm", "parameters": {"priors": "dg"}}, "priors: there is no 'dg'"),
        ({"model": "scm", "parameters": {"sticky": 1}}, "has no parameter 'sticky'"),
        ({"model": "gmc", "features": "segments"}, "describes? segments, not whole images"),
    ],
)
def test_a_wrong_parameter_gives_a_one_line_error(reef, parameters, told):
    with pytest.raises(BadInput, match=told):
        run_now(reef, "cluster", parameters)
    assert reef.runs.all() == [] and "cluster" not in {job.kind for job in JobQueue(reef).all()}


def test_without_segments_the_error_names_the_command(reef):
    reef.features.remove("segments")
    with pytest.raises(BadInput, match="benthoscope features --descriptor segments"):
        run_now(reef, "cluster", {"model": "mcm"})


@pytest.mark.parametrize("model", ["mcm", "gmc-segments"])
def test_cancelling_keeps_the_clusters_found_so_far(reef, monkeypatch, model):
    queue, event = JobQueue(reef), threading.Event()
    original = Trace.on_step

    def slow(self, progress):
        original(self, progress)
        if progress.figures.get("clusters", 0) >= 2:
            event.set()
            threading.Event().wait(0.05)

    monkeypatch.setattr(Trace, "on_step", slow)
    job = queue.add("cluster", {"model": model})
    with JobRunner(reef):
        assert event.wait(30)
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

    content = json.loads(invoke("cluster", "--model", "mcm", "--json"))
    assert (content["clusters"], content["segment_clusters"], content["images"]) == (3, 4, 120)
    assert "Segment clusters" in invoke("cluster", "--model", "scm")
    assert "3, 4 of" in invoke("runs")
    assert [run["segment_clusters"] for run in json.loads(invoke("runs", "--json"))] == [4, 4]
    shown = json.loads(invoke("runs", "show", str(content["run"]), "--json"))
    assert sum(shown["segment_sizes"]) == len(reef.objects)


def test_limits_that_a_fit_reached_are_shown_in_sentences(reef):
    def shown(number):
        result = CliRunner().invoke(app, ["runs", "show", str(number), "--json", "--workspace", str(reef.folder)])
        return json.loads(result.output)["limits_reached"]

    free = run_now(reef, "cluster", {"model": "mcm", "levels": False})
    few = run_now(
        reef, "cluster", {"model": "mcm", "levels": False, "parameters": {"max_clusters": 2, "max_image_clusters": 2}}
    )
    assert shown(free.result["run"]) == []
    assert shown(few.result["run"]) == [
        "The fit reached the limit of 2 segment clusters; raise it with --max-clusters.",
        "The fit reached the limit of 2 image clusters; raise it with --max-image-clusters.",
    ]


def test_the_commands_report_reached_limits(reef):
    def invoke(*words):
        result = CliRunner().invoke(app, [*words, "--workspace", str(reef.folder)], catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return " ".join(result.stdout.split())

    words = ["cluster", "--model", "mcm", "--no-levels", "--max-image-clusters", "2"]
    sentence = "The fit reached the limit of 2 image clusters; raise it with --max-image-clusters."
    assert f"Run 1: {sentence}" in invoke(*words)
    assert json.loads(invoke(*words, "--json"))["limits_reached"] == [sentence]
    assert invoke("runs", "show", "1").startswith(sentence)
    free = invoke("cluster", "--model", "mcm", "--no-levels")
    assert "allowed" not in free and "allowed" not in invoke("runs", "show", "3")


def test_every_model_says_which_question_it_answers():
    assert all(entry.question for entry in CATALOG)
    assert ENTRIES["scm"].estimator is SCM
    text = " ".join(CliRunner().invoke(app, ["cluster", "--help"], catch_exceptions=False).output.split())
    assert [word for word in ENTRIES if word not in text] == []
