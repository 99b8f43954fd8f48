"""Values of live dives that the page Live, its plots and REST show."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benthoscope.app.data.labels import all_terms
from benthoscope.app.data.live.growing_columns import GrowingColumns
from benthoscope.app.session.app_state import AppState
from benthoscope.app.session.cache import LABELS, LIVE
from benthoscope.engine.analysis.cluster_purity import LabelAgreement, label_agreement
from benthoscope.engine.jobs.cluster.run_purity import labels_by_looking
from benthoscope.engine.jobs.live.clusters import EditedClusters, edited_clusters, learned_clusters
from benthoscope.engine.problems import fail
from benthoscope.engine.workspace.live_dives import LiveDive, LiveRound
from benthoscope.plots.colours import distinct

PERIODS = 48  # columns of the mixture over time
SECOND = 1000  # milliseconds
FIRST_PART = 60  # number of the colour of the first part of a split cluster; the learner's own numbers come before
PATH_IMAGES, PATH_NEWEST, PATH_NOVEL = 4_000, 500, 200  # images that a drawing of the path shows
NAMED_FROM = 0.5  # share of the labels of a cluster that its most frequent one must have to name it


@dataclass(frozen=True, eq=False)
class LiveState:
    """A live dive as it is now. `columns` has one entry per image in the order of arrival."""

    dive: LiveDive
    columns: Mapping[str, np.ndarray]
    rounds: Sequence[LiveRound]
    clusters: EditedClusters
    label_names: Mapping[str, tuple[str, float]]  # key: the most frequent label and its share of the labelled images
    agreement: LabelAgreement  # of clusters and labels, of images that somebody looked at

    def name(self, key: str) -> str:
        """Return what the cluster is called: by people, else by its labels, else its number."""
        given = self.clusters.names.get(key)
        if given:
            return given
        label, share = self.label_names.get(key, ("", 0.0))
        return label if share >= NAMED_FROM else f"Cluster {key}"

    def colours(self) -> dict[str, str]:
        """Return the colour of each cluster. It depends on the key alone, so it never changes its meaning."""
        numbers = {key: colour_number(key) for key in self.clusters.keys}
        palette = distinct(max(numbers.values(), default=-1) + 1)
        return {key: palette[number] for key, number in numbers.items()}

    def names(self) -> list[str]:
        """Return the names of the clusters; equal names get the number as well."""
        names = [self.name(key) for key in self.clusters.keys]
        return [
            name if names.count(name) == 1 else f"{name} ({key})"
            for name, key in zip(names, self.clusters.keys, strict=True)
        ]


def colour_number(key: str) -> int:
    """Return the number of the colour of a cluster: its own, or for a part of a split one far from its whole."""
    number, *halves = [int(word) for word in key.split(".")]
    for half in halves:
        number = FIRST_PART + 2 * (number % FIRST_PART) + half
    return number


def newest_dive(app: AppState) -> LiveDive | None:
    """Return the newest dive that is watched, else the newest one; None if there is none."""
    dives = app.workspace.live.all()
    return next((dive for dive in dives if dive.is_watching), dives[0] if dives else None)


def live_state(app: AppState, dive_id: int) -> LiveState:
    """Return the state of a dive, computed once for all tabs after each change."""
    return app.cached(("live", dive_id), lambda: _state(app, dive_id), (LIVE, LABELS))


def _state(app: AppState, dive_id: int) -> LiveState:
    store = app.workspace.live
    dive = store.get(dive_id)
    columns = app.cached(("live columns", dive_id), lambda: GrowingColumns(store, dive_id), ()).read()
    clusters = edited_clusters(app.workspace, dive, learned_clusters(app.workspace, dive, columns))
    labels = labels_by_looking(app.workspace, clusters.image_ids)
    agreement = label_agreement(clusters.code[clusters.code >= 0], labels[clusters.code >= 0])
    return LiveState(dive, columns, store.rounds(dive_id), clusters, _label_names(app, clusters), agreement)


def _label_names(app: AppState, clusters: EditedClusters) -> dict[str, tuple[str, float]]:
    """Return the most frequent label of each cluster, and its share of the labelled images in it."""
    images, terms = app.workspace.labels.current_terms()
    at = np.searchsorted(images, clusters.image_ids)
    at[at == len(images)] = 0
    is_labelled = np.zeros(len(clusters.image_ids), bool)
    if len(images):
        is_labelled = (images[at] == clusters.image_ids) & (clusters.code >= 0)
    names: dict[str, tuple[str, float]] = {}
    for number, key in enumerate(clusters.keys):
        of_cluster = terms[at[is_labelled & (clusters.code == number)]]
        if len(of_cluster):
            values, counts = np.unique(of_cluster, return_counts=True)
            best = int(values[counts.argmax()])
            names[key] = (all_terms(app)[best].name, float(counts.max() / counts.sum()))
    return names


def mixture_over_time(state: LiveState) -> tuple[np.ndarray, np.ndarray]:
    """Return the limits of periods (B + 1,) in seconds since 1970, and the shares (B, K) of the clusters in each."""
    start, arrived = arrival(state)
    count = int(np.clip(len(arrived) // 10, 1, PERIODS))
    edges = np.linspace(0, max(arrived.max() + 1, SECOND), count + 1).astype(int)
    period = np.searchsorted(edges, arrived, side="right") - 1
    K = len(state.clusters.keys)
    codes = state.clusters.code[state.clusters.code >= 0]
    counts = np.bincount(period * K + codes, minlength=count * K).reshape(count, K)
    return (start + edges) / SECOND, counts / np.maximum(counts.sum(1, keepdims=True), 1)


def arrival(state: LiveState) -> tuple[int, np.ndarray]:
    """Return when the first image with a cluster arrived, and how much later the others: whole milliseconds."""
    arrived = np.rint(SECOND * state.columns["arrived_at"][state.clusters.code >= 0]).astype(np.int64)
    if not len(arrived):
        raise fail(f"dive {state.dive.name}", "has no clusters yet", "wait for its first round")
    return int(arrived.min()), arrived - arrived.min()


def path_rows(state: LiveState) -> np.ndarray:
    """Return the rows of `columns` that a drawing of the path needs, so that its cost does not grow with the dive.

    They are every second, fourth or eighth image and so on, all newest ones, and the newest novel ones."""
    count = len(state.columns["id"])
    step = 1
    while count > step * PATH_IMAGES:
        step *= 2
    novel = np.flatnonzero(state.columns["novel"])[-PATH_NOVEL:]
    newest = np.arange(max(count - PATH_NEWEST, 0), count)
    return np.unique(np.concatenate([np.arange(0, count, step), novel, newest]))


def cluster_colours(numbers: Sequence[int]) -> dict[int, str]:
    """Return the colours of clusters of the learner by their lasting numbers."""
    palette = distinct(max(numbers, default=-1) + 1)
    return {number: palette[number] for number in numbers}
