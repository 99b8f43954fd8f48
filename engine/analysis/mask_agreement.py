"""Agreement of a joint segmentation with known masks: topics and classes are compared pixel by pixel."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from benthoscope.engine.metrics import adjusted_rand_of_counts, agreement_of_counts
from benthoscope.engine.problems import fail


@dataclass(frozen=True)
class SegmentationScores:
    """The agreement of topics with known classes. For `accuracy` and the overlaps, each topic is named after its most
    frequent class, as a person would name it."""

    images: int
    pixels: int  # with a known class
    v_measure: float  # 1 if each topic has one class and each class one topic, near 0 if they are unrelated
    adjusted_rand: float
    accuracy: float  # share of the pixels whose topic is named after their class
    class_of_topic: np.ndarray  # (K,) -1 for topics without known pixels
    overlap: dict[int, float]  # of each class: intersection over union of its pixels and those of its topics


def segmentation_scores(
    pairs: Iterable[tuple[np.ndarray, np.ndarray]], n_topics: int, *, unknown: int = 0
) -> SegmentationScores:
    """Return the scores of pairs of the topic (H, W) and the known class (h, w) of each pixel of one image.

    Topics are looked up at the pixels of the known mask, whatever its size. Pixels of the class `unknown`, and pixels
    without a topic (-1), do not count. Raises if no pixel counts.
    """
    counts, images = np.zeros((0, n_topics), np.int64), 0
    for topics, known in pairs:
        resized = at_size(topics, *known.shape)
        counted = (known != unknown) & (known >= 0) & (resized >= 0)
        images += bool(counted.any())
        counts = _added(counts, known[counted].astype(np.int64), resized[counted])
    if not counts.sum():
        raise fail("known masks", "have no pixel with a known class", "give masks of segmented images")
    named = np.where(counts.any(0), counts.argmax(0), -1)
    classes = np.flatnonzero(counts.any(1))
    of_known_topics = counts[:, named >= 0]
    return SegmentationScores(
        images,
        int(counts.sum()),
        agreement_of_counts(counts[classes]).v_measure,
        adjusted_rand_of_counts(counts[classes]),
        float(of_known_topics.max(0).sum() / counts.sum()),
        named,
        {number: _overlap(counts, named, number) for number in classes.tolist()},
    )


def at_size(mask: np.ndarray, height: int, width: int) -> np.ndarray:
    """Return a mask (H, W) looked up at the centres of the pixels of an image of another size."""
    rows = ((np.arange(height) + 0.5) * mask.shape[0] / height).astype(int)
    columns = ((np.arange(width) + 0.5) * mask.shape[1] / width).astype(int)
    return mask[rows[:, None], columns]


def _added(counts: np.ndarray, classes: np.ndarray, topics: np.ndarray) -> np.ndarray:
    """Return the table of classes and topics with the pixels of one more image."""
    rows = max(len(counts), int(classes.max(initial=-1)) + 1)
    K = counts.shape[1]
    table = np.bincount(classes * K + topics, minlength=rows * K).reshape(rows, K)
    table[: len(counts)] += counts
    return table


def _overlap(counts: np.ndarray, named: np.ndarray, number: int) -> float:
    both = counts[number, named == number].sum()
    either = counts[number].sum() + counts[:, named == number].sum() - both
    return float(both / either)
