"""Which tabs hear of a live dive: its own page at once, all others seldom."""

import pytest

from benthoscope.app.session.app_state import AppState
from benthoscope.app.session.cache import IMAGES, LABELS, LIVE
from benthoscope.engine.workspace import Workspace
from tests.live_dives import start


@pytest.fixture
def app(tmp_path):
    with Workspace.create(tmp_path / "sea") as workspace:
        yield AppState(workspace)


def test_images_of_a_live_dive_are_announced_to_other_pages_once_a_minute(app):
    calls = []
    app.on_live.add(lambda: calls.append("live"))
    app.on_change.add(lambda: calls.append("all"))
    versions = [app.cache.version(IMAGES)]
    for _ in range(3):
        app._changed_elsewhere((IMAGES, LIVE))
        app._announce_postponed()
        versions.append(app.cache.version(IMAGES))
    assert calls == ["live", "all", "live", "live"]
    assert versions == [1, 2, 2, 2]


def test_other_changes_are_announced_at_once(app):
    calls = []
    app.on_change.add(lambda: calls.append("all"))
    app._changed_elsewhere((LABELS, LIVE))
    app._changed_elsewhere((IMAGES,))  # an ordinary import
    assert calls == ["all", "all"]


def test_a_new_round_and_a_new_image_change_the_mark_of_live_dives(app, tmp_path):
    from benthoscope.engine.workspace.change_marks import read_marks

    catalogue = app.workspace.catalogue
    before = read_marks(catalogue, [LIVE])
    dive = start(app.workspace, tmp_path / "camera")
    started = read_marks(catalogue, [LIVE])
    app.workspace.live.note(dive.id, notice="The folder cannot be read.")
    assert len({tuple(marks[LIVE]) for marks in (before, started, read_marks(catalogue, [LIVE]))}) == 3
