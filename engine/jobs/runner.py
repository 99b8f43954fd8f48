"""Takes jobs from the queue and runs them on threads of this process."""

import contextlib
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from engine.jobs.context import JobContext
from engine.jobs.kinds import kind_named
from engine.jobs.queue import Job, JobQueue
from engine.problems import BenthoscopeError
from engine.progress import Cancelled
from engine.workspace import Workspace
from engine.workspace.files import Claim

LOOK = 0.25   # seconds between looks at the queue and at requests to cancel: half a second is felt as at once
WRITE = 0.5   # seconds between notes of progress, so that they do not fill the writer's queue


class JobRunner:
    """Runs light jobs as they come and heavy ones one at a time, highest priority first. Start it once in a process;
    of several processes on one workspace each takes what no other has."""

    def __init__(self, workspace: Workspace, *, light: int = 4):
        self._workspace, self._queue = workspace, JobQueue(workspace)
        self._room = {True: 1, False: light}
        self._running: dict[int, tuple[JobContext, threading.Thread]] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look_after, name="jobs", daemon=True)

    def start(self) -> "JobRunner":
        self._queue.requeue_orphans()
        self._thread.start()
        return self

    def stop(self) -> None:
        """Interrupts what runs and puts it back into the queue, to go on from its checkpoint at the next start."""
        self._stop.set()
        if self._thread.ident:
            self._thread.join()
        for context, thread in list(self._running.values()):
            context.interrupt()
            thread.join()

    def __enter__(self) -> "JobRunner":
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _look_after(self) -> None:
        while not self._stop.wait(LOOK):
            with contextlib.suppress(BenthoscopeError):  # a busy or full disk: look again in a moment
                self._take_up_waiting()

    def _take_up_waiting(self) -> None:
        self._running = {number: pair for number, pair in self._running.items() if pair[1].is_alive()}
        waiting = [found for found in self._queue.unfinished() if found.state == "queued"]
        for found in waiting:
            if self._has_room(found.heavy):
                self._take_up(found)

    def _has_room(self, heavy: bool) -> bool:
        alike = sum(context.job.heavy == heavy for context, _ in self._running.values())
        return alike < self._room[heavy]

    def _take_up(self, found: Job) -> None:
        claim = claimed(self._queue, found)
        if claim:
            context = JobContext(found, self._queue.folder(found.id))
            run = (self._workspace, self._queue, context, claim)
            thread = threading.Thread(target=_run_claimed, args=run, name=f"job-{found.id}", daemon=True)
            self._running[found.id] = context, thread
            thread.start()


def run_now(
    workspace: Workspace, kind: str, parameters: Mapping[str, Any] | None = None, *, title: str | None = None,
    watch: Callable[[Job], None] = lambda job: None, resume: int | None = None,
) -> Job:
    """Queues a job and runs it here and now, as commands do. `watch` sees it every half second, in this thread; what
    it raises (KeyboardInterrupt above all) cancels the job and goes on to the caller."""
    queue = JobQueue(workspace)
    queue.requeue_orphans()
    job = queue.get(resume) if resume else queue.add(kind, parameters, title=title)
    claim = _claimed_in_turn(queue, job, watch)
    if claim is None:  # a running server took it up
        return _watched(queue, job.id, lambda: queue.get(job.id).finished, watch)
    context = JobContext(job, queue.folder(job.id))
    run = (workspace, queue, context, claim)
    thread = threading.Thread(target=_run_claimed, args=run, name=f"job-{job.id}")
    thread.start()
    try:
        return _watched(queue, job.id, lambda: not thread.is_alive(), watch)
    except BaseException:
        context.cancel()
        thread.join()
        raise


def claimed(queue: JobQueue, job: Job) -> ExitStack | None:
    """What has to be held while the job runs: itself and, if it is heavy, the right of the only heavy one."""
    with ExitStack() as held:
        if job.heavy:
            alone = Claim.taken(queue.heavy_lock)
            if alone is None:
                return None
            held.callback(alone.release)
        own = queue.claim(job.id)
        if own is None:
            return None
        held.callback(own.release)
        return held.pop_all()


def _claimed_in_turn(queue: JobQueue, job: Job, watch: Callable[[Job], None]) -> ExitStack | None:
    """Waits for the heavy job of another process to end; None where another process took this one up meanwhile."""
    try:
        while (held := claimed(queue, job)) is None and queue.get(job.id).state == "queued":
            watch(replace(job, message="waits for another job to end"))
            time.sleep(LOOK)
        return held
    except BaseException:
        queue.cancel(job.id)
        raise


def _watched(queue: JobQueue, job_id: int, ended: Callable[[], bool], watch: Callable[[Job], None]) -> Job:
    pause = threading.Event()
    while not ended():
        watch(queue.get(job_id))
        pause.wait(WRITE / 2)
    job = queue.get(job_id)
    watch(job)
    return job


def _run_claimed(workspace: Workspace, queue: JobQueue, context: JobContext, claim: ExitStack) -> None:
    """Runs a job to one of its ends."""
    ended = threading.Event()
    watcher = threading.Thread(target=_watch, args=(queue, context, ended), name=f"watch-{context.job.id}", daemon=True)
    watcher.start()
    try:
        state, values = _outcome(workspace, context)
    finally:
        ended.set()
        watcher.join()
    try:
        if state == "done":
            context.clear()
        if state == "queued":
            queue.put_back(context.job.id)
        else:
            queue.finish(context.job.id, state, **context.snapshot()[1], **values)
    finally:
        claim.close()


def _outcome(workspace: Workspace, context: JobContext) -> tuple[str, dict[str, Any]]:
    """(state, columns) after the function returned or raised."""
    context.log(f"begins, attempt {context.job.attempts + 1}")
    try:
        result = kind_named(context.job.kind).function()(context, workspace, **context.job.parameters)
    except Cancelled:
        context.log("interrupted" if context.interrupted else "cancelled")
        return ("queued", {}) if context.interrupted else ("cancelled", {})
    except BenthoscopeError as error:
        context.log(str(error))
        return "failed", {"error": str(error), "traceback": traceback.format_exc()}
    except Exception as error:
        context.log(traceback.format_exc())
        return "failed", {"error": f"{context.job.title}: {_cause(error)}", "traceback": traceback.format_exc()}
    context.log("done")
    return "done", {"result": dict(result or {}), "error": None, "traceback": None}


def _watch(queue: JobQueue, context: JobContext, ended: threading.Event) -> None:
    """Writes progress down and listens for requests to cancel, so that the work itself need not."""
    written = 0
    while not ended.wait(WRITE / 2):
        with contextlib.suppress(BenthoscopeError):
            if context.job.id in queue.cancel_requests():
                context.cancel()
            told, values = context.snapshot()
            if told != written:
                queue.note(context.job.id, **values)
                written = told


def _cause(error: Exception) -> str:
    if isinstance(error, MemoryError):
        return "not enough memory; close other programs, or use a smaller feature set"
    told = (str(error).strip().splitlines() or ["no message"])[0]
    return f"{type(error).__name__}: {told}; the job's log has the details"
