"""The rows of a clustering as a crowd sees them, and what the crowd says of the clusters found."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from engine.crowd import Bonds, bonds, settled, telling_axes
from engine.exchange.judgements import numbered
from engine.features.compression import Projection
from engine.jobs.rows import Rows, narrowed, supported
from engine.problems import fail
from engine.workspace import Run, Workspace

FEWEST_JUDGED = 20  # images that were asked about and are among the rows
JUDGED_AN_AXIS = 4  # of them for each dimension the crowd's axes are looked for in


@dataclass(frozen=True, eq=False)
class Steering:
    """`places` (n,) are the rows of images that were asked about; `held` binds them to each other."""

    run: Run
    places: np.ndarray
    held: Bonds

    def members(self, probability: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The cluster of each of the images asked about and its probability, from what the features say (n, K)."""
        found = settled(probability, self.held)
        best = found.argmax(1)
        return best, found[np.arange(len(best)), best]

    def told(self, labels: np.ndarray) -> dict[str, Any]:
        """What the run's summary says of it; `labels` are those of all rows."""
        together, apart = self.held.kept(labels[self.places])
        return {"run": self.run.id, "name": self.run.name, "images": len(self.places), "together": round(together, 3),
                "apart": round(apart, 3)}


def steering_by(workspace: Workspace, crowd: str, rows: Rows) -> Steering:
    """By the crowd's run of this number or name."""
    run = workspace.runs.named(str(crowd))
    held = run.parts()
    if "campaign" not in run.summary or "quality" not in held:
        raise fail(f"run {run.name}", "is not what a crowd said, as told by the method bayes",
                   "cluster the answers of a campaign first")
    asked = workspace.crowd.get(run.summary["campaign"])
    told = numbered(workspace.crowd.answers(asked.id), len(asked.images), len(workspace.crowd.workers(asked.id)))
    known = told.judgements.take(told.judgements.worker < len(held["quality"]))  # others came after the run
    all_held = bonds(known, np.asarray(held["confusion"]), np.bincount(held["labels"]), _trusted(held, known.n_workers))
    return Steering(run, *_among(rows, asked.images, all_held))


def turned(rows: Rows, steering: Steering, dimensions: int | None) -> Rows:
    """The rows along the axes that tell apart what people tell apart."""
    support = min(supported(len(rows.values)), max(len(steering.places) // JUDGED_AN_AXIS, 1))
    short = narrowed(rows, support)
    axes = telling_axes(short.values[steering.places], steering.held, dimensions or support)
    before = short.projection or _as_they_are(short)
    turn = Projection(before.centre, np.ascontiguousarray(before.axes @ axes, np.float32), np.empty(0))
    return replace(rows, values=turn(rows.values), projection=turn)


def _trusted(held: Any, n_workers: int) -> np.ndarray:
    looking = np.zeros(n_workers, bool)
    looking[: len(held["looking"])] = held["looking"]
    return looking


def _among(rows: Rows, images: np.ndarray, held: Bonds) -> tuple[np.ndarray, Bonds]:
    """(n,) rows of the images of both, and the bonds between their places in that list."""
    order = np.argsort(rows.image_ids, kind="stable")
    at = np.clip(np.searchsorted(rows.image_ids, images, sorter=order), 0, len(order) - 1)
    row = np.where(rows.image_ids[order[at]] == images, order[at], -1)
    used = np.zeros(len(images), bool)
    used[held.first], used[held.second] = True, True
    used &= row >= 0
    if used.sum() < FEWEST_JUDGED:
        raise fail("crowd", f"{used.sum()} of the images it was asked about are to be clustered",
                   "choose the images or the description it was asked about")
    place = np.where(used, np.cumsum(used) - 1, -1)
    both = used[held.first] & used[held.second]
    return row[used], Bonds(place[held.first[both]], place[held.second[both]], held.odds[both], held.beforehand)


def _as_they_are(rows: Rows) -> Projection:
    width = rows.values.shape[1]
    return Projection(np.zeros(width, np.float32), np.eye(width, dtype=np.float32), np.empty(0))
