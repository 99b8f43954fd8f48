"""Clustering runs: settings, version, data and results. Also sizes of clusters and proportions of groups for any
clustering."""

import contextlib
import secrets
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import Row, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from benthoscope.engine.problems import fail, unknown
from benthoscope.engine.workspace.database.catalogue import Catalogue
from benthoscope.engine.workspace.database.schema import cluster, run
from benthoscope.engine.workspace.records import current_time, inserted_id
from benthoscope.engine.workspace.storage.files import load_array, load_parts, save_parts

LEVELS = ("coarser", "usual", "finer")  # levels of one clustering, from few wide clusters to many narrow ones
USUAL = "usual"
LONGEST_NAME = 60  # letters of the name of a cluster; longer ones do not fit on a card
WITHOUT_CLUSTER = "Without cluster"  # name of the last cluster of a run whose model leaves images without a cluster
EDITED = "edited"  # level of the named clusters that cluster edits added to those of the run


@dataclass(frozen=True)
class NewRun:
    """A run to store. `parameters` are the user's settings, `provenance` all that is needed to repeat it, `summary`
    values for lists."""

    name: str
    model: str
    features: str
    parameters: Mapping[str, Any]
    provenance: Mapping[str, Any]
    summary: Mapping[str, Any]


@dataclass(frozen=True)
class NewCluster:
    number: int
    size: int
    level: str = "image"
    summary: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Run(NewRun):
    id: int
    folder: Path
    current: bool
    created_at: float
    deleted: bool

    @property
    def level(self) -> str:
        """Return the level of this run within its clustering, one of LEVELS."""
        return str(self.summary.get("level", USUAL))

    @property
    def clustering(self) -> int:
        """Return the id of the usual level of the same clustering; for the usual level, its own id."""
        return int(self.summary.get("level_of", self.id))

    @property
    def summary_without_level(self) -> dict[str, Any]:
        """Return the summary for a new run derived from this one."""
        return {name: value for name, value in self.summary.items() if name not in ("level", "level_of")}

    @property
    def unclustered(self) -> int:
        """Return the number of images that the model left without a cluster. They form the last cluster of the run."""
        return int(self.summary.get("unclustered") or 0)

    @property
    def without_cluster(self) -> int | None:
        """Return the number of the cluster of the images without a cluster; None if every image has one."""
        return int(self.summary["clusters"]) - 1 if self.unclustered else None

    def facts(self) -> dict[str, Any]:
        """Return what lists of runs show, without the summary."""
        names = ("id", "name", "model", "features", "current", "created_at")
        return {name: getattr(self, name) for name in names}

    def arrays(self) -> dict[str, Any]:
        """Return all stored arrays: labels, probabilities and those of the model."""
        return load_parts(self.folder)

    def array(self, name: str) -> np.ndarray:
        return load_array(self.folder, name)

    @property
    def is_stored(self) -> bool:
        """Return whether its folder exists."""
        return (self.folder / "parts.json").is_file()

    @property
    def began_at(self) -> float:
        """Return when its features were read; it does not include images replaced later."""
        return self.provenance.get("began_at") or self.created_at


class RunStore:
    def __init__(self, catalogue: Catalogue, folder: Path):
        self._catalogue, self._folder = catalogue, folder
        with contextlib.suppress(OSError):  # a workspace without write permission is opened read-only
            folder.mkdir(exist_ok=True)

    def add(self, new: NewRun, arrays: Mapping[str, Any], clusters: Sequence[NewCluster] = ()) -> Run:
        """Store the arrays, then the row that makes the run visible. The first run of a workspace becomes the current
        one; later runs only when somebody chooses them."""
        folder = self._folder / secrets.token_hex(6)
        save_parts(folder, arrays)

        def store(connection):
            first = connection.execute(select(run.c.id).where(run.c.deleted_at.is_(None)).limit(1)).first() is None
            if first:
                connection.execute(update(run).values(current=False))
            values = {**vars(new), "folder": folder.name, "current": first, "created_at": current_time()}
            number = inserted_id(connection.execute(insert(run).values(**values)))
            if clusters:
                connection.execute(insert(cluster), [_cluster_row(number, new_cluster) for new_cluster in clusters])
            return number

        try:
            return self.get(self._catalogue.write(store))
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise

    def add_level(
        self, usual: Run, level: str, new: NewRun, arrays: Mapping[str, Any], clusters: Sequence[NewCluster] = ()
    ) -> Run:
        """Store a finer or coarser level of a run. It is listed only with that run and replaces an earlier one, also as
        the current run."""
        earlier = self.levels(usual).get(level)
        summary = {**new.summary, "level": level, "level_of": usual.id}
        made = self.add(replace(new, summary=summary), arrays, clusters)
        if earlier is not None:
            self._change(earlier.id, deleted_at=current_time())
            if earlier.current:
                self.choose(made.id)
        return made

    def levels(self, member: Run) -> dict[str, Run]:
        """Return the runs of the same clustering by level, coarsest first; only the usual one if there are no
        others."""
        family = [run for run in self.all(levels=True) if run.clustering == member.clustering]
        by_level = {run.level: run for run in family}
        return {level: by_level[level] for level in LEVELS if level in by_level}

    def get(self, run_id: int) -> Run:
        """Return the run with this number, deleted or not."""
        row = self._catalogue.first(select(run).where(run.c.id == run_id))
        if row is None:
            raise fail("runs", f"there is no run {run_id}", "list them with `benthoscope runs`")
        return self._run(row)

    def named(self, word: str) -> Run:
        """Return the run with this number or name, including levels; the newest of several with one name."""
        if word.isdecimal():
            return self.get(int(word))
        runs = self.all(levels=True)
        for candidate in reversed(runs):
            if candidate.name == word:
                return candidate
        raise unknown("runs", word, [known.name for known in runs])

    def all(self, *, deleted: bool = False, levels: bool = False) -> list[Run]:
        """Return all runs, oldest first; with `deleted`, the deleted ones that can be restored. Finer and coarser
        levels are included only with `levels`."""
        mark = run.c.deleted_at.is_not(None) if deleted else run.c.deleted_at.is_(None)
        runs = [self._run(row) for row in self._catalogue.all(select(run).where(mark).order_by(run.c.id))]
        return [run for run in runs if levels or run.level == USUAL]

    def current(self) -> Run | None:
        """Return the run or level chosen as current or, if it was deleted, the newest run. Runs without their folder
        are ignored."""
        runs = [candidate for candidate in self.all(levels=True) if candidate.is_stored]
        usual = [candidate for candidate in runs if candidate.level == USUAL]
        return next((candidate for candidate in runs if candidate.current), usual[-1] if usual else None)

    def choose(self, run_id: int) -> None:
        self.get(run_id)
        self._catalogue.execute(update(run).values(current=run.c.id == run_id))

    def rename(self, run_id: int, name: str) -> None:
        if not name.strip():
            raise fail("run", "has no name", "give it a name")
        self._change(run_id, name=name.strip())

    def delete(self, run_id: int) -> None:
        """Move the run and its levels to the deleted runs; `restore` brings them back until `purge`."""
        moment = current_time()
        for number in self._with_levels(run_id, deleted=False):
            self._change(number, deleted_at=moment)

    def restore(self, run_id: int) -> None:
        """Restore a deleted run and the levels that were deleted with it."""
        moment = self._deleted_at(run_id)
        for number in self._with_levels(run_id, deleted=True):
            if self._deleted_at(number) == moment:
                self._change(number, deleted_at=None)

    def purge(self) -> int:
        """Remove deleted runs that no label refers to, with their levels. Returns the number of runs."""
        deleted = self.all(deleted=True, levels=True)
        levels = [run for run in deleted if run.level != USUAL]
        removed_levels = [run for run in levels if self._removed(run)]
        needed_ids = {run.clustering for run in levels if run not in removed_levels}
        removed_runs = [
            run for run in deleted if run.level == USUAL and run.id not in needed_ids and self._removed(run)
        ]
        for removed_run in [*removed_levels, *removed_runs]:
            shutil.rmtree(removed_run.folder, ignore_errors=True)
        return len(removed_runs)

    def clusters(self, run_id: int, level: str = "image") -> list[NewCluster]:
        query = select(cluster).where(cluster.c.run_id == run_id, cluster.c.level == level).order_by(cluster.c.number)
        return [NewCluster(row.number, row.size, row.level, row.summary) for row in self._catalogue.all(query)]

    def cluster_names(self, run_id: int, level: str = "image") -> dict[int, str]:
        """Return the names that people gave to clusters, by cluster number. Those of images include the clusters that
        were split off from a cluster of the run."""
        added = self.clusters(run_id, EDITED) if level == "image" else []
        return {
            each.number: str(each.summary["name"])
            for each in [*self.clusters(run_id, level), *added]
            if each.summary and each.summary.get("name")
        }

    def name_split_cluster(self, run_id: int, number: int, size: int, name: str) -> None:
        """Name a cluster of images that a cluster edit split off from a cluster of the run."""
        row = _cluster_row(run_id, NewCluster(number, size, EDITED, {"name": name.strip()}))
        same = (cluster.c.run_id == run_id) & (cluster.c.level == EDITED) & (cluster.c.number == number)

        def store(connection):
            connection.execute(delete(cluster).where(same))
            connection.execute(insert(cluster).values(row))

        self._catalogue.write(store)

    def rename_cluster(self, run_id: int, number: int, name: str, level: str = "image") -> str:
        """Name a cluster; an empty name removes it. Returns the earlier name."""
        known = {each.number: dict(each.summary or {}) for each in self.clusters(run_id, level)}
        if number not in known:
            raise fail(f"run {self.get(run_id).name}", f"has no cluster {number}", "choose another number")
        name, summary = name.strip(), known[number]
        if len(name) > LONGEST_NAME:
            raise fail("name", f"is longer than {LONGEST_NAME} letters", "choose a shorter one")
        earlier = str(summary.pop("name", ""))
        summary |= {"name": name} if name else {}
        chosen = (cluster.c.run_id == run_id) & (cluster.c.level == level) & (cluster.c.number == number)
        self._catalogue.execute(update(cluster).where(chosen).values(summary=summary))
        return earlier

    def _with_levels(self, run_id: int, *, deleted: bool) -> list[int]:
        """Return the id of the run and, for a usual level, the ids of its other levels that are deleted or not."""
        levels = [
            run.id for run in self.all(deleted=deleted, levels=True) if run.clustering == run_id and run.id != run_id
        ]
        return [run_id, *levels]

    def _deleted_at(self, run_id: int) -> float | None:
        row = self._catalogue.first(select(run.c.deleted_at).where(run.c.id == run_id))
        return None if row is None else row.deleted_at

    def _removed(self, removed: Run) -> bool:
        try:
            self._catalogue.execute(delete(run).where(run.c.id == removed.id))
        except IntegrityError:  # labels of the run keep it
            return False
        return True

    def _change(self, run_id: int, **values: Any) -> None:
        self.get(run_id)
        self._catalogue.execute(update(run).where(run.c.id == run_id).values(**values))

    def _run(self, row: Row) -> Run:
        return Run(
            row.name,
            row.model,
            row.features,
            row.parameters,
            row.provenance,
            row.summary,
            row.id,
            self._folder / row.folder,
            row.current,
            row.created_at,
            row.deleted_at is not None,
        )


def _cluster_row(run_id: int, new_cluster: NewCluster) -> dict[str, Any]:
    return {
        "run_id": run_id,
        "number": new_cluster.number,
        "size": new_cluster.size,
        "level": new_cluster.level,
        "summary": dict(new_cluster.summary or {}),
    }


def counted_shares(labels: np.ndarray, groups: np.ndarray, clusters: int) -> tuple[np.ndarray, np.ndarray]:
    """Return (ids of the groups (J,), ascending; proportions of the clusters in each (J, clusters)) of rows with these
    labels."""
    ids, row = np.unique(groups, return_inverse=True)
    counts = np.bincount(row * clusters + labels, minlength=len(ids) * clusters).reshape(len(ids), clusters)
    return ids, counts / counts.sum(1, keepdims=True)


def counted_clusters(
    labels: np.ndarray, clusters: int, level: str = "image", *, unclustered: int = 0
) -> list[NewCluster]:
    """Return all clusters with their sizes, including empty ones. With `unclustered` images, the last one has their
    name."""
    sizes = np.bincount(labels, minlength=clusters)
    counted = [NewCluster(number, int(size), level) for number, size in enumerate(sizes)]
    if unclustered:
        counted[-1] = replace(counted[-1], summary={"name": WITHOUT_CLUSTER})
    return counted


def proper_clusters(summary: Mapping[str, Any]) -> int | None:
    """Return the number of clusters of a run without the one of images without a cluster."""
    clusters = summary.get("clusters")
    return clusters - 1 if clusters and summary.get("unclustered") else clusters
