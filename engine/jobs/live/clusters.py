"""The present clusters of a live dive: those of the learner, with the names, merges and splits of people.

A cluster has a key: "7" is cluster 7 of the learner, "7.1" and "7.2" are its halves after a split. The learner does not
know the edits. Edits of clusters that it removed have no effect.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benthoscope.engine.problems import fail, unknown
from benthoscope.engine.workspace import Workspace
from benthoscope.engine.workspace.live_dives import NO_CLUSTER, LiveDive, LiveEdit

FEWEST = 4  # images of a cluster that can be split


@dataclass(frozen=True, eq=False)
class LearnedClusters:
    """The images of a dive in the order of arrival, and their cluster under the learner, -1 without one."""

    image_ids: np.ndarray
    clusters: np.ndarray


@dataclass(frozen=True, eq=False)
class EditedClusters:
    """`keys` of the present clusters; `code` (N,) is the position of each image's cluster in `keys`, -1 without one.
    `names` are those that people gave, by key."""

    image_ids: np.ndarray
    code: np.ndarray
    keys: tuple[str, ...]
    names: Mapping[str, str] = field(default_factory=dict)
    merged: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # keys that joined each key

    def members(self, key: str) -> np.ndarray:
        """Return the ids of the images of a cluster."""
        if key not in self.keys:
            raise unknown("clusters", key, self.keys)
        return self.image_ids[self.code == self.keys.index(key)]

    def sizes(self) -> dict[str, int]:
        counts = np.bincount(self.code[self.code >= 0], minlength=len(self.keys))
        return {key: int(count) for key, count in zip(self.keys, counts, strict=True)}


def learned_clusters(
    workspace: Workspace, dive: LiveDive, columns: Mapping[str, np.ndarray] | None = None
) -> LearnedClusters:
    """Return the cluster that each image has now. An image follows its summary in the memory of the learner; an image
    that waits has the cluster it was assigned to. Without `columns`, all images of the dive are read."""
    from benthoscope.engine.jobs.live.learner import LEARNER  # slow to import
    from benthoscope.engine.streaming import MemoryBoundedVDP

    columns = workspace.live.columns(dive.id) if columns is None else columns
    clusters = columns["cluster"].copy()
    learned = np.flatnonzero(columns["learned_in"] > 0)
    order = learned[np.lexsort((columns["id"][learned], columns["learned_in"][learned]))]  # as they were learned
    path = workspace.live.working_folder(dive.id) / LEARNER
    if len(order) and path.is_file():
        model = MemoryBoundedVDP.load(path)
        if model.n_rows_seen_ == len(order):  # otherwise a round was stored a moment ago
            clusters[order] = model.cluster_ids_[model.clusters_of()]
    return LearnedClusters(columns["image_id"], clusters)


def edited_clusters(workspace: Workspace, dive: LiveDive, learned: LearnedClusters) -> EditedClusters:
    """Return the clusters after the edits of people that were not undone, oldest first."""
    present = [int(number) for number in np.unique(learned.clusters) if number != NO_CLUSTER]
    keys = [str(number) for number in present]
    code = np.searchsorted(present, learned.clusters).astype(np.int64)
    code[learned.clusters == NO_CLUSTER] = -1
    names: dict[str, str] = {}
    merged: dict[str, tuple[str, ...]] = {}
    for edit in effective_edits(workspace.live.edits(dive.id)):
        if edit.kind == "name":
            names[edit.rule["key"]] = edit.rule["name"]
        elif edit.kind == "merge":
            _merge(edit.rule, keys, code, merged)
        elif edit.rule["key"] in keys:
            _split(workspace, dive, edit.rule, keys, code, learned.image_ids)
    used = sorted({int(at) for at in code if at >= 0}, key=lambda at: _order(keys[at]))
    position = np.full(len(keys) + 1, -1)
    position[used] = np.arange(len(used))
    final = tuple(keys[at] for at in used)
    merged = {key: joined for key, joined in merged.items() if key in final}
    for key, joined in merged.items():  # a cluster without a name takes that of one that joined it
        inherited = next((names[other] for other in joined if names.get(other)), "")
        names[key] = names.get(key) or inherited
    named = {key: name for key, name in names.items() if key in final and name}
    return EditedClusters(learned.image_ids, position[code], final, named, merged)


def effective_edits(edits: Iterable[LiveEdit]) -> list[LiveEdit]:
    """Return the edits that are not undone, oldest first."""
    history = list(edits)
    undone = {edit.undoes for edit in history if edit.kind == "undo"}
    return [edit for edit in history if edit.kind != "undo" and edit.id not in undone]


def name_cluster(workspace: Workspace, dive: LiveDive, person_id: int, key: str, name: str) -> int:
    """Give a cluster a name; an empty name removes it."""
    _known(workspace, dive, [key])
    return workspace.live.add_edit(dive.id, person_id, "name", {"key": key, "name": name.strip()})


def merge_clusters(workspace: Workspace, dive: LiveDive, person_id: int, keys: Sequence[str]) -> int:
    """Show several clusters as one, under the key of the first."""
    distinct = list(dict.fromkeys(keys))
    if len(distinct) < 2:
        raise fail("merge", "needs two clusters", "choose at least two")
    _known(workspace, dive, distinct)
    return workspace.live.add_edit(dive.id, person_id, "merge", {"keys": distinct, "into": distinct[0]})


def split_cluster(workspace: Workspace, dive: LiveDive, person_id: int, key: str) -> int:
    """Show a cluster as two: its images on both sides of its mean along its axis of largest variance. New images are
    divided by the same rule."""
    clusters = _known(workspace, dive, [key])
    rows = _rows(workspace, dive, clusters.members(key))
    if len(rows) < FEWEST:
        raise fail(f"cluster {key}", f"has {len(rows)} described images", f"choose one with at least {FEWEST}")
    centre = rows.mean(0)
    _, spread, axes = np.linalg.svd(rows - centre, full_matrices=False)
    if spread[0] <= 0:
        raise fail(f"cluster {key}", "has equal images only", "choose another cluster")
    rule = {
        "key": key,
        "parts": [f"{key}.1", f"{key}.2"],
        "direction": axes[0].tolist(),
        "threshold": float(axes[0] @ centre),
    }
    return workspace.live.add_edit(dive.id, person_id, "split", rule)


def undo_edit(workspace: Workspace, dive: LiveDive, person_id: int, edit_id: int | None = None) -> LiveEdit:
    """Undo an edit, by default the newest one. Returns it."""
    effective = effective_edits(workspace.live.edits(dive.id))
    chosen = [edit for edit in effective if edit_id in (None, edit.id)]
    if not chosen:
        raise fail("undo", "there is no such edit", "nothing was changed")
    workspace.live.add_edit(dive.id, person_id, "undo", {}, chosen[-1].id)
    return chosen[-1]


def describe_edit(edit: LiveEdit) -> str:
    """Return what an edit did, in a few words."""
    if edit.kind == "name":
        name = edit.rule["name"]
        return f"Cluster {edit.rule['key']} named {name}" if name else f"Name of cluster {edit.rule['key']} removed"
    if edit.kind == "merge":
        return f"Clusters {', '.join(edit.rule['keys'])} merged"
    return f"Cluster {edit.rule['key']} split"


def _known(workspace: Workspace, dive: LiveDive, keys: Sequence[str]) -> EditedClusters:
    clusters = edited_clusters(workspace, dive, learned_clusters(workspace, dive))
    for key in keys:
        if key not in clusters.keys:
            raise unknown("clusters", key, clusters.keys)
    return clusters


def _merge(rule: Mapping[str, Any], keys: list[str], code: np.ndarray, merged: dict[str, tuple[str, ...]]) -> None:
    into = rule["into"]
    if into not in keys:
        keys.append(into)
    target = keys.index(into)
    joined = [key for key in rule["keys"] if key in keys and key != into]
    code[np.isin(code, [keys.index(key) for key in joined])] = target
    merged[into] = (*merged.get(into, ()), *joined)


def _split(
    workspace: Workspace,
    dive: LiveDive,
    rule: Mapping[str, Any],
    keys: list[str],
    code: np.ndarray,
    image_ids: np.ndarray,
) -> None:
    members = np.flatnonzero(code == keys.index(rule["key"]))
    rows = _rows(workspace, dive, image_ids[members])
    if len(rows) != len(members):
        return
    first = len(keys)
    keys += rule["parts"]
    code[members] = first + (rows @ np.array(rule["direction"]) > rule["threshold"])


def _rows(workspace: Workspace, dive: LiveDive, image_ids: np.ndarray) -> np.ndarray:
    """Return the features of images along the axes of the learner, in their order."""
    from benthoscope.engine.jobs.live.learner import projected  # slow to import

    vectors = features_of(workspace, dive, image_ids)
    return projected(workspace.live.working_folder(dive.id), vectors) if len(vectors) else np.empty((0, 1))


def features_of(workspace: Workspace, dive: LiveDive, image_ids: np.ndarray) -> np.ndarray:
    """Return the features (n, D) of these images: from the feature set, or as they were stored on arrival."""
    features = workspace.features.open(dive.descriptor["features"])
    ids = np.asarray(features.image_ids)
    order = np.argsort(ids, kind="stable")
    at = np.minimum(np.searchsorted(ids, image_ids, sorter=order), max(len(ids) - 1, 0))
    rows = np.empty((len(image_ids), features.sidecar.width), np.float32)
    is_stored = ids[order[at]] == image_ids if len(ids) else np.zeros(len(image_ids), bool)
    rows[is_stored] = features.X[order[at[is_stored]]]
    pending = {} if is_stored.all() else workspace.live.pending_vectors(dive.id)
    for position in np.flatnonzero(~is_stored):
        vector = pending.get(int(image_ids[position]))
        if vector is None:
            raise fail(f"image {image_ids[position]}", "has no features yet", "try again in a moment")
        rows[position] = vector[: features.sidecar.width]
    return rows


def _order(key: str) -> tuple[int, ...]:
    return tuple(map(int, key.split(".")))
