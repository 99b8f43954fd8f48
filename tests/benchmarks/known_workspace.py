"""A workspace of images with known classes, without image files: rows, features, a run and the terms of the classes."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benthoscope.engine.mixtures import GMC
from benthoscope.engine.workspace import NewImage, NewRun, Workspace
from benthoscope.engine.workspace.labels.vocabularies import NewTerm
from tests.benchmarks.known_sets import KnownSet


@dataclass(frozen=True)
class KnownWorkspace:
    """Ids of the images in the order of the set, and the term of each class."""

    workspace: Workspace
    ids: np.ndarray
    terms: np.ndarray

    def rows_of(self, image_ids: np.ndarray) -> np.ndarray:
        return np.searchsorted(self.ids, image_ids)

    def classes_of(self, term_ids: np.ndarray) -> np.ndarray:
        return np.searchsorted(self.terms, term_ids)


@contextmanager
def known_workspace(known: KnownSet) -> Iterator[KnownWorkspace]:
    with TemporaryDirectory() as name, Workspace.create(Path(name) / "known") as workspace:
        ids = _images(workspace, known)
        width, further = known.X.shape[1], known.wide.shape[1] - known.X.shape[1]
        with workspace.features.writer("deep", width=width, further=further, extractor={}) as features:
            features.append(ids, known.wide)
        clusters = GMC(random_state=0).fit(known.X, groups=known.groups).labels_
        run = NewRun("gmc", "gmc", "deep", {}, {}, {"clusters": int(clusters.max()) + 1})
        workspace.runs.add(run, {"image_ids": ids, "labels": clusters.astype(np.int32)})
        names = [f"class {kind:03d}" for kind in range(known.classes.max() + 1)]
        vocabulary = workspace.vocabularies.add("classes", [NewTerm((each,)) for each in names])
        terms = {term.name: term.id for term in workspace.vocabularies.terms(vocabulary.id)}
        yield KnownWorkspace(workspace, ids, np.array([terms[each] for each in names]))


def _images(workspace: Workspace, known: KnownSet) -> np.ndarray:
    root = workspace.library.register_root(workspace.folder)
    collection = workspace.library.collection("known").id
    groups = {group: workspace.library.group(collection, f"dive {group}").id for group in np.unique(known.groups)}
    new_images = [
        NewImage(root.id, f"{number}.jpg", groups[group], 1, 1, f"{number:064}", 320, 240)
        for number, group in enumerate(known.groups)
    ]
    return np.array(workspace.library.store_images(new_images))
