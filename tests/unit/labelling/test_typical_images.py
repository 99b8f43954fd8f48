"""Typical images: one from the densest part of each cluster, chosen by a job, and stored for Learn."""

import json

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from typer.testing import CliRunner

from benthoscope.app.api.label_edits import next_page
from benthoscope.app.cli import app as cli
from benthoscope.app.session.app_state import AppState
from benthoscope.engine.jobs import run_now
from benthoscope.engine.jobs.labels.typical import stored_typical
from benthoscope.engine.labelling.page_choice.typical_images import FEWEST, MOST, page_size, typical_rows
from benthoscope.engine.labelling.page_choice.typical_page import FILE
from benthoscope.engine.problems import BadInput
from benthoscope.engine.workspace import NewRun, Workspace
from tests.reef_workspace import copied

NONE_OF = np.zeros(200, bool)


@pytest.fixture
def reef(tmp_path, reef_templates):
    with copied(reef_templates(0), tmp_path) as workspace:
        yield workspace


def blobs(sizes, seed=0):
    rng = np.random.default_rng(seed)
    of = np.repeat(np.arange(len(sizes)), sizes)
    return 20 * np.eye(len(sizes))[of] + rng.standard_normal((len(of), len(sizes))), of


def test_one_image_of_each_group_is_chosen_large_groups_first():
    X, of = blobs([100, 60, 30, 10])
    chosen = typical_rows(X, 4, NONE_OF, np.random.default_rng(0))
    assert of[chosen].tolist() == [0, 1, 2, 3]


def test_the_chosen_image_lies_in_the_densest_part_of_its_group():
    rng = np.random.default_rng(1)
    X = np.concatenate([rng.normal(0, 0.1, (40, 3)), rng.normal(2, 3.0, (160, 3))])
    (chosen,) = typical_rows(X, 1, NONE_OF, np.random.default_rng(0))
    near = np.sort(cdist(X, X), axis=1)[:, 1:21].mean(1)
    assert chosen < 40 and near[chosen] == near.min()


def test_groups_without_a_label_come_first_and_labelled_images_never():
    X, of = blobs([100, 60, 30, 10])
    labelled = np.isin(of, [0, 1]) & (np.arange(200) % 3 == 0)
    chosen = typical_rows(X, 2, labelled, np.random.default_rng(0))
    assert set(of[chosen]) <= {2, 3} and not labelled[chosen].any()
    assert not len(typical_rows(X, 2, np.ones(200, bool), np.random.default_rng(0)))


@pytest.mark.parametrize("images, size", [(0, 0), (10, 10), (100, FEWEST), (400, 50), (5_000, MOST)])
def test_a_page_is_a_small_part_of_the_images(images, size):
    assert page_size(images) == size


def test_the_job_stores_a_page_and_another_seed_chooses_others(reef):
    assert stored_typical(reef) is None
    assert run_now(reef, "typical images").result == {"images": 50}
    first = stored_typical(reef)
    assert len(set(first.image_ids.tolist())) == len(first.rows) == 50
    run_now(reef, "typical images", {"seed": 1})
    assert set(stored_typical(reef).image_ids) != set(first.image_ids)


def test_a_page_of_an_older_run_or_a_damaged_one_is_not_used(reef):
    run_now(reef, "typical images")
    path = reef.folder / "learning" / FILE
    content = path.read_bytes()
    path.write_bytes(content[:50])
    assert stored_typical(reef) is None
    path.write_bytes(content)
    assert stored_typical(reef) is not None
    ids = reef.library.columns("id")["id"]
    newer = reef.runs.add(NewRun("other", "gmc", "deep", {}, {}, {}), {"image_ids": ids, "labels": ids % 2})
    reef.runs.choose(newer.id)
    assert stored_typical(reef) is None


def test_without_features_there_is_nothing_to_choose_from(tmp_path):
    with Workspace.create(tmp_path / "empty") as workspace, pytest.raises(BadInput, match="feature set"):
        run_now(workspace, "typical images")


def test_the_command_and_the_rest_route_name_the_next_page(reef):
    outcome = CliRunner().invoke(cli, ["labels", "next", "-w", str(reef.folder), "--json"])
    assert outcome.exit_code == 0, outcome.output
    result = json.loads(outcome.stdout)
    assert result["queue"] == "typical" and set(result["typical"]) == set(stored_typical(reef).image_ids.tolist())
    assert next_page(AppState(reef)) == result
    reef.labels.label(reef.people.named("Ann").id, result["typical"][:10], 1)
    assert len(next_page(AppState(reef))["typical"]) == 40
