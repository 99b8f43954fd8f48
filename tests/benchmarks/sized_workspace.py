"""Workspaces of any size without images: catalogue rows, features, a run, and a few hundred thumbnails used repeatedly.

The pages depend on nothing else.
"""

import hashlib
import io
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from PIL import Image as Picture
from sqlalchemy import insert

from benthoscope.engine.workspace import NewCluster, NewRun, Workspace
from benthoscope.engine.workspace.database.schema import image
from benthoscope.engine.workspace.storage.thumbnails import AT_IMPORT

CLUSTERS, DIVES, WIDTH, PICTURES = 30, 40, 64, 400
AT_ONCE = 50_000


def make_workspace(
    folder: Path, images: int, seed: int = 0, pictures: int = PICTURES, *, described: bool = True
) -> None:
    """Create `images` images in 40 dives, with 64 features each and a run of 30 clusters if they are `described`. The
    images have `pictures` different contents with thumbnails."""
    rng = np.random.default_rng(seed)
    with Workspace.create(folder) as workspace:
        content_hashes = _pictures(workspace, rng, pictures)
        dive = np.sort(rng.integers(DIVES, size=images))
        groups = _groups(workspace)
        root = workspace.library.register_root(folder)
        for rows in _rows(dive, groups, root.id, content_hashes, rng):
            workspace.catalogue.write(
                lambda connection, rows=rows: connection.execute(insert(image), rows), durable=False
            )
        if not described:
            return
        ids = workspace.library.columns("id")["id"]
        labels = _described(workspace, ids, dive, rng)
        _run(workspace, ids, labels, dive, np.array(groups), rng)


def _pictures(workspace: Workspace, rng: np.random.Generator, count: int) -> list[str]:
    content_hashes = hashes(count)
    for sha256 in content_hashes:
        colour, noise = rng.integers(40, 220, 3), rng.normal(0, 30, (320, 320, 3))
        picture = Picture.fromarray(np.clip(colour + noise, 0, 255).astype(np.uint8))
        workspace.thumbnails.add_many([(sha256, size, _jpeg(picture, size)) for size in (*AT_IMPORT, 1024)])
    return content_hashes


def hashes(count: int = PICTURES) -> list[str]:
    """Return the hashes with thumbnails."""
    return [hashlib.sha256(str(number).encode()).hexdigest() for number in range(count)]


def _jpeg(picture: Picture.Image, size: int) -> bytes:
    buffer = io.BytesIO()
    picture.resize((size, size * 3 // 4)).save(buffer, "JPEG", quality=80)
    return buffer.getvalue()


def _groups(workspace: Workspace) -> list[int]:
    collection = workspace.library.collection("Large campaign")
    return [workspace.library.group(collection.id, f"dive_{number:02d}").id for number in range(DIVES)]


def _rows(
    dive: np.ndarray, groups: list[int], root: int, hashes: list[str], rng: np.random.Generator
) -> Iterator[list[dict]]:
    step = rng.normal(0, 1e-6, (len(dive), 2)).cumsum(0)
    for start in range(0, len(dive), AT_ONCE):
        yield [
            {
                "group_id": groups[dive[at]],
                "root_id": root,
                "path": f"{dive[at]}/{at}.jpg",
                "size": 1,
                "mtime_ns": 1,
                "sha256": hashes[at % len(hashes)],
                "width": 1360,
                "height": 1024,
                "taken_at": 1.4e9 + at,
                "latitude": -43 + 0.02 * int(dive[at]) + float(step[at, 0]),
                "longitude": 148 + 0.01 * (int(dive[at]) % 7) + float(step[at, 1]),
                "depth": 30 + 20 * float(np.sin(at / 3000)),
                "altitude": 2.0,
                "details": {},
            }
            for at in range(start, min(start + AT_ONCE, len(dive)))
        ]


def _described(workspace: Workspace, ids: np.ndarray, dive: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Create features around 30 centres that each dive mixes differently. Returns the centre of each image."""
    centres = 2.2 * rng.standard_normal((CLUSTERS, WIDTH)) * np.linspace(1.5, 0.2, WIDTH)
    mixtures = rng.dirichlet(np.full(CLUSTERS, 0.4), DIVES).cumsum(1)
    labels = (rng.random(len(ids))[:, None] > mixtures[dive]).sum(1).clip(0, CLUSTERS - 1)
    with workspace.features.writer("deep", width=WIDTH, extractor={"kind": "synthetic"}) as features:
        for start in range(0, len(ids), AT_ONCE):
            block = slice(start, start + AT_ONCE)
            features.append(ids[block], centres[labels[block]] + rng.standard_normal((len(ids[block]), WIDTH)))
    return labels


def _run(
    workspace: Workspace,
    ids: np.ndarray,
    labels: np.ndarray,
    dive: np.ndarray,
    groups: np.ndarray,
    rng: np.random.Generator,
) -> None:
    counts = np.bincount(dive * CLUSTERS + labels, minlength=DIVES * CLUSTERS).reshape(DIVES, CLUSTERS).astype(float)
    arrays = {
        "image_ids": ids,
        "labels": labels.astype(np.int32),
        "probability": rng.beta(9, 1, len(ids)).astype("f4"),
        "group_ids": groups,
        "weights": counts / np.maximum(counts.sum(1, keepdims=True), 1),
    }
    clusters = [NewCluster(number, int(size)) for number, size in enumerate(np.bincount(labels, minlength=CLUSTERS))]
    summary = {"clusters": CLUSTERS, "images": len(ids), "lower_bound": -1.0}
    workspace.runs.add(NewRun("truth", "gmc", "deep", {}, {"features": {"name": "deep"}}, summary), arrays, clusters)
