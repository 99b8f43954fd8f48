"""Explore without a browser: selection, filters, colours, orders, cards, comparison of dives, commands and undo."""

import threading
from types import SimpleNamespace
from urllib.parse import parse_qsl, urlsplit

import numpy as np
import pytest

from benthoscope.app.data.clusters.cluster_geometry import cluster_geometry
from benthoscope.app.data.clusters.clustered_images import NONE
from benthoscope.app.data.colours import UNKNOWN, cluster_texts
from benthoscope.app.data.exemplars import examples_of, request_exemplars
from benthoscope.app.data.labels import labelled
from benthoscope.app.data.measures import likeness
from benthoscope.app.data.projections import axis_names, tracks_of
from benthoscope.app.pages.dive import model as dive_views
from benthoscope.app.pages.dive.model import DiveView
from benthoscope.app.pages.explore import content as explore_views
from benthoscope.app.pages.explore import content as words
from benthoscope.app.pages.explore import selection_commands as selection_acts
from benthoscope.app.pages.explore import views as saved_views
from benthoscope.app.pages.explore.commands import COMMANDS
from benthoscope.app.pages.explore.model import Explore
from benthoscope.app.pages.explore.page import FOLLOW, ExplorePage, warm
from benthoscope.app.session import cache as cache_module
from benthoscope.app.session.app_state import AppState
from benthoscope.app.session.cache import FEATURES, IMAGES, RUNS, ArrayStore, Cache
from benthoscope.app.session.selection import Selection, packed, packed_mask, unpacked
from benthoscope.app.session.sent_selections import explore_address
from benthoscope.app.session.session import NameNeeded, Session
from benthoscope.engine.analysis import (
    cluster_outlines,
    compare_mixtures,
    group_positions,
    jensen_shannon,
    tracks_in_metres,
)
from benthoscope.engine.analysis.exemplars import IMAGES_PER_CLUSTER
from benthoscope.engine.jobs.cluster.exemplars import store_exemplars
from benthoscope.engine.problems import BadInput
from benthoscope.engine.workspace import NewCluster, NewImage, NewRun, Workspace
from benthoscope.plots.colours import distinct, on, ramp

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
            made.library.store_images(
                [
                    NewImage(
                        root.id,
                        f"{dive}/{n:03d}.jpg",
                        group.id,
                        1,
                        1,
                        f"{n:064x}",
                        8,
                        8,
                        taken_at=1e9 - n,
                        latitude=-43.0 + dive / 100,
                        longitude=147 + n / 10_000,
                        depth=float(10 * dive + n % 7),
                        details={"heading": n, "note": "x"},
                    )
                    for n in range(EACH_DIVE)
                ]
            )
        ids = made.library.columns("id")["id"]
        with made.features.writer("deep", width=5, extractor={}) as features:
            features.append(ids[:280], 9 * np.eye(5)[LABELS[:280]] + rng.standard_normal((280, 5)))
        arrays = {
            "image_ids": ids[:280],
            "labels": LABELS[:280].astype(np.int32),
            "probability": rng.random(280).astype(np.float32),
            "group_ids": np.array([1, 2, 3]),
            "weights": np.tile([0.4, 0.3, 0.2, 0.1], (3, 1)),
        }
        summary = {"clusters": 4, "images": 280, "lower_bound": -1.0}
        made.runs.add(NewRun("first", "gmc", "deep", {}, {}, summary), arrays, [NewCluster(k, 70) for k in range(4)])
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


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x00",
        b"\x09\x00\x00\x00",
        packed(np.array([5]), 100)[:7],
        packed(np.array([99_999]), 10**6),
        packed(np.arange(50), 64),
    ],
)
def test_bytes_that_fit_no_images_are_refused(content):
    with pytest.raises(BadInput, match="selection"):
        unpacked(content, 100)


def test_the_store_of_arrays_gives_one_address_for_equal_content_and_lets_go_of_the_oldest():
    store = ArrayStore(room=1000)
    first = store.put(np.zeros(100, np.int32))
    assert store.put(np.zeros(100, np.int32)) == first and store.put(np.ones(100, np.int32)) != first
    store.put(np.full(200, 2, np.int32))
    assert store.get(first.rsplit("/", 1)[1]) is None


def test_a_value_is_made_once_however_many_ask_at_the_same_time():
    cache, made, gate = Cache(), [], threading.Barrier(8)

    def ask():
        gate.wait()
        cache.get("a", lambda: made.append(1), of=())

    threads = [threading.Thread(target=ask) for _ in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert len(made) == 1


def test_a_value_is_made_again_only_after_a_change_of_what_it_depends_on():
    cache, made = Cache(), []

    def ask(of):
        return cache.get(of, lambda: made.append(of), of)

    def made_after(*changed):
        made.clear()
        cache.changed(changed)
        for of in (IMAGES, cache_module.LABELS, (IMAGES, RUNS), ()):
            ask(of)
        return list(made)

    assert made_after() == [IMAGES, cache_module.LABELS, (IMAGES, RUNS), ()]
    assert made_after() == []
    assert made_after(cache_module.LABELS) == [cache_module.LABELS]
    assert made_after(RUNS) == [(IMAGES, RUNS)]
    assert made_after(IMAGES, cache_module.LABELS) == [IMAGES, cache_module.LABELS, (IMAGES, RUNS)]
    assert made_after(FEATURES) == []


def test_a_change_while_a_value_is_made_has_it_made_again():
    cache, made = Cache(), []

    def make():
        made.append(1)
        if len(made) == 1:
            cache.changed(cache_module.LABELS)
        return len(made)

    assert cache.get("a", make, cache_module.LABELS) == 1
    assert not cache.has("a")
    assert cache.get("a", make, cache_module.LABELS) == 2
    assert cache.has("a") and cache.get("a", make, cache_module.LABELS) == 2


def test_the_cache_drops_what_was_used_longest_ago():
    cache = Cache(room=2)
    for key in ("a", "b", "a", "c"):
        cache.get(key, lambda: 1, of=())
    assert [cache.has(key) for key in ("a", "b", "c")] == [True, False, True]


def test_an_array_larger_than_the_store_can_still_be_fetched():
    store = ArrayStore(room=100)
    address = store.put(np.zeros(100, np.int32))
    assert len(store.get(address.rsplit("/", 1)[1])) == 400


def test_a_label_leaves_the_image_table_outlines_and_projections_cached(explore):
    """Every value is computed once, then nothing that depends on images, runs or features alone is computed again."""
    app = explore.app

    def asked():
        projection = explore.plane()
        key = ("outlines", projection.key, explore.atlas.run.id)
        return (
            app.columns,
            explore.atlas,
            app.run(),
            projection,
            app.cached(
                key, lambda: cluster_outlines(projection.xy, explore.atlas.labels, explore.atlas.clusters), of=()
            ),
            app.features(explore.atlas.run.features),
        )

    before, labels = asked(), labelled(app)
    explore.selection.become(np.array([0, 1]))
    selection_acts.label(explore, "Sand")
    assert all(now is then for now, then in zip(asked(), before, strict=True))
    assert labelled(app) is not labels
    labels = labelled(app)
    explore.session.undo()
    assert all(now is then for now, then in zip(asked(), before, strict=True))
    assert labelled(app) is not labels and not (labelled(app).term >= 0).any()


# --- the selection


@pytest.mark.parametrize(
    ("how", "left"), [("replace", [3, 4, 5]), ("add", [1, 2, 3, 4, 5]), ("subtract", [1, 2]), ("intersect", [3])]
)
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
    COMMANDS.run({"act": "crowd"}, page)
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
    assert {matching["text"] for matching in words.filters(explore)} == {"Cluster 1", "dive 2"}
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
    restored = Explore(again)
    assert (restored.cluster, restored.order, restored.descending, restored.colour, restored.pane, restored.state) == (
        [2, 3],
        "depth",
        True,
        "dive",
        "map",
        "unlabelled",
    )


def test_nonsense_in_the_address_shows_the_page_all_the_same(reef):
    session = Session(AppState(reef), "explore")
    session.address.query = {"cluster": "x,99", "order": "nothing", "colour": "??", "dive": "12345", "tile": "-1"}
    explore = Explore(session)
    for piece in {piece for pieces in FOLLOW.values() for piece in pieces}:
        getattr(explore_views, piece)(explore)


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
    is_distinct = distinct(40)
    assert len(set(is_distinct)) == 40 and distinct(5) == is_distinct[:5]
    assert {on(colour) for colour in (*is_distinct, *ramp(9))} <= {"#000000", "#ffffff"}
    assert on("#ffffff") == "#000000" and on("#000000") == "#ffffff"


def test_tiles_stand_along_the_track_by_default_earliest_first_dive_by_dive(explore):
    order, taken_at = explore.order_positions(), explore.atlas.columns.taken_at
    assert sorted(order.tolist()) == list(range(300))
    assert (np.diff(explore.atlas.group[order]) >= 0).all()
    assert (np.diff(taken_at[order[:100]]) > 0).all()


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
    shapes, X = cluster_geometry(explore.app, explore.atlas), np.asarray(explore.app.features("deep").X, float)
    for cluster in range(4):
        member_rows = X[LABELS[:280] == cluster]
        np.testing.assert_allclose(shapes.centres[cluster], member_rows.mean(0), atol=1e-4)
        overall_spread = np.sqrt(((X - X.mean(0)) ** 2).sum(1).mean())
        within = np.sqrt(((member_rows - member_rows.mean(0)) ** 2).sum(1).mean())
        assert shapes.spread[cluster] == pytest.approx(within / overall_spread, rel=1e-3)
    assert np.nanmean(shapes.distance**2) == pytest.approx(1, rel=1e-6)


def test_every_kind_of_example_is_of_its_cluster_and_of_its_kind(explore):
    atlas, examples = explore.atlas, examples_of(explore.app, explore.atlas)
    members, probability = atlas.members(2), atlas.probability
    each = IMAGES_PER_CLUSTER
    assert probability[examples.of(2, "sure")].min() >= np.sort(probability[members])[-each]
    assert probability[examples.of(2, "borderline")].max() <= np.sort(probability[members])[each - 1]
    assert examples.of(2).tolist() == examples.of(2, "sure").tolist()  # until the exemplars are there
    store_exemplars(explore.app.workspace, atlas.run)
    explore.app.changed(RUNS)
    examples = examples_of(explore.app, explore.atlas)
    assert examples.of(2).tolist() != examples.of(2, "sure").tolist()
    for kind in ("exemplars", "sure", "borderline", "random"):
        chosen = examples.of(2, kind)
        assert len(set(chosen.tolist())) == each and np.isin(chosen, members).all()


def test_the_page_queues_the_job_once_for_a_run_without_exemplars(explore):
    app = explore.app
    for _ in range(2):
        request_exemplars(app, explore.atlas)
    assert [(job.kind, job.parameters) for job in app.queue.all()] == [("exemplars", {"run": explore.atlas.run.id})]


def test_the_page_queues_nothing_for_a_run_that_has_exemplars(explore):
    store_exemplars(explore.app.workspace, explore.atlas.run)
    request_exemplars(explore.app, explore.atlas)
    assert explore.app.queue.all() == []


def test_exemplars_stand_nearer_to_their_cluster_than_sure_ones_do(explore):
    store_exemplars(explore.app.workspace, explore.atlas.run)
    examples, X = examples_of(explore.app, explore.atlas), np.asarray(explore.app.features("deep").X)

    def loss(chosen, members):
        return np.linalg.norm(X[members][:, None] - X[chosen][None], axis=2).min(1).mean()

    for cluster in range(4):
        members = explore.atlas.members(cluster)
        assert loss(examples.of(cluster), members) < loss(examples.of(cluster, "sure"), members)


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


def test_axes_name_the_share_of_the_variance_where_it_is_stored(explore, reef):
    first, second = explore.plane().axes
    assert first.startswith("PC 1, ") and second.startswith("PC 2, ") and first.endswith(" %")
    assert axis_names("pca", None) == ("PC 1", "PC 2") and axis_names("umap", None) == ("UMAP 1", "UMAP 2")
    assert axis_names("pca", (0.234, 0.001)) == ("PC 1, 23 %", "PC 2, < 1 %")


def test_outlines_hold_most_of_their_cluster(explore):
    plane = explore.plane()
    for outline in cluster_outlines(plane.xy, explore.atlas.labels, explore.atlas.clusters):
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
    assert explore.session.message.text == 'Labelled 70 images "Kelp"'
    explore.session.undo()
    assert labelled(explore.app).share == 0


def test_a_known_term_is_found_by_its_name_alone(explore):
    explore.select_cluster(1)
    selection_acts.label(explore, "Biota > Kelp")
    assert selection_acts.term_for(explore.session, "Kelp").path == ("Biota", "Kelp")
    assert len(explore.app.workspace.vocabularies.all()) == 1


def test_acts_without_a_person_or_a_selection_say_what_is_missing(explore):
    with pytest.raises(BadInput, match="select some images first"):
        selection_acts.label(explore, "Kelp")
    explore.select_cluster(1)
    with pytest.raises(BadInput, match="is empty"):
        selection_acts.label(explore, "  ")
    explore.session.person = ""
    with pytest.raises(NameNeeded, match="enter your name"):
        selection_acts.save(explore, "x")


def test_a_saved_selection_comes_back_by_its_address_until_it_is_changed(explore, reef):
    explore.select_cluster(2)
    selection_acts.save(explore, "edge")
    again = Session(AppState(reef), "explore")
    again.address.query = {"saved": str(explore.saved)}
    restored = Explore(again)
    assert restored.selection.positions.tolist() == explore.selection.positions.tolist()
    restored.selection.combine("subtract", restored.selection.positions[:1])
    assert restored.saved is None and "saved" not in again.address.query


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
    metres = tracks_in_metres(np.array([-17.0, -17.0, np.nan]), np.array([179.999, -179.999, 0.0]))
    expected = 0.002 * 111_320 * np.cos(np.radians(17))
    assert np.linalg.norm(metres.xy[0] - metres.xy[1]) == pytest.approx(expected, rel=1e-3)
    assert np.isnan(metres.xy[2]).all()


def test_pies_stand_in_the_middle_of_their_dives(explore):
    tracks = tracks_of(explore.app, explore.atlas)
    pie_positions = group_positions(tracks.xy, explore.atlas.group)
    assert [dive for dive, _, _ in pie_positions] == [0, 1, 2]
    assert np.diff([y for _, _, y in pie_positions]) == pytest.approx([1113.2, 1113.2], rel=1e-3)
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
    order = compare_mixtures(mixtures / mixtures.sum(1, keepdims=True)).groups
    assert np.count_nonzero(np.diff(order % 3)) == 2


def test_the_dive_page_shows_one_dive_and_one_cluster_of_it(reef):
    dive = DiveView(Session(AppState(reef), "dive"))
    assert dive.shown().sum() == 100 and dict(dive.facts())["Images"] == "100"
    dive.param.update(dive=dive.atlas.groups[1].group.id, cluster=2)
    assert dive.shown().sum() == 25
    for name in ("images", "track", "mask", "order", "selection", "plots_of_dive"):
        assert getattr(dive_views, name)(dive)
    dive.dive = 12345
    assert dive.summary.group.name == "dive 0"


# --- workspaces with less in them


def test_without_a_run_and_without_features_there_is_still_map_and_gallery(tmp_path):
    with Workspace.create(tmp_path / "bare") as made:
        group = made.library.group(made.library.collection("Reef").id, "dive")
        root = made.library.register_root(tmp_path)
        made.library.store_images([NewImage(root.id, f"{n}.jpg", group.id, 1, 1, "a" * 64, 8, 8) for n in range(5)])
        explore = Explore(Session(AppState(made), "explore"))
        content_by_piece = {
            piece: getattr(explore_views, piece)(explore) for pieces in FOLLOW.values() for piece in pieces
        }
        assert (
            "Describe the images" in content_by_piece["plane"]["embedding"]["note"]
            and content_by_piece["cards"]["cards"]["cards"] == []
        )
        assert content_by_piece["map"]["map"]["note"] == "These images have no positions."
        assert content_by_piece["bar"]["bar"]["total"] == 5 and explore.colours().title == "Dive"
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
    monkeypatch.setattr(
        "benthoscope.app.data.clusters.cluster_geometry.measure_clusters", lambda *_: pytest.fail("measured again")
    )
    monkeypatch.setattr("benthoscope.app.data.projections.to_steps", lambda *_: pytest.fail("projected again"))
    monkeypatch.setattr("benthoscope.app.session.app_state.read_columns", lambda *_: pytest.fail("read again"))
    for piece in {piece for pieces in FOLLOW.values() for piece in pieces}:
        getattr(explore_views, piece)(explore)


# --- the legend of the plots


def test_the_legend_counts_its_images_and_filters_by_its_entries(explore):
    legend = explore_views.plot_legend(explore)["embedding"]["legend"]
    assert (legend["kind"], legend["chosen"]) == ("cluster", [])
    assert [(entry["id"], entry["count"]) for entry in legend["entries"]] == [
        (0, 70),
        (1, 70),
        (2, 70),
        (3, 70),
        (None, 20),
    ]
    page = SimpleNamespace(explore=explore)
    COMMANDS.run({"act": "legend", "kind": "cluster", "ids": [3, 1]}, page)
    assert explore.cluster == [1, 3] and explore.shown().sum() == 140
    assert explore_views.mask(explore)["map"]["legend"]["chosen"] == [1, 3]
    COMMANDS.run({"act": "legend", "kind": "cluster", "ids": []}, page)
    assert explore.shown().all()
    with pytest.raises(BadInput, match="legend"):
        COMMANDS.run({"act": "legend", "kind": "run", "ids": [1]}, page)


def test_the_legend_of_labels_filters_by_several_labels_and_names_clusters(explore, reef):
    for positions, word in ((explore.atlas.members(3), "Kelp"), (np.array([0, 1]), "Sand")):
        explore.selection.become(positions)
        selection_acts.label(explore, word)
    explore.selection.clear()
    kelp, sand = (selection_acts.term_for(explore.session, word).id for word in ("Kelp", "Sand"))
    explore.colour = "label"
    legend = explore_views.plot_legend(explore)["map"]["legend"]
    assert {entry["id"]: entry["count"] for entry in legend["entries"]} == {kelp: 70, sand: 2, None: 228}
    COMMANDS.run({"act": "legend", "kind": "term", "ids": [sand, kelp]}, SimpleNamespace(explore=explore))
    assert explore.shown().sum() == 72 and [entry["text"] for entry in words.filters(explore)] == ["Kelp", "Sand"]
    assert cluster_texts(explore.app, explore.atlas) == ["Cluster 0", "Cluster 1", "Cluster 2", "3 Kelp"]


def test_a_legend_of_numbers_has_ends_and_no_filter(explore):
    explore.colour = "depth"
    legend = explore_views.plot_legend(explore)["embedding"]["legend"]
    assert legend["title"] == "Depth" and len(legend["ends"]) == 2 and "entries" not in legend


def test_pies_state_their_values(explore):
    [pie, *_] = explore_views.map(explore)["map"]["pies"]
    assert dict(zip(pie["names"], pie["shares"], strict=True)) == {
        "Cluster 0": 0.4,
        "Cluster 1": 0.3,
        "Cluster 2": 0.2,
        "Cluster 3": 0.1,
        "Other clusters": 0.0,
    }


# --- selections of other pages


def test_a_selection_of_another_page_opens_with_its_text_and_a_way_back(explore):
    address = explore_address(explore.app, [9, 3, 3, 7], "Kelp in dive 1", back="/labels?part=cover")
    other = Session(explore.app, "explore")
    other.address.query = dict(parse_qsl(urlsplit(address).query))
    opened = Explore(other)
    assert opened.selected_ids().tolist() == [3, 7, 9] and opened.in_gallery().sum() == 3
    bar = explore_views.bar(opened)["bar"]
    assert bar["back"] == {"href": "/labels?part=cover", "text": "Back to Labels"}
    assert [entry["text"] for entry in bar["filters"]] == ["3 selected: Kelp in dive 1"]
    opened.selection.combine("add", np.array([50]))
    assert "sent" not in other.address.query and explore_views.bar(opened)["bar"]["back"] == {}


def test_an_old_link_to_a_selection_says_so_and_selects_nothing(explore):
    explore.sent = "0" * 18
    assert "select them again" in explore.session.message.text
    assert not len(explore.selection) and "sent" not in explore.session.address.query


def test_a_saved_view_leaves_out_a_selection_that_is_not_stored_for_long(explore):
    address = explore_address(explore.app, [9], "One")
    explore.session.address.query = dict(parse_qsl(urlsplit(address).query))
    saved_views.save(explore, "One image")
    assert dict(explore.app.workspace.views.get("explore", "One image").query) == {}


@pytest.mark.parametrize("back", ["//other.example/page", "https://other.example", "javascript:alert(1)", "/\\other"])
def test_the_way_back_stays_on_this_server(explore, back):
    with pytest.raises(BadInput, match="not on this server"):
        explore_address(explore.app, [1], "One", back=back)


def test_a_saved_view_brings_back_filters_and_colours(explore, reef):
    explore.param.update(cluster=[2], colour="depth", order="depth")
    saved_views.save(explore, "Deep")
    other = Explore(Session(AppState(reef), "explore", person="Bob"))
    saved_views.restore(other, "Deep")
    assert (other.cluster, other.colour, other.order) == ([2], "depth", "depth")
    saved_views.delete(other, "Deep")
    assert saved_views.names(explore) == []
    other.session.undo()
    assert saved_views.names(explore) == ["Deep"]


def test_the_menu_of_an_image_leads_to_its_cluster_and_its_dive(reef):
    page = ExplorePage(Session(AppState(reef), "explore", person="Ada"))
    image = int(page.explore.atlas.columns.ids[5])
    cluster = int(page.explore.atlas.labels[5])
    page.run_command({"act": "select_cluster_of", "id": image})
    assert page.explore.selection.positions.tolist() == page.explore.atlas.members(cluster).tolist()
    page.run_command({"act": "show_cluster_of", "id": image})
    page.run_command({"act": "show_dive_of", "id": image})
    assert (page.explore.cluster, len(page.explore.selection), len(page.explore.dive)) == ([cluster], 0, 1)
    assert page.explore.atlas.columns.group_ids[5] == page.explore.dive[0]
    page.run_command({"act": "review_cluster_of", "id": image})
    assert page.bar.goto.startswith(f"/review?cluster={cluster}&run=")
    page.run_command({"act": "show_cluster_of", "id": 10**6})
    assert "there is no image" in page.explore.session.message.text
    outside = int(page.explore.atlas.columns.ids[-1])
    page.run_command({"act": "show_cluster_of", "id": outside})
    assert "no cluster" in page.explore.session.message.text
