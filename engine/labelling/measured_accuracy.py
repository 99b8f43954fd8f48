"""Accuracy of the suggestions, measured on random draws only.

The model's guess is stored with each draw before the draw is answered. Labels that people chose to give, or gave to
whole groups, are not representative of the remaining images, so they are not used to report accuracy.
"""

from dataclasses import dataclass, replace

import numpy as np

from benthoscope.engine.labelling.audits.sequential_bound import sequential_upper
from benthoscope.engine.labelling.calibration import Curve, Reliability, accuracy_coverage, reliability

NEEDED = 30  # answered draws before an accuracy is shown
WINDOW = 60  # latest draws used for the accuracy, or those of the latest model versions if there are more
VERSIONS = 3
OPEN_SHARE = 0.05  # if a larger fraction of draws is open, these have to be answered first
DOUBLES = 60  # draws answered a second time without a suggestion, before the influence of suggestions is known


@dataclass(frozen=True)
class AnsweredDraws:
    """Answered draws, oldest first.

    For each draw (n,): the probability of the stored guess, whether it was correct, the number of its model, and the
    number of eligible images. `open` draws have no answer yet, `open_cover` of them among the random images for cover.
    Of the draws answered on a page with suggestions, `doubles` were answered again without; `differ` of these got
    another answer, and settling them changed `overstated` guesses from correct to wrong. `waiting` draws need a second
    answer. `blind` were answered without a suggestion at first. `without_guess` more random images were answered but
    measure nothing, because there was no model or they already had a label.
    """

    confidence: np.ndarray
    right: np.ndarray
    model: np.ndarray
    eligible: np.ndarray
    open: int = 0
    doubles: int = 0
    differ: int = 0
    overstated: int = 0
    waiting: int = 0
    blind: int = 0
    without_guess: int = 0
    open_cover: int = 0

    def __len__(self) -> int:
        return len(self.right)

    def latest(self, least: int = WINDOW) -> "AnsweredDraws":
        """Return the last `least` draws, or all of the last model versions if these are more."""
        if not len(self):
            return self
        newest = np.unique(self.model)[-VERSIONS:]
        recent = int(np.argmax(np.isin(self.model, newest)))
        return self.last(max(len(self) - recent, least))

    def last(self, count: int) -> "AnsweredDraws":
        """Return the newest `count` draws."""
        start = max(len(self) - count, 0)
        return replace(
            self,
            confidence=self.confidence[start:],
            right=self.right[start:],
            model=self.model[start:],
            eligible=self.eligible[start:],
        )

    def reliability(self) -> Reliability:
        """Return the calibration of the latest draws."""
        used = self.latest()
        return reliability(used.confidence, used.right)

    def curve(self) -> Curve:
        """Return accuracy against coverage of the latest draws."""
        used = self.latest()
        return accuracy_coverage(used.confidence, used.right)


NO_DRAWS = AnsweredDraws(np.empty(0), np.empty(0, bool), np.empty(0, np.int64), np.empty(0, np.int64))


@dataclass(frozen=True)
class Measured:
    """The measured accuracy.

    `accuracy` and its one-sided lower bound `at_least` at 95 % use the latest `used` of `answered` draws. Both are None
    while `missing` says what to do first. `repeated` draws were answered again without a suggestion, `differ` of them
    with another answer; `waiting` draws need a second answer.
    """

    answered: int
    used: int
    accuracy: float | None
    at_least: float | None
    calibration_error: float | None
    missing: str
    remark: str
    repeated: int = 0
    differ: int = 0
    waiting: int = 0
    without_guess: int = 0

    @property
    def known(self) -> bool:
        return self.accuracy is not None


def measure(draws: AnsweredDraws) -> Measured:
    """Return the accuracy of the first guess, or what is missing to measure it."""
    missing = what_is_missing(draws)
    counts = {
        "repeated": draws.doubles,
        "differ": draws.differ,
        "waiting": draws.waiting,
        "without_guess": draws.without_guess,
    }
    if missing:
        return Measured(len(draws), 0, None, None, None, missing, "", **counts)
    used, less = draws.latest(), overstatement(draws)
    return Measured(
        len(draws),
        len(used),
        max(float(used.right.mean()) - less, 0.0),
        max(_at_least(used) - less, 0.0),
        used.reliability().error,
        "",
        remark(draws),
        **counts,
    )


def overstatement(draws: AnsweredDraws) -> float:
    """Return by how much suggestions shown next to an image inflate the measured accuracy; 0 before enough draws were
    answered again. Draws with two answers count as settled, so this concerns only the others."""
    if draws.doubles < DOUBLES:
        return 0.0
    once = max(len(draws) - draws.doubles - draws.blind, 0) / len(draws)
    return max(draws.overstated / draws.doubles, 0.0) * once


def what_is_missing(draws: AnsweredDraws) -> str:
    """Return why nothing can be measured yet; empty if it can."""
    if len(draws) < NEEDED:
        return f"not measurable yet: {len(draws)} of {NEEDED} random images answered"
    if draws.open > OPEN_SHARE * (len(draws.latest()) + draws.open):
        images = "image" if draws.open == 1 else "images"
        return f"not measurable yet: answer {draws.open} open random {images} first"
    return ""


def remark(draws: AnsweredDraws) -> str:
    """Return what makes the figure less reliable."""
    known = draws.doubles >= DOUBLES or draws.blind == len(draws)
    return "a little behind" if known else "a little behind; checked on pages with suggestions"


def conformal_size(error: float) -> int:
    """Return the smallest number of answered draws for prediction sets with this error."""
    return int(np.ceil(round(1 / error, 9))) - 1


def _at_least(used: AnsweredDraws) -> float:
    """Return the one-sided lower bound at 95 %. Open draws count as wrong."""
    of = _population(used)
    wrong = int((~used.right).sum()) + used.open
    return 1 - sequential_upper(of, len(used) + used.open, wrong) / of


def _population(draws: AnsweredDraws) -> int:
    """Return the number of images the draws come from: the largest number eligible at any draw."""
    return int(max(draws.eligible.max(initial=0), len(draws) + draws.open))
