"""The job that describes images: learns what the descriptors need, describes what each feature set lacks, adds it.

A feature set is defined by what its descriptor learned when the set was made. That stands still afterwards and is
stored with the set, so images added later cost only themselves:

    features/deep.1f3a/descriptor/  the descriptor, to be copied to other campaigns
    features/deep.1f3a/masks.*      of segments: which pixel belongs to which row
    water/7/                        the model of the water of group 7

Work under way lies in describing/NAME; a stopped job, or the same command again, goes on from there.
"""

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from engine.compute import Compute, compute_on
from engine.features import (
    Choices,
    Descriptor,
    Normalisation,
    Projected,
    WaterModel,
    available,
    load,
    save,
    user_cache,
)
from engine.features.projected import BLOCK
from engine.features.sampling import draw
from engine.imaging import BadImage, read_image
from engine.jobs.context import JobContext
from engine.jobs.describing import Answer, Picture, Plan, catalogued, clear, collected, describe_chunk
from engine.jobs.description_parts import DescribedParts
from engine.jobs.feature_sets import Request, Target, publish, refuse_emptiness, target_for
from engine.jobs.waters import by_group, water_of
from engine.problems import BadInput, fail, unknown
from engine.progress import Progress
from engine.workspace import Workspace

CHUNK = 4            # images handed to a worker at a time: a thread notices a cancelled job after half a second
BATCH = 256          # images between two writes of what was described
DICTIONARY_FROM = 400  # images for dictionary and filters, which are made of 50,000 of their patches
SHOWN = 20           # problems in the result; all are in the log and in the library

SAID = frozenset(("kinds", "collection", "name", "dimension", "raw", "onnx", "input_size", "mean", "deviation", "water",
                  "again", "seed", "learn_from", "like", "cache", "scheduler", "workers"))

Thing = TypeVar("Thing")


@dataclass
class Run:
    """What the steps of one job share."""

    job: JobContext
    workspace: Workspace
    compute: Compute
    request: Request
    pictures: Sequence[Picture]
    waters: Mapping[int, WaterModel] = field(default_factory=dict)
    done: int = 0

    def tell(self, more: int, message: str) -> None:
        self.done += more
        total = max(len(self.pictures), self.done)
        self.job.progress(self.done, total, message)

    def on_step(self, step: Progress) -> None:
        """For pieces that learn: their words, the job's own count."""
        self.tell(0, step.message)


def features(job: JobContext, workspace: Workspace, **said: Any) -> dict[str, Any]:
    """Makes or continues the feature sets of the `kinds` (words of DESCRIPTORS), for all images or one `collection`.

    The other parameters (SAID) are as `benthoscope features --help` explains them.
    """
    for word in said.keys() - SAID:
        raise unknown("parameters of features", word, SAID)
    request, notes = request_of(workspace, said), []
    targets = _targets(workspace, said, request, notes)
    pictures = pictures_of(workspace, said.get("collection"), targets)
    with contextlib.ExitStack() as held:
        compute = compute_on(said.get("scheduler"), said.get("workers"))
        held.callback(getattr(compute, "close", lambda: None))
        run = Run(job, workspace, compute, request, pictures)
        if request.water:
            run.waters = _waters(run, notes)
        made = [_made(workspace, *pair, min(len(pictures), request.learn_from)) for pair in _described(run, targets)]
    return _result(job, made, notes)


def request_of(workspace: Workspace, said: Mapping[str, Any]) -> Request:
    """The job's plain parameters as objects."""
    mean, deviation = said.get("mean"), said.get("deviation")
    normalisation = Normalisation(tuple(mean), tuple(deviation)) if mean and deviation else None
    onnx, like, cache = (Path(said[key]) if said.get(key) else None for key in ("onnx", "like", "cache"))
    choices = Choices(said.get("dimension"), bool(said.get("raw")), onnx, said.get("input_size"), normalisation,
                      cache or _writable_cache(workspace))
    given = {key: said[key] for key in ("water", "again", "seed", "learn_from") if said.get(key) is not None}
    return Request(choices, like=like, **given)


def pictures_of(workspace: Workspace, collection: str | None, targets: Sequence[Target]) -> list[Picture]:
    """The images that at least one set lacks, by id."""
    told = (replace(picture, lacked_by=tuple(target.name for target in targets if picture.id not in target.known))
            for picture in catalogued(workspace, collection))
    return [picture for picture in told if picture.lacked_by]


def describe(run: Run, pictures: Sequence[Picture], by: Mapping[str, Descriptor],
             into: Mapping[str, DescribedParts], message: str) -> None:
    """Describes the pictures, each for the sets it is lacked by, and keeps the answers batch by batch."""
    for batch in _slices(pictures, BATCH):
        answers: list[Answer] = []
        chunks = list(_slices(batch, CHUNK))
        with contextlib.closing(run.compute.map(chunks, describe_chunk, Plan(by, run.waters))) as found:
            for some in found:
                answers += some
                run.tell(len(some), message)
        for name, parts in into.items():
            parts.add(collected(answers, name, {picture.id for picture in batch if name in picture.lacked_by}))
        run.job.save_checkpoint({"described": run.done})


def _described(run: Run, targets: Sequence[Target]) -> list[tuple[Target, Descriptor]]:
    """Brings every set's rows together in its place; gives the sets with their learned descriptors."""
    cache = run.request.choices.cache
    _learn(run, [target for target in targets if target.descriptor(cache) is None])
    pairs = [(target, target.descriptor(cache)) for target in targets]
    rows = {target.name: target.rows for target in targets}
    left = _lacking(run.pictures, rows)
    run.done = len(run.pictures) - len(left)
    describe(run, left, {target.name: descriptor for target, descriptor in pairs}, rows, "describing images")
    return pairs


def _learn(run: Run, targets: Sequence[Target]) -> None:
    """What each new set's descriptor has to learn. Images looked at for a projection get their rows on the way."""
    if run.request.like:
        for target in targets:
            save(target.recipe, target.learned_here)
        return
    rng = np.random.default_rng(run.request.seed)
    sample = draw(run.pictures, run.request.learn_from, rng)
    few = draw(sample, DICTIONARY_FROM, rng)
    bases = {target.name: _base(run, target, few) for target in targets}
    projected = [target for target in targets if isinstance(target.recipe, Projected)]
    long = {target.name: target.long for target in projected}
    describe(run, _lacking(sample, long), bases, long, "describing the images to learn from")
    for target in targets:
        if target in projected:
            _project(run, target, bases[target.name])
        else:
            save(bases[target.name], target.learned_here)


def _base(run: Run, target: Target, sample: Sequence[Picture]) -> Descriptor:
    """The descriptor before any projection, with its dictionary or filters."""
    place = target.place / "base"
    if (place / "descriptor.json").exists():
        return load(place, cache=run.request.choices.cache)
    recipe = target.recipe.base if isinstance(target.recipe, Projected) else target.recipe
    run.tell(0, f"learning what {target.name} needs")
    learned = recipe.fit(Decoded(run, sample, recipe.longest), random_state=run.request.seed, on_step=run.on_step)
    save(learned, place)
    return learned


def _project(run: Run, target: Target, base: Descriptor) -> None:
    """Learns the projection, projects what it was learned from, and stores the descriptor."""
    refuse_emptiness(run.workspace, target, target.long)
    rng = np.random.default_rng(run.request.seed)
    found = target.recipe.reducer.fit(lambda: _blocks(run, target.long), rng=rng, on_step=run.on_step)
    learned = replace(target.recipe, base=base, projection=found)
    rows, seen = target.rows, target.rows.images  # a job killed here goes on here, with the same projection
    for part in target.long:
        if not seen & {*part.ids.tolist(), *part.problems}:
            short = learned.projection(part.rows) if len(part.ids) else part.rows
            rows.add(replace(part, rows=short))
    save(learned, target.learned_here)


def _blocks(run: Run, parts: DescribedParts) -> Iterator[np.ndarray]:
    """The rows of all parts, some at a time."""
    for part in parts:
        for start in range(0, len(part.rows), BLOCK):
            run.job.check()
            yield part.rows[start:start + BLOCK]


@dataclass(frozen=True)
class Decoded:
    """Pictures decoded afresh at every walk over them; those that cannot be are passed over here and told later."""

    run: Run
    pictures: Sequence[Picture]
    longest: int | None

    def __iter__(self) -> Iterator[np.ndarray]:
        for picture in self.pictures:
            self.run.job.check()
            with contextlib.suppress(BadImage):
                yield clear(read_image(picture.path, longest=self.longest), picture, self.run.waters)


def _waters(run: Run, notes: list[str]) -> dict[int, WaterModel]:
    """The water of every group there is something to describe of."""
    found = {}
    for number, pictures in by_group(run.pictures).items():
        run.tell(0, f"learning the water of {pictures[0].path.parent.name}")
        try:
            found[number] = water_of(run.workspace, pictures, seed=run.request.seed, check=run.job.check)
        except BadInput as error:
            notes.append(f"group {number} keeps its water: {error}")
    return found


def _targets(workspace: Workspace, said: Mapping[str, Any], request: Request, notes: list[str]) -> list[Target]:
    kinds, name = list(dict.fromkeys(said.get("kinds") or ["deep"])), said.get("name")
    if name and len(kinds) > 1:
        raise fail("name", f"one name for {len(kinds)} feature sets", "describe them one at a time, or leave it out")
    targets = []
    for word in kinds:
        usable, problem = available(word)
        notes += [str(problem)] if problem else []
        targets.append(target_for(workspace, usable, request, name))
    return list({target.name: target for target in targets}.values())  # a fallback may be asked for besides


def _made(workspace: Workspace, target: Target, descriptor: Descriptor, learned_from: int) -> dict[str, Any]:
    """Publishes one set and lists what it could not use."""
    if not target.stored:
        refuse_emptiness(workspace, target, target.rows)
    problems = target.rows.problems
    sidecar, added = publish(workspace, target, descriptor, learned_from)
    workspace.library.note_problems(f"features {target.name}", list(problems.values()))
    return {"name": sidecar.name, "level": sidecar.level, "images": sidecar.images, "rows": sidecar.rows,
            "width": sidecar.width, "added": added, "problems": list(problems.values())}


def _result(job: JobContext, made: Sequence[Mapping[str, Any]], notes: Sequence[str]) -> dict[str, Any]:
    problems = list(dict.fromkeys(str(problem) for one in made for problem in one["problems"]))
    for line in (*notes, *problems):
        job.log(line)
    sets = [{**one, "problems": len(one["problems"])} for one in made]
    return {"sets": sets, "notes": list(notes), "skipped": len(problems), "problems": problems[:SHOWN]}


def _lacking(pictures: Sequence[Picture], there: Mapping[str, DescribedParts]) -> list[Picture]:
    """The pictures that some of these sets still lack, each told which."""
    seen = {name: parts.images for name, parts in there.items()}
    told = (replace(picture, lacked_by=tuple(name for name in picture.lacked_by
                                             if name in seen and picture.id not in seen[name])) for picture in pictures)
    return [picture for picture in told if picture.lacked_by]


def _slices(things: Sequence[Thing], size: int) -> Iterator[Sequence[Thing]]:
    return (things[start:start + size] for start in range(0, len(things), size))


def _writable_cache(workspace: Workspace) -> Path:
    """This person's cache, or one in the workspace where there is none, as under a service's account."""
    place = user_cache()
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError:
        return workspace.folder / "cache"
    return place if os.access(place, os.W_OK) else workspace.folder / "cache"
