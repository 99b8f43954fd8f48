"""A small workspace whose images are cut into segments and clustered into objects and scenes, without a fit."""

import io
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image as Picture

from benthoscope.engine.features import pack_mask
from benthoscope.engine.features.masks import MaskFile
from benthoscope.engine.jobs import run_now
from benthoscope.engine.workspace import NewCluster, NewImage, NewRun, Run, Workspace

COLOURS = np.array([[214, 196, 150], [60, 120, 50], [170, 60, 120]], np.uint8)  # sand, weed, sponge
SCENES = ((0, 0, 0, 1), (0, 1, 1, 1), (0, 0, 2, 2))  # objects in the four quarters
EACH = 8  # images of a dive
HEIGHT, WIDTH = 48, 64


@dataclass(frozen=True)
class Reef:
    """Image i (by ascending id) shows `scene[i]`; its segments, in the order of their quarters, are `objects[i]`."""

    workspace: Workspace
    ids: np.ndarray
    scene: np.ndarray  # (I,)
    objects: np.ndarray  # (I, 4)
    run: Run


def made(folder: Path) -> Reef:
    """Three dives of eight images: sandy, weedy and mixed with sponges; the run knows three objects and scenes."""
    rng, scene = np.random.default_rng(0), np.repeat([0, 1, 2], EACH)
    scene[[1, EACH + 1, 2 * EACH + 1]] = [1, 2, 0]
    for at, kind in enumerate(scene.tolist()):
        data_folder = folder / "images" / f"dive {'abc'[at // EACH]}" / f"{at:02d}.jpg"
        data_folder.parent.mkdir(parents=True, exist_ok=True)
        _painted(SCENES[kind], rng).save(data_folder, quality=90)
        os.utime(data_folder, (1.5e9 + at, 1.5e9 + at))
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


def add_run(
    workspace: Workspace, ids: np.ndarray, scene: np.ndarray, objects: np.ndarray, rng: np.random.Generator
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
    arrays = {
        "image_ids": ids,
        "labels": scene.astype(np.int32),
        "probability": np.full(len(ids), 0.9, np.float32),
        "segment_labels": objects.ravel().astype(np.int32),
        "segment_probability": rng.uniform(0.5, 1, objects.size).astype(np.float32),
        "image_weights": shares.astype(np.float32),
        "proportions": np.stack([shares[scene == kind].mean(0) for kind in range(3)]),
        "group_ids": dives,
        "weights": np.stack([np.bincount(scene[groups == dive], minlength=3) / EACH for dive in dives]),
    }
    hashed = {"features": {"data_hash": workspace.features.open("segments").sidecar.data_hash}}
    new = NewRun("Objects", "mcm", "segments", {}, hashed, {"clusters": 3, "segment_clusters": 3, "images": len(ids)})
    clusters = [NewCluster(kind, int((scene == kind).sum())) for kind in range(3)]
    return workspace.runs.add(new, arrays, clusters)


def _painted(scene: tuple[int, ...], rng: np.random.Generator) -> Picture.Image:
    ground = COLOURS[np.array(scene)[np.kron([[0, 1], [2, 3]], np.ones((HEIGHT // 2, WIDTH // 2), int))]]
    noisy = np.clip(ground + rng.normal(0, 8, ground.shape), 0, 255).astype(np.uint8)
    buffer = io.BytesIO()
    Picture.fromarray(noisy).save(buffer, "PNG")
    return Picture.open(buffer)


def add_topics(reef: Reef) -> Run:
    """A run of three topics, which are the objects of the other run, on the same segments."""
    shares = np.stack([np.bincount(row, minlength=3) / 4 for row in reef.objects])
    groups = reef.workspace.library.columns("group_id")["group_id"]
    dives, largest = np.unique(groups), shares.argmax(1)
    objects = reef.objects.ravel()
    arrays = {
        "image_ids": reef.ids,
        "labels": largest.astype(np.int32),
        "probability": shares.max(1).astype(np.float32),
        "segment_labels": objects.astype(np.int32),
        "segment_probability": np.linspace(0.5, 1, objects.size).astype(np.float32),
        "image_weights": shares.astype(np.float32),
        "proportions": np.eye(3),
        "group_ids": dives,
        "weights": np.stack([np.bincount(largest[groups == dive], minlength=3) / EACH for dive in dives]),
    }
    provenance = {
        "features": {"data_hash": reef.workspace.features.open("segments").sidecar.data_hash},
        "parameters": {"inference": "svi"},
        "seconds": 3.0,
        "trace": [[step, -5 + 0.1 * step, 9 - step] for step in range(1, 7)],
    }
    summary = {"clusters": 3, "segment_clusters": 3, "images": len(reef.ids), "segments": objects.size}
    new = NewRun("Topics", "iwtm", "segments", {"n_topics": 3}, provenance, {**summary, "lower_bound": -4.4})
    sizes = [(np.bincount(values, minlength=3), level) for values, level in ((largest, "image"), (objects, "segment"))]
    clusters = [NewCluster(topic, int(count[topic]), level) for count, level in sizes for topic in range(3)]
    return reef.workspace.runs.add(new, arrays, clusters)


def add_image(reef: Reef, name: str, *, described: bool) -> int:
    """One more image in a dive of its own, with segments if `described`."""
    group = reef.workspace.library.group(reef.workspace.library.collections()[0].id, name)
    root = reef.workspace.library.images(reef.ids[:1].tolist())[0].root_id
    [number] = reef.workspace.library.store_images(
        [NewImage(root, f"{name}/0.jpg", group.id, 1, 1, name.encode().hex().zfill(64), WIDTH, HEIGHT)]
    )
    if described:
        with reef.workspace.features.appending("segments") as features:
            features.append(np.array([number]), np.eye(3)[[0, 0, 1, 2]] * 5, np.array([4]))
    return number
