"""Columns of a live dive that grow: equal to reading all images, and final rows are read once."""

import numpy as np
import pytest
from sqlalchemy import update

from benthoscope.app.data.live.growing_columns import GrowingColumns
from benthoscope.engine.workspace import NewImage, Workspace
from benthoscope.engine.workspace.database.schema import live_image
from benthoscope.engine.workspace.live_dives import NewLiveImage
from tests.live_dives import start


@pytest.fixture
def workspace(tmp_path):
    with Workspace.create(tmp_path / "sea") as made:
        yield made


def add(workspace, dive, names, problem=None):
    """Add images that have arrived; returns the numbers of their rows."""
    before = workspace.live.count(dive.id)
    images = [NewImage(dive.root_id, f"{name}.png", dive.group_id, 1, 1, f"{name:064}", 8, 8) for name in names]
    ids = workspace.library.store_images(images)
    new = [NewLiveImage(number, 1.5e9, 0.1, problem=problem, cluster=None if problem else 0) for number in ids]
    workspace.live.add_images(dive.id, new)
    return workspace.live.columns(dive.id)["id"][before:].tolist()


def learn(workspace, rows, number):
    values = {"learned_in": number, "cluster": 1}
    workspace.catalogue.execute(update(live_image).where(live_image.c.id.in_(rows)).values(**values))


def test_growing_columns_are_those_of_all_images(workspace, tmp_path, monkeypatch):
    dive = start(workspace, tmp_path / "camera")
    growing, rows = GrowingColumns(workspace.live, dive.id), []

    def check():
        expected = workspace.live.columns(dive.id)
        for name, values in growing.read().items():
            np.testing.assert_array_equal(values, expected[name])

    check()
    for number in range(1, 5):
        first = 100 * number
        rows += add(workspace, dive, range(first, first + 10))
        check()
        add(workspace, dive, [first + 10], problem="is not an image")
        learn(workspace, rows[-10:-2], number)  # two images still wait
        check()
        learn(workspace, rows[-2:], number)
        check()
    read = []
    columns = workspace.live.columns
    monkeypatch.setattr(workspace.live, "columns", lambda dive_id, after: read.append(after) or columns(dive_id, after))
    growing.read()
    assert read == [rows[-1]]
