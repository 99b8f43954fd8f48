"""The interface of all descriptors, a descriptor followed by a projection, and the conversion of their settings to
JSON."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Protocol, Self

import numpy as np

from benthoscope.engine.features.compression import LinearProjection, PrincipalAxes, RandomProjection
from benthoscope.engine.progress import OnStep, Progress, ignore


@dataclass(frozen=True)
class Segments:
    """The segments of one image."""

    vectors: np.ndarray  # (S, D) float32
    mask: np.ndarray  # (H, W) int32: segment number of each pixel, at the size at which the image was described


class Describing(Protocol):
    """Whatever describes single images."""

    @property
    def longest(self) -> int | None:
        """Return the size in pixels at which images may be decoded; finer detail is not used."""

    def describe(self, image: np.ndarray) -> np.ndarray | Segments:
        """Return a float32 vector, or Segments, for an RGB uint8 image of any size. Does not change the image."""


class Descriptor(Describing, Protocol):
    """Describes images independently of each other.

    Properties of a collection (a dictionary, filters, principal axes) are learned once by `fit` and then stay fixed.
    Images can therefore be added later without describing the others again.
    """

    @property
    def name(self) -> str:
        """Return the name of the method."""

    @property
    def version(self) -> int:
        """Return a number that increases when the same parameters and image give different numbers."""

    @property
    def level(self) -> str:
        """Return "image" if describe returns a vector, "segment" if it returns Segments."""

    @property
    def width(self) -> int:
        """Return the number of values of a vector."""

    @property
    def parameters(self) -> dict[str, Any]:
        """Return all settings as JSON values. Together with `arrays` they rebuild the descriptor."""

    @property
    def arrays(self) -> Mapping[str, np.ndarray]:
        """Return the learned arrays; empty if nothing is learned."""

    def fit(self, images: Iterable[np.ndarray], *, random_state=None, on_step: OnStep = ignore) -> Self:
        """Return the descriptor trained on RGB uint8 images, which are read at least once."""


def spelled(choice: Any, kinds: Mapping[str, type]) -> dict[str, Any]:
    """Serialise a dataclass as {kind, settings}, with its name in `kinds`."""
    word = next(word for word, kind in kinds.items() if isinstance(choice, kind))
    return {"kind": word, **asdict(choice)}


def named(config: dict[str, Any], kinds: Mapping[str, type]) -> Any:
    """Rebuild the dataclass that `spelled` serialised."""
    settings = dict(config)
    return kinds[settings.pop("kind")](**settings)


REDUCERS = {"pca": PrincipalAxes, "random": RandomProjection}
BLOCK = 256  # rows projected at a time: 22 MB for the longest descriptor


@dataclass(frozen=True)
class Projected:
    """A descriptor followed by a projection. `describe` returns the projected vectors. `describe_further` returns them
    with the further columns of the projection, which are for classifiers."""

    base: Descriptor
    reducer: PrincipalAxes | RandomProjection
    projection: LinearProjection | None = field(default=None, repr=False, compare=False)

    @property
    def name(self) -> str:
        return self.base.name

    @property
    def version(self) -> int:
        return self.base.version

    @property
    def level(self) -> str:
        return self.base.level

    @property
    def longest(self) -> int | None:
        return self.base.longest

    @property
    def width(self) -> int:
        width = self.reducer.dimension
        return width if self.projection is None else min(width, self.projection.width)

    @property
    def further(self) -> int:
        """Return the number of further columns; 0 before training."""
        return 0 if self.projection is None else self.projection.width - self.width

    @property
    def parameters(self) -> dict[str, Any]:
        return {**self.base.parameters, "projection": spelled(self.reducer, REDUCERS)}

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        projection_arrays = {} if self.projection is None else asdict(self.projection)
        return {**self.base.arrays, **{f"projection.{name}": value for name, value in projection_arrays.items()}}

    def fit(self, images: Iterable[np.ndarray], *, random_state=None, on_step: OnStep = ignore) -> "Projected":
        """Train the descriptor and the projection. `images` is iterated once for each of them; it may be a list, or an
        object that decodes images on iteration. The long vectors stay in memory while the projection is learned."""
        rng = np.random.default_rng(random_state)
        base = self.base.fit(images, random_state=rng, on_step=on_step)
        rows = []
        for done, image in enumerate(images):
            on_step(Progress(done, None, "describing the training images"))
            rows.append(long_rows(base.describe(image)))
        return self.onto(base, rows, rng, on_step)

    def onto(self, base: Descriptor, rows: list[np.ndarray], rng: np.random.Generator, on_step: OnStep = ignore):
        """Return the trained `base` with a projection learned from these long rows (arrays (n, D))."""
        return replace(self, base=base, projection=self.reducer.fit(lambda: blocks(rows), rng=rng, on_step=on_step))

    def describe(self, image: np.ndarray) -> np.ndarray | Segments:
        described = self.describe_further(image)
        if isinstance(described, Segments):
            return replace(described, vectors=described.vectors[:, : self.width])
        return described[..., : self.width]

    def describe_further(self, image: np.ndarray) -> np.ndarray | Segments:
        """Return the projected vectors with their further columns."""
        return self.shortened(self.base.describe(image))

    def shortened(self, described: np.ndarray | Segments) -> np.ndarray | Segments:
        """Project the result of the base descriptor."""
        projection = self.projection
        assert projection is not None  # `fit` or `onto` learned it
        if isinstance(described, Segments):
            return replace(described, vectors=projection(described.vectors))
        return projection(described)


def all_columns(descriptor: Describing, image: np.ndarray) -> np.ndarray | Segments:
    """Describe an image by all columns that a feature set stores: those of `describe`, and further ones if any."""
    return descriptor.describe_further(image) if isinstance(descriptor, Projected) else descriptor.describe(image)


def long_rows(described: np.ndarray | Segments) -> np.ndarray:
    """Return the vectors of one image as (n, D)."""
    return described.vectors if isinstance(described, Segments) else described[None]


def blocks(rows: list[np.ndarray]) -> Iterator[np.ndarray]:
    """Join the rows (arrays (n, D)) into arrays of about BLOCK rows."""
    pending: list[np.ndarray] = []
    count = 0
    for row in rows:
        pending.append(row)
        count += len(row)
        if count >= BLOCK:
            yield np.concatenate(pending)
            pending, count = [], 0
    if pending:
        yield np.concatenate(pending)


def restored(base: Descriptor, parameters: dict[str, Any], arrays: dict[str, np.ndarray]) -> Projected:
    """Rebuild the projected descriptor from its base and the stored `parameters` and `arrays`."""
    learned = LinearProjection(**arrays) if arrays else None
    return Projected(base, named(parameters, REDUCERS), learned)
