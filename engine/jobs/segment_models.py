"""How the models of segments are fitted to the rows of a workspace, and what they found, in one form for all."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from engine.compute import Compute
from engine.jobs.segment_rows import SegmentRows
from engine.mixtures import GMC, MCM, SCM, Checkpoint
from engine.progress import OnStep
from engine.workspace.counting import counted_shares


@dataclass(frozen=True)
class Outcome:
    """For I images in J dives, S segments, T image clusters and K segment clusters."""

    labels: np.ndarray               # (I,)
    probability: np.ndarray          # (I,)
    segment_labels: np.ndarray       # (S,)
    segment_probability: np.ndarray  # (S,)
    image_weights: np.ndarray        # (I, K) shares of the segment clusters in each image
    proportions: np.ndarray          # (T, K) shares of the segment clusters in each image cluster
    group_ids: np.ndarray            # (J,)
    weights: np.ndarray              # (J, T) shares of the image clusters in each dive


class SegmentModel(Protocol):
    """`learned` is the attribute an estimator has as soon as it found anything."""

    learned: str
    wants_images: bool

    def fit(self, estimator: Any, rows: SegmentRows, compute: Compute, on_step: OnStep,
            checkpoint: Checkpoint) -> None: ...

    def outcome(self, estimator: Any, rows: SegmentRows, compute: Compute) -> Outcome: ...


@dataclass(frozen=True)
class TwoLevels:
    """SCM, and with descriptors of whole images MCM."""

    wants_images: bool
    learned: str = "scenes_"

    def fit(self, estimator: SCM | MCM, rows: SegmentRows, compute: Compute, on_step: OnStep,
            checkpoint: Checkpoint) -> None:
        estimator.fit(rows.source, rows.image_of_segment, rows.groups, **self._looks(rows), compute=compute,
                      on_step=on_step, checkpoint=checkpoint)

    def outcome(self, estimator: SCM | MCM, rows: SegmentRows, compute: Compute) -> Outcome:
        """By the last iteration of the fit; one that was stopped is asked as if the images were new."""
        if hasattr(estimator, "labels_"):
            labels, probability = estimator.labels_, estimator.probability_
            owners, image_weights = estimator.image_owners_, estimator.image_weights_
        else:
            told = estimator.explain(rows.source, rows.image_of_segment, rows.groups, **self._looks(rows),
                                     compute=compute)
            labels, probability, owners = told.labels, told.probability, told.owners
            image_weights = told.image_weights
        of_images = owners.argmax(1)
        group_ids, counted = counted_shares(of_images, rows.groups, owners.shape[1])
        weights = estimator.weights_ if estimator.by_dive else counted
        return Outcome(of_images, owners.max(1), labels, probability, image_weights, estimator.proportions_,
                       group_ids, weights)

    def _looks(self, rows: SegmentRows) -> dict[str, np.ndarray]:
        return {"image_features": rows.images.values} if self.wants_images else {}


@dataclass(frozen=True)
class ImagesAsGroups:
    """Mixtures of segments of which every image has shares of its own. An image counts as what fills most of it."""

    wants_images: bool = False
    learned: str = "mixture_"

    def fit(self, estimator: GMC, rows: SegmentRows, compute: Compute, on_step: OnStep, checkpoint: Checkpoint) -> None:
        estimator.fit(rows.source, rows.image_of_segment, compute=compute, on_step=on_step, checkpoint=checkpoint)

    def outcome(self, estimator: GMC, rows: SegmentRows, compute: Compute) -> Outcome:
        labels, probability = estimator.assign(rows.source, rows.image_of_segment, compute=compute)
        shares = np.asarray(estimator.weights_)
        of_images, clusters = shares.argmax(1), shares.shape[1]
        return Outcome(of_images, shares.max(1), labels, probability, shares, _means(shares, of_images),
                       *counted_shares(of_images, rows.groups, clusters))


FITTING: dict[str, SegmentModel] = {"gmc-segments": ImagesAsGroups(), "mcm": TwoLevels(True), "scm": TwoLevels(False)}


def _means(shares: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """(K, K): the mean shares of the images of each label; of a label without images, itself alone."""
    found = np.eye(shares.shape[1])
    for label in np.unique(labels):
        found[label] = shares[labels == label].mean(0)
    return found
