"""Processes that are started to be killed."""

import random
import signal
import time
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path

import numpy as np

import tests.example_jobs  # noqa: F401  (registers the kinds used here)
from engine.jobs import run_now
from engine.workspace import Workspace

CONTEXT = get_context("forkserver")  # a started interpreter with everything imported: fifty starts in a second
CONTEXT.set_forkserver_preload(["tests.faults.victims", "tests.example_jobs", "engine.jobs", "engine.workspace"])


@contextmanager
def running(function, *arguments):
    """A process that runs function(*arguments), and is surely gone after the block."""
    victim = CONTEXT.Process(target=function, args=arguments)
    victim.start()
    try:
        yield victim
    finally:
        victim.kill()
        victim.join()


def killed_at_a_random_moment(function, *arguments, within: float, draw: random.Random) -> None:
    """Starts the function in a process of its own and kills it, with no chance to clean up."""
    with running(function, *arguments) as victim:
        time.sleep(draw.uniform(0, within))
        victim.kill()
        victim.join()
        assert victim.exitcode in (-signal.SIGKILL, 0), "the victim died of something else"


def label_for_ever(folder: Path, acknowledged: Path) -> None:
    """Labels one image after the other and writes its number down only after it was acknowledged."""
    with Workspace.open(folder) as workspace, acknowledged.open("a") as file:
        person, term = workspace.people.named("Ann").id, 1
        for image in range(1, 10**6):
            number = workspace.labels.label(person, [image], term)
            file.write(f"{number}\n")
            file.flush()


def append_for_ever(folder: Path, acknowledged: Path) -> None:
    """Appends one row of features after the other, each full of its own number."""
    with (Workspace.open(folder) as workspace, acknowledged.open("a") as file,
          workspace.features.appending("f") as features):
        start = max(features.known, default=0) + 1
        for number in range(start, 10**6):
            features.append(np.array([number]), np.full((1, 8), number))
            file.write(f"{number}\n")
            file.flush()


def go_on(folder: Path, job_id: int) -> None:
    """Runs a job from wherever it was left."""
    with Workspace.open(folder) as workspace:
        run_now(workspace, "count", resume=job_id)


def import_folder(workspace: Path, images: Path) -> None:
    """Imports a folder, from wherever an earlier victim left it."""
    with Workspace.open(workspace) as opened:
        run_now(opened, "import", {"folder": str(images), "workers": 2})
