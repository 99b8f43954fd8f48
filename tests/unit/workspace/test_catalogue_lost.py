"""Opening a workspace never makes a catalogue, never takes another's, and says what is missing."""

import ctypes
import os
import shutil
import sqlite3
import subprocess
import sys
import time

import numpy as np
import pytest
from sqlalchemy import text

from benthoscope.engine.problems import BadInput
from benthoscope.engine.workspace import Workspace
from benthoscope.engine.workspace.database.catalogue import open_catalogue
from benthoscope.engine.workspace.database.catalogue_files import lacks_log
from benthoscope.engine.workspace.labels.vocabularies import NewTerm
from tests.faults.victims import CONTEXT, open_and_close_for_ever, running

AS_RELEASED = "; ".join(
    (
        *(f"drop table live_{name}" for name in ("edit", "round", "image", "dive")),
        *(f"drop table sampling_{name}" for name in ("answer", "draw", "wave", "frame")),
        "alter table image drop column changed_at",
        "update alembic_version set version_num = '0005'",
    )
)


def labelled(folder, labels=5):
    """A closed workspace with labels of images 1 to `labels`, and one feature set."""
    with Workspace.create(folder) as made:
        words = made.vocabularies.add("v", [NewTerm(("sand",))])
        term, person = made.vocabularies.terms(words.id)[0].id, made.people.named("Ann").id
        for image in range(1, labels + 1):
            made.labels.label(person, [image], term)
        with made.features.writer("deep", width=2, extractor={}) as features:
            features.append(np.arange(1, 4), np.ones((3, 2)))
    return made.folder


def test_opening_a_workspace_whose_catalogue_was_deleted_is_rejected(tmp_path):
    folder = labelled(tmp_path / "reef")
    (folder / "catalogue.sqlite").unlink()
    with pytest.raises(BadInput, match=r"the catalogue is missing.*benthoscope restore"):
        Workspace.open(folder)
    assert not (folder / "catalogue.sqlite").exists()


def test_opening_a_workspace_whose_catalogue_has_no_bytes_is_rejected(tmp_path):
    folder = labelled(tmp_path / "reef")
    os.truncate(folder / "catalogue.sqlite", 0)
    with pytest.raises(BadInput, match="0 bytes"):
        Workspace.open(folder)
    assert (folder / "catalogue.sqlite").stat().st_size == 0


def test_a_database_without_tables_is_rejected(tmp_path):
    sqlite3.connect(tmp_path / "c.sqlite").executescript("create table t (x); drop table t")
    with pytest.raises(BadInput, match="contains no catalogue"):
        open_catalogue(tmp_path / "c.sqlite")


def test_an_empty_catalogue_that_an_older_version_made_in_place_of_a_lost_one_is_rejected(tmp_path):
    folder = labelled(tmp_path / "reef")
    with sqlite3.connect(folder / "catalogue.sqlite") as connection:
        connection.execute("delete from workspace")
    with pytest.raises(BadInput, match="belongs to no workspace"):
        Workspace.open(folder)


def test_the_catalogue_of_another_workspace_is_rejected(tmp_path):
    folder, other = labelled(tmp_path / "reef"), labelled(tmp_path / "other")
    shutil.copyfile(other / "catalogue.sqlite", folder / "catalogue.sqlite")
    with pytest.raises(BadInput, match="belongs to another workspace, 'other'"):
        Workspace.open(folder)


@pytest.mark.postgres
def test_a_postgres_database_that_was_emptied_or_exchanged_is_rejected(tmp_path, postgres_database):
    Workspace.create(tmp_path / "reef", database=postgres_database).close()
    with Workspace.open(tmp_path / "reef") as workspace:
        workspace.catalogue.execute(text("update workspace set id = 'another'"))
    with pytest.raises(BadInput, match="another workspace"):
        Workspace.open(tmp_path / "reef")
    catalogue = open_catalogue(postgres_database)
    catalogue.execute(text("drop schema public cascade"))
    catalogue.execute(text("create schema public"))
    catalogue.close()
    with pytest.raises(BadInput, match="contains no catalogue"):
        Workspace.open(tmp_path / "reef")


def test_features_beside_a_catalogue_without_images_are_an_alarm(workspace):
    assert workspace.lost_catalogue() is None
    with workspace.features.writer("deep", width=2, extractor={}) as features:
        features.append(np.arange(1, 4), np.ones((3, 2)))
    assert "feature set deep" in str(workspace.lost_catalogue())


# --- a copy of the catalogue alone


def test_a_copy_of_the_catalogue_made_without_its_log_is_rejected_until_the_loss_is_accepted(tmp_path):
    folder = labelled(tmp_path / "reef")
    with Workspace.open(folder) as workspace:
        workspace.labels.label(1, [99], 1)
        shutil.copytree(folder, tmp_path / "copy.benthos", ignore=shutil.ignore_patterns("*-wal", "*-shm"))
    for _ in range(2):
        with pytest.raises(BadInput, match=r"without its -wal file.*--accept-catalogue"):
            Workspace.open(tmp_path / "copy")
    with Workspace.open(tmp_path / "copy", accept_incomplete=True) as copy:
        assert len(copy.labels.events()) == 5
    with Workspace.open(tmp_path / "copy") as copy:
        assert len(copy.labels.events()) == 5


def test_a_copy_with_its_log_and_a_copy_of_a_closed_workspace_are_complete(tmp_path):
    folder = labelled(tmp_path / "reef")
    with Workspace.open(folder) as workspace:
        workspace.labels.label(1, [99], 1)
        shutil.copytree(folder, tmp_path / "copy.benthos")
    shutil.copytree(folder, tmp_path / "closed.benthos")
    assert not (folder / "catalogue.sqlite-wal").exists()
    for name in ("copy", "closed"):
        with Workspace.open(tmp_path / name) as copy:
            assert len(copy.labels.events()) == 6


def test_the_last_process_to_close_leaves_the_file_complete(tmp_path):
    folder = labelled(tmp_path / "reef")
    with Workspace.open(folder) as workspace:
        with Workspace.open(folder) as two:
            two.labels.label(1, [99], 1)
        assert (folder / "catalogue.sqlite-wal").exists()
        assert len(workspace.labels.events()) == 6
    assert not (folder / "catalogue.sqlite-wal").exists()
    assert not lacks_log(folder / "catalogue.sqlite")


@pytest.mark.parametrize(
    "ending", ["", "import os, signal; os.kill(os.getpid(), signal.SIGTERM); time.sleep(9)", "raise SystemExit(3)"]
)
def test_a_script_that_ends_without_closing_leaves_a_workspace_that_opens(tmp_path, ending):
    folder = labelled(tmp_path / "reef")
    code = (
        "import sys, time; from benthoscope.engine.workspace import Workspace; w = Workspace.open(sys.argv[1]); "
        f"w.labels.label(1, [99], 1); {ending}"
    )
    subprocess.run([sys.executable, "-c", code, folder], timeout=60, check=False)
    with Workspace.open(folder) as workspace:
        assert len(workspace.labels.events()) == 6


def test_a_catalogue_of_the_released_version_opens_without_an_alarm(tmp_path):
    """The released version left its mark in the header although nothing was missing."""
    folder = labelled(tmp_path / "reef")
    connection = sqlite3.connect(folder / "catalogue.sqlite")
    connection.executescript(f"{AS_RELEASED}; pragma journal_mode = wal")
    connection.close()
    with (folder / "catalogue.sqlite").open("rb") as file:
        assert file.read(20)[18:] == b"\2\2"
    with Workspace.open(folder) as workspace:
        assert len(workspace.labels.events()) == 5
        remaining_files = list((folder / "backups").glob("catalogue-0005-*.sqlite"))
        assert len(remaining_files) == 1
    with sqlite3.connect(remaining_files[0]) as copy:
        assert copy.execute("select count(*) from label_event").fetchone() == (5,)
        assert copy.execute("select version_num from alembic_version").fetchone() == ("0005",)


def test_a_catalogue_that_cannot_be_copied_before_its_migration_is_not_migrated(tmp_path, monkeypatch):
    folder = labelled(tmp_path / "reef")
    with sqlite3.connect(folder / "catalogue.sqlite") as connection:
        connection.executescript(AS_RELEASED)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("benthoscope.engine.workspace.database.catalogue_files.copy_sqlite", full)
    with pytest.raises(BadInput, match="No space left on device"):
        Workspace.open(folder)
    monkeypatch.undo()
    with sqlite3.connect(folder / "catalogue.sqlite") as connection:
        assert connection.execute("select version_num from alembic_version").fetchone() == ("0005",)
    Workspace.open(folder).close()


@pytest.mark.postgres
def test_a_postgres_catalogue_is_copied_before_its_migration(tmp_path, postgres_database):
    with Workspace.create(tmp_path / "reef", database=postgres_database) as made:
        words = made.vocabularies.add("v", [NewTerm(("rock",)), NewTerm(("rock", "reef")), NewTerm(("sand",))])
        term = made.vocabularies.terms(words.id)[0].id
        made.labels.label(made.people.named("Ann").id, [1, 2], term, run_id=None)
        for line in AS_RELEASED.split("; "):
            made.catalogue.execute(text(line))
    with Workspace.open(tmp_path / "reef") as workspace:
        assert len(workspace.labels.events()) == 1
        first = next((workspace.folder / "backups").glob("catalogue-0005-*.sqlite"))
    with sqlite3.connect(first) as copy:
        assert copy.execute("select count(*) from label_event").fetchone() == (1,)
        assert copy.execute("select count(*) from term where parent_id is not null").fetchone() == (1,)
        assert copy.execute("select version_num from alembic_version").fetchone() == ("0005",)


# --- a folder that cannot be written to


def run_without_the_right_to_write(folder, code):
    """Run Python code on a folder in which it may read everything and write nothing."""
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        return subprocess.run(
            [sys.executable, "-c", code, folder],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            preexec_fn=without_override if os.geteuid() == 0 else None,
        )
    finally:
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)


def without_override():
    """Take from root, for good, the right to write where the permissions forbid it (CAP_DAC_OVERRIDE)."""
    ctypes.CDLL(None).prctl(24, 1, 0, 0, 0)


LOOK = """
import sys
from benthoscope.engine.problems import BenthoscopeError
from benthoscope.engine.workspace import Workspace
with Workspace.open(sys.argv[1]) as workspace:
    print(workspace.read_only, len(workspace.labels.events()), workspace.features.open("deep").X.shape)
    try:
        workspace.labels.label(1, [3], 1)
    except BenthoscopeError as error:
        print(error)
"""


def test_a_workspace_that_cannot_be_written_to_opens_for_looking(tmp_path):
    folder = labelled(tmp_path / "reef")
    shown = run_without_the_right_to_write(folder, LOOK)
    assert shown.stdout.startswith("True 5 (3, 2)"), shown.stderr
    assert "open read-only" in shown.stdout


def test_looking_shows_what_is_still_in_the_log(tmp_path):
    folder = labelled(tmp_path / "reef")
    with Workspace.open(folder) as workspace:
        workspace.labels.label(1, [99], 1)
        shutil.copytree(folder, tmp_path / "killed.benthos")
        assert run_without_the_right_to_write(folder, LOOK).stdout.startswith("True 6")
    assert run_without_the_right_to_write(tmp_path / "killed.benthos", LOOK).stdout.startswith("True 6")


def test_a_kill_after_the_connections_closed_raises_no_false_alarm(tmp_path, monkeypatch):
    folder, killed = labelled(tmp_path / "reef"), tmp_path / "killed.benthos"
    workspace = Workspace.open(folder)
    monkeypatch.setattr(
        "benthoscope.engine.workspace.workspace.merge_log", lambda path: shutil.copytree(folder, killed)
    )
    workspace.close()
    monkeypatch.undo()
    with Workspace.open(killed) as reopened:
        assert len(reopened.labels.events()) == 5


@pytest.mark.slow
def test_no_kill_while_opening_or_closing_raises_a_false_alarm(tmp_path):
    folder = labelled(tmp_path / "reef")
    for turn in range(25):
        receiving, sending = CONTEXT.Pipe(duplex=False)
        with running(open_and_close_for_ever, folder, sending) as process:
            receiving.recv_bytes()
            time.sleep(0.003 * turn)
            process.kill()
        with Workspace.open(folder) as workspace:
            assert len(workspace.labels.events()) == 5
