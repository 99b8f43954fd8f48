"""The segments that stand for each object of a run: typical, borderline, random."""

from collections.abc import Mapping

import numpy as np

from app.state.app_state import AppState
from app.state.objects import Objects

EACH = 12          # segments of a kind
LOOKED_AT = 4_000  # segments of an object among which those are sought
SEED = 0
KINDS: Mapping[str, str] = {"typical": "Typical", "borderline": "Borderline", "random": "Random"}
Book = Mapping[str, tuple[np.ndarray, ...]]  # by kind, for every object: rows of the feature set


def book_of(app: AppState, objects: Objects) -> Book:
    """Made once for a run; five million segments take a second."""
    key = ("object book", objects.run.id, objects.features.folder.name)
    return app.lasting.once(key, lambda: _made(objects))


def stand_ins(app: AppState, objects: Objects, kind: str, number: int) -> list[tuple[int, int]]:
    """(image id, number in its mask) of the segments that stand for an object."""
    images, numbers = objects.segments(book_of(app, objects)[kind][number])
    return list(zip(images.tolist(), numbers.tolist(), strict=True))


def _made(objects: Objects) -> Book:
    rng, drawn = np.random.default_rng(SEED), _drawn(objects)
    return {"typical": tuple(_typical(objects, rows) for rows in drawn),
            "borderline": tuple(_borderline(objects, rows) for rows in drawn),
            "random": tuple(_apart(objects, rng.permutation(rows)) for rows in drawn)}


def _drawn(objects: Objects) -> list[np.ndarray]:
    """Of every object as many segments as are looked at, ascending: evenly from all of them, for images lie in the
    order of dives."""
    labels = np.asarray(objects.labels)
    order = np.argsort(labels.astype(np.int16), kind="stable")  # of small integers a radix sort: ten times as fast
    begins = np.searchsorted(labels, np.arange(objects.clusters + 1), sorter=order)
    found = []
    for number in range(objects.clusters):
        begin, end = begins[number : number + 2]
        places = np.linspace(begin, end, min(end - begin, LOOKED_AT), endpoint=False).astype(np.int64)
        found.append(order[places])
    return found


def _typical(objects: Objects, rows: np.ndarray) -> np.ndarray:
    """Nearest to the middle of the object, every number of a segment in units of its spread."""
    values = np.asarray(objects.features.X[rows], np.float64)
    if not len(values):
        return rows
    far = ((values - values.mean(0)) / np.maximum(values.std(0), 1e-12)) ** 2
    return _apart(objects, rows[np.argsort(far.sum(1), kind="stable")])


def _borderline(objects: Objects, rows: np.ndarray) -> np.ndarray:
    """Those the model was least sure of; without its word on that, those farthest from the middle."""
    if objects.probability is None:
        values = np.asarray(objects.features.X[rows], np.float64)
        far = ((values - values.mean(0)) ** 2).sum(1) if len(values) else np.empty(0)
        return _apart(objects, rows[np.argsort(-far, kind="stable")])
    return _apart(objects, rows[np.argsort(objects.probability[rows], kind="stable")])


def _apart(objects: Objects, rows: np.ndarray) -> np.ndarray:
    """The first ones, no two of the same image while there are others."""
    images, _ = objects.segments(rows)
    first = np.sort(np.unique(images, return_index=True)[1])[:EACH]
    rest = np.setdiff1d(np.arange(len(rows)), first, assume_unique=True)[: EACH - len(first)]
    return rows[np.concatenate([first, rest])]
