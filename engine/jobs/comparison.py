"""Two runs side by side, and a run as a table."""

import csv
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from engine.metrics import adjusted_rand, v_measure
from engine.problems import fail
from engine.workspace import Run, Workspace
from engine.workspace.files import replacing

A_SHARE = 0.1  # of a cluster: a smaller part is a few strays, not a piece it was split into


@dataclass(frozen=True)
class Comparison:
    """Two partitions of the images both runs have; `table` counts images (clusters of one, clusters of the other)."""

    one: Run
    other: Run
    image_ids: np.ndarray
    table: np.ndarray
    v_measure: float
    adjusted_rand: float

    def ordered(self) -> tuple[np.ndarray, np.ndarray]:
        """Orders of rows and columns that bring the large counts to the diagonal: largest clusters first, each
        followed by its most like."""
        rows = np.argsort(-self.table.sum(1), kind="stable")
        partner = self.table[rows].argmax(0)
        return rows, np.lexsort((-self.table.sum(0), partner))

    def splits(self) -> dict[str, list[dict[str, Any]]]:
        """For each run the clusters that the other one has in several pieces."""
        return {"one": _splits(self.table), "other": _splits(self.table.T)}

    def told(self) -> dict[str, Any]:
        return {"images": len(self.image_ids), "v_measure": self.v_measure, "adjusted_rand": self.adjusted_rand,
                "one": _facts(self.one, self.table.sum(1)), "other": _facts(self.other, self.table.sum(0)),
                "splits": self.splits(), "table": self.table.tolist()}


def compare_runs(one: Run, other: Run) -> Comparison:
    """Compares on the images that both runs have."""
    ids, in_one, in_other = np.intersect1d(one.array("image_ids"), other.array("image_ids"), return_indices=True)
    if not len(ids):
        raise fail(f"runs {one.name} and {other.name}", "have no image in common", "compare runs of one collection")
    a, b = one.array("labels")[in_one], other.array("labels")[in_other]
    table = np.zeros((one.summary["clusters"], other.summary["clusters"]), np.int64)
    np.add.at(table, (a, b), 1)
    return Comparison(one, other, ids, table, float(v_measure(a, b)), float(adjusted_rand(a, b)))


def write_assignments(workspace: Workspace, run: Run, path: Path) -> int:
    """A CSV of every image with its dive, cluster and probability; how many."""
    groups = {group.id: group.name for group in workspace.library.groups()}
    found = {number: (label, f"{share:.4f}") for number, label, share in
             zip(run.array("image_ids").tolist(), run.array("labels"), run.array("probability"), strict=True)}
    images = workspace.library.images(found)  # those the catalogue still knows
    text = io.StringIO()
    table = csv.writer(text)
    table.writerow(["image", "dive", "cluster", "probability"])
    table.writerows([image.path, groups[image.group_id], *found[image.id]] for image in images)
    with replacing(path) as file:
        file.write(text.getvalue().encode("utf-8"))
    return len(images)


def _splits(table: np.ndarray) -> list[dict[str, Any]]:
    found = []
    for number, row in enumerate(table):
        pieces = np.flatnonzero(row >= max(A_SHARE * row.sum(), 1))
        if len(pieces) > 1:
            found.append({"cluster": number, "into": pieces[np.argsort(-row[pieces])].tolist()})
    return found


def _facts(run: Run, sizes: np.ndarray) -> dict[str, Any]:
    return {"id": run.id, "name": run.name, "clusters": run.summary["clusters"],
            "held_out": run.summary.get("held_out"), "sizes": sizes.tolist()}
