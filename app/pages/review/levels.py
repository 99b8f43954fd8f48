"""Finer and coarser clusters in Review: switch the level, keep the images in view, return to the page that was left."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import param

from benthoscope.app.data.clusters.clustered_images import Atlas
from benthoscope.app.data.clusters.clustering_levels import next_level, switch_message
from benthoscope.app.session.app_state import AppState
from benthoscope.app.session.session import Session
from benthoscope.engine.labelling.cluster_edits import Arrangement
from benthoscope.engine.problems import fail
from benthoscope.engine.workspace import Run


@dataclass(frozen=True)
class LevelPlace:
    """The cluster and the page that were shown at a level."""

    cluster: int
    page: int


class LevelledReview(Protocol):
    """Interface of the Review model that a switch of levels needs."""

    session: Session
    mode: str
    page: int
    level_places: dict[int, LevelPlace]  # by run
    param: param.parameterized.Parameters

    @property
    def app(self) -> AppState: ...
    @property
    def atlas(self) -> Atlas: ...
    def reviewed_run(self) -> Run: ...
    def current_cluster(self) -> int: ...
    def members(self) -> np.ndarray: ...
    def arrangement(self) -> Arrangement: ...
    def labelled(self) -> dict[str, Any]: ...
    def moved(self, mode: str | None = None) -> None: ...


def switch_level(review: LevelledReview, direction: str) -> None:
    """Show the clusters of the next coarser or finer level. The person returns to the place they left there, if it has
    images in common with the shown cluster; otherwise the cluster with most of its unlabelled images is shown."""
    if review.mode != "cluster":
        raise fail("level", "another task is open", "finish it or press Esc first")
    target = next_level(review.app, review.reviewed_run(), direction)
    cluster, members = review.current_cluster(), np.sort(review.members())
    review.level_places[review.reviewed_run().id] = LevelPlace(cluster, review.page)
    review.param.update(run=target.id, cluster=None, page=0)
    numbers = corresponding_clusters(review, members)
    level_place = _level_place(review, numbers, members)
    review.param.update(cluster=level_place.cluster, page=level_place.page)
    review.moved("cluster")
    review.session.notify(switch_message([cluster], numbers, direction, len(review.arrangement().sizes())), kind="info")


def corresponding_clusters(review: LevelledReview, images: np.ndarray) -> list[int]:
    """Clusters of the shown level that contain some of these images."""
    arrangement = review.arrangement()
    return np.unique(arrangement.clusters[np.isin(arrangement.images, images)]).tolist()


def _level_place(review: LevelledReview, numbers: list[int], images: np.ndarray) -> LevelPlace:
    earlier = review.level_places.get(review.reviewed_run().id)
    if earlier is not None and earlier.cluster in numbers:
        return earlier
    arrangement, labelled = review.arrangement(), review.labelled()["images"]
    inside = np.isin(arrangement.images, images)
    unlabelled = inside & ~np.isin(arrangement.images, labelled)

    def importance(number: int) -> tuple[int, int]:
        in_cluster = arrangement.clusters == number
        return int((unlabelled & in_cluster).sum()), int((inside & in_cluster).sum())

    return LevelPlace(max(numbers, key=importance), 0)
