"""The numbers an image has, by name: to colour by, to sort by, to plot."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from app.state.app_state import AppState
from app.state.atlas import Atlas
from app.state.shapes import outlier_scores
from app.state.suggested import suggested, suggestions
from engine.problems import unknown

LOOKED_AT = 200  # images whose free metadata are looked through for numbers


@dataclass(frozen=True)
class Measure:
    """`of` gives (N,) float64 with NaN where unknown."""

    name: str
    title: str
    unit: str
    of: Callable[[AppState, Atlas], np.ndarray]
    needs_run: bool = False
    needs_learning: bool = False


MEASURES: Mapping[str, Measure] = {measure.name: measure for measure in (
    Measure("time", "Time", "", lambda app, atlas: atlas.columns.taken_at),
    Measure("depth", "Depth", "m", lambda app, atlas: atlas.columns.depth),
    Measure("altitude", "Altitude", "m", lambda app, atlas: atlas.columns.altitude),
    Measure("probability", "Probability", "", lambda app, atlas: atlas.probability.astype(float), needs_run=True),
    Measure("confidence", "Confidence of the suggestion", "", lambda app, atlas: suggested(app).sure,
            needs_learning=True),
    Measure("outlier", "Outlier score", "", lambda app, atlas: outlier_scores(app, atlas), needs_run=True),
    Measure("latitude", "Latitude", "°", lambda app, atlas: atlas.columns.latitude),
    Measure("longitude", "Longitude", "°", lambda app, atlas: atlas.columns.longitude),
)}


def measures(app: AppState, atlas: Atlas) -> dict[str, Measure]:
    """Those that can be had: of the catalogue, of the run, and numbers in the images' own metadata."""
    learnt = suggestions(app) is not None
    own = {name: measure for name, measure in MEASURES.items()
           if (atlas.run is not None or not measure.needs_run) and (learnt or not measure.needs_learning)}
    return own | {f"meta:{name}": _in_details(name) for name in app.kept("numeric details", lambda: _numeric(app))}


def measure_named(app: AppState, atlas: Atlas, name: str) -> Measure:
    known = measures(app, atlas)
    if name not in known:
        raise unknown("measures", name, known)
    return known[name]


def _in_details(name: str) -> Measure:
    return Measure(f"meta:{name}", name, "", lambda app, atlas: app.kept(("details", name), lambda: _read(app, name)))


def _numeric(app: AppState) -> list[str]:
    """Names under which most of the first images have a number."""
    found = app.workspace.library.images(app.columns.ids[:LOOKED_AT].tolist())
    counts: dict[str, int] = {}
    for image in found:
        for name, value in image.details.items():
            if isinstance(value, int | float) and not isinstance(value, bool):
                counts[name] = counts.get(name, 0) + 1
    return sorted(name for name, count in counts.items() if count * 2 > len(found))


def _read(app: AppState, name: str) -> np.ndarray:
    details = app.workspace.library.columns("details")["details"]
    return np.array([_number(found.get(name)) for found in details], float)


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else np.nan
