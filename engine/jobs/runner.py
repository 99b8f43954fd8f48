"""Take jobs from the queue and run them on threads of this process."""

import contextlib
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import Any

from benthoscope.engine.jobs.context import JobContext
from benthoscope.engine.jobs.kinds import kind_named
from benthoscope.engine.jobs.queue import Job, JobQueue
from benthoscope.engine.problems import BenthoscopeError, Problem
from benthoscope.engine.progress import Cancelled
from benthoscope.engine.workspace import Workspace
from benthoscope.engine.workspace.database.writer import CatalogueError
from benthoscope.engine.workspace.storage.files import Claim

LOOK = 0.25  # seconds between checks of the queue, for jobs that another process added
ORPHANS = 20  # checks between two searches for jobs that lost their process
PATIENCE = 60.0  # seconds for which a command repeats the last write of its job
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 10.0  # seconds between two attempts at that write
WRITE = 0.5  # seconds between two writes of progress, so that they do not fill the writer's queue


class JobRunner:
    """Runs light jobs immediately and heavy jobs one at a time, highest priority first. Start it once per process.
    Several processes on one workspace share the jobs."""

    def __init__(self, workspace: Workspace, *, light: int = 4):
        self._workspace, self._queue = workspace, JobQueue(workspace)
        self._room = {True: 1, False: light}
        self._running: dict[int, tuple[JobContext, threading.Thread]] = {}
        self._ended: set[threading.Thread] = set()  # of jobs; such a thread may still be alive for a moment
        self._stop, self._woken = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._look_after, name="jobs", daemon=True)

    def start(self) -> "JobRunner":
        self._queue.requeue_orphans()
        self._thread.start()
        return self

    def stop(self) -> None:
        """Interrupt running jobs and put them back into the queue, to resume from their checkpoint at the next
        start."""
        self._stop.set()
        self._woken.set()
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
        rounds = 0
        with self._queue.changes.wake(self._woken):
            while not self._stop.is_set():
                rounds += 1
                with contextlib.suppress(BenthoscopeError, OSError):  # a busy or full disk; try again soon
                    if rounds % ORPHANS == 0:
                        self._queue.requeue_orphans()
                    self._take_up_waiting()
                self._woken.wait(LOOK)
                self._woken.clear()

    def _take_up_waiting(self) -> None:
        for number in [number for number, (_, thread) in self._running.items() if thread in self._ended]:
            self._ended.discard(self._running.pop(number)[1])
        waiting = [job for job in self._queue.unfinished() if job.state == "queued"]
        for queued in waiting:
            if self._has_room(queued.heavy):
                self._take_up(queued)

    def _has_room(self, heavy: bool) -> bool:
        running = sum(context.job.heavy == heavy for context, _ in self._running.values())
        return running < self._room[heavy]

    def _take_up(self, queued: Job) -> None:
        claim = claimed(self._queue, queued)
        if claim:
            context = JobContext(queued, self._queue.folder(queued.id))
            thread = threading.Thread(target=self._run, args=(context, claim), name=f"job-{queued.id}", daemon=True)
            self._running[queued.id] = context, thread
            thread.start()

    def _run(self, context: JobContext, claim: ExitStack) -> None:
        try:
            _run_claimed(self._workspace, self._queue, context, claim)
        finally:
            self._ended.add(threading.current_thread())
            self._woken.set()  # there is room for the next job


def run_now(
    workspace: Workspace,
    kind: str,
    parameters: Mapping[str, Any] | None = None,
    *,
    title: str | None = None,
    watch: Callable[[Job], None] = lambda job: None,
    resume: int | None = None,
) -> Job:
    """Queue a job and run it in this process, as commands do. `watch` is called every half second in this thread. If it
    raises (in particular KeyboardInterrupt), the job is cancelled and the error is passed on."""
    queue = JobQueue(workspace)
    queue.requeue_orphans()
    job = queue.get(resume) if resume else queue.add(kind, parameters, title=title)
    claim = _claimed_in_turn(queue, job, watch)
    if claim is None:  # a running server took the job
        return _watched(queue, job.id, partial(_wait_for_end, queue, job.id), watch)
    context = JobContext(job, queue.folder(job.id))
    run = (workspace, queue, context, claim, PATIENCE)
    thread = threading.Thread(target=_run_claimed, args=run, name=f"job-{job.id}")
    thread.start()
    try:
        ended = _watched(queue, job.id, partial(_joined, thread), watch)
    except BaseException:
        context.cancel()
        thread.join()
        raise
    if ended.state == "running":
        raise CatalogueError(
            Problem(
                job.title,
                "has ended, but how it ended could not be stored",
                f"free some space, then `benthoscope jobs retry {job.id}`",
            )
        )
    return ended


def claimed(queue: JobQueue, job: Job) -> ExitStack | None:
    """Claim the job and, if it is heavy, the lock of the only heavy job."""
    with ExitStack() as stack:
        if job.heavy:
            alone = Claim.acquire(queue.heavy_lock)
            if alone is None:
                return None
            stack.callback(alone.release)
        claim = queue.claim(job.id)
        if claim is None:
            return None
        stack.callback(claim.release)
        return stack.pop_all()


def _claimed_in_turn(queue: JobQueue, job: Job, watch: Callable[[Job], None]) -> ExitStack | None:
    """Wait for the heavy job of another process to end. None if another process took this job in the meantime."""
    try:
        while (claim := claimed(queue, job)) is None and queue.get(job.id).state == "queued":
            watch(replace(job, message="waiting for another job to end"))
            time.sleep(LOOK)
        return claim
    except BaseException:
        queue.cancel(job.id)
        raise


def _watched(queue: JobQueue, job_id: int, ends_within: Callable[[float], bool], watch: Callable[[Job], None]) -> Job:
    """Watch a job until it ends. `ends_within` waits for the end for so many seconds at most, and returns whether the
    job has ended."""
    pause = 0.0
    while not ends_within(pause):
        watch(queue.get(job_id))
        pause = WRITE / 2
    job = queue.get(job_id)
    watch(job)
    return job


def _joined(thread: threading.Thread, seconds: float) -> bool:
    thread.join(seconds)
    return not thread.is_alive()


def _wait_for_end(queue: JobQueue, job_id: int, seconds: float) -> bool:
    """Wait for the end of a job of another process."""
    if queue.get(job_id).finished:
        return True
    time.sleep(seconds)
    return False


def _run_claimed(
    workspace: Workspace, queue: JobQueue, context: JobContext, claim: ExitStack, patience: float | None = None
) -> None:
    """Run a job until it ends and store its outcome. The claim is always released.

    `patience` is the number of seconds for which a failing last write is repeated; None: until the process closes.
    """
    ended, woken = threading.Event(), threading.Event()
    with claim, queue.changes.wake(woken):
        watcher = threading.Thread(
            target=_watch, args=(queue, context, ended, woken), name=f"watch-{context.job.id}", daemon=True
        )
        watcher.start()
        try:
            state, values = _outcome(workspace, context)
        finally:
            ended.set()
            woken.set()
            watcher.join()
        if _store_outcome(queue, context, state, values, patience) and state == "done":
            context.clear()


def _store_outcome(
    queue: JobQueue, context: JobContext, state: str, values: Mapping[str, Any], patience: float | None
) -> bool:
    """Write the outcome, repeatedly if the database fails. Returns False if this had to be given up."""
    pause, until = FIRST_PAUSE, None if patience is None else time.monotonic() + patience
    while True:
        try:
            _write_outcome(queue, context, state, values)
            return True
        except Exception as error:
            context.log(f"its end ({state}) could not be stored: {error}")
        if context.interrupted or (until is not None and time.monotonic() >= until):
            return False
        context.interruption.wait(pause)
        pause = min(2 * pause, LONGEST_PAUSE)


def _write_outcome(queue: JobQueue, context: JobContext, state: str, values: Mapping[str, Any]) -> None:
    if state == "queued":
        queue.put_back(context.job.id)
        return
    try:
        queue.finish(context.job.id, state, **context.snapshot()[1], **values)
    except CatalogueError:  # a full disk or a lost connection, which may be temporary
        raise
    except Exception as error:  # the result contains something that this database cannot store
        context.log(traceback.format_exc())
        remark = f"{context.job.title}: its result could not be stored ({type(error).__name__}); see the job's log"
        queue.finish(context.job.id, state, error=values.get("error") or remark)


def _outcome(workspace: Workspace, context: JobContext) -> tuple[str, dict[str, Any]]:
    """Return (state, columns) after the function returned or raised."""
    context.log(f"started, attempt {context.job.attempts + 1}")
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


def _watch(queue: JobQueue, context: JobContext, ended: threading.Event, woken: threading.Event) -> None:
    """Store progress and check for cancellation requests, so that the work itself need not."""
    written, logged = 0, ""
    while not _waited(ended, woken):
        try:
            if context.job.id in queue.cancel_requests():
                context.cancel()
            state, values = context.snapshot()
            if state != written:
                queue.note(context.job.id, **values)
                written = state
        # the next attempt may succeed; without the watcher, no cancellation request would be noticed
        except Exception as error:
            if str(error) != logged:
                logged = str(error)
                context.log(f"progress could not be stored: {error}")


def _waited(ended: threading.Event, woken: threading.Event) -> bool:
    """Wait for the next look at a running job. Returns whether the job has ended."""
    woken.wait(WRITE / 2)
    woken.clear()
    return ended.is_set()


def _cause(error: Exception) -> str:
    if isinstance(error, MemoryError):
        return "not enough memory; close other programs, or use a smaller feature set"
    message = (str(error).strip().splitlines() or ["no message"])[0]
    return f"{type(error).__name__}: {message}; the job's log has the details"
