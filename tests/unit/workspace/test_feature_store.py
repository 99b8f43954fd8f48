"""A feature set is there wholly or not at all, and grows without being disturbed."""

import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from benthoscope.engine.problems import BadInput
from benthoscope.engine.workspace import Workspace
from benthoscope.engine.workspace.features import FeatureStore, Replacement
from benthoscope.engine.workspace.storage import npy_append as growing


@pytest.fixture
def store(tmp_path):
    return FeatureStore(tmp_path / "features")


def fill(store, name="deep", count=5, **options):
    with store.writer(name, width=3, extractor={"kind": "deep", "version": 1}, **options) as features:
        features.append(np.arange(count), np.arange(count * 3).reshape(count, 3))
    return store.open(name)


def test_what_was_written_comes_back_as_float32_with_its_images(store):
    filled_record = fill(store)
    np.testing.assert_array_equal(filled_record.X, np.arange(15, dtype=np.float32).reshape(5, 3))
    assert filled_record.X.dtype == np.float32
    assert list(filled_record.image_ids) == [0, 1, 2, 3, 4]
    assert filled_record.sidecar.extractor == {"kind": "deep", "version": 1}


def test_the_file_is_a_npy_file_for_everybody_else(store):
    np.testing.assert_array_equal(np.load(fill(store).path), np.arange(15).reshape(5, 3))


def test_a_writer_that_fails_leaves_nothing_and_the_old_set_untouched(store):
    fill(store)
    with pytest.raises(ZeroDivisionError), store.writer("deep", width=3, extractor={}) as features:
        features.append(np.arange(9), np.zeros((9, 3)))
        raise ZeroDivisionError
    assert len(store.open("deep").X) == 5
    assert len([path for path in (store._folder).iterdir() if path.is_dir()]) == 1


def test_a_set_is_not_visible_while_it_is_written(store):
    with store.writer("deep", width=3, extractor={}) as features:
        features.append(np.arange(2), np.zeros((2, 3)))
        assert "deep" not in store
    assert "deep" in store


def test_whoever_has_a_set_open_keeps_it_while_it_grows_or_is_replaced(store):
    before = fill(store)
    values = before.X.copy()
    with store.appending("deep") as features:
        features.append(np.array([77]), np.ones((1, 3)))
    fill(store, count=2)
    np.testing.assert_array_equal(before.X, values)
    assert len(store.open("deep").X) == 2


def test_every_append_is_published_at_once_and_stays_when_the_next_fails(store):
    fill(store)
    with pytest.raises(ZeroDivisionError), store.appending("deep") as features:
        features.append(np.array([10]), np.ones((1, 3)))
        assert len(store.open("deep").X) == 6
        raise ZeroDivisionError
    assert list(store.open("deep").image_ids) == [0, 1, 2, 3, 4, 10]
    assert np.load(store.open("deep").path).shape == (6, 3)


def test_rows_of_a_torn_append_are_invisible_and_overwritten(store):
    filled_record = fill(store)
    growing.append(filled_record.path, np.full((4, 3), 9.0), 5)  # data arrived, the sidecar did not
    assert len(store.open("deep").X) == 5
    with store.appending("deep") as features:
        features.append(np.array([10]), np.full((1, 3), 7.0))
    np.testing.assert_array_equal(store.open("deep").X[5:], [[7.0, 7.0, 7.0]])
    assert store.open("deep").damaged_blocks() == []


def test_segments_are_found_by_image_even_where_an_image_has_none(store):
    rows = np.arange(12.0).reshape(4, 3)
    with store.writer("ica", width=3, extractor={}, level="segment") as features:
        features.append(np.array([7, 8]), rows[:3], counts=np.array([3, 0]))
        features.append(np.array([9]), rows[3:], counts=np.array([1]))
    stored_set = store.open("ica")
    assert list(stored_set.offsets) == [0, 3, 3, 4]
    assert list(stored_set.image_of_row) == [0, 0, 0, 2]
    np.testing.assert_array_equal(stored_set.rows_of(2), rows[3:])
    assert stored_set.rows_of(1).shape == (0, 3)
    assert stored_set.damaged_blocks() == []


def test_flipped_bits_are_found(store):
    filled_record = fill(store)
    with filled_record.path.open("r+b") as file:
        file.seek(growing.HEADER + 8)
        file.write(b"\xff")
    assert store.open("deep").damaged_blocks() == [0]


def test_a_file_cut_short_is_reported_plainly(store):
    filled_record = fill(store)
    with filled_record.path.open("r+b") as file:
        file.truncate(growing.HEADER + 10)
    with pytest.raises(BadInput, match="shorter than its 5 rows"):
        store.open("deep").X  # noqa: B018


@pytest.mark.parametrize(
    "rows, counts, told",
    [
        (np.zeros((2, 4)), None, r"give \(n, 3\)"),
        (np.zeros((3, 3)), None, "3 rows for 2 images"),
        (np.full((2, 3), np.nan), None, "NaN"),
        (np.zeros((2, 3)), np.array([2, 0]), "several rows for one image"),
    ],
)
def test_rows_that_do_not_fit_are_rejected(store, rows, counts, told):
    with pytest.raises(BadInput, match=told), store.writer("deep", width=3, extractor={}) as features:
        features.append(np.array([1, 2]), rows, counts)


def test_an_image_is_described_once(store):
    fill(store)
    with pytest.raises(BadInput, match="already has rows"), store.appending("deep") as features:
        features.append(np.array([4]), np.zeros((1, 3)))


@pytest.mark.parametrize("name", ["", "../up", "a/b", ".hidden", "x" * 101, "a\nb"])
def test_a_name_that_is_no_file_name_everywhere_is_rejected(store, name):
    with pytest.raises(BadInput), store.writer(name, width=3, extractor={}):
        pass
    assert name not in store


def test_an_unknown_set_is_reported_with_the_nearest(store):
    fill(store)
    with pytest.raises(BadInput, match="did you mean 'deep'"):
        store.open("depe")


def test_the_hash_of_the_data_changes_with_the_data(store):
    first = fill(store).sidecar.data_hash
    assert fill(store).sidecar.data_hash == first
    with store.appending("deep") as features:
        features.append(np.array([10]), np.ones((1, 3)))
    assert store.open("deep").sidecar.data_hash != first


def test_what_a_killed_writer_left_is_tidied_away_but_not_what_is_being_written(store):
    fill(store)
    with store.writer("living", width=3, extractor={}):
        (store._folder / "dead.abcd").mkdir()
        assert store.tidy() == ["dead.abcd"]
    assert store.names() == ["deep", "living"]


def test_the_catalogue_knows_the_sets_there_are(tmp_path):
    with Workspace.create(tmp_path / "w") as workspace:
        fill(workspace.features)
        noted = workspace.catalogue.all(text("select name, width from feature_set"))
        assert [tuple(row) for row in noted] == [("deep", 3)]
        workspace.features.remove("deep")
        assert workspace.catalogue.all(text("select name from feature_set")) == []


def test_the_sidecar_is_json_a_person_can_read(store):
    fill(store)
    content = json.loads((store._folder / "deep.json").read_text())
    assert (content["width"], content["blocks"][0]["rows"]) == (3, 5)


@given(counts=st.lists(st.integers(0, 4), min_size=1, max_size=30), cut=st.integers(1, 30))
@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_appending_in_parts_gives_what_appending_at_once_gives(tmp_path_factory, counts, cut):
    store = FeatureStore(tmp_path_factory.mktemp("f") / "features")
    counts = np.array(counts)
    rows = np.random.default_rng(0).standard_normal((counts.sum(), 2))
    starts = np.concatenate([[0], np.cumsum(counts)])
    for name, size in (("whole", len(counts)), ("parts", cut)):
        with store.writer(name, width=2, extractor={}, level="segment") as features:
            for at in range(0, len(counts), size):
                piece = slice(at, min(at + size, len(counts)))
                block = rows[starts[piece.start] : starts[piece.stop]]
                features.append(np.arange(piece.start, piece.stop), block, counts[piece])
    complete_set, appended_set = store.open("whole"), store.open("parts")
    np.testing.assert_array_equal(complete_set.X, appended_set.X)
    np.testing.assert_array_equal(complete_set.offsets, appended_set.offsets)


def fill_with_further(store):
    """Five images with three columns and two further ones."""
    with store.writer("deep", width=3, further=2, extractor={}) as features:
        features.append(np.arange(5), np.arange(25).reshape(5, 5))
    return store.open("deep")


def test_further_columns_are_for_classifiers_only(store):
    filled = fill_with_further(store)
    values = np.arange(25).reshape(5, 5)
    np.testing.assert_array_equal(filled.X, values[:, :3])
    np.testing.assert_array_equal(filled.learning_rows(), values)
    np.testing.assert_array_equal(filled.learning_rows(np.array([4, 1])), values[[4, 1]])
    np.testing.assert_array_equal(fill(store, "old").learning_rows(), np.arange(15).reshape(5, 3))


def test_images_without_further_columns_get_zeros(store):
    fill_with_further(store)
    with store.appending("deep") as features:
        features.append(np.array([9]), np.ones((1, 3)))
    np.testing.assert_array_equal(store.open("deep").learning_rows()[-1], [1, 1, 1, 0, 0])


def test_replaced_rows_take_their_further_columns_along(store):
    fill_with_further(store)
    keep = np.array([True, False, True, False, True])
    replacements = {1: Replacement(np.full((1, 5), 7.0), b""), 3: Replacement(np.full((1, 3), 8.0), b"")}
    store.rewrite("deep", keep, replacements.get)
    values = np.arange(25.0).reshape(5, 5)
    values[1], values[3] = 7, [8, 8, 8, 0, 0]
    np.testing.assert_array_equal(store.open("deep").learning_rows(), values)


def test_a_lost_file_of_further_columns_leaves_the_others_usable(store):
    filled = fill_with_further(store)
    (filled.path.parent / "further.npy").unlink()
    np.testing.assert_array_equal(store.open("deep").learning_rows(), np.arange(25).reshape(5, 5)[:, :3])
    with store.appending("deep") as features:
        features.append(np.array([9]), np.full((1, 5), 2))
    np.testing.assert_array_equal(store.open("deep").learning_rows()[[0, 5]], [[0, 1, 2, 0, 0], [2, 2, 2, 2, 2]])
