"""A small workspace whose images are cut into segments and clustered into objects and scenes, without a fit."""

import io
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image as Picture

from engine.features import pack_mask
from engine.features.mask_file import MaskFile
from engine.jobs import run_now
from engine.workspace import NewCluster, NewRun, Run, Workspace

COLOURS = np.array([[214, 196, 150], [60, 120, 50], [170, 60, 120]], np.uint8)  # sand, weed, sponge
SCENES = ((0, 0, 0, 1), (0, 1, 1, 1), (0, 0, 2, 2))  # objects in the four quarters
EACH = 8  # images of a dive
HEIGHT, WIDTH = 48, 64


@dataclass(frozen=True)
class Reef:
    """Image i (by ascending id) shows `scene[i]`; its segments, in the order of their quarters, are `objects[i]`."""

    workspace: Workspace
    ids: np.ndarray
    scene: np.ndarray    # (I,)
    objects: np.ndarray  # (I, 4)
    run: Run


def made(folder: Path) -> Reef:
    """Three dives of eight images: sandy, weedy and mixed with sponges; the run knows three objects and scenes."""
    rng, scene = np.random.default_rng(0), np.repeat([0, 1, 2], EACH)
    scene[[1, EACH + 1, 2 * EACH + 1]] = [1, 2, 0]
    for at, kind in enumerate(scene.tolist()):
        place = folder / "images" / f"dive {'abc'[at // EACH]}" / f"{at:02d}.jpg"
        place.parent.mkdir(parents=True, exist_ok=True)
        _painted(SCENES[kind], rng).save(place, quality=90)
        os.utime(place, (1.5e9 + at, 1.5e9 + at))
    workspace = Workspace.create(folder / "reef")
    job = run_now(workspace, "import", {"folder": str(folder / "images"), "collection": "Reef"})
    assert job.state == "done", job.error
    ids = workspace.library.columns("id")["id"]
    names = {image.id: int(Path(image.path).stem) for image in workspace.library.images(ids.tolist())}
    scene = scene[[names[number] for number in ids.tolist()]]
    objects = np.array([SCENES[kind] for kind in scene])
    return Reef(workspace, ids, scene, objects, add_run(workspace, ids, scene, objects, rng))


def quarters() -> np.ndarray:
    """(H, W): four segments, numbered row by row."""
    return np.kron([[0, 1], [2, 3]], np.ones((HEIGHT // 4, WIDTH // 4), int))  # half the size of the image


def add_run(workspace: Workspace, ids: np.ndarray, scene: np.ndarray, objects: np.ndarray, rng: np.random.Generator
            ) -> Run:
    rows = np.eye(3)[objects.ravel()] * 5 + rng.standard_normal((objects.size, 3)) * 0.1
    with workspace.features.writer("segments", width=3, level="segment", extractor={"kind": "test"}) as features:
        features.append(ids, rows, np.full(len(ids), 4))
    with workspace.features.writer("deep", width=2, extractor={"kind": "test"}) as features:
        features.append(ids, np.eye(3)[scene][:, :2] * 4 + rng.standard_normal((len(ids), 2)) * 0.1)
    MaskFile(workspace.features.open("segments").folder).append(ids.tolist(), [pack_mask(quarters())] * len(ids))
    shares = np.stack([np.bincount(row, minlength=3) / 4 for row in objects])
    groups = workspace.library.columns("group_id")["group_id"]
    dives = np.unique(groups)
    parts = {"image_ids": ids, "labels": scene.astype(np.int32), "probability": np.full(len(ids), 0.9, np.float32),
             "segment_labels": objects.ravel().astype(np.int32),
             "segment_probability": rng.uniform(0.5, 1, objects.size).astype(np.float32),
             "image_weights": shares.astype(np.float32),
             "proportions": np.stack([shares[scene == kind].mean(0) for kind in range(3)]),
             "group_ids": dives,
             "weights": np.stack([np.bincount(scene[groups == dive], minlength=3) / EACH for dive in dives])}
    hashed = {"features": {"data_hash": workspace.features.open("segments").sidecar.data_hash}}
    new = NewRun("Objects", "mcm", "segments", {}, hashed, {"clusters": 3, "segment_clusters": 3, "images": len(ids)})
    clusters = [NewCluster(kind, int((scene == kind).sum())) for kind in range(3)]
    return workspace.runs.add(new, parts, clusters)


def _painted(scene: tuple[int, ...], rng: np.random.Generator) -> Picture.Image:
    ground = COLOURS[np.array(scene)[np.kron([[0, 1], [2, 3]], np.ones((HEIGHT // 2, WIDTH // 2), int))]]
    noisy = np.clip(ground + rng.normal(0, 8, ground.shape), 0, 255).astype(np.uint8)
    held = io.BytesIO()
    Picture.fromarray(noisy).save(held, "PNG")
    return Picture.open(held)
