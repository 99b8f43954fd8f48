"""The segments of one image with the objects they belong to and what they were named, for whoever looks at it."""

from typing import Any

import numpy as np

from app.state.app_state import AppState
from app.state.atlas import Atlas
from app.state.colours import distinct
from app.state.object_terms import named_segments, words
from app.state.objects import objects_of
from app.state.segments import has_segments, labels_of, rows_of_image, segment_features


def objects_in(app: AppState, atlas: Atlas, image_id: int) -> dict[str, Any] | None:
    """{set, labels, names, objects: [{number, name, colour, segments}]}; None where the image has no segments.

    `set` says which cutting it is, `labels` holds the object of every segment (-1: of none), `names` the term each
    segment was given, empty for none. Without a run of objects all segments are of none."""
    if not has_segments(app, atlas, image_id):
        return None
    features, objects = segment_features(app, atlas), objects_of(app, atlas)
    rows = rows_of_image(features, image_id)
    labels = labels_of(atlas, features, image_id) if objects else None
    labels = np.full(len(rows), -1) if labels is None or len(labels) < len(rows) else labels
    named = named_segments(app, features)
    return {"set": features.folder.name, "labels": labels.tolist(), "names": [named.name(row) for row in rows],
            "objects": _listed(words(app, objects), distinct(objects.clusters), labels) if objects else []}


def _listed(names: list[str], colours: list[str], labels: np.ndarray) -> list[dict[str, Any]]:
    """The objects there are in the image, that with most segments first."""
    counts = np.bincount(labels[labels >= 0], minlength=len(names))
    return [{"number": int(at), "name": names[at], "colour": colours[at], "segments": int(counts[at])}
            for at in np.argsort(-counts, kind="stable") if counts[at]]
