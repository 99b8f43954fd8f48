"""Cluster edits in Review: split, merge, move images, mark a duplicate, create a cluster from one image."""

import numpy as np

from benthoscope.app.data.labels import images_text
from benthoscope.app.pages.review.model import Review
from benthoscope.app.pages.review.steps import into_cluster
from benthoscope.app.session.commands import Ids
from benthoscope.engine.analysis import principal_plane
from benthoscope.engine.labelling.cluster_edits import (
    mark_duplicate,
    merge,
    move,
    nearest_to,
    seed,
    split,
    split_in_two,
)
from benthoscope.engine.problems import fail

ON_PLANE = 20_000  # members in the lasso plot; more would overlap completely


def split_cluster(review: Review, images: Ids = ()) -> None:
    """Make `images` a separate cluster; without images, split the cluster into two halves."""
    chosen, arranged, person_id = _ids(images), review.arrangement(), review.person_id()
    log, cluster = review.app.workspace.labels, review.current_cluster()
    if len(chosen):
        made = [split(log, person_id, arranged, chosen)]
    else:
        made = split_in_two(log, person_id, arranged, cluster, review.rows_of(arranged.members(cluster)))
    review.cluster = cluster
    review.notify(f"Split {review.noun()} {cluster}: new {review.noun()} {', '.join(map(str, made))}")
    review.moved("cluster")


def split_by_model(review: Review) -> None:
    """Queue a job in which the model searches for narrower clusters in this cluster."""
    cluster = review.current_cluster()
    parameters = {"run": review.reviewed_run().id, "cluster": cluster, "person": review.session.person}
    review.person_id()
    review.app.queue.add("split cluster", parameters, title=f"Split {review.noun()} {cluster} automatically")
    review.app.jobs.refresh()
    review.session.notify(f"The model is searching for narrower clusters in {review.noun()} {cluster}", kind="info")


def merge_cluster(review: Review, into: int) -> None:
    """Merge the shown cluster into another one."""
    cluster = _other_than(review, into, "merge")
    merge(review.app.workspace.labels, review.person_id(), review.arrangement(), cluster, into)
    _opened(review, into, f"Merged {review.noun()} {cluster} into {into}")


def duplicate_cluster(review: Review, into: int) -> None:
    """Record that the shown cluster duplicates another one, and merge it into that one."""
    cluster = _other_than(review, into, "duplicate")
    mark_duplicate(review.app.workspace.labels, review.person_id(), review.arrangement(), cluster, into)
    _opened(review, into, f"{review.noun().capitalize()} {cluster} is a duplicate of {into}")


def move_images(review: Review, images: Ids, into: int) -> None:
    """Move images of the shown cluster to another one."""
    chosen = _ids(images)
    if not len(chosen):
        raise fail("move", "no image is clicked", "click the images first")
    cluster = _other_than(review, into, "move")
    move(review.app.workspace.labels, review.person_id(), review.arrangement(), chosen, into)
    review.cluster = cluster
    review.notify(f"Moved {images_text(len(chosen))} to {review.noun()} {into}")
    review.moved("cluster")


def found_cluster(review: Review, image: int) -> None:
    """Create a cluster from one image; similar images are then asked for page by page."""
    made = seed(review.app.workspace.labels, review.person_id(), review.arrangement(), image)
    review.notify(f"Created {review.noun()} {made} from image {image}")
    review.cluster = made
    arranged = review.arrangement()
    order = nearest_to(review.rows_of(arranged.images), int(np.searchsorted(arranged.images, image)))
    order = order[(arranged.images[order] != image) & ~np.isin(arranged.images[order], review.labelled()["images"])]
    review.growing = into_cluster(made, arranged.images[order])
    review.moved("grow")


def plane(review: Review) -> tuple[np.ndarray, np.ndarray]:
    """(ids, xy from 0 to 1): members of the shown cluster along their two axes of largest variance."""
    members = review.members()[:ON_PLANE]
    xy = principal_plane(review.rows_of(members))
    low, high = np.percentile(xy, (1, 99), axis=0) if len(xy) else (0, 1)
    return members, np.clip((xy - low) / np.maximum(high - low, 1e-9) * 0.92 + 0.04, 0, 1)


def _other_than(review: Review, cluster: int, command: str) -> int:
    """The shown cluster; raises if `cluster` is the same one."""
    current = review.current_cluster()
    if cluster == current:
        raise fail(command, f"{review.noun()} {cluster} is the one shown", f"choose another {review.noun()}")
    return current


def _opened(review: Review, cluster: int, text: str) -> None:
    review.notify(text)
    review.param.update(cluster=cluster, page=0)
    review.moved("cluster")


def _ids(images: Ids) -> np.ndarray:
    return np.array(sorted(set(images)), np.int64)
