"""How pure the clusters of a stored run are: engine, command line and REST agree, and labels in bulk do not count."""

import json

import numpy as np
import pytest
from fastapi.testclient import TestClient
from typer.testing import CliRunner

from benthoscope.app.cli import app
from benthoscope.app.server.application import ServerSettings, create_app
from benthoscope.engine.jobs.cluster.run_purity import run_purity
from tests.reef_workspace import build, copied, label


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return build(tmp_path_factory.mktemp("purity"))


@pytest.fixture
def reef(made, tmp_path):
    """Clusters 0 and 1 have one habitat each, and cluster 2 mixes two."""
    with copied(made, tmp_path) as workspace:
        yield workspace


def test_without_labels_only_the_features_say_something(reef):
    purity = run_purity(reef, reef.runs.named("gmc"))
    assert purity.by_labels.agreement is None and purity.probability is None
    assert 0.2 < purity.separation < 0.6 and purity.sample == 400
    assert "not known yet: label some random images" in purity.to_dict()["text"]


def test_labels_given_by_looking_estimate_how_often_two_images_of_a_cluster_agree(reef, made):
    run = reef.runs.named("gmc")
    clusters, sizes = np.asarray(run.array("labels")), np.bincount(run.array("labels"))
    mixed = np.bincount(made.truth[clusters == 2])[2:] / sizes[2]
    whole = (sizes[0] + sizes[1] + sizes[2] * (mixed**2).sum()) / sizes.sum()
    label(reef, made.ids, made.truth, made.terms, 120)
    result = run_purity(reef, run)
    assert result.by_labels.labelled == 120 and result.by_labels.covered == 1
    assert result.by_labels.agreement == pytest.approx(whole, abs=0.05)


def test_a_label_for_a_whole_cluster_is_no_evidence(reef, made):
    run = reef.runs.named("gmc")
    members = made.ids[np.asarray(run.array("labels")) == 2]
    reef.labels.label(reef.people.named("Ann").id, members, made.terms[2], why="review", run_id=run.id)
    assert run_purity(reef, run).by_labels.labelled == 0


def test_the_command_line_and_rest_say_the_same(reef, made):
    label(reef, made.ids, made.truth, made.terms, 40)
    run = reef.runs.named("gmc")
    expected = run_purity(reef, run).to_dict()
    words = ["runs", "purity", str(run.id), "--workspace", str(reef.folder)]
    shown = CliRunner().invoke(app, [*words, "--json"], catch_exceptions=False).stdout
    assert json.loads(shown) == expected
    assert CliRunner().invoke(app, words, catch_exceptions=False).stdout.split() == expected["text"].split()
    with TestClient(create_app(reef, ServerSettings(token="")), base_url="http://127.0.0.1") as client:
        assert client.get(f"/api/v1/runs/{run.id}/purity").json() == expected


def test_a_run_of_features_that_were_deleted_has_no_silhouette(reef):
    reef.features.remove("deep")
    purity = run_purity(reef, reef.runs.named("gmc"))
    assert purity.separation is None and purity.sample == 0
    assert "silhouette" not in purity.to_dict()["text"]
