"""Clustering images by topics of their segments, from the queue and the command line."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from benthoscope.app.cli import app
from benthoscope.engine.jobs import run_now
from benthoscope.engine.jobs.cluster.levels import can_have_levels
from benthoscope.engine.problems import BadInput
from benthoscope.engine.topics import InfiniteWordTopicModel, VisualLDA
from benthoscope.engine.workspace import NewImage, Workspace

KINDS = np.array([[0.0, 0, 0], [9, 0, 0], [0, 9, 0], [0, 0, 9]])
TOPICS = np.array([[0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5]])


@pytest.fixture
def reef(tmp_path):
    """80 images in two dives; each is mostly made of one of two topics, of two kinds of patches each."""
    rng = np.random.default_rng(0)
    with Workspace.create(tmp_path / "reef") as made:
        campaign, root = made.library.collection("c"), made.library.register_root(tmp_path)
        for dive in ("dive a", "dive b"):
            group = made.library.group(campaign.id, dive)
            made.library.store_images(
                [NewImage(root.id, f"{dive}/{n}.jpg", group.id, 1, 1, "a" * 64, 8, 8) for n in range(40)]
            )
        ids = made.library.columns("id")["id"]
        theta = np.where(rng.random(80)[:, None] < 0.5, [[0.9, 0.1]], [[0.1, 0.9]])
        counts = rng.integers(20, 30, 80)
        topics = [rng.choice(2, n, p=weights) for n, weights in zip(counts, theta, strict=True)]
        kinds = np.concatenate([[rng.choice(4, p=TOPICS[t]) for t in each] for each in topics])
        with made.features.writer("patches", width=3, level="segment", extractor={"kind": "test"}) as features:
            features.append(ids, KINDS[kinds] + rng.standard_normal((len(kinds), 3)), counts)
        made.theta, made.topics = theta, np.concatenate(topics)
        yield made


def aligned(values, truth):
    """Return the share of equal labels after the better of both matches of two topics."""
    return max((values == truth).mean(), (values != truth).mean())


@pytest.mark.parametrize("model, kind", [("iwtm", InfiniteWordTopicModel), ("lda", VisualLDA)])
def test_a_run_of_topics_labels_images_and_patches(reef, model, kind):
    parameters = {"n_topics": 2} | ({"n_words": 4} if model == "lda" else {})
    job = run_now(reef, "cluster", {"model": model, "segments": "patches", "parameters": parameters})
    assert job.state == "done", job.error
    run = reef.runs.get(job.result["run"])
    arrays = run.arrays()
    assert run.features == "patches" and run.name == f"{model} patches 2 topics"
    assert aligned(arrays["labels"], reef.theta.argmax(1)) > 0.95
    assert aligned(arrays["segment_labels"], reef.topics) > 0.9
    assert arrays["image_weights"].shape == (80, 2) and arrays["weights"].shape == (2, 2)
    np.testing.assert_allclose(arrays["image_weights"].sum(1), 1, atol=1e-5)
    assert not can_have_levels(run) and job.result["levels"] == {}
    stored = {name.removeprefix("model_"): array for name, array in arrays.items() if name.startswith("model_")}
    again = kind.from_arrays(stored, arrays["model"])
    values = reef.features.open("patches")
    weights = again.transform(np.asarray(values.X), values.image_of_row)
    np.testing.assert_allclose(weights, arrays["image_weights"], atol=1e-5)


def test_the_command_line_clusters_by_topics_and_shows_them(reef):
    def run(*words):
        result = CliRunner().invoke(app, [*words, "--workspace", str(reef.folder), "--json"], catch_exceptions=False)
        return json.loads(result.stdout)

    outcome = run("cluster", "--model", "iwtm", "--topics", "3", "--inference", "vi")
    assert outcome["clusters"] == 3 and outcome["segments"] > 1600
    shown = run("topics")
    assert shown["run"] == outcome["run"] and len(shown["topics"]) == 3
    shares = [topic["share"] for topic in shown["topics"]]
    assert sum(shares) == pytest.approx(1, abs=1e-3)
    assert all(len(topic["images"]) == 5 for topic in shown["topics"])
    tight = run("cluster", "--model", "iwtm", "--topics", "2", "--max-clusters", "2")
    assert "limit of 2" in tight["limits_reached"][0] and "--max-clusters" in tight["limits_reached"][0]
    first = shown["topics"][0]
    assert set(first["dives"]) == {"dive a", "dive b"} and first["weights"] == sorted(first["weights"], reverse=True)
    text = CliRunner().invoke(app, ["topics", "--workspace", str(reef.folder)], catch_exceptions=False).output
    assert "Topic" in text and "dive a" in text


def test_unusable_requests_are_refused_before_the_job_runs(reef):
    for parameters, text in (
        ({"inference": "vb"}, "inference"),
        ({"n_topics": 0}, "n_topics"),
        ({"wrong": 1}, "wrong"),
    ):
        with pytest.raises(BadInput, match=text):
            run_now(reef, "cluster", {"model": "iwtm", "parameters": parameters})
    result = CliRunner().invoke(app, ["topics", "--workspace", str(reef.folder)])
    assert isinstance(result.exception, BadInput) and "no run of topics" in str(result.exception)


def test_topics_use_patches_unless_another_set_is_given(reef, tmp_path):
    ids = reef.library.columns("id")["id"]
    with reef.features.writer("segments", width=2, level="segment", extractor={"kind": "test"}) as features:
        features.append(ids, np.random.default_rng(0).standard_normal((80, 2)), np.ones(80, int))
    job = run_now(reef, "cluster", {"model": "iwtm", "parameters": {"n_topics": 2, "max_iter": 2}})
    assert reef.runs.get(job.result["run"]).features == "patches"
    with Workspace.create(tmp_path / "without") as workspace:
        for request in ({}, {"segments": "patches"}):
            with pytest.raises(BadInput, match="`benthoscope features --descriptor patches` first"):
                run_now(workspace, "cluster", {"model": "iwtm", **request})
