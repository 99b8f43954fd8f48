"""Pages call groups of images what they are, leave out what no image has, and know how far a workspace has come."""

import numpy as np
import pytest

from benthoscope.app.components.import_dialog import START, ImportDialog, start_folder, starting_folders
from benthoscope.app.data.colours import colour_choices
from benthoscope.app.data.group_words import group_words, words_of, words_of_group
from benthoscope.app.data.labels import undone_text
from benthoscope.app.data.measures import order_choices
from benthoscope.app.pages.dive.model import DiveView
from benthoscope.app.pages.explore.model import Explore
from benthoscope.app.pages.explore.page import ExplorePage
from benthoscope.app.pages.explore.page import view as explore_view
from benthoscope.app.pages.home import HomeView
from benthoscope.app.pages.library.cluster_form import clustering
from benthoscope.app.pages.library.model import LibraryView
from benthoscope.app.session.app_state import AppState
from benthoscope.app.session.session import Session, first_visits, note_visit
from benthoscope.engine.workspace import NewImage, NewRun, Workspace
from benthoscope.engine.workspace.labels.vocabularies import NewTerm


def fill(workspace, folder, kind, name="one", **values):
    """Four images in one group of a collection of this kind."""
    collection = workspace.library.collection(f"{kind} {name}", kind=kind)
    group = workspace.library.group(collection.id, name).id
    root = workspace.library.register_root(folder).id
    count = workspace.library.count_images()
    return np.array(
        workspace.library.store_images(
            [
                NewImage(
                    root,
                    f"{name}{number}.jpg",
                    group,
                    1,
                    1,
                    f"{count + number:064x}",
                    8,
                    8,
                    taken_at=1e9 + number,
                    **values,
                )
                for number in range(4)
            ]
        )
    )


@pytest.fixture
def empty(tmp_path):
    with Workspace.create(tmp_path / "w") as workspace:
        yield workspace


@pytest.fixture
def albums(empty, tmp_path):
    """An app on a clustered workspace of albums: no depths, no positions."""
    ids = fill(empty, tmp_path, "albums")
    with empty.features.writer("colour", width=2, extractor={}) as features:
        features.append(ids, np.random.default_rng(0).standard_normal((4, 2)))
    empty.runs.add(
        NewRun("first", "gmc", "colour", {}, {}, {"clusters": 2}),
        {"image_ids": ids, "labels": np.array([0, 0, 1, 1], np.int32), "probability": np.ones(4, np.float32)},
    )
    return AppState(empty)


@pytest.mark.parametrize(
    ("kinds", "one", "many"),
    [
        (["campaign"], "dive", "dives"),
        (["albums"], "album", "albums"),
        (["albums", "campaign"], "dive or album", "dives and albums"),
    ],
)
def test_the_word_follows_the_kinds_of_the_collections(empty, tmp_path, kinds, one, many):
    for kind in kinds:
        fill(empty, tmp_path, kind, kind)
    assert (group_words(AppState(empty)).singular, group_words(AppState(empty)).plural) == (one, many)


def test_a_mixed_workspace_still_calls_each_group_by_its_own_word(empty, tmp_path):
    for kind in ("campaign", "albums"):
        fill(empty, tmp_path, kind, kind)
    app = AppState(empty)
    assert {group.name: words_of_group(app, group.id).singular for group in empty.library.groups()} == {
        "campaign": "dive",
        "albums": "album",
    }


def test_the_word_changes_with_the_first_import(empty, tmp_path):
    app = AppState(empty)
    assert group_words(app) == words_of([])
    fill(empty, tmp_path, "albums")
    app.changed()
    assert group_words(app).heading == "Album"


def test_a_workspace_of_albums_offers_no_depth_and_no_dive(albums):
    explore = Explore(Session(albums, "explore"))
    colours, orders = colour_choices(albums, explore.atlas), order_choices(albums, explore.atlas)
    assert not {"depth", "altitude", "latitude", "longitude"} & ({*colours} | {*orders})
    assert "time" in orders and colours["dive"] == "Album" and orders["track"] == "In the order taken"
    form = clustering(albums, [])
    texts = [
        form.intro,
        *(field.help for field in form.fields),
        *(words for field in form.fields for _, words in field.choices),
    ]
    assert not [text for text in texts if "dive" in text or "{group}" in text]
    assert any("every album" in text for text in texts)
    assert [stat["label"] for stat in LibraryView(Session(albums)).content()["stats"]][1] == "Albums"
    dive = DiveView(Session(albums, "dive"))
    assert not dive.has_positions and not dive.measures()


def test_depths_and_positions_are_offered_where_images_have_them(empty, tmp_path):
    fill(empty, tmp_path, "campaign", depth=20.0, latitude=-14.0, longitude=121.0)
    app = AppState(empty)
    explore = Explore(Session(app, "explore"))
    assert {"depth", "latitude"} <= {*colour_choices(app, explore.atlas)}
    assert ExplorePage(Session(app, "explore")).bench.has_map


def test_explore_leaves_no_room_for_a_map_without_positions(albums):
    page = ExplorePage(Session(albums, "explore"))
    assert not page.bench.has_map


def test_home_ticks_explore_off_once_it_was_opened_with_clusters(albums):
    def states():
        return {step["title"]: step["state"] for step in HomeView(Session(albums)).content()["steps"]}

    assert states()["Explore"] == "next"
    explore_view(Session(albums, "explore"))
    assert states()["Explore"] == "done" and states()["Label"] == "next"
    again = AppState(albums.workspace)  # another day
    assert {step["title"]: step["state"] for step in HomeView(Session(again)).content()["steps"]}["Explore"] == "done"


def test_a_damaged_note_of_visits_counts_as_none(albums):
    note_visit(albums, "explore")
    (albums.workspace.folder / "page_visits.json").write_text("[half")
    assert first_visits(albums) == {}


def test_the_folder_picker_begins_where_the_command_was_started(empty, tmp_path, monkeypatch):
    survey = tmp_path / "survey"
    survey.mkdir()
    monkeypatch.chdir(survey)
    dialog = ImportDialog(Session(AppState(empty), "library"))
    dialog.open()
    assert dialog.shown["folder"]["path"] == str(survey)
    assert (START, str(survey)) in dialog.shown["places"]
    monkeypatch.chdir("/")
    assert start_folder() != survey and START not in dict(starting_folders([]))


def test_an_undo_says_what_was_undone(albums):
    log, words = albums.workspace.labels, albums.workspace.vocabularies.add("own", [NewTerm(("Dark damselfish",))])
    [term] = albums.workspace.vocabularies.terms(words.id)
    ann = albums.workspace.people.named("Ann").id
    number = log.label(ann, albums.columns.ids[:3], term.id)
    assert undone_text(albums, number) == 'Undone: "Dark damselfish" on 3 images'
    assert undone_text(albums, number, again=True) == 'Redone: "Dark damselfish" on 3 images'
    assert undone_text(albums, None) == "There is nothing to undo"
