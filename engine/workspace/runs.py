"""Clustering runs: what was asked, by which version, on which data, and what came out."""

import secrets
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import Row, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from engine.problems import fail, unknown
from engine.workspace.arrays import load_array, load_parts, save_parts
from engine.workspace.catalogue import Catalogue
from engine.workspace.records import now
from engine.workspace.schema import cluster, run


@dataclass(frozen=True)
class NewRun:
    """`parameters` are what the person chose, `provenance` what is needed to do it again, `summary` what lists show."""

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

    def parts(self) -> dict[str, Any]:
        """Everything the run keeps: arrays such as labels and probabilities, and the model's own."""
        return load_parts(self.folder)

    def array(self, name: str) -> np.ndarray:
        return load_array(self.folder, name)


class RunStore:
    def __init__(self, catalogue: Catalogue, folder: Path):
        self._catalogue, self._folder = catalogue, folder
        folder.mkdir(exist_ok=True)

    def add(self, new: NewRun, parts: Mapping[str, Any], clusters: Sequence[NewCluster] = ()) -> Run:
        """Stores the arrays, then the row that makes the run visible; it becomes the current one."""
        folder = self._folder / secrets.token_hex(6)
        save_parts(folder, parts)

        def store(connection):
            connection.execute(update(run).values(current=False))
            values = {**vars(new), "folder": folder.name, "current": True, "created_at": now()}
            number = connection.execute(insert(run).values(**values)).inserted_primary_key[0]
            if clusters:
                connection.execute(insert(cluster), [_cluster_row(number, found) for found in clusters])
            return number

        try:
            return self.get(self._catalogue.write(store))
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise

    def get(self, run_id: int) -> Run:
        """The run of this number, deleted or not."""
        row = self._catalogue.first(select(run).where(run.c.id == run_id))
        if row is None:
            raise fail("runs", f"no run {run_id}", "list them with `benthoscope runs`")
        return self._run(row)

    def named(self, word: str) -> Run:
        """The run with this number or name; of several with one name the newest."""
        if word.isdecimal():
            return self.get(int(word))
        for found in reversed(self.all()):
            if found.name == word:
                return found
        raise unknown("runs", word, [found.name for found in self.all()])

    def all(self, *, deleted: bool = False) -> list[Run]:
        """All runs, oldest first; with `deleted`, those that were deleted and can be brought back."""
        mark = run.c.deleted_at.is_not(None) if deleted else run.c.deleted_at.is_(None)
        return [self._run(row) for row in self._catalogue.all(select(run).where(mark).order_by(run.c.id))]

    def current(self) -> Run | None:
        """The run chosen as current, or where it was deleted the newest."""
        runs = self.all()
        return next((found for found in runs if found.current), runs[-1] if runs else None)

    def choose(self, run_id: int) -> None:
        self.get(run_id)
        self._catalogue.execute(update(run).values(current=run.c.id == run_id))

    def rename(self, run_id: int, name: str) -> None:
        if not name.strip():
            raise fail("run", "has no name", "give it one")
        self._change(run_id, name=name.strip())

    def delete(self, run_id: int) -> None:
        """Takes the run out of the lists; `restore` brings it back until `purge`."""
        self._change(run_id, deleted_at=now())

    def restore(self, run_id: int) -> None:
        self._change(run_id, deleted_at=None)

    def purge(self) -> int:
        """Removes deleted runs that no label refers to, for good; gives their number."""
        gone = [found for found in self.all(deleted=True) if self._removed(found)]
        for found in gone:
            shutil.rmtree(found.folder, ignore_errors=True)
        return len(gone)

    def clusters(self, run_id: int, level: str = "image") -> list[NewCluster]:
        wanted = select(cluster).where(cluster.c.run_id == run_id, cluster.c.level == level).order_by(cluster.c.number)
        return [NewCluster(row.number, row.size, row.level, row.summary) for row in self._catalogue.all(wanted)]

    def _removed(self, found: Run) -> bool:
        try:
            self._catalogue.execute(delete(run).where(run.c.id == found.id))
        except IntegrityError:  # labels made from it keep it
            return False
        return True

    def _change(self, run_id: int, **values: Any) -> None:
        self.get(run_id)
        self._catalogue.execute(update(run).where(run.c.id == run_id).values(**values))

    def _run(self, row: Row) -> Run:
        return Run(row.name, row.model, row.features, row.parameters, row.provenance, row.summary,
                   row.id, self._folder / row.folder, row.current, row.created_at, row.deleted_at is not None)


def _cluster_row(run_id: int, found: NewCluster) -> dict[str, Any]:
    return {"run_id": run_id, "number": found.number, "size": found.size, "level": found.level,
            "summary": dict(found.summary or {})}
