"""Explore without a browser: one selection, filters, colours, orders, cards, dives compared, and acts taken back."""

import threading
from types import SimpleNamespace

import numpy as np
import pytest

from app.pages.explore import FOLLOW
from app.pages.explore_acts import ACTS
from app.state import dive_views, explore_views, selection_acts
from app.state import explore_words as words
from app.state.app_state import AppState
from app.state.atlas import NONE
from app.state.colouring import UNKNOWN
from app.state.colours import distinct, on, ramp
from app.state.dive import DiveView
from app.state.dive_compare import compared, jensen_shannon
from app.state.exemplar_book import EACH, ExemplarBook, book_of
from app.state.explore import Explore
from app.state.explore_warm import warm
from app.state.ordering import likeness
from app.state.outlines import outlines
from app.state.selection import Selection
from app.state.session import Session
from app.state.shapes import shapes_of
from app.state.shelf import Lasting, Shelf
from app.state.terms import labelled
from app.state.tracks import dive_places, in_metres, tracks_of
from app.state.wire import packed, packed_mask, unpacked
from engine.problems import BadInput
from engine.workspace import NewCluster, NewImage, NewRun, Workspace

EACH_DIVE = 100
LABELS = np.tile(np.arange(4), 75)  # 300 images in three dives; the last 20 are not in the run


@pytest.fixture
def reef(tmp_path):
    """Three dives of 100 images with positions, four far clusters, and 20 images nobody has described."""
    rng = np.random.default_rng(0)
    with Workspace.create(tmp_path / "reef") as made:
        campaign, root = made.library.collection("Reef"), made.library.register_root(tmp_path)
        for dive in range(3):
            group = made.library.group(campaign.id, f"dive {dive}")
            made.library.store_images([
                NewImage(root.id, f"{dive}/{n:03d}.jpg", group.id, 1, 1, f"{n:064x}", 8, 8, taken_at=1e9 - n,
                         latitude=-43.0 + dive / 100, longitude=147 + n / 10_000, depth=float(10 * dive + n % 7),
                         details={"heading": n, "note": "x"}) for n in range(EACH_DIVE)])
        ids = made.library.columns("id")["id"]
        with made.features.writer("deep", width=5, extractor={}) as features:
            features.append(ids[:280], 9 * np.eye(5)[LABELS[:280]] + rng.standard_normal((280, 5)))
        parts = {"image_ids": ids[:280], "labels": LABELS[:280].astype(np.int32),
                 "probability": rng.random(280).astype(np.float32), "group_ids": np.array([1, 2, 3]),
                 "weights": np.tile([0.4, 0.3, 0.2, 0.1], (3, 1))}
        summary = {"clusters": 4, "images": 280, "lower_bound": -1.0}
        made.runs.add(NewRun("first", "gmc", "deep", {}, {}, summary), parts, [NewCluster(k, 70) for k in range(4)])
        yield made


@pytest.fixture
def explore(reef):
    return Explore(Session(AppState(reef), "explore", person="Ada"))


# --- sets of images on their way

@pytest.mark.parametrize("share", [0.0, 0.001, 0.02, 0.5, 1.0])
def test_sets_of_images_survive_the_journey_in_whichever_form_is_shorter(share):
    mask = np.random.default_rng(1).random(10_007) < share
    content = packed_mask(mask)
    np.testing.assert_array_equal(unpacked(content, len(mask)), np.flatnonzero(mask))
    assert len(content) <= 4 + min(4 * int(mask.sum()), 10_007 // 8 + 1) + 4


@pytest.mark.parametrize("content", [b"", b"\x00", b"\x09\x00\x00\x00", packed(np.array([5]), 100)[:7],
                                     packed(np.array([99_999]), 10**6), packed(np.arange(50), 64)])
def test_bytes_that_fit_no_images_are_refused(content):
    with pytest.raises(BadInput, match="selection"):
        unpacked(content, 100)


def test_the_shelf_gives_one_address_for_equal_content_and_lets_go_of_the_oldest():
    shelf = Shelf(room=1000)
    first = shelf.put(np.zeros(100, np.int32))
    assert shelf.put(np.zeros(100, np.int32)) == first and shelf.put(np.ones(100, np.int32)) != first
    shelf.put(np.full(200, 2, np.int32))
    assert shelf.get(first.rsplit("/", 1)[1]) is None


def test_a_lasting_value_is_made_once_however_many_ask_at_the_same_time():
    lasting, made, gate = Lasting(), [], threading.Barrier(8)

    def ask():
        gate.wait()
        lasting.once("a", lambda: made.append(1))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert len(made) == 1


# --- the selection

@pytest.mark.parametrize(("how", "left"), [("replace", [3, 4, 5]), ("add", [1, 2, 3, 4, 5]), ("subtract", [1, 2]),
                                           ("intersect", [3])])
def test_selections_are_combined_as_sets(how, left):
    selection = Selection()
    selection.become(np.array([1, 2, 3]))
    selection.combine(how, np.array([3, 4, 5]))
    assert selection.positions.tolist() == left
    selection.back()
    assert selection.positions.tolist() == [1, 2, 3]


def test_a_wrong_way_to_combine_offers_the_nearest():
    with pytest.raises(BadInput, match="did you mean 'subtract'"):
        Selection().combine("substract", np.array([1]))


def test_the_session_knows_the_ids_that_are_selected(explore):
    explore.select_cluster(1)
    assert explore.session.selection.dtype == np.int32
    np.testing.assert_array_equal(explore.session.selection, explore.atlas.columns.ids[explore.atlas.members(1)])


def test_sending_to_the_crowd_saves_the_selection_and_leads_to_its_page(explore):
    page = SimpleNamespace(explore=explore, bar=SimpleNamespace(goto=""))
    explore.select_cluster(1)
    ACTS["crowd"](page, {"act": "crowd"})
    [(number, name, count)] = explore.app.workspace.selections.list()
    assert page.bar.goto == f"/crowd?selection={number}" and "crowd" in name and count == 70


def test_inverting_selects_what_is_shown_and_was_not_selected(explore):
    explore.select_cluster(1)
    explore.selection.invert(np.flatnonzero(explore.shown()))
    assert len(explore.selection) == 300 - 70


# --- what is shown

def test_images_outside_the_run_have_no_cluster(explore):
    assert (explore.atlas.labels[280:] == NONE).all() and explore.atlas.sizes.tolist() == [70, 70, 70, 70]
    assert np.isnan(explore.atlas.probability[280:]).all()


def test_filters_narrow_each_other(explore):
    groups = explore.atlas.groups
    explore.param.update(cluster=[1], dive=[groups[2].group.id])
    expected = (explore.atlas.labels == 1) & (explore.atlas.group == 2)
    np.testing.assert_array_equal(explore.shown(), expected)
    assert {found["text"] for found in words.filters(explore)} == {"Cluster 1", "dive 2"}
    words.without(explore, "cluster", 1)
    assert explore.shown().sum() == 100
    explore.show_all()
    assert explore.shown().all() and not explore.filtered


def test_the_gallery_shows_what_a_lasso_selected_and_keeps_it_while_tiles_are_picked(explore):
    explore.selection.combine("replace", np.arange(10, 20), {"tool": "lasso"})
    assert explore.in_gallery().sum() == 10
    explore.selection.combine("replace", np.array([12]), {"tool": "tiles"})
    assert explore.in_gallery().sum() == 10 and len(explore.selection) == 1
    explore.selection.clear()
    assert explore.in_gallery().all()


def test_the_address_brings_run_filters_and_order_back(explore, reef):
    explore.param.update(cluster=[2, 3], order="depth", descending=True, colour="dive", pane="map", state="unlabelled")
    again = Session(AppState(reef), "explore")
    again.address.query = dict(explore.session.address.query)
    found = Explore(again)
    assert (found.cluster, found.order, found.descending, found.colour, found.pane, found.state) == (
        [2, 3], "depth", True, "dive", "map", "unlabelled")


def test_nonsense_in_the_address_shows_the_page_all_the_same(reef):
    session = Session(AppState(reef), "explore")
    session.address.query = {"cluster": "x,99", "order": "nothing", "colour": "??", "dive": "12345", "tile": "-1"}
    explore = Explore(session)
    for part in {part for parts in FOLLOW.values() for part in parts}:
        getattr(explore_views, part)(explore)


# --- colours and orders

def test_codes_name_clusters_dives_and_labels_and_numbers_run_up_a_ramp(explore):
    by_cluster = explore.colours()
    assert (by_cluster.codes[280:] == UNKNOWN).all() and len(by_cluster.colours) == 4
    explore.colour = "depth"
    ramped = explore.colours()
    order = np.argsort(explore.atlas.columns.depth, kind="stable")
    assert (np.diff(ramped.codes[order].astype(int)) >= 0).all() and ramped.ends[2] == "m"
    explore.colour = "meta:heading"
    assert explore.colours().title == "heading"


def test_forty_colours_differ_from_each_other_and_carry_readable_text():
    found = distinct(40)
    assert len(set(found)) == 40 and distinct(5) == found[:5]
    assert {on(colour) for colour in (*found, *ramp(9))} <= {"#000000", "#ffffff"}
    assert on("#ffffff") == "#000000" and on("#000000") == "#ffffff"


def test_tiles_stand_along_the_track_by_default_earliest_first_dive_by_dive(explore):
    order, taken = explore.order_positions(), explore.atlas.columns.taken_at
    assert sorted(order.tolist()) == list(range(300))
    assert (np.diff(explore.atlas.group[order]) >= 0).all()
    assert (np.diff(taken[order[:100]]) > 0).all()


def test_sorting_puts_the_unknown_last_either_way_and_groups_stay_together(explore):
    explore.order = "probability"
    for descending in (False, True):
        explore.descending = descending
        values = explore.atlas.probability[explore.order_positions()]
        known = values[~np.isnan(values)]
        assert np.isnan(values[-20:]).all() and (np.diff(known) * (-1 if descending else 1) >= 0).all()
    explore.group = "cluster"
    codes = explore.atlas.labels[explore.order_positions()]
    assert (np.diff(codes[:280]) >= 0).all() and (codes[280:] == NONE).all()


def test_likeness_puts_the_pinned_image_first_and_its_cluster_before_others(explore):
    explore.pin(int(explore.atlas.columns.ids[5]))
    order = explore.order_positions()
    assert order[0] == 5 and (explore.atlas.labels[order[:70]] == LABELS[5]).mean() > 0.95
    features = explore.app.features("deep").X
    far = likeness(explore.app, explore.atlas, 5)
    np.testing.assert_allclose(far[:280], np.linalg.norm(features - features[5], axis=1), atol=1e-2)
    assert np.isnan(far[280:]).all()


def test_likeness_to_an_image_without_features_says_what_to_do(explore):
    with pytest.raises(BadInput, match="describe"):
        likeness(explore.app, explore.atlas, 299)


# --- clusters

def test_shapes_are_those_of_the_features(explore):
    found, X = shapes_of(explore.app, explore.atlas), np.asarray(explore.app.features("deep").X, float)
    for cluster in range(4):
        own = X[LABELS[:280] == cluster]
        np.testing.assert_allclose(found.centres[cluster], own.mean(0), atol=1e-4)
        whole = np.sqrt(((X - X.mean(0)) ** 2).sum(1).mean())
        within = np.sqrt(((own - own.mean(0)) ** 2).sum(1).mean())
        assert found.spread[cluster] == pytest.approx(within / whole, rel=1e-3)
    assert np.nanmean(found.distance**2) == pytest.approx(1, rel=1e-6)


def test_every_kind_of_stand_in_is_of_its_cluster_and_of_its_kind(explore):
    atlas, book = explore.atlas, book_of(explore.app, explore.atlas)
    members, sure = atlas.members(2), atlas.probability
    assert sure[book.of(2, "sure")].min() >= np.sort(sure[members])[-EACH]
    assert sure[book.of(2, "borderline")].max() <= np.sort(sure[members])[EACH - 1]
    assert book.of(2).tolist() == book.of(2, "sure").tolist()  # until the exemplars are there
    book.choose()
    for kind in ("exemplars", "sure", "borderline", "random"):
        found = book.of(2, kind)
        assert len(set(found.tolist())) == EACH and np.isin(found, members).all()


def test_exemplars_are_kept_beside_the_run_and_the_page_hears_of_each(explore):
    book, heard = book_of(explore.app, explore.atlas), []
    book.listeners.append(heard.append)
    book.choose()
    assert sorted(heard) == [0, 1, 2, 3]
    again = ExemplarBook(explore.app, explore.atlas)
    assert again.complete and all((again.of(k) == book.of(k)).all() for k in range(4))


def test_exemplars_stand_nearer_to_their_cluster_than_sure_ones_do(explore):
    book, X = book_of(explore.app, explore.atlas), np.asarray(explore.app.features("deep").X)
    book.choose()

    def loss(chosen, members):
        return np.linalg.norm(X[members][:, None] - X[chosen][None], axis=2).min(1).mean()

    for cluster in range(4):
        members = explore.atlas.members(cluster)
        assert loss(book.of(cluster), members) < loss(book.of(cluster, "sure"), members)


def test_cards_are_sorted_and_filtered_by_size_label_and_number(explore):
    explore.select_cluster(3)
    selection_acts.label(explore, "Kelp")
    explore.param.update(sorted="label", only="labelled")
    [card] = explore.cards_shown()
    assert (card.number, card.label, card.labelled, card.agreeing) == (3, "Kelp", 1.0, 1.0)
    explore.only = "unlabelled"
    assert {card.number for card in explore.cards_shown()} == {0, 1, 2}
    explore.param.update(only="all", word="kel")
    assert [card.number for card in explore.cards_shown()] == [3]
    explore.word = "2"
    assert [card.number for card in explore.cards_shown()] == [2]


def test_outlines_hold_most_of_their_cluster(explore):
    plane = explore.plane()
    for outline in outlines(explore.atlas, plane):
        xy = plane.xy[explore.atlas.members(outline.cluster)]
        corners = np.concatenate([np.array(ring) for ring in outline.rings])
        within = ((xy >= corners.min(0)) & (xy <= corners.max(0))).all(1)
        assert within.mean() > 0.7


# --- acts

def test_labelling_a_selection_is_one_event_and_can_be_taken_back(explore):
    explore.select_cluster(1)
    selection_acts.label(explore, "Biota > Kelp")
    assert labelled(explore.app).share == pytest.approx(70 / 300)
    assert [event.why for event in explore.app.workspace.labels.events()] == ["bulk"]
    assert explore.session.message.text == "Labelled 70 images Kelp"
    explore.session.undo()
    assert labelled(explore.app).share == 0


def test_a_known_term_is_found_by_its_name_alone(explore):
    explore.select_cluster(1)
    selection_acts.label(explore, "Biota > Kelp")
    assert selection_acts.term_for(explore.session, "Kelp").path == ("Biota", "Kelp")
    assert len(explore.app.workspace.vocabularies.all()) == 1


def test_acts_without_a_person_or_a_selection_say_what_is_missing(explore):
    with pytest.raises(BadInput, match="select some first"):
        selection_acts.label(explore, "Kelp")
    explore.select_cluster(1)
    with pytest.raises(BadInput, match="is empty"):
        selection_acts.label(explore, "  ")
    explore.session.person = ""
    with pytest.raises(BadInput, match="give your name"):
        selection_acts.save(explore, "x")


def test_a_saved_selection_comes_back_by_its_address_until_it_is_changed(explore, reef):
    explore.select_cluster(2)
    selection_acts.save(explore, "edge")
    again = Session(AppState(reef), "explore")
    again.address.query = {"saved": str(explore.saved)}
    found = Explore(again)
    assert found.selection.positions.tolist() == explore.selection.positions.tolist()
    found.selection.combine("subtract", found.selection.positions[:1])
    assert found.saved is None and "saved" not in again.address.query


def test_a_selection_that_was_removed_is_told_and_can_be_brought_back(explore):
    explore.select_cluster(2)
    selection_acts.save(explore, "edge")
    selection_acts.forget(explore, explore.saved)
    assert explore.app.workspace.selections.list() == [] and explore.saved is None
    explore.session.undo()
    assert [name for _, name, _ in explore.app.workspace.selections.list()] == ["edge"]


def test_splitting_off_makes_a_new_run_with_one_cluster_more_and_undo_returns_to_the_old(explore, reef):
    explore.selection.become(np.array([0, 4, 8, 299]))
    made = selection_acts.split_off(explore)
    assert explore.atlas.clusters == 5 and explore.atlas.members(4).tolist() == [0, 4, 8]
    assert made.provenance["split_from"] == 1 and made.array("weights").sum(1) == pytest.approx([1, 1, 1])
    assert [cluster.size for cluster in reef.runs.clusters(made.id)] == [67, 70, 70, 70, 3]
    explore.session.undo()
    assert explore.atlas.clusters == 4 and reef.runs.current().id == 1


# --- places and dives

def test_metres_are_metres_also_across_the_date_line():
    found = in_metres(np.array([-17.0, -17.0, np.nan]), np.array([179.999, -179.999, 0.0]))
    expected = 0.002 * 111_320 * np.cos(np.radians(17))
    assert np.linalg.norm(found.xy[0] - found.xy[1]) == pytest.approx(expected, rel=1e-3)
    assert np.isnan(found.xy[2]).all()


def test_pies_stand_in_the_middle_of_their_dives(explore):
    tracks = tracks_of(explore.app, explore.atlas)
    places = dive_places(explore.atlas, tracks)
    assert [dive for dive, _, _ in places] == [0, 1, 2]
    assert np.diff([y for _, _, y in places]) == pytest.approx([1113.2, 1113.2], rel=1e-3)
    pies = explore_views.map(explore)["map"]["pies"]
    assert all(sum(pie["shares"]) == pytest.approx(1, abs=1e-3) for pie in pies)


def test_mixtures_are_compared_by_a_metric_that_knows_its_ends():
    shares = np.array([[1.0, 0, 0], [1, 0, 0], [0, 1, 0], [0.5, 0.5, 0], [0, 0, 0]])
    distance = jensen_shannon(shares)
    assert distance[0, 1] == 0 and distance[0, 2] == pytest.approx(1) and distance[4, 0] == 1
    rng = np.random.default_rng(0)
    far = jensen_shannon(rng.dirichlet(np.ones(4), 12))
    assert (far[:, None] <= far[:, :, None] + far[None] + 1e-12).all() and np.allclose(far, far.T)


def test_like_dives_stand_side_by_side():
    rng = np.random.default_rng(1)
    mixtures = np.eye(3)[np.tile(np.arange(3), 5)] * 0.9 + 0.1 * rng.dirichlet(np.ones(3), 15)
    order = compared(mixtures / mixtures.sum(1, keepdims=True)).dives
    assert np.count_nonzero(np.diff(order % 3)) == 2


def test_the_dive_page_shows_one_dive_and_one_cluster_of_it(reef):
    dive = DiveView(Session(AppState(reef), "dive"))
    assert dive.shown().sum() == 100 and dict(dive.facts())["Images"] == "100"
    dive.param.update(dive=dive.atlas.groups[1].group.id, cluster=2)
    assert dive.shown().sum() == 25
    for part in ("images", "track", "mask", "order", "selection", "mixtures"):
        assert getattr(dive_views, part)(dive)
    dive.dive = 12345
    assert dive.summary.group.name == "dive 0"


# --- workspaces with less in them

def test_without_a_run_and_without_features_there_is_still_map_and_gallery(tmp_path):
    with Workspace.create(tmp_path / "bare") as made:
        group = made.library.group(made.library.collection("Reef").id, "dive")
        root = made.library.register_root(tmp_path)
        made.library.store_images([NewImage(root.id, f"{n}.jpg", group.id, 1, 1, "a" * 64, 8, 8) for n in range(5)])
        explore = Explore(Session(AppState(made), "explore"))
        found = {part: getattr(explore_views, part)(explore) for parts in FOLLOW.values() for part in parts}
        assert "described" in found["plane"]["embedding"]["note"] and found["cards"]["cards"]["cards"] == []
        assert found["map"]["map"]["note"] == "These images have no positions."
        assert found["bar"]["bar"]["total"] == 5 and explore.colours().title == "Dive"
        with pytest.raises(BadInput, match="cluster the images first"):
            selection_acts.split_off(explore)


def test_labels_do_not_make_a_million_images_be_read_again(explore):
    columns, atlas = explore.app.columns, explore.atlas
    explore.select_cluster(1)
    selection_acts.label(explore, "Kelp")
    assert explore.app.columns is columns and explore.atlas is atlas
    explore.app.changed()
    assert explore.app.columns is not columns


def test_the_words_of_the_controls_name_every_choice(explore):
    for control in (*words.bar_controls(explore), *words.gallery_controls(explore), *words.embedding_controls(explore)):
        assert control["title"] and (control["kind"] != "select" or control["choices"])
    assert words.legend(explore) == {}
    explore.colour = "depth"
    assert words.legend(explore)["ends"][0].endswith("m")
    assert SimpleNamespace(**explore_views.order(explore)["gallery"]).order_url.startswith("/api/v1/arrays/")


def test_warming_leaves_nothing_slow_for_the_first_visitor(explore, monkeypatch):
    warm(explore.app)
    monkeypatch.setattr("app.state.shapes.measured", lambda *_: pytest.fail("measured again"))
    monkeypatch.setattr("app.state.projections.quantised", lambda *_: pytest.fail("projected again"))
    monkeypatch.setattr("app.state.app_state.read_columns", lambda *_: pytest.fail("read again"))
    for part in {part for parts in FOLLOW.values() for part in parts}:
        getattr(explore_views, part)(explore)
