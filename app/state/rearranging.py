"""Clusters put right by hand in Review: parted, merged, images moved, a new one founded on a single image."""

from collections.abc import Iterable

import numpy as np

from app.state.projections import principal
from app.state.review import Review
from app.state.reviewing import into_cluster
from engine.discriminative.starting import kmeans
from engine.labelling.arrangement import mark_duplicate, merge, move, nearest_to, seed, split, split_in
from engine.problems import fail

ON_PLANE = 20_000  # members a lasso is drawn round: more are a grey mass


def split_cluster(review: Review, images: Iterable[int] = ()) -> None:
    """Images given become a cluster of their own; without any the cluster is halved where it is widest."""
    chosen, now, who = _ids(images), review.arrangement(), review.who()
    log, cluster = review.app.workspace.labels, review.current_cluster()
    if len(chosen):
        made = [split(log, who, now, chosen)]
    else:
        rows = review.rows_of(now.members(cluster)).astype(np.float64)
        halves = kmeans(rows, 2, np.random.default_rng(0), restarts=4)
        made = split_in(log, who, now, cluster, halves, "k-means")
    review.cluster = cluster
    review.told(f"Split cluster {cluster}: new cluster {', '.join(map(str, made))}")
    review.moved("cluster")


def split_by_model(review: Review) -> None:
    """Has the model look at the cluster alone, for narrower clusters in it; a job, for that takes seconds."""
    cluster = review.current_cluster()
    parameters = {"run": review.atlas.run.id, "cluster": cluster, "person": review.session.person}
    review.who()
    review.app.queue.add("split cluster", parameters, title=f"Split cluster {cluster} by the model")
    review.app.jobs.look()
    review.session.tell(f"The model looks for narrower clusters in cluster {cluster}", kind="info")


def merge_cluster(review: Review, into: int) -> None:
    """Puts the cluster on the table into another."""
    cluster = _other_than(review, into, "merge")
    merge(review.app.workspace.labels, review.who(), review.arrangement(), cluster, into)
    _opened(review, into, f"Merged cluster {cluster} into {into}")


def duplicate_cluster(review: Review, of: int) -> None:
    """Notes that the cluster on the table is the same as another; its images join that one."""
    cluster = _other_than(review, of, "duplicate")
    mark_duplicate(review.app.workspace.labels, review.who(), review.arrangement(), cluster, of)
    _opened(review, of, f"Cluster {cluster} is a duplicate of {of}")


def move_images(review: Review, images: Iterable[int], into: int) -> None:
    """Puts images of the table into another cluster."""
    chosen = _ids(images)
    if not len(chosen):
        raise fail("move", "no image is clicked", "click the images first")
    cluster = _other_than(review, into, "move")
    move(review.app.workspace.labels, review.who(), review.arrangement(), chosen, into)
    review.cluster = cluster
    review.told(f"Moved {len(chosen):,} images to cluster {into}")
    review.moved("cluster")


def found_cluster(review: Review, image: int) -> None:
    """Begins a cluster with one image; what is like it is then asked page by page."""
    made = seed(review.app.workspace.labels, review.who(), review.arrangement(), image)
    review.told(f"Cluster {made} begins with image {image}")
    review.cluster = made
    now = review.arrangement()
    order = nearest_to(review.rows_of(now.images), int(np.searchsorted(now.images, image)))
    order = order[(now.images[order] != image) & ~np.isin(now.images[order], review.labelled()["images"])]
    review.growing = into_cluster(made, now.images[order])
    review.moved("grow")


def plane(review: Review) -> tuple[np.ndarray, np.ndarray]:
    """(ids, x and y from 0 to 1): the cluster on the table along the two axes of its largest variance."""
    members = review.members()[:ON_PLANE]
    xy = principal(review.rows_of(members))
    low, high = np.percentile(xy, (1, 99), axis=0) if len(xy) else (0, 1)
    return members, np.clip((xy - low) / np.maximum(high - low, 1e-9) * 0.92 + 0.04, 0, 1)


def _other_than(review: Review, cluster: int, act: str) -> int:
    """The cluster on the table, once it is sure that another is meant."""
    here = review.current_cluster()
    if cluster == here:
        raise fail(act, f"{cluster} is the cluster on the table", "choose another")
    return here


def _opened(review: Review, cluster: int, text: str) -> None:
    review.told(text)
    review.param.update(cluster=cluster, page=0)
    review.moved("cluster")


def _ids(images: Iterable[int]) -> np.ndarray:
    return np.array(sorted(set(images)), np.int64)
