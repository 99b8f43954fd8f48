"""One image after the other through several descriptors: the part of the work that goes to threads or to a cluster."""

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from engine.features import Descriptor, Segments, WaterModel, pack_mask
from engine.imaging import decode, read_bytes, readable
from engine.problems import BenthoscopeError, Problem, fail
from engine.workspace import Workspace


@dataclass(frozen=True)
class Picture:
    """An image in the catalogue, and the feature sets that lack it."""

    id: int
    path: Path
    group: int
    altitude: float        # m, NaN where unknown
    lacked_by: tuple[str, ...] = ()


@dataclass(frozen=True)
class Plan:
    """What is to be done with each image."""

    descriptors: Mapping[str, Descriptor]                        # by feature set
    waters: Mapping[int, WaterModel] = field(default_factory=dict)  # by group; others are taken as they are


@dataclass(frozen=True)
class Described:
    """What one feature set gets of some images, in their order."""

    ids: np.ndarray      # (n,)
    counts: np.ndarray   # (n,) rows of each
    rows: np.ndarray     # (counts.sum(), D) float32
    masks: tuple[bytes, ...] = ()  # of each image, for segments
    problems: Mapping[int, Problem] = field(default_factory=dict)  # of images that could not be described


@dataclass(frozen=True)
class Answer:
    """What became of one image: rows and mask for each feature set, or a problem."""

    id: int
    rows: Mapping[str, np.ndarray] = field(default_factory=dict)
    masks: Mapping[str, bytes] = field(default_factory=dict)
    problem: Problem | None = None


def catalogued(workspace: Workspace, collection: str | None = None) -> list[Picture]:
    """All images, or those of one collection, by id."""
    within = workspace.library.collection_named(collection).id if collection else None
    columns = workspace.library.columns("id", "group_id", "root_id", "path", "altitude", collection_id=within)
    if not len(columns["id"]):
        raise fail("images", "there are none", "import some first with `benthoscope import FOLDER`")
    roots = {root.id: Path(root.path) for root in workspace.library.roots()}
    return [Picture(int(number), roots[root] / path, int(group), float(altitude))
            for number, group, root, path, altitude in zip(*columns.values(), strict=True)]


def describe_chunk(chunk: Sequence[Picture], plan: Plan) -> list[Answer]:
    """Reads each file once and decodes it once for each size the descriptors look at."""
    return [_described(picture, plan) for picture in chunk]


def _described(picture: Picture, plan: Plan) -> Answer:
    try:
        found = {name: plan.descriptors[name].describe(image) for name, image in _seen(picture, plan)}
        return Answer(picture.id, {name: _finite(vectors, picture) for name, vectors in found.items()},
                      {name: pack_mask(out.mask) for name, out in found.items() if isinstance(out, Segments)})
    except BenthoscopeError as error:
        return Answer(picture.id, problem=error.problem)


def _seen(picture: Picture, plan: Plan) -> Iterator[tuple[str, np.ndarray]]:
    data = read_bytes(picture.path)
    sizes: dict[int | None, np.ndarray] = {}
    for name in picture.lacked_by:
        longest = plan.descriptors[name].longest
        if longest not in sizes:
            sizes[longest] = clear(decode(data, where=readable(picture.path), longest=longest), picture, plan.waters)
        yield name, sizes[longest]


def clear(image: np.ndarray, picture: Picture, waters: Mapping[int, WaterModel]) -> np.ndarray:
    """The image without the water before it, where the water of its group is known."""
    model = waters.get(picture.group)
    return model.correct(image, picture.altitude) if model else image


def _finite(described: np.ndarray | Segments, picture: Picture) -> np.ndarray:
    rows = described.vectors if isinstance(described, Segments) else described[None]
    if not np.isfinite(rows).all():
        raise fail(readable(picture.path), "its description holds numbers that are not finite", "leave it out")
    return rows


def collected(answers: Sequence[Answer], name: str, lacking: Container[int]) -> Described:
    """What the feature set of this name, which lacks the images `lacking`, gets of the answers."""
    own = [answer for answer in answers if name in answer.rows]
    problems = {answer.id: answer.problem for answer in answers if answer.problem and answer.id in lacking}
    rows = [answer.rows[name] for answer in own]
    return Described(
        np.array([answer.id for answer in own], dtype=np.int64), np.array([len(r) for r in rows], dtype=np.int64),
        np.concatenate(rows).astype(np.float32) if rows else np.empty((0, 0), dtype=np.float32),
        tuple(answer.masks[name] for answer in own if name in answer.masks), problems,
    )


def in_order(parts: Sequence[Described]) -> Described:
    """All parts as one, by image id."""
    ids, counts, rows = (np.concatenate([getattr(part, name) for part in parts]) for name in ("ids", "counts", "rows"))
    masks = tuple(mask for part in parts for mask in part.masks)
    return picked(Described(ids, counts, rows, masks), np.argsort(ids, kind="stable"))


def only(part: Described, wanted: Callable[[int], bool]) -> Described:
    """The part without the images that are not wanted."""
    kept = [place for place, image in enumerate(part.ids.tolist()) if wanted(image)]
    return part if len(kept) == len(part.ids) else picked(part, np.array(kept, dtype=np.int64))


def picked(part: Described, places: np.ndarray) -> Described:
    """The images at these places, in this order."""
    first = np.cumsum(part.counts) - part.counts
    rows = [np.arange(first[place], first[place] + part.counts[place]) for place in places]
    taken = np.concatenate(rows) if rows else np.empty(0, dtype=np.int64)
    masks = tuple(part.masks[place] for place in places) if part.masks else ()
    return Described(part.ids[places], part.counts[places], part.rows[taken], masks)
