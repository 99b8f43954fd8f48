"""A crowd's answers about a few images as constraints for the clustering of all."""

import numpy as np
import pytest
from typer.testing import CliRunner

from benthoscope.app.cli import app
from benthoscope.engine.crowd import Bonds, Sorting, bonds, judgements_of, settled, telling_axes
from benthoscope.engine.crowd.workers import agreement
from benthoscope.engine.jobs import run_now
from benthoscope.engine.metrics import adjusted_rand
from benthoscope.engine.problems import BadInput
from benthoscope.engine.workspace import NewImage, Workspace
from benthoscope.engine.workspace.crowd.campaigns import among, ask
from benthoscope.engine.workspace.crowd.records import CampaignSettings, GoldPair
from tests.crowds import school_crowd

pytestmark = pytest.mark.thorough

ASKED, IMAGES, PEOPLE = 120, 1200, 12
SIZES = np.array([30, 30, 30])
SHARP = np.full((3, 3), 0.05) + 0.9 * np.eye(3)
MERGES = np.where(np.add.outer([0, 0, 1], [0, 0, 1]) == 1, 0.05, 0.95)  # takes the first two clusters for one
GUESSES = np.full((3, 3), 0.4)


def sorted_into(*groups, worker=0):
    return judgements_of([Sorting(worker, range(len(groups)), groups)], len(groups), 3).judgements


def test_reliable_workers_constrain_pairs_and_guessing_workers_do_not():
    tables, all_of_them = np.stack([SHARP, MERGES, GUESSES]), np.ones(3, bool)
    sharp, guess = (bonds(sorted_into(0, 0, 1, worker=number), tables, SIZES, all_of_them) for number in (0, 2))
    assert (np.sign(sharp.odds) == [1, -1, -1]).all()
    np.testing.assert_allclose(guess.odds, 0, atol=1e-12)


def test_together_counts_less_from_workers_who_merge_clusters():
    tables = np.stack([SHARP, MERGES, GUESSES])
    together, apart, _ = bonds(sorted_into(0, 0, 1, worker=1), tables, SIZES, np.ones(3, bool)).odds
    sharp = bonds(sorted_into(0, 0, 1), tables, SIZES, np.ones(3, bool)).odds
    assert 0 < together < -apart and together < 0.5 * sharp[0]


def test_judgements_add_up_and_those_of_untrusted_workers_do_not_count():
    tables = np.stack([SHARP, SHARP, SHARP])
    judgements = judgements_of([Sorting(person, (0, 1, 2), (0, 0, 1)) for person in range(3)], 3, 3).judgements
    first, three = (bonds(some, tables, SIZES, np.ones(3, bool)) for some in (sorted_into(0, 0, 1), judgements))
    np.testing.assert_allclose(three.odds, 3 * first.odds)
    assert not len(bonds(judgements, tables, SIZES, np.zeros(3, bool)).odds)


def test_a_crowd_with_one_cluster_gives_no_constraints():
    with pytest.raises(BadInput, match="one cluster"):
        bonds(sorted_into(0, 0, 1), np.ones((1, 1, 1)), np.array([3]), np.ones(1, bool))


def test_the_axes_follow_the_criteria_of_people_and_not_the_variance(rng=np.random.default_rng(0)):
    kind = np.arange(90) % 3
    rows = 5 * rng.standard_normal((90, 6))
    rows[:, 2] = kind + 0.1 * rng.standard_normal(90)  # all that people see is along the narrowest direction
    first, second = np.triu_indices(90, 1)
    constraints = Bonds(first, second, np.where(kind[first] == kind[second], 4.0, -4.0), 0.0)
    axes = telling_axes(rows, constraints, 6)
    assert np.abs(axes[:, 0]).argmax() == 2 and axes.shape == (6, 2)
    assert telling_axes(rows, constraints, 1).shape == (6, 1)


def test_an_image_joins_the_cluster_of_its_constrained_images():
    features = np.array([[0.9, 0.1], [0.9, 0.1], [0.1, 0.9], [0.55, 0.45]])
    constraints = Bonds(np.array([0, 2]), np.array([3, 3]), np.array([-3.0, 3.0]), 0.0)
    labels = settled(features, constraints)
    np.testing.assert_allclose(labels.sum(1), 1)
    assert labels.argmax(1).tolist() == [0, 0, 1, 1] and constraints.satisfied(labels.argmax(1)) == (1.0, 1.0)
    assert constraints.satisfied(features.argmax(1)) == (0.0, 0.0)
    np.testing.assert_allclose(labels[1], features[1])  # bound to nobody: where the features say


def test_agreement_is_one_for_the_same_groups_and_nothing_by_chance():
    same = [Sorting(0, (4, 5, 6, 7), ("a", "a", "b", "b")), Sorting(1, (7, 6, 5, 4), (0, 0, 9, 9))]
    assert agreement([3, 3], same) == 1
    assert agreement([3, 4], same) is None
    crossed = [Sorting(0, range(4), (0, 0, 1, 1)), Sorting(1, range(4), (0, 1, 0, 1))]
    assert agreement([1, 1], crossed) < 0.01
    assert agreement([1, 1], [same[0], Sorting(1, (4, 9), (0, 0))]) is None  # one image in common says nothing


def test_a_campaign_among_some_keeps_the_known_pairs_that_lie_there():
    settings = CampaignSettings(size=12, gold=(GoldPair(2, 5, True), GoldPair(0, 5, False)))
    inner = among(settings, np.array([2, 4, 5]))
    assert inner.size == 3 and inner.gold == (GoldPair(0, 2, True),)


@pytest.fixture(scope="module")
def reef(tmp_path_factory):
    """1,200 images whose colours part them by light, most of all, and by kind; people sorted 120 of them by kind."""
    folder, crowd = tmp_path_factory.mktemp("reef"), school_crowd(0, n_items=ASKED, n_workers=PEOPLE, spammers=0.2)
    rng = np.random.default_rng(0)
    kind, light = np.concatenate([crowd.truth, rng.integers(0, 6, IMAGES - ASKED)]), rng.integers(0, 4, IMAGES)
    rows = rng.standard_normal((IMAGES, 10))
    rows[:, :3] += 2.5 * rng.standard_normal((6, 3))[kind]
    rows[:, 3:7] += 5 * rng.standard_normal((4, 4))[light]
    with Workspace.create(folder / "reef") as made:
        group = made.library.group(made.library.collection("dives").id, "one")
        root = made.library.register_root(folder)
        ids = made.library.store_images(
            [NewImage(root.id, f"{at}.jpg", group.id, 1, 1, f"{at:064x}", 8, 8) for at in range(IMAGES)]
        )
        with made.features.writer("colour", width=10, extractor={"kind": "test"}) as features:
            features.append(np.array(ids), rows.astype(np.float32))
        asked = ask(
            made.crowd, "kinds", ids[:ASKED], CampaignSettings(size=12, views=6, repeats=2), rng, practice=False
        )
        crowd.answer_all(made, made.crowd.change(asked.id, "open"))
        made.kind = kind
        for job in (
            run_now(made, "cluster", {"model": "vdp", "features": "colour", "name": "before"}),
            run_now(made, "crowd", {"campaign": "kinds", "name": "said"}),
        ):
            assert job.state == "done", job.error
        yield made


def test_constraints_improve_the_clusters_of_images_that_nobody_judged(reef):
    job = run_now(reef, "cluster", {"model": "vdp", "features": "colour", "crowd": "said"})
    assert job.state == "done", job.error
    before, steered = reef.runs.named("before"), reef.runs.get(job.result["run"])
    far, near = (adjusted_rand(reef.kind[ASKED:], run.array("labels")[ASKED:]) for run in (before, steered))
    assert near > far + 0.3 and near > 0.6
    assert "said" in steered.name and steered.summary["crowd"]["images"] == ASKED
    assert min(steered.summary["crowd"]["together"], steered.summary["crowd"]["apart"]) > 0.7
    assert steered.array("axes").shape[0] == 10  # by which new images are seen as these were


def test_the_run_of_a_crowd_does_not_replace_the_run_of_all_images(reef):
    assert reef.runs.named("said").id != reef.runs.current().id


def test_the_command_shows_how_many_answers_the_run_respects(reef):
    words = ["crowd", "recluster", "kinds", "--features", "colour", "--model", "vdp", "--workspace", str(reef.folder)]
    outcome = CliRunner().invoke(app, words)
    assert outcome.exit_code == 0 and "of the pairs that people put together" in outcome.output, outcome.output
    reef.crowd.create("unasked", np.arange(1, 31))
    none = CliRunner().invoke(app, ["crowd", "recluster", "unasked", "--workspace", str(reef.folder)])
    assert isinstance(none.exception, BadInput) and "crowd cluster" in str(none.exception)


def test_only_crowd_runs_give_constraints(reef):
    refused = run_now(reef, "cluster", {"features": "colour", "crowd": "before"})
    assert refused.state == "failed" and "is not a run of crowd answers" in refused.error
