"""Upper bounds for the number of wrong bulk labels, from a random check of the images."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any, Literal

import scipy

from benthoscope.engine.labelling.audits.sequential_bound import FIRST_SHOWN, sequential_plan, sequential_upper
from benthoscope.engine.labelling.audits.viewing import describe, typical_time
from benthoscope.engine.problems import fail
from benthoscope.engine.workspace.labels.events import Event

CONFIDENCE = 0.95
WANTED = 0.05  # default limit for the fraction of wrong bulk labels
HOPELESS = 2.5  # after this multiple of the planned checks, correcting the labels is cheaper than checking on
SEQUENTIAL, FIXED = "sequential", "fixed size"
Advice = Literal["enough", "more", "correct"]


@dataclass(frozen=True)
class Audit:
    """Result of an audit. `at_most` bounds the fraction of wrong labels before correction, at this confidence; `of`
    images were labelled. `seconds` of attention were spent on the checked images, with median `typical_seconds`; None
    for audits of former versions, which did not measure it."""

    checked: int
    wrong: int
    of: int
    at_most: float
    confidence: float = CONFIDENCE
    method: str = FIXED
    seconds: float | None = None
    typical_seconds: float | None = None

    @property
    def at_most_after(self) -> float:
        """Return the bound after the wrong labels found are corrected."""
        return max(self.at_most - self.wrong / self.of, 0.0) if self.of else 0.0

    @property
    def viewing(self) -> str:
        return describe(self.checked, self.seconds, self.typical_seconds)

    def __str__(self) -> str:
        return (
            f"checked {self.checked}, wrong {self.wrong}, at most {100 * self.at_most:.2g} % wrong "
            f"at {100 * self.confidence:.3g} % ({self.viewing})"
        )


def audited(checked: int, wrong: int, of: int, confidence: float = CONFIDENCE) -> Audit:
    """Return an audit with a size fixed in advance, with the exact bound for a single look."""
    _check_counts(checked, wrong, of)
    return Audit(checked, wrong, of, bound_within(of, checked, wrong, confidence), confidence)


def sequential_audit(
    checked: int, wrong: int, of: int, seconds: Sequence[float] | None = None, confidence: float = CONFIDENCE
) -> Audit:
    """Return an audit that may be inspected, stopped or extended after each image. `seconds` of attention per image."""
    _check_counts(checked, wrong, of)
    upper = sequential_upper(of, checked, wrong, round(1 - confidence, 12))
    return Audit(
        checked,
        wrong,
        of,
        upper / of if of else 1.0,
        confidence,
        SEQUENTIAL,
        None if seconds is None else round(float(sum(seconds)), 1),
        typical_time(seconds or ()),
    )


def advice(audit: Audit, target: float = WANTED) -> Advice:
    """Return whether an audit has reached its target, needs more images, or should be stopped to correct the labels."""
    if audit.at_most <= target or audit.checked == audit.of:
        return "enough"
    enough_seen = audit.checked >= min(FIRST_SHOWN, audit.of)
    if enough_seen and audit.wrong / max(audit.checked, 1) > target:
        return "correct"
    return "correct" if audit.checked > HOPELESS * sequential_plan(audit.of, target) else "more"


def more_to_check(audit: Audit, target: float = WANTED) -> int:
    """Return how many more images reach the target if none of them is wrong."""
    return max(sequential_plan(audit.of, target, audit.wrong) - audit.checked, 0)


def upper_bound(checked: int, wrong: int, confidence: float = CONFIDENCE) -> float:
    """Return the exact one-sided binomial limit (Clopper and Pearson): the largest fraction for which so few wrong
    labels are not too unlikely."""
    if wrong >= checked:
        return 1.0
    return float(scipy.special.betaincinv(wrong + 1, checked - wrong, confidence))


def bound_within(of: int, checked: int, wrong: int, confidence: float = CONFIDENCE) -> float:
    """Return the same limit for a check without replacement from `of` images. A check of all images is exact."""
    low, high = wrong, of - (checked - wrong)  # the possible numbers of wrong labels
    while low < high:  # find the largest number for which P(so few wrong) exceeds 1 - confidence
        middle = (low + high + 1) // 2
        if scipy.stats.hypergeom.cdf(wrong, of, middle, checked) > 1 - confidence:
            low = middle
        else:
            high = middle - 1
    return min(low / of if of else 1.0, upper_bound(checked, wrong, confidence) if checked else 1.0)


@lru_cache(maxsize=4096)
def audit_size(of: int, target: float = WANTED, wrong: int = 0, confidence: float = CONFIDENCE) -> int:
    """Return how many of `of` images to check to show that at most the fraction `target` is wrong, if no more than
    `wrong` are found and the size is fixed in advance."""
    if not 0 < target < 1:
        raise fail("audit", f"a target of {target}", "give a number between 0 and 1")
    low, high = 0, of
    while low < high:
        middle = (low + high) // 2
        if bound_within(of, middle, min(wrong, middle), confidence) <= target:
            high = middle
        else:
            low = middle + 1
    return low


def audit_event(about: int | Sequence[int], audit: Audit, frame: int | None = None) -> Mapping[str, Any]:
    """Return the rule stored with an audit of one or several events."""
    return {
        "about": about if isinstance(about, int) else [int(number) for number in about],
        "frame": frame,
        **vars(audit),
    }


def audits(events: Iterable[Event]) -> dict[int, Audit]:
    """Return {event: its newest audit} from effective events. Audits of several events together are left out."""
    return {
        event.rule["about"]: audit_of(event)
        for event in events
        if event.kind == "audit" and isinstance(event.rule["about"], int)
    }


def audit_of(event: Event) -> Audit:
    """Return the audit that an event stores. Events of former versions lack the later fields."""
    known = {field.name for field in fields(Audit)}
    return Audit(**{name: value for name, value in event.rule.items() if name in known})


def _check_counts(checked: int, wrong: int, of: int) -> None:
    if not 0 <= wrong <= checked <= of:
        raise fail(
            "audit", f"impossible numbers: {wrong} wrong, {checked} checked, {of} in total", "count each image once"
        )
