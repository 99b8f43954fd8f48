"""All images of the workspace with their cluster in one run: arrays that every view of a page shares.

Row i belongs to the i-th image by ascending id, here and in the browser: its position.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from app.state.app_state import AppState
from app.state.columns import ImageColumns
from engine.workspace import GroupSummary, Run

NONE = -1  # no cluster, no term


@dataclass(frozen=True)
class Atlas:
    columns: ImageColumns
    groups: tuple[GroupSummary, ...]  # dives or albums
    group: np.ndarray                 # (N,) int32, index into groups
    run: Run | None
    labels: np.ndarray                # (N,) int32 cluster, NONE where the run does not know the image
    probability: np.ndarray           # (N,) float32 of that cluster, NaN where there is none

    def __len__(self) -> int:
        return len(self.columns)

    @cached_property
    def sizes(self) -> np.ndarray:
        """(K,): images of every cluster."""
        return np.bincount(self.labels[self.labels >= 0], minlength=self.clusters)

    @property
    def clusters(self) -> int:
        return 0 if self.run is None else int(self.run.summary.get("clusters", self.labels.max(initial=NONE) + 1))

    @cached_property
    def by_cluster(self) -> tuple[np.ndarray, np.ndarray]:
        """(positions sorted by cluster, (K + 1,) where each cluster begins)."""
        order = np.argsort(self.labels, kind="stable")
        order = order[np.searchsorted(self.labels[order], 0):]
        return order, np.concatenate([[0], np.cumsum(self.sizes)])

    def members(self, cluster: int) -> np.ndarray:
        """Positions of the images of a cluster, ascending."""
        order, begins = self.by_cluster
        return order[begins[cluster] : begins[cluster + 1]]

    @cached_property
    def along(self) -> tuple[np.ndarray, np.ndarray]:
        """(positions dive by dive in the order of the track, (G + 1,) where each dive begins)."""
        taken = np.where(np.isnan(self.columns.taken_at), np.inf, self.columns.taken_at)
        order = np.lexsort((np.arange(len(self)), taken, self.group))
        counts = np.bincount(self.group, minlength=len(self.groups))
        return order, np.concatenate([[0], np.cumsum(counts)])

    def track(self, group: int) -> np.ndarray:
        """Positions of a dive's images in the order in which they were taken."""
        order, begins = self.along
        return order[begins[group] : begins[group + 1]]

    @cached_property
    def mixtures(self) -> np.ndarray:
        """(G, K): the share of every cluster in every dive, by counting; rows of zeros where a dive has no cluster."""
        known = self.labels >= 0
        flat = self.group[known].astype(np.int64) * self.clusters + self.labels[known]
        counts = np.bincount(flat, minlength=len(self.groups) * self.clusters)
        counts = counts.reshape(len(self.groups), self.clusters).astype(float)
        return counts / np.maximum(counts.sum(1, keepdims=True), 1)

    @cached_property
    def weights(self) -> np.ndarray:
        """(G, K): the mixtures as the model has them; counted where the run keeps none for a dive."""
        found = self.mixtures.copy()
        if self.run is not None and {"weights", "group_ids"} <= arrays_of(self.run):
            row = {number: at for at, number in enumerate(self.run.array("group_ids").tolist())}
            for at, summary in enumerate(self.groups):
                if summary.group.id in row:
                    found[at] = self.run.array("weights")[row[summary.group.id]]
        return found

    def index_of_group(self, group_id: int) -> int | None:
        return next((at for at, found in enumerate(self.groups) if found.group.id == group_id), None)


def atlas_of(app: AppState, run_id: int | None) -> Atlas:
    """The atlas with this run, or with the current one; kept until images change."""
    run = app.run(run_id)
    return app.kept(("atlas", run.id if run else None), lambda: _made(app, run), of_images=True)


def _made(app: AppState, run: Run | None) -> Atlas:
    columns, groups = app.columns, tuple(app.kept("dives", app.workspace.library.summaries, of_images=True))
    labels, probability = np.full(len(columns), NONE, np.int32), np.full(len(columns), np.nan, np.float32)
    if run is not None:
        positions, known = placed(columns, run.array("image_ids"))
        labels[positions] = run.array("labels")[known]
        if "probability" in arrays_of(run):
            probability[positions] = run.array("probability")[known]
    return Atlas(columns, groups, _group_index(columns, groups), run, labels, probability)


def placed(columns: ImageColumns, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(positions, mask of the ids that have one): what belongs to forgotten images is left out."""
    ids = np.asarray(ids)
    if np.array_equal(ids, columns.ids):
        return np.arange(len(columns)), np.ones(len(ids), bool)
    known = np.isin(ids, columns.ids)
    return columns.positions(ids[known]), known


def arrays_of(run: Run) -> set[str]:
    return {path.stem for path in run.folder.glob("*.npy")}


def _group_index(columns: ImageColumns, groups: tuple[GroupSummary, ...]) -> np.ndarray:
    ids = np.array([found.group.id for found in groups], np.int64)
    order = np.argsort(ids)
    return order[np.searchsorted(ids, columns.group_ids, sorter=order)].astype(np.int32)
