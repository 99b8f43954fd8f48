"""Time to write and to read the labels of a campaign in each format."""

import hashlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benthoscope.engine.exchange.labels.formats import FORMATS
from benthoscope.engine.jobs import run_now
from benthoscope.engine.workspace import NewCluster, NewImage, NewRun, Workspace
from benthoscope.engine.workspace.labels.parts import part_act
from benthoscope.engine.workspace.labels.vocabularies import NewTerm
from tests.benchmarks.measure import Table, measure

IMAGES, DIVES, CLASSES = 100_000, 10, 30
POINTS = 1_000  # images with fifty points each
AT_ONCE = 10_000


def tables() -> Iterator[Table]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with campaign(folder, "full") as full:
            say(full)
            yield Table(
                f"Export of {IMAGES:,} labelled images and {50 * POINTS:,} points",
                ("format", "CPU s", "wall s", "MB", "files", "peak MB"),
                [row(full, folder, name) for name in FORMATS if name != "coco"],
            )
            full.labels.append_events(
                1, [part_act(1, "box", [(number, (1, 2, 30, 40)) for number in range(1, IMAGES + 1)], why="manual")]
            )
            yield Table(
                f"Export of {IMAGES:,} boxes",
                ("format", "CPU s", "wall s", "MB", "files", "peak MB"),
                [row(full, folder, "coco")],
            )
        rows = [
            taken_in(folder, name, pattern)
            for name, pattern in (
                ("csv", "labels.csv"),
                ("csv", "parts.csv"),
                ("ifdo", "*.json"),
                ("squidle", "*.csv"),
                ("imos", "*.csv"),
            )
        ]
        yield Table("Import into a copy without labels", ("files", "labels", "CPU s", "wall s", "peak MB"), rows)


def row(workspace: Workspace, folder: Path, name: str) -> list:
    out = folder / "out" / name
    job, cost = measure(lambda: run_now(workspace, "export", {"format": name, "output": str(out)}))
    assert job.state == "done", job.error
    size = sum(path.stat().st_size for path in out.iterdir()) / 1e6
    return [name, cost.cpu, cost.wall, size, len(job.result["files"]), cost.peak]


def taken_in(folder: Path, name: str, pattern: str) -> list:
    files = [str(path) for path in sorted((folder / "out" / name).glob(pattern)) if "report" not in path.name]
    with campaign(folder, f"copy {name} {pattern[0]}{len(pattern)}") as copy:
        job, cost = measure(
            lambda: run_now(
                copy, "import labels", {"files": files, "person": "Bo", "vocabulary": "words", "add_terms": True}
            )
        )
    assert job.state == "done", job.error
    result = job.result
    return [
        f"{name} {pattern}",
        result["labels"] + result["parts"] + result["already_there"],
        cost.cpu,
        cost.wall,
        cost.peak,
    ]


def campaign(folder: Path, name: str) -> Workspace:
    """Create images in dives, without files."""
    workspace = Workspace.create(folder / name)
    root = workspace.library.register_root(folder)
    owner = workspace.library.collection("PS201502").id
    groups = [workspace.library.group(owner, f"r20150210_0643{dive:02}_dive").id for dive in range(DIVES)]
    for start in range(0, IMAGES, AT_ONCE):
        workspace.library.store_images([image(root.id, groups, at) for at in range(start, start + AT_ONCE)])
    return workspace


def image(root: int, groups: list[int], at: int) -> NewImage:
    dive, name = at * DIVES // IMAGES, f"PR_20150210_{at:06}_011_LC16.jpg"
    return NewImage(
        root,
        f"dive{dive}/{name}",
        groups[dive],
        400_000,
        1,
        hashlib.sha256(name.encode()).hexdigest(),
        1360,
        1024,
        1.4235e9 + at,
        -43.1 + at / 1e6,
        148.0 + at / 1e6,
        30.5,
        2.25,
        {"heading": 1.5},
    )


def say(workspace: Workspace) -> None:
    """Label each image by its cluster, and points."""
    words = workspace.vocabularies.add(
        "words", [NewTerm(("Biota",)), *(NewTerm(("Biota", f"class {number}")) for number in range(CLASSES))]
    )
    terms = [term.id for term in workspace.vocabularies.terms(words.id)][1:]
    rng, ids = np.random.default_rng(0), workspace.library.columns("id")["id"]
    labels = rng.integers(0, CLASSES, IMAGES)
    run = workspace.runs.add(
        NewRun("gmc", "gmc", "deep", {}, {}, {"clusters": CLASSES}),
        {"image_ids": ids, "labels": labels.astype(np.int32), "probability": rng.uniform(0.5, 1, IMAGES)},
        [NewCluster(number, int((labels == number).sum())) for number in range(CLASSES)],
    )
    ann = workspace.people.named("Ann").id
    for number, term in enumerate(terms):
        workspace.labels.label(ann, ids[labels == number], term, why="bulk", run_id=run.id)
    where = rng.integers(0, 1000, (POINTS * 50, 2)).tolist()
    of_class = rng.integers(0, CLASSES, POINTS * 50)
    workspace.labels.append_events(
        ann,
        [
            part_act(
                terms[number],
                "point",
                [(int(ids[at // 50]), where[at]) for at in np.flatnonzero(of_class == number)],
                why="manual",
            )
            for number in range(CLASSES)
        ],
    )
