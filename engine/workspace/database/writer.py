"""One thread writes for the whole process: what came in meanwhile goes into one transaction with one fsync.

Measured before: single commits make 167 a second, and several connections that write at once starve each other.
"""

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, TypeVar

from sqlalchemy import Connection, NestedTransaction
from sqlalchemy.exc import DBAPIError

from engine.problems import BenthoscopeError, Problem
from engine.workspace.connections import Engines, make_durable

T = TypeVar("T")
GROUP = 256  # writes in one transaction: beyond this a commit takes longer than a person's patience


class CatalogueError(BenthoscopeError):
    """The database refused: full disk, lost connection, locked for too long. Nothing acknowledged is lost."""


@dataclass(frozen=True)
class Write:
    action: Callable[[Connection], Any]
    durable: bool
    acknowledged: Future = field(default_factory=Future)


class Writer:
    """`submit` gives a future that resolves after the commit; an action that raises spoils nobody else's."""

    def __init__(self, engines: Engines):
        self._engines = engines
        self._waiting: queue.SimpleQueue[Write | None] = queue.SimpleQueue()
        self._closing = threading.Lock()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="catalogue-writer", daemon=True)
        self._thread.start()

    def submit(self, action: Callable[[Connection], T], *, durable: bool = True) -> "Future[T]":
        """`durable` False may lose the last moments at a power cut (never at a crash): for what a job can redo."""
        if threading.current_thread() is self._thread:
            raise RuntimeError("a write cannot wait for another write")
        write = Write(action, durable)
        with self._closing:
            if self._closed:
                raise CatalogueError(Problem("catalogue", "is closed", "open the workspace again"))
            self._waiting.put(write)
        return write.acknowledged

    def close(self) -> None:
        """Returns when all that was submitted is committed."""
        with self._closing:
            if not self._closed:
                self._closed = True
                self._waiting.put(None)
        self._thread.join()

    def _run(self) -> None:
        open_ = True
        while open_:
            group, open_ = self._next_group()
            if group:
                self._commit(group)

    def _next_group(self) -> tuple[list[Write], bool]:
        group, write = [], self._waiting.get()
        while write is not None:
            group.append(write)
            if len(group) == GROUP or self._waiting.empty():
                return group, True
            write = self._waiting.get()
        return group, False

    def _commit(self, group: list[Write]) -> None:
        durable = any(write.durable for write in group)
        try:
            done = self._transaction(group, durable)
        except Exception as error:
            self._refuse(group, error)
        else:
            for write, result in done:
                write.acknowledged.set_result(result)

    def _transaction(self, group: list[Write], durable: bool) -> list[tuple[Write, Any]]:
        """The writes that stood, each with its result, after they were committed together."""
        with self._engines.writer.connect() as connection:
            if self._engines.dialect == "sqlite":  # refuses the change inside a transaction
                make_durable(connection, durable, "sqlite")
            with connection.begin():
                if self._engines.dialect != "sqlite":
                    make_durable(connection, durable, self._engines.dialect)
                return [(write, result) for write in group for result in self._attempt(connection, write)]

    def _attempt(self, connection: Connection, write: Write) -> list[Any]:
        """[result], or [] where the action failed and was taken back; a broken transaction is the group's trouble."""
        if not write.acknowledged.set_running_or_notify_cancel():
            return []
        point = connection.begin_nested()
        try:
            result = write.action(connection)
            point.commit()
        except Exception as error:
            _take_back(point, error)
            write.acknowledged.set_exception(_readable(error))
            return []
        return [result]

    def _refuse(self, group: list[Write], error: Exception) -> None:
        for write in group:
            if not write.acknowledged.done():
                write.acknowledged.set_exception(_readable(error))


def _take_back(point: NestedTransaction, cause: Exception) -> None:
    """Undoes one action; where the database has already undone the whole transaction, as it does on a full disk,
    the cause is everybody's."""
    try:
        point.rollback()
    except DBAPIError:
        raise cause from None


def _readable(error: Exception) -> Exception:
    """The database's own troubles in a person's words; mistakes in an action stay what they are."""
    told = str(getattr(error, "orig", error)).strip().splitlines()[:1]
    cause = told[0] if told else type(error).__name__
    for sign, remedy in REMEDIES.items():
        if isinstance(error, DBAPIError) and sign in cause:
            failed = CatalogueError(Problem("catalogue", cause, remedy))
            failed.__cause__ = error
            return failed
    return error


REMEDIES = {
    "disk is full": "free some space and do it again; everything acknowledged before is kept",
    "disk I/O error": "check the disk; everything acknowledged before is kept",
    "database is locked": "another process has been writing for long; wait for it to end and do it again",
    "readonly database": "give yourself the right to write to the workspace's folder",
    "unable to open database file": "check that the workspace's folder is still there and can be written to",
    "connection": "check that the database server runs and do it again",
}
