"""All images of the workspace with their cluster in one run, as arrays that every view of a page shares.

Row i belongs to the i-th image by ascending id, here and in the browser. This index is called its position.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from benthoscope.app.session.app_state import AppState
from benthoscope.app.session.cache import IMAGES, RUNS
from benthoscope.app.session.image_table import ImageColumns
from benthoscope.engine.jobs.cluster.model_catalog import JOINT_SEGMENTATION
from benthoscope.engine.jobs.cluster.topic_summary import has_topics, topic_names
from benthoscope.engine.workspace import GroupSummary, Run

NONE = -1  # no cluster, no term


@dataclass(frozen=True)
class Atlas:
    columns: ImageColumns
    groups: tuple[GroupSummary, ...]  # dives or albums
    group: np.ndarray  # (N,) int32, index into groups
    run: Run | None
    labels: np.ndarray  # (N,) int32 cluster, NONE for images that are not in the run
    probability: np.ndarray  # (N,) float32 probability of that cluster, NaN without one

    def __len__(self) -> int:
        return len(self.columns)

    @cached_property
    def sizes(self) -> np.ndarray:
        """(K,): number of images in every cluster."""
        return np.bincount(self.labels[self.labels >= 0], minlength=self.clusters)

    @property
    def clusters(self) -> int:
        return 0 if self.run is None else int(self.run.summary.get("clusters", self.labels.max(initial=NONE) + 1))

    @cached_property
    def by_cluster(self) -> tuple[np.ndarray, np.ndarray]:
        """(positions sorted by cluster, (K + 1,) where each cluster begins)."""
        order = np.argsort(self.labels, kind="stable")
        order = order[np.searchsorted(self.labels[order], 0) :]
        return order, np.concatenate([[0], np.cumsum(self.sizes)])

    def members(self, cluster: int) -> np.ndarray:
        """Positions of the images of a cluster, ascending."""
        order, begins = self.by_cluster
        return order[begins[cluster] : begins[cluster + 1]]

    @cached_property
    def along(self) -> tuple[np.ndarray, np.ndarray]:
        """(positions dive by dive in the order taken, (G + 1,) where each dive begins)."""
        timestamps = np.where(np.isnan(self.columns.taken_at), np.inf, self.columns.taken_at)
        order = np.lexsort((np.arange(len(self)), timestamps, self.group))
        counts = np.bincount(self.group, minlength=len(self.groups))
        return order, np.concatenate([[0], np.cumsum(counts)])

    def track(self, group: int) -> np.ndarray:
        """Positions of a dive's images in the order in which they were taken."""
        order, begins = self.along
        return order[begins[group] : begins[group + 1]]

    @cached_property
    def mixtures(self) -> np.ndarray:
        """(G, K): share of every cluster in every dive, by counting; zeros for dives without clustered images."""
        known = self.labels >= 0
        flat = self.group[known].astype(np.int64) * self.clusters + self.labels[known]
        counts = np.bincount(flat, minlength=len(self.groups) * self.clusters)
        counts = counts.reshape(len(self.groups), self.clusters).astype(float)
        return counts / np.maximum(counts.sum(1, keepdims=True), 1)

    @cached_property
    def weights(self) -> np.ndarray:
        """(G, K): mixtures of the model, or counted shares for dives that are not in the run."""
        weights = self.mixtures.copy()
        if self.run is not None and {"weights", "group_ids"} <= arrays_of(self.run):
            row = {number: at for at, number in enumerate(self.run.array("group_ids").tolist())}
            for at, summary in enumerate(self.groups):
                if summary.group.id in row:
                    weights[at] = self.run.array("weights")[row[summary.group.id]]
        return weights

    def index_of_group(self, group_id: int) -> int | None:
        return next((at for at, summary in enumerate(self.groups) if summary.group.id == group_id), None)


def atlas_of(app: AppState, run_id: int | None) -> Atlas:
    """The images with the clusters of this run, or of the current one; cached until images change."""
    run = app.run(run_id)
    return app.cached(("atlas", run.id if run else None), lambda: _made(app, run), IMAGES)


def _made(app: AppState, run: Run | None) -> Atlas:
    columns, groups = app.columns, tuple(app.cached("dives", app.workspace.library.summaries, IMAGES))
    labels, probability = np.full(len(columns), NONE, np.int32), np.full(len(columns), np.nan, np.float32)
    if run is not None:
        positions, known = placed(columns, run.array("image_ids"))
        labels[positions] = run.array("labels")[known]
        if "probability" in arrays_of(run):
            probability[positions] = run.array("probability")[known]
        changed = changed_since(app, run.began_at)
        labels[changed], probability[changed] = NONE, np.nan
    return Atlas(columns, groups, _group_index(columns, groups), run, labels, probability)


def image_set(app: AppState, atlas: Atlas) -> dict[str, Any]:
    """Number, ids, version and run of all images, as every component that shows images needs them."""
    ids = app.cached("ids address", lambda: app.arrays.put(atlas.columns.ids.astype(np.int32)), IMAGES)
    return {
        "count": len(atlas),
        "ids_url": ids,
        "version": app.version,
        "run": atlas.run.id if atlas.run else None,
    }


def changed_since(app: AppState, moment: float) -> np.ndarray:
    """Positions of images whose file was replaced after this time; values computed before it are out of date."""
    replaced = app.cached("replaced images", app.workspace.library.replaced_images, IMAGES)
    ids = [number for number, (_, changed_at) in replaced.items() if changed_at > moment]
    return app.columns.positions(np.array(sorted(ids), np.int64))


def placed(columns: ImageColumns, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(positions, mask of the known ids); ids of removed images have no position."""
    ids = np.asarray(ids)
    if np.array_equal(ids, columns.ids):
        return np.arange(len(columns)), np.ones(len(ids), bool)
    known = np.isin(ids, columns.ids)
    return columns.positions(ids[known]), known


def arrays_of(run: Run) -> set[str]:
    return {path.stem for path in run.folder.glob("*.npy")}


def _group_index(columns: ImageColumns, groups: tuple[GroupSummary, ...]) -> np.ndarray:
    ids = np.array([summary.group.id for summary in groups], np.int64)
    order = np.argsort(ids)
    return order[np.searchsorted(ids, columns.group_ids, sorter=order)].astype(np.int32)


def is_of_topics(run: Run | None) -> bool:
    return run is not None and has_topics(run)


def names_of_topics(app: AppState, run: Run) -> tuple[str, ...]:
    """The name of each topic: the one that a person gave, or "Topic" and its number."""
    return app.cached(("topic names", run.id), lambda: topic_names(app.workspace, run), RUNS)


def is_joint_segmentation(run: Run | None) -> bool:
    """Whether every segment has a topic itself, without a vocabulary of kinds of patches."""
    return run is not None and run.model == JOINT_SEGMENTATION


def part_words(run: Run | None) -> tuple[str, str]:
    """The words for one part and several parts of an image in the run: patches for topics of patches, else segments."""
    if is_of_topics(run) and not is_joint_segmentation(run):
        return "patch", "patches"
    return "segment", "segments"


def cluster_word(run: Run | None) -> str:
    """The word for a cluster of images of the run: "Topic" for a run of topics, else "Cluster"."""
    return "Topic" if is_of_topics(run) else "Cluster"


def cluster_name(app: AppState, run: Run | None, number: int) -> str:
    """The name of one cluster of images. Clusters that people made in Review have numbers after those of the run."""
    topics = names_of_topics(app, run) if run is not None and is_of_topics(run) else ()
    if number < len(topics):
        return topics[number]
    numbered = f"{cluster_word(run)} {number}"
    return numbered if run is None or run.id is None else _given_names(app, run).get(number, numbered)


def _given_names(app: AppState, run: Run) -> dict[int, str]:
    """Return the names that people gave to clusters, such as those of a live dive. Equal names get the number, too."""
    names = app.cached(("cluster names", run.id), lambda: app.workspace.runs.cluster_names(run.id), RUNS)
    given = list(names.values())
    return {number: name if given.count(name) == 1 else f"{name} ({number})" for number, name in names.items()}


def cluster_names(app: AppState, atlas: Atlas) -> tuple[str, ...]:
    """The name of each cluster of images of the run."""
    return tuple(cluster_name(app, atlas.run, number) for number in range(atlas.clusters))
