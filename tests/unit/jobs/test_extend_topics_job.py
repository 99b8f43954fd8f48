"""Adding images to a run of topics, naming topics, and finding images by topics: jobs and the command line."""

import json
import re

import numpy as np
import pytest
from typer.testing import CliRunner

from benthoscope.app.cli import app
from benthoscope.engine.jobs import run_now
from benthoscope.engine.jobs.cluster.topic_summary import addition_text
from benthoscope.engine.problems import BadInput
from benthoscope.engine.workspace import NewImage, Workspace

KINDS = np.array([[0.0, 0, 0], [9, 0, 0], [0, 9, 0], [0, 0, 9], [9, 9, 9]])
TOPICS = np.array([[0.5, 0.5, 0, 0, 0], [0, 0, 0.5, 0.5, 0]])
SETTINGS = {"n_topics": 2, "max_iter": 10, "iterations_alone": 20, "n_clusters": 20}


def add_dive(workspace, name, rng, topics=TOPICS, count=20):
    """Add a dive of images with 20 patches each. Returns the ids of the images and their true topic weights."""
    group = workspace.library.group(workspace.library.collection("c").id, name)
    root = workspace.library.register_root(workspace.folder)
    ids = workspace.library.store_images(
        [NewImage(root.id, f"{name}/{n}.jpg", group.id, 1, 1, "a" * 64, 8, 8) for n in range(count)]
    )
    theta = np.where(rng.random(count)[:, None] < 0.5, [[0.9, 0.1]], [[0.1, 0.9]])
    kinds = np.array([rng.choice(5, p=topics[rng.choice(2, p=row)]) for row in theta for _ in range(20)])
    rows = KINDS[kinds] + rng.standard_normal((len(kinds), 3))
    with (
        workspace.features.appending("patches")
        if "patches" in workspace.features
        else workspace.features.writer("patches", width=3, level="segment", extractor={"kind": "test"}) as features
    ):
        features.append(np.array(ids), rows.astype(np.float32), np.full(count, 20))
    return np.array(ids), theta


@pytest.fixture
def reef(tmp_path):
    """A run of two topics on one dive, and a second dive with a kind of patches that the first does not have."""
    rng = np.random.default_rng(0)
    with Workspace.create(tmp_path / "reef") as workspace:
        _, workspace.theta = add_dive(workspace, "first", rng)
        parameters = {"model": "iwtm", "segments": "patches", "parameters": SETTINGS}
        assert run_now(workspace, "cluster", parameters).state == "done"
        other = np.array([[0.3, 0.3, 0, 0, 0.4], TOPICS[1]])
        workspace.new_ids, workspace.new_theta = add_dive(workspace, "second", rng, other)
        yield workspace


def command(workspace, *words):
    return CliRunner().invoke(app, [*words, "--workspace", str(workspace.folder)])


def test_new_images_are_added_without_changing_the_numbers_of_topics(reef):
    [old] = reef.runs.all()
    reef.runs.rename_cluster(old.id, 1, "sand", "segment")
    job = run_now(reef, "extend topics", {"run": old.id})
    assert job.state == "done", job.error
    run = reef.runs.get(job.result["run"])
    assert run.name == f"{old.name}, 40 images" and run.id != old.id
    before, weights = np.asarray(old.array("image_weights")), np.asarray(run.array("image_weights"))
    assert weights.shape == (40, 2) and np.abs(weights[:20] - before).mean() < 0.1
    truth = np.concatenate([reef.theta, reef.new_theta]).argmax(1)
    assert max((weights.argmax(1) == truth).mean(), (weights.argmax(1) != truth).mean()) > 0.95
    assert len(run.array("segment_labels")) == 800 and (np.asarray(run.array("segment_labels")) >= 0).all()
    [addition] = run.summary["additions"]
    assert addition["groups"] == {"second": 20} and (addition["images"], addition["patches"]) == (20, 400)
    assert addition["clusters_before"] == 4 and addition["clusters"] == 5 and addition["clusters_joined"] >= 8
    assert addition["matched"] and addition["match"] > 0.3
    assert "Added 20 images of second. Kinds of patches in use: 4 before" in addition_text(addition)
    assert reef.runs.cluster_names(run.id, "segment") == {1: "sand"}
    assert run.provenance["extends"]["run"] == old.id
    with pytest.raises(BadInput, match="has all described images already"):
        run_now(reef, "extend topics", {"run": run.id})


def test_images_of_a_third_dive_are_added_to_the_extended_run(reef):
    """Between the images of the run are images that it does not have."""
    add_dive(reef, "third", np.random.default_rng(1))
    reef.library.collection("d")
    group = reef.library.group(reef.library.collection("d").id, "fourth")
    reef.library.store_images([NewImage(1, "fourth/0.jpg", group.id, 1, 1, "b" * 64, 8, 8)])
    with pytest.raises(BadInput, match="has all described images already"):
        run_now(reef, "extend topics", {"collection": "d"})
    first = run_now(reef, "extend topics", {"collection": "c"})
    assert first.result["added"]["groups"] == {"second": 20, "third": 20}
    add_dive(reef, "fifth", np.random.default_rng(2))
    second = run_now(reef, "extend topics", {})
    run = reef.runs.get(second.result["run"])
    assert run.name == f"{reef.runs.all()[0].name}, 80 images"
    assert [entry["images"] for entry in run.summary["additions"]] == [40, 20]


def test_runs_that_cannot_be_extended_are_refused(reef):
    parameters = {"model": "lda", "segments": "patches", "parameters": {"n_topics": 2, "n_words": 4, "max_iter": 2}}
    lda = run_now(reef, "cluster", parameters).result["run"]
    with pytest.raises(BadInput, match="has a fixed vocabulary"):
        run_now(reef, "extend topics", {"run": lda})
    sampled = {**parameters, "model": "iwtm", "parameters": {"n_topics": 2, "inference": "gibbs", "sweeps": 2}}
    gibbs = run_now(reef, "cluster", sampled).result["run"]
    with pytest.raises(BadInput, match="Gibbs sampling"):
        run_now(reef, "extend topics", {"run": gibbs})
    with pytest.raises(BadInput, match="has no topics"):
        reef.features.remove("patches")
        with reef.features.writer("deep", width=2, extractor={}) as features:
            features.append(reef.new_ids, np.random.default_rng(0).standard_normal((20, 2)).astype(np.float32))
        images = run_now(reef, "cluster", {"model": "gmc", "levels": False}).result["run"]
        run_now(reef, "extend topics", {"run": images})


def test_patches_that_were_computed_again_are_refused(reef):
    reef.features.remove("patches")
    add_dive(reef, "again", np.random.default_rng(3))
    with pytest.raises(BadInput, match="were computed again"):
        run_now(reef, "extend topics", {})


def test_the_command_line_adds_names_and_finds(reef):
    shown = command(reef, "topics", "--add")
    assert shown.exit_code == 0, shown.output
    assert "Added 20 images of second" in shown.output
    assert len(reef.runs.all()) == 2
    named = json.loads(command(reef, "topics", "--name", "0=weed, red", "--name", "1=sand", "--json").stdout)
    assert [topic["name"] for topic in named["topics"]] == ["weed, red", "sand"]
    nearest = json.loads(command(reef, "topics", "--mixture", "sand: 90 %", "--limit", "8", "--json").stdout)["images"]
    assert len(nearest) == 8 and all(image["topics"]["sand"] > 0.7 for image in nearest)
    distances = [image["distance"] for image in nearest]
    assert distances == sorted(distances)
    similar = json.loads(command(reef, "topics", "--like", str(nearest[0]["id"]), "--limit", "4", "--json").stdout)
    assert similar["images"][0]["id"] == nearest[0]["id"] and similar["images"][0]["distance"] == pytest.approx(
        0, abs=1e-3
    )
    assert re.search(r"sand (8|9)\d%", command(reef, "topics", "--mixture", "1: 90 %", "--limit", "2").output)
    for words, text in (
        (("--name", "sand"), "3=sand"),
        (("--name", "7=sand"), "has no cluster 7"),
        (("--mixture", "gravel: 5 %"), "there is no topic 'gravel'"),
        (("--mixture", " "), "names no topic"),
        (("--like", "9999"), "is not in the run"),
        (("--like", "1", "--mixture", "0: 5 %"), "choose one of them"),
        (("--collection", "c"), "needs --add"),
    ):
        assert text in str(command(reef, "topics", *words).exception)
