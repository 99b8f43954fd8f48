"""The lineage of rows: which clump each row has joined. A look-up per row replaces the rows that were dropped.

Clumps only ever join larger clumps, so a row leads to its present clump by a chain of look-ups.
"""

from dataclasses import dataclass, replace

import numba
import numpy as np

from benthoscope.engine.streaming.compression import Compressed


@dataclass(frozen=True, eq=False)
class Lineage:
    """`row_clump` and `clump_parent` have spare room at the end; the first `rows` and `clumps` entries count."""

    point_rows: np.ndarray  # (P,) row number of each unit that is a row, ascending
    clump_numbers: np.ndarray  # (C,) number of each unit that is a clump, ascending
    rows: int = 0  # rows so far
    clumps: int = 0  # clumps so far, with those that joined others
    row_clump: np.ndarray | None = (
        None  # int32: clump of each row, -1 for a row that is a unit itself; None: not stored
    )
    clump_parent: np.ndarray | None = None  # int32: the clump that a clump joined, -1 for a present clump

    @classmethod
    def begin(cls, stored: bool) -> "Lineage":
        empty = np.empty(0, np.int64)
        table = np.empty(0, np.int32) if stored else None
        return cls(empty, empty, 0, 0, table, table)

    def with_rows(self, count: int) -> "Lineage":
        """Return the lineage with new rows, which are units of their own."""
        new = np.arange(self.rows, self.rows + count)
        table = None if self.row_clump is None else _grown(self.row_clump, self.rows, count)
        points = np.concatenate([self.point_rows, new])
        return replace(self, point_rows=points, rows=self.rows + count, row_clump=table)

    def compressed(self, result: Compressed) -> "Lineage":
        """Return the lineage after a compression."""
        P = len(self.point_rows)
        points, clumps = result.remaining[result.remaining < P], result.remaining[result.remaining >= P] - P
        new = self.clumps + np.arange(result.new_clumps)
        row_clump, clump_parent = self.row_clump, self.clump_parent
        if row_clump is not None and clump_parent is not None:
            clump_parent = _grown(clump_parent, self.clumps, len(new))
            joins = result.clump_of >= 0
            row_clump[self.point_rows[joins[:P]]] = self.clumps + result.clump_of[:P][joins[:P]]
            clump_parent[self.clump_numbers[joins[P:]]] = self.clumps + result.clump_of[P:][joins[P:]]
        return Lineage(
            self.point_rows[points],
            np.concatenate([self.clump_numbers[clumps], new]),
            self.rows,
            self.clumps + len(new),
            row_clump,
            clump_parent,
        )

    def without_tables(self) -> "Lineage":
        """Return the lineage without the look-ups of rows, which later rounds change in place."""
        return replace(self, row_clump=None, clump_parent=None)

    def units_of(self, row_numbers: np.ndarray) -> np.ndarray:
        """Return the present unit of each row (n,): rows first, then clumps."""
        rows = np.asarray(row_numbers, np.int64)
        clumps = present_clumps(self.row_clump, self.clump_parent, rows)
        as_point = np.searchsorted(self.point_rows, rows)
        as_clump = len(self.point_rows) + np.searchsorted(self.clump_numbers, clumps)
        return np.where(clumps < 0, as_point, as_clump)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the lineage as arrays without spare room."""
        stored = {}
        if self.row_clump is not None and self.clump_parent is not None:
            stored = {"row_clump": self.row_clump[: self.rows], "clump_parent": self.clump_parent[: self.clumps]}
        return {
            "point_rows": self.point_rows,
            "clump_numbers": self.clump_numbers,
            "rows": np.asarray(self.rows),
            "clumps": np.asarray(self.clumps),
            **stored,
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> "Lineage":
        tables = (np.array(arrays[name]) if name in arrays else None for name in ("row_clump", "clump_parent"))
        return cls(
            np.array(arrays["point_rows"]),
            np.array(arrays["clump_numbers"]),
            int(arrays["rows"]),
            int(arrays["clumps"]),
            *tables,
        )


def _grown(table: np.ndarray, used: int, count: int) -> np.ndarray:
    """Return a table with room for `count` more entries of -1. The room doubles, so growth costs little per row."""
    if used + count > len(table):
        room = np.full(max(2 * len(table), used + count), -1, np.int32)
        room[:used] = table[:used]
        return room
    return table


@numba.njit(cache=True, nogil=True)
def present_clumps(row_clump, clump_parent, rows):
    """Return the present clump of each row, or -1. Chains of clumps are shortened on the way."""
    result = np.empty(len(rows), np.int64)
    for i in range(len(rows)):
        clump = row_clump[rows[i]]
        if clump >= 0:
            last = clump
            while clump_parent[last] >= 0:
                last = clump_parent[last]
            while clump != last:
                following = clump_parent[clump]
                clump_parent[clump] = last
                clump = following
            row_clump[rows[i]] = last
            clump = last
        result[i] = clump
    return result
