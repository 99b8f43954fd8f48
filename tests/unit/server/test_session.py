"""What tabs share, what each has for itself, and how they hear of changes."""

import threading
import time

import numpy as np
import pytest

from app.state.app_state import AppState
from app.state.session import Session
from engine.jobs import JobQueue, run_now
from engine.problems import fail
from engine.workspace import NewImage, Workspace
from tests import example_jobs  # noqa: F401  registers its kinds


@pytest.fixture
def app(tmp_path):
    (tmp_path / "images").mkdir()
    with Workspace.create(tmp_path / "reef") as workspace:
        state = AppState(workspace)
        yield state
        state.close()


def add_images(workspace, count):
    root = workspace.library.register_root(workspace.folder.parent / "images")
    group = workspace.library.group(workspace.library.collection("PS2015").id, "r1")
    return workspace.library.store_images([
        NewImage(root.id, f"{n}.jpg", group.id, 10, 1, f"{n:064x}", 64, 48, depth=None if n else 20.0)
        for n in range(count)])


def test_columns_are_read_once_and_again_after_a_change(app):
    assert len(app.columns) == 0
    ids = add_images(app.workspace, 3)
    assert len(app.columns) == 0
    app.changed()
    assert app.columns.ids.tolist() == ids and app.columns is app.columns
    assert app.columns.hash_of(ids[2]) == f"{2:064x}" and app.columns.hash_of(999) is None


def test_positions_leave_out_what_the_catalogue_does_not_know(app):
    ids = add_images(app.workspace, 3)
    app.changed()
    assert app.columns.positions(np.array([ids[2], 10**9, -1, ids[0]])).tolist() == [2, 0]
    assert np.isnan(app.columns.depth[1:]).all()


def test_what_many_sessions_ask_for_at_once_is_made_once(app):
    made = []

    def slowly():
        time.sleep(0.05)
        made.append(1)
        return "thing"

    threads = [threading.Thread(target=lambda: app.kept("key", slowly)) for _ in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert len(made) == 1


def test_a_job_of_another_process_that_ends_changes_the_version(app):
    app.jobs.start()
    before = app.version
    with Workspace.open(app.workspace.folder) as elsewhere:
        run_now(elsewhere, "count", {"steps": 1})
    end = time.monotonic() + 20
    while app.version == before and time.monotonic() < end:
        time.sleep(0.05)
    assert app.version > before


def test_jobs_that_ended_before_the_watch_change_nothing(app):
    run_now(app.workspace, "count", {"steps": 1})
    before = app.version
    app.jobs.look()
    app.jobs.look()
    assert app.version == before
    job = JobQueue(app.workspace).add("count", {"steps": 1})
    app.jobs.look()
    JobQueue(app.workspace).cancel(job.id)
    app.jobs.look()
    assert app.version == before + 1


def test_a_mistake_of_a_person_becomes_the_message_and_ours_stays_an_error(app):
    session = Session(app)
    with session.attempt():
        raise fail("dive 3", "has no images", "import some")
    assert session.message.kind == "error" and "import some" in session.message.text
    with pytest.raises(KeyError), session.attempt():
        raise KeyError("kelpp")


def test_undo_takes_the_act_back_once_and_tells_every_tab(app):
    session, undone = Session(app), []
    session.tell("Deleted", undo=lambda: undone.append(1))
    session.undo()
    session.undo()
    assert undone == [1] and session.version == app.version > 1 and session.message.text == ""


def test_the_person_of_a_tab_is_one_of_the_workspace(app):
    session = Session(app)
    assert session.who() is None
    session.person = "  Ada   Lovelace "
    assert session.who().name == "Ada Lovelace" and len(app.workspace.people.all()) == 1
