"""The database of a workspace: many readers, one writer, and the migrations that bring old files up to date."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, Row
from sqlalchemy.exc import DatabaseError, DBAPIError

from engine.problems import fail
from engine.workspace.connections import Engines, postgres_engines, sqlite_engines
from engine.workspace.writer import Writer

T = TypeVar("T")
MIGRATIONS = Path(__file__).with_name("migrations")


class Catalogue:
    """Reads see the last commit; writes are acknowledged after theirs."""

    def __init__(self, engines: Engines):
        self._engines = engines
        self._writer = Writer(engines)

    @property
    def dialect(self) -> str:
        return self._engines.dialect

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection with one consistent view, for several questions in a row."""
        with self._engines.reader.connect() as connection, connection.begin():
            yield connection

    def all(self, statement: Any) -> list[Row]:
        with self.reading() as connection:
            return list(connection.execute(statement))

    def first(self, statement: Any) -> Row | None:
        with self.reading() as connection:
            return connection.execute(statement).first()

    def write(self, action: Callable[[Connection], T], *, durable: bool = True) -> T:
        """Runs the action on the writer's thread and returns its result once it is committed."""
        return self.submit(action, durable=durable).result()

    def submit(self, action: Callable[[Connection], T], *, durable: bool = True) -> "Future[T]":
        return self._writer.submit(action, durable=durable)

    def execute(self, statement: Any, parameters: Any = None, *, durable: bool = True) -> int:
        """Writes with one statement; the number of rows it touched."""
        return self.write(lambda connection: connection.execute(statement, parameters).rowcount, durable=durable)

    def close(self) -> None:
        self._writer.close()
        self._engines.dispose()


def open_catalogue(address: str | Path) -> Catalogue:
    """The catalogue in an SQLite file or behind a postgresql:// address, brought to today's schema."""
    is_url = isinstance(address, str) and "://" in address
    engines = postgres_engines(str(address)) if is_url else sqlite_engines(Path(address))
    try:
        migrate(engines.writer)
    except DatabaseError as error:
        engines.dispose()
        raise fail(str(address), f"is no catalogue we can open ({_first_line(error)})", _remedy(is_url)) from error
    except BaseException:
        engines.dispose()
        raise
    return Catalogue(engines)


def migrate(engine: Engine, target: str = "head") -> None:
    """Brings the tables to a revision; refuses a catalogue that a newer version has written."""
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    with engine.connect() as connection, connection.begin():
        if connection.dialect.name == "postgresql":  # two processes may open a new workspace at once
            connection.exec_driver_sql("SELECT pg_advisory_xact_lock(7331)")
        known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
        found = MigrationContext.configure(connection).get_current_revision()
        if found and found not in known:
            raise fail("catalogue", f"was written by a newer version (revision {found})", "update Benthoscope")
        config.attributes["connection"] = connection
        command.upgrade(config, target)


def _first_line(error: DBAPIError) -> str:
    return str(error.orig).strip().splitlines()[0]


def _remedy(is_url: bool) -> str:
    return "check the address and that the server runs" if is_url else "restore the file from a copy"
