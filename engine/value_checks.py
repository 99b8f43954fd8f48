"""Check that array values can be used for computation. Errors name the row and the column."""

from dataclasses import dataclass

import numpy as np

from benthoscope.engine.problems import BadInput, Problem

LARGEST = 1e100  # largest magnitude of a float64 value; squares and sums of squares stay finite
LARGEST_FLOAT32 = 1e15  # the same for float32
REMEDY = "correct or remove these rows"


@dataclass(frozen=True)
class UnusableValues:
    """The first value that is missing, infinite or too large, and the number of rows with such values."""

    row: int
    column: int
    value: float
    rows: int

    @property
    def problem(self) -> str:
        """Return a description of the problem, without the row."""
        if np.isnan(self.value):
            name = "NaN"
        elif np.isinf(self.value):
            name = "inf"
        else:
            name = f"{self.value:g}, a value too large to compute with,"
        return f"contains {name} in column {self.column} ({self.rows} such rows in all)"


def largest_for(dtype: np.dtype) -> float:
    """Return the largest magnitude that arithmetic of this type can square and add up."""
    return LARGEST_FLOAT32 if dtype == np.float32 else LARGEST


def unusable_values(X: np.ndarray, largest: float = LARGEST, first_row: int = 0) -> UnusableValues | None:
    """Return the first unusable value of X (N, D), or None if all values are numbers of a magnitude up to `largest`.
    `first_row` is the number of row 0."""
    if not X.size or X.dtype.kind in "iub" or (X.min() >= -largest and X.max() <= largest):
        return None
    with np.errstate(invalid="ignore"):
        unusable = ~((-largest <= X) & (largest >= X))
    rows = np.flatnonzero(unusable.any(axis=1))
    column = int(np.flatnonzero(unusable[rows[0]])[0])
    return UnusableValues(first_row + int(rows[0]), column, float(X[rows[0], column]), len(rows))


class UnusableInput(BadInput):
    """An array with an unusable value. `name` is what the user calls the array."""

    def __init__(self, name: str, values: UnusableValues):
        super().__init__(Problem(f"{name} row {values.row}", values.problem, REMEDY))
        self.name, self.values = name, values

    def __reduce__(self):  # for process pools
        return type(self), (self.name, self.values)


def require_usable_values(X: np.ndarray, name: str = "X", largest: float | None = None) -> np.ndarray:
    """Return X. Raises if a value is missing, infinite or too large for its type."""
    values = unusable_values(X, largest_for(X.dtype) if largest is None else largest)
    if values is not None:
        raise UnusableInput(name, values)
    return X
