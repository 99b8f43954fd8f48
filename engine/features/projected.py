"""A descriptor followed by a projection to fewer dimensions, both learned from the same images."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from engine.features.choices import named, spelled
from engine.features.compression import PrincipalAxes, Projection, RandomProjection
from engine.features.descriptor import Descriptor, Segments
from engine.progress import OnStep, Progress, ignore

REDUCERS = {"pca": PrincipalAxes, "random": RandomProjection}
BLOCK = 256  # rows handed to the reducer at a time: 22 MB of the longest descriptor


@dataclass(frozen=True)
class Projected:
    """`describe` gives the projected vectors, `raw` the long ones."""

    base: Descriptor
    reducer: PrincipalAxes | RandomProjection
    projection: Projection | None = field(default=None, repr=False, compare=False)

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
        return self.reducer.dimension if self.projection is None else self.projection.width

    @property
    def parameters(self) -> dict[str, Any]:
        return {**self.base.parameters, "projection": spelled(self.reducer, REDUCERS)}

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        own = {} if self.projection is None else asdict(self.projection)
        return {**self.base.arrays, **{f"projection.{name}": value for name, value in own.items()}}

    def fit(self, images: Iterable[np.ndarray], *, random_state=None, on_step: OnStep = ignore) -> "Projected":
        """`images` are walked over afresh for the descriptor and for the projection; a list, or an object that decodes
        as it is walked. Their long vectors are held while the projection is learned."""
        rng = np.random.default_rng(random_state)
        base = self.base.fit(images, random_state=rng, on_step=on_step)
        rows = []
        for done, image in enumerate(images):
            on_step(Progress(done, None, "describing the images to learn from"))
            rows.append(long_rows(base.describe(image)))
        return self.onto(base, rows, rng, on_step)

    def onto(self, base: Descriptor, rows: list[np.ndarray], rng: np.random.Generator, on_step: OnStep = ignore):
        """The descriptor with a learned `base` and the projection these long rows (arrays (n, D)) suggest."""
        return replace(self, base=base, projection=self.reducer.fit(lambda: blocks(rows), rng=rng, on_step=on_step))

    def describe(self, image: np.ndarray) -> np.ndarray | Segments:
        return self.shortened(self.base.describe(image))

    def shortened(self, described: np.ndarray | Segments) -> np.ndarray | Segments:
        """What the base descriptor said, projected."""
        if isinstance(described, Segments):
            return replace(described, vectors=self.projection(described.vectors))
        return self.projection(described)


def long_rows(described: np.ndarray | Segments) -> np.ndarray:
    """The vectors of one image as (n, D)."""
    return described.vectors if isinstance(described, Segments) else described[None]


def blocks(rows: list[np.ndarray]) -> Iterator[np.ndarray]:
    """The rows (each array (n, D)) joined into arrays of about BLOCK rows."""
    held: list[np.ndarray] = []
    count = 0
    for row in rows:
        held.append(row)
        count += len(row)
        if count >= BLOCK:
            yield np.concatenate(held)
            held, count = [], 0
    if held:
        yield np.concatenate(held)


def restored(base: Descriptor, parameters: dict[str, Any], arrays: dict[str, np.ndarray]) -> Projected:
    """The projected descriptor from its restored base and what `parameters` and `arrays` held."""
    learned = Projection(**arrays) if arrays else None
    return Projected(base, named(parameters, REDUCERS), learned)
