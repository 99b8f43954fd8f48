"""Manual changes of clusters: splits, merges, moves, seeds and duplicates are events that assign images to other
clusters."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from benthoscope.engine.discriminative.optimisation import kmeans
from benthoscope.engine.problems import fail, unknown
from benthoscope.engine.workspace import Run, Workspace
from benthoscope.engine.workspace.labels.events import Event, standing
from benthoscope.engine.workspace.labels.log import LabelLog

ACTS = ("split", "merge", "move", "seed", "duplicate")


@dataclass(frozen=True)
class Arrangement:
    """The current clusters of a run: image ids (N,) sorted, and the cluster of each (N,)."""

    run_id: int
    images: np.ndarray
    clusters: np.ndarray

    @property
    def free(self) -> int:
        """Return an unused cluster number."""
        return int(self.clusters.max(initial=-1)) + 1

    def members(self, cluster: int) -> np.ndarray:
        return self.images[self.clusters == cluster]

    def sizes(self) -> dict[int, int]:
        numbers, counts = np.unique(self.clusters, return_counts=True)
        return dict(zip(numbers.tolist(), counts.tolist(), strict=True))

    def after(self, events: Iterable[Event]) -> "Arrangement":
        """Return the clusters after the effective events on this run, oldest first."""
        clusters = self.clusters.copy()
        for event in events:
            if event.kind == "arrange" and event.run_id == self.run_id:
                clusters[np.isin(self.images, event.images)] = event.rule["into"]
        return Arrangement(self.run_id, self.images, clusters)


def arrangement(run_id: int, images: np.ndarray, clusters: np.ndarray, events: Iterable[Event]) -> Arrangement:
    """Return the current clusters from a run's own clusters, given in any order, and later edits."""
    order = np.argsort(images)
    return Arrangement(run_id, np.asarray(images)[order], np.asarray(clusters)[order]).after(events)


def current_arrangement(workspace: Workspace, run: Run) -> Arrangement:
    """The clusters of a run with the cluster edits of people applied."""
    images, clusters = np.asarray(run.array("image_ids")), np.asarray(run.array("labels"))
    return arrangement(run.id, images, clusters, standing(workspace.labels.events()))


def features_of_images(workspace: Workspace, run: Run, images: np.ndarray) -> np.ndarray:
    """(n, D): the rows of the run's feature set of these images, in their order."""
    features = workspace.features.open(run.features)
    order = np.argsort(features.image_ids)
    positions = order[np.searchsorted(features.image_ids, images, sorter=order)]
    return np.asarray(features.X[np.sort(positions)])[np.argsort(np.argsort(positions))]


def split_cluster(
    workspace: Workspace, person_id: int, run: Run, cluster: int, images: Iterable[int] = ()
) -> list[int]:
    """Split a cluster: these images become a cluster of their own; without any the cluster is halved by k-means.

    Returns the numbers of the new clusters.
    """
    arranged, chosen = current_arrangement(workspace, run), np.array(sorted(set(images)), np.int64)
    members = arranged.members(cluster)
    if not len(members):
        raise unknown("clusters", str(cluster), map(str, np.unique(arranged.clusters)))
    if not len(chosen):
        if len(members) < 2:
            raise fail(f"cluster {cluster}", "has only one image", "choose one with several images")
        return split_in_two(workspace.labels, person_id, arranged, cluster, features_of_images(workspace, run, members))
    outside = np.setdiff1d(chosen, members)
    if len(outside):
        raise fail("split", f"image {outside[0]} is not in cluster {cluster}", "choose images of the cluster")
    return [split(workspace.labels, person_id, arranged, chosen)]


def split_in_two(log: LabelLog, person_id: int, arranged: Arrangement, cluster: int, features: np.ndarray) -> list[int]:
    """Halve a cluster by k-means on the features (n, D) of its members, in their order."""
    halves = kmeans(features.astype(np.float64), 2, np.random.default_rng(0), restarts=4)
    return split_in(log, person_id, arranged, cluster, halves, "k-means")


def split(log: LabelLog, person_id: int, arranged: Arrangement, images: np.ndarray, how: str = "by hand") -> int:
    """Move images to a new cluster. Returns its number."""
    return _put(log, person_id, arranged, "split", images, arranged.free, {"how": how})


def split_in(
    log: LabelLog, person_id: int, arranged: Arrangement, cluster: int, part_of_image: np.ndarray, how: str
) -> list[int]:
    """Split a cluster by a part number for each of its members (in order). Part 0 keeps the old number. Returns the new
    numbers; each part is one event."""
    members = arranged.members(cluster)
    new_clusters: list[int] = []
    for part_number in np.unique(part_of_image)[1:]:
        new_clusters.append(arranged.free + len(new_clusters))
        _put(log, person_id, arranged, "split", members[part_of_image == part_number], new_clusters[-1], {"how": how})
    return new_clusters


def merge(log: LabelLog, person_id: int, arranged: Arrangement, cluster: int, into: int) -> int:
    """Move the images of a cluster to another."""
    _known(arranged, into)
    return _put(log, person_id, arranged, "merge", arranged.members(cluster), into, {"cluster": cluster})


def move(log: LabelLog, person_id: int, arranged: Arrangement, images: np.ndarray, into: int) -> int:
    _known(arranged, into)
    return _put(log, person_id, arranged, "move", images, into, {})


def seed(log: LabelLog, person_id: int, arranged: Arrangement, image: int) -> int:
    """Create a cluster from one image, to be extended. Returns its number."""
    return _put(log, person_id, arranged, "seed", np.array([image]), arranged.free, {})


def mark_duplicate(log: LabelLog, person_id: int, arranged: Arrangement, cluster: int, of: int) -> int:
    """Mark a cluster as a duplicate of another. Its images join the other cluster; the log records that they were
    separate."""
    _known(arranged, of)
    return _put(log, person_id, arranged, "duplicate", arranged.members(cluster), of, {"cluster": cluster})


def nearest_to(rows: np.ndarray, position: int) -> np.ndarray:
    """Return all rows (N, D) by distance to one of them, to extend a seed."""
    return np.argsort(((rows - rows[position]) ** 2).sum(1), kind="stable")


def _put(
    log: LabelLog,
    person_id: int,
    arranged: Arrangement,
    command: str,
    images: np.ndarray,
    into: int,
    rule: Mapping[str, Any],
) -> int:
    if command not in ACTS:
        raise unknown("act on clusters", command, ACTS)
    strangers = np.setdiff1d(images, arranged.images)
    if len(strangers):
        raise fail(command, f"image {strangers[0]} is not in run {arranged.run_id}", "choose images of the current run")
    log.append(
        "arrange", person_id, images, why="arrange", run_id=arranged.run_id, rule={"act": command, "into": into, **rule}
    )
    return into


def _known(arranged: Arrangement, cluster: int) -> None:
    if cluster not in arranged.clusters:
        raise unknown("clusters", str(cluster), map(str, np.unique(arranged.clusters)))
