"""A summary of the topics of a run: their shares, dives, typical images and related labels."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from benthoscope.engine.analysis import distance_to_mixture, distance_to_region, distance_to_weights, mixture_named
from benthoscope.engine.jobs.cluster.model_catalog import JOINT_SEGMENTATION, TOPIC_MODELS
from benthoscope.engine.jobs.cluster.topic_regions import region_named, topic_shares
from benthoscope.engine.problems import fail
from benthoscope.engine.workspace import Run, Workspace

TYPICAL = 5  # images listed for each topic
LARGEST = 3  # topics listed for an image


@dataclass(frozen=True)
class TopicSummary:
    topic: int
    name: str  # given by a person; empty if there is none
    share: float  # mean weight over all images
    patch_share: float  # of the segments or patches
    largest_in: int  # images in which the topic is the largest
    dives: dict[str, float]  # mean weight in each dive
    image_ids: list[int]  # with the largest weights, largest first
    images: list[str]  # their paths
    weights: list[float]  # of the topic in them
    labels: dict[str, float]  # share of the weight that images with each label have, largest first

    def to_dict(self) -> dict[str, Any]:
        return dict(vars(self))


def has_topics(run: Run) -> bool:
    """Return whether the clusters of the run are topics. A run that was derived from it, as by a split, has none."""
    return run.model in TOPIC_MODELS and not run.summary.get("derived")


def run_of_topics(workspace: Workspace, name: str | None) -> Run:
    """Return the run with this name or number, or the newest run of topics. Raises if it has no topics."""
    if name is not None:
        run = workspace.runs.named(name)
        if not has_topics(run):
            raise fail(f"run {run.name}", "has no topics", "choose a run of the model iwtm or lda")
        return run
    runs = [run for run in workspace.runs.all() if has_topics(run)]
    if not runs:
        raise fail("topics", "there is no run of topics", "run `benthoscope cluster --model iwtm` first")
    return max(runs, key=lambda run: run.id)


def newest_segmentation(workspace: Workspace) -> Run:
    """Return the newest joint segmentation."""
    runs = [run for run in workspace.runs.all() if run.model == JOINT_SEGMENTATION]
    if not runs:
        raise fail("segment", "there is no joint segmentation yet", "run `benthoscope segment` without --add first")
    return max(runs, key=lambda run: run.id)


def topic_names(workspace: Workspace, run: Run) -> tuple[str, ...]:
    """Return the name of each topic: the one that a person gave, or "Topic" and its number."""
    given_names = workspace.runs.cluster_names(run.id, "segment")
    count = int(run.summary.get("segment_clusters") or run.summary["clusters"])
    return tuple(given_names.get(topic, f"Topic {topic}") for topic in range(count))


def summaries(workspace: Workspace, run: Run, typical: int = TYPICAL) -> list[TopicSummary]:
    """Return a summary of each topic, in the order of their numbers."""
    weights = np.asarray(run.array("image_weights"))
    image_ids, labels = np.asarray(run.array("image_ids")), np.asarray(run.array("labels"))
    patches = np.asarray(run.array("segment_labels"))
    T = weights.shape[1]
    of_patches = np.bincount(patches[patches >= 0], minlength=T) / max((patches >= 0).sum(), 1)
    columns = workspace.library.columns("id", "group_id", "path")
    at = {number: position for position, number in enumerate(columns["id"].tolist())}
    positions = np.array([at.get(number, -1) for number in image_ids.tolist()])
    names = {group.id: group.name for group in workspace.library.groups()}
    groups = [names.get(int(columns["group_id"][p]), "") if p >= 0 else "" for p in positions]
    paths = [str(columns["path"][p]) if p >= 0 else "" for p in positions]
    labelled, given_names = _label_names(workspace), workspace.runs.cluster_names(run.id, "segment")
    return [
        TopicSummary(
            topic,
            given_names.get(topic, ""),
            float(weights[:, topic].mean()),
            float(of_patches[topic]),
            int((labels == topic).sum()),
            _means_by(groups, weights[:, topic]),
            *_typical(weights[:, topic], image_ids, paths, typical),
            _labels_of(weights[:, topic], image_ids, labelled),
        )
        for topic in range(T)
    ]


def _label_names(workspace: Workspace) -> dict[int, str]:
    """Return the name of the label of each labelled image."""
    images, terms = workspace.labels.current_terms()
    names = {int(term): workspace.vocabularies.term(int(term)).name for term in np.unique(terms)}
    return {int(image): names[int(term)] for image, term in zip(images, terms, strict=True)}


def _typical(
    weights: np.ndarray, image_ids: np.ndarray, paths: list[str], count: int
) -> tuple[list[int], list[str], list[float]]:
    best = np.argsort(-weights, kind="stable")[:count]
    return image_ids[best].tolist(), [paths[i] for i in best], [float(weights[i]) for i in best]


def _means_by(names: list[str], values: np.ndarray) -> dict[str, float]:
    column = np.array(names)
    return {str(name): float(values[column == name].mean()) for name in np.unique(column)}


def _labels_of(weights: np.ndarray, image_ids: np.ndarray, labelled: dict[int, str]) -> dict[str, float]:
    sums: Counter[str] = Counter()
    for image, weight in zip(image_ids.tolist(), weights.tolist(), strict=True):
        if image in labelled:
            sums[labelled[image]] += weight
    total = sum(sums.values())
    return {label: value / total for label, value in sums.most_common()} if total else {}


def images_by_mixture(workspace: Workspace, run: Run, mixture: str, limit: int) -> dict[str, Any]:
    """Return the images whose topics are nearest to a mixture like "3: 50 %, 7: 50 %"."""
    weights = np.asarray(run.array("image_weights"))
    shares = mixture_named(mixture, weights.shape[1], workspace.runs.cluster_names(run.id, "segment"))
    if not shares:
        raise fail("mixture", "names no topic", "write a mixture like '3: 50 %, 7: 50 %'")
    return _nearest_images(workspace, run, weights, distance_to_mixture(weights, shares), limit)


def images_like(workspace: Workspace, run: Run, image: int, limit: int) -> dict[str, Any]:
    """Return the images whose topics are nearest to those of one image."""
    weights, ids = np.asarray(run.array("image_weights")), np.asarray(run.array("image_ids"))
    at = np.flatnonzero(ids == image)
    if not len(at):
        raise fail(f"image {image}", f"is not in the run {run.name}", "choose an image of the run")
    return _nearest_images(workspace, run, weights, distance_to_weights(weights, weights[at[0]]), limit)


def images_like_region(workspace: Workspace, run: Run, text: str, limit: int) -> dict[str, Any]:
    """Return the images that contain the topics of a region like "17:0.2,0.1,0.5,0.4"."""
    shares = topic_shares(workspace, run, region_named(text))
    weights = np.asarray(run.array("image_weights"))
    return _nearest_images(workspace, run, weights, distance_to_region(weights, shares.tolist()), limit)


def _nearest_images(
    workspace: Workspace, run: Run, weights: np.ndarray, distance: np.ndarray, limit: int
) -> dict[str, Any]:
    ids, names = np.asarray(run.array("image_ids")), topic_names(workspace, run)
    order = np.argsort(distance, kind="stable")[:limit]
    files = {image.id: image.path for image in workspace.library.images(ids[order].tolist())}
    return {
        "run": run.id,
        "name": run.name,
        "images": [
            {
                "id": int(ids[at]),
                "file": files[int(ids[at])],
                "distance": float(distance[at]),
                "topics": {
                    names[topic]: float(weights[at, topic])
                    for topic in np.argsort(-weights[at], kind="stable")[:LARGEST].tolist()
                },
            }
            for at in order.tolist()
            if int(ids[at]) in files
        ],
    }


def addition_text(addition: dict[str, Any]) -> str:
    """Return a sentence about what was added."""
    groups = addition["groups"]
    listed = ", ".join(list(groups)[:3]) + (f" and {len(groups) - 3} more" if len(groups) > 3 else "")
    count, images = addition["images"], "image" if addition["images"] == 1 else "images"
    if "topics_before" in addition:
        before, after = addition["topics_before"], addition["topics"]
        return f"Added {count:,} {images} of {listed}. Topics: {before} before, {after} now."
    before, joined, after = addition["clusters_before"], addition["clusters_joined"], addition["clusters"]
    topics = (
        f"The topics of the new images were matched with the earlier ones (mean correlation {addition['match']:.2f})."
        if addition["matched"]
        else "Too few topics of the new images resemble earlier ones, so they were not matched."
    )
    return (
        f"Added {count:,} {images} of {listed}. Kinds of patches in use: {before} before, {joined} with those of the "
        f"new images, {after} now. {topics}"
    )
