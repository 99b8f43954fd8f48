"""Which feature set is meant, whether it is there already, and how what was described gets into it."""

import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engine.features import Choices, Descriptor, described, descriptor_named, load, save
from engine.features.mask_file import MaskFile
from engine.jobs.describing import Described, in_order, only
from engine.jobs.description_parts import DescribedParts
from engine.problems import fail
from engine.workspace import Workspace
from engine.workspace.features import Appender, Sidecar
from engine.workspace.files import read_json, write_json

SORTED_UP_TO = 512 << 20  # bytes of rows that may be brought into memory to be put in the order of the images
DESCRIPTOR = "descriptor"  # folder within that of a set


@dataclass(frozen=True)
class Request:
    """What was asked for, of all sets alike."""

    choices: Choices = field(default_factory=Choices)
    water: bool = False
    again: bool = False        # make the set anew, with everything it learned
    seed: int = 0
    learn_from: int = 2_000    # images; twenty axes do not move when more are added
    like: Path | None = None   # folder of a learned descriptor to be used as it is


@dataclass(frozen=True)
class Target:
    """A feature set to be made or continued."""

    name: str
    recipe: Descriptor         # as asked for, before it has learned
    extractor: Mapping[str, Any]
    known: frozenset[int]      # images that have their rows
    stored: Path | None        # the descriptor of a set that is there
    place: Path                # where the work lies meanwhile

    @property
    def rows(self) -> DescribedParts:
        return DescribedParts(self.place / "rows")

    @property
    def long(self) -> DescribedParts:
        """The vectors the projection is learned from."""
        return DescribedParts(self.place / "long")

    @property
    def learned_here(self) -> Path:
        return self.place / DESCRIPTOR

    def descriptor(self, cache: Path) -> Descriptor | None:
        """With all it learned; None while it has not."""
        place = self.stored or (self.learned_here if (self.learned_here / "descriptor.json").exists() else None)
        return load(place, cache=cache) if place else None


def target_for(workspace: Workspace, word: str, request: Request, name: str | None = None) -> Target:
    """The set of a word, by default named after it; one that is there has to have been made in the same way."""
    name = name or (f"{word}-water" if request.water else word)
    recipe = _learned_elsewhere(word, request) if request.like else descriptor_named(word, request.choices)
    extractor = described(recipe) | {"word": word, "water": request.water}
    place = workspace.folder / "describing" / name
    if name in workspace.features and not request.again:
        found = workspace.features.open(name)
        _check_alike(name, found.sidecar, extractor)
        target = Target(name, recipe, extractor, frozenset(found.image_ids.tolist()), found.folder / DESCRIPTOR, place)
    else:
        target = Target(name, recipe, extractor, frozenset(), None, place)
    _prepare(target, request)
    return target


def publish(workspace: Workspace, target: Target, descriptor: Descriptor, learned_from: int) -> tuple[Sidecar, int]:
    """Puts what was described into the set and tidies up; gives the set's sidecar and the number of images added."""
    before = len(target.known)
    if target.stored:
        with workspace.features.appending(target.name) as out:
            _fill(workspace, target, out)
    else:
        extractor = {**target.extractor, "learned_from": learned_from}
        shape = {"width": descriptor.width, "level": descriptor.level}
        with workspace.features.writer(target.name, extractor=extractor, **shape) as out:
            _fill(workspace, target, out)
            save(descriptor, folder_of(workspace, out.sidecar) / DESCRIPTOR)
    shutil.rmtree(target.place)
    return out.sidecar, out.sidecar.images - before


def refuse_emptiness(workspace: Workspace, target: Target, parts: DescribedParts) -> None:
    """A set of which not one image could be described is not made; the reasons are listed with the other problems."""
    if any(len(part.ids) for part in parts):
        return
    workspace.library.note_problems(f"features {target.name}", list(parts.problems.values()))
    shutil.rmtree(target.place)  # the next attempt looks at every image again
    raise fail(f"feature set {target.name}", "no image could be described",
               "see `benthoscope problems`; `benthoscope relink FOLDER` finds images that moved")


def folder_of(workspace: Workspace, sidecar: Sidecar) -> Path:
    """Where a set keeps its files."""
    return workspace.folder / "features" / sidecar.folder


def masks_of(workspace: Workspace, name: str) -> MaskFile:
    """The segment masks of a set."""
    return MaskFile(workspace.features.open(name).folder)


def _fill(workspace: Workspace, target: Target, out: Appender) -> None:
    masks = MaskFile(folder_of(workspace, out.sidecar))
    for part in _ordered(target.rows):
        new = only(part, lambda image: image not in out.known)  # an append that was killed half-way is gone on with
        if new.masks:
            masks.append(new.ids.tolist(), new.masks)
        out.append(new.ids, new.rows, new.counts)


def _ordered(parts: DescribedParts) -> Iterator[Described]:
    """All parts by image id in one, where that fits into memory; else as they came."""
    whole = [part for part in parts if len(part.ids)]
    if whole and parts.bytes <= SORTED_UP_TO:
        yield in_order(whole)
    else:
        yield from whole


def _learned_elsewhere(word: str, request: Request) -> Descriptor:
    found, meant = load(request.like, cache=request.choices.cache), descriptor_named(word, request.choices)
    if found.name != meant.name:
        raise fail(str(request.like), f"holds what {found.name} has learned, not {meant.name}",
                   "give the folder of a set of the same kind")
    return found


def _check_alike(name: str, there: Sidecar, asked: Mapping[str, Any]) -> None:
    compared = ("descriptor", "version", "parameters", "water")
    differing = [key for key in compared if there.extractor.get(key) != asked[key]]
    if differing:
        raise fail(f"feature set {name}", f"was made with another {' and '.join(differing)}",
                   "give the new one a --name of its own, or make it anew with --again")


def _prepare(target: Target, request: Request) -> None:
    """Keeps what lies there of the same work; anything else is cleared away."""
    asked = {"extractor": target.extractor, "seed": request.seed, "learn_from": request.learn_from,
             "continues": str(target.stored)}
    told = target.place / "request.json"
    if not told.exists() or read_json(told) != asked:
        shutil.rmtree(target.place, ignore_errors=True)
        target.place.mkdir(parents=True)
        write_json(told, asked)
