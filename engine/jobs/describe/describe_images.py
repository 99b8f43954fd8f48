"""The job that computes features: trains descriptors, describes the images each feature set lacks, and adds them.

A descriptor is trained when its feature set is created, and stored with it. Images added later therefore need no
other image:

    features/deep.1f3a/descriptor/   the descriptor, which can be copied to other workspaces
    features/deep.1f3a/masks.*       for segments: the row of each pixel
    water/7/                         the water model of group 7

Unfinished work is in describing/NAME. A stopped job, or the same command again, continues it.
"""

import contextlib
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from benthoscope.engine.compute import Compute, computing_on
from benthoscope.engine.features import (
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
from benthoscope.engine.features.compression import draw
from benthoscope.engine.features.descriptor import BLOCK
from benthoscope.engine.features.storage import is_stored
from benthoscope.engine.imaging import BadImage, read_image
from benthoscope.engine.jobs.context import JobContext
from benthoscope.engine.jobs.describe.describing import (
    DescribedImage,
    DescriptionPlan,
    ImageToDescribe,
    catalogued,
    clear,
    collected,
    describe_chunk,
)
from benthoscope.engine.jobs.describe.feature_sets import (
    DescribedParts,
    DescriptionRequest,
    Target,
    condition_of,
    find_target,
    publish,
    refuse_emptiness,
    target_for,
    target_to_repair,
)
from benthoscope.engine.jobs.describe.water_models import by_group, water_of
from benthoscope.engine.jobs.durations import image_work, record
from benthoscope.engine.problems import BadInput, fail, unknown
from benthoscope.engine.progress import Progress
from benthoscope.engine.workspace import Workspace

CHUNK = 4  # images per task of a worker; a thread notices cancellation within half a second
BATCH = 256  # images between two writes
DICTIONARY_FROM = 400  # training images for dictionaries and filters, which use 50,000 of their patches
SHOWN = 20  # problems in the result; all of them are in the log and in the library

PARAMETER_TYPES: Mapping[str, Any] = {  # the parameters of the job and their types
    "kinds": Sequence[str] | None,
    "collection": str | None,
    "name": str | None,
    "dimension": int | None,
    "raw": bool | None,
    "dictionary": str | None,
    "onnx": str | None,
    "input_size": int | None,
    "mean": Sequence[float] | None,
    "deviation": Sequence[float] | None,
    "water": bool | None,
    "again": bool | None,
    "repair": bool | None,
    "seed": int | None,
    "learn_from": int | None,
    "like": str | None,
    "cache": str | None,
    "scheduler": str | None,
    "workers": int | None,
}

Thing = TypeVar("Thing")


@dataclass
class DescriptionRun:
    """The data shared by the steps of one job."""

    job: JobContext
    workspace: Workspace
    compute: Compute
    request: DescriptionRequest
    pictures: Sequence[ImageToDescribe]
    waters: Mapping[int, WaterModel] = field(default_factory=dict)
    done: int = 0

    def report(self, count: int, message: str) -> None:
        self.done += count
        total = max(len(self.pictures), self.done)
        self.job.progress(self.done, total, message)

    def on_step(self, step: Progress) -> None:
        """Report the message of a training step with the job's own count."""
        self.report(0, step.message)


def features(job: JobContext, workspace: Workspace, **parameters: Any) -> dict[str, Any]:
    """Create or extend the feature sets of the `kinds` (names in DESCRIPTORS), for all images or one `collection`.

    See `benthoscope features --help` for the other parameters.
    """
    _check_names(parameters)
    began, resumed = time.monotonic(), job.load_checkpoint() is not None
    notes = [f"feature set {name}: its description was restored" for name in workspace.features.restore_sidecars()]
    if parameters.get("repair"):
        return _repaired(job, workspace, parameters, notes)
    request = request_of(workspace, parameters)
    targets = _targets(workspace, parameters, request, notes)
    pictures = pictures_of(workspace, parameters.get("collection"), targets)
    with computing_on(parameters.get("scheduler"), parameters.get("workers")) as compute:
        run = DescriptionRun(job, workspace, compute, request, pictures)
        if request.water:
            run.waters = waters_of_dives(run, notes)
        made = [_made(run, *pair) for pair in _described(run, targets)]
    if not resumed and not request.water:
        words = "+".join(sorted(target.extractor["word"] for target in targets))
        record(
            "features", words, image_work(len(pictures), workspace.library.mean_megapixels()), time.monotonic() - began
        )
    return _result(job, made, notes)


def _repaired(job: JobContext, workspace: Workspace, parameters: Mapping[str, Any], notes: list[str]) -> dict[str, Any]:
    """Describe again, for each set, the images whose rows are damaged or outdated because their file changed."""
    faulty = {
        name: ids
        for name in workspace.features.names()
        if (ids := condition_of(workspace, workspace.features.open(name)).faulty_ids)
    }
    made = []
    with computing_on(parameters.get("scheduler"), parameters.get("workers")) as compute:
        for water in (False, True):
            names = [name for name in faulty if _is_of_water(workspace, name) == water]
            request = replace(request_of(workspace, parameters), water=water)
            targets = _targets_to_repair(workspace, names, faulty, request, notes)
            if targets:
                run = DescriptionRun(job, workspace, compute, request, pictures_of(workspace, None, targets))
                if water:
                    run.waters = waters_of_dives(run, notes)
                made += [_made(run, *pair) for pair in _described(run, targets)]
    return _result(job, made, notes)


def _targets_to_repair(
    workspace: Workspace,
    names: Sequence[str],
    faulty: Mapping[str, frozenset[int]],
    request: DescriptionRequest,
    notes: list[str],
) -> list[Target]:
    """Return the sets that can be repaired. Notes say what to do about the others."""
    every, targets = frozenset(workspace.library.columns("id")["id"].tolist()), []
    for name in names:
        try:
            targets.append(target_to_repair(workspace, name, request, every - faulty[name]))
        except (BadInput, OSError) as error:
            notes.append(
                f"feature set {name}: cannot be repaired, because its descriptor cannot be read ({error}); "
                f"compute it again: {command_again(workspace, name)}"
            )
    return targets


def _is_of_water(workspace: Workspace, name: str) -> bool:
    return bool(workspace.features.open(name).sidecar.extractor.get("water"))


def command_again(workspace: Workspace, name: str) -> str:
    """Return the command that computes a set again."""
    extractor = workspace.features.open(name).sidecar.extractor
    word, water = extractor.get("word") or name, " --water" if extractor.get("water") else ""
    usual = f"{word}-water" if water else word
    return f"benthoscope features --descriptor {word}{water}{'' if name == usual else f' --name {name}'} --overwrite"


def check_request(workspace: Workspace, parameters: Mapping[str, Any]) -> None:
    """Raise BadInput if the job could only fail. Changes nothing."""
    _check_names(parameters)
    request = request_of(workspace, parameters)
    if parameters.get("repair"):
        return  # the kinds are not used, and the description of a set may be damaged
    for word in _kinds(parameters):
        find_target(workspace, available(word)[0], request, parameters.get("name"))


def _check_names(parameters: Mapping[str, Any]) -> None:
    for word in parameters.keys() - PARAMETER_TYPES.keys():
        raise unknown("parameters of features", word, PARAMETER_TYPES)


def request_of(workspace: Workspace, parameters: Mapping[str, Any]) -> DescriptionRequest:
    """Convert the job's plain parameters to objects."""
    mean, deviation = parameters.get("mean"), parameters.get("deviation")
    normalisation = Normalisation(tuple(mean), tuple(deviation)) if mean and deviation else None
    onnx, like, cache = (Path(parameters[key]) if parameters.get(key) else None for key in ("onnx", "like", "cache"))
    choices = Choices(
        parameters.get("dimension"),
        bool(parameters.get("raw")),
        onnx,
        parameters.get("input_size"),
        normalisation,
        cache or _writable_cache(workspace),
        parameters.get("dictionary"),
    )
    chosen = {
        key: parameters[key] for key in ("water", "again", "seed", "learn_from") if parameters.get(key) is not None
    }
    return DescriptionRequest(choices, like=like, **chosen)


def pictures_of(workspace: Workspace, collection: str | None, targets: Sequence[Target]) -> list[ImageToDescribe]:
    """Return the images that at least one set lacks, by id."""
    missing = (
        replace(picture, lacked_by=tuple(target.name for target in targets if picture.id not in target.known))
        for picture in catalogued(workspace, collection)
    )
    return [picture for picture in missing if picture.lacked_by]


def describe(
    run: DescriptionRun,
    pictures: Sequence[ImageToDescribe],
    by: Mapping[str, Descriptor],
    into: Mapping[str, DescribedParts],
    message: str,
) -> None:
    """Describe the images, each for the sets that lack it, and store the results batch by batch."""
    for batch in _slices(pictures, BATCH):
        answers: list[DescribedImage] = []
        chunks = list(_slices(batch, CHUNK))
        with contextlib.closing(run.compute.map(chunks, describe_chunk, DescriptionPlan(by, run.waters))) as results:
            for some in results:
                answers += some
                run.report(len(some), message)
        for name, batches in into.items():
            batches.add(collected(answers, name, {picture.id for picture in batch if name in picture.lacked_by}))
        run.job.save_checkpoint({"described": run.done})


def _described(run: DescriptionRun, targets: Sequence[Target]) -> list[tuple[Target, Descriptor]]:
    """Compute the rows of all sets. Returns the sets with their trained descriptors."""
    cache = run.request.choices.cache
    _learn(run, [target for target in targets if target.descriptor(cache) is None])
    pairs = [(target, target.trained(cache)) for target in targets]
    rows = {target.name: target.rows for target in targets}
    remaining = _lacking(run.pictures, rows)
    run.done = len(run.pictures) - len(remaining)
    describe(run, remaining, {target.name: descriptor for target, descriptor in pairs}, rows, "describing images")
    return pairs


def _learn(run: DescriptionRun, targets: Sequence[Target]) -> None:
    """Train the descriptor of each new set. Images used for a projection get their rows at the same time."""
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
    describe(run, _lacking(sample, long), bases, long, "describing the training images")
    for target in targets:
        if target in projected:
            _project(run, target, bases[target.name])
        else:
            save(bases[target.name], target.learned_here)


def _base(run: DescriptionRun, target: Target, sample: Sequence[ImageToDescribe]) -> Descriptor:
    """Return the descriptor without projection, with its dictionary or filters."""
    folder = target.work_folder / "base"
    if is_stored(folder):
        return load(folder, cache=run.request.choices.cache)
    recipe = target.recipe.base if isinstance(target.recipe, Projected) else target.recipe
    run.report(0, f"training {target.name}")
    learned = recipe.fit(Decoded(run, sample, recipe.longest), random_state=run.request.seed, on_step=run.on_step)
    save(learned, folder)
    return learned


def _project(run: DescriptionRun, target: Target, base: Descriptor) -> None:
    """Learn the projection, project the training images, and store the descriptor."""
    assert isinstance(target.recipe, Projected)  # only these have a projection to learn
    refuse_emptiness(run.workspace, target, target.long)
    rng = np.random.default_rng(run.request.seed)
    projection = target.recipe.reducer.fit(lambda: _blocks(run, target.long), rng=rng, on_step=run.on_step)
    learned = replace(target.recipe, base=base, projection=projection)
    rows, finished = target.rows, target.rows.images  # an interrupted job continues here with the same projection
    for batch in target.long:
        if not finished & {*batch.ids.tolist(), *batch.problems}:
            short = projection(batch.rows) if len(batch.ids) else batch.rows
            rows.add(replace(batch, rows=short))
    save(learned, target.learned_here)


def _blocks(run: DescriptionRun, batches: DescribedParts) -> Iterator[np.ndarray]:
    """Yield the rows of all parts in blocks."""
    for batch in batches:
        for start in range(0, len(batch.rows), BLOCK):
            run.job.check()
            yield batch.rows[start : start + BLOCK]


@dataclass(frozen=True)
class Decoded:
    """Images that are decoded on each iteration. Unreadable ones are skipped here and reported later."""

    run: DescriptionRun
    pictures: Sequence[ImageToDescribe]
    longest: int | None

    def __iter__(self) -> Iterator[np.ndarray]:
        for picture in self.pictures:
            self.run.job.check()
            with contextlib.suppress(BadImage):
                yield clear(read_image(picture.path, longest=self.longest), picture, self.run.waters)


def waters_of_dives(run: DescriptionRun, notes: list[str]) -> dict[int, WaterModel]:
    """Return the water model of each group with images to describe."""
    water_models = {}
    for number, pictures in by_group(run.pictures).items():
        run.report(0, f"estimating the water model of {pictures[0].path.parent.name}")
        try:
            water_models[number] = water_of(run.workspace, pictures, seed=run.request.seed, check=run.job.check)
        except BadInput as error:
            notes.append(f"group {number} is not corrected for water: {error}")
    return water_models


def _targets(
    workspace: Workspace, parameters: Mapping[str, Any], request: DescriptionRequest, notes: list[str]
) -> list[Target]:
    targets = []
    for word in _kinds(parameters):
        usable, problem = available(word)
        notes += [str(problem)] if problem else []
        targets.append(target_for(workspace, usable, request, parameters.get("name")))
    return list({target.name: target for target in targets}.values())  # a fallback may also be requested explicitly


def _kinds(parameters: Mapping[str, Any]) -> list[str]:
    kinds = list(dict.fromkeys(parameters.get("kinds") or ["deep"]))
    if parameters.get("name") and len(kinds) > 1:
        raise fail(
            "name",
            f"there is one name for {len(kinds)} feature sets",
            "compute them one at a time, or do not give a name",
        )
    return kinds


def _made(run: DescriptionRun, target: Target, descriptor: Descriptor) -> dict[str, Any]:
    """Publish one set and list the images it could not use."""
    workspace, learned_from = run.workspace, min(len(run.pictures), run.request.learn_from)
    if not target.stored:
        refuse_emptiness(workspace, target, target.rows)
    problems = target.rows.problems
    done = publish(workspace, target, descriptor, learned_from, {image.id: image.content for image in run.pictures})
    sidecar = done.sidecar
    workspace.library.note_problems(f"features {target.name}", list(problems.values()))
    return {
        "name": sidecar.name,
        "level": sidecar.level,
        "images": sidecar.images,
        "rows": sidecar.rows,
        "width": sidecar.width,
        "added": done.added,
        "renewed": done.renewed,
        "repaired": done.repaired,
        "problems": list(problems.values()),
    }


def _result(job: JobContext, made: Sequence[Mapping[str, Any]], notes: Sequence[str]) -> dict[str, Any]:
    problems = list(dict.fromkeys(str(problem) for result in made for problem in result["problems"]))
    for line in (*notes, *problems):
        job.log(line)
    sets = [{**result, "problems": len(result["problems"])} for result in made]
    return {"sets": sets, "notes": list(notes), "skipped": len(problems), "problems": problems[:SHOWN]}


def _lacking(pictures: Sequence[ImageToDescribe], there: Mapping[str, DescribedParts]) -> list[ImageToDescribe]:
    """Return the images that some of these sets still lack, each with the names of these sets."""
    described = {name: batches.contents for name, batches in there.items()}
    lacking = (
        replace(
            picture,
            lacked_by=tuple(
                name
                for name in picture.lacked_by
                if name in described and described[name].get(picture.id) != picture.content
            ),
        )
        for picture in pictures
    )
    return [picture for picture in lacking if picture.lacked_by]


def _slices(things: Sequence[Thing], size: int) -> Iterator[Sequence[Thing]]:
    return (things[start : start + size] for start in range(0, len(things), size))


def _writable_cache(workspace: Workspace) -> Path:
    """Return the user's cache folder, or one in the workspace if there is none, as for service accounts."""
    folder = user_cache()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return workspace.folder / "cache"
    return folder if os.access(folder, os.W_OK) else workspace.folder / "cache"
