"""The rows of a feature set for models that learn from a stream: read in blocks, and never copied as a whole."""

from dataclasses import dataclass, replace

import numpy as np

from benthoscope.engine.features.compression import LinearProjection, PrincipalAxes
from benthoscope.engine.jobs.cluster.inputs import BLOCK, Rows, chosen_images, errors_name_images, kept_dimensions
from benthoscope.engine.mixtures.data import read_rows
from benthoscope.engine.problems import fail
from benthoscope.engine.workspace import Workspace
from benthoscope.engine.workspace.features import FeatureSet

MOST_VALUES = 2**26  # 500 MB: rows up to this size are read as a whole, for finer and coarser clusters
SPARSE = 8  # if fewer than one row in eight is needed, rows are looked up one by one


@dataclass(frozen=True, eq=False)
class FileRows:
    """Some rows of a feature set, along its features or along axes of large variance."""

    features: FeatureSet
    numbers: np.ndarray  # (N,) row numbers, ascending
    projection: LinearProjection | None = None

    @property
    def shape(self) -> tuple[int, int]:
        width = self.features.sidecar.width if self.projection is None else self.projection.axes.shape[1]
        return len(self.numbers), width

    def __len__(self) -> int:
        return len(self.numbers)

    def read(self, start: int, stop: int) -> np.ndarray:
        """Return the rows from start to stop."""
        return self.take(self.numbers[start:stop])

    def take(self, numbers: np.ndarray) -> np.ndarray:
        """Return rows by their numbers in the feature set (ascending)."""
        first, end = int(numbers[0]), int(numbers[-1]) + 1
        if end - first > SPARSE * len(numbers):
            rows = np.array(self.features.X[numbers])
        else:
            rows = read_rows(self.features.path, first, end)[numbers - first]
        return rows if self.projection is None else self.projection(rows)


def streamed_rows(workspace: Workspace, features: str, collection: str | None, dimensions: int | None) -> Rows:
    """Return the rows of a feature set as `chosen_rows` and `narrowed` do, but without their values in memory.

    If there are more rows than fit a block, the axes of largest variance come from evenly spaced rows.
    """
    chosen = chosen_images(workspace, features, collection)
    source = FileRows(chosen.features, np.flatnonzero(chosen.included))
    keep = kept_dimensions(len(source), source.shape[1], dimensions)
    rows = Rows(chosen.features, source, chosen.image_ids, chosen.groups)
    if keep == source.shape[1]:
        return rows
    sample = source.numbers[np.unique(np.linspace(0, len(source) - 1, min(len(source), BLOCK)).astype(int))]
    with errors_name_images(rows.features, np.asarray(rows.features.image_ids)[sample]):
        projection = PrincipalAxes(keep).fit(lambda: iter([source.take(sample)]), rng=np.random.default_rng(0))
    return replace(rows, values=replace(source, projection=projection), projection=projection)


def refuse_for_stream(model: str, hold_out: float, crowd: str | None) -> None:
    """Raise for options that need all rows in memory."""
    if hold_out:
        raise fail("hold-out", f"{model} reads its images once, in their order", "do not use hold-out")
    if crowd:
        raise fail("crowd", f"{model} cannot be steered by the answers of a crowd", "use another model, such as gmc")


def values_for_levels(rows: Rows) -> np.ndarray | None:
    """Return the rows in memory, for finer and coarser clusters; None if there are too many."""
    if not isinstance(rows.values, FileRows):
        return rows.values
    N, D = rows.values.shape
    return rows.values.read(0, N) if N * D <= MOST_VALUES else None
