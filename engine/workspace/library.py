"""Collections, their groups and images, and the people who label."""

import math
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import (
    ColumnElement,
    Connection,
    Float,
    Row,
    Select,
    Table,
    case,
    cast,
    delete,
    func,
    insert,
    literal,
    select,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite

from benthoscope.engine.problems import Problem, fail, unknown
from benthoscope.engine.workspace.database.catalogue import Catalogue
from benthoscope.engine.workspace.database.plain_values import storable_text
from benthoscope.engine.workspace.database.schema import collection, image, image_group, import_problem, person, root
from benthoscope.engine.workspace.records import (
    KINDS,
    MEASURES,
    Collection,
    Group,
    GroupSummary,
    Image,
    KnownFile,
    NewImage,
    Root,
    current_time,
    inserted_id,
)

AT_ONCE = 2_000  # ids in one query, because databases limit the number of parameters
NUMBERS = ("id", "group_id", "root_id", "size", "width", "height")
FLOATS = (*MEASURES, "changed_at")  # columns that are NaN where unknown


class Library:
    def __init__(self, catalogue: Catalogue, folder: Path):
        self._catalogue, self._folder = catalogue, folder

    # --- roots

    def register_root(self, path: str | os.PathLike) -> Root:
        """Return the root at this folder. A new folder is registered."""
        folder = Path(path).resolve()
        if not folder.is_dir():
            raise fail(str(folder), "no such folder", "give the folder with the images")
        key = {"path": str(folder)}
        new = key | {"beside": _beside(folder, self._folder)}
        number = self._catalogue.write(lambda connection: _found_or_made(connection, root, key, new))
        return Root(number, str(folder), True)

    def roots(self) -> list[Root]:
        return [self._located(row) for row in self._catalogue.all(select(root).order_by(root.c.id))]

    def move_root(self, root_id: int, path: Path, renamed: Mapping[int, str]) -> None:
        """Move a root to `path`, and the images `renamed` (id: relative path) to other paths in it."""
        folder = path.resolve()

        def move(connection: Connection) -> None:
            values = {"path": str(folder), "beside": _beside(folder, self._folder)}
            connection.execute(update(root).where(root.c.id == root_id).values(values))
            # First to temporary names, because two images may have exchanged their paths.
            for final in (False, True):
                for number, name in renamed.items():
                    new = name if final else f"\n{number}"
                    connection.execute(update(image).where(image.c.id == number).values(path=new))

        self._catalogue.write(move)

    def _located(self, row: Row) -> Root:
        """Return the root at its last known path or, if it moved together with the workspace, at its new path beside
        it."""
        beside = self._folder / row.beside if row.beside else None
        for folder in (Path(row.path), beside):
            if folder and folder.is_dir():
                return Root(row.id, os.path.normpath(folder), True)
        return Root(row.id, row.path, False)

    # --- collections and groups

    def collection(self, name: str, kind: str = "campaign", details: Mapping[str, Any] | None = None) -> Collection:
        """Return the collection with this name. A new name creates it."""
        if kind not in KINDS:
            raise unknown("kind of collection", kind, KINDS)
        if not name.strip():
            raise fail("collection", "has no name", "give it a name")
        new = {"name": name, "kind": kind, "details": dict(details or {}), "created_at": current_time()}
        self._catalogue.write(lambda connection: _found_or_made(connection, collection, {"name": name}, new))
        return self.collection_named(name)

    def collection_named(self, name: str) -> Collection:
        for candidate in self.collections():
            if candidate.name == name:
                return candidate
        raise unknown("collection", name, [known.name for known in self.collections()])

    def collections(self) -> list[Collection]:
        rows = self._catalogue.all(select(collection).order_by(collection.c.name))
        return [Collection(row.id, row.name, row.kind, row.details) for row in rows]

    def group(self, collection_id: int, name: str, details: Mapping[str, Any] | None = None) -> Group:
        """Return the group with this name in the collection. A new name creates it; new details are added to existing
        ones."""
        key = {"collection_id": collection_id, "name": name}

        def make(connection: Connection) -> Group:
            number = _found_or_made(connection, image_group, key, key | {"details": {}})
            old = connection.execute(select(image_group.c.details).where(image_group.c.id == number)).scalar_one()
            merged = {**old, **(details or {})}
            if merged != old:
                connection.execute(update(image_group).where(image_group.c.id == number).values(details=merged))
            return Group(number, collection_id, name, merged)

        return self._catalogue.write(make)

    def groups(self, collection_id: int | None = None) -> list[Group]:
        query = select(image_group).order_by(image_group.c.collection_id, image_group.c.name)
        if collection_id is not None:
            query = query.where(image_group.c.collection_id == collection_id)
        return [Group(row.id, row.collection_id, row.name, row.details) for row in self._catalogue.all(query)]

    def summaries(self) -> list[GroupSummary]:
        """Return all groups with their number of images, dates, depths and area, in the order of `groups`."""
        figures = [func.count(), *(f(image.c[name]) for name in MEASURES[:4] for f in (func.min, func.max))]
        rows = self._catalogue.all(select(image.c.group_id, *figures).group_by(image.c.group_id))
        by_group = {row[0]: row[1:] for row in rows}
        return [_summary(group, by_group.get(group.id, (0, *[None] * 8))) for group in self.groups()]

    def remove_collection(self, name: str) -> int:
        """Remove a collection and all data of its images from the catalogue; the files stay. Returns the number of
        images."""
        removed = self.collection_named(name)
        count = len(self.columns("id", collection_id=removed.id)["id"])
        self._catalogue.execute(delete(collection).where(collection.c.id == removed.id))
        return count

    # --- images

    def store_images(self, images: Sequence[NewImage]) -> list[int]:
        """Store images, or replace those with the same root and path. Returns the ids in the same order after the
        commit."""
        if not images:
            return []
        upsert = _upsert(self._catalogue.dialect)
        return self._catalogue.write(lambda connection: _stored(connection, upsert, images), durable=False)

    def images(self, ids: Iterable[int]) -> list[Image]:
        """Return the images with these ids, in this order; unknown ids are left out."""
        image_ids = [int(number) for number in ids]
        with self._catalogue.reading() as connection:
            by_id = {
                row.id: _image(row)
                for batch in _batches(image_ids)
                for row in connection.execute(select(image).where(image.c.id.in_(batch)))
            }
        return [by_id[number] for number in image_ids if number in by_id]

    def positions(self, ids: Iterable[int]) -> tuple[np.ndarray, np.ndarray]:
        """Return the latitudes and longitudes (n,) of the images with these ids, in this order, NaN where unknown."""
        image_ids = [int(number) for number in ids]
        with self._catalogue.reading() as connection:
            known = {
                row.id: (row.latitude, row.longitude)
                for batch in _batches(image_ids)
                for row in connection.execute(
                    select(image.c.id, image.c.latitude, image.c.longitude).where(image.c.id.in_(batch))
                )
            }
        pairs = [known.get(number, (None, None)) for number in image_ids]
        latitude, longitude = np.array(pairs, float).reshape(-1, 2).T
        return latitude, longitude

    def columns(
        self, *names: str, collection_id: int | None = None, group_id: int | None = None
    ) -> dict[str, np.ndarray]:
        """Return columns of all images as arrays, by id. Measurements are float64 with NaN for unknown values."""
        plain = [name for name in names if name != "details"]
        json_names = [name for name in names if name not in plain]

        def of_images(columns: Iterable[Any]) -> Select:
            query = select(*columns).order_by(image.c.id)
            if group_id is not None:
                query = query.where(image.c.group_id == group_id)
            if collection_id is not None:
                query = query.join(image_group).where(image_group.c.collection_id == collection_id)
            return query

        with self._catalogue.reading() as connection:
            arrays = _plain_columns(connection, of_images(map(_without_nulls, plain)), plain) if plain else {}
            rows = connection.execute(of_images(image.c[name] for name in json_names)).all() if json_names else []
        arrays |= {name: np.array([row[at] for row in rows], dtype=object) for at, name in enumerate(json_names)}
        return {name: arrays[name] for name in names}

    def replaced_images(self) -> dict[int, tuple[str, float]]:
        """Return the images whose content was replaced since their first import: (hash, time) by id."""
        columns = (image.c.id, image.c.sha256, image.c.changed_at)
        rows = self._catalogue.all(select(*columns).where(image.c.changed_at.is_not(None)))
        return {row.id: (row.sha256, row.changed_at) for row in rows}

    def count_images(self) -> int:
        return self._catalogue.value(select(func.count()).select_from(image))

    def mean_megapixels(self) -> float:
        """Return the mean size of all images in megapixels; 0 without images."""
        pixels = func.avg(cast(image.c.width, Float) * image.c.height)
        return float(self._catalogue.value(select(pixels)) or 0) / 1e6

    def known_files(self, root_id: int) -> dict[str, KnownFile]:
        """Return the known files of a root, by relative path."""
        columns = (image.c.path, image.c.id, image.c.size, image.c.mtime_ns, image.c.sha256)
        rows = self._catalogue.all(select(*columns).where(image.c.root_id == root_id))
        return {row.path: KnownFile(row.id, row.size, row.mtime_ns, row.sha256) for row in rows}

    def locate(self, ids: Iterable[int]) -> dict[int, Path]:
        """Return the expected paths of these images' files."""
        roots = {root.id: Path(root.path) for root in self.roots()}
        return {image.id: roots[image.root_id] / image.path for image in self.images(ids)}

    def forget_images(self, ids: Iterable[int]) -> None:
        """Remove images from the catalogue; the files stay."""
        image_ids = [int(number) for number in ids]

        def forget(connection: Connection) -> None:
            for batch in _batches(image_ids):
                connection.execute(delete(image).where(image.c.id.in_(batch)))

        self._catalogue.write(forget)

    def with_content(self, sha256: str) -> list[Image]:
        """Return the images with this content, oldest first."""
        return [
            _image(row)
            for row in self._catalogue.all(select(image).where(image.c.sha256 == sha256).order_by(image.c.id))
        ]

    def named_like(self, text: str, limit: int) -> list[Image]:
        """Return images whose path contains the text, ignoring case; at most `limit`, by number."""
        query = select(image).where(image.c.path.icontains(text, autoescape=True)).order_by(image.c.id).limit(limit)
        return [_image(row) for row in self._catalogue.all(query)]

    def duplicates(self) -> list[list[Image]]:
        """Return groups of images with the same content, oldest first within each."""
        twice = select(image.c.sha256).group_by(image.c.sha256).having(func.count() > 1)
        rows = self._catalogue.all(select(image).where(image.c.sha256.in_(twice)).order_by(image.c.id))
        by_content: dict[str, list[Image]] = defaultdict(list)
        for row in rows:
            by_content[row.sha256].append(_image(row))
        return list(by_content.values())

    def count_copies(self) -> int:
        """Return how many images have the same content as an older one. Reads one index, however many there are."""
        contents = func.count(image.c.sha256.distinct())
        return int(self._catalogue.value(select(func.count() - contents).select_from(image)))

    # --- problems of imports

    def note_problems(self, source: str, problems: Sequence[Problem]) -> None:
        """Replace all problems of this source."""
        rows = [
            {
                "source": source,
                "place": storable_text(problem.where),
                "what": storable_text(problem.what),
                "remedy": storable_text(problem.remedy),
                "noted_at": current_time(),
            }
            for problem in problems
        ]

        def replace(connection: Connection) -> None:
            connection.execute(delete(import_problem).where(import_problem.c.source == source))
            if rows:
                connection.execute(insert(import_problem), rows)

        self._catalogue.write(replace)

    def problems(self, source: str | None = None) -> list[Problem]:
        query = select(import_problem).order_by(import_problem.c.id)
        if source is not None:
            query = query.where(import_problem.c.source == source)
        return [Problem(row.place, row.what, row.remedy) for row in self._catalogue.all(query)]


def _found_or_made(connection: Connection, table: Table, key: Mapping[str, Any], new: Mapping[str, Any]) -> int:
    """Return the id of the row with this key. If there is none, insert `new`."""
    existing = connection.execute(select(table.c.id).filter_by(**key)).scalar()
    return existing if existing is not None else inserted_id(connection.execute(insert(table).values(**new)))


def _upsert(dialect: str):
    """Return a statement that inserts rows or replaces the columns of known files. If the content differs, the time is
    recorded."""
    new = {"sqlite": sqlite, "postgresql": postgresql}[dialect].insert(image)
    key = ("root_id", "path")
    changed = {name: new.excluded[name] for name in image.c.keys() if name not in ("id", *key)}  # noqa: SIM118
    is_replaced = image.c.sha256 != new.excluded.sha256
    changed["changed_at"] = case((is_replaced, literal(current_time())), else_=image.c.changed_at)
    return new.on_conflict_do_update(index_elements=key, set_=changed)


def _stored(connection: Connection, upsert: Any, images: Sequence[NewImage]) -> list[int]:
    connection.execute(upsert, [asdict(new_image) for new_image in images])
    ids: dict[tuple[int, str], int] = {}
    for batch in _batches(images):
        by_root = defaultdict(list)
        for new_image in batch:
            by_root[new_image.root_id].append(new_image.path)
        for number, paths in by_root.items():
            query = select(image.c.path, image.c.id).where(image.c.root_id == number, image.c.path.in_(paths))
            ids |= {(number, row.path): row.id for row in connection.execute(query)}
    return [ids[new_image.root_id, new_image.path] for new_image in images]


def _image(row: Row) -> Image:
    return Image(**row._mapping)


def _summary(group: Group, figures: Sequence[Any]) -> GroupSummary:
    count, first, last, south, north, west, east, shallow, deep = figures
    depth = None if shallow is None else (shallow, deep)
    bounds = None if south is None or west is None else (south, west, north, east)
    return GroupSummary(group, count, first, last, depth, bounds)


def _without_nulls(name: str) -> ColumnElement:
    """Return the column with infinity for unknown measurements, because numpy cannot read None as a number."""
    return func.coalesce(image.c[name], math.inf) if name in FLOATS else image.c[name]


def _plain_columns(connection: Connection, query: Select, names: Sequence[str]) -> dict[str, np.ndarray]:
    """Read numbers and texts straight from the driver: rows of SQLAlchemy take two to three times as long."""
    kinds: dict[str, Any] = dict.fromkeys(NUMBERS, np.int64) | dict.fromkeys(FLOATS, np.float64)
    fields = np.dtype([(name, kinds.get(name, object)) for name in names])
    result = connection.execute(query)
    table = np.fromiter(iter(result.cursor.fetchone, None), fields)
    result.close()
    arrays = {name: table[name].copy() for name in names}
    for name in names:
        if name in FLOATS:
            arrays[name][np.isinf(arrays[name])] = np.nan
    return arrays


def _batches(items: Sequence) -> Iterator[Sequence]:
    return (items[at : at + AT_ONCE] for at in range(0, len(items), AT_ONCE))


def _beside(path: Path, folder: Path) -> str | None:
    try:
        return os.path.relpath(path, folder.resolve())
    except ValueError:  # another drive
        return None


@dataclass(frozen=True)
class Person:
    id: int
    name: str


class People:
    def __init__(self, catalogue: Catalogue):
        self._catalogue = catalogue

    def named(self, name: str) -> Person:
        """Return the person with this name. A new name creates a person; no password is used."""
        name = " ".join(name.split())
        if not name:
            raise fail("person", "has no name", "enter a name")

        query = select(person.c.id).where(person.c.name == name)
        known = self._catalogue.first(query)
        if known is not None:
            return Person(known.id, name)

        def find_or_make(connection: Connection) -> int:  # another process may have added the name by now
            new = insert(person).values(name=name, created_at=current_time())
            return connection.execute(query).scalar() or inserted_id(connection.execute(new))

        return Person(self._catalogue.write(find_or_make), name)

    def all(self) -> list[Person]:
        return [Person(row.id, row.name) for row in self._catalogue.all(select(person).order_by(person.c.name))]
