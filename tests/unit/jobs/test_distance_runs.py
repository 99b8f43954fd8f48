"""Runs of k-means and HDBSCAN: stored, measured and compared like others; images without a cluster stay in sight."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from benthoscope.app.cli import app
from benthoscope.app.data.clusters.clustered_images import atlas_of, cluster_names
from benthoscope.app.pages.library.cluster_form import clustering
from benthoscope.app.pages.review.model import Review
from benthoscope.app.pages.runs.page import comparison_content, row, table_row
from benthoscope.app.session.app_state import AppState
from benthoscope.app.session.cache import LABELS
from benthoscope.app.session.session import Session
from benthoscope.engine.distance_models import HDBSCAN
from benthoscope.engine.jobs import run_now
from benthoscope.engine.jobs.cluster.compare_runs import compare_runs
from benthoscope.engine.jobs.cluster.fit_request import Trace, limit_sentences
from benthoscope.engine.jobs.cluster.run_purity import run_purity
from benthoscope.engine.metrics import v_measure
from benthoscope.engine.problems import BadInput
from benthoscope.engine.progress import Cancelled
from benthoscope.engine.workspace import NewImage, Workspace
from benthoscope.engine.workspace.labels.vocabularies import NewTerm
from benthoscope.engine.workspace.runs import WITHOUT_CLUSTER

CENTRES = 9 * np.eye(4)[:, :3]
SMALL = {"min_cluster_size": 12}
SCATTERED = 60  # images that are far from all others


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """300 images of four kinds in two dives, 60 of them far from all others."""
    folder, rng = tmp_path_factory.mktemp("distance"), np.random.default_rng(0)
    with Workspace.create(folder / "reef") as made:
        campaign, root = made.library.collection("c"), made.library.register_root(folder)
        for dive in ("north", "south"):
            group = made.library.group(campaign.id, dive)
            made.library.store_images(
                [NewImage(root.id, f"{dive}/{n}.jpg", group.id, 1, 1, "a" * 64, 8, 8) for n in range(150)]
            )
        truth = rng.integers(4, size=300)
        rows = CENTRES[truth] + 0.3 * rng.standard_normal((300, 3))
        rows[:SCATTERED] = 40 * rng.standard_normal((SCATTERED, 3))
        with made.features.writer("deep", width=3, extractor={"kind": "test"}) as features:
            features.append(made.library.columns("id")["id"], rows)
        run_now(made, "cluster", {"name": "mixture"})
        run_now(made, "cluster", {"model": "kmeans", "name": "means", "parameters": {"n_clusters": 4}})
        run_now(made, "cluster", {"model": "hdbscan", "name": "dense", "parameters": SMALL})
        made.truth = truth
        yield made


def invoke(workspace, *words):
    result = CliRunner().invoke(app, [*words, "--workspace", str(workspace.folder)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_a_run_of_k_means_has_all_that_pages_need(made):
    run = made.runs.named("means")
    assert run.model == "kmeans" and run.summary["clusters"] == 4 and not run.unclustered
    assert run.summary["lower_bound"] is None and run.summary["converged"]
    sizes = np.bincount(run.array("labels"))
    assert [cluster.size for cluster in made.runs.clusters(run.id)] == sizes.tolist()
    np.testing.assert_allclose(run.array("weights").sum(1), 1)
    assert set(made.runs.levels(run)) == {"coarser", "usual", "finer"}
    assert limit_sentences(run) == []


def test_images_without_a_cluster_are_one_more_cluster_with_a_name(made):
    run = made.runs.named("dense")
    labels, probability = run.array("labels"), run.array("probability")
    assert len(labels) == 300 and run.summary["clusters"] == 5 and run.without_cluster == 4
    outside = labels == 4
    assert run.unclustered == outside.sum() and set(np.flatnonzero(outside)) <= set(range(SCATTERED))
    assert (probability[outside] == 0).all() and (probability[~outside] > 0).all()
    assert v_measure(made.truth[SCATTERED:], labels[SCATTERED:]) > 0.95
    assert made.runs.cluster_names(run.id) == {4: WITHOUT_CLUSTER}
    state = AppState(made)
    assert cluster_names(state, atlas_of(state, run.id)) == (*(f"Cluster {n}" for n in range(4)), WITHOUT_CLUSTER)
    (sentence,) = limit_sentences(run)
    assert sentence.startswith(f"{run.unclustered} of 300 images") and WITHOUT_CLUSTER in sentence


def test_review_shows_images_without_a_cluster_last(made):
    run, person = made.runs.named("dense"), made.people.named("Ann")
    made.vocabularies.add("own", [NewTerm(("fish",))])
    (term,) = made.vocabularies.all_terms()
    review = Review(Session(AppState(made), "review", person="Ann"), run=run.id)
    visited = []
    for _ in range(run.summary["clusters"]):
        visited.append(review.current_cluster())
        made.labels.label(person.id, review.members(), term.id, why="review", run_id=run.id)
        review.session.changed(LABELS)
        review.next_cluster()
    assert sorted(visited[:-1]) == [0, 1, 2, 3] and visited[-1] == run.without_cluster


def test_the_levels_of_a_run_leave_the_same_images_without_a_cluster(made):
    run = made.runs.named("dense")
    outside = run.array("labels") == run.without_cluster
    for level in ("coarser", "finer"):
        member = made.runs.levels(run)[level]
        np.testing.assert_array_equal(member.array("labels") == member.without_cluster, outside)
        assert made.runs.cluster_names(member.id) == {member.without_cluster: WITHOUT_CLUSTER}
    assert made.runs.levels(run)["coarser"].array("parents")[4] == made.runs.levels(run)["coarser"].without_cluster
    assert made.runs.levels(run)["finer"].array("parents")[-1] == 4


def test_levels_can_be_computed_again(made):
    run = made.runs.named("dense")
    before = {level: member.array("labels") for level, member in made.runs.levels(run).items()}
    result = run_now(made, "levels", {"run": run.id}).result
    after = made.runs.levels(run)
    assert all(np.array_equal(before[level], member.array("labels")) for level, member in after.items())
    assert result["levels"]["finer"]["clusters"] == after["finer"].summary["clusters"] - 1


def test_purity_is_measured_next_to_the_number_of_clusters(made):
    means, dense = (run_purity(made, made.runs.named(name)) for name in ("means", "dense"))
    assert (means.clusters, means.unclustered) == (4, 0) and means.probability > 0.5 and means.separation is not None
    run = made.runs.named("dense")
    assert (dense.clusters, dense.unclustered) == (4, run.unclustered)
    assert f"The {run.unclustered} images without a cluster count as one more cluster" in dense.to_dict()["text"]


def test_a_mixture_is_compared_with_k_means_and_hdbscan(made):
    first, other, last = (made.runs.named(name) for name in ("mixture", "means", "dense"))
    assert compare_runs(first, other).table.shape == (first.summary["clusters"], 4)
    comparison = compare_runs(other, last)
    assert comparison.table.sum() == 300, "images without a cluster count, too"
    content = comparison_content(comparison)
    assert (content["other"]["without_cluster"], content["other"]["clusters"]) == (4, 4)
    assert all(entry["cluster"] != 4 for entry in content["splits"]["other"])
    tags = table_row(row(last), current=False, shown=False, comparing=False)["tags"]
    assert tags == [[f"{last.unclustered} outside", "These images are in no cluster"]]


def test_the_command_line_makes_lists_and_compares_such_runs(made):
    content = json.loads(invoke(made, "cluster", "--model", "kmeans", "--clusters", "3", "--no-levels", "--json"))
    assert content["clusters"] == 3 and content["name"] == "kmeans deep, 3 clusters"
    text = invoke(made, "cluster", "--model", "hdbscan", "--min-cluster-size", "12", "--no-levels")
    assert "are in no cluster" in " ".join(text.split())
    newest = made.runs.all()[-1]
    assert newest.model == "hdbscan" and newest.parameters == SMALL
    text = invoke(made, "runs", "compare", str(content["run"]), str(newest.id))
    assert "number 4 stands for the images without a cluster" in text
    assert "count as one more cluster" in " ".join(invoke(made, "runs", "purity", str(newest.id)).split())


@pytest.mark.parametrize(
    "parameters, says",
    [
        ({"model": "kmeans", "parameters": {"n_clusters": 0}}, "n_clusters"),
        ({"model": "kmeans", "hold_out": 0.1}, "kmeans has no density for scoring"),
        ({"model": "hdbscan", "parameters": {"n_clusters": 4}}, "has no parameter 'n_clusters'"),
        ({"model": "hdbscan", "parameters": {"min_cluster_size": 1}}, "must be at least 2"),
        ({"model": "hdbscan", "crowd": "1"}, "cannot be steered"),
    ],
)
def test_a_wrong_parameter_gives_one_line_and_no_job(made, parameters, says):
    before = len(made.runs.all())
    with pytest.raises(BadInput, match=says):
        run_now(made, "cluster", parameters)
    assert len(made.runs.all()) == before


def test_too_many_images_are_refused_before_the_job_is_queued(made, monkeypatch):
    monkeypatch.setattr(HDBSCAN, "most_rows", 299)
    with pytest.raises(BadInput, match=r"at most 299 images \(got 300\)"):
        run_now(made, "cluster", {"model": "hdbscan"})


def test_a_run_without_any_cluster_is_not_stored(made):
    job = run_now(made, "cluster", {"model": "hdbscan", "parameters": {"min_cluster_size": 290}})
    assert job.state == "failed" and "leaves all 300 images without a cluster; use a smaller" in job.error


@pytest.mark.parametrize("model", ["kmeans", "hdbscan"])
def test_a_cancelled_fit_stores_no_run(made, monkeypatch, model):
    def cancel(self, progress):
        raise Cancelled

    monkeypatch.setattr(Trace, "on_step", cancel)
    before = len(made.runs.all(levels=True))
    assert run_now(made, "cluster", {"model": model}).state == "cancelled"
    assert len(made.runs.all(levels=True)) == before


def test_widths_of_a_model_without_width_are_refused(made):
    with pytest.raises(BadInput, match="clusters of kmeans have no width"):
        invoke(made, "cluster", "--model", "kmeans", "--sweep", "0.1,0.2")


def test_the_form_makes_a_run_of_each(made):
    recipe = clustering(AppState(made), ["c"])
    values = {field.name: field.default for field in recipe.fields}
    ((kind, parameters, title),) = recipe.jobs({**values, "variant": "kmeans", "max_clusters": 7})
    assert (kind, parameters["model"], parameters["parameters"]) == ("cluster", "kmeans", {"n_clusters": 7})
    assert title == "Cluster images (kmeans)"
    ((_, parameters, _),) = recipe.jobs({**values, "variant": "hdbscan", "min_cluster_size": 20})
    assert parameters["parameters"] == {"min_cluster_size": 20}
    with pytest.raises(BadInput, match="have no width"):
        recipe.jobs({**values, "variant": "hdbscan", "sweep": "0.1, 0.2"})
    assert "MB of memory" in recipe.cost({**values, "variant": "hdbscan"})
