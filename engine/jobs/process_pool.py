"""A pool of processes for many items, any of which may crash its process.

Unlike the pools of the standard library, it knows which item crashed a process, gives up on items that take too long,
and stops immediately. Processes only read, so ending one loses nothing.
"""

import multiprocessing
import os
import signal
import time
import traceback
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from typing import Any, Generic, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

AHEAD = 3  # items queued per process, so that it never waits
PATIENCE = 120  # seconds per item; an image at the pixel limit takes 5, a stalled network drive takes forever
LOOK = 0.1  # seconds between checks for cancellation
KIND = 10  # niceness, so that the server stays responsive
READY = "ready"


@dataclass(frozen=True)
class Lost:
    """The result for an item that was lost."""

    why: str


@dataclass
class _Member:
    process: Any
    pipe: Connection
    at_hand: deque = field(default_factory=deque)
    since: float = field(default_factory=time.monotonic)  # when the first queued item was started
    ready: bool = False


class ProcessPool(Generic[Item, Result]):
    """Runs `work`, a module-level function, in several processes with one item at a time. Exceptions of `work` are
    raised here."""

    def __init__(self, function: Callable[[Item], Result], size: int, *, patience: float = PATIENCE):
        self._function, self._size, self._patience = function, size, patience
        # Forking a process with threads may hang. A server without threads forks the processes within milliseconds.
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["__main__", function.__module__])
        self._members: list[_Member] = []

    def run(
        self, items: Iterable[Item], check: Callable[[], None]
    ) -> Generator[tuple[Item, Result | Lost], None, None]:
        """Yield each item with its result, in order of completion. `check` is called ten times per second and may raise
        to stop."""
        waiting = deque(items)
        self._members = [self._hired() for _ in range(min(self._size, len(waiting)))]
        try:
            while waiting or any(member.at_hand for member in self._members):
                self._hand_out(waiting)
                check()
                yield from self._collect(waiting)
        finally:
            self._dismiss()

    def _hand_out(self, waiting: deque) -> None:
        for full in range(1, AHEAD + 1):  # evenly: no process gets its third item before each has two
            for member in self._members:
                if waiting and len(member.at_hand) < full:
                    self._hand_to(member, waiting.popleft())

    def _hand_to(self, member: _Member, item: Item) -> None:
        if not member.at_hand:
            member.since = time.monotonic()
        member.at_hand.append(item)
        try:
            member.pipe.send(item)
        except OSError:  # it has just died, which is noticed when its results are collected
            return

    def _collect(self, waiting: deque) -> Iterator[tuple[Item, Result | Lost]]:
        by_pipe: dict[Any, _Member] = {member.pipe: member for member in self._members if member.at_hand}
        for pipe in wait(list(by_pipe), LOOK):
            yield from self._receive(by_pipe[pipe], waiting)
        for member in self._members:
            if member.ready and member.at_hand and time.monotonic() - member.since > self._patience:
                yield self._replaced(member, waiting, f"it could not be read within {self._patience:g} seconds")

    def _receive(self, member: _Member, waiting: deque) -> Iterator[tuple[Item, Result | Lost]]:
        try:
            status, value = member.pipe.recv()
        except (EOFError, OSError):
            member.process.join()
            if not member.ready:
                message = f"a process for reading images could not start (exit code {member.process.exitcode})"
                raise RuntimeError(message) from None
            yield self._replaced(member, waiting, _cause(member.process.exitcode))
            return
        if status == READY:
            member.ready, member.since = True, time.monotonic()
        elif status == "failed":
            raise RuntimeError(f"while reading {member.at_hand[0]}:\n{value}")
        else:
            item, member.since = member.at_hand.popleft(), time.monotonic()
            yield item, value

    def _replaced(self, member: _Member, waiting: deque, why: str) -> tuple[Item, Lost]:
        """Replace a lost process. Returns the item that it was processing."""
        guilty, *innocent = member.at_hand
        waiting.extendleft(reversed(innocent))
        _end(member)
        self._members[self._members.index(member)] = self._hired()
        return guilty, Lost(why)

    def _hired(self) -> _Member:
        parent_end, child_end = self._context.Pipe()
        process = self._context.Process(target=_serve, args=(child_end, self._function), daemon=True)
        process.start()
        child_end.close()
        return _Member(process, parent_end)

    def _dismiss(self) -> None:
        for member in self._members:
            _end(member)
        self._members = []


def _end(member: _Member) -> None:
    member.process.kill()
    member.process.join()
    member.pipe.close()
    member.process.close()


def _cause(exit_code: int) -> str:
    if exit_code == -signal.SIGKILL:
        return "the system ended the process that read it, perhaps for lack of memory"
    return "it crashed the image decoder"


def _serve(pipe: Connection, function: Callable[[Any], Any]) -> None:
    """The main loop of a process. It ends when the other side of the pipe closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process handles Ctrl-C
    os.nice(KIND)
    _silence()
    pipe.send((READY, None))
    while True:
        try:
            item = pipe.recv()
        except EOFError:
            return
        pipe.send(_outcome(function, item))


def _silence() -> None:
    """Suppress the output of C decoders, which report every problem of a file; what matters is returned as a reason."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    os.close(nowhere)


def _outcome(function: Callable[[Any], Any], item: Any) -> tuple[str, Any]:
    try:
        return "done", function(item)
    except Exception:  # an error in our code is raised in the parent process
        return "failed", traceback.format_exc()
