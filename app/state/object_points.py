"""What labelled points, as coral-point-count programs keep them, say of the objects they lie on."""

from dataclasses import dataclass

import numpy as np

from app.state.app_state import AppState
from app.state.objects import Objects
from app.state.segments import masks, rows_of_image
from app.state.terms import all_terms
from engine.metrics import v_measure
from engine.workspace.events import Event, standing
from engine.workspace.parts import parts_of
from engine.workspace.vocabularies import Term

POINT = "point"


@dataclass(frozen=True)
class PointTruth:
    """How the terms of points and the objects under them go together."""

    table: np.ndarray         # (K, terms) points
    terms: tuple[Term, ...]   # the commonest first
    missed: int               # points on images whose segments the run does not know
    v_measure: float

    @property
    def points(self) -> int:
        return int(self.table.sum())


def point_truth(app: AppState, objects: Objects) -> PointTruth | None:
    """None where no point lies on a segment of the run. Masks are read once for every act that set points."""
    return app.kept(("point truth", objects.run.id), lambda: _read(app, objects))


def rows_under(app: AppState, objects: Objects, event: Event) -> np.ndarray:
    """The row of the feature set under every point of an act, -1 where there is none."""
    key = ("rows under points", objects.features.folder.name, objects.features.sidecar.data_hash, event.number)
    return app.lasting.once(key, lambda: _under(app, objects, event))


def _read(app: AppState, objects: Objects) -> PointTruth | None:
    events = [event for event in standing(app.workspace.labels.events())
              if event.kind == "part" and event.rule.get("shape") == POINT]
    pairs = [(event.term_id, rows_under(app, objects, event)) for event in events]
    if not pairs:
        return None
    terms = np.concatenate([np.full(len(rows), term, np.int64) for term, rows in pairs])
    rows = np.concatenate([rows for _, rows in pairs])
    known = (rows >= 0) & (rows < len(objects.labels))
    label = np.where(known, objects.labels[np.where(known, rows, 0)], -1)
    return _told(app, label[label >= 0], terms[label >= 0], int((label < 0).sum()), objects.clusters)


def _told(app: AppState, label: np.ndarray, terms: np.ndarray, missed: int, clusters: int) -> PointTruth | None:
    if not len(label):
        return None
    used, at, count = np.unique(terms, return_inverse=True, return_counts=True)
    order = np.argsort(-count, kind="stable")
    table = np.bincount(label * len(used) + at, minlength=clusters * len(used)).reshape(clusters, -1)
    known = all_terms(app)
    return PointTruth(table[:, order], tuple(known[number] for number in used[order].tolist()), missed,
                      float(v_measure(terms, label)))


def _under(app: AppState, objects: Objects, event: Event) -> np.ndarray:
    parts = list(parts_of(event))
    image = np.array([part.image for part in parts], np.int64)
    places = np.array([part.numbers for part in parts], float).reshape(-1, 2)
    found, held = np.full(len(parts), -1, np.int64), masks(app, objects.features)
    sizes = app.kept("sizes of images", lambda: _sizes(app), of_images=True)
    for number in np.unique(image).tolist():
        if number in held and number in sizes:
            mine = np.flatnonzero(image == number)
            found[mine] = _rows(objects, number, held[number], places[mine], sizes[number])
    return found


def _rows(objects: Objects, image: int, mask: np.ndarray, places: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """Of points (n, 2), x and y in pixels of the image of this width and height."""
    height, width = mask.shape
    x = np.clip(places[:, 0] * width / size[0], 0, width - 1).astype(int)
    y = np.clip(places[:, 1] * height / size[1], 0, height - 1).astype(int)
    rows = rows_of_image(objects.features, image)
    return rows.start + mask[y, x] if len(rows) else np.full(len(places), -1)


def _sizes(app: AppState) -> dict[int, tuple[int, int]]:
    found = app.workspace.library.columns("id", "width", "height")
    pairs = zip(found["width"].tolist(), found["height"].tolist(), strict=True)
    return dict(zip(found["id"].tolist(), pairs, strict=True))
