"""The images and segments that stand for each cluster of a run. A job chooses the exemplars; pages only read them."""

from collections.abc import Callable, Mapping

import numpy as np

from benthoscope.app.data.clusters.cluster_geometry import image_features
from benthoscope.app.data.clusters.clustered_images import Atlas
from benthoscope.app.data.objects import Objects
from benthoscope.app.session.app_state import AppState
from benthoscope.app.session.cache import IMAGES, RUNS
from benthoscope.engine.analysis import least_probable, most_probable, random_members, segment_exemplars
from benthoscope.engine.analysis.exemplars import IMAGES_PER_CLUSTER
from benthoscope.engine.jobs.cluster.exemplars import has_exemplars, read_exemplars
from benthoscope.engine.problems import unknown

KINDS: Mapping[str, str] = {"exemplars": "Exemplars", "sure": "Sure", "borderline": "Borderline", "random": "Random"}
SEGMENT_KINDS: Mapping[str, str] = {"typical": "Typical", "borderline": "Borderline", "random": "Random"}
SELECTORS: Mapping[str, Callable[[Atlas, np.ndarray, int], np.ndarray]] = {
    "sure": lambda atlas, members, count: most_probable(members, atlas.probability[members], count),
    "borderline": lambda atlas, members, count: least_probable(members, atlas.probability[members], count),
    "random": lambda atlas, members, count: random_members(members, count),
}


class ClusterExamples:
    """Example images of every cluster of one run, by position."""

    def __init__(self, atlas: Atlas):
        self._atlas = atlas
        self._exemplars = read_exemplars(atlas.run) if atlas.run else None

    def of(self, cluster: int, kind: str = "exemplars", count: int = IMAGES_PER_CLUSTER) -> np.ndarray:
        """Positions of the examples; the surest members where no exemplars are stored yet."""
        if kind not in KINDS:
            raise unknown("kinds of exemplars", kind, KINDS)
        if kind == "exemplars":
            exemplars = self._stored(cluster)
            if len(exemplars):
                return exemplars[:count]
            kind = "sure"
        return SELECTORS[kind](self._atlas, self._atlas.members(cluster), count)

    def _stored(self, cluster: int) -> np.ndarray:
        if self._exemplars is None or cluster >= len(self._exemplars):
            return np.empty(0, np.int64)
        ids = self._exemplars[cluster]
        return self._atlas.columns.positions(ids[ids >= 0])


def examples_of(app: AppState, atlas: Atlas) -> ClusterExamples:
    """Shared by all sessions, and read again when a job has ended."""
    run_id = atlas.run.id if atlas.run else None
    return app.cached(("examples", run_id, len(atlas)), lambda: ClusterExamples(atlas), (IMAGES, RUNS))


def request_exemplars(app: AppState, atlas: Atlas) -> None:
    """Queue the job that chooses the exemplars of a run which has none, once per server process."""
    if atlas.run is None or app.workspace.read_only or has_exemplars(atlas.run) or image_features(app, atlas) is None:
        return
    parameters = {"run": atlas.run.id}
    app.cached(("exemplars requested", atlas.run.id), lambda: app.queue.add("exemplars", parameters), of=())


def segment_examples(app: AppState, objects: Objects, kind: str, number: int) -> list[tuple[int, int]]:
    """(image id, number in its mask) of the segments that stand for an object."""
    images, numbers = objects.segments(segment_example_rows(app, objects)[kind][number])
    return list(zip(images.tolist(), numbers.tolist(), strict=True))


def segment_example_rows(app: AppState, objects: Objects) -> Mapping[str, tuple[np.ndarray, ...]]:
    """By kind, for every object: rows of the feature set. Five million segments take a second."""
    key = ("segment examples", objects.run.id, objects.features.folder.name)
    return app.cached(
        key,
        lambda: segment_exemplars(
            objects.features.X, objects.labels, objects.features.offsets, objects.clusters, objects.probability
        ),
        of=(),
    )
