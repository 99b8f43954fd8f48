"""Find the feature set of a request, check whether it exists, and add described images to it.

Results of a job are stored on disk part by part, so that an interrupted job continues.
"""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benthoscope.engine.features import Choices, Descriptor, Projected, described, descriptor_named, load, save
from benthoscope.engine.features.masks import MaskFile
from benthoscope.engine.features.storage import is_stored
from benthoscope.engine.jobs.describe.describing import Described, in_order, only, picked
from benthoscope.engine.problems import Problem, fail
from benthoscope.engine.workspace import Workspace
from benthoscope.engine.workspace.features import CONTENT, DESCRIPTOR, Appender, FeatureSet, Replacement, Sidecar
from benthoscope.engine.workspace.storage.files import load_parts, read_json, save_parts, write_json


class DescribedParts:
    """A folder of parts. Each part is complete or missing."""

    def __init__(self, folder: Path):
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        complete = [path for path in sorted(folder.iterdir()) if (path / "parts.json").exists()]
        self._next = 1 + max((int(path.name) for path in folder.iterdir()), default=-1)
        self._paths = complete

    def add(self, described: Described) -> None:
        path = self._folder / f"{self._next:06d}"
        sizes = np.array([len(mask) for mask in described.masks], dtype=np.int64)
        save_parts(
            path,
            {
                "ids": described.ids,
                "counts": described.counts,
                "rows": described.rows,
                "mask_sizes": sizes,
                "masks": np.frombuffer(b"".join(described.masks), dtype=np.uint8),
                "problems": [[number, vars(problem)] for number, problem in described.problems.items()],
                "contents": [[number, content] for number, content in described.contents.items()],
            },
        )
        self._next += 1
        self._paths = [*self._paths, path]

    def __iter__(self) -> Iterator[Described]:
        """Yield the parts in their order. Rows are mapped, not read."""
        for path in self._paths:
            stored = load_parts(path)
            problems = {int(number): Problem(**problem) for number, problem in stored["problems"]}
            masks = _split(stored["masks"], stored["mask_sizes"])
            contents = {int(number): content for number, content in stored.get("contents", ())}
            yield Described(stored["ids"], stored["counts"], stored["rows"], masks, problems, contents)

    @property
    def images(self) -> frozenset[int]:
        """Return the images that are finished: described, or found unusable."""
        return frozenset(number for batch in self for number in (*batch.ids.tolist(), *batch.problems))

    @property
    def contents(self) -> dict[int, str]:
        """Return the content of each of these images' files when it was last described."""
        return {
            number: block.contents.get(number, "")
            for block in self
            for number in (*block.ids.tolist(), *block.problems)
        }

    @property
    def problems(self) -> dict[int, Problem]:
        """Return the problems of images that could not be described, at their last attempt."""
        problems: dict[int, Problem] = {}
        for block in self:
            for number in block.ids.tolist():
                problems.pop(number, None)
            problems |= block.problems
        return problems

    @property
    def bytes(self) -> int:
        """Return the size of all rows in bytes."""
        return sum(batch.rows.nbytes for batch in self)


def _split(data: np.ndarray, sizes: Sequence[int]) -> tuple[bytes, ...]:
    ends = np.cumsum(sizes)
    return tuple(data[end - size : end].tobytes() for end, size in zip(ends, sizes, strict=True))


SORTED_UP_TO = 512 << 20  # largest size in bytes of rows that are sorted by image in memory


@dataclass(frozen=True)
class DescriptionRequest:
    """The request, which applies to all sets."""

    choices: Choices = field(default_factory=Choices)
    water: bool = False
    again: bool = False  # compute the set from scratch, including training
    seed: int = 0
    learn_from: int = 2_000  # images; more of them hardly change the axes
    like: Path | None = None  # folder of a trained descriptor to use


@dataclass(frozen=True)
class Target:
    """A feature set to create or extend."""

    name: str
    recipe: Descriptor  # as requested, untrained
    extractor: Mapping[str, Any]
    known: frozenset[int]  # images that already have rows
    stored: Path | None  # the descriptor of an existing set
    work_folder: Path  # folder of unfinished work

    @property
    def rows(self) -> DescribedParts:
        return DescribedParts(self.work_folder / "rows")

    @property
    def long(self) -> DescribedParts:
        """Return the vectors from which the projection is learned."""
        return DescribedParts(self.work_folder / "long")

    @property
    def learned_here(self) -> Path:
        return self.work_folder / DESCRIPTOR

    def descriptor(self, cache: Path) -> Descriptor | None:
        """Return the trained descriptor, or None before training."""
        folder = self.stored or (self.learned_here if is_stored(self.learned_here) else None)
        return load(folder, cache=cache) if folder else None

    def trained(self, cache: Path) -> Descriptor:
        """Return the descriptor after training."""
        descriptor = self.descriptor(cache)
        assert descriptor is not None  # training stored it
        return descriptor


def target_for(workspace: Workspace, word: str, request: DescriptionRequest, name: str | None = None) -> Target:
    """Return the set of a descriptor name, with a folder for the work on it."""
    target = find_target(workspace, word, request, name)
    _prepare(target, request)
    return target


def find_target(workspace: Workspace, word: str, request: DescriptionRequest, name: str | None = None) -> Target:
    """Return the set of a descriptor name, which is also its default name. An existing set must have been computed in
    the same way."""
    name = name or (f"{word}-water" if request.water else word)
    recipe = _learned_elsewhere(word, request) if request.like else descriptor_named(word, request.choices)
    extractor = described(recipe) | {"word": word, "water": request.water}
    temporary_folder = workspace.folder / "describing" / name
    if name in workspace.features and not request.again:
        feature_set = workspace.features.open(name)
        _check_alike(name, feature_set.sidecar, extractor)
        usable = condition_of(workspace, feature_set).usable_ids
        return Target(name, recipe, extractor, usable, feature_set.descriptor_folder, temporary_folder)
    return Target(name, recipe, extractor, frozenset(), None, temporary_folder)


def target_to_repair(workspace: Workspace, name: str, request: DescriptionRequest, known: frozenset[int]) -> Target:
    """Return an existing set of which only the images not in `known` are described again, with its trained
    descriptor."""
    feature_set = workspace.features.open(name)
    learned = feature_set.descriptor_folder
    recipe = load(learned, cache=request.choices.cache)
    target = Target(
        name, recipe, dict(feature_set.sidecar.extractor), known, learned, workspace.folder / "describing" / name
    )
    _prepare(target, request)
    return target


@dataclass(frozen=True)
class Condition:
    """Which rows of a stored set are damaged, and which are outdated because the file changed."""

    ids: np.ndarray  # (images,)
    damaged: np.ndarray  # (images,) bool
    stale: np.ndarray  # (images,) bool

    @property
    def usable_ids(self) -> frozenset[int]:
        return frozenset(self.ids[~self.damaged & ~self.stale].tolist())

    @property
    def faulty_ids(self) -> frozenset[int]:
        return frozenset(self.ids[self.damaged | self.stale].tolist())


def condition_of(workspace: Workspace, features: FeatureSet) -> Condition:
    damaged, stale = np.zeros((2, features.sidecar.images), bool)
    damaged[features.damaged()] = True
    stale[features.stale(workspace.library.replaced_images())] = True
    return Condition(features.readable_ids, damaged, stale)


@dataclass(frozen=True)
class Published:
    """The changes of a set: images added, described again because their file changed, and repaired."""

    sidecar: Sidecar
    added: int
    renewed: int = 0
    repaired: int = 0


def publish(
    workspace: Workspace, target: Target, descriptor: Descriptor, learned_from: int, contents: Mapping[int, str]
) -> Published:
    """Add the described images to the set and delete the work folder. `contents` has the key of each file that was
    read."""
    if target.stored:
        renewed, repaired = _replace_faulty(workspace, target, contents)
        with workspace.features.appending(target.name) as out:
            before = out.sidecar.images
            _fill(workspace, target, out, contents)
    else:
        before = renewed = repaired = 0
        extractor = {**target.extractor, "learned_from": learned_from}
        width, level = descriptor.width, descriptor.level
        further = descriptor.further if isinstance(descriptor, Projected) else 0
        with workspace.features.writer(
            target.name, extractor=extractor, width=width, level=level, further=further
        ) as out:
            _fill(workspace, target, out, contents)
            save(descriptor, folder_of(workspace, out.sidecar) / DESCRIPTOR)
    shutil.rmtree(target.work_folder)
    return Published(out.sidecar, out.sidecar.images - before, renewed, repaired)


def _replace_faulty(workspace: Workspace, target: Target, contents: Mapping[int, str]) -> tuple[int, int]:
    """Rewrite damaged and outdated rows of a stored set. Returns the numbers of changed and of damaged images.

    Outdated rows of images that were not described again stay, and stay marked. Damaged rows are always removed.
    """
    feature_set = workspace.features.open(target.name)
    condition = condition_of(workspace, feature_set)
    looked_at = np.isin(condition.ids, np.fromiter(contents, np.int64, len(contents)))
    keep = ~condition.damaged & ~(condition.stale & looked_at)
    if keep.all():
        return 0, 0
    new = _described_again(target, frozenset(condition.ids[~keep].tolist()), contents)
    masks = {image: mask for image, (_, mask) in new.items() if mask is not None}
    if masks:
        MaskFile(feature_set.folder).append(list(masks), list(masks.values()))
    workspace.features.rewrite(target.name, keep, lambda image: new[image][0] if image in new else None)
    done = np.isin(condition.ids, np.fromiter(new, np.int64, len(new)))
    return int((condition.stale & ~condition.damaged & done).sum()), int((condition.damaged & done).sum())


def _described_again(
    target: Target,
    images: frozenset[int],
    contents: Mapping[int, str],
) -> dict[int, tuple[Replacement, bytes | None]]:
    """Return (rows, mask) of these images, if they could be described."""
    new: dict[int, tuple[Replacement, bytes | None]] = {}
    for block in target.rows:
        ends = np.cumsum(block.counts)
        for position, image in enumerate(block.ids.tolist()):
            if image in images and _is_current(block, image, contents):
                rows = np.array(block.rows[ends[position] - block.counts[position] : ends[position]])
                mask = block.masks[position] if block.masks else None
                new[image] = Replacement(rows, block.contents.get(image, "").encode()), mask
    return new


def _is_current(block: Described, image: int, contents: Mapping[int, str]) -> bool:
    """Return whether a part was computed from the present content of the file."""
    return block.contents.get(image) == contents.get(image)


def refuse_emptiness(workspace: Workspace, target: Target, batches: DescribedParts) -> None:
    """Raise if no image could be described; the set is then not created. The reasons are listed with the other
    problems."""
    if any(len(batch.ids) for batch in batches):
        return
    workspace.library.note_problems(f"features {target.name}", list(batches.problems.values()))
    shutil.rmtree(target.work_folder)  # the next attempt reads all images again
    raise fail(
        f"feature set {target.name}",
        "no image could be described",
        "see `benthoscope problems`; `benthoscope relink FOLDER` finds images that moved",
    )


def folder_of(workspace: Workspace, sidecar: Sidecar) -> Path:
    """Return the folder of a set."""
    return workspace.folder / "features" / sidecar.folder


def masks_of(workspace: Workspace, name: str) -> MaskFile:
    """Return the segment masks of a set."""
    return MaskFile(workspace.features.open(name).folder)


def _fill(workspace: Workspace, target: Target, out: Appender, contents: Mapping[int, str]) -> None:
    masks = MaskFile(folder_of(workspace, out.sidecar))
    current = (only(block, partial(_is_current, block, contents=contents)) for block in target.rows)
    for batch in _ordered(list(current)):
        new = picked(batch, np.flatnonzero(~out.has(batch.ids)))  # continues an interrupted append
        if new.masks:
            masks.append(new.ids.tolist(), new.masks)
        keys = np.array([new.contents.get(image, "") for image in new.ids.tolist()], CONTENT)
        out.append(new.ids, new.rows, new.counts, keys)


def _ordered(batches: Sequence[Described]) -> Iterator[Described]:
    """Yield all parts as one, sorted by image id, if it fits into memory; else in their order."""
    filled = [batch for batch in batches if len(batch.ids)]
    if filled and sum(batch.rows.nbytes for batch in filled) <= SORTED_UP_TO:
        yield in_order(filled)
    else:
        yield from filled


def _learned_elsewhere(word: str, request: DescriptionRequest) -> Descriptor:
    assert request.like is not None  # otherwise the descriptor is learned here
    descriptor, meant = load(request.like, cache=request.choices.cache), descriptor_named(word, request.choices)
    if descriptor.name != meant.name:
        raise fail(
            str(request.like),
            f"contains the descriptor {descriptor.name}, not {meant.name}",
            "use the folder of a set with the same descriptor",
        )
    return descriptor


def _check_alike(name: str, there: Sidecar, asked: Mapping[str, Any]) -> None:
    compared = ("descriptor", "version", "parameters", "water")
    stored, new = _without_further(there.extractor), _without_further(asked)
    differing = [key for key in compared if stored.get(key) != new[key]]
    if differing:
        raise fail(
            f"feature set {name}",
            f"was computed with different settings: {', '.join(differing)}",
            "give the new set another --name, or compute it again with --overwrite",
        )


def _without_further(extractor: Mapping[str, Any]) -> dict[str, Any]:
    """Return a description without the number of further columns. Sets of early versions have none and stay so."""
    parameters = dict(extractor.get("parameters") or {})
    if isinstance(parameters.get("projection"), Mapping):
        projection = dict(parameters["projection"])
        projection.pop("further", None)
        parameters["projection"] = projection
    return {**extractor, "parameters": parameters}


def _prepare(target: Target, request: DescriptionRequest) -> None:
    """Keep unfinished work of the same request; delete anything else."""
    asked = {
        "extractor": target.extractor,
        "seed": request.seed,
        "learn_from": request.learn_from,
        "continues": str(target.stored),
    }
    request_file = target.work_folder / "request.json"
    if not request_file.exists() or read_json(request_file) != asked:
        shutil.rmtree(target.work_folder, ignore_errors=True)
        target.work_folder.mkdir(parents=True)
        write_json(request_file, asked)
