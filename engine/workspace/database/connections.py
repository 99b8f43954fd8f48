"""Engines of the two supported databases, configured so that confirmed writes survive a power cut."""

import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, make_url, text
from sqlalchemy.exc import ArgumentError, NoSuchModuleError
from sqlalchemy.pool import QueuePool

from benthoscope.engine.optional_dependencies import missing_dependency
from benthoscope.engine.problems import fail

WAIT = 30  # seconds to wait for another process that uses the database


@dataclass(frozen=True)
class Engines:
    """`reader` provides many read-only connections, `writer` the only writable one of this process."""

    reader: Engine
    writer: Engine
    dialect: str

    def dispose(self) -> None:
        self.reader.dispose()
        self.writer.dispose()


def sqlite_engines(path: Path, *, create: bool = False) -> Engines:
    """Return engines for an SQLite file. The file may be missing only with `create`."""
    mode = "rwc" if create else "rw"
    writer = _sqlite(path, "BEGIN IMMEDIATE", mode, read_only=False)
    return Engines(_sqlite(path, "BEGIN", mode, read_only=True), writer, "sqlite")


def sqlite_address(path: Path, mode: str) -> str:
    """Return the URI of an SQLite file. Modes: ro, rw (the file must exist) and rwc (create the file if it is
    missing)."""
    return f"{path.absolute().as_uri()}?mode={mode}"


def postgres_engines(url: str) -> Engines:
    try:
        address = make_url(url).set(drivername="postgresql+psycopg")
        reader = create_engine(address, pool_pre_ping=True, pool_size=10, max_overflow=20)
        writer = create_engine(address, pool_pre_ping=True, pool_size=1, max_overflow=0)
    except (ArgumentError, NoSuchModuleError) as error:
        raise fail(url, "is not a database address", "use postgresql://USER@HOST/NAME") from error
    except ModuleNotFoundError as error:
        raise missing_dependency("psycopg") from error
    event.listen(reader, "begin", lambda connection: connection.exec_driver_sql("SET TRANSACTION READ ONLY"))
    return Engines(reader, writer, "postgresql")


def make_durable(connection: Connection, durable: bool, dialect: str) -> None:
    """Set the durability of a transaction; called before a transaction on SQLite, inside it on PostgreSQL; see
    `Writer`."""
    if dialect == "sqlite":
        driver = connection.connection.dbapi_connection
        assert driver is not None  # the connection is open
        driver.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
    elif not durable:
        connection.execute(text("SET LOCAL synchronous_commit = off"))


def _sqlite(path: Path, begin: str, mode: str, *, read_only: bool) -> Engine:
    address = sqlite_address(path, mode)
    engine = create_engine(
        "sqlite://",
        poolclass=QueuePool,
        pool_size=10 if read_only else 1,
        max_overflow=20 if read_only else 0,
        creator=lambda: sqlite3.connect(address, uri=True, timeout=WAIT, check_same_thread=False),
    )

    def prepare(connection: Any, record: Any) -> None:
        connection.isolation_level = None  # we send BEGIN ourselves, because the driver would send it too late
        for pragma in _pragmas(read_only):
            connection.execute(f"PRAGMA {pragma}")

    event.listen(engine, "connect", prepare)
    event.listen(engine, "begin", lambda connection: connection.exec_driver_sql(begin))
    return engine


def _pragmas(read_only: bool) -> list[str]:
    shared = ["foreign_keys = ON", f"busy_timeout = {WAIT * 1000}", "temp_store = MEMORY", "mmap_size = 268435456"]
    return [*shared, "query_only = ON"] if read_only else ["journal_mode = WAL", "synchronous = FULL", *shared]
