"""A backup is complete, stores only changes, and detects damage."""

import json
import shutil
import sqlite3
import threading
import uuid

import numpy as np
import pytest
from typer.testing import CliRunner

from benthoscope.app.cli import app
from benthoscope.app.server.access import TOKEN_FILE, workspace_token
from benthoscope.app.session import session as visits
from benthoscope.app.session.app_state import AppState
from benthoscope.engine.problems import BadInput
from benthoscope.engine.workspace import NewCluster, NewRun, Workspace
from benthoscope.engine.workspace.backup import Backup
from benthoscope.engine.workspace.labels.vocabularies import NewTerm

RUN = CliRunner()


@pytest.fixture
def filled(workspace):
    """Labels, terms that have parents, a feature set, a run and a thumbnail."""
    words = workspace.vocabularies.add("v", [NewTerm(("rock",)), NewTerm(("rock", "reef")), NewTerm(("sand",))])
    term, person = workspace.vocabularies.terms(words.id)[0].id, workspace.people.named("Ann").id
    for image in range(1, 6):
        workspace.labels.label(person, [image], term)
    workspace.labels.undo_last(person)
    with workspace.features.writer("deep", width=2, extractor={}) as features:
        features.append(np.arange(1, 4), np.ones((3, 2)))
    workspace.runs.add(NewRun("r", "gmc", "deep", {}, {}, {}), {"labels": np.array([0, 1])}, [NewCluster(0, 1)])
    workspace.thumbnails.add("ab" * 32, 128, b"jpeg")
    return workspace


def empty_database(server):
    """The address of a database besides that of the workspace."""
    import psycopg

    name = f"w{uuid.uuid4().hex}"
    with psycopg.connect(server.format("postgres"), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return server.format(name)


def restored(folder, path, **options):
    target, _ = Backup.open(folder).restore(path, **options)
    return Workspace.open(target)


def damage(backup, which=None):
    """Flip a byte in the middle of every piece, or of those of one file."""
    pieces = which or [path.name for path in (backup.folder / "pieces").rglob("*") if path.is_file()]
    for name in pieces:
        path = backup.folder / "pieces" / name[:2] / name
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(data)


def test_a_restored_workspace_is_complete(filled, tmp_path):
    Backup.of(filled, tmp_path / "b").take(filled)
    with restored(tmp_path / "b", tmp_path / "again") as again:
        assert again.identity.id == filled.identity.id
        assert [vars(event)["number"] for event in again.labels.events()] == [1, 2, 3, 4, 5, 6]
        assert again.labels.current()[0].tolist() == filled.labels.current()[0].tolist() == [1, 2, 3, 4]
        assert [term.path for term in again.vocabularies.terms(1)] == [
            term.path for term in filled.vocabularies.terms(1)
        ]
        np.testing.assert_array_equal(again.features.open("deep").X, np.ones((3, 2)))
        assert again.runs.current().array("labels").tolist() == [0, 1]
        assert again.thumbnails.get("ab" * 32, 128) == b"jpeg"
        again.labels.label(1, [9], 1)
        assert again.labels.last_number() == 7


@pytest.mark.postgres
def test_a_backup_is_restored_into_a_postgres_database(filled, tmp_path, postgres):
    postgres_database = empty_database(postgres)
    Backup.of(filled, tmp_path / "b").take(filled)
    with restored(tmp_path / "b", tmp_path / "again", database=postgres_database) as again:
        assert again.catalogue.dialect == "postgresql"
        assert len(again.labels.events()) == 6
        again.labels.label(1, [9], 1)  # new rows continue the numbers
        assert again.labels.last_number() == 7
    assert not list((tmp_path / "again.benthos").glob("catalogue.sqlite*"))
    with pytest.raises(BadInput, match="already contains a workspace"):
        Backup.open(tmp_path / "b").restore(tmp_path / "third", database=postgres_database)
    assert not (tmp_path / "third.benthos").exists()


@pytest.mark.postgres
def test_a_backup_contains_no_password(tmp_path, postgres_database):
    address = postgres_database.replace("bentho@", "bentho:secret-word@")
    with Workspace.create(tmp_path / "reef", database=address) as reef:
        Backup.of(reef, tmp_path / "b").take(reef)
    for path in (tmp_path / "b").rglob("*"):
        assert not path.is_file() or b"secret-word" not in path.read_bytes()


def test_the_secret_link_of_the_app_does_not_get_into_a_backup(filled, tmp_path):
    secret = workspace_token(filled.folder)
    backup = Backup.of(filled, tmp_path / "b")
    snapshot, _ = backup.take(filled)
    assert TOKEN_FILE not in snapshot.files and "workspace.json" in snapshot.files
    stored = b"".join(path.read_bytes() for path in backup.folder.rglob("*") if path.is_file())
    assert secret.encode() not in stored
    with restored(backup.folder, tmp_path / "again") as again:
        assert workspace_token(again.folder) != secret


def test_page_visits_are_in_a_backup(filled, tmp_path):
    app_state = AppState(filled)
    visits.note_visit(app_state, "explore")
    Backup.of(filled, tmp_path / "b").take(filled)
    with restored(tmp_path / "b", tmp_path / "again") as again:
        assert (again.folder / visits.FILE).read_bytes() == (filled.folder / visits.FILE).read_bytes()


def test_a_second_snapshot_costs_what_changed(filled, tmp_path):
    backup = Backup.of(filled, tmp_path / "b")
    rng = np.random.default_rng(0)
    with filled.features.writer("large", width=512, extractor={}) as features:
        features.append(np.arange(10_000), rng.normal(size=(10_000, 512)))
    _, first = backup.take(filled)
    with filled.features.appending("large") as features:
        features.append(np.array([10_001]), rng.normal(size=(1, 512)))
    _, second = backup.take(filled)
    assert first.new_bytes > 20e6
    assert second.new_bytes < 6e6
    assert len(backup.snapshots()) == 2


def test_an_older_snapshot_gives_the_older_state(filled, tmp_path):
    backup = Backup.of(filled, tmp_path / "b")
    backup.take(filled)
    filled.labels.label(1, [77], 1)
    backup.take(filled)
    older = backup.snapshots()[0]
    with restored(tmp_path / "b", tmp_path / "old", snapshot=older) as again:
        assert len(again.labels.events()) == 6
    with restored(tmp_path / "b", tmp_path / "new") as again:
        assert len(again.labels.events()) == 7


def test_labels_given_during_a_backup_are_all_there_or_in_the_next_one(filled, tmp_path):
    """A backup contains everything that was confirmed before it started, and its log has no gaps."""
    stop, label_count = threading.Event(), [6]

    def label():
        while not stop.is_set():
            filled.labels.label(1, [1000 + label_count[0]], 1)
            label_count[0] += 1
            with filled.features.appending("deep") as features:
                features.append(np.array([1000 + label_count[0]]), np.ones((1, 2)))

    thread = threading.Thread(target=label)
    thread.start()
    try:
        for turn in range(4):
            acknowledged = label_count[0]
            Backup.of(filled, tmp_path / "b").take(filled)
            with restored(tmp_path / "b", tmp_path / f"r{turn}") as again:
                numbers = [event.number for event in again.labels.events()]
                assert len(numbers) >= acknowledged
                assert numbers == list(range(1, len(numbers) + 1))
                assert again.features.open("deep").damaged_blocks() == []
    finally:
        stop.set()
        thread.join()


def test_check_finds_all_damage_and_the_next_backup_repairs_it(filled, tmp_path):
    backup = Backup.of(filled, tmp_path / "b")
    snapshot, _ = backup.take(filled)
    assert backup.check() == []
    rows = next(path for path in snapshot.files if path.endswith("rows.npy"))
    damage(backup, snapshot.files[rows]["pieces"])
    assert [rows in str(problem) for problem in backup.check()] == [True]
    with pytest.raises(BadInput):
        backup.restore(tmp_path / "again")
    assert not (tmp_path / "again.benthos").exists()
    backup.take(filled)
    assert backup.check() == []


def test_a_damaged_catalogue_or_list_of_files_is_found(filled, tmp_path):
    backup = Backup.of(filled, tmp_path / "b")
    backup.take(filled)
    damage(backup)
    assert backup.check()
    path = next((tmp_path / "b" / "snapshots").glob("*.json"))
    path.write_text(path.read_text()[:100])
    assert "is damaged" in str(backup.check()[0])


def test_a_restore_never_overwrites_a_workspace(filled, tmp_path):
    Backup.of(filled, tmp_path / "b").take(filled)
    filled.labels.label(1, [77], 1)
    filled.close()
    with pytest.raises(BadInput, match="--replace"):
        Backup.open(tmp_path / "b").restore(tmp_path / "reef")
    with restored(tmp_path / "b", tmp_path / "reef", replace=True) as again:
        assert len(again.labels.events()) == 6
    if filled.catalogue.dialect == "sqlite":
        aside = next(tmp_path.glob("reef.replaced-*"))
        with Workspace.open(aside) as before:
            assert len(before.labels.events()) == 7


def test_a_backup_belongs_to_one_workspace_and_is_outside_it(filled, tmp_path):
    Backup.of(filled, tmp_path / "b")
    with Workspace.create(tmp_path / "other") as other, pytest.raises(BadInput, match="another workspace"):
        Backup.of(other, tmp_path / "b")
    with pytest.raises(BadInput, match="is inside the workspace"):
        Backup.of(filled, filled.folder / "b")
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "text").write_text("years of work")
    with pytest.raises(BadInput, match="not empty"):
        Backup.of(filled, tmp_path / "thesis")


def test_older_snapshots_are_removed_with_what_only_they_used(filled, tmp_path):
    backup = Backup.of(filled, tmp_path / "b")
    for image in range(3):
        filled.labels.label(1, [50 + image], 1)
        backup.take(filled)
    pieces = len(list((tmp_path / "b" / "pieces").rglob("*")))
    assert backup.prune(1) == 2
    assert len(list((tmp_path / "b" / "pieces").rglob("*"))) < pieces
    assert backup.check() == []


def test_the_commands_back_up_check_and_restore_a_lost_catalogue(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with Workspace.create(tmp_path / "reef") as made:
        made.labels.label(
            made.people.named("Ann").id,
            [1],
            made.vocabularies.terms(made.vocabularies.add("v", [NewTerm(("sand",))]).id)[0].id,
        )
    assert RUN.invoke(app, ["backup", "b"]).exit_code == 0
    content = json.loads(RUN.invoke(app, ["backup", "b", "--json"]).stdout)
    assert (content["label_events"], len(list((tmp_path / "b" / "snapshots").iterdir()))) == (1, 2)
    assert RUN.invoke(app, ["check", "b"]).exit_code == 0
    (tmp_path / "reef.benthos" / "catalogue.sqlite").unlink()
    with pytest.raises(BadInput, match="benthoscope restore BACKUP reef --replace"):
        Workspace.open("reef")
    assert RUN.invoke(app, ["restore", "b", "reef", "--replace"]).exit_code == 0
    with Workspace.open("reef") as again:
        assert len(again.labels.events()) == 1
    damage(Backup.open("b"))
    assert RUN.invoke(app, ["check", "b"]).exit_code == 2


def test_a_backup_is_one_sqlite_file_however_long_the_log_is(tmp_path):
    """Copying catalogue.sqlite alone misses what is in its log; the backup does not."""
    with Workspace.create(tmp_path / "reef") as reef:
        term = reef.vocabularies.terms(reef.vocabularies.add("v", [NewTerm(("sand",))]).id)[0].id
        person = reef.people.named("Ann").id
        for image in range(200):
            reef.labels.label(person, [image], term)
        shutil.copyfile(reef.folder / "catalogue.sqlite", tmp_path / "alone.sqlite")
        Backup.of(reef, tmp_path / "b").take(reef)
        with restored(tmp_path / "b", tmp_path / "again") as again:
            assert len(again.labels.events()) == 200
    with sqlite3.connect(tmp_path / "alone.sqlite") as alone:
        try:
            copied = alone.execute("select count(*) from label_event").fetchone()[0]
        except sqlite3.OperationalError:
            copied = 0
    assert copied < 200, "the log was empty, so this test shows nothing"


def test_levels_are_not_counted_as_runs(filled, tmp_path):
    run = filled.runs.all()[0]
    for level in ("coarser", "finer"):
        new = NewRun(f"r ({level})", "gmc", "deep", {}, {}, {})
        filled.runs.add_level(run, level, new, {"labels": np.array([0, 1])}, [NewCluster(0, 1)])
    words = ["backup", str(tmp_path / "kept"), "--workspace", str(filled.folder)]
    text = RUN.invoke(app, words).stdout
    assert "1 run with 2 levels;" in " ".join(text.split())
    counts = json.loads(RUN.invoke(app, [*words, "--json"]).stdout)
    assert (counts["runs"], counts["levels"]) == (1, 2)


def test_a_snapshot_that_counted_levels_as_runs_is_not_called_damaged(filled, tmp_path):
    run = filled.runs.all()[0]
    filled.runs.add_level(
        run, "finer", NewRun("r (finer)", "gmc", "deep", {}, {}, {}), {"labels": np.array([0])}, [NewCluster(0, 1)]
    )
    backup = Backup.of(filled, tmp_path / "kept")
    backup.take(filled)
    [path] = [path for path in (tmp_path / "kept").rglob("*.json") if '"counts"' in path.read_text()]
    record = json.loads(path.read_text())
    record["counts"] = {**record["counts"], "runs": 2}
    del record["counts"]["levels"]
    path.write_text(json.dumps(record))
    assert backup.check() == []
    record["counts"]["runs"] = 3
    path.write_text(json.dumps(record))
    assert len(backup.check()) == 1
