"""The path of a live dive: a drawing reads a bounded number of positions, however long the dive is."""

from types import SimpleNamespace

import numpy as np

from benthoscope.app.data.live.state import PATH_IMAGES, PATH_NEWEST, PATH_NOVEL, path_rows
from benthoscope.engine.workspace import NewImage, Workspace
from tests.live_dives import start


def rows_of(count, novel=()):
    columns = {"id": np.arange(count), "novel": np.isin(np.arange(count), novel)}
    return path_rows(SimpleNamespace(columns=columns))


def test_a_short_path_has_all_images_and_a_long_one_a_bounded_number():
    np.testing.assert_array_equal(rows_of(PATH_IMAGES), np.arange(PATH_IMAGES))
    for count in (4_001, 20_000, 86_400, 1_000_000):
        rows = rows_of(count, novel=range(0, count, 7))
        assert PATH_IMAGES / 2 < len(rows) <= PATH_IMAGES + PATH_NEWEST + PATH_NOVEL
        np.testing.assert_array_equal(rows[-PATH_NEWEST:], np.arange(count - PATH_NEWEST, count))
        assert (np.diff(rows) > 0).all() and rows[0] == 0


def test_a_rare_novel_image_stays_on_the_path_and_old_images_do_not_flicker():
    assert 12_345 in rows_of(86_400, novel=[12_345])
    before, after = rows_of(86_400), rows_of(87_000)
    np.testing.assert_array_equal(before[before < 80_000], after[after < 80_000])


def test_positions_come_in_the_order_of_the_images(tmp_path):
    with Workspace.create(tmp_path / "sea") as made:
        dive = start(made, tmp_path / "camera")
        images = [
            NewImage(dive.root_id, f"{n}.png", dive.group_id, 1, 1, f"{n:064}", 8, 8, latitude=-n, longitude=n)
            for n in range(3)
        ]
        ids = made.library.store_images(images)
        latitude, longitude = made.library.positions([ids[2], 99, ids[0]])
        np.testing.assert_array_equal(latitude, [-2, np.nan, 0])
        np.testing.assert_array_equal(longitude, [2, np.nan, 0])
        assert [len(values) for values in made.library.positions([])] == [0, 0]
