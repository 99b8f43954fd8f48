"""Clustering with labels as constraints: different labels stay separate, equal ones together."""

import numpy as np
import pytest
from typer.testing import CliRunner

from benthoscope.app.cli import app
from benthoscope.engine.jobs import run_now
from benthoscope.engine.workspace import NewImage, NewRun, Workspace
from benthoscope.engine.workspace.labels.vocabularies import NewTerm

EACH = 120


@pytest.fixture
def reef(tmp_path):
    """Three kinds of images, of which the run put the first two into one cluster."""
    rng = np.random.default_rng(0)
    kinds = np.repeat(np.arange(3), EACH)
    with Workspace.create(tmp_path / "reef") as made:
        collection = made.library.collection("Reef").id
        groups = [made.library.group(collection, name).id for name in ("north", "south")]
        root = made.library.register_root(tmp_path).id
        ids = np.array(
            made.library.store_images(
                [NewImage(root, f"{n}.jpg", groups[n % 2], 1, 1, f"{n:064x}", 8, 8) for n in range(len(kinds))]
            )
        )
        rows = np.array([[0, 0, 0, 0], [2.5, 0, 0, 0], [9, 9, 0, 0]])[kinds] + rng.standard_normal((len(kinds), 4))
        with made.features.writer("deep", width=4, extractor={}) as features:
            features.append(ids, rows)
        clusters = np.array([0, 0, 1])[kinds].astype(np.int32)
        made.runs.add(
            NewRun("first", "gmc", "deep", {"width": 0.2}, {}, {"clusters": 2}),
            {"image_ids": ids, "labels": clusters, "probability": np.ones(len(ids), np.float32)},
        )
        words = made.vocabularies.add("own", [NewTerm((name,)) for name in ("sand", "gravel")])
        yield made, ids, kinds, [term.id for term in made.vocabularies.terms(words.id)]


def steered(reef, **parameters):
    job = run_now(reef[0], "steer", parameters)
    assert job.state == "done", job.error
    return job.result, reef[0].runs.get(job.result["run"])


def named(reef, few):
    """Ann names a few images of the first two kinds."""
    made, ids, kinds, terms = reef
    ann = made.people.named("Ann").id
    for kind in (0, 1):
        made.labels.label(ann, ids[kinds == kind][:few], terms[kind])


def test_no_cluster_of_the_new_run_holds_two_terms_and_unlabelled_images_follow(reef):
    named(reef, 12)
    content, run = steered(reef)
    labels = np.asarray(run.array("labels"))
    by_id = dict(zip(np.asarray(run.array("image_ids")).tolist(), labels.tolist(), strict=True))
    _, ids, kinds, _ = reef
    of = np.array([by_id[int(image)] for image in ids])
    first, second = set(of[kinds == 0][:12].tolist()), set(of[kinds == 1][:12].tolist())
    assert first.isdisjoint(second) and content["mixed_before"] == 1 and content["named"] >= 2
    right = (np.isin(of[kinds == 0][12:], list(first)).mean() + np.isin(of[kinds == 1][12:], list(second)).mean()) / 2
    assert right > 0.8  # the kinds overlap: no border is right for more than nine in ten


def test_the_new_run_is_complete_and_records_its_origin(reef):
    named(reef, 5)
    _, run = steered(reef, name="again")
    assert run.name == "again" and run.provenance["steered_from"] == 1 and run.model == "gmc"
    assert sorted(np.asarray(run.array("image_ids")).tolist()) == sorted(reef[1].tolist())
    assert np.asarray(run.array("weights")).shape == (2, run.summary["clusters"])
    assert np.asarray(run.array("weights")).sum(1) == pytest.approx([1, 1])
    assert reef[0].runs.current().id == 1  # nobody chose the new one


def test_without_labels_of_two_terms_there_is_a_clear_error(reef):
    job = run_now(reef[0], "steer")
    assert job.state == "failed" and "two terms" in job.error


def test_the_command_line_clusters_again(reef, tmp_path):
    named(reef, 5)
    shown = CliRunner().invoke(app, ["labels", "recluster", "--name", "again", "-w", str(tmp_path / "reef")])
    assert shown.exit_code == 0, shown.output
    assert "1 contained several terms before" in shown.stdout.replace("\n", " ")
    assert reef[0].runs.all()[-1].name == "again"
