"""How many of a bulk act are wrong at most, from a short random check of it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.stats import beta, hypergeom

from engine.problems import fail
from engine.workspace.events import Event
from engine.workspace.labels import LabelLog

CONFIDENCE = 0.95
WANTED = 0.05  # share of wrong labels a bulk act may have at most, where nobody said otherwise


@dataclass(frozen=True)
class Audit:
    """`at_most` is the exact upper bound of the share of wrong labels at this confidence; `of` images were labelled."""

    checked: int
    wrong: int
    of: int
    at_most: float
    confidence: float = CONFIDENCE

    def __str__(self) -> str:
        return (f"checked {self.checked}, wrong {self.wrong}, at most {100 * self.at_most:.2g} % wrong "
                f"at {100 * self.confidence:.3g} %")


def audited(checked: int, wrong: int, of: int, confidence: float = CONFIDENCE) -> Audit:
    if not 0 <= wrong <= checked <= of:
        raise fail("audit", f"{wrong} wrong of {checked} checked of {of}", "count each image once")
    return Audit(checked, wrong, of, bound_within(of, checked, wrong, confidence), confidence)


def upper_bound(checked: int, wrong: int, confidence: float = CONFIDENCE) -> float:
    """Exact binomial (Clopper and Pearson), one-sided: the greatest share under which so few wrong ones are not yet
    too rare."""
    if wrong >= checked:
        return 1.0
    return float(beta.ppf(confidence, wrong + 1, checked - wrong))


def bound_within(of: int, checked: int, wrong: int, confidence: float = CONFIDENCE) -> float:
    """The same for a check drawn without repeats from `of` images: what was all seen is known exactly."""
    low, high = wrong, of - (checked - wrong)  # wrong ones there can be in all
    while low < high:  # the greatest number that leaves P(so few wrong) above 1 - confidence
        middle = (low + high + 1) // 2
        if hypergeom.cdf(wrong, of, middle, checked) > 1 - confidence:
            low = middle
        else:
            high = middle - 1
    return min(low / of if of else 1.0, upper_bound(checked, wrong, confidence) if checked else 1.0)


@lru_cache(maxsize=4096)
def audit_size(of: int, wanted: float = WANTED, wrong: int = 0, confidence: float = CONFIDENCE) -> int:
    """How many of `of` images to check so that at most a share `wanted` is wrong if no more than `wrong` are found."""
    if not 0 < wanted < 1:
        raise fail("audit", f"a share of {wanted} wrong", "give a number between 0 and 1")
    low, high = 0, of
    while low < high:
        middle = (low + high) // 2
        if bound_within(of, middle, min(wrong, middle), confidence) <= wanted:
            high = middle
        else:
            low = middle + 1
    return low


def drawn(images: np.ndarray, seen: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    """A random check of `images`, in random order. Images somebody looked at before count like others: leaving them
    out would check another share than that of the whole act. `seen` ones come last, to be answered at a glance."""
    chosen = rng.permutation(images)[:size]
    return np.concatenate([chosen[~np.isin(chosen, seen)], chosen[np.isin(chosen, seen)]])


def record_audit(log: LabelLog, person_id: int, about: int, checked: np.ndarray, wrong: int,
                 confidence: float = CONFIDENCE) -> Audit:
    """Stores with bulk act `about` what a check of it found; wrong ones are corrected by labels of their own."""
    result = audited(len(checked), wrong, log.event(about).count, confidence)
    log.act("audit", person_id, checked, why="audit", rule={"about": about, **vars(result)})
    return result


def audits(events: Iterable[Event]) -> dict[int, Audit]:
    """{act: its newest audit}, of standing events."""
    return {event.rule["about"]: _told(event.rule) for event in events if event.kind == "audit"}


def _told(rule: Mapping[str, Any]) -> Audit:
    return Audit(**{name: rule[name] for name in ("checked", "wrong", "of", "at_most", "confidence")})
