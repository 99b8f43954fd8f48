"""Jobs for tests: they count, fail, or ignore the world, as asked."""

import time

import numpy as np

from benthoscope.engine.jobs.kinds import JobKind, register
from benthoscope.engine.problems import fail

COUNT = register(JobKind("count", "Count", "tests.example_jobs:count"))
LIGHT = register(JobKind("count-lightly", "Count lightly", "tests.example_jobs:count", heavy=False))
ODD = register(JobKind("odd", "Give an odd result", "tests.example_jobs:odd"))
TROUBLE = register(JobKind("trouble", "Make trouble", "tests.example_jobs:trouble"))


def count(job, workspace, *, steps, pause=0.0, path=None):
    """Appends every number once to a file that is only ever extended, and remembers in checkpoints how far it came."""
    state = job.load_checkpoint() or {"next": 0, "sums": np.zeros(2)}
    number, sums = state["next"], np.array(state["sums"])
    while number < steps:
        job.progress(number, steps, f"number {number}")
        if path:
            with open(path, "a") as file:  # noqa: PTH123
                file.write(f"{number}\n")
        sums += number
        number += 1
        job.save_checkpoint({"next": number, "sums": sums})
        time.sleep(pause)
    job.progress(steps, steps, "done")
    return {"total": float(sums[0])}


def trouble(job, workspace, *, kind):
    if kind == "input":
        raise fail("dive 3", "has no images", "import some")
    if kind == "memory":
        raise MemoryError
    raise KeyError("kelpp")


def odd(job, workspace, *, size=0):
    """Tells and gives what databases and JSON do not take: half a character, NUL, NaN, numpy numbers, objects."""
    job.progress(0, 1, "half \ud800", share=float("nan"))
    time.sleep(0.4)
    return {
        "text": "half \ud800 and \0",
        "share": float("inf"),
        "count": np.int64(3),
        "object": object,
        "padding": "x" * size,
    }
