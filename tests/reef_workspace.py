"""A workspace of four hundred described and clustered images, made once and copied for each test that changes it."""

import json
import shutil
import sqlite3
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benthoscope.engine.jobs import run_now
from benthoscope.engine.workspace import NewImage, NewRun, Workspace
from benthoscope.engine.workspace.labels.vocabularies import NewTerm

KINDS = 4
IMAGES = 400


@dataclass(frozen=True)
class Reef:
    """Folder of a workspace; ids of its images, the habitat of each (0 to 3), and the terms of the habitats."""

    folder: Path
    ids: np.ndarray
    truth: np.ndarray
    terms: np.ndarray


def build(folder: Path, labelled: int = 0) -> Reef:
    """Make a workspace in `folder`. With `labelled`, Ann labels this many images one by one, and a model is trained."""
    (folder / "images").mkdir(parents=True)
    with Workspace.create(folder / "reef") as workspace:
        ids, truth, terms = fill(workspace, folder / "images")
        label(workspace, ids, truth, terms, labelled)
        if labelled:
            assert run_now(workspace, "learn").state == "done"
        return Reef(workspace.folder, ids, truth, terms)


def fill(workspace: Workspace, images: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Add two dives with features, a run and four terms. Returns (ids, habitat of each image, terms)."""
    rng = np.random.default_rng(0)
    root, collection = workspace.library.register_root(images), workspace.library.collection("PS1").id
    dives = [workspace.library.group(collection, name).id for name in ("one", "two")]
    half = IMAGES // 2
    truth = np.where(
        np.arange(IMAGES) < half, rng.choice(KINDS, IMAGES, p=[0.6, 0.2, 0.1, 0.1]), rng.integers(0, KINDS, IMAGES)
    )
    new_images = [NewImage(root.id, f"{n}.jpg", dives[n // half], 1, 1, f"{n:064}", 320, 240) for n in range(IMAGES)]
    ids = np.array(workspace.library.store_images(new_images))
    X = (4 * np.eye(8)[truth] + rng.standard_normal((IMAGES, 8))).astype(np.float32)
    with workspace.features.writer("deep", width=8, extractor={}) as features:
        features.append(ids, X)
    run = NewRun("gmc", "gmc", "deep", {}, {}, {"clusters": 3})
    workspace.runs.add(run, {"image_ids": ids, "labels": np.minimum(truth, 2)})
    names = [f"habitat {kind}" for kind in range(KINDS)]
    vocabulary = workspace.vocabularies.add("own", [NewTerm((name,)) for name in names])
    terms = {term.name: term.id for term in workspace.vocabularies.terms(vocabulary.id)}
    return ids, truth, np.array([terms[name] for name in names])


def label(workspace: Workspace, ids: np.ndarray, truth: np.ndarray, terms: np.ndarray, count: int) -> None:
    """Ann gives this many images, in a fixed random order, their true term one by one."""
    ann = workspace.people.named("Ann").id
    for position in np.random.default_rng(1).permutation(len(ids))[:count]:
        workspace.labels.label(ann, [ids[position]], terms[truth[position]])


@contextmanager
def copied(reef: Reef, folder: Path) -> Iterator[Workspace]:
    """Open a copy with an identity of its own, because caches of the program are kept by identity."""
    copy = folder / reef.folder.name
    shutil.copytree(reef.folder, copy)
    identity = json.loads((copy / "workspace.json").read_text(encoding="utf-8")) | {"id": str(uuid.uuid4())}
    (copy / "workspace.json").write_text(json.dumps(identity), encoding="utf-8")
    connection = sqlite3.connect(copy / identity["database"])
    with connection:
        connection.execute("UPDATE workspace SET id = ?", (identity["id"],))
    connection.close()
    with Workspace.open(copy) as workspace:
        yield workspace


def templates(folder: Path) -> Callable[[int], Reef]:
    """Return a function that makes the workspace with a number of labels once."""
    made: dict[int, Reef] = {}

    def template(labelled: int) -> Reef:
        if labelled not in made:
            made[labelled] = build(folder / str(labelled), labelled)
        return made[labelled]

    return template
