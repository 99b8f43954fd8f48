"""Clusters changed by hand: splits, merges, moves, seeds and duplicates are events that put images elsewhere."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.problems import fail, unknown
from engine.workspace.events import Event
from engine.workspace.labels import LabelLog

ACTS = ("split", "merge", "move", "seed", "duplicate")


@dataclass(frozen=True)
class Arrangement:
    """The clusters of a run as they now are: image ids (N,) sorted, and the cluster of each (N,)."""

    run_id: int
    images: np.ndarray
    clusters: np.ndarray

    @property
    def free(self) -> int:
        """A cluster number nobody has."""
        return int(self.clusters.max(initial=-1)) + 1

    def members(self, cluster: int) -> np.ndarray:
        return self.images[self.clusters == cluster]

    def sizes(self) -> dict[int, int]:
        numbers, counts = np.unique(self.clusters, return_counts=True)
        return dict(zip(numbers.tolist(), counts.tolist(), strict=True))

    def after(self, events: Iterable[Event]) -> "Arrangement":
        """With the standing acts on this run's clusters done, oldest first."""
        clusters = self.clusters.copy()
        for event in events:
            if event.kind == "arrange" and event.run_id == self.run_id:
                clusters[np.isin(self.images, event.images)] = event.rule["into"]
        return Arrangement(self.run_id, self.images, clusters)


def arrangement(run_id: int, images: np.ndarray, clusters: np.ndarray, events: Iterable[Event]) -> Arrangement:
    """Of a run's own clusters, given in any order, and what people made of them since."""
    order = np.argsort(images)
    return Arrangement(run_id, np.asarray(images)[order], np.asarray(clusters)[order]).after(events)


def split(log: LabelLog, person_id: int, now: Arrangement, images: np.ndarray, how: str = "by hand") -> int:
    """Makes images a cluster of their own; its number."""
    return _put(log, person_id, now, "split", images, now.free, {"how": how})


def split_in(log: LabelLog, person_id: int, now: Arrangement, cluster: int, parts: np.ndarray, how: str) -> list[int]:
    """Splits a cluster by a part number for each of its members (in their order); part 0 keeps the old number. The
    numbers of the others, each one act."""
    members, found = now.members(cluster), []
    for part in np.unique(parts)[1:]:
        found.append(now.free + len(found))
        _put(log, person_id, now, "split", members[parts == part], found[-1], {"how": how})
    return found


def merge(log: LabelLog, person_id: int, now: Arrangement, cluster: int, into: int) -> int:
    """Puts a cluster's images into another."""
    _known(now, into)
    return _put(log, person_id, now, "merge", now.members(cluster), into, {"cluster": cluster})


def move(log: LabelLog, person_id: int, now: Arrangement, images: np.ndarray, into: int) -> int:
    _known(now, into)
    return _put(log, person_id, now, "move", images, into, {})


def seed(log: LabelLog, person_id: int, now: Arrangement, image: int) -> int:
    """Begins a cluster with one image, to be grown; its number."""
    return _put(log, person_id, now, "seed", np.array([image]), now.free, {})


def mark_duplicate(log: LabelLog, person_id: int, now: Arrangement, cluster: int, of: int) -> int:
    """Says that a cluster is the same as another: its images join it, and that they were apart is known."""
    _known(now, of)
    return _put(log, person_id, now, "duplicate", now.members(cluster), of, {"cluster": cluster})


def nearest_to(rows: np.ndarray, place: int) -> np.ndarray:
    """All rows (N, D) by distance to one of them: what a seed may grow by."""
    return np.argsort(((rows - rows[place]) ** 2).sum(1), kind="stable")


def _put(log: LabelLog, person_id: int, now: Arrangement, act: str, images: np.ndarray, into: int,
         rule: Mapping[str, Any]) -> int:
    if act not in ACTS:
        raise unknown("act on clusters", act, ACTS)
    strangers = np.setdiff1d(images, now.images)
    if len(strangers):
        raise fail(act, f"image {strangers[0]} is not in run {now.run_id}", "choose images of the run in view")
    log.act("arrange", person_id, images, why="arrange", run_id=now.run_id, rule={"act": act, "into": into, **rule})
    return into


def _known(now: Arrangement, cluster: int) -> None:
    if cluster not in now.clusters:
        raise unknown("clusters", str(cluster), map(str, np.unique(now.clusters)))
