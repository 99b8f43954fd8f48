"""Measures of images, by which they are coloured and sorted, and the order of tiles."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from benthoscope.app.data.clusters.cluster_geometry import image_features, outlier_scores
from benthoscope.app.data.clusters.clustered_images import Atlas, cluster_names, cluster_word, placed
from benthoscope.app.data.group_words import group_words
from benthoscope.app.data.labels import labelled
from benthoscope.app.data.suggestions import suggested, suggestions
from benthoscope.app.session.app_state import AppState
from benthoscope.app.session.cache import IMAGES
from benthoscope.engine.labelling.numeric_columns import IMPORTED, imported_numbers, imported_values
from benthoscope.engine.problems import fail, unknown


@dataclass(frozen=True)
class Measure:
    """`of` returns (N,) float64, NaN where unknown."""

    name: str
    title: str
    unit: str
    of: Callable[[AppState, Atlas], np.ndarray]
    needs_run: bool = False
    needs_learning: bool = False


MEASURES: Mapping[str, Measure] = {
    measure.name: measure
    for measure in (
        Measure("time", "Time", "", lambda app, atlas: atlas.columns.taken_at),
        Measure("depth", "Depth", "m", lambda app, atlas: atlas.columns.depth),
        Measure("altitude", "Altitude", "m", lambda app, atlas: atlas.columns.altitude),
        Measure("probability", "Probability", "", lambda app, atlas: atlas.probability.astype(float), needs_run=True),
        Measure(
            "confidence",
            "Confidence of the suggestion",
            "",
            lambda app, atlas: suggested(app).sure,
            needs_learning=True,
        ),
        Measure("outlier", "Outlier score", "", lambda app, atlas: outlier_scores(app, atlas), needs_run=True),
        Measure("latitude", "Latitude", "°", lambda app, atlas: atlas.columns.latitude),
        Measure("longitude", "Longitude", "°", lambda app, atlas: atlas.columns.longitude),
    )
}


def measures(app: AppState, atlas: Atlas) -> dict[str, Measure]:
    """Available measures: from the catalogue, from the run, and numbers in the metadata of the images."""
    learnt = suggestions(app) is not None
    missing = app.cached("measures without values", lambda: _without_values(app), IMAGES)
    available = {
        name: measure
        for name, measure in MEASURES.items()
        if (atlas.run is not None or not measure.needs_run)
        and (learnt or not measure.needs_learning)
        and name not in missing
    }
    return available | {
        f"{IMPORTED}{name}": _in_details(name) for name in app.cached("numeric details", lambda: _fields(app), IMAGES)
    }


def _without_values(app: AppState) -> frozenset[str]:
    """Measures that no image has: albums have no depth, for example."""
    columns = {
        "time": app.columns.taken_at,
        "depth": app.columns.depth,
        "altitude": app.columns.altitude,
        "latitude": app.columns.latitude,
        "longitude": app.columns.longitude,
    }
    return frozenset(name for name, values in columns.items() if not np.isfinite(values).any())


def measure_named(app: AppState, atlas: Atlas, name: str) -> Measure:
    known = measures(app, atlas)
    if name not in known:
        raise unknown("measures", name, known)
    return known[name]


def _in_details(name: str) -> Measure:
    return Measure(
        f"{IMPORTED}{name}",
        name,
        "",
        lambda app, atlas: app.cached(("details", name), lambda: imported_values(app.workspace.library, name), IMAGES),
    )


def _fields(app: AppState) -> list[str]:
    return imported_numbers(app.workspace.library, app.columns.ids)


BLOCK = 100_000  # rows in memory at once


@dataclass(frozen=True)
class Grouping:
    """`code` (N,) int32 is the group of each image, negative for none; `names` are the names of the codes."""

    title: str
    code: np.ndarray
    names: tuple[str, ...]


def _dives(app: AppState, atlas: Atlas) -> Grouping:
    return Grouping(group_words(app).heading, atlas.group, tuple(summary.group.name for summary in atlas.groups))


def _clusters(app: AppState, atlas: Atlas) -> Grouping:
    return Grouping(cluster_word(atlas.run), atlas.labels, cluster_names(app, atlas))


def _terms(app: AppState, atlas: Atlas) -> Grouping:
    labels = labelled(app)
    return Grouping("Label", labels.term, tuple(term.name for term in labels.terms))


def _suggestions(app: AppState, atlas: Atlas) -> Grouping:
    suggestion = suggested(app)
    return Grouping("Suggestion", suggestion.term, tuple(f"{term.name}?" for term in suggestion.terms))


GROUPINGS: Mapping[str, Callable[[AppState, Atlas], Grouping]] = {
    "dive": _dives,
    "cluster": _clusters,
    "label": _terms,
    "suggestion": _suggestions,
}


def order_choices(app: AppState, atlas: Atlas) -> dict[str, str]:
    return {
        "track": group_words(app).track,
        **{name: measure.title for name, measure in measures(app, atlas).items()},
        "likeness": "Similarity to the pinned image",
    }


def ordered(
    app: AppState, atlas: Atlas, by: str, *, descending: bool = False, group_by: str = "", pinned: int | None = None
) -> np.ndarray:
    """(N,) int32: all positions in order; unknown values come last, ties are in the order taken."""
    if by == "track" and not group_by:  # the usual case needs no sorting
        return (atlas.along[0][::-1] if descending else atlas.along[0]).astype(np.int32)
    key = _key(app, atlas, by, pinned)
    key = np.where(np.isnan(key), np.inf, -key if descending else key)
    along = np.empty(len(atlas), np.int32)
    along[atlas.along[0]] = np.arange(len(atlas), dtype=np.int32)
    keys = [along, key] + ([_group_key(app, atlas, group_by)] if group_by else [])
    return np.lexsort(keys).astype(np.int32)


def likeness(app: AppState, atlas: Atlas, pinned: int) -> np.ndarray:
    """(N,): distance of every image to the one at this position in feature space."""
    features = image_features(app, atlas)
    if features is None:
        raise fail("similarity", "there are no features of whole images yet", "describe the images first, in Library")
    positions, known = placed(atlas.columns, features.image_ids)
    at = np.flatnonzero(positions == pinned)
    if not len(at):
        raise fail("similarity", "the pinned image has no features", "describe the new images first, in Library")
    far = _distances(features.X, features.X[np.flatnonzero(known)[at[0]]])
    distance = np.full(len(atlas), np.nan)
    distance[positions] = far[known]
    return distance


def _key(app: AppState, atlas: Atlas, by: str, pinned: int | None) -> np.ndarray:
    if by == "track":
        return np.zeros(len(atlas))
    if by == "likeness":
        return np.zeros(len(atlas)) if pinned is None else likeness(app, atlas, pinned)
    return measure_named(app, atlas, by).of(app, atlas)


def _group_key(app: AppState, atlas: Atlas, group_by: str) -> np.ndarray:
    code = GROUPINGS[group_by](app, atlas).code
    return np.where(code < 0, np.iinfo(np.int32).max, code)


def _distances(X: np.ndarray, row: np.ndarray) -> np.ndarray:
    """Distance of every row of X to `row`, computed block by block as sqrt(|x|^2 - 2 x y + |y|^2)."""
    blocks = []
    for at in range(0, len(X), BLOCK):
        block = np.asarray(X[at : at + BLOCK])
        blocks.append(np.einsum("ij,ij->i", block, block).astype(float) - 2 * (block @ row))
    return np.sqrt(np.maximum(np.concatenate(blocks) + float(row @ row), 0))
