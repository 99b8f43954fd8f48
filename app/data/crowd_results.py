"""Results of a crowd run that pages and plots share: positions in a plane, and schools of thought."""

from collections.abc import Mapping
from typing import Any

import numpy as np

MOST_POINTS = 4_000  # of the plane
MERGED = 0.5  # probability from which a school puts two clusters into one group

Parts = Mapping[str, Any]


def schools(arrays: Parts) -> tuple[list[dict[str, Any]], np.ndarray]:
    """Schools of thought, and the school (J,) of each worker, -1 for none.

    `order` sorts clusters so that the school's mean table is nearly block-diagonal; `groups` are the clusters it puts
    together.
    """
    from benthoscope.engine.crowd import block_order  # slow to import

    tables = np.asarray(arrays["confusion"])
    school_of = np.asarray(arrays["schools"]) if "schools" in arrays else np.full(len(tables), -1)
    worker_groups = []
    for school in range(school_of.max(initial=-1) + 1):
        mean = tables[school_of == school].mean(0)
        order = block_order(1 - mean)
        worker_groups.append(
            {
                "number": school,
                "people": int((school_of == school).sum()),
                "order": order.tolist(),
                "table": mean.round(2).tolist(),
                "groups": neighbours_merged(mean, order),
            }
        )
    return worker_groups, school_of


def neighbours_merged(table: np.ndarray, order: np.ndarray) -> list[list[int]]:
    """Groups of consecutive clusters in this order that are usually put together."""
    groups: list[list[int]] = []
    for cluster in order.tolist():
        if groups and np.mean([table[cluster, other] for other in groups[-1]]) >= MERGED:
            groups[-1].append(cluster)
        else:
            groups.append([cluster])
    return groups


def plane(positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(indices (n,) of evenly chosen images, their coordinates (n, 2) in the plane of largest spread)."""
    centred = positions - positions.mean(0)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    flat = np.zeros((len(centred), 2))
    flat[:, : min(2, len(axes))] = centred @ axes[:2].T
    indices = np.linspace(0, len(flat) - 1, min(MOST_POINTS, len(flat))).astype(int)
    return indices, flat[indices]
