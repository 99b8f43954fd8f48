"""Track files in the formats of vehicle operators: an older and a newer one."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from benthoscope.sample_data.dives import Dive, Frame
from benthoscope.sample_data.truth import table

COLUMNS = (
    "year",
    "month",
    "day",
    "hour",
    "minute",
    "second",
    "latitude",
    "longitude",
    "depth",
    "north",
    "east",
    "roll",
    "pitch",
    "heading",
    "altitude",
    "leftimage",
    "rightimage",
)


@dataclass(frozen=True)
class TrackFile:
    name: str
    text: str


def track_file(dive: Dive) -> TrackFile:
    """Return the track of a dive; every second dive uses the older format."""
    return HABITS[dive.number % len(HABITS)](dive)


def newer(dive: Dive) -> TrackFile:
    """Write 18 columns: with a cluster label of 0, which means none, and image names with the ending of the archive."""
    rows = ((*_row(frame, ".tif"), 0) for frame in dive.frames)
    return TrackFile(f"{dive.name}_latlong.csv", table((*COLUMNS, "label"), rows))


def older(dive: Dive) -> TrackFile:
    """Write 17 columns below some lines of free text and a blank row; file names begin with the time."""
    stamp = dive.folder.removeprefix("r").removesuffix(f"_{dive.name}")
    preface = f"Synthetic vehicle track,{dive.name}\nPositions in WGS 84, angles in radians, lengths in metres\n"
    text = preface + table(COLUMNS, (_row(frame, ".png") for frame in dive.frames))
    head, first = text.split("rightimage\n", 1)
    return TrackFile(f"{stamp}_{dive.name}_latlong.csv", f"{head}rightimage\n\n{first}")


HABITS: tuple[Callable[[Dive], TrackFile], ...] = (newer, older)


def _row(frame: Frame, ending: str) -> tuple[object, ...]:
    when, stem = frame.when, frame.file.removesuffix(".jpg")
    second = when.second + when.microsecond / 1e6
    angles = (frame.roll, frame.pitch, math.remainder(frame.heading, 2 * math.pi))
    numbers = (frame.depth, frame.north, frame.east, *angles, frame.altitude)
    return (
        when.year,
        when.month,
        when.day,
        when.hour,
        when.minute,
        f"{second:.3f}",
        f"{frame.latitude:.8f}",
        f"{frame.longitude:.8f}",
        *(f"{number:.4f}" for number in numbers),
        stem + ending,
        stem.replace("_LC16", "_RM16") + ending,
    )
