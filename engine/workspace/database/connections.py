"""Engines of the two databases a catalogue may live in, set so that what was acknowledged survives a power cut."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, make_url, text
from sqlalchemy.exc import ArgumentError, NoSuchModuleError
from sqlalchemy.pool import QueuePool

from engine.problems import fail

WAIT = 30  # seconds another process may hold the database before we give up


@dataclass(frozen=True)
class Engines:
    """`reader` hands out many connections that cannot write, `writer` the only one of this process that can."""

    reader: Engine
    writer: Engine
    dialect: str

    def dispose(self) -> None:
        self.reader.dispose()
        self.writer.dispose()


def sqlite_engines(path: Path) -> Engines:
    return Engines(_sqlite(path, "BEGIN", read_only=True), _sqlite(path, "BEGIN IMMEDIATE", read_only=False), "sqlite")


def postgres_engines(url: str) -> Engines:
    try:
        address = make_url(url).set(drivername="postgresql+psycopg")
        reader = create_engine(address, pool_pre_ping=True, pool_size=10, max_overflow=20)
        writer = create_engine(address, pool_pre_ping=True, pool_size=1, max_overflow=0)
    except (ArgumentError, NoSuchModuleError) as error:
        raise fail(url, "is not a database address", "write postgresql://USER@HOST/NAME") from error
    except ModuleNotFoundError as error:
        raise fail(url, "the PostgreSQL driver is not installed", "pip install 'benthoscope[postgres]'") from error
    event.listen(reader, "begin", lambda connection: connection.exec_driver_sql("SET TRANSACTION READ ONLY"))
    return Engines(reader, writer, "postgresql")


def make_durable(connection: Connection, durable: bool, dialect: str) -> None:
    """To be called before a transaction on SQLite, inside it on PostgreSQL; see `Writer`."""
    if dialect == "sqlite":
        connection.connection.dbapi_connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
    elif not durable:
        connection.execute(text("SET LOCAL synchronous_commit = off"))


def _sqlite(path: Path, begin: str, *, read_only: bool) -> Engine:
    engine = create_engine(
        f"sqlite:///{path}", poolclass=QueuePool, pool_size=10 if read_only else 1, max_overflow=20 if read_only else 0,
        connect_args={"timeout": WAIT, "check_same_thread": False},
    )

    def prepare(connection: Any, record: Any) -> None:
        connection.isolation_level = None  # we say BEGIN ourselves: the driver would do so too late
        for pragma in _pragmas(read_only):
            connection.execute(f"PRAGMA {pragma}")

    event.listen(engine, "connect", prepare)
    event.listen(engine, "begin", lambda connection: connection.exec_driver_sql(begin))
    return engine


def _pragmas(read_only: bool) -> list[str]:
    shared = ["foreign_keys = ON", f"busy_timeout = {WAIT * 1000}", "temp_store = MEMORY", "mmap_size = 268435456"]
    return [*shared, "query_only = ON"] if read_only else ["journal_mode = WAL", "synchronous = FULL", *shared]
