"""The catalogue keeps what it acknowledged, on both databases."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import insert, select, text

from benthoscope.engine.problems import BadInput
from benthoscope.engine.workspace import Workspace
from benthoscope.engine.workspace.database import catalogue as catalogue_module
from benthoscope.engine.workspace.database.catalogue import MIGRATIONS, create_catalogue, migrate, open_catalogue
from benthoscope.engine.workspace.database.connections import sqlite_engines
from benthoscope.engine.workspace.database.schema import (
    label_event,
    metadata,
    person,
    sampling_answer,
    sampling_draw,
    sampling_frame,
    sampling_wave,
)
from benthoscope.engine.workspace.database.writer import CatalogueError
from benthoscope.engine.workspace.labels.sampling import Parent
from benthoscope.engine.workspace.labels.vocabularies import NewTerm


def add_person(name):
    return lambda connection: connection.execute(insert(person).values(name=name, created_at=0.0))


def names(catalogue):
    return {row.name for row in catalogue.all(select(person))}


def test_the_migrations_make_exactly_the_tables_of_the_schema(workspace):
    with workspace.catalogue.reading() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []


def test_migrating_down_and_up_again_leaves_an_empty_catalogue(tmp_path):
    engines = sqlite_engines(tmp_path / "c.sqlite", create=True)
    migrate(engines.writer)
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    with engines.writer.connect() as connection, connection.begin():
        config.attributes["connection"] = connection
        command.downgrade(config, "base")
        remaining_rows = connection.execute(text("select name from sqlite_master where type = 'table'")).scalars().all()
        assert set(remaining_rows) <= {"alembic_version", "sqlite_sequence"}
    migrate(engines.writer)
    engines.dispose()


def test_random_draws_and_undone_labels_survive_the_migration_to_double_labels(workspace):
    """The tables are copied by the migration, although others refer to them."""
    ann = workspace.people.named("Ann").id
    term = workspace.vocabularies.terms(workspace.vocabularies.add("own", [NewTerm(("kelp",))]).id)[0].id
    event = workspace.labels.label(ann, [1, 2], term)
    workspace.labels.undo(ann, event)
    frame = workspace.sampling.open_frame("cover", Parent(), [1, 2, 3], ann)
    draw = workspace.sampling.draw(frame, 2)[0]
    workspace.sampling.record_answer(draw, term, ann)
    workspace.labels.append("opinion", ann, [3], term_id=term, why="double")
    workspace.sampling.open_frame("double", Parent("labels", ann), [3], ann)
    tables = (label_event, sampling_frame, sampling_wave, sampling_draw, sampling_answer)
    before = {table.name: workspace.catalogue.all(select(table)) for table in tables}
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))

    def move(step, revision):
        with workspace.catalogue._engines.writer.connect() as connection, connection.begin():
            config.attributes["connection"] = connection
            step(config, revision)

    move(command.downgrade, "0008")
    move(command.upgrade, "head")
    after = {table.name: workspace.catalogue.all(select(table)) for table in tables}
    assert len(before["label_event"]) == 3 and len(before["sampling_frame"]) == 2
    assert after["label_event"] == before["label_event"][:2]
    assert after["sampling_frame"] == before["sampling_frame"][:1]
    assert all(after[name] == before[name] for name in ("sampling_wave", "sampling_draw", "sampling_answer"))


def test_the_numbers_of_the_migration_files_are_their_revisions():
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    scripts = ScriptDirectory.from_config(config)
    assert catalogue_module._known_revisions() == {script.revision for script in scripts.walk_revisions()}
    assert catalogue_module._head() == scripts.get_current_head()


def test_a_write_is_there_for_every_reader_once_acknowledged(workspace):
    for number in range(20):
        workspace.catalogue.write(add_person(f"p{number}"))
        assert f"p{number}" in names(workspace.catalogue)


def test_many_threads_write_at_once_and_none_is_lost(workspace):
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda number: workspace.catalogue.write(add_person(f"p{number}")), range(400)))
    assert len(names(workspace.catalogue)) == 400


def test_a_write_that_fails_spoils_none_that_shares_its_transaction(workspace):
    gate = threading.Event()
    workspace.catalogue.submit(lambda connection: gate.wait(5))  # holds the writer, so that the next three meet
    good, bad, other = (workspace.catalogue.submit(add_person(name)) for name in ("a", "a", "b"))
    gate.set()
    good.result(5), other.result(5)
    with pytest.raises(Exception, match=r"(?i)unique"):
        bad.result(5)
    assert names(workspace.catalogue) == {"a", "b"}


def test_a_mistake_inside_a_write_reaches_its_caller_and_takes_everything_back(workspace):
    def mistaken(connection):
        add_person("half")(connection)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        workspace.catalogue.write(mistaken)
    assert names(workspace.catalogue) == set()


def test_readers_cannot_write(workspace):
    with pytest.raises(Exception, match=r"(?i)readonly|read-only"), workspace.catalogue.reading() as connection:
        add_person("sneaky")(connection)


def test_a_write_inside_a_write_is_rejected_instead_of_waiting_for_ever(workspace):
    with pytest.raises(RuntimeError, match="cannot wait"):
        workspace.catalogue.write(lambda connection: workspace.catalogue.write(add_person("inner")))


def test_after_closing_all_that_was_submitted_is_kept_and_nothing_more_taken(tmp_path):
    catalogue = create_catalogue(tmp_path / "c.sqlite")
    pending = [catalogue.submit(add_person(f"p{number}")) for number in range(100)]
    catalogue.close()
    assert all(future.done() and not future.exception() for future in pending)
    with pytest.raises(CatalogueError, match="is closed"):
        catalogue.write(add_person("late"))


def test_two_processes_worth_of_writers_take_turns(tmp_path):
    Workspace.create(tmp_path / "w").close()
    with (
        Workspace.open(tmp_path / "w") as workspace,
        Workspace.open(tmp_path / "w") as two,
        ThreadPoolExecutor(8) as pool,
    ):
        list(pool.map(lambda n: (workspace, two)[n % 2].catalogue.write(add_person(f"p{n}")), range(200)))
        assert len(names(workspace.catalogue)) == 200


def test_a_file_that_is_no_database_is_reported_plainly(tmp_path):
    (tmp_path / "c.sqlite").write_bytes(b"not a database, by far" * 100)
    with pytest.raises(BadInput, match="is not a readable catalogue"):
        open_catalogue(tmp_path / "c.sqlite")


def test_a_catalogue_of_a_newer_version_is_left_alone(tmp_path):
    catalogue = create_catalogue(tmp_path / "c.sqlite")
    catalogue.execute(text("update alembic_version set version_num = '9999'"))
    catalogue.close()
    with pytest.raises(BadInput, match="newer version"):
        open_catalogue(tmp_path / "c.sqlite")


@pytest.mark.parametrize("address", ["nonsense://x", "postgresql://"])
def test_a_wrong_address_is_reported_plainly(address):
    with pytest.raises(BadInput):
        open_catalogue(address)


def test_a_full_disk_is_reported_plainly_and_what_was_there_stays(tmp_path):
    catalogue = create_catalogue(tmp_path / "c.sqlite")
    catalogue.write(add_person("early"))

    def limit(connection):
        connection.execute(text(f"PRAGMA max_page_count = {connection.execute(text('PRAGMA page_count')).scalar()}"))

    catalogue.write(limit)
    with pytest.raises(CatalogueError, match="free some space"):
        catalogue.write(lambda connection: [add_person("x" * 4000 + str(n))(connection) for n in range(50)])
    assert names(catalogue) == {"early"}
    catalogue.close()
