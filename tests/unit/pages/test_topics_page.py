"""The Topics page: cards, names, the search by mixture, images to add, the forms, and where names of topics appear."""

import io
import json
from dataclasses import replace

import numpy as np
import pytest
from fastapi.testclient import TestClient
from PIL import Image as Picture
from typer.testing import CliRunner

from benthoscope.app.api.search import search
from benthoscope.app.cli import app as command
from benthoscope.app.data.clusters.clustered_images import atlas_of, part_words
from benthoscope.app.data.colours import colouring
from benthoscope.app.data.figures import FIGURES, FigureChoice, figure
from benthoscope.app.data.objects import objects_in, objects_of, words
from benthoscope.app.data.segments import overlay
from benthoscope.app.data.topics import addable, topics_of
from benthoscope.app.pages.explore.cards import cards as explore_cards
from benthoscope.app.pages.topics.content import content
from benthoscope.app.pages.topics.forms import adding
from benthoscope.app.pages.topics.model import TopicsView
from benthoscope.app.pages.topics.page import TopicsPage, view
from benthoscope.app.server.application import ServerSettings, create_app
from benthoscope.app.session.app_state import AppState
from benthoscope.app.session.session import Session
from benthoscope.engine.jobs import run_now
from benthoscope.engine.jobs.cluster.model_catalog import JOINT_SEGMENTATION
from benthoscope.engine.workspace import Workspace
from benthoscope.engine.workspace.labels.vocabularies import NewTerm
from benthoscope.plots import data_table
from tests.segmented_reef import add_image, add_topics, made


@pytest.fixture
def reef(tmp_path):
    made_reef = made(tmp_path)
    yield made_reef
    made_reef.workspace.close()


@pytest.fixture
def run(reef):
    return add_topics(reef)


@pytest.fixture
def page(reef, run):
    return view(Session(AppState(reef.workspace), "topics", person="Ann"))


@pytest.fixture
def model(reef, run):
    return TopicsView(Session(AppState(reef.workspace), "topics", person="Ann"))


def board_of(page):
    return page[0]


def send(page, **message):
    board_of(page)._handle_msg(message)
    return board_of(page).content


def test_a_card_shows_patches_images_dives_and_labels_of_its_topic(reef, run, model):
    sand = reef.workspace.vocabularies.terms(reef.workspace.vocabularies.add("own", [NewTerm(("sand",))]).id)[0].id
    reef.workspace.labels.label(reef.workspace.people.named("Ann").id, reef.ids[:3].tolist(), sand)
    shown = content(model)["shown"]
    by_number = {card["number"]: card for card in shown["cards"]}
    shares = np.stack([np.bincount(row, minlength=3) / 4 for row in reef.objects])
    assert [card["number"] for card in shown["cards"]] == np.argsort(-shares.mean(0), kind="stable").tolist()
    for number, card in by_number.items():
        assert card["share"] == pytest.approx(shares[:, number].mean(), abs=1e-4)
        assert all(reef.objects[list(reef.ids).index(image), patch] == number for image, patch in card["crops"])
        weights = [weight for _, weight in card["images"]]
        assert weights == sorted(weights, reverse=True) and weights[0] == pytest.approx(shares[:, number].max())
        assert card["labels"] == [["sand", 1.0]] if shares[:3, number].any() else card["labels"] == []
    columns = reef.workspace.library.columns("group_id", "path")
    in_dive = np.array(["dive c" in str(path) for path in columns["path"]])
    assert dict(by_number[2]["dives"])["dive c"] == pytest.approx(shares[in_dive, 2].mean(), abs=1e-4)


def test_a_name_is_shown_everywhere_and_can_be_undone(reef, run, page):
    shown = send(page, act="name", topic=2, name=" sponge garden ")
    assert shown["names"] == ["Topic 0", "Topic 1", "sponge garden"]
    app = AppState(reef.workspace)
    atlas = atlas_of(app, run.id)
    assert colouring(app, atlas, "cluster").names[2] == "sponge garden"
    assert words(app, objects_of(app, atlas)) == ["Topic 0", "Topic 1", "sponge garden"]
    assert {card.number: card.title for card in explore_cards(app, atlas)}[2] == "sponge garden"
    assert [card.number for card in explore_cards(app, atlas, word="garden")] == [2]
    assert [(hit.kind, hit.name) for hit in search(app, "sponge")] == [("Topic", "sponge garden")]
    listed = CliRunner().invoke(command, ["topics", "--workspace", str(reef.workspace.folder), "--json"])
    assert [topic["name"] for topic in json.loads(listed.stdout)["topics"]] == ["", "", "sponge garden"]
    session = board_of(page).on_message.__self__.model.session
    assert session.message.text == 'Topic 2 is called "sponge garden"'
    session.undo()
    assert board_of(page).content["names"] == ["Topic 0", "Topic 1", "Topic 2"]
    send(page, act="name", topic=2, name="x" * 61)
    assert "longer than 60 letters" in session.message.text


def test_runs_of_images_keep_the_names_of_their_clusters(reef):
    app = AppState(reef.workspace)
    assert colouring(app, atlas_of(app, None), "cluster").names == ("Cluster 0", "Cluster 1", "Cluster 2")
    assert explore_cards(app, atlas_of(app, None))[0].title.startswith("Cluster ")


def test_topics_of_a_joint_segmentation_consist_of_segments(run):
    assert part_words(run) == ("patch", "patches")
    assert part_words(replace(run, model=JOINT_SEGMENTATION)) == ("segment", "segments")


def test_the_viewer_gets_names_colours_and_borders_between_topics(reef, run):
    app = AppState(reef.workspace)
    atlas = atlas_of(app, run.id)
    features = app.features("segments")
    at = int((reef.objects == [0, 0, 0, 1]).all(1).argmax())
    image = int(reef.ids[at])  # three quarters are topic 0, the lower right one is topic 1
    listed = objects_in(app, atlas, features, image)
    assert listed["title"] == "Topics" and {each["name"] for each in listed["objects"]} == {"Topic 0", "Topic 1"}
    assert listed["part_words"] == ("patch", "patches")
    of_objects = objects_in(app, atlas_of(app, 1), features, image)
    assert of_objects["title"] == "Objects" and of_objects["part_words"] == ("segment", "segments")
    same = np.asarray(Picture.open(io.BytesIO(overlay(app, atlas, features, image, 255))))
    height, width = same.shape[:2]
    upper_middle = same[2, width // 2 - 1]
    assert upper_middle[3] == 255 and tuple(upper_middle[:3]) != (255, 255, 255)  # one topic on both sides
    assert tuple(same[height - 3, width // 2 - 1]) == (255, 255, 255, 255)
    faint = np.asarray(Picture.open(io.BytesIO(overlay(app, atlas, features, image, 40))))
    assert faint[2, 2, 3] == 40
    client = TestClient(
        create_app(reef.workspace, ServerSettings(token="", run_jobs=False)), base_url="http://127.0.0.1"
    )
    address = f"/api/v1/images/{image}/segments.png?run={run.id}"
    assert client.get(f"{address}&cover=40").content == overlay(app, atlas, features, image, 40)
    assert client.get(f"{address}&cover=256").status_code == 422
    assert client.get(f"/api/v1/images/{image}/around?run={run.id}").json()["cluster_name"] == "Topic 0"


def test_images_are_found_by_mixture_and_by_likeness(reef, page):
    shown = send(page, act="mixture", text="1: 75 %, 0: 25 %")
    weedy = reef.ids[[row.tolist() == [0, 1, 1, 1] for row in reef.objects]]
    assert shown["part"] == "find" and shown["shown"]["wanted"] == [25, 75, 0]
    assert {image for image, far, _ in shown["shown"]["images"] if far == 0} == set(weedy.tolist())
    similar = send(page, act="like", image=int(weedy[0]))["shown"]
    assert similar["mixture"] == "" and similar["like"] == weedy[0] and similar["images"][0][1] == 0
    assert similar["total"] == len(reef.ids)
    model = board_of(page).on_message.__self__.model
    before = board_of(page).content
    send(page, act="mixture", text="9: 50 %")
    assert "there is no topic '9'" in model.session.message.text and board_of(page).content == before
    assert "has no topics in this run" in send(page, act="like", image=99)["shown"]["problem"]
    assert send(page, act="mixture", text="")["shown"]["images"] == []


def test_images_are_found_that_contain_a_region(reef, page):
    mixed = int(reef.ids[(reef.objects == [0, 0, 0, 1]).all(1).argmax()])
    lower_right = {"left": 0.5, "top": 0.5, "width": 0.5, "height": 0.5}  # topic 1
    shown = send(page, act="region", image=mixed, **lower_right)
    assert shown["part"] == "find" and shown["shown"]["region"] == f"{mixed}:0.5,0.5,0.5,0.5"
    weedy = reef.ids[(reef.objects == 1).sum(1) == 3]
    assert {image for image, _, _ in shown["shown"]["images"][: len(weedy)]} == set(weedy.tolist())
    assert send(page, act="mixture", text="0: 50 %")["shown"]["region"] == ""
    problem = send(page, act="region", image=mixed, **{**lower_right, "left": 0.9})["shown"]["problem"]
    assert "is not inside the image" in problem


def test_dives_and_the_fit_are_plots(reef, run, page):
    shown = send(page, act="part", name="dives")["shown"]
    assert [name for _, name in shown["dives"]] == ["dive a", "dive b", "dive c"] and shown["several"]
    assert send(page, act="dive", dive=shown["dives"][1][0])["shown"]["dive"] == shown["dives"][1][0]
    fit = send(page, act="part", name="fit")["shown"]
    assert fit["has_trace"] and fit["vocabulary"] == 3 and fit["inferred"]
    app = AppState(reef.workspace)
    choice = FigureChoice(run=run.id, dive=shown["dives"][1][0])
    table = data_table(figure(app, "topics-along", choice))
    assert set(FIGURES["topics-along"].options) == {"dive", "run"}
    assert table["Topic"].tolist().count("Topic 1") == 8  # one bar for each image of the dive
    means = data_table(figure(app, "topic-mixtures", FigureChoice(run=run.id)))
    shares = 100 * topics_of(app, run.id).by_dive.ravel()
    assert sorted(means["Share of the images (%)"]) == pytest.approx(sorted(shares[shares > 0]))
    counts = data_table(figure(app, "cluster-count", FigureChoice(run=run.id)))
    assert counts["Kinds of patches"].tolist() == [8, 7, 6, 5, 4, 3]


def test_new_images_are_offered_and_added_by_a_job(reef, run, page):
    assert board_of(page).content["addable"] == {"images": 0, "problem": ""}
    add_image(reef, "east", described=True)
    add_image(reef, "west", described=False)
    model = board_of(page).on_message.__self__.model
    model.session.changed("images", "features")
    new = addable(model.app, run)
    assert (new.described, new.undescribed) == (1, 1) and board_of(page).content["addable"]["images"] == 2
    form = page[1]
    send(page, act="add")
    assert "Add 2 images" in form.shown["title"] and "divided into patches first" in form.shown["cost"]
    [(kind, parameters, title)] = adding(model.app, model.topics).jobs(form.shown["values"])
    assert (kind, title) == ("chain", "Add 2 images to topics")
    assert [step["kind"] for step in parameters["steps"]] == ["features", "extend topics"]
    assert parameters["steps"][1]["parameters"] == {"run": run.id, "name": None}


def test_only_described_images_need_one_job(reef, run, page):
    add_image(reef, "east", described=True)
    model = board_of(page).on_message.__self__.model
    model.session.changed("images", "features")
    send(page, act="add")
    page[1]._handle_msg({"act": "start", "values": page[1].shown["values"]})
    [job] = model.app.queue.unfinished()
    assert (job.kind, job.parameters["run"]) == ("extend topics", run.id)
    assert board_of(page).content["started"] == [job.id]


def test_the_page_shows_the_run_of_its_own_job_and_not_of_others(reef, run, page):
    settings = {"n_topics": 2, "max_iter": 2, "n_init": 1}
    job = run_now(reef.workspace, "cluster", {"model": "iwtm", "segments": "segments", "parameters": settings})
    board_of(page).on_message.__self__.model.session.changed("runs")
    send(page, act="run", run=run.id)
    assert send(page, act="finished", job=job.id)["run"] == run.id
    board_of(page).on_message.__self__.form.queued = [job.id]
    assert send(page, act="finished", job=job.id)["run"] == job.result["run"] != run.id


def test_runs_that_cannot_be_extended_say_why(reef, run, page):
    reef.workspace.features.remove("segments")
    add_image(reef, "west", described=False)
    model = board_of(page).on_message.__self__.model
    model.session.changed("images", "features")
    assert board_of(page).content["addable"] == {"images": 0, "problem": "The features segments were removed."}
    assert board_of(page).content["shown"]["cards"][0]["crops"] == []


def test_without_topics_the_page_offers_to_find_them(reef):
    page = view(Session(AppState(reef.workspace), "topics", person="Ann"))
    shown = board_of(page).content
    assert shown["run"] is None and shown["images"] == 24 and "Time: " in shown["cost"]
    send(page, act="start")
    fields = {field["name"]: field for field in page[1].shown["fields"]}
    assert [name for name, _ in fields["patches"]["choices"]] == ["patches", "deep-patches", "segments"]
    page[1]._handle_msg({"act": "start", "values": {**page[1].shown["values"], "topics": 4}})
    model = board_of(page).on_message.__self__.model
    [job] = model.app.queue.unfinished()
    assert job.title.startswith(shown["finding"])
    cluster = job.parameters["steps"][1]["parameters"]
    assert cluster["parameters"] == {"inference": "svi", "n_init": 1, "n_topics": 4}
    assert (cluster["model"], cluster["segments"]) == ("iwtm", "patches")


def test_an_empty_workspace_leads_to_the_library(tmp_path):
    with Workspace.create(tmp_path / "empty") as workspace:
        page = view(Session(AppState(workspace), "topics", person="Ann"))
        assert board_of(page).content["images"] == 0
        send(page, act="start")
        assert "there are no images yet" in board_of(page).on_message.__self__.model.session.message.text


def test_every_command_reaches_its_model(page):
    assert isinstance(board_of(page).on_message.__self__, TopicsPage)
    assert send(page, act="order", name="number")["shown"]["cards"][0]["number"] == 0
    assert len(send(page, act="word", word="1")["shown"]["cards"]) == 1
    assert send(page, act="kind", name="random")["shown"]["kind"] == "random"
    send(page, act="mixture", text="0: 1 %")
    board_of(page).on_message.__self__.model.shown = 2
    assert len(send(page, act="more")["shown"]["images"]) == 24
    assert send(page, act="run", run=99)["run"] is not None
