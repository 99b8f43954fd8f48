"""The sample campaign in a workspace where every page has something to show, with stored instead of computed numbers.

Features, runs and labels are written from fixed random numbers, so that the workspace is the same on every machine.
"""

import shutil
from pathlib import Path

import numpy as np

from benthoscope.engine.features import pack_mask
from benthoscope.engine.features.masks import MaskFile
from benthoscope.engine.jobs import run_now
from benthoscope.engine.workspace import NewCluster, NewRun, Workspace
from benthoscope.engine.workspace.crowd.campaigns import ask
from benthoscope.engine.workspace.crowd.records import CampaignSettings
from benthoscope.engine.workspace.labels.vocabularies import NewTerm
from benthoscope.engine.workspace.live_dives import LiveRound, NewLiveImage
from benthoscope.sample_data import campaign_path
from tests.crowds import attribute_crowd

IMAGES_PER_DIVE = 8
KINDS = 3  # of images, of segments, and of terms
MASK = np.kron([[0, 1], [2, 3]], np.ones((30, 40), int))


def build(folder: Path) -> Path:
    """Fill `folder` with images and a workspace; return the folder of the workspace."""
    images = folder / "images"
    copy_images(images)
    with Workspace.create(folder / "sample", name="Sample campaign") as workspace:
        source = {"folder": str(images), "collection": "Sample campaign", "workers": 1}  # one: ids in a fixed order
        complete(run_now(workspace, "import", source))
        ids = images_by_path(workspace)
        kinds = np.arange(len(ids)) * KINDS // len(ids)  # two dives of each kind
        kinds[::5] = (kinds[::5] + 1) % KINDS  # some images of another kind in every dive
        rng = np.random.default_rng(0)
        write_features(workspace, ids, kinds, rng)
        add_runs(workspace, ids, kinds, rng)
        label_images(workspace, ids, kinds)
        complete(run_now(workspace, "learn"))
        ask_crowd(workspace, ids)
        add_live_dive(workspace, images)
        return workspace.folder


def copy_images(folder: Path, images_per_dive: int = IMAGES_PER_DIVE) -> None:
    """The first images of every dive, and all of the files that describe them."""

    def others(path: str, names: list[str]) -> list[str]:
        return sorted(name for name in names if name.endswith(".jpg"))[images_per_dive:]

    shutil.copytree(campaign_path(), folder, ignore=others)


def complete(job) -> None:
    assert job.state == "done", job.error


def images_by_path(workspace: Workspace) -> np.ndarray:
    """Ids in the order of the paths, which is the same wherever the images were read."""
    ids = workspace.library.columns("id")["id"].tolist()
    return np.array([image.id for image in sorted(workspace.library.images(ids), key=lambda image: image.path)])


def write_features(workspace: Workspace, ids: np.ndarray, kinds: np.ndarray, rng: np.random.Generator) -> None:
    rows = 5 * np.eye(6)[kinds] + rng.standard_normal((len(ids), 6))
    with workspace.features.writer("deep", width=6, extractor={"kind": "test"}) as features:
        features.append(ids, rows)
    segments = segment_kinds(kinds)
    rows = 5 * np.eye(KINDS)[segments.ravel()] + 0.2 * rng.standard_normal((segments.size, KINDS))
    with workspace.features.writer("segments", width=KINDS, level="segment", extractor={"kind": "test"}) as features:
        features.append(ids, rows, np.full(len(ids), 4))
    MaskFile(workspace.features.open("segments").folder).append(ids.tolist(), [pack_mask(MASK)] * len(ids))


def segment_kinds(kinds: np.ndarray) -> np.ndarray:
    """(I, 4): the segments of an image are of its kind, except the last."""
    return np.stack([kinds, kinds, kinds, (kinds + 1) % KINDS], 1)


def add_runs(workspace: Workspace, ids: np.ndarray, kinds: np.ndarray, rng: np.random.Generator) -> None:
    """A run that finds the kinds, one that does not tell two of them apart, and one of segments."""
    groups = dict(zip(*(workspace.library.columns(name)[name].tolist() for name in ("id", "group_id")), strict=True))
    group_of = np.array([groups[number] for number in ids.tolist()])
    dives = np.unique(group_of)
    for name, labels, width in (("First look", kinds, 0.05), ("Coarser", np.minimum(kinds, 1), 0.3)):
        arrays = image_arrays(ids, labels, group_of, dives, rng)
        workspace.runs.add(new_run(workspace, name, "gmc", "deep", labels, width), arrays, clusters(labels))
    segments = segment_kinds(kinds)
    shares = np.stack([np.bincount(row, minlength=KINDS) / 4 for row in segments])
    arrays = image_arrays(ids, kinds, group_of, dives, rng) | {
        "segment_labels": segments.ravel().astype(np.int32),
        "segment_probability": rng.uniform(0.5, 1, segments.size).astype(np.float32),
        "image_weights": shares.astype(np.float32),
        "proportions": np.stack([shares[kinds == kind].mean(0) for kind in range(KINDS)]),
    }
    run = new_run(workspace, "Objects", "mcm", "segments", kinds, 0.1)
    run.summary["segment_clusters"] = KINDS
    workspace.runs.add(run, arrays, clusters(kinds))


def image_arrays(ids, labels, group_of, dives, rng) -> dict[str, np.ndarray]:
    order = np.argsort(ids)
    return {
        "image_ids": ids[order],
        "labels": labels[order].astype(np.int32),
        "probability": rng.uniform(0.5, 1, len(ids)).astype(np.float32),
        "group_ids": dives,
        "weights": np.stack([np.bincount(labels[group_of == dive], minlength=KINDS) for dive in dives])[
            :, : labels.max() + 1
        ]
        / IMAGES_PER_DIVE,
    }


def new_run(workspace: Workspace, name: str, model: str, features: str, labels: np.ndarray, width: float) -> NewRun:
    """A run with what the page of runs shows: parameters, how it went, and what it was made from."""
    found = int(labels.max()) + 1
    provenance = {
        "seed": 0,
        "seconds": 2.5,
        "machine": "test",
        "versions": {"benthoscope": "0"},
        "features": {"data_hash": workspace.features.open(features).sidecar.data_hash},
        "trace": [[step, -9.0 / step, min(step, found)] for step in range(1, 4)],
    }
    summary = {"clusters": found, "images": len(labels), "lower_bound": -3.0, "converged": True, "held_out": -2.5}
    return NewRun(name, model, features, {"width": width}, provenance, summary)


def clusters(labels: np.ndarray) -> list[NewCluster]:
    return [NewCluster(number, int(size)) for number, size in enumerate(np.bincount(labels))]


def label_images(workspace: Workspace, ids: np.ndarray, kinds: np.ndarray) -> None:
    """Two people label half of the images; they disagree on two."""
    own = workspace.vocabularies.add("own", [NewTerm((word,)) for word in ("sand", "kelp", "reef")])
    workspace.vocabularies.add(
        "scheme", [NewTerm(("Biota",)), *(NewTerm(("Biota", word)) for word in ("weed", "coral"))]
    )
    by_name = {term.name: term.id for term in workspace.vocabularies.terms(own.id)}
    terms = [by_name[word] for word in ("sand", "kelp", "reef")]
    ann, bob = (workspace.people.named(name).id for name in ("Ann", "Bob"))
    for at in range(0, len(ids), 2):
        workspace.labels.label(ann, [int(ids[at])], terms[int(kinds[at])])
    for at in range(0, 12, 2):
        workspace.labels.label(bob, [int(ids[at])], terms[int(kinds[at]) if at < 8 else 2])
    workspace.labels.label(ann, ids[1:4].tolist(), terms[0], rule={"cluster": 0})
    workspace.selections.save(ann, "first dive", ids[:IMAGES_PER_DIVE])


def ask_crowd(workspace: Workspace, ids: np.ndarray) -> None:
    crowd = attribute_crowd(0, n_items=len(ids), n_workers=6, spammers=0.2, kinds=(("first", 0.5), ("second", 0.5)))
    settings = CampaignSettings(size=12, views=4, repeats=2)
    campaign = ask(workspace.crowd, "kinds", ids, settings, np.random.default_rng(0), practice=False)
    crowd.answer_all(workspace, workspace.crowd.change(campaign.id, "open"))
    complete(run_now(workspace, "crowd", {"campaign": "kinds"}))


def add_live_dive(workspace: Workspace, folder: Path) -> None:
    """A live dive that is stopped: the images of the first dive, two rounds, an alarm, and a name by Ann."""
    group = workspace.library.groups()[0]
    ids = workspace.library.columns("id", group_id=group.id)["id"].tolist()
    root = workspace.library.roots()[0]
    settings = {"features": "deep", "memory": 20, "epoch": 4, "first_images": 4}
    dive = workspace.live.create("replay", str(folder), group.id, root.id, settings)
    images = [
        NewLiveImage(
            number,
            2e9 + 30 * at,
            0.5,
            np.full(6, at),
            cluster=at % 2,
            probability=0.9,
            percentile=0.005 if at == 5 else 0.5,
            new_cluster=0.01,
            novel=at == 5,
            round=1,
        )
        for at, number in enumerate(ids)
    ]
    workspace.live.add_images(dive.id, images)
    rows = workspace.live.columns(dive.id)["id"].tolist()
    memory = {"values": 24, "bytes": 192, "budget": 120, "units": 4, "clumps": 0, "points": 4}
    for number, events in ((1, [("birth", 0, None), ("birth", 1, None)]), (2, [("split", 2, 0), ("merge", 2, 1)])):
        result = LiveRound(
            number,
            4 * number,
            {0: 2.0 * number, 1: 2.0 * number},
            events,
            memory,
            number == 2,
            -3.5,
            0.1,
            2e9 + 120 * number,
        )
        workspace.live.add_round(dive.id, result, rows[4 * number - 4 : 4 * number], [])
    workspace.live.add_edit(dive.id, workspace.people.named("Ann").id, "name", {"key": "1", "name": "kelp"})
