"""The order of tiles: by a measure or by likeness to a pinned image, within groups if wished."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from app.state.app_state import AppState
from app.state.atlas import Atlas, placed
from app.state.measures import measure_named, measures
from app.state.shapes import image_features
from app.state.suggested import suggested
from app.state.terms import labelled
from engine.problems import fail

BLOCK = 100_000  # rows in memory at once


@dataclass(frozen=True)
class Grouping:
    """`code` (N,) int32 gives the group of an image, negative for none; `names` those of the codes."""

    title: str
    code: np.ndarray
    names: tuple[str, ...]


def _dives(app: AppState, atlas: Atlas) -> Grouping:
    return Grouping("Dive", atlas.group, tuple(found.group.name for found in atlas.groups))


def _clusters(app: AppState, atlas: Atlas) -> Grouping:
    return Grouping("Cluster", atlas.labels, tuple(f"Cluster {number}" for number in range(atlas.clusters)))


def _terms(app: AppState, atlas: Atlas) -> Grouping:
    found = labelled(app)
    return Grouping("Label", found.term, tuple(term.name for term in found.terms))


def _suggestions(app: AppState, atlas: Atlas) -> Grouping:
    found = suggested(app)
    return Grouping("Suggestion", found.term, tuple(f"{term.name}?" for term in found.terms))


GROUPINGS: Mapping[str, Callable[[AppState, Atlas], Grouping]] = {
    "dive": _dives, "cluster": _clusters, "label": _terms, "suggestion": _suggestions}


def order_choices(app: AppState, atlas: Atlas) -> dict[str, str]:
    return {"track": "Along the track", **{name: found.title for name, found in measures(app, atlas).items()},
            "likeness": "Likeness to the pinned image"}


def ordered(app: AppState, atlas: Atlas, by: str, *, descending: bool = False, group_by: str = "",
            pinned: int | None = None) -> np.ndarray:
    """(N,) int32: all positions in the order wished; the unknown come last, ties stand along the track."""
    if by == "track" and not group_by:  # known already: the usual case, and sorting a million takes its time
        return (atlas.along[0][::-1] if descending else atlas.along[0]).astype(np.int32)
    key = _key(app, atlas, by, pinned)
    key = np.where(np.isnan(key), np.inf, -key if descending else key)
    along = np.empty(len(atlas), np.int32)
    along[atlas.along[0]] = np.arange(len(atlas), dtype=np.int32)
    keys = [along, key] + ([_group_key(app, atlas, group_by)] if group_by else [])
    return np.lexsort(keys).astype(np.int32)


def likeness(app: AppState, atlas: Atlas, pinned: int) -> np.ndarray:
    """(N,): distance of every image to the one at this position, in the space of the run's features."""
    features = image_features(app, atlas)
    if features is None:
        raise fail("likeness", "there are no features of whole images yet", "describe the images first, in Library")
    positions, known = placed(atlas.columns, features.image_ids)
    at = np.flatnonzero(positions == pinned)
    if not len(at):
        raise fail("likeness", "the pinned image has no features", "describe the new images first, in Library")
    far = _distances(features.X, features.X[np.flatnonzero(known)[at[0]]])
    found = np.full(len(atlas), np.nan)
    found[positions] = far[known]
    return found


def _key(app: AppState, atlas: Atlas, by: str, pinned: int | None) -> np.ndarray:
    if by == "track" or (by == "likeness" and pinned is None):
        return np.zeros(len(atlas))
    if by == "likeness":
        return likeness(app, atlas, pinned)
    return measure_named(app, atlas, by).of(app, atlas)


def _group_key(app: AppState, atlas: Atlas, group_by: str) -> np.ndarray:
    code = GROUPINGS[group_by](app, atlas).code
    return np.where(code < 0, np.iinfo(np.int32).max, code)


def _distances(X: np.ndarray, row: np.ndarray) -> np.ndarray:
    """By products, block by block: |x|^2 - 2 x y is all that the order needs, and the root of the rest is shown."""
    parts = []
    for at in range(0, len(X), BLOCK):
        block = np.asarray(X[at : at + BLOCK])
        parts.append(np.einsum("ij,ij->i", block, block).astype(float) - 2 * (block @ row))
    return np.sqrt(np.maximum(np.concatenate(parts) + float(row @ row), 0))
