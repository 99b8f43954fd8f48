"""Which page to label next: the one with the highest predicted gain per minute.

The gain of a page is the number of labels that become right: wrong suggestions corrected on the page, and those that
the model corrects elsewhere after it has learned from the page. Predictions rest on the model's own probabilities, so
they are rough, but the order of the pages needs no more than that.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from benthoscope.engine.labelling.page_choice.queues import similar_groups
from benthoscope.engine.labelling.page_choice.typical_images import page_size

TYPICAL, SORT, GROUPS, CHECK = "typical", "sort", "groups", "check"  # queues of Learn
SORTED = 60  # images of a large page: few, so that the model is trained again soon
IN_GROUP = 24  # images of a page with one group
SAMPLE = 2_000  # images searched for groups
PURE = 0.8  # predicted share of one term, or novelty, from which a group is worth a look
FEW_WRONG = 0.05  # expected share of wrong labels from which random images are worth more than corrections
EVIDENCE = 30  # random images from which accuracy is measured
TILE_SECONDS = 0.5
PAGE_SECONDS = 5.0  # to open a page, check it and end it
PATCH_SECONDS = 1.5
PATCH = 2.5  # wrong tiles of one kind that lie side by side
LEARNING = 0.5  # exponent by which errors fall with the number of labels; the same for both kinds of large pages


@dataclass(frozen=True)
class Offer:
    """A page of a queue: labels that become right, and minutes."""

    queue: str
    gain: float
    minutes: float
    reason: str

    @property
    def per_minute(self) -> float:
        return self.gain / self.minutes

    def facts(self) -> dict[str, Any]:
        """Return the queue and the reason. The gain is left out: it is good enough to compare pages, but too high."""
        return {"queue": self.queue, "reason": self.reason}


def shown_facts(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return the queue and the reason of a stored page, without what is stored beside them."""
    return {"queue": stored["queue"], "reason": stored["reason"]}


FIRST_PAGE = Offer(TYPICAL, 1.0, 1.0, "Images that stand for many others teach a first model most")


@dataclass(frozen=True)
class Unlabelled:
    """Images without a label: probabilities (n, K) and rows (n, D). Rows of labelled ones (m, D), the number of images
    with a label, and the number of answered random images."""

    probabilities: np.ndarray
    rows: np.ndarray
    known_rows: np.ndarray
    labelled: int
    answered: int


def next_pages(images: Unlabelled, rng: np.random.Generator) -> list[Offer]:
    """Return the pages, the best one first; none if no image is left. After the random check come the others."""
    if not len(images.rows):
        return []
    doubt = 1 - images.probabilities.max(1)
    total = len(doubt) + images.labelled
    checks = []
    if doubt.sum() <= FEW_WRONG * total and images.answered < EVIDENCE:
        reason = f"Few labels are probably wrong; {EVIDENCE - images.answered} random images are missing to measure it"
        checks = [Offer(CHECK, float(doubt.sum()), 1.0, reason)]
    offers = [_sort(doubt, images.labelled), _typical(doubt, images.labelled), _group(images, doubt, rng)]
    possible = [offer for offer in offers if offer is not None]
    return [*checks, *sorted(possible, key=lambda offer: -round(offer.per_minute, 9))]  # of equal ones, the first


def _typical(doubt: np.ndarray, labelled: int) -> Offer:
    tiles = min(page_size(len(doubt)), SORTED)
    corrected = tiles * float(doubt.mean())
    return _offer(TYPICAL, tiles, corrected, _learned(doubt, labelled, tiles), "Typical images of all kinds")


def _sort(doubt: np.ndarray, labelled: int) -> Offer:
    tiles = min(SORTED, len(doubt))
    corrected = float(np.sort(doubt)[-tiles:].sum())
    return _offer(SORT, tiles, corrected, _learned(doubt, labelled, tiles), "Uncertain images of few kinds")


def _group(images: Unlabelled, doubt: np.ndarray, rng: np.random.Generator) -> Offer | None:
    """Return the group with most wrong suggestions among those that probably are of one term; None if there is none.

    A group is of one term if the model says so, or if it is unlike anything labelled: about a new kind the model is
    often sure and wrong.
    """
    some = rng.permutation(len(doubt))[:SAMPLE]
    groups = similar_groups(images.rows[some], np.zeros(len(some), np.int64), rng, IN_GROUP)
    sizes = np.bincount(groups.of, minlength=groups.count)
    sums = np.zeros((groups.count, images.probabilities.shape[1]))
    np.add.at(sums, groups.of, images.probabilities[some])
    purity = sums.max(1) / sizes
    novelty = groups.novelty_from(images.known_rows)
    wrong = np.maximum(np.bincount(groups.of, doubt[some], groups.count), PURE * novelty * sizes)
    worth = np.where((purity >= PURE) | (novelty >= PURE), wrong, 0.0)
    if not worth.max(initial=0.0):
        return None
    best = int(worth.argmax())
    tiles = min(int(sizes[best]), IN_GROUP)
    corrected = float(worth[best]) * tiles / sizes[best]
    minutes = (PAGE_SECONDS + TILE_SECONDS * tiles) / 60
    return Offer(GROUPS, corrected, minutes, "Similar images unlike any label: most labels become right per minute")


def _learned(doubt: np.ndarray, labelled: int, tiles: int) -> float:
    """Return the number of other labels that become right: errors fall as a power of the number of labels. Each tile
    counts the same, so that a small page has no advantage."""
    before = max(labelled, 1)
    return float(doubt.sum()) * (1 - (before / (before + SORTED)) ** LEARNING) * tiles / SORTED


def _offer(queue: str, tiles: int, corrected: float, learned: float, words: str) -> Offer:
    minutes = (PAGE_SECONDS + TILE_SECONDS * tiles + PATCH_SECONDS * corrected / PATCH) / 60
    return Offer(queue, corrected + learned, minutes, f"{words}: most labels become right per minute")
