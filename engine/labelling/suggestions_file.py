"""Suggestions as a table: what the model would call every image, how sure it is, and what else is possible."""

import csv
import io
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from engine.labelling.suggestion_store import Suggestions

HEADER = ("path", "term", "confidence", "possible", "terms")


def as_csv(found: Suggestions, places: np.ndarray, sets: np.ndarray, paths: Mapping[int, Path],
           names: Mapping[int, str]) -> str:
    """One row an image by place; `possible` counts the terms in its set (n, K) bool, and `terms` lists them, likeliest
    first, separated by |."""
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(HEADER)
    best, sure = found.best()
    order = np.argsort(-np.asarray(found.probabilities[places]), axis=1, kind="stable")
    for row, place in enumerate(places.tolist()):
        possible = [names[int(found.terms[at])] for at in order[row] if sets[row, at]]
        table.writerow([paths[int(found.image_ids[place])], names[int(best[place])], f"{sure[place]:.4f}",
                        len(possible), "|".join(possible)])
    return out.getvalue()
