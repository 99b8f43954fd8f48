"""Does a memory fit this campaign? Its suggestions are compared with those of a model without it.

Only random draws of this campaign are compared, and each is predicted by models that were not trained on its answer.
"""

from collections.abc import Callable, Mapping
from math import log
from typing import Any

import numpy as np
import scipy

from benthoscope.engine.labelling.classifier import HeldOut, Learned, Remembered
from benthoscope.engine.labelling.training_data import LabelsOfRows

FEWEST_DRAWS = 10  # fewer are not enough for a comparison
LEAST_WEIGHT = 0.1  # of a memory's label; with less, the memory hardly matters, and the comparison would only cost time
CLEARLY = 20.0  # evidence against the memory that gives a warning: one to twenty


def memory_facts(
    memory: Remembered, learned: Learned, labels: LabelsOfRows, train_without: Callable[[], Learned]
) -> dict[str, Any]:
    """Return the number of used labels of the memory, their weight, and the comparison with a model without it:
    `draws` random images, right `with_it` and right `without_it`. The last three are None before there are enough
    random images, and when the memory hardly matters any more."""
    weight = float(memory.weights.max())
    facts = {"labels": len(memory.terms), "weight": weight, "draws": None, "with_it": None, "without_it": None}
    is_drawn = learned.held_out.is_drawn
    if int(is_drawn.sum()) < FEWEST_DRAWS or weight < LEAST_WEIGHT:
        return {**facts, "misleads": False}
    right = _right_by_row(learned.held_out)
    other = _right_without(labels, train_without)
    rows = sorted(right.keys() & other.keys())
    with_it, without_it = (np.array([table[row] for row in rows], bool) for table in (right, other))
    counts = {"draws": len(rows), "with_it": int(with_it.sum()), "without_it": int(without_it.sum())}
    return {
        **facts,
        **counts,
        "misleads": misleads(int((with_it & ~without_it).sum()), int((without_it & ~with_it).sum())),
    }


def misleads(better: int, worse: int) -> bool:
    """Return whether a memory clearly makes suggestions worse. Of the images on which the two models differ, it was
    right for `better` and wrong for `worse`.

    The evidence is the ratio of two likelihoods: the memory is wrong more often than right, with every share from a
    half to one equally likely, against equally often.
    """
    n = better + worse
    more_often = scipy.special.betaln(worse + 1, better + 1) + log(
        max(1 - scipy.special.betainc(worse + 1, better + 1, 0.5), 1e-300)
    )
    return bool(more_often + log(2) + n * log(2) >= log(CLEARLY))


def transfer_text(facts: Mapping[str, Any], name: str) -> str:
    """Return the comparison in plain words; empty before there is one."""
    if facts.get("draws") is None:
        return ""
    with_it, without_it, draws = facts["with_it"], facts["without_it"], facts["draws"]
    figures = (
        f"Of {draws} random images of this campaign, suggestions are right for {with_it} with the memory and for "
        f"{without_it} without it."
    )
    if facts["misleads"]:
        return f'The memory "{name}" does not fit this campaign. {figures} Turn it off.'
    return figures


def _right_by_row(held_out: HeldOut) -> dict[int, bool]:
    """Return {row: whether the first guess was right} of the random draws."""
    right = held_out.scores.argmax(1) == held_out.y
    draws = held_out.is_drawn
    return dict(zip(held_out.rows[draws].tolist(), right[draws].tolist(), strict=True))


def _right_without(labels: LabelsOfRows, train_without: Callable[[], Learned]) -> dict[int, bool]:
    """Return the same for a model without the memory. With labels of one term only, it always guesses that term."""
    if len(np.unique(labels.terms)) < 2:
        return dict.fromkeys(labels.rows.tolist(), True)
    return _right_by_row(train_without().held_out)
