"""The settings of a live dive. Those of the learner may change while the dive goes on."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

from benthoscope.engine.parameters import ParameterHelp
from benthoscope.engine.problems import fail, unknown

if TYPE_CHECKING:
    from benthoscope.engine.streaming import MemoryBoundedVDP
    from benthoscope.engine.streaming.memory_need import MemoryNeed

SMALLEST_LEVEL = 0.001  # images are compared with a thousand others
CHANGEABLE = ("memory", "epoch", "horizon", "round_seconds", "level")


@dataclass(frozen=True)
class LiveSettings:
    features: str = "deep"  # the feature set; computed from the first images if it does not exist
    memory: int = 2_000  # rows of the budget
    epoch: int = 200  # images of a round
    first_images: int = 100  # images before the first round
    round_seconds: float = 120.0  # a round starts after this time even with fewer images
    dimensions: int = 16  # axes of largest variance that the learner uses
    width: float = 0.1
    horizon: int | None = None  # images the dive is expected to have
    level: float = 0.01  # the share of ordinary images that are novel by chance
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("memory", "epoch", "first_images", "dimensions"):
            _check(name, getattr(self, name), integer=True)
        if self.horizon is not None:
            _check("horizon", self.horizon, integer=True)
        for name in ("round_seconds", "width"):
            _check(name, getattr(self, name))
        if isinstance(self.seed, bool) or not isinstance(self.seed, int) or self.seed < 0:
            raise fail("seed", f"must be a whole number of at least 0 (got {self.seed})")
        _check("level", self.level)
        if not SMALLEST_LEVEL <= self.level < 1:
            raise fail(
                "level",
                f"must be at least {SMALLEST_LEVEL:g} and below 1 (got {self.level:g})",
                "use 0.01 for one image in a hundred",
            )

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def changed(self, **values: Any) -> "LiveSettings":
        """Return the settings with new values of those that may change during the dive."""
        for name in values:
            if name not in CHANGEABLE:
                raise fail(name, "cannot change while the dive goes on", f"these can: {', '.join(CHANGEABLE)}")
        return LiveSettings(**{**self.to_dict(), **values})

    def model(self) -> "MemoryBoundedVDP":
        """Return a new learner."""
        from benthoscope.engine.streaming import MemoryBoundedVDP  # slow to import

        return MemoryBoundedVDP(
            memory=self.memory,
            epoch=max(self.epoch, self.first_images),
            horizon=self.horizon,
            observation="diagonal",
            width=self.width,
            recent=1,  # a dive compares with its recent images in more ways, see `novelty`
            random_state=self.seed,
        )

    def need(self, n_features: int) -> "MemoryNeed":
        """Return the bytes that the learner takes for features of this width."""
        from benthoscope.engine.streaming.memory_need import memory_need  # slow to import

        return memory_need(self.model(), min(n_features, self.dimensions))


def live_settings(values: Mapping[str, Any]) -> LiveSettings:
    """Return the settings among these values. Raises BadInput for unknown names."""
    known = {entry.name for entry in fields(LiveSettings)}
    for name in values:
        if name not in known:
            raise unknown("settings of a live dive", name, known)
    return LiveSettings(**{name: value for name, value in values.items() if value is not None})


def _check(name: str, value: Any, *, integer: bool = False) -> None:
    is_number = isinstance(value, int) or (isinstance(value, float) and not integer)
    if isinstance(value, bool) or not is_number or not 0 < value < float("inf"):
        kind = "a whole number" if integer else "a number"
        raise fail(name, f"must be {kind} greater than 0 (got {value})")


HELP = {
    "features": ParameterHelp(
        "The feature set of whole images that describes each image. If it does not exist, the first images of the dive "
        "train its descriptor."
    ),
    "memory": ParameterHelp(
        "Budget of the learner, as a number of images whose features it can store. More memory allows more clusters.",
        1,
    ),
    "epoch": ParameterHelp("Number of images of a learning round.", 1),
    "first_images": ParameterHelp("Number of images before the first round, and for training a new descriptor.", 1),
    "round_seconds": ParameterHelp("A round starts after this many seconds, even if fewer images wait.", 0),
    "dimensions": ParameterHelp("Number of axes of largest variance that the learner uses.", 1),
    "width": ParameterHelp("The expected variance of a cluster, as a fraction of that of the first images.", 0),
    "horizon": ParameterHelp("Planned number of images of the dive; without it, twice as many as there are.", 1),
    "level": ParameterHelp("The share of ordinary images that are reported as novel by chance.", 0, 1),
    "seed": ParameterHelp("Seed of the random numbers.", 0),
}
