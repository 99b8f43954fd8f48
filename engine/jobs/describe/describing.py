"""Apply several descriptors to images one by one. This part of the work runs on threads or on a cluster."""

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from benthoscope.engine.features import Segments, WaterModel, pack_mask
from benthoscope.engine.features.descriptor import Describing, all_columns
from benthoscope.engine.imaging import decode, read_bytes, readable
from benthoscope.engine.problems import BenthoscopeError, Problem, fail
from benthoscope.engine.value_checks import unusable_values
from benthoscope.engine.workspace import Workspace


@dataclass(frozen=True)
class ImageToDescribe:
    """An image in the catalogue, and the feature sets that lack it."""

    id: int
    path: Path
    group: int
    altitude: float  # m, NaN where unknown
    lacked_by: tuple[str, ...] = ()
    content: str = ""  # the beginning of the hash of its file, as stored in the catalogue


@dataclass(frozen=True)
class DescriptionPlan:
    """The descriptors to apply to each image."""

    descriptors: Mapping[str, Describing]  # by feature set
    waters: Mapping[int, WaterModel] = field(default_factory=dict)  # by group; images of other groups are not corrected


@dataclass(frozen=True)
class Described:
    """The rows of some images for one feature set, in their order."""

    ids: np.ndarray  # (n,)
    counts: np.ndarray  # (n,) number of rows of each image
    rows: np.ndarray  # (counts.sum(), D) float32
    masks: tuple[bytes, ...] = ()  # of each image, for segments
    problems: Mapping[int, Problem] = field(default_factory=dict)  # of images that could not be described
    contents: Mapping[int, str] = field(default_factory=dict)  # content of the file of each image when it was described


@dataclass(frozen=True)
class DescribedImage:
    """The result for one image: rows and mask for each feature set, or a problem."""

    id: int
    rows: Mapping[str, np.ndarray] = field(default_factory=dict)
    masks: Mapping[str, bytes] = field(default_factory=dict)
    problem: Problem | None = None
    content: str = ""


def catalogued(workspace: Workspace, collection: str | None = None) -> list[ImageToDescribe]:
    """Return all images, or those of one collection, by id."""
    within = workspace.library.collection_named(collection).id if collection else None
    columns = workspace.library.columns("id", "group_id", "root_id", "path", "altitude", "sha256", collection_id=within)
    if not len(columns["id"]):
        raise fail("images", "there are no images", "import some first with `benthoscope import FOLDER`")
    roots = {root.id: Path(root.path) for root in workspace.library.roots()}
    return [
        ImageToDescribe(int(number), roots[root] / path, int(group), float(altitude), content=sha256[:16])
        for number, group, root, path, altitude, sha256 in zip(*columns.values(), strict=True)
    ]


def describe_chunk(chunk: Sequence[ImageToDescribe], plan: DescriptionPlan) -> list[DescribedImage]:
    """Describe images. Each file is read once and decoded once for each size the descriptors need."""
    return [replace(_described(picture, plan), content=picture.content) for picture in chunk]


def _described(picture: ImageToDescribe, plan: DescriptionPlan) -> DescribedImage:
    try:
        rows = {name: all_columns(plan.descriptors[name], image) for name, image in _prepared_images(picture, plan)}
        return DescribedImage(
            picture.id,
            {name: _finite(vectors, picture) for name, vectors in rows.items()},
            {name: pack_mask(out.mask) for name, out in rows.items() if isinstance(out, Segments)},
        )
    except BenthoscopeError as error:
        return DescribedImage(picture.id, problem=error.problem)


def _prepared_images(picture: ImageToDescribe, plan: DescriptionPlan) -> Iterator[tuple[str, np.ndarray]]:
    data = read_bytes(picture.path)
    sizes: dict[int | None, np.ndarray] = {}
    for name in picture.lacked_by:
        longest = plan.descriptors[name].longest
        if longest not in sizes:
            sizes[longest] = clear(decode(data, where=readable(picture.path), longest=longest), picture, plan.waters)
        yield name, sizes[longest]


def clear(image: np.ndarray, picture: ImageToDescribe, waters: Mapping[int, WaterModel]) -> np.ndarray:
    """Return the image with the water effects removed, if the water model of its group is known."""
    model = waters.get(picture.group)
    return model.correct(image, picture.altitude) if model else image


def _finite(described: np.ndarray | Segments, picture: ImageToDescribe) -> np.ndarray:
    rows = described.vectors if isinstance(described, Segments) else described[None]
    unusable = unusable_values(rows, float(np.finfo(np.float32).max))
    if unusable is not None:
        raise fail(readable(picture.path), f"row {unusable.row} of its features {unusable.problem}", "remove the image")
    return rows


def collected(answers: Sequence[DescribedImage], name: str, lacking: Container[int]) -> Described:
    """Return the results for the feature set of this name, which lacks the images `lacking`."""
    with_rows = [answer for answer in answers if name in answer.rows]
    problems = {answer.id: answer.problem for answer in answers if answer.problem and answer.id in lacking}
    rows = [answer.rows[name] for answer in with_rows]
    return Described(
        np.array([answer.id for answer in with_rows], dtype=np.int64),
        np.array([len(r) for r in rows], dtype=np.int64),
        np.concatenate(rows).astype(np.float32) if rows else np.empty((0, 0), dtype=np.float32),
        tuple(answer.masks[name] for answer in with_rows if name in answer.masks),
        problems,
        {answer.id: answer.content for answer in answers if name in answer.rows or answer.id in problems},
    )


def in_order(batches: Sequence[Described]) -> Described:
    """Join all parts, sorted by image id."""
    ids, counts, rows = (
        np.concatenate([getattr(batch, name) for batch in batches]) for name in ("ids", "counts", "rows")
    )
    masks = tuple(mask for batch in batches for mask in batch.masks)
    contents = {image: content for batch in batches for image, content in batch.contents.items()}
    return picked(Described(ids, counts, rows, masks, contents=contents), np.argsort(ids, kind="stable"))


def only(batch: Described, is_included: Callable[[int], bool]) -> Described:
    """Return the part without images that `is_included` rejects."""
    positions = [position for position, image in enumerate(batch.ids.tolist()) if is_included(image)]
    return batch if len(positions) == len(batch.ids) else picked(batch, np.array(positions, dtype=np.int64))


def picked(batch: Described, positions: np.ndarray) -> Described:
    """Return the images at these positions, in this order."""
    first = np.cumsum(batch.counts) - batch.counts
    rows = [np.arange(first[position], first[position] + batch.counts[position]) for position in positions]
    row_numbers = np.concatenate(rows) if rows else np.empty(0, dtype=np.int64)
    masks = tuple(batch.masks[position] for position in positions) if batch.masks else ()
    return Described(
        batch.ids[positions], batch.counts[positions], batch.rows[row_numbers], masks, contents=batch.contents
    )
