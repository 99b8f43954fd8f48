"""The database of a workspace: many readers, one writer, and the migrations of old files."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import Connection, Engine, Row, inspect, make_url, text
from sqlalchemy.exc import DatabaseError, DBAPIError

from benthoscope.engine.problems import fail
from benthoscope.engine.workspace.database.connections import Engines, postgres_engines, sqlite_engines
from benthoscope.engine.workspace.database.writer import RefusingWriter, Writer

if TYPE_CHECKING:
    from alembic.config import Config

T = TypeVar("T")
MIGRATIONS = Path(__file__).with_name("migrations")
REVISION_TABLE = "alembic_version"


class Catalogue:
    """Readers see the last commit. Writes are confirmed after their commit. A read-only catalogue rejects all
    writes."""

    def __init__(self, engines: Engines, *, read_only: bool = False):
        self._engines = engines
        self._writer = RefusingWriter() if read_only else Writer(engines)
        self.read_only = read_only

    @property
    def dialect(self) -> str:
        return self._engines.dialect

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Yield a connection with one consistent view for several queries."""
        with self._engines.reader.connect() as connection, connection.begin():
            yield connection

    def all(self, statement: Any) -> list[Row]:
        with self.reading() as connection:
            return list(connection.execute(statement).all())  # `all` fetches at once, iterating fetches row by row

    def first(self, statement: Any) -> Row | None:
        with self.reading() as connection:
            return connection.execute(statement).first()

    def value(self, statement: Any) -> Any:
        """Return the value of a statement with one row and one column, such as a count."""
        with self.reading() as connection:
            return connection.execute(statement).scalar_one()

    def write(self, action: Callable[[Connection], T], *, durable: bool = True) -> T:
        """Run the action on the writer's thread. Returns its result after the commit."""
        return self._writer.submit(action, durable=durable).result()

    def submit(self, action: Callable[[Connection], T], *, durable: bool = True) -> "Future[T]":
        return self._writer.submit(action, durable=durable)

    def execute(self, statement: Any, parameters: Any = None, *, durable: bool = True) -> int:
        """Execute one statement. Returns the number of affected rows."""
        return self.write(lambda connection: connection.execute(statement, parameters).rowcount, durable=durable)

    def finish_writes(self) -> None:
        """Commit all submitted writes and accept no more."""
        self._writer.close()

    def close(self) -> None:
        """Finish the writes and close all connections. Closing twice does no harm."""
        self.finish_writes()
        self._engines.dispose()


def create_catalogue(address: str | Path) -> Catalogue:
    """Create a catalogue in an SQLite file or an empty PostgreSQL database."""
    engines = _engines(address, create=True)
    with _opening(engines, address):
        migrate(engines.writer)
    return Catalogue(engines)


def open_catalogue(
    address: str | Path,
    *,
    read_only: bool = False,
    before_migration: Callable[[Engine, str], object] = lambda engine, revision: None,
) -> Catalogue:
    """Open the catalogue in an SQLite file or at a postgresql:// address, and migrate it to the current schema.

    `before_migration` is called with the engine and the old revision before any table changes. Raises for a database
    without tables, because opening never creates a catalogue.
    """
    engines = _engines(address, create=False)
    with _opening(engines, address):
        revision = revision_of(engines.writer)
        if revision is None:
            raise fail(_shown(address), "contains no catalogue", "restore a backup: benthoscope restore BACKUP NAME")
        if revision != _head():
            if revision in _known_revisions():
                before_migration(engines.writer, revision)
            migrate(engines.writer)
    return Catalogue(engines, read_only=read_only)


def migrate(engine: Engine, target: str = "head") -> None:
    """Migrate the tables to a revision. Raises if a newer version has written the catalogue."""
    from alembic import command  # slow to import

    config = _migrations()
    with engine.connect() as connection, connection.begin():
        if connection.dialect.name == "postgresql":  # two processes may open a new workspace at the same time
            connection.exec_driver_sql("SELECT pg_advisory_xact_lock(7331)")
        revision = _revision(connection)
        if revision and revision not in _known_revisions():
            raise fail("catalogue", f"was written by a newer version (revision {revision})", "update Benthoscope")
        config.attributes["connection"] = connection
        command.upgrade(config, target)


def _migrations() -> "Config":
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    return config


def _engines(address: str | Path, *, create: bool) -> Engines:
    return postgres_engines(str(address)) if _is_url(address) else sqlite_engines(Path(address), create=create)


@contextmanager
def _opening(engines: Engines, address: str | Path) -> Iterator[None]:
    """Close the engines and explain the error if opening fails."""
    try:
        yield
    except DatabaseError as error:
        engines.dispose()
        raise fail(
            _shown(address), f"is not a readable catalogue ({_first_line(error)})", _remedy(_is_url(address))
        ) from error
    except BaseException:
        engines.dispose()
        raise


def revision_of(engine: Engine) -> str | None:
    """Return the revision of the tables; None without tables."""
    with engine.connect() as connection, connection.begin():
        return _revision(connection)


def _revision(connection: Connection) -> str | None:
    """Return the revision that Alembic has stored, without importing Alembic."""
    if not inspect(connection).has_table(REVISION_TABLE):
        return None
    revision: str | None = connection.execute(text(f"SELECT version_num FROM {REVISION_TABLE}")).scalar()
    return revision


@cache
def _known_revisions() -> frozenset[str]:
    """Return the revisions of the migrations: the numbers of their files."""
    return frozenset(path.name.partition("_")[0] for path in (MIGRATIONS / "versions").glob("[0-9]*.py"))


def _head() -> str:
    """Return the revision of this version's tables."""
    return max(_known_revisions())


def _is_url(address: str | Path) -> bool:
    return isinstance(address, str) and "://" in address


def _shown(address: str | Path) -> str:
    """Return the address without its password."""
    return make_url(str(address)).render_as_string() if _is_url(address) else str(address)


def _first_line(error: DBAPIError) -> str:
    return str(error.orig).strip().splitlines()[0]


def _remedy(is_url: bool) -> str:
    return "check the address and that the server runs" if is_url else "restore the file from a copy"
