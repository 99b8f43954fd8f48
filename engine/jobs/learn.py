"""Learns from all labels and suggests the rest: light enough to run after every batch, while people go on."""

import threading
from collections import OrderedDict
from typing import Any

import numpy as np

from engine.jobs.context import JobContext
from engine.labelling.learner import Learned, learn
from engine.labelling.material import Material, material, said
from engine.labelling.suggestion_store import SuggestionStore, suggested
from engine.workspace import Workspace

KEPT = 2  # materials in memory, each some 50 MB for 100,000 images: making one anew takes longer than learning

_materials: "OrderedDict[tuple, Material]" = OrderedDict()
_models: dict[tuple, Learned] = {}
_lock = threading.Lock()


def learn_labels(job: JobContext, workspace: Workspace, *, features: str | None = None, run: int | None = None,
                 seed: int = 0) -> dict[str, Any]:
    """Stores suggestions for every image and the estimated accuracy; with the run's clusters as further evidence."""
    job.progress(0, None, "reads images and labels")
    key, found = material_of(workspace, features, run)
    log, rng = workspace.labels, np.random.default_rng(seed)
    last = log.last_number()
    labels = said(log.events(), found, log.current())
    learned = learn(found.data, labels.places, labels.terms, labels.trust, labels.acts, before=_models.get(key),
                    rng=rng, on_step=job.on_step)
    _models[key] = learned
    store, result = SuggestionStore(workspace.folder), suggested(found, learned, labels, last)
    store.put(result)
    store.note(result.facts)
    return dict(result.facts)


def material_of(workspace: Workspace, features: str | None = None, run: int | None = None) -> tuple[tuple, Material]:
    """The material to learn from and what tells it from others; kept from one time to the next."""
    chosen = workspace.runs.get(run) if run is not None else workspace.runs.current()
    name = features or (chosen.features if chosen else None)
    stamp = workspace.features.open(name).sidecar.data_hash if name else ""
    key = (workspace.identity.id, name, stamp, chosen.id if chosen else None, workspace.library.count_images())
    with _lock:
        if key in _materials:
            _materials.move_to_end(key)
            return key, _materials[key]
    made = material(workspace, name, chosen.id if chosen else None)
    with _lock:
        _materials[key] = made
        while len(_materials) > KEPT:
            _models.pop(_materials.popitem(last=False)[0], None)
    return key, made
