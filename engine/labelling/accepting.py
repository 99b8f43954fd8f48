"""Suggestions become labels: those sure enough, unseen; or a page that somebody looked through."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.labelling.suggestion_store import Suggestions
from engine.problems import fail
from engine.workspace.labels import Act, LabelLog


@dataclass(frozen=True)
class Accepted:
    """`threshold` is None where no confidence was high enough; one event per term."""

    images: int
    threshold: float | None
    events: tuple[int, ...] = ()


def acceptable(found: Suggestions, labelled: np.ndarray, wanted: float) -> tuple[np.ndarray, float | None]:
    """(places of the unlabelled images whose suggestion can be taken unseen, threshold), so that at least a share
    `wanted` of such suggestions is right, by the lower bound at 95 %."""
    if not 0 < wanted < 1:
        raise fail("accuracy wanted", f"{wanted} is no share", "give a number between 0 and 1, such as 0.95")
    threshold = found.curve().threshold_for(wanted)
    if threshold is None:
        return np.empty(0, np.int64), None
    free = ~np.isin(found.image_ids, labelled) & (found.best()[1] >= threshold)
    return np.flatnonzero(free), threshold


def accept_sure(log: LabelLog, person_id: int, found: Suggestions, wanted: float) -> Accepted:
    """Accepts all that is sure enough, all terms or none."""
    places, threshold = acceptable(found, log.current()[0], wanted)
    if not len(places):
        return Accepted(0, threshold)
    acts = suggestion_acts(found, places, {"threshold": threshold, "wanted": wanted})
    return Accepted(len(places), threshold, tuple(log.act_together(person_id, acts)))


def suggestion_acts(found: Suggestions, places: np.ndarray, rule: Mapping[str, Any]) -> list[Act]:
    """One act a term that gives the images at these places their suggestions, with the mean confidence."""
    terms, sure = (each[places] for each in found.best())
    return [Act("label", np.sort(found.image_ids[places[terms == term]]), "suggestion", int(term), found.facts["run"],
                rule, float(sure[terms == term].mean())) for term in np.unique(terms)]
