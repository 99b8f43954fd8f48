"""Accept suggestions as labels, either a reviewed page or, without review, those that are proven to be accurate enough.

Answered random draws prove which suggestions may be accepted without review. A draw represents the images without a
label when it was drawn. People label the easy images first, so the remaining images can be harder. All wrong
suggestions that the bound allows are therefore assumed to be among the remaining images.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy

from benthoscope.engine.labelling.audits.sequential_bound import ALPHA, sequential_plan, sequential_upper
from benthoscope.engine.labelling.measured_accuracy import NEEDED, AnsweredDraws, what_is_missing
from benthoscope.engine.labelling.suggestions import Suggestions, model_age
from benthoscope.engine.problems import fail
from benthoscope.engine.workspace.labels.log import Act, LabelLog

# of confidence, tested in this order
THRESHOLDS = (0.99, 0.98, 0.95, 0.9, 0.85, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.0)
LATEST = 240  # largest number of draws in a proof, or
PLANS = 3  # this multiple of the draws that suffice if all are correct
LEAST_SHARE = 50  # per cent: a lower fraction of correct suggestions is not offered


@dataclass(frozen=True)
class Proof:
    """The `count` most confident suggestions, all with a confidence of at least `threshold`, reach the requested
    accuracy."""

    threshold: float
    count: int


@dataclass(frozen=True)
class Need:
    """The missing evidence for a proof: at least `missing_draws` additional draws, all of them correct; None if no
    reasonable number would be enough. `reachable` is the greatest fraction that is already proven."""

    text: str
    answered: int
    missing_draws: int | None
    reachable: float | None


def prove(draws: AnsweredDraws, confidence: np.ndarray, share: float) -> Proof | None:
    """Find the suggestions of which at least the fraction `share` is correct, at 95 % confidence.

    `confidence` (F,) belongs to all images without a label. Thresholds are tested from the top and the first failure
    ends the search, so several tests need no correction. Thresholds that could not pass even without an error are
    skipped. The fraction of images above a threshold never exceeds that of the draws, so an overconfident model does
    not increase the accepted set.
    """
    _check_share(share)
    if what_is_missing(draws) or not len(confidence):
        return None
    used, passed = _used(draws, len(confidence), share), None
    for threshold in THRESHOLDS:
        above = _AboveThreshold.of(used, confidence, threshold)
        if not above.proves(share, wrong=0):
            continue
        if not above.proves(share):
            break
        passed = Proof(threshold, above.count)
    return passed


def what_is_needed(draws: AnsweredDraws, confidence: np.ndarray, share: float) -> Need:
    """Return why nothing is proven yet and what to do, in words for the user."""
    _check_share(share)
    answered, asked = len(draws), f"{100 * share:.0f} %"
    if not len(confidence):
        return Need("Every image has a label", answered, None, None)
    if answered >= NEEDED and what_is_missing(draws):
        images = "image" if draws.open == 1 else "images"
        return Need(f"Answer {draws.open} open random {images} first", answered, 0, None)
    missing_draws, reachable = _more_draws(draws, confidence, share), _reachable(draws, confidence, share)
    instead = f" {reachable:.0%} is proven already: lower the share.".replace("%", " %") if reachable else ""
    if answered >= NEEDED and (missing_draws is None or _excluded(draws, share)):
        wrong, used = int((~draws.latest().right).sum()), len(draws.latest())
        if wrong:
            advice = instead or " Label more images to improve the model."
            return Need(
                f"Random images show that {asked} accuracy cannot be reached now: {wrong} of the last {used} "
                f"suggestions were wrong.{advice}",
                answered,
                None,
                reachable,
            )
    if missing_draws is None:
        return Need(
            f"Too few images are left to prove {asked} accuracy: lower the share or label them.{instead}",
            answered,
            None,
            reachable,
        )
    return Need(
        f"Answer at least {missing_draws} more random images first; {answered} of {answered + missing_draws} are "
        f"answered.{instead}",
        answered,
        missing_draws,
        reachable,
    )


@dataclass(frozen=True)
class _AboveThreshold:
    """The draws above a threshold: their number, the number of wrong ones, and `open` ones that may be wrong. They are
    from `population` images; `count` of the remaining images may be accepted."""

    draws: int
    wrong: int
    open: int
    population: int
    count: int

    @classmethod
    def of(cls, used: AnsweredDraws, confidence: np.ndarray, threshold: float) -> "_AboveThreshold":
        above = used.confidence >= threshold
        n_draws, share = int(above.sum()), float(above.mean())
        population = max(round(share * int(used.eligible.max())), n_draws + used.open)
        count = min(int((confidence >= threshold).sum()), int(share * len(confidence) + 1e-9))
        return cls(n_draws, int((~used.right[above]).sum()), used.open, population, count)

    def proves(self, share: float, wrong: int | None = None) -> bool:
        """Return whether at least the fraction `share` of the `count` suggestions is correct, given the number of wrong
        draws."""
        errors = self.wrong if wrong is None else wrong
        if not self.draws or not self.count:
            return False
        upper = sequential_upper(self.population, self.draws + self.open, errors + self.open)
        return upper - errors <= (1 - share) * self.count


def _used(draws: AnsweredDraws, remaining: int, share: float) -> AnsweredDraws:
    """Return the newest draws, limited in number and without draws from before most images were labelled. The choice
    does not depend on the answers."""
    longest = min(len(draws), max(LATEST, PLANS * sequential_plan(remaining, 1 - share)))
    recent = [draws.last(max(longest // divisor, min(longest, NEEDED))) for divisor in (1, 2, 4)]
    return min(recent, key=lambda each: sequential_upper(max(int(each.eligible.max()), len(each)), len(each), 0))


def _more_draws(draws: AnsweredDraws, confidence: np.ndarray, share: float) -> int | None:
    """Return the number of additional draws that would prove something, if all are correct and as confident as the
    remaining images."""
    most = min(len(confidence) - 1, max(LATEST, PLANS * sequential_plan(len(confidence), 1 - share)))
    ordered = np.sort(confidence)

    def suffices(count: int) -> bool:
        return prove(_continued(draws, ordered, count), ordered[count:], share) is not None

    if most < 1 or not suffices(most):
        return None
    low, high = 1, most
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if suffices(middle) else (middle + 1, high)
    return low


def _continued(draws: AnsweredDraws, ordered: np.ndarray, count: int) -> AnsweredDraws:
    """Return the draws with `count` additional correct ones, at even steps through the sorted confidences."""
    sure = _quantiles(ordered, (np.arange(count) + 0.5) / count)
    model = int(draws.model.max(initial=-1)) + 1
    return replace(
        draws,
        confidence=np.r_[draws.confidence, sure],
        right=np.r_[draws.right, np.ones(count, bool)],
        model=np.r_[draws.model, np.full(count, model)],
        eligible=np.r_[draws.eligible, len(ordered) - np.arange(count)],
        open=0,
    )


def _quantiles(ordered: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """The result of np.quantile, which does not use that the values are sorted."""
    position = shares * (len(ordered) - 1)
    below = position.astype(np.int64)
    above = np.minimum(below + 1, len(ordered) - 1)
    return ordered[below] + (position - below) * (ordered[above] - ordered[below])


def _reachable(draws: AnsweredDraws, confidence: np.ndarray, share: float) -> float | None:
    """Return the greatest fraction below `share`, in whole per cent, that is proven now."""
    per_cent = range(int(np.ceil(100 * share - 1e-9)) - 1, LEAST_SHARE - 1, -1)
    return next((value / 100 for value in per_cent if prove(draws, confidence, value / 100)), None)


def _excluded(draws: AnsweredDraws, share: float) -> bool:
    """Return whether the draws show at 95 % for each threshold that too many suggestions above it are wrong."""
    used = draws.last(LATEST)
    for threshold in THRESHOLDS:
        above = used.confidence >= threshold
        n, wrong = int(above.sum()), int((~used.right[above]).sum())
        if n and (not wrong or scipy.special.betaincinv(wrong, n - wrong + 1, ALPHA) <= 1 - share):
            return False
    return True


def _check_share(share: float) -> None:
    if not 0 < share < 1:
        raise fail("accuracy wanted", f"must be between 0 and 1 (got {share})", "give a number such as 0.95")


@dataclass(frozen=True)
class Acceptable:
    """Rows of unlabelled images whose suggestions may be accepted without review, all with a confidence of at least
    `threshold`. If there are none, `threshold` is None and `need` says what is missing."""

    rows: np.ndarray
    threshold: float | None
    need: Need | None


@dataclass(frozen=True)
class Accepted:
    """The new events, one per term. Without any image, `threshold` is None and `need` gives the reason."""

    images: int
    threshold: float | None
    events: tuple[int, ...] = ()
    need: Need | None = None


def acceptable(suggestions: Suggestions, labelled: np.ndarray, share: float, draws: AnsweredDraws) -> Acceptable:
    """Return the suggestions for which random draws prove an accuracy of at least `share`. Without draws, there are
    none."""
    free = np.flatnonzero(~np.isin(suggestions.image_ids, labelled))
    confidence = suggestions.best()[1][free].astype(np.float64)
    proof = prove(draws, confidence, share)
    if proof is None:
        return Acceptable(np.empty(0, np.int64), None, what_is_needed(draws, confidence, share))
    surest = np.argsort(-confidence, kind="stable")[: proof.count]
    return Acceptable(np.sort(free[surest]), proof.threshold, None)


def accept_sure(
    log: LabelLog, person_id: int, suggestions: Suggestions, share: float, draws: AnsweredDraws
) -> Accepted:
    """Accept all suggestions that are proven to be accurate enough. Stores all terms or none."""
    refuse_stale(suggestions, log)
    chosen = acceptable(suggestions, log.current()[0], share, draws)
    if not len(chosen.rows):
        return Accepted(0, None, need=chosen.need)
    rule = {"threshold": chosen.threshold, "wanted": share, "random_images": len(draws)}
    events = suggestion_acts(suggestions, chosen.rows, rule)
    return Accepted(len(chosen.rows), chosen.threshold, tuple(log.append_events(person_id, events)))


def suggestion_acts(
    suggestions: Suggestions, rows: np.ndarray, rule: Mapping[str, Any], why: str = "suggestion"
) -> list[Act]:
    """Return one event per term that gives these images their suggestions, with the mean confidence."""
    P = suggestions.unseen_rows(rows)
    terms, sure = suggestions.terms[P.argmax(1)], P.max(1, initial=0)
    return [
        Act(
            "label",
            np.sort(suggestions.image_ids[rows[terms == term]]),
            why,
            int(term),
            suggestions.facts["run"],
            rule,
            float(sure[terms == term].mean()),
        )
        for term in np.unique(terms)
    ]


def refuse_stale(suggestions: Suggestions, log: LabelLog) -> None:
    """Raise if too many labels have changed since the model was trained."""
    age = model_age(suggestions, log)
    if age.stale:
        raise fail("suggestions", f"out of date, {age}", "wait until the model is updated, then check them again")
