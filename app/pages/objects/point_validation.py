"""Comparison of objects with labelled points, as made with programs for coral point counts."""

from dataclasses import dataclass

import numpy as np

from benthoscope.app.data.labels import all_terms
from benthoscope.app.data.objects import Objects
from benthoscope.app.data.segments import masks, rows_of_image
from benthoscope.app.session.app_state import AppState
from benthoscope.app.session.cache import FEATURES, IMAGES, LABELS
from benthoscope.engine.analysis import PointTable, point_table, rows_under_points
from benthoscope.engine.workspace.labels.events import Event, standing
from benthoscope.engine.workspace.labels.parts import parts_of
from benthoscope.engine.workspace.labels.vocabularies import Term

POINT = "point"


@dataclass(frozen=True)
class PointTruth:
    """A table of the terms of points and the objects under them."""

    table: PointTable
    terms: tuple[Term, ...]  # of the columns, the most frequent first


def point_truth(app: AppState, objects: Objects) -> PointTruth | None:
    """None if no point lies on a segment of the run. Masks are read once for every event with points."""
    return app.cached(("point truth", objects.run.id), lambda: _read(app, objects), (IMAGES, LABELS, FEATURES))


def rows_under(app: AppState, objects: Objects, event: Event) -> np.ndarray:
    """Row of the feature set under every point of an event, -1 where there is none."""
    key = ("rows under points", objects.features.folder.name, objects.features.sidecar.data_hash, event.number)
    return app.cached(key, lambda: _under(app, objects, event), of=())


def _read(app: AppState, objects: Objects) -> PointTruth | None:
    events = [
        event
        for event in standing(app.workspace.labels.events())
        if event.kind == "part" and event.rule.get("shape") == POINT
    ]
    pairs = [(event.given_term_id, rows_under(app, objects, event)) for event in events]
    if not pairs:
        return None
    terms = np.concatenate([np.full(len(rows), term, np.int64) for term, rows in pairs])
    rows = np.concatenate([rows for _, rows in pairs])
    known = (rows >= 0) & (rows < len(objects.labels))
    clusters = np.where(known, objects.labels[np.where(known, rows, 0)], -1)
    table = point_table(clusters, terms, objects.clusters)
    if table is None:
        return None
    known_terms = all_terms(app)
    return PointTruth(table, tuple(known_terms[number] for number in table.term_ids.tolist()))


def _under(app: AppState, objects: Objects, event: Event) -> np.ndarray:
    points = list(parts_of(event))
    image = np.array([point.image for point in points], np.int64)
    coordinates = np.array([point.numbers for point in points], float).reshape(-1, 2)
    segment_rows, mask_of_image = np.full(len(points), -1, np.int64), masks(app, objects.features)
    sizes = app.cached("sizes of images", lambda: _sizes(app), IMAGES)
    for number in np.unique(image).tolist():
        if number in mask_of_image and number in sizes:
            of_image = np.flatnonzero(image == number)
            rows, mask = rows_of_image(objects.features, number), mask_of_image[number]
            if len(rows):
                segment_rows[of_image] = rows_under_points(coordinates[of_image], sizes[number], mask, rows.start)
    return segment_rows


def _sizes(app: AppState) -> dict[int, tuple[int, int]]:
    columns = app.workspace.library.columns("id", "width", "height")
    pairs = zip(columns["width"].tolist(), columns["height"].tolist(), strict=True)
    return dict(zip(columns["id"].tolist(), pairs, strict=True))
