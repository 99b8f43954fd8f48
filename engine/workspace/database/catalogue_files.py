"""The SQLite file of a catalogue: check that it is complete, close it completely, and copy it.

While a workspace is open, the newest transactions are in `catalogue.sqlite-wal`, and the header of the main file has a
mark for this log. Closing merges the log and clears the mark. A main file with the mark but without the log was
therefore copied without its log, and its newest labels may be missing.

Copies are made while others write, and each copy is one SQLite file. SQLite copies its own pages; the tables of a
PostgreSQL database are copied row by row within one transaction. Before each migration, a copy is stored in the
workspace's folder `backups`.
"""

import contextlib
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import Connection, Engine, MetaData, Table, bindparam, func, insert, select, text, update

from benthoscope.engine.problems import fail
from benthoscope.engine.workspace.database.catalogue import migrate
from benthoscope.engine.workspace.database.connections import sqlite_address, sqlite_engines
from benthoscope.engine.workspace.storage.files import sync_folder

LOGGED = b"\2\2"  # bytes 18 and 19 of the header: the file is used with a log
CLEAN_SINCE = "0007"  # first revision for which closing clears the mark


def refuse_missing(path: Path, remedy: str) -> None:
    """Raise if the catalogue is missing or empty. Opening must never create a new one in its place."""
    if not path.is_file():
        raise fail(str(path), "the catalogue is missing", remedy)
    if not path.stat().st_size:
        raise fail(str(path), "the catalogue is empty (0 bytes)", remedy)


def lacks_log(path: Path) -> bool:
    """Return whether the file was copied without its log while a program used it."""
    if _log(path).exists() or _switching_mark(path).exists():
        return False
    with path.open("rb") as file:
        header = file.read(20)
    return header[18:20] == LOGGED and (_revision(path) or "") >= CLEAN_SINCE


@contextlib.contextmanager
def switching(path: Path) -> Iterator[None]:
    """Mark the time in which the header and the log disagree, in case this process is killed then."""
    mark = _switching_mark(path)
    mark.touch()
    try:
        yield
    finally:
        mark.unlink(missing_ok=True)


def merge_log(path: Path) -> None:
    """Merge the log into the main file. If another process uses the catalogue, the last one to close does this."""
    with (
        contextlib.suppress(sqlite3.Error, OSError),
        switching(path),
        contextlib.closing(sqlite3.connect(sqlite_address(path, "rw"), uri=True, timeout=0)) as connection,
    ):
        connection.execute("PRAGMA journal_mode = DELETE")


def _revision(path: Path) -> str | None:
    """Return the revision of the tables in the main file alone."""
    address = f"{sqlite_address(path, 'ro')}&immutable=1"
    try:
        with contextlib.closing(sqlite3.connect(address, uri=True)) as connection:
            row = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    except sqlite3.Error:
        return None
    return row[0] if row else None


def _log(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def _switching_mark(path: Path) -> Path:
    return path.with_name(f"{path.name}.switching")


ROWS = 1_000  # rows copied in one statement
VERSION_TABLE = "alembic_version"


def copy_sqlite(source: Path, target: Path) -> None:
    """Copy an SQLite catalogue and its log to a new file, and check the copy."""
    with _readable(source) as origin, contextlib.closing(sqlite3.connect(target)) as copy:
        origin.backup(copy)
        copy.execute("PRAGMA journal_mode = DELETE")
    check_copy(target)
    _sync(target)


def dump(source: Engine, target: Path, revision: str) -> None:
    """Copy the tables of a PostgreSQL catalogue to a new SQLite file, from one transaction."""
    engines = sqlite_engines(target, create=True)
    try:
        migrate(engines.writer, revision)
        with (
            source.connect().execution_options(isolation_level="REPEATABLE READ") as origin,
            origin.begin(),
            engines.writer.connect() as copy,
            copy.begin(),
        ):
            copy_tables(origin, copy)
    finally:
        engines.dispose()
        merge_log(target)
    check_copy(target)
    _sync(target)


def copy_tables(source: Connection, target: Connection) -> None:
    """Copy all rows between two databases with the same revision. The target's tables must be empty."""
    origin, copy = _reflected(source), _reflected(target)
    for table in copy.sorted_tables:
        if table.name != VERSION_TABLE:
            _copy_table(source, origin.tables[table.name], target, table)
    if target.dialect.name == "postgresql":
        _advance_counters(target, copy)


def _copy_table(source: Connection, origin: Table, target: Connection, table: Table) -> None:
    """Insert the rows first, then their references to other rows of the same table, which may come later."""
    inward = [column.name for column in table.columns for key in column.foreign_keys if key.column.table is table]
    key = next(iter(table.primary_key.columns))
    statement = select(origin).execution_options(stream_results=True)
    for rows in source.execute(statement).mappings().partitions(ROWS):
        values = [dict(row) for row in rows]
        target.execute(insert(table), [{**row, **dict.fromkeys(inward)} for row in values])
    for name in inward:
        pairs = source.execute(select(origin.c[key.name], origin.c[name]).where(origin.c[name].is_not(None))).all()
        if pairs:
            change = update(table).where(key == bindparam("row_key")).values({name: bindparam("reference")})
            target.execute(change, [{"row_key": row_key, "reference": reference} for row_key, reference in pairs])


def check_copy(path: Path) -> None:
    """Raise if the file is not an intact catalogue."""
    try:
        with contextlib.closing(sqlite3.connect(sqlite_address(path, "ro"), uri=True)) as connection:
            answer = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    except sqlite3.Error as error:
        answer = str(error)
    if answer != "ok":
        raise fail(str(path), f"the copied catalogue is damaged ({answer})", "use another backup")


@contextlib.contextmanager
def _readable(path: Path) -> Iterator[sqlite3.Connection]:
    """Yield a connection that sees the newest transaction, even if the folder is not writable."""
    with contextlib.ExitStack() as stack:
        try:
            connection = stack.enter_context(_connected(path))
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except sqlite3.OperationalError:  # the log cannot be read in place, so read a copy of both files
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="benthoscope-")))
            for name in (path.name, f"{path.name}-wal"):
                if path.with_name(name).exists():
                    shutil.copyfile(path.with_name(name), folder / name)
            connection = stack.enter_context(contextlib.closing(sqlite3.connect(folder / path.name)))
        yield connection


def _connected(path: Path) -> contextlib.closing:
    return contextlib.closing(sqlite3.connect(sqlite_address(path, "ro"), uri=True, timeout=30))


def _reflected(connection: Connection) -> MetaData:
    """Return the existing tables, with column types that all databases support."""
    tables = MetaData()
    tables.reflect(connection)
    for table in tables.tables.values():
        for column in table.columns:
            column.type = column.type.as_generic(allow_nulltype=True)
            column.server_default = None
    return tables


def _advance_counters(connection: Connection, tables: MetaData) -> None:
    """Set the counters so that new rows continue the numbers of the copied ones."""
    for table in tables.sorted_tables:
        for column in table.primary_key.columns:
            counter = (
                connection.execute(
                    text("SELECT pg_get_serial_sequence(:table, :column)"),
                    {"table": table.name, "column": column.name},
                ).scalar()
                if column.type.python_type is int
                else None
            )
            highest = connection.execute(select(func.max(column))).scalar() if counter else None
            if highest is not None:
                connection.execute(text("SELECT setval(:counter, :value)"), {"counter": counter, "value": highest})


def _sync(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())


FOLDER = "backups"


def keep_version(folder: Path, engine: Engine, revision: str) -> Path:
    """Copy the catalogue before it is migrated from `revision`. Raises if there is no space for the copy."""
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    path = folder / FOLDER / f"catalogue-{revision}-{stamp}.sqlite"
    partial = path.with_suffix(".partial")
    try:
        path.parent.mkdir(exist_ok=True)
        partial.unlink(missing_ok=True)
        if engine.dialect.name == "sqlite":
            copy_sqlite(_file_of(engine), partial)
        else:
            dump(engine, partial, revision)
        partial.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        raise fail(
            str(path),
            f"the catalogue could not be copied before its migration ({error.strerror or error})",
            "free some space and open the workspace again",
        ) from error
    return path


def _file_of(engine: Engine) -> Path:
    with engine.connect() as connection:
        return Path(connection.exec_driver_sql("PRAGMA database_list").fetchall()[0][2])
