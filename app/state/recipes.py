"""The forms of the library: describing images with what each parameter means and costs, taking a collection out."""

import os
from typing import Any

from app.state.app_state import AppState
from app.state.describing_pace import describing_seconds
from app.state.job_form import Field, Recipe, Values
from app.state.session import Session
from engine.features import DESCRIPTORS, available
from engine.jobs.pace import told

EASY = ("deep", "scspm", "segments", "colour")



def describing(app: AppState, collections: list[str]) -> Recipe:
    """The form for describing images."""
    word, problem = available("deep")
    words = [name for name in EASY if name != "deep" or problem is None]
    fields = (
        Field("kinds", "Descriptions", "What is looked at in every image. The first is right for nearly every "
              "collection.", "several", [word], tuple((name, f"{name}: {DESCRIPTORS[name].about}") for name in words)),
        Field("water", "Take the water out first", "Learns from the images of each dive how light and colour change "
              "with altitude and towards the corners, and evens that out. For AUV and towed cameras.", "switch", False,
              look="/api/v1/water.jpg"),
        Field("collection", "Images", "Of one collection, or all.", "choice", "", _collections(collections)),
        Field("dimension", "Numbers an image", "How long a description ends up. More keep more detail and need more "
              "images to cluster; empty takes what suits each kind (32 for deep).", "integer", None, minimum=1,
              maximum=4096, more=True),
        Field("learn_from", "Learn from", "Images drawn at random to learn a new description from.", "integer", 2000,
              minimum=2, more=True),
        Field("again", "Make anew", "Forget an existing set of this kind and learn it again, instead of adding what "
              "it lacks.", "switch", False, more=True),
        Field("seed", "Seed", "The same seed gives the same numbers on the same machine.", "integer", 0, minimum=0,
              more=True),
    )
    intro = str(problem) if problem else "Turns every image into numbers, so that images can be compared and clustered."
    return Recipe("Describe images", intro, "Describe", fields, lambda values: _describing_cost(app, values),
                  _describing_jobs)


def forgetting(session: Session, name: str) -> Recipe:
    """The question before a collection is taken out of the workspace."""
    library = session.workspace.library
    found = library.collection_named(name)
    images = len(library.columns("id", collection_id=found.id)["id"])

    def forget(_: Values) -> str:
        count = library.remove_collection(name)
        session.changed()
        return f"{name} is out of the workspace; the files of its {count:,} images are where they were"

    return Recipe(f"Take {name} out?", f"The workspace forgets the {images:,} images of {name}: they leave galleries, "
                  "runs and exports. Their files are not touched; importing them again makes them new images without "
                  "their labels.", "Take it out", (), lambda _: "This cannot be undone.", act=forget)


def _collections(names: list[str]) -> tuple[tuple[str, str], ...]:
    return (("", "All images"), *((name, name) for name in names))


def _describing_jobs(values: Values) -> list[tuple[str, dict[str, Any], str]]:
    said = {name: value for name, value in values.items() if value not in (None, "", False)}
    return [("features", said, f"Describe images ({', '.join(values['kinds'])})")]


def _describing_cost(app: AppState, values: Values) -> str:
    images = {word: _lacking(app, word, values["again"]) for word in values["kinds"]}
    cores = os.cpu_count() or 1
    seconds = sum(describing_seconds(app, word, count, cores) for word, count in images.items())
    if not any(images.values()):
        return "Every image has these descriptions already; there is nothing to do."
    disk = sum(count * (values["dimension"] or 32) * 4 for count in images.values()) / 1e6
    return (f"About {told(seconds)} for {max(images.values()):,} images on {cores} cores; "
            f"{disk:.1f} MB on disk, under 1 GB of memory. You can go on working meanwhile.")


def _lacking(app: AppState, word: str, again: bool) -> int:
    known = app.features(word).sidecar.images if word in app.workspace.features and not again else 0
    return max(len(app.columns) - known, 0)
