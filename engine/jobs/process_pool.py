"""Processes that work through many items, one of which may bring its process down.

Unlike the standard pools this one knows which item a process died of, gives up on an item that takes too long, and
stops within a moment: the processes only read, so ending one loses nothing.
"""

import multiprocessing
import os
import signal
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from typing import Any, Generic, TypeVar

Item, Result = TypeVar("Item"), TypeVar("Result")

AHEAD = 3       # items a process has at hand, so that it never waits for the next one
PATIENCE = 120  # seconds for one item: an image at the pixel limit takes 5, a network drive that stalls takes for ever
LOOK = 0.1      # seconds between looks at whether to stop
KIND = 10       # niceness: the server that started the work stays quick
READY = "ready"


@dataclass(frozen=True)
class Lost:
    """What came of an item instead of a result."""

    why: str


@dataclass
class _Member:
    process: Any
    pipe: Connection
    at_hand: deque = field(default_factory=deque)
    since: float = field(default_factory=time.monotonic)  # when the first item at hand was begun
    ready: bool = False


class Crew(Generic[Item, Result]):
    """`work` is a function of a module, called in each process with one item; what it raises is raised here."""

    def __init__(self, work: Callable[[Item], Result], size: int, *, patience: float = PATIENCE):
        self._work, self._size, self._patience = work, size, patience
        # A fork of a process with threads may hang; a server without any forks the processes, each within milliseconds.
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["__main__", work.__module__])
        self._members: list[_Member] = []

    def run(self, items: Iterable[Item], check: Callable[[], None]) -> Iterator[tuple[Item, Result | Lost]]:
        """Each item with its result, as they come. `check` is called ten times a second and may raise to end it."""
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
        for full in range(1, AHEAD + 1):  # evenly: no process gets its third item before every one has two
            for member in self._members:
                if waiting and len(member.at_hand) < full:
                    self._hand_to(member, waiting.popleft())

    def _hand_to(self, member: _Member, item: Item) -> None:
        if not member.at_hand:
            member.since = time.monotonic()
        member.at_hand.append(item)
        try:
            member.pipe.send(item)
        except OSError:  # it has just died, which is found out when its results are collected
            return

    def _collect(self, waiting: deque) -> Iterator[tuple[Item, Result | Lost]]:
        by_pipe = {member.pipe: member for member in self._members if member.at_hand}
        for pipe in wait(list(by_pipe), LOOK):
            yield from self._heard(by_pipe[pipe], waiting)
        for member in self._members:
            if member.ready and member.at_hand and time.monotonic() - member.since > self._patience:
                yield self._replaced(member, waiting, f"it could not be read within {self._patience:g} seconds")

    def _heard(self, member: _Member, waiting: deque) -> Iterator[tuple[Item, Result | Lost]]:
        try:
            said, value = member.pipe.recv()
        except (EOFError, OSError):
            member.process.join()
            if not member.ready:
                told = f"a process for reading images could not start (exit code {member.process.exitcode})"
                raise RuntimeError(told) from None
            yield self._replaced(member, waiting, _cause(member.process.exitcode))
            return
        if said == READY:
            member.ready, member.since = True, time.monotonic()
        elif said == "failed":
            raise RuntimeError(f"while reading {member.at_hand[0]}:\n{value}")
        else:
            item, member.since = member.at_hand.popleft(), time.monotonic()
            yield item, value

    def _replaced(self, member: _Member, waiting: deque, why: str) -> tuple[Item, Lost]:
        """Puts a new process in the place of one that is lost; gives the item it was lost over."""
        guilty, *innocent = member.at_hand
        waiting.extendleft(reversed(innocent))
        _end(member)
        self._members[self._members.index(member)] = self._hired()
        return guilty, Lost(why)

    def _hired(self) -> _Member:
        here, there = self._context.Pipe()
        process = self._context.Process(target=_serve, args=(there, self._work), daemon=True)
        process.start()
        there.close()
        return _Member(process, here)

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
        return "the system ended the program that read it, perhaps for lack of memory"
    return "it crashed the program that decodes images"


def _serve(pipe: Connection, work: Callable[[Any], Any]) -> None:
    """The life of a process: ends when the other side of the pipe does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is answered by the process that started this one
    os.nice(KIND)
    _silence()
    pipe.send((READY, None))
    while True:
        try:
            item = pipe.recv()
        except EOFError:
            return
        pipe.send(_outcome(work, item))


def _silence() -> None:
    """Decoders written in C print what they dislike, file by file; what matters comes back as a reason."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    os.close(nowhere)


def _outcome(work: Callable[[Any], Any], item: Any) -> tuple[str, Any]:
    try:
        return "done", work(item)
    except Exception:  # a mistake in our code: raised in the process that started this one
        return "failed", traceback.format_exc()
