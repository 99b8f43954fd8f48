"""Processes that tests start in order to kill them."""

import random
import signal
import time
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np

import tests.example_jobs  # noqa: F401  (registers the kinds used here)
from benthoscope.engine.jobs import run_now
from benthoscope.engine.workspace import Workspace
from benthoscope.engine.workspace.backup import Backup
from benthoscope.engine.workspace.features import Replacement

CONTEXT = get_context("forkserver")  # a started interpreter with everything imported: fifty starts in a second
CONTEXT.set_forkserver_preload(
    ["tests.faults.victims", "tests.example_jobs", "benthoscope.engine.jobs", "benthoscope.engine.workspace"]
)


@contextmanager
def running(function, *arguments):
    """Yield a process that runs function(*arguments). It has ended after the block."""
    victim = CONTEXT.Process(target=function, args=arguments)
    victim.start()
    try:
        yield victim
    finally:
        victim.kill()
        victim.join()


def killed_at_a_random_moment(function, *arguments, within: float, draw: random.Random) -> None:
    """Start the function in a separate process and kill it without any clean-up."""
    with running(function, *arguments) as victim:
        time.sleep(draw.uniform(0, within))
        victim.kill()
        victim.join()
        assert victim.exitcode in (-signal.SIGKILL, 0), "the victim died of something else"


def label_for_ever(folder: Path, acknowledged: Path) -> None:
    """Label one image after the other, and write its number down after the confirmation."""
    with Workspace.open(folder) as workspace, acknowledged.open("a") as file:
        person, term = workspace.people.named("Ann").id, 1
        for image in range(1, 10**6):
            number = workspace.labels.label(person, [image], term)
            file.write(f"{number}\n")
            file.flush()


def open_and_close_for_ever(folder: Path, sending: Connection) -> None:
    """Open and close a workspace repeatedly, and send a byte after each time."""
    while True:
        Workspace.open(folder).close()
        sending.send_bytes(b".")


def append_for_ever(folder: Path, acknowledged: Path) -> None:
    """Append one feature row after the other, each filled with its own number."""
    with (
        Workspace.open(folder) as workspace,
        acknowledged.open("a") as file,
        workspace.features.appending("f") as features,
    ):
        start = int(workspace.features.open("f").image_ids.max(initial=0)) + 1
        for number in range(start, 10**6):
            features.append(np.array([number]), np.full((1, 8), number))
            file.write(f"{number}\n")
            file.flush()


def rewrite_for_ever(folder: Path, acknowledged: Path) -> None:
    """Replace every second row of a feature set repeatedly, and note each round after it is finished."""
    with Workspace.open(folder) as workspace, acknowledged.open("a") as file:
        feature_set = workspace.features.open("f")
        turn = int(np.asarray(feature_set.X).max())
        keep = feature_set.image_ids % 2 == 1
        while True:
            turn += 1
            rows = np.full((1, 8), turn, np.float32)
            workspace.features.rewrite("f", keep, lambda image, rows=rows: Replacement(rows, b""))
            file.write(f"{turn}\n")
            file.flush()


def back_up_for_ever(folder: Path, target: Path) -> None:
    """Label and back up alternately."""
    with Workspace.open(folder) as workspace:
        person, backup = workspace.people.named("Ann").id, Backup.of(workspace, target)
        for image in range(1, 10**6):
            workspace.labels.label(person, [image], 1)
            backup.take(workspace)


def go_on(folder: Path, job_id: int) -> None:
    """Run a job from its last state."""
    with Workspace.open(folder) as workspace:
        run_now(workspace, "count", resume=job_id)


def import_folder(workspace: Path, images: Path) -> None:
    """Import a folder, continuing earlier imports."""
    with Workspace.open(workspace) as opened:
        run_now(opened, "import", {"folder": str(images), "workers": 2})


def draw_for_ever(folder: Path, acknowledged: Path) -> None:
    """Draw two random images at a time, write their ids down after they are stored, and answer them."""
    with Workspace.open(folder) as workspace, acknowledged.open("a") as file:
        person = workspace.people.named("Ann").id
        frame = workspace.sampling.frames("cover")[0]
        while draws := workspace.sampling.draw(frame, 2, person_id=person):
            for draw in draws:
                file.write(f"{draw.number} {draw.image_id}\n")
            file.flush()
            for draw in draws:
                event = workspace.labels.label(person, [draw.image_id], 1)
                workspace.sampling.record_answer(draw, 1, person, event=event)


def watch_live_dive(folder: Path, dive: int, rounds: int = 10**6) -> None:
    """Watch a live dive until it has this many rounds, as a server does after a restart."""
    from benthoscope.engine.jobs import JobQueue, JobRunner
    from benthoscope.engine.jobs.live.starting import stop_watch, watch_job

    with Workspace.open(folder) as workspace:
        queue = JobQueue(workspace)
        queue.requeue_orphans()
        watched = workspace.live.get(dive)
        watch_job(queue, watched)
        with JobRunner(workspace):
            while (last := workspace.live.last_round(dive)) is None or last.number < rounds:
                time.sleep(0.05)
            stop_watch(queue, watched)
            while queue.unfinished():
                time.sleep(0.05)
