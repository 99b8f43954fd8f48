"""Collections, their groups and the images in them."""

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import Connection, Row, Table, delete, func, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite

from engine.problems import Problem, fail, unknown
from engine.workspace.catalogue import Catalogue
from engine.workspace.records import (
    KINDS,
    Collection,
    Group,
    GroupSummary,
    Image,
    KnownFile,
    NewImage,
    Root,
    now,
)
from engine.workspace.schema import collection, image, image_group, import_problem, root

AT_ONCE = 2_000  # ids in one question: databases limit the number of parameters
NUMBERS = ("id", "group_id", "root_id", "size", "width", "height")
MEASURES = ("taken_at", "latitude", "longitude", "depth", "altitude")


class Library:
    def __init__(self, catalogue: Catalogue, folder: Path):
        self._catalogue, self._folder = catalogue, folder

    # --- roots

    def register_root(self, path: str | os.PathLike) -> Root:
        """The root at this folder, made where it is new."""
        place = Path(path).resolve()
        if not place.is_dir():
            raise fail(str(place), "no such folder", "give the folder that holds the images")
        key = {"path": str(place)}
        new = key | {"beside": _beside(place, self._folder)}
        number = self._catalogue.write(lambda connection: _found_or_made(connection, root, key, new))
        return Root(number, str(place), True)

    def roots(self) -> list[Root]:
        return [self._located(row) for row in self._catalogue.all(select(root).order_by(root.c.id))]

    def move_root(self, root_id: int, path: Path, renamed: Mapping[int, str]) -> None:
        """From now on the root lies at `path`, and the images `renamed` (id: relative path) elsewhere in it."""
        place = path.resolve()

        def move(connection: Connection) -> None:
            values = {"path": str(place), "beside": _beside(place, self._folder)}
            connection.execute(update(root).where(root.c.id == root_id).values(values))
            # Through a name nobody else has, because two images may have changed places.
            for final in (False, True):
                for number, name in renamed.items():
                    new = name if final else f"\n{number}"
                    connection.execute(update(image).where(image.c.id == number).values(path=new))

        self._catalogue.write(move)

    def _located(self, row: Row) -> Root:
        """Where it was last seen or, when it moved together with the workspace, where it now is beside it."""
        beside = self._folder / row.beside if row.beside else None
        for place in (Path(row.path), beside):
            if place and place.is_dir():
                return Root(row.id, os.path.normpath(place), True)
        return Root(row.id, row.path, False)

    # --- collections and groups

    def collection(self, name: str, kind: str = "campaign", details: Mapping[str, Any] | None = None) -> Collection:
        """The collection of this name, made where it is new."""
        if kind not in KINDS:
            raise unknown("kind of collection", kind, KINDS)
        if not name.strip():
            raise fail("collection", "has no name", "give it one")
        new = {"name": name, "kind": kind, "details": dict(details or {}), "created_at": now()}
        self._catalogue.write(lambda connection: _found_or_made(connection, collection, {"name": name}, new))
        return self.collection_named(name)

    def collection_named(self, name: str) -> Collection:
        for found in self.collections():
            if found.name == name:
                return found
        raise unknown("collection", name, [found.name for found in self.collections()])

    def collections(self) -> list[Collection]:
        found = self._catalogue.all(select(collection).order_by(collection.c.name))
        return [Collection(row.id, row.name, row.kind, row.details) for row in found]

    def group(self, collection_id: int, name: str, details: Mapping[str, Any] | None = None) -> Group:
        """The group of this name in the collection, made where it is new; new details join the old ones."""
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
        wanted = select(image_group).order_by(image_group.c.collection_id, image_group.c.name)
        if collection_id is not None:
            wanted = wanted.where(image_group.c.collection_id == collection_id)
        return [Group(row.id, row.collection_id, row.name, row.details) for row in self._catalogue.all(wanted)]

    def summaries(self) -> list[GroupSummary]:
        """Every group with its count, dates, depths and area, in the order of `groups`."""
        figures = [func.count(), *(f(image.c[name]) for name in MEASURES[:4] for f in (func.min, func.max))]
        told = self._catalogue.all(select(image.c.group_id, *figures).group_by(image.c.group_id))
        found = {row[0]: row[1:] for row in told}
        return [_summary(group, found.get(group.id, (0, *[None] * 8))) for group in self.groups()]

    def remove_collection(self, name: str) -> int:
        """Forgets a collection and what the catalogue knows of its images; the files stay. Gives their number."""
        found = self.collection_named(name)
        count = len(self.columns("id", collection_id=found.id)["id"])
        self._catalogue.execute(delete(collection).where(collection.c.id == found.id))
        return count

    # --- images

    def store_images(self, images: Sequence[NewImage]) -> list[int]:
        """Stores or replaces by root and path; the ids in the same order, once committed."""
        if not images:
            return []
        upsert = _upsert(self._catalogue.dialect)
        return self._catalogue.write(lambda connection: _stored(connection, upsert, images), durable=False)

    def images(self, ids: Iterable[int]) -> list[Image]:
        """The images of these ids in this order; ids unknown to the catalogue are left out."""
        wanted = [int(number) for number in ids]
        with self._catalogue.reading() as connection:
            found = {row.id: _image(row) for part in _parts(wanted)
                     for row in connection.execute(select(image).where(image.c.id.in_(part)))}
        return [found[number] for number in wanted if number in found]

    def columns(
        self, *names: str, collection_id: int | None = None, group_id: int | None = None
    ) -> dict[str, np.ndarray]:
        """Columns of all images as arrays, by id; measures are float64 with NaN where unknown."""
        wanted = select(*(image.c[name] for name in names)).order_by(image.c.id)
        if group_id is not None:
            wanted = wanted.where(image.c.group_id == group_id)
        if collection_id is not None:
            wanted = wanted.join(image_group).where(image_group.c.collection_id == collection_id)
        rows = self._catalogue.all(wanted)
        return {name: _column(name, [row[at] for row in rows]) for at, name in enumerate(names)}

    def count_images(self) -> int:
        return self._catalogue.first(select(func.count()).select_from(image))[0]

    def known_files(self, root_id: int) -> dict[str, KnownFile]:
        """What is known of a root's files, by relative path."""
        columns = (image.c.path, image.c.id, image.c.size, image.c.mtime_ns, image.c.sha256)
        found = self._catalogue.all(select(*columns).where(image.c.root_id == root_id))
        return {row.path: KnownFile(row.id, row.size, row.mtime_ns, row.sha256) for row in found}

    def locate(self, ids: Iterable[int]) -> dict[int, Path]:
        """Where the files of these images should be now."""
        places = {place.id: Path(place.path) for place in self.roots()}
        return {found.id: places[found.root_id] / found.path for found in self.images(ids)}

    def forget_images(self, ids: Iterable[int]) -> None:
        """Takes images out of the catalogue; the files stay."""
        wanted = [int(number) for number in ids]

        def forget(connection: Connection) -> None:
            for part in _parts(wanted):
                connection.execute(delete(image).where(image.c.id.in_(part)))

        self._catalogue.write(forget)

    def with_content(self, sha256: str) -> list[Image]:
        """The images of this content, oldest first."""
        return [_image(row) for row in self._catalogue.all(
            select(image).where(image.c.sha256 == sha256).order_by(image.c.id))]

    def named_like(self, text: str, limit: int) -> list[Image]:
        """Images whose path holds the text, whatever its case; at most `limit`, by number."""
        wanted = select(image).where(image.c.path.icontains(text, autoescape=True)).order_by(image.c.id).limit(limit)
        return [_image(row) for row in self._catalogue.all(wanted)]

    def duplicates(self) -> list[list[Image]]:
        """Groups of images with the same content, oldest first within each."""
        twice = select(image.c.sha256).group_by(image.c.sha256).having(func.count() > 1)
        rows = self._catalogue.all(select(image).where(image.c.sha256.in_(twice)).order_by(image.c.id))
        by_content: dict[str, list[Image]] = defaultdict(list)
        for row in rows:
            by_content[row.sha256].append(_image(row))
        return list(by_content.values())

    # --- what an import could not use

    def note_problems(self, source: str, problems: Sequence[Problem]) -> None:
        """From now on these, and no others, are the problems of this source."""
        rows = [{"source": source, "place": _storable(found.where), "what": _storable(found.what),
                 "remedy": _storable(found.remedy), "noted_at": now()} for found in problems]

        def replace(connection: Connection) -> None:
            connection.execute(delete(import_problem).where(import_problem.c.source == source))
            if rows:
                connection.execute(insert(import_problem), rows)

        self._catalogue.write(replace)

    def problems(self, source: str | None = None) -> list[Problem]:
        wanted = select(import_problem).order_by(import_problem.c.id)
        if source is not None:
            wanted = wanted.where(import_problem.c.source == source)
        return [Problem(row.place, row.what, row.remedy) for row in self._catalogue.all(wanted)]


def _found_or_made(connection: Connection, table: Table, key: Mapping[str, Any], new: Mapping[str, Any]) -> int:
    """The id of the row with this key; made from `new` where there is none."""
    found = connection.execute(select(table.c.id).filter_by(**key)).scalar()
    return found if found is not None else connection.execute(insert(table).values(**new)).inserted_primary_key[0]


def _upsert(dialect: str):
    """One statement for all rows: the stored columns of a file already known are replaced."""
    new = {"sqlite": sqlite, "postgresql": postgresql}[dialect].insert(image)
    key = ("root_id", "path")
    changed = {name: new.excluded[name] for name in image.c.keys() if name not in ("id", *key)}  # noqa: SIM118
    return new.on_conflict_do_update(index_elements=key, set_=changed)


def _stored(connection: Connection, upsert: Any, images: Sequence[NewImage]) -> list[int]:
    connection.execute(upsert, [asdict(found) for found in images])
    ids: dict[tuple[int, str], int] = {}
    for part in _parts(images):
        by_root = defaultdict(list)
        for found in part:
            by_root[found.root_id].append(found.path)
        for number, paths in by_root.items():
            wanted = select(image.c.path, image.c.id).where(image.c.root_id == number, image.c.path.in_(paths))
            ids |= {(number, row.path): row.id for row in connection.execute(wanted)}
    return [ids[found.root_id, found.path] for found in images]


def _image(row: Row) -> Image:
    return Image(**row._mapping)


def _summary(group: Group, figures: Sequence[Any]) -> GroupSummary:
    count, first, last, south, north, west, east, shallow, deep = figures
    depth = None if shallow is None else (shallow, deep)
    bounds = None if south is None or west is None else (south, west, north, east)
    return GroupSummary(group, count, first, last, depth, bounds)


def _column(name: str, values: list) -> np.ndarray:
    if name in MEASURES:
        return np.array(values, dtype=np.float64)  # None becomes NaN
    return np.array(values, dtype=np.int64 if name in NUMBERS else object)


def _parts(items: Sequence) -> Iterator[Sequence]:
    return (items[at : at + AT_ONCE] for at in range(0, len(items), AT_ONCE))


def _beside(place: Path, folder: Path) -> str | None:
    try:
        return os.path.relpath(place, folder.resolve())
    except ValueError:  # another drive
        return None


def _storable(told: str) -> str:
    """File names may hold bytes that are no text; databases take none of those, nor NUL."""
    return told.encode("utf-8", "backslashreplace").decode().replace("\0", "\\0")
