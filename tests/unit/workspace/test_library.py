"""Collections, dives and images, and finding them again."""

import shutil

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benthoscope.engine.problems import BadInput, Problem
from benthoscope.engine.workspace import NewImage, Workspace


@pytest.fixture
def dive(workspace, tmp_path):
    """(root, group) to put images in."""
    (tmp_path / "images").mkdir()
    campaign = workspace.library.collection("PS201502")
    return workspace.library.register_root(tmp_path / "images"), workspace.library.group(campaign.id, "r20150212")


def shot(dive, path, sha="a" * 64, **values):
    root, group = dive
    return NewImage(root.id, path, group.id, 10, 1, sha, 320, 240, **values)


def test_storing_the_same_file_again_keeps_its_id_and_takes_the_new_facts(workspace, dive):
    first = workspace.library.store_images([shot(dive, "a.jpg"), shot(dive, "b.jpg")])
    again = workspace.library.store_images([shot(dive, "b.jpg", depth=12.5), shot(dive, "c.jpg")])
    assert again[0] == first[1]
    assert [image.depth for image in workspace.library.images(again)] == [12.5, None]
    assert workspace.library.count_images() == 3


def test_ids_come_back_in_the_order_asked_for_without_the_unknown(workspace, dive):
    ids = workspace.library.store_images([shot(dive, f"{n}.jpg") for n in range(10)])
    expected = [ids[7], 10**9, ids[2]]
    assert [image.path for image in workspace.library.images(expected)] == ["7.jpg", "2.jpg"]


def test_columns_are_arrays_with_nan_where_nothing_is_known(workspace, dive):
    workspace.library.store_images([shot(dive, "a.jpg", depth=3.0), shot(dive, "b.jpg")])
    columns = workspace.library.columns("id", "depth", "path")
    assert columns["id"].dtype == np.int64
    np.testing.assert_array_equal(columns["depth"], [3.0, np.nan])
    assert list(columns["path"]) == ["a.jpg", "b.jpg"]


def test_a_dive_is_summed_up_by_count_dates_depths_and_area(workspace, dive):
    workspace.library.store_images(
        [
            shot(dive, "a.jpg", taken_at=100.0, latitude=-28.0, longitude=113.0, depth=20.0),
            shot(dive, "b.jpg", taken_at=160.0, latitude=-27.9, longitude=113.1, depth=35.0),
        ]
    )
    workspace.library.group(dive[1].collection_id, "empty")
    empty, full = sorted(workspace.library.summaries(), key=lambda summary: summary.images)
    assert (full.images, full.first_taken, full.last_taken, full.depth) == (2, 100.0, 160.0, (20.0, 35.0))
    assert full.bounds == (-28.0, 113.0, -27.9, 113.1)
    assert (empty.images, empty.depth, empty.bounds) == (0, None, None)


def test_duplicates_by_content_are_found_whatever_their_names(workspace, dive):
    contents = {"a.jpg": "1" * 64, "b.jpg": "2" * 64, "c.jpg": "1" * 64}
    workspace.library.store_images([shot(dive, path, sha) for path, sha in contents.items()])
    assert [[summary.path for summary in same] for same in workspace.library.duplicates()] == [["a.jpg", "c.jpg"]]
    assert workspace.library.count_copies() == 1


def test_a_folder_is_one_root_however_it_is_written(workspace, tmp_path):
    (tmp_path / "images").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "images")
    ids = {
        workspace.library.register_root(path).id
        for path in (tmp_path / "images", tmp_path / "images" / ".." / "images", tmp_path / "link")
    }
    assert len(ids) == 1


def test_new_details_of_a_group_join_the_old(workspace, dive):
    group = dive[1]
    workspace.library.group(group.collection_id, group.name, {"platform": "Sirius"})
    assert workspace.library.group(group.collection_id, group.name, {"sensor": "LC16"}).details == {
        "platform": "Sirius",
        "sensor": "LC16",
    }


def test_problems_of_a_source_are_replaced_as_a_whole(workspace):
    workspace.library.note_problems("dive 1", [Problem("a.jpg", "truncated"), Problem("b.jpg", "empty")])
    workspace.library.note_problems("dive 2", [Problem("c\udcff.jpg", "bad\0name")])
    workspace.library.note_problems("dive 1", [Problem("b.jpg", "empty")])
    assert [problem.where for problem in workspace.library.problems()] == ["c\\udcff.jpg", "b.jpg"]
    assert workspace.library.problems("dive 1") == [Problem("b.jpg", "empty")]


def test_a_collection_that_is_removed_takes_its_images_out_of_the_catalogue(workspace, dive):
    workspace.library.store_images([shot(dive, "a.jpg")])
    assert workspace.library.remove_collection("PS201502") == 1
    assert workspace.library.count_images() == 0
    assert workspace.library.groups() == []


@pytest.mark.parametrize("wrong", ["campain", "", "dive"])
def test_an_unknown_kind_of_collection_is_reported_with_the_known_ones(workspace, wrong):
    with pytest.raises(BadInput, match="campaign"):
        workspace.library.collection("x", wrong)


def test_a_measure_that_is_no_number_is_rejected_before_it_is_stored(dive):
    with pytest.raises(ValueError, match="depth is nan"):
        shot(dive, "a.jpg", depth=float("nan"))


def test_a_workspace_moved_together_with_its_images_finds_them(tmp_path):
    folder = tmp_path / "here"
    (folder / "images").mkdir(parents=True)
    with Workspace.create(folder / "reef") as made:
        made.library.register_root(folder / "images")
    shutil.move(folder, tmp_path / "there")
    with Workspace.open(tmp_path / "there" / "reef") as moved:
        (root,) = moved.library.roots()
    assert root.present
    assert root.path == str(tmp_path / "there" / "images")


def test_a_root_that_is_gone_is_shown_as_missing(workspace, dive, tmp_path):
    shutil.rmtree(tmp_path / "images")
    assert [root.present for root in workspace.library.roots()] == [False]


def test_images_of_a_moved_root_may_change_places(workspace, dive, tmp_path):
    a, b = workspace.library.store_images([shot(dive, "a.jpg"), shot(dive, "b.jpg")])
    (tmp_path / "elsewhere").mkdir()
    workspace.library.move_root(dive[0].id, tmp_path / "elsewhere", {a: "b.jpg", b: "a.jpg"})
    assert workspace.library.locate([a]) == {a: tmp_path / "elsewhere" / "b.jpg"}


@pytest.fixture(scope="module")
def open_library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("library")
    with Workspace.create(folder / "w") as made:
        group = made.library.group(made.library.collection("c").id, "g")
        yield made.library, (made.library.register_root(folder), group)


paths = st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1), min_size=1, unique=True)


@given(names=paths, measure=st.floats(allow_nan=False, allow_infinity=False))
@settings(deadline=None, max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_stored_comes_back_whatever_the_name(open_library, names, measure):
    library, dive = open_library
    ids = library.store_images([shot(dive, name, altitude=measure, details={"note": name}) for name in names])
    back = library.images(ids)
    assert [(summary.path, summary.altitude, summary.details["note"]) for summary in back] == [
        (n, measure, n) for n in names
    ]
