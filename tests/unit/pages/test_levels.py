"""Finer and coarser levels of a clustering: computed with it or later, stored with it, nested around it."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from benthoscope.app.api import runs as runs_api
from benthoscope.app.cli import app
from benthoscope.app.components.forms import JobForm
from benthoscope.app.pages.explore import content as explore_views
from benthoscope.app.pages.explore.content import bar_controls
from benthoscope.app.pages.explore.model import Explore
from benthoscope.app.pages.explore.page import FOLLOW
from benthoscope.app.pages.labels.export_form import exporting
from benthoscope.app.pages.review.content import content
from benthoscope.app.pages.review.model import Review
from benthoscope.app.session.app_state import AppState
from benthoscope.app.session.session import Session
from benthoscope.engine.jobs import JobQueue, run_now
from benthoscope.engine.jobs.cluster import levels as levels_job
from benthoscope.engine.labelling.vocabulary_file import add_catami
from benthoscope.engine.mixtures import cluster_hierarchy
from benthoscope.engine.problems import BadInput
from benthoscope.engine.progress import Cancelled
from benthoscope.engine.workspace import NewImage, NewRun, Workspace

CENTRES = np.array([[0.0, 0, 0], [4, 0, 0], [0, 40, 0], [4, 40, 0], [0, 0, 40], [40, 0, 40]])


@pytest.fixture
def reef(tmp_path):
    """600 images in two dives; six heaps, of which some lie close together and each consists of two lobes."""
    rng = np.random.default_rng(0)
    with Workspace.create(tmp_path / "reef") as made:
        campaign, root = made.library.collection("c"), made.library.register_root(tmp_path)
        for dive in ("a", "b"):
            group = made.library.group(campaign.id, dive)
            made.library.store_images(
                [NewImage(root.id, f"{dive}/{n}.jpg", group.id, 1, 1, "a" * 64, 8, 8) for n in range(300)]
            )
        ids = made.library.columns("id")["id"]
        lobes = np.where(rng.random((600, 1)) < 0.5, -0.8, 0.8) * np.array([0, 0, 1])
        values = CENTRES[rng.integers(6, size=600)] + lobes + 0.1 * rng.standard_normal((600, 3))
        with made.features.writer("deep", width=3, extractor={"kind": "test"}) as features:
            features.append(ids, values)
        yield made


def clustered(reef, **parameters):
    job = run_now(reef, "cluster", {"width": 0.02, **parameters})
    assert job.state == "done", job.traceback
    return reef.runs.get(job.result["run"])


def test_a_clustering_comes_with_two_levels_that_nest_around_it(reef):
    usual = clustered(reef)
    coarser, same, finer = reef.runs.levels(usual).values()
    assert same.id == usual.id and [run.level for run in (coarser, same, finer)] == ["coarser", "usual", "finer"]
    assert coarser.summary["clusters"] < usual.summary["clusters"] < finer.summary["clusters"]
    labels = {run.level: np.asarray(run.array("labels")) for run in (coarser, usual, finer)}
    assert (np.asarray(finer.array("parents"))[labels["finer"]] == labels["usual"]).all()
    assert (np.asarray(coarser.array("parents"))[labels["usual"]] == labels["coarser"]).all()
    for run in (coarser, finer):
        assert np.array_equal(run.array("image_ids"), usual.array("image_ids"))
        sizes = np.bincount(run.array("labels"), minlength=run.summary["clusters"])
        assert [cluster.size for cluster in reef.runs.clusters(run.id)] == sizes.tolist()
        np.testing.assert_allclose(np.asarray(run.array("weights")).sum(1), 1)
    assert (coarser.parameters["width"], finer.parameters["width"]) == (0.02, 0.005)


def test_the_server_and_the_command_line_say_what_clusters_split_into(reef):
    usual = clustered(reef)
    levels = reef.runs.levels(usual)
    shown_content = json.loads(
        CliRunner().invoke(app, ["runs", "show", str(usual.id), "--json", "-w", str(reef.folder)]).stdout
    )
    served = runs_api.levels(usual.id, AppState(reef))
    assert {
        level: {int(key): numbers for key, numbers in split.items()} for level, split in shown_content["splits"].items()
    } == served["splits"]
    assert served["levels"]["finer"]["run"] == levels["finer"].id
    for level, below in (("usual", "finer"), ("coarser", "usual")):
        above = np.asarray(levels[level].array("labels"))
        for cluster, split in served["splits"][level].items():
            inside = np.asarray(levels[below].array("labels"))[above == cluster]
            assert sorted(set(inside.tolist())) == split


def test_lists_show_a_clustering_once_and_its_levels_never_become_current(reef):
    first, second = clustered(reef), clustered(reef, seed=1)
    assert [run.id for run in reef.runs.all()] == [first.id, second.id]
    assert reef.runs.current().id == first.id  # the newer run does not replace it silently
    assert len(reef.runs.all(levels=True)) == 6


def test_a_level_can_be_chosen_and_is_found_by_name(reef):
    finer = reef.runs.levels(clustered(reef))["finer"]
    reef.runs.choose(reef.runs.named(finer.name).id)
    assert reef.runs.current().id == finer.id
    assert reef.runs.levels(finer).keys() == {"coarser", "usual", "finer"}


def test_a_current_level_stays_current_when_it_is_computed_again(reef):
    usual = clustered(reef)
    reef.runs.choose(reef.runs.levels(usual)["finer"].id)
    job = run_now(reef, "levels", {"run": usual.id})
    assert job.state == "done" and reef.runs.current().id == job.result["levels"]["finer"]["run"]


def test_levels_are_deleted_restored_and_purged_with_their_run(reef):
    usual = clustered(reef)
    folders = [run.folder for run in reef.runs.levels(usual).values()]
    reef.runs.delete(usual.id)
    assert reef.runs.all(levels=True) == [] and len(reef.runs.all(deleted=True)) == 1
    reef.runs.restore(usual.id)
    assert len(reef.runs.levels(usual)) == 3
    reef.runs.delete(usual.id)
    assert reef.runs.purge() == 1 and not any(folder.exists() for folder in folders)


def test_a_run_stays_when_labels_refer_to_its_level(reef):
    usual = clustered(reef)
    finer = reef.runs.levels(usual)["finer"]
    from benthoscope.engine.workspace.labels.vocabularies import NewTerm

    words = reef.vocabularies.add("v", [NewTerm(("sand",))])
    reef.labels.label(reef.people.named("Ann").id, [1], reef.vocabularies.terms(words.id)[0].id, run_id=finer.id)
    reef.runs.delete(usual.id)
    assert reef.runs.purge() == 0
    reef.runs.restore(usual.id)
    assert "finer" in reef.runs.levels(usual)


def test_runs_made_before_there_were_levels_get_them_later(reef):
    usual = clustered(reef, levels=False)
    assert list(reef.runs.levels(usual)) == ["usual"]
    job = run_now(reef, "levels", {"run": usual.id})
    assert job.state == "done", job.traceback
    direct = cluster_hierarchy(
        np.asarray(reef.features.open("deep").X),
        np.asarray(usual.array("labels")),
        width=0.02,
        n_clusters=usual.summary["clusters"],
        random_state=0,
    )
    for level, labels in (("coarser", direct.coarse), ("finer", direct.fine)):
        assert np.array_equal(reef.runs.levels(usual)[level].array("labels"), labels)
    again = run_now(reef, "levels", {"run": job.result["levels"]["finer"]["run"]})  # its run, for a level
    assert again.result["run"] == usual.id and len(reef.runs.levels(usual)) == 3


def test_levels_of_an_earlier_version_open_and_stay_until_they_are_computed_again(reef):
    usual = clustered(reef)
    ids, labels = (np.asarray(usual.array(name)) for name in ("image_ids", "labels"))
    hierarchy = cluster_hierarchy(np.asarray(reef.features.open("deep").X), labels, width=0.02, random_state=0)
    # earlier versions joined other clusters, and stored four times the width of the run
    joined = replace(
        hierarchy,
        coarse=np.zeros_like(labels),
        coarse_parent=np.zeros_like(hierarchy.coarse_parent),
        widths=(0.08, 0.02, 0.005),
    )
    levels_job.store_levels(reef, usual, ids, joined)
    earlier = reef.runs.levels(usual)["coarser"]
    assert earlier.parameters["width"] == 0.08
    explore = Explore(Session(AppState(reef), person="Ann"))
    explore.switch_level("coarser")
    assert explore.run == earlier.id
    explore.open_cluster(0)
    assert explore.shown().sum() == len(ids)
    run_now(reef, "levels", {"run": usual.id})
    assert np.array_equal(reef.runs.levels(usual)["coarser"].array("labels"), hierarchy.coarse)


def test_the_levels_of_every_model_of_whole_images_can_be_computed(reef):
    for model in ("vdp", "bgmm", "krim"):
        assert set(reef.runs.levels(clustered(reef, model=model))) == {"coarser", "usual", "finer"}


@pytest.mark.parametrize(
    "model, summary, line",
    [
        ("gmc-segments", {"clusters": 2}, "clusters of objects"),
        ("crowd-bayes", {"clusters": 2, "campaign": 1}, "answers of a crowd"),
        ("gmc", {"clusters": 2, "partial": True}, "stopped early"),
    ],
)
def test_runs_that_have_no_levels_say_why(reef, model, summary, line):
    run = reef.runs.add(NewRun("r", model, "deep", {}, {}, summary), {"labels": np.zeros(1, np.int32)})
    with pytest.raises(BadInput, match=line):
        run_now(reef, "levels", {"run": run.id})
    assert JobQueue(reef).all() == []


def test_levels_of_a_run_that_does_not_exist_are_not_queued(reef):
    for parameters, line in (({"run": 99}, "no run 99"), ({}, "there is no run")):
        with pytest.raises(BadInput, match=line):
            JobQueue(reef).add("levels", parameters)
    JobQueue(reef).add("cluster", {})
    JobQueue(reef).add("levels", {})  # the job before it may bring the run


def test_a_job_cancelled_while_levels_are_computed_keeps_its_run(reef, monkeypatch):
    def cancelled(*_, **__):
        raise Cancelled

    monkeypatch.setattr(levels_job, "hierarchy_of", cancelled)
    job = run_now(reef, "cluster", {"width": 0.02})
    assert job.state == "cancelled"
    [run] = reef.runs.all(levels=True)
    assert not run.summary["partial"] and "without finer and coarser" in JobQueue(reef).log(job.id)


def test_the_command_line_knows_the_levels(reef):
    invoke = lambda *words: CliRunner().invoke(app, [*words, "-w", str(reef.folder)])  # noqa: E731
    shown_content = json.loads(invoke("cluster", "--width", "0.02", "--json").stdout)
    finer = shown_content["levels"]["finer"]
    [listed] = json.loads(invoke("runs", "--json").stdout)
    assert listed["levels"]["finer"] == {**finer, "current": False}
    assert listed["levels"]["usual"] == {
        "run": shown_content["run"],
        "clusters": shown_content["clusters"],
        "current": True,
    }
    assert [str(finer["run"]), "finer", str(finer["clusters"])] in [
        line.split() for line in invoke("runs").stdout.splitlines()
    ]
    again = json.loads(invoke("runs", "levels", str(shown_content["run"]), "--json").stdout)
    assert again["levels"]["finer"]["run"] != finer["run"]
    plain = json.loads(invoke("cluster", "--no-levels", "--json").stdout)
    assert plain["levels"] == {}
    invoke("runs", "choose", str(shown_content["levels"]["finer"]["run"]))
    assert invoke("runs", "assign", str(finer["run"]), "--csv", str(reef.folder / "a.csv")).exit_code == 0
    assert len((reef.folder / "a.csv").read_text().splitlines()) == 601


def test_labels_and_exports_by_cluster_take_the_level_that_is_named(reef):
    add_catami(reef)
    usual = clustered(reef)
    finer = reef.runs.levels(usual)["finer"]
    words = ["labels", "set", "Biota", "--cluster", "1", "--run", finer.name, "--person", "Ann", "--json"]
    shown_content = json.loads(CliRunner().invoke(app, [*words, "-w", str(reef.folder)]).stdout)
    members = np.asarray(finer.array("image_ids"))[np.asarray(finer.array("labels")) == 1]
    assert shown_content["images"] == len(members)
    event = reef.labels.event(shown_content["event"])
    assert event.run_id == finer.id and sorted(event.images) == sorted(members.tolist())
    state = AppState(reef)
    form = JobForm(Session(state, person="Ann"))
    form.open(exporting(form.session, run=finer.id))
    assert form.start(form.shown["values"])
    [job] = [each for each in state.queue.unfinished() if each.kind == "export"]
    ended = run_now(reef, "export", resume=job.id)
    assert ended.state == "done", ended.error
    with next(Path(job.parameters["output"]).glob("*.csv")).open() as file:
        clusters = {row["image"]: int(row["cluster"]) for row in csv.DictReader(file)}
    paths = {image.id: image.path for image in reef.library.images(finer.array("image_ids").tolist())}
    assert clusters == {
        paths[number]: label
        for number, label in zip(finer.array("image_ids").tolist(), finer.array("labels").tolist(), strict=True)
    }


# --- pages


@pytest.fixture
def opened(reef):
    """A session on a workspace whose current run has levels."""
    run = clustered(reef)
    session = Session(AppState(reef), person="Ann")
    return session, {level: run.id for level, run in reef.runs.levels(run).items()}


def test_explore_switches_the_level_and_keeps_selection_and_place(opened):
    session, runs = opened
    explore = Explore(session)
    explore.open_cluster(2)
    explore.selection.become(np.array([3, 5, 9]), {"tool": "lasso"})
    members = set(explore.shown().nonzero()[0].tolist())
    explore.switch_level("finer")
    assert explore.run == runs["finer"] and set(explore.shown().nonzero()[0].tolist()) == members
    parents = np.asarray(session.workspace.runs.get(runs["finer"]).array("parents"))
    assert explore.cluster == np.flatnonzero(parents == 2).tolist()
    assert "Cluster 2" in session.message.text and str(explore.cluster[0]) in session.message.text
    explore.switch_level("coarser")
    assert explore.run == runs["usual"] and explore.cluster == [2]
    assert explore.selection.positions.tolist() == [3, 5, 9]
    explore.switch_level("coarser")
    assert members <= set(explore.shown().nonzero()[0].tolist())
    with pytest.raises(BadInput, match="no coarser clusters"):
        explore.switch_level("coarser")


def test_explore_offers_the_levels_there_are_and_to_make_another_run_current(opened, reef):
    session, runs = opened
    explore = Explore(session)
    names = lambda: {control["name"]: control for control in bar_controls(explore)}  # noqa: E731
    assert not names()["coarser"]["disabled"] and not names()["finer"]["disabled"]
    assert "make_current" not in names()
    explore.run = runs["finer"]
    assert names()["finer"]["disabled"] and not names()["coarser"]["disabled"]
    assert names()["run"]["value"] in dict(names()["run"]["choices"])
    later = clustered(reef, seed=1, levels=False)
    session.changed()
    explore.run = later.id
    assert {"compute_levels", "make_current"} <= names().keys() and "finer" not in names()
    explore.compute_levels()
    explore.compute_levels()  # a second click queues nothing
    assert [job.parameters for job in session.app.queue.unfinished()] == [{"run": later.id}]
    assert names()["compute_levels"]["disabled"]
    explore.make_current()
    assert reef.runs.current().id == later.id and "make_current" not in names()


def test_every_view_of_explore_can_be_drawn_at_every_level(opened):
    session, runs = opened
    explore = Explore(session)
    for number in runs.values():
        explore.run = number
        for piece in FOLLOW["run"]:
            getattr(explore_views, piece)(explore)


def test_review_switches_the_level_carries_labels_and_returns_to_its_page(opened, reef):
    session, runs = opened
    add_catami(reef)
    review = Review(session)
    review.param.update(cluster=1, page=1)
    members = set(review.members().tolist())
    review.switch_level("finer")
    assert review.run == runs["finer"] and set(review.members().tolist()) <= members
    review.choose_term(review.terms()[0].id)
    review.name_cluster()
    named = set(review.labelled()["images"].tolist())
    assert named and named <= members
    with pytest.raises(BadInput, match="press Esc"):
        review.switch_level("coarser")
    review.leave()
    review.switch_level("coarser")
    assert (review.run, review.cluster, review.page) == (runs["usual"], 1, 1)
    assert set(review.labelled()["images"].tolist()) == named  # labels belong to images
    assert review.open_share()[1] == pytest.approx(1 - len(named) / len(members))
    review.switch_level("finer")  # on to what is left of the cluster
    review.next_cluster()
    review.switch_level("coarser")
    assert reef.labels.events()[0].run_id == runs["finer"]


def test_review_tells_its_page_which_levels_there_are(opened):
    session, runs = opened
    levels = content(Review(session))["levels"]
    assert levels["coarser"]["run"] == runs["coarser"] and levels["finer"]["run"] == runs["finer"]
    assert levels["level"] == "usual" and not levels["computable"]
