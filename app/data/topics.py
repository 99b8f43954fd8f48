"""The topics of a run: their weights in every image, along dives, and which images can be added."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from benthoscope.app.data.clusters.clustered_images import NONE, Atlas, arrays_of, atlas_of, names_of_topics, placed
from benthoscope.app.data.exemplars import segment_examples
from benthoscope.app.data.objects import Objects, objects_of
from benthoscope.app.data.segments import masks, rows_of_image
from benthoscope.app.session.app_state import AppState
from benthoscope.app.session.cache import FEATURES, IMAGES, LABELS, RUNS
from benthoscope.engine.jobs.cluster.topic_summary import TopicSummary, has_topics, summaries
from benthoscope.engine.problems import BenthoscopeError
from benthoscope.engine.workspace import Run

TYPICAL = 6  # images on the card of a topic


@dataclass(frozen=True)
class Topics:
    """T topics of a run. Positions are those of the images of the workspace, see `Atlas`."""

    run: Run
    atlas: Atlas
    names: tuple[str, ...]
    positions: np.ndarray  # (I,) of the images of the run that are in the workspace
    weights: np.ndarray  # (I, T)

    @property
    def ids(self) -> np.ndarray:
        return self.atlas.columns.ids[self.positions]

    @cached_property
    def row_of(self) -> np.ndarray:
        """(N,): the row of `weights` of each image of the workspace, NONE for images without topics."""
        rows = np.full(len(self.atlas), NONE)
        rows[self.positions] = np.arange(len(self.positions))
        return rows

    @cached_property
    def by_dive(self) -> np.ndarray:
        """(G, T): mean weights of the images of each dive; zeros for a dive without topics."""
        sums = np.zeros((len(self.atlas.groups), len(self.names)))
        group = self.atlas.group[self.positions]
        for topic in range(len(self.names)):
            sums[:, topic] = np.bincount(group, self.weights[:, topic], len(sums))
        return sums / np.maximum(np.bincount(group, minlength=len(sums)), 1)[:, None]

    def along(self, dive: int) -> np.ndarray:
        """Positions of the images of a dive that have topics, in the order in which they were taken."""
        track = self.atlas.track(dive)
        return track[self.row_of[track] >= 0]


def runs_of_topics(app: AppState) -> list[Run]:
    """Runs of topics, oldest first."""
    return app.cached(
        "runs of topics",
        lambda: [run for run in app.workspace.runs.all() if has_topics(run) and run.is_stored],
        RUNS,
    )


def topics_of(app: AppState, run_id: int | None) -> Topics | None:
    """The topics of this run, else of the newest run of topics; None if there is none."""
    runs = runs_of_topics(app)
    chosen = next((run for run in runs if run.id == run_id), runs[-1] if runs else None)
    return None if chosen is None else app.cached(("topics", chosen.id), lambda: _made(app, chosen), (IMAGES, RUNS))


def _made(app: AppState, run: Run) -> Topics:
    atlas = atlas_of(app, run.id)
    positions, known = placed(atlas.columns, run.array("image_ids"))
    weights = np.asarray(run.array("image_weights"))
    return Topics(run, atlas, names_of_topics(app, run), positions, weights if known.all() else weights[known])


def topic_summaries(app: AppState, run: Run) -> list[TopicSummary]:
    return app.cached(
        ("topic summaries", run.id), lambda: summaries(app.workspace, run, TYPICAL), (IMAGES, RUNS, LABELS)
    )


PATCHES = 12  # on the card of a topic
SEARCHED = 3 * PATCHES  # images in which typical patches are searched; each lookup reads the list of all images


def topic_patches(app: AppState, topics: Topics, kind: str, topic: int) -> list[tuple[int, int]]:
    """(image id, patch) of example patches of a topic; empty if the patches were removed or computed again. Typical is
    the most probable patch of an image with a large share."""
    objects = objects_of(app, topics.atlas)
    if objects is None:
        return []
    if kind != "typical":
        return segment_examples(app, objects, kind, topic)
    key = ("typical patches", topics.run.id, topic)
    return app.cached(key, lambda: _typical_patches(app, objects, topics, topic), (IMAGES, RUNS, FEATURES))


def _typical_patches(app: AppState, objects: Objects, topics: Topics, topic: int) -> list[tuple[int, int]]:
    largest = np.argsort(-topics.weights[:, topic], kind="stable")[:SEARCHED]
    stored, shown = masks(app, objects.features), []
    for image in topics.ids[largest].tolist():
        rows = np.array(rows_of_image(objects.features, image), int)
        patches = np.flatnonzero(np.asarray(objects.labels[rows]) == topic)
        if not len(patches) or image not in stored:
            continue
        sure = np.ones(len(patches)) if objects.probability is None else np.asarray(objects.probability[rows[patches]])
        # of equally probable patches, one that no edge of the image cuts off
        at_edge = np.isin(patches, _at_edges(stored[image]))
        shown.append((image, int(patches[np.lexsort((at_edge, -np.round(sure, 2)))[0]])))
        if len(shown) == PATCHES:
            break
    return shown


def _at_edges(mask: np.ndarray) -> np.ndarray:
    """Return the numbers of the patches at the edges of an image."""
    return np.unique(np.concatenate([mask[0], mask[-1], mask[:, 0], mask[:, -1]]))


@dataclass(frozen=True)
class Addable:
    """Images that a run of topics does not have: `described` can be added now, `undescribed` after they are described.
    `patches` is the number of patches to train on. `problem` says why none can be added."""

    described: int = 0
    undescribed: int = 0
    patches: int = 0
    problem: str = ""


def addable(app: AppState, run: Run) -> Addable:
    return app.cached(("addable images", run.id), lambda: _addable(app, run), (IMAGES, RUNS, FEATURES))


def _addable(app: AppState, run: Run) -> Addable:
    from benthoscope.engine.jobs.cluster.extend_topics import added_images, extendable_run  # slow to import

    if "image_ids" not in arrays_of(run) or run.features not in app.workspace.features:
        return Addable(problem=f"The features {run.features} were removed.")
    features = app.features(run.features)
    unknown = np.setdiff1d(app.columns.ids, np.asarray(run.array("image_ids")))
    described = int(np.isin(unknown, np.asarray(features.image_ids)).sum())
    if not len(unknown):
        return Addable()
    try:
        extendable_run(app.workspace, run.id)
        patches = added_images(app.workspace, run).rows.values.shape[0] if described else features.sidecar.rows
    except BenthoscopeError as error:
        return Addable(problem=str(error))
    return Addable(described, len(unknown) - described, patches)
