"""Live dives: which folder is watched, the images in the order they arrived, rounds of learning, and cluster edits.

live/3/learner.npz     the memory of the learner after its last round, see engine.jobs.live.learner
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import Connection, Row, bindparam, func, insert, select, update

from benthoscope.engine.problems import fail
from benthoscope.engine.workspace.database.catalogue import Catalogue
from benthoscope.engine.workspace.database.schema import live_dive, live_edit, live_image, live_round
from benthoscope.engine.workspace.records import current_time, inserted_id

WATCHING, FINISHED = "watching", "finished"  # states
LEARN, FINISH = "learn", "finish"  # requests
NO_CLUSTER = -1
COLUMNS = ("id", "image_id", "cluster", "percentile", "novel", "learned_in", "arrived_at", "seconds")


@dataclass(frozen=True)
class LiveDive:
    """A dive whose images are taken in as they are written. `requests` are what people asked the watch to do."""

    id: int
    name: str
    folder: str
    group_id: int
    root_id: int
    state: str
    settings: Mapping[str, Any]
    descriptor: Mapping[str, Any]
    requests: Mapping[str, Any]
    notice: str
    run_id: int | None
    created_at: float
    finished_at: float | None

    @property
    def is_watching(self) -> bool:
        return self.state == WATCHING


def problem_source(dive: LiveDive) -> str:
    """Return the name under which problems of this dive are listed in the library."""
    return f"live dive {dive.id}"


@dataclass(frozen=True)
class NewLiveImage:
    """An image that was taken in. Without `vector` it could not be described, for the reason `problem`."""

    image_id: int
    arrived_at: float
    seconds: float
    vector: np.ndarray | None = None
    outside: float | None = None  # squared distance of the description from the features
    problem: str | None = None
    cluster: int | None = None
    probability: float | None = None
    percentile: float | None = None
    new_cluster: float | None = None
    novel: bool = False
    round: int | None = None

    def values(self) -> dict[str, Any]:
        vector = None if self.vector is None else np.asarray(self.vector, "<f4").tobytes()
        return {**asdict(self), "vector": vector}


@dataclass(frozen=True)
class StoredVector:
    """An image of a live dive with its features; None if they are in the feature set. `outside` is None if the image
    was not described on arrival."""

    id: int
    image_id: int
    vector: np.ndarray | None
    outside: float | None


@dataclass(frozen=True)
class LiveRound:
    """The result of a round. `clusters` has the expected number of images of each cluster."""

    number: int
    images: int
    clusters: Mapping[int, float]
    events: Sequence[tuple[str, int, int | None]]
    memory: Mapping[str, int]
    budget_binds: bool
    score: float | None
    seconds: float
    at: float


@dataclass(frozen=True)
class LiveEdit:
    """A name, a merge or a split of clusters by a person, or the undo of one."""

    id: int
    kind: str
    rule: Mapping[str, Any]
    person_id: int
    at: float
    undoes: int | None = field(default=None)


class LiveDiveStore:
    def __init__(self, catalogue: Catalogue, folder: Path):
        self._catalogue, self._folder = catalogue, folder / "live"

    # --- dives

    def create(self, name: str, folder: str, group_id: int, root_id: int, settings: Mapping[str, Any]) -> LiveDive:
        values = {
            "name": name,
            "folder": folder,
            "group_id": group_id,
            "root_id": root_id,
            "state": WATCHING,
            "settings": dict(settings),
            "descriptor": {},
            "requests": {},
            "notice": "",
            "created_at": current_time(),
        }
        number = self._catalogue.write(
            lambda connection: inserted_id(connection.execute(insert(live_dive).values(**values)))
        )
        return self.get(number)

    def get(self, dive_id: int) -> LiveDive:
        row = self._catalogue.first(select(live_dive).where(live_dive.c.id == dive_id))
        if row is None:
            raise fail("live dive", f"there is no live dive {dive_id}", "list them with `benthoscope watch --list`")
        return LiveDive(**row._mapping)

    def all(self) -> list[LiveDive]:
        """Return all dives, the newest first."""
        rows = self._catalogue.all(select(live_dive).order_by(live_dive.c.id.desc()))
        return [LiveDive(**row._mapping) for row in rows]

    def note(self, dive_id: int, **values: Any) -> None:
        self._catalogue.execute(update(live_dive).where(live_dive.c.id == dive_id).values(**values))

    def ask(self, dive_id: int, request: str) -> None:
        """Store a request of a person: "learn" or "finish"."""
        self._change_requests(dive_id, {request: current_time()}, ())

    def answered(self, dive_id: int, request: str) -> None:
        """Remove a request that was carried out."""
        self._change_requests(dive_id, {}, (request,))

    def _change_requests(self, dive_id: int, new: Mapping[str, float], done: Iterable[str]) -> None:
        def change(connection: Connection) -> None:
            of_dive = live_dive.c.id == dive_id
            old = connection.execute(select(live_dive.c.requests).where(of_dive)).scalar() or {}
            requests = {name: at for name, at in {**old, **new}.items() if name not in done}
            connection.execute(update(live_dive).where(of_dive).values(requests=requests))

        self._catalogue.write(change)

    def working_folder(self, dive_id: int) -> Path:
        """Return the folder of the learner; created if it does not exist."""
        folder = self._folder / str(dive_id)
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    # --- images

    def add_images(self, dive_id: int, images: Sequence[NewLiveImage]) -> None:
        """Store images. Returns after the commit: from then on they survive a crash."""
        rows = [{**image.values(), "live_dive_id": dive_id} for image in images]
        if rows:
            self._catalogue.write(lambda connection: connection.execute(insert(live_image), rows))

    def image_ids(self, dive_id: int) -> set[int]:
        rows = self._catalogue.all(select(live_image.c.image_id).where(live_image.c.live_dive_id == dive_id))
        return {row.image_id for row in rows}

    def count(self, dive_id: int) -> int:
        return int(
            self._catalogue.value(
                select(func.count()).select_from(live_image).where(live_image.c.live_dive_id == dive_id)
            )
        )

    def count_waiting(self, dive_id: int) -> int:
        """Return the number of images that no round has learned."""
        return int(self._catalogue.value(select(func.count()).select_from(live_image).where(*_waiting(dive_id))))

    def waiting(self, dive_id: int, limit: int) -> list[StoredVector]:
        """Return the oldest images that no round has learned."""
        return self._vectors(select(*VECTOR).where(*_waiting(dive_id)).order_by(live_image.c.id).limit(limit))

    def learned_in(self, dive_id: int, number: int) -> list[StoredVector]:
        """Return the images that a round learned, in the order they were learned."""
        learned = (live_image.c.live_dive_id == dive_id) & (live_image.c.learned_in == number)
        return self._vectors(select(*VECTOR).where(learned).order_by(live_image.c.id))

    def last_learned(self, dive_id: int, limit: int, after: int) -> list[StoredVector]:
        """Return the newest images that rounds after the round `after` learned and that were described on arrival, the
        oldest first."""
        known = (live_image.c.learned_in > after) & live_image.c.outside.is_not(None)
        query = select(*VECTOR).where(live_image.c.live_dive_id == dive_id, known)
        newest = live_image.c.learned_in.desc(), live_image.c.id.desc()  # the order of an index: no more rows are read
        return self._vectors(query.order_by(*newest).limit(limit))[::-1]

    def _vectors(self, query: Any) -> list[StoredVector]:
        return [
            StoredVector(
                row.id, row.image_id, None if row.vector is None else np.frombuffer(row.vector, "<f4"), row.outside
            )
            for row in self._catalogue.all(query)
        ]

    def columns(self, dive_id: int, after: int = 0) -> dict[str, np.ndarray]:
        """Return columns of the images after a row id, in the order of arrival. Unknown numbers are -1 or NaN."""
        query = (
            select(*(live_image.c[name] for name in COLUMNS))
            .where(live_image.c.live_dive_id == dive_id, live_image.c.id > after)
            .order_by(live_image.c.id)
        )
        rows = self._catalogue.all(query)
        integers = {"id", "image_id", "cluster", "learned_in"}

        def column(at: int, name: str) -> np.ndarray:
            if name == "novel":
                return np.array([bool(row[at]) for row in rows], bool)
            empty = NO_CLUSTER if name in integers else np.nan
            values = [empty if row[at] is None else row[at] for row in rows]
            return np.array(values, np.int64 if name in integers else np.float64)

        return {name: column(at, name) for at, name in enumerate(COLUMNS)}

    def scores(self, dive_id: int, image_ids: Iterable[int]) -> dict[int, dict[str, Any]]:
        """Return the scores, the time of arrival and the problem of some images, by image id."""
        query = select(live_image).where(
            live_image.c.live_dive_id == dive_id, live_image.c.image_id.in_(list(image_ids))
        )
        names = ("cluster", "probability", "percentile", "new_cluster", "novel", "round", "problem", "arrived_at")
        return {row.image_id: {name: row._mapping[name] for name in names} for row in self._catalogue.all(query)}

    def problems(self, dive_id: int, limit: int) -> list[tuple[int, str]]:
        """Return (image id, problem) of images that could not be described, the newest first."""
        query = (
            select(live_image.c.image_id, live_image.c.problem)
            .where(live_image.c.live_dive_id == dive_id, live_image.c.problem.is_not(None))
            .order_by(live_image.c.id.desc())
            .limit(limit)
        )
        return [(row.image_id, row.problem) for row in self._catalogue.all(query)]

    def pending_vectors(self, dive_id: int) -> dict[int, np.ndarray]:
        """Return the features by image id that are not yet in the feature set."""
        query = select(*VECTOR).where(live_image.c.live_dive_id == dive_id, live_image.c.vector.is_not(None))
        return {stored.image_id: stored.vector for stored in self._vectors(query) if stored.vector is not None}

    def note_problem(self, row: int, problem: str) -> None:
        """Note why an image cannot be described; it is not learned."""
        self._catalogue.execute(update(live_image).where(live_image.c.id == row).values(problem=problem))

    def drop_vectors(self, ids: Sequence[int]) -> None:
        """Delete the features of these rows, which are in the feature set now."""
        statement = update(live_image).where(live_image.c.id == bindparam("row")).values(vector=None)
        if ids:
            self._catalogue.write(lambda connection: connection.execute(statement, [{"row": row} for row in ids]))

    # --- rounds

    def add_round(
        self, dive_id: int, result: LiveRound, ids: Sequence[int], first: Sequence[Mapping[str, Any]]
    ) -> None:
        """Store a round in one transaction: its result, the rows `ids` that it learned, and for images that had no
        cluster yet their `first` one: {row, cluster, probability}."""
        values = {
            **asdict(result),
            "live_dive_id": dive_id,
            "clusters": {str(number): size for number, size in result.clusters.items()},
            "events": [list(event) for event in result.events],
            "memory": dict(result.memory),
        }
        learned = update(live_image).where(live_image.c.id == bindparam("row")).values(learned_in=result.number)
        assigned = (
            update(live_image)
            .where(live_image.c.id == bindparam("row"))
            .values(cluster=bindparam("to"), probability=bindparam("share"), round=result.number)
        )

        def store(connection: Connection) -> None:
            connection.execute(insert(live_round).values(**values))
            connection.execute(learned, [{"row": row} for row in ids])
            if first:
                connection.execute(assigned, list(first))

        self._catalogue.write(store)

    def without_cluster(self, dive_id: int) -> list[StoredVector]:
        """Return the images with features and without a cluster: those that arrived before the first round."""
        unassigned = live_image.c.cluster.is_(None) & live_image.c.problem.is_(None)
        query = select(*VECTOR).where(live_image.c.live_dive_id == dive_id, unassigned).order_by(live_image.c.id)
        return self._vectors(query)

    def rounds(self, dive_id: int, after: int = 0) -> list[LiveRound]:
        query = (
            select(live_round)
            .where(live_round.c.live_dive_id == dive_id, live_round.c.number > after)
            .order_by(live_round.c.number)
        )
        return [_round(row) for row in self._catalogue.all(query)]

    def last_round(self, dive_id: int) -> LiveRound | None:
        query = select(live_round).where(live_round.c.live_dive_id == dive_id).order_by(live_round.c.number.desc())
        row = self._catalogue.first(query.limit(1))
        return None if row is None else _round(row)

    # --- edits

    def add_edit(
        self, dive_id: int, person_id: int, kind: str, rule: Mapping[str, Any], undoes: int | None = None
    ) -> int:
        values = {
            "live_dive_id": dive_id,
            "person_id": person_id,
            "kind": kind,
            "rule": dict(rule),
            "undoes": undoes,
            "at": current_time(),
        }
        return self._catalogue.write(
            lambda connection: inserted_id(connection.execute(insert(live_edit).values(**values)))
        )

    def edits(self, dive_id: int) -> list[LiveEdit]:
        """Return all edits, oldest first, with undone ones and undos."""
        query = select(live_edit).where(live_edit.c.live_dive_id == dive_id).order_by(live_edit.c.id)
        return [
            LiveEdit(row.id, row.kind, row.rule, row.person_id, row.at, row.undoes)
            for row in self._catalogue.all(query)
        ]


VECTOR = (live_image.c.id, live_image.c.image_id, live_image.c.vector, live_image.c.outside)


def _waiting(dive_id: int) -> tuple[Any, ...]:
    return (
        live_image.c.live_dive_id == dive_id,
        live_image.c.learned_in.is_(None),
        live_image.c.problem.is_(None),
    )


def _round(row: Row) -> LiveRound:
    return LiveRound(
        row.number,
        row.images,
        {int(number): size for number, size in row.clusters.items()},
        tuple((kind, cluster, other) for kind, cluster, other in row.events),
        row.memory,
        row.budget_binds,
        row.score,
        row.seconds,
        row.at,
    )
