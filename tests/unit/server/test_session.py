"""State that tabs share, state of each tab, and how tabs are notified of changes."""

import threading
import time

import numpy as np
import pytest

from benthoscope.app.pages.base import follow
from benthoscope.app.pages.shell import last_change_text, undo_last_change
from benthoscope.app.session.app_state import AppState
from benthoscope.app.session.cache import LABELS, RUNS
from benthoscope.app.session.session import Session
from benthoscope.engine.jobs import JobQueue, run_now
from benthoscope.engine.problems import fail
from benthoscope.engine.workspace import NewImage, Workspace
from benthoscope.engine.workspace.labels.vocabularies import NewTerm
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
    return workspace.library.store_images(
        [
            NewImage(root.id, f"{n}.jpg", group.id, 10, 1, f"{n:064x}", 64, 48, depth=None if n else 20.0)
            for n in range(count)
        ]
    )


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

    threads = [threading.Thread(target=lambda: app.cached("key", slowly)) for _ in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert len(made) == 1


def test_a_job_of_another_process_that_ends_changes_the_version(app):
    app.watch()
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
    app.jobs.refresh()
    app.jobs.refresh()
    assert app.version == before
    job = JobQueue(app.workspace).add("count", {"steps": 1})
    app.jobs.refresh()
    JobQueue(app.workspace).cancel(job.id)
    app.jobs.refresh()
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
    session.notify("Deleted", undo=lambda: undone.append(1))
    session.undo()
    session.undo()
    assert undone == [1] and session.version == app.version > 1 and session.message.text == ""


def test_the_last_change_of_a_person_is_undone_from_any_page(app):
    ids, workspace = add_images(app.workspace, 3), app.workspace
    workspace.vocabularies.add("own", [NewTerm(("sand",))])
    [term] = workspace.vocabularies.all_terms()
    ann, bob, elsewhere = (Session(app, person=name) for name in ("Ann", "Bob", "Ann"))
    assert last_change_text(ann) == ""
    workspace.labels.label(ann.require_person().id, ids[:2], term.id)
    ann.changed(LABELS)
    assert last_change_text(ann) == last_change_text(elsewhere) == '"sand" on 2 images' and last_change_text(bob) == ""
    undone = []
    ann.notify("Deleted the run first", undo=lambda: undone.append("run"), undo_changes=(RUNS,))
    assert last_change_text(ann) == "Deleted the run first" and last_change_text(elsewhere) == '"sand" on 2 images'
    undo_last_change(ann)
    assert undone == ["run"] and last_change_text(ann) == '"sand" on 2 images'
    undo_last_change(elsewhere)
    assert len(workspace.labels.current()[0]) == 0 and last_change_text(ann) == ""
    assert elsewhere.message.text == 'Undone: "sand" on 2 images'


def test_a_label_after_another_change_is_undone_first(app):
    ids, workspace = add_images(app.workspace, 3), app.workspace
    workspace.vocabularies.add("own", [NewTerm(("sand",))])
    [term] = workspace.vocabularies.all_terms()
    ann = Session(app, person="Ann")
    ann.notify("Deleted the run first", undo=lambda: None, undo_changes=(RUNS,))
    workspace.labels.label(ann.require_person().id, ids, term.id)
    ann.changed(LABELS)
    assert last_change_text(ann) == '"sand" on 3 images'
    undo_last_change(ann)
    assert last_change_text(ann) == "Deleted the run first"


def test_the_person_of_a_tab_is_one_of_the_workspace(app):
    session = Session(app)
    assert session.current_person() is None
    session.person = "  Ada   Lovelace "
    assert session.current_person().name == "Ada Lovelace" and len(app.workspace.people.all()) == 1


def test_the_server_tells_every_tab_of_a_change_once_until_it_is_drawn(app, monkeypatch):
    ended = []
    monkeypatch.setattr("panel.state.on_session_destroyed", ended.append)
    mine, other, waiting = Session(app), Session(app), []
    follow(app.on_change, lambda: other.param.update(version=app.version), waiting.append)
    mine.changed("labels")
    mine.changed("labels")
    assert other.version < app.version and len(waiting) == 1
    waiting.pop()()
    assert other.version == app.version
    app.changed("images")
    assert len(waiting) == 1
    waiting.pop()()
    ended[0](None)
    app.changed("images")
    assert not waiting and not app.on_change._listeners
