"""The forms for computing image features and for removing a collection."""

import os
from typing import Any

from benthoscope.app.components.forms import FormField, Recipe, Values
from benthoscope.app.data.group_words import group_words
from benthoscope.app.data.jobs import describing_time
from benthoscope.app.pages.library.model import stale_count
from benthoscope.app.session.app_state import AppState
from benthoscope.app.session.session import Session
from benthoscope.engine.features import DESCRIPTORS, available

EASY = ("deep", "deep-int8", "deep-views", "scspm", "segments", "colour", "colour-segments", "pyramid-kernel")


def describing(app: AppState, collections: list[str]) -> Recipe:
    """The form for describing images."""
    word, problem = available("deep")
    words = [name for name in EASY if name not in ("deep", "deep-int8", "deep-views") or problem is None]
    fields = (
        FormField(
            "kinds",
            "Image features",
            "How images are described. The first choice is right for nearly every collection.",
            "several",
            [word],
            tuple((name, f"{name}: {DESCRIPTORS[name].about}") for name in words),
        ),
        FormField(
            "water",
            "Correct water colour and lighting",
            f"Estimates from the images of each {group_words(app).singular} "
            "how light and colour change with altitude and towards the corners, and corrects it. For AUV and towed "
            "cameras.",
            "switch",
            False,
            look="/api/v1/water.jpg",
        ),
        FormField(
            "collection", "Images", "Images of one collection, or all images.", "choice", "", _collections(collections)
        ),
        FormField(
            "dimension",
            "Feature dimensions",
            "Numbers that describe each image. More dimensions keep more detail and need more images to cluster. "
            "Empty: the default of each kind (32 for deep).",
            "integer",
            None,
            minimum=1,
            maximum=4096,
            more=True,
        ),
        FormField(
            "learn_from",
            "Training images",
            "Number of random images from which a new kind of features is trained.",
            "integer",
            2000,
            minimum=2,
            more=True,
        ),
        FormField(
            "again",
            "Recompute from scratch",
            "Replace existing features of this kind instead of adding the missing ones.",
            "switch",
            False,
            more=True,
        ),
        FormField(
            "seed",
            "Seed",
            "The same seed gives the same features on the same computer.",
            "integer",
            0,
            minimum=0,
            more=True,
        ),
    )
    intro = str(problem) if problem else "Computes features: numbers by which images are compared and clustered."
    return Recipe(
        "Describe images", intro, "Describe", fields, lambda values: _describing_cost(app, values), _describing_jobs
    )


def forgetting(session: Session, name: str) -> Recipe:
    """The confirmation before a collection is removed from the workspace."""
    library = session.workspace.library
    collection = library.collection_named(name)
    images = len(library.columns("id", collection_id=collection.id)["id"])

    def forget(_: Values) -> str:
        count = library.remove_collection(name)
        session.changed()
        return f"Removed {name} from the workspace. The files of its {count:,} images were not changed"

    return Recipe(
        f"Remove {name}?",
        f"Removes the {images:,} images of {name} from the workspace, with their labels and clusters. The image "
        "files are not changed. If you import them again, they are new images without labels.",
        "Remove collection",
        (),
        lambda _: "This cannot be undone.",
        run_now=forget,
    )


def _collections(names: list[str]) -> tuple[tuple[str, str], ...]:
    return (("", "All images"), *((name, name) for name in names))


def _describing_jobs(values: Values) -> list[tuple[str, dict[str, Any], str]]:
    options = {name: value for name, value in values.items() if value not in (None, "", False)}
    return [("features", options, f"Describe images ({', '.join(values['kinds'])})")]


def _describing_cost(app: AppState, values: Values) -> str:
    images = {word: _lacking(app, word, values["again"]) for word in values["kinds"]}
    if not any(images.values()):
        return "Every image has these features already; there is nothing to do."
    lacking = [word for word, count in images.items() if count]
    disk = sum(count * (values["dimension"] or 32) * 4 for count in images.values()) / 1e6
    size = f"{disk:.1f}" if disk >= 0.1 else "Under 0.1"
    return (
        f"Time: {describing_time(app, lacking, max(images.values()))}, for {max(images.values()):,} images on "
        f"{os.cpu_count() or 1} cores. "
        f"{size} MB on disk, under 1 GB of memory. You can continue to work meanwhile."
    )


def _lacking(app: AppState, word: str, again: bool) -> int:
    stored = word in app.workspace.features and not again
    known = app.features(word).sidecar.images - stale_count(app, word) if stored else 0
    return max(len(app.columns) - known, 0)
