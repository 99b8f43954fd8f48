"""Decide whether an audited page was looked at: which images were visible, for how long, and whether that time really
passed.

The browser reports how long each tile had the person's attention: time in a focused window with at least half of the
tile visible. At each moment, only the first visible tile that is not yet complete counts, so no second counts twice.
The server measures the elapsed time itself and does not accept more.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from statistics import median

MIN_SECONDS = 0.25  # seconds of attention before an image counts as seen; a server setting
TURN_PAUSE = 0.4  # seconds after a page turn in which Enter is ignored, because a double press would skip the page
VERY_FAST = 0.4  # median seconds per image below which a check is called very fast
LATENCY = 0.5  # seconds by which a report may be ahead of the server's clock


@dataclass(frozen=True)
class Viewing:
    """Attention to the images of one page. Times are seconds of a monotonic clock; `seconds` are per image."""

    shown_at: float
    min_seconds: float = MIN_SECONDS
    seconds: Mapping[int, float] = field(default_factory=dict)

    def reported(self, seconds: Mapping[int, float], images: Iterable[int], moment: float) -> "Viewing":
        """Return the state after the attention reported by the browser. Other images are ignored, times never decrease,
        and their sum never exceeds the elapsed time."""
        latest = {image: max(float(seconds.get(image, 0.0)), self.seconds.get(image, 0.0)) for image in images}
        latest = {image: max(value, 0.0) for image, value in latest.items() if value == value}
        total, passed = sum(latest.values()), moment - self.shown_at + LATENCY
        if total > passed:
            latest = {image: value * passed / total for image, value in latest.items()}
        return replace(self, seconds=latest)

    def viewed(self, images: Iterable[int]) -> list[int]:
        """Return the images that count as seen, in order."""
        return [image for image in images if self.seconds.get(image, 0.0) >= self.min_seconds - 1e-6]

    def problem(self, images: Iterable[int], moment: float) -> str:
        """Return why these images cannot be answered yet; empty if they can."""
        listed = list(images)
        unseen = len(listed) - len(self.viewed(listed))
        passed = moment - self.shown_at
        if passed < TURN_PAUSE:
            return "the page has just changed; look at the images first"
        if unseen:
            return f"{unseen} of {len(listed)} images were not visible long enough"
        if passed + LATENCY < self.min_seconds * len(listed):
            return f"{passed:.1f} s is too short for {len(listed)} images"
        return ""

    def times(self, images: Iterable[int]) -> list[float]:
        """Return the seconds of attention to these images."""
        return [round(self.seconds.get(image, 0.0), 3) for image in images]


def typical_time(seconds: Iterable[float]) -> float | None:
    """Return the median seconds per image; None without images."""
    times = list(seconds)
    return float(median(times)) if times else None


def describe(n_viewed: int, seconds: float | None, typical: float | None) -> str:
    """Return "55 seen, 41 s", with a remark if that was very fast."""
    if seconds is None:
        return "viewing time not recorded"
    fast = ", very fast" if typical is not None and typical < VERY_FAST else ""
    return f"{n_viewed:,} seen, {seconds:,.0f} s{fast}"
