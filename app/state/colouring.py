"""What points and tiles are coloured by: one code an image, a colour a code, and what the codes mean."""

from dataclasses import dataclass

import numpy as np

from app.state.app_state import AppState
from app.state.atlas import Atlas
from app.state.colours import GREY, distinct, ramp
from app.state.measures import Measure, measure_named, measures
from app.state.suggested import suggested, suggestions
from app.state.terms import labelled

UNKNOWN = 65535       # the code of images that have none
STEPS = 200           # colours of a ramp: more than an eye tells apart
OUTER = (1.0, 99.0)   # percentiles at the ends of a ramp: a single wrong depth shall not make all others one colour


@dataclass(frozen=True)
class Colouring:
    """`codes` (N,) uint16 index `colours`; `names` are those of the codes, or for numbers (least, greatest, unit)."""

    title: str
    codes: np.ndarray
    colours: tuple[str, ...]
    names: tuple[str, ...] = ()
    ends: tuple[float, float, str] | None = None


KINDS = {"cluster": "Cluster", "label": "Label", "suggestion": "Suggestion", "dive": "Dive"}


def colour_choices(app: AppState, atlas: Atlas) -> dict[str, str]:
    """Names and titles of all that can be coloured by."""
    kinds = {name: title for name, title in KINDS.items() if _can_be_had(app, atlas, name)}
    return kinds | {name: found.title for name, found in measures(app, atlas).items()}


def colouring(app: AppState, atlas: Atlas, by: str) -> Colouring:
    if by in KINDS:
        made = {"cluster": _by_cluster, "label": _by_label, "suggestion": _by_suggestion, "dive": _by_dive}
        return made[by](app, atlas)
    measure = measure_named(app, atlas, by)
    return _by_number(measure, measure.of(app, atlas))


def _can_be_had(app: AppState, atlas: Atlas, kind: str) -> bool:
    return {"cluster": atlas.run is not None, "suggestion": suggestions(app) is not None}.get(kind, True)


def cluster_colours(count: int) -> list[str]:
    return distinct(count)


def _by_cluster(app: AppState, atlas: Atlas) -> Colouring:
    names = tuple(f"Cluster {number}" for number in range(atlas.clusters))
    return Colouring("Cluster", _codes(atlas.labels), tuple(cluster_colours(atlas.clusters)), names)


def _by_label(app: AppState, atlas: Atlas) -> Colouring:
    found = labelled(app)
    colours = [term.colour or colour for term, colour in zip(found.terms, distinct(len(found.terms)), strict=True)]
    return Colouring("Label", _codes(found.term), tuple(colours), tuple(term.name for term in found.terms))


def _by_suggestion(app: AppState, atlas: Atlas) -> Colouring:
    found = suggested(app)
    colours = [term.colour or colour for term, colour in zip(found.terms, distinct(len(found.terms)), strict=True)]
    return Colouring("Suggestion", _codes(found.term), tuple(colours), tuple(f"{term.name}?" for term in found.terms))


def _by_dive(app: AppState, atlas: Atlas) -> Colouring:
    names = tuple(found.group.name for found in atlas.groups)
    return Colouring("Dive", _codes(atlas.group), tuple(distinct(len(names))), names)


def _by_number(measure: Measure, values: np.ndarray) -> Colouring:
    known = np.isfinite(values)
    low, high = np.percentile(values[known], OUTER) if known.any() else (0.0, 1.0)
    share = (np.where(known, values, low) - low) / max(high - low, 1e-12)
    codes = np.where(known, np.clip(share * STEPS, 0, STEPS - 1), UNKNOWN)
    return Colouring(measure.title, codes.astype(np.uint16), tuple(ramp(STEPS)), (),
                     (float(low), float(high), measure.unit))


def _codes(index: np.ndarray) -> np.ndarray:
    return np.where(index < 0, UNKNOWN, index).astype(np.uint16)


__all__ = ["GREY", "UNKNOWN", "Colouring", "cluster_colours", "colour_choices", "colouring"]
