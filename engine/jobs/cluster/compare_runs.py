"""Compare two runs, and export a run as a table."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benthoscope.engine.exchange.parsing.csv_output import csv_chunks
from benthoscope.engine.metrics import adjusted_rand, v_measure
from benthoscope.engine.problems import fail
from benthoscope.engine.workspace import Run, Workspace
from benthoscope.engine.workspace.storage.files import replacing

A_SHARE = 0.1  # fraction of a cluster; smaller parts are a few outliers, not a part of a split


@dataclass(frozen=True)
class Comparison:
    """Two clusterings of the images in both runs. `table` counts images (clusters of the first run, clusters of the
    second run)."""

    first: Run
    other: Run
    image_ids: np.ndarray
    table: np.ndarray
    v_measure: float
    adjusted_rand: float

    def ordered(self) -> tuple[np.ndarray, np.ndarray]:
        """Return orders of rows and columns that move large counts to the diagonal: largest clusters first, each
        followed by its best match."""
        rows = np.argsort(-self.table.sum(1), kind="stable")
        partner = self.table[rows].argmax(0)
        return rows, np.lexsort((-self.table.sum(0), partner))

    def splits(self) -> dict[str, list[dict[str, Any]]]:
        """Return, for each run, the clusters that the other run divides into several. Images without a cluster are none
        that could be divided, but they may be a part of one."""
        return {
            "one": _splits(self.table, self.first.without_cluster),
            "other": _splits(self.table.T, self.other.without_cluster),
        }

    def to_dict(self) -> dict[str, Any]:
        return {
            "images": len(self.image_ids),
            "v_measure": self.v_measure,
            "adjusted_rand": self.adjusted_rand,
            "one": _facts(self.first, self.table.sum(1)),
            "other": _facts(self.other, self.table.sum(0)),
            "splits": self.splits(),
            "table": self.table.tolist(),
        }


def compare_runs(first: Run, other: Run) -> Comparison:
    """Compare two runs on the images that both have."""
    ids, in_one, in_other = np.intersect1d(first.array("image_ids"), other.array("image_ids"), return_indices=True)
    if not len(ids):
        raise fail(
            f"runs {first.name} and {other.name}", "have no image in common", "compare runs of the same collection"
        )
    a, b = first.array("labels")[in_one], other.array("labels")[in_other]
    table = np.zeros((first.summary["clusters"], other.summary["clusters"]), np.int64)
    np.add.at(table, (a, b), 1)
    return Comparison(first, other, ids, table, float(v_measure(a, b)), float(adjusted_rand(a, b)))


def write_assignments(workspace: Workspace, run: Run, path: Path) -> int:
    """Write a CSV of all images with dive, cluster and, if available, probability. Returns the number of images."""
    groups = {group.id: group.name for group in workspace.library.groups()}
    arrays = run.arrays()
    known = "probability" in arrays
    shares = [f"{share:.4f}" for share in arrays["probability"]] if known else [""] * len(arrays["labels"])
    assignments = {
        number: (label, share)
        for number, label, share in zip(arrays["image_ids"].tolist(), arrays["labels"], shares, strict=True)
    }
    images = workspace.library.images(assignments)  # images that are still in the catalogue
    rows = ((image.path, groups[image.group_id], *assignments[image.id]) for image in images)
    with replacing(path) as file:
        file.writelines(csv_chunks(("image", "dive", "cluster", "probability"), rows))
    return len(images)


def _splits(table: np.ndarray, without_cluster: int | None) -> list[dict[str, Any]]:
    splits = []
    for number, row in enumerate(table):
        if number == without_cluster:
            continue
        pieces = np.flatnonzero(row >= max(A_SHARE * row.sum(), 1))
        if len(pieces) > 1:
            splits.append({"cluster": number, "into": pieces[np.argsort(-row[pieces])].tolist()})
    return splits


def _facts(run: Run, sizes: np.ndarray) -> dict[str, Any]:
    facts = {
        "id": run.id,
        "name": run.name,
        "clusters": run.summary["clusters"],
        "held_out": run.summary.get("held_out"),
        "sizes": sizes.tolist(),
    }
    return facts if run.without_cluster is None else {**facts, "without_cluster": run.without_cluster}
