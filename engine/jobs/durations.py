"""Record how long jobs took on this machine, and estimate how long a new one will take, as a range.

Each finished import, description and clustering adds one line to a file of this user on this machine. An estimate
scales measurements of the same kind of work to the new size. Without measurements, it is marked as a rough guess.
`StepRate` measures the speed of a running job.
"""

import json
import os
import platform
import sys
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from math import isnan, nan
from pathlib import Path

from benthoscope.engine.progress import format_duration

MOST_LINES = 500  # newest measurements that are read
NEAREST = 5  # measurements closest in size that give the range
AS_NEAR = 3.0  # largest ratio of sizes to the closest one
LEAST_SECONDS = 1.0  # shorter jobs measure the start of the program, not the work
# Variation of the same work between days, as a factor: other programs and the content of images differ.
BEST_DAY, WORST_DAY = 0.6, 1.7
# Growth of time with size: from below linear to quadratic. Measured exponents from 240 to 1,501 images: import 0.5,
# features 0.8, cluster 0.45.
GROWTH = {
    "import": (0.4, 1.05),
    "features": (0.7, 1.05),
    "cluster": (0.3, 1.1),
    "cluster in rounds": (0.8, 1.2),
    "cluster pairs": (0.8, 1.1),
    "extend topics": (0.3, 1.1),
}
# Seconds for one unit of work on one core of an ordinary laptop, see `image_work` and `row_work`. Clustering in rounds
# is not in it: its time depends most on the number of clusters, so it is unknown until it was measured.
ROUGH = {
    ("import", ""): 0.012,
    ("features", "deep"): 0.03,
    ("features", "scspm"): 0.05,
    ("features", "rp"): 0.05,
    ("features", "segments"): 0.09,
    ("features", "colour"): 0.012,
    ("features", "mean"): 0.006,
    ("cluster", ""): 3e-6,
    ("cluster pairs", ""): 2e-10,
    ("extend topics", ""): 2e-6,
}
ROUGH_LOW, ROUGH_HIGH = 1 / 3, 5.0
SLOW_START = 3.0  # seconds of a rough guess that do not depend on size


@dataclass(frozen=True)
class Measurement:
    """One finished job. `what` is the descriptor or the model, `work` the size of the job in units of its kind."""

    kind: str
    what: str
    work: float
    seconds: float
    machine: str = ""
    at: float = 0.0


@dataclass(frozen=True)
class Estimate:
    """Seconds from `low` to `high`; both are NaN if the time is not known. `measured` is False if this machine has not
    finished such a job yet."""

    low: float
    high: float
    measured: bool

    def __add__(self, other: "Estimate") -> "Estimate":
        return Estimate(self.low + other.low, self.high + other.high, self.measured and other.measured)

    def times(self, factor: float) -> "Estimate":
        return Estimate(self.low * factor, self.high * factor, self.measured)

    def __str__(self) -> str:
        if isnan(self.low):
            return "not known yet (this machine has not done it; the job shows the time left after its first rounds)"
        span = format_range(self.low, self.high)
        return span if self.measured else f"{span} (a rough guess: this machine has not done it yet)"


def image_work(images: int, megapixels: float) -> float:
    """Return the work for images of this average size: a part per image and a part per pixel."""
    return images * (1 + megapixels / 2)


def row_work(rows: int, width: int) -> float:
    """Return the work of clustering: each row updates a covariance."""
    return float(rows) * max(width, 1) ** 2


def pair_work(rows: int, width: int) -> float:
    """Return the work of comparing all pairs of rows."""
    return float(rows) ** 2 * max(width, 1)


def machine() -> str:
    return f"{platform.node()}, {os.cpu_count() or 1} cores"


def durations_file() -> Path:
    """Return the file of this user's measurements."""
    if sys.platform == "darwin":
        folder = Path.home() / "Library" / "Application Support"
    else:
        folder = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    return folder / "benthoscope" / "durations.jsonl"


def record(kind: str, variant: str, amount: float, seconds: float) -> None:
    """Store how long a job took. An unwritable file is not an error: the next estimate is a rough guess."""
    if seconds < LEAST_SECONDS or amount <= 0:
        return
    line = json.dumps(asdict(Measurement(kind, variant, amount, seconds, machine(), time.time())))
    try:
        path = durations_file()
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")
    except OSError:
        return


def measurements() -> list[Measurement]:
    """Return the newest measurements of this machine, oldest first. Unreadable lines are skipped."""
    try:
        lines = durations_file().read_text(encoding="utf-8", errors="replace").splitlines()[-MOST_LINES:]
    except OSError:
        return []
    return [
        measurement
        for measurement in map(_parsed, lines)
        if measurement is not None and measurement.machine == machine()
    ]


def estimate(kind: str, variant: str, amount: float, known: Iterable[Measurement] | None = None) -> Estimate:
    """Estimate the time for this work from the known measurements."""
    comparable = [
        measurement
        for measurement in (measurements() if known is None else known)
        if (measurement.kind, measurement.what) == (kind, variant)
    ]
    if amount <= 0:
        return Estimate(0.0, 0.0, True)
    if not comparable:
        return _rough_guess(kind, variant, amount)
    distance = {measurement: max(measurement.work / amount, amount / measurement.work) for measurement in comparable}
    nearest = sorted(distance, key=lambda measurement: distance[measurement])[:NEAREST]
    limit = AS_NEAR * distance[nearest[0]]
    spans = [_scaled(measurement, amount) for measurement in nearest if distance[measurement] <= limit]
    return Estimate(min(low for low, _ in spans), max(high for _, high in spans), True)


def format_range(low: float, high: float) -> str:
    """Return a range in words, in the unit of its end: "8 to 15 min"."""
    if high < 10:
        return "less than 10 s"
    if high < 90:
        return f"{max(round(low), 1)} to {round(high)} s"
    unit, name = (60, "min") if high < 90 * 60 else (3600, "h")
    first, last = low / unit, high / unit
    if name == "h":
        return f"{first:.1f} to {last:.1f} h"
    if first < 1:
        return f"{format_duration(max(low, 1))} to {max(round(last + 0.4), 2)} min"
    return f"{int(first)} to {round(last + 0.4)} min"


def _scaled(measurement: Measurement, amount: float) -> tuple[float, float]:
    ratio = amount / measurement.work
    ends = [measurement.seconds * ratio**power for power in GROWTH[measurement.kind]]
    return min(ends) * BEST_DAY, max(ends) * WORST_DAY


def _rough_guess(kind: str, variant: str, amount: float) -> Estimate:
    """Estimate from the speed of an ordinary laptop, with a range wide enough for other machines. NaN if no speed is
    known."""
    if kind not in {known_kind for known_kind, _ in ROUGH}:
        return Estimate(nan, nan, False)
    words = variant.split("+") if kind == "features" else [variant if (kind, variant) in ROUGH else ""]
    seconds = sum(ROUGH.get((kind, word), ROUGH["features", "segments"]) for word in words) * amount
    seconds = SLOW_START + (seconds if kind == "cluster" else seconds / (os.cpu_count() or 1))
    return Estimate(seconds * ROUGH_LOW, seconds * ROUGH_HIGH, False)


def _parsed(line: str) -> Measurement | None:
    try:
        return Measurement(**json.loads(line))
    except (ValueError, TypeError):
        return None
