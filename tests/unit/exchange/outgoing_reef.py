"""A small reef to be exported: two dives, labels of every kind of certainty, parts of every shape, names that bite."""

import hashlib
from pathlib import Path

import numpy as np

from benthoscope.engine.jobs import run_now
from benthoscope.engine.jobs.labels.export_collect import Wanted, chosen_images, gathered
from benthoscope.engine.workspace import NewCluster, NewImage, NewRun, Workspace
from benthoscope.engine.workspace.labels.parts import part_act
from benthoscope.engine.workspace.labels.vocabularies import NewTerm

NAMES = (
    "PR_20150210_064312_011_LC16.jpg",
    "=HYPERLINK(1).jpg",
    'quo"te, comma; semi.jpg',
    "zwei  Räume/über.jpg",
    "-7.jpg",
    "#hash.jpg",
    "@at\\back.jpg",
    "plain.jpg",
)
PLACES = (("PS201502", "r20150210_064312_kelp"), ("PS201502", "Dive 2: =sum(A1)"))
TERMS = (
    NewTerm(("Biota",), "80000000"),
    NewTerm(("Biota", "Sponges"), "10000000"),
    NewTerm(("Biota", "Sponges", "Massive > round"), "10000904"),
    NewTerm(("Physical",), "82000000"),
    NewTerm(("Physical", "=Waves (>10 cm)")),
    NewTerm(("Biota", "Macroalgae"), "80300000"),
)


def made(folder: Path, database: str | None = None) -> Workspace:
    """The workspace with images, without terms or labels; to be closed by the caller."""
    files = folder / "files"
    files.mkdir(exist_ok=True)
    workspace = Workspace.create(folder / "reef", database=database)
    root = workspace.library.register_root(files)
    images = []
    for dive, (collection, group) in enumerate(PLACES):
        owner = workspace.library.group(workspace.library.collection(collection).id, group)
        for at, name in enumerate(NAMES):
            path, image_folder = f"d{dive}/{name}", 10 * dive + at
            images.append(
                NewImage(
                    root.id,
                    path,
                    owner.id,
                    500,
                    1,
                    hashlib.sha256(path.encode()).hexdigest(),
                    320,
                    240,
                    taken_at=1_423_550_592.011 + 60 * image_folder,
                    latitude=-43.1 + image_folder / 1000,
                    longitude=148.0 + image_folder / 1000,
                    depth=20.5 + at,
                    altitude=2.0 + at / 8,
                    details={"heading": 90.0, "area": 0.75, "north": 1.5},
                )
            )
    workspace.library.store_images(images)
    return workspace


def labelled(workspace: Workspace) -> Workspace:
    """With terms, a run, labels by two people and a model, and parts."""
    words = workspace.vocabularies.add("CATAMI", TERMS, "1.4")
    term = {candidate.name: candidate.id for candidate in workspace.vocabularies.terms(words.id)}
    ids = workspace.library.columns("id")["id"]
    run = workspace.runs.add(
        NewRun("first", "gmc", "deep", {}, {}, {"clusters": 2}),
        {
            "image_ids": ids,
            "labels": (np.arange(len(ids)) % 2).astype(np.int32),
            "probability": np.linspace(0.5, 0.987, len(ids), dtype=np.float32),
        },
        [NewCluster(0, 8), NewCluster(1, 8)],
    )
    ann, model = workspace.people.named("Ann de Vries").id, workspace.people.named("model:first").id
    log = workspace.labels
    log.label(ann, ids[:6], term["Sponges"], why="bulk", run_id=run.id)
    log.label(ann, ids[2:3], term["Massive > round"])
    log.label(ann, ids[6:9], term["=Waves (>10 cm)"], why="review", confidence=0.875)
    log.label(model, ids[9:12], term["Macroalgae"], why="suggestion", confidence=0.6214)
    log.undo(ann, log.label(ann, ids[12:13], term["Biota"]))
    log.append_events(
        ann,
        [
            part_act(term["Sponges"], "point", [(int(ids[0]), (10, 20.5)), (int(ids[1]), (319, 239))], why="manual"),
            part_act(term["Macroalgae"], "box", [(int(ids[0]), (5, 6, 70, 80.25))], why="manual", confidence=0.5),
            part_act(term["Sponges"], "outline", [(int(ids[3]), (1, 1, 50, 2.5, 30, 60))], why="manual"),
            part_act(term["Sponges"], "circle", [(int(ids[3]), (100, 100, 30))], why="manual"),
            part_act(term["Biota"], "line", [(int(ids[13]), (0, 0, 100, 100, 120, 90))], why="manual"),
        ],
    )
    return workspace


def everything(workspace: Workspace, **options):
    """Return the content of the export of each image."""
    return gathered(workspace, Wanted(chosen_images(workspace), **options))


def exported(workspace: Workspace, folder: Path, format_name: str, **parameters):
    """Return the result of an export job that must succeed."""
    job = run_now(workspace, "export", {"format": format_name, "output": str(folder), **parameters})
    assert job.state == "done", job.error
    return job.result


def imported(workspace: Workspace, files, **parameters):
    """Return the result of an import job that must succeed."""
    job = run_now(workspace, "import labels", {"files": [str(path) for path in files], "person": "Bo", **parameters})
    assert job.state == "done", f"{job.error}\n{job.traceback}"
    return job.result
