"""Small live dives for tests: images of three kinds of sea floor, written as a camera would."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from benthoscope.engine.jobs import run_now
from benthoscope.engine.jobs.live.starting import begin_dive, finish_dive
from benthoscope.engine.jobs.queue import Job, JobQueue
from benthoscope.engine.workspace import Workspace
from benthoscope.engine.workspace.live_dives import FINISH, LiveDive

COLOURS = ((200, 180, 120), (40, 90, 40), (60, 60, 140))
SETTINGS: Mapping[str, Any] = {"features": "colour", "first_images": 12, "epoch": 12, "dimensions": 4, "memory": 400}


def write_image(folder: Path, number: int, kind: int, *, name: str = "") -> Path:
    """Write an image of a kind of sea floor (0 to 2); its noise depends on the number."""
    rng = np.random.default_rng(number)
    pixels = np.array(COLOURS[kind]) + rng.normal(0, 14, (36, 48, 3))
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / (name or f"image_{number:04}.png")
    Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8)).save(path)
    return path


def write_images(folder: Path, count: int, *, first: int = 0, kinds: Sequence[int] = (0, 1, 2)) -> list[Path]:
    return [write_image(folder, number, kinds[number % len(kinds)]) for number in range(first, first + count)]


def start(workspace: Workspace, folder: Path, **settings: Any) -> LiveDive:
    folder.mkdir(parents=True, exist_ok=True)
    return begin_dive(workspace, folder, settings={**SETTINGS, **settings})


def watch_to_the_end(workspace: Workspace, dive: LiveDive) -> Job:
    """Take in everything in the folder, finish the dive and return the job."""
    if workspace.live.get(dive.id).is_watching and FINISH not in workspace.live.get(dive.id).requests:
        job = finish_dive(workspace, JobQueue(workspace), dive)
        return run_now(workspace, job.kind, resume=job.id)
    return run_now(workspace, "live dive", {"dive": dive.id})
