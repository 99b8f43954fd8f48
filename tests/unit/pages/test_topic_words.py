"""Pages call the clusters of a run of topics topics, by their names; those of other runs stay clusters."""

import json

import pytest
from fastapi.testclient import TestClient

from benthoscope.app.data.clusters.clustered_images import atlas_of, cluster_name, cluster_names
from benthoscope.app.data.colours import cluster_texts, colour_choices, legend_entries
from benthoscope.app.data.figures import FigureChoice, figure
from benthoscope.app.data.measures import GROUPINGS
from benthoscope.app.data.topics import runs_of_topics, topics_of
from benthoscope.app.pages.dive.model import DiveView, plots_of_dive
from benthoscope.app.pages.dive.page import DivePage, header_html
from benthoscope.app.pages.explore import content as explore_content
from benthoscope.app.pages.explore.model import Explore
from benthoscope.app.pages.explore.selection_commands import split_off
from benthoscope.app.pages.review import cluster_edits
from benthoscope.app.pages.review.content import content as review_content
from benthoscope.app.pages.review.model import Review
from benthoscope.app.server.application import ServerSettings, create_app
from benthoscope.app.session.app_state import AppState
from benthoscope.app.session.session import Session
from benthoscope.engine.problems import BadInput
from benthoscope.engine.workspace.labels.vocabularies import NewTerm
from benthoscope.plots import data_table
from tests.segmented_reef import add_topics, made

NAMES = ["sand ripples", "Topic 1", "Topic 2"]


@pytest.fixture
def reef(tmp_path):
    reef = made(tmp_path)
    yield reef
    reef.workspace.close()


@pytest.fixture
def run(reef):
    run = add_topics(reef)
    reef.workspace.runs.rename_cluster(run.id, 0, "sand ripples", "segment")
    return run


@pytest.fixture
def app(reef, run):
    return AppState(reef.workspace)


def session(app, page):
    return Session(app, page, person="Ann")


def words_on(content):
    return json.dumps(content, default=str)


def test_a_cluster_that_a_person_made_has_the_word_of_its_run_and_its_number(app, run):
    assert cluster_name(app, run, 7) == "Topic 7"
    assert cluster_name(app, app.workspace.runs.get(1), 7) == "Cluster 7"
    assert cluster_name(app, None, 0) == "Cluster 0"


def test_review_shows_topics(app, run):
    review = Review(session(app, "review"), run=run.id, cluster=1)
    shown = review_content(review)
    assert (shown["name"], shown["noun"]) == ("Topic 1", "topic")
    assert {row["number"]: row["name"] for row in shown["clusters"]} == {0: NAMES[0], 1: NAMES[1]}  # 2 has no images
    assert review_content(Review(session(app, "review"), run=1, cluster=1))["name"] == "Cluster 1"


def test_cluster_edits_of_topics_say_topic(app, run):
    review = Review(session(app, "review"), run=run.id, cluster=1)
    cluster_edits.split_cluster(review, review.members()[:1].tolist())
    assert review.session.message.text == "Split topic 1: new topic 2"
    cluster_edits.merge_cluster(review, 2)
    assert review.session.message.text == "Merged topic 1 into 2"
    with pytest.raises(BadInput, match="topic 2 is the one shown"):
        cluster_edits.merge_cluster(review, 2)


def test_explore_shows_topics_in_legend_filters_choices_cards_and_pies(app, run):
    explore = Explore(session(app, "explore"), run=run.id, cluster=[1])
    legend = explore_content.plot_legend(explore)["embedding"]["legend"]
    assert legend["title"] == "Topic"
    assert [entry["text"] for entry in legend["entries"]] == NAMES
    assert explore_content.filters(explore) == [{"kind": "cluster", "id": 1, "text": "Topic 1"}]
    assert colour_choices(app, explore.atlas)["cluster"] == GROUPINGS["cluster"](app, explore.atlas).title == "Topic"
    assert explore_content.bar(explore)["bench"]["noun"] == "topic"
    cards = explore_content.cards(explore)["cards"]
    assert (cards["names"], cards["noun"]) == (NAMES, "topic")
    named = {card["number"]: card["has_name"] for card in cards["cards"]}
    assert named == {0: True, 1: False, 2: False}


def test_labels_do_not_replace_the_names_of_topics(app, run, reef):
    sand = reef.workspace.vocabularies.terms(reef.workspace.vocabularies.add("own", [NewTerm(("sand",))]).id)[0].id
    reef.workspace.labels.label(reef.workspace.people.named("Ann").id, reef.ids.tolist(), sand)
    assert cluster_texts(app, atlas_of(app, run.id)) == NAMES
    assert cluster_texts(app, atlas_of(app, 1)) == ["0 sand", "1 sand", "2 sand"]


def test_images_outside_of_a_run_of_topics_have_no_topic(app, run):
    atlas = atlas_of(app, run.id)
    atlas.labels[0] = -1
    assert legend_entries(app, atlas, "cluster")[-1].text == "No topic"


def test_the_dive_page_shows_topics(app, run):
    dive = DiveView(session(app, "dive"), run=run.id, cluster=0)
    assert dict(dive.facts())["Topics"] == "2 of 3 above 1 %"
    assert "sand ripples only: show all" in header_html(dive)
    assert plots_of_dive(dive)["plots"]["noun"] == "topic"
    page = DivePage(session(app, "dive"))
    page.dive.run = run.id
    assert page.plots.noun == "topic" and ["cluster", "Topic"] in page.plots.prediction["map_colours"]
    page.dive.run = 1
    assert page.plots.noun == "cluster" and ["cluster", "Cluster"] in page.plots.prediction["map_colours"]


@pytest.mark.parametrize(
    ("plot", "column"),
    [
        ("profile", "Topic"),
        ("similar-mixtures", "Topic"),
        ("mixture-heatmap", "Topic (column)"),
        ("embedding", "Topic"),
    ],
)
def test_plots_of_a_run_of_topics_name_its_topics(app, run, plot, column):
    dive = app.workspace.library.groups()[0].id
    table = data_table(figure(app, plot, FigureChoice(run=run.id, dive=dive)))
    assert set(table[column]) <= set(NAMES) and "sand ripples" in set(table[column])
    assert not any("luster" in title for title in table)


def test_a_comparison_of_a_run_of_topics_with_another_names_both(app, run):
    table = data_table(figure(app, "contingency", FigureChoice(run=run.id, against=1)))
    assert {f"Topic of {run.name} (row)", "Cluster of Objects (column)"} <= set(table)


def test_the_image_card_says_topic(app, run, reef):
    settings = ServerSettings(token="", run_jobs=False)
    client = TestClient(create_app(reef.workspace, settings), base_url="http://127.0.0.1")
    image = int(reef.ids[0])
    names = [client.get(f"/api/v1/images/{image}/around?run={number}").json() for number in (run.id, 1)]
    assert [name["cluster_kind"] for name in names] == ["Topic", "Cluster"]


def test_a_run_split_off_from_topics_has_clusters_and_the_topics_stay(app, run, reef):
    explore = Explore(session(app, "explore"), run=run.id)
    explore.selection.become([0, 1], {"tool": "test"})
    derived = split_off(explore)
    assert cluster_names(app, atlas_of(app, derived.id)) == ("Cluster 0", "Cluster 1", "Cluster 2", "Cluster 3")
    assert [each.id for each in runs_of_topics(app)] == [run.id]
    assert topics_of(app, None).run.id == run.id
    explore_content.cards(explore)
