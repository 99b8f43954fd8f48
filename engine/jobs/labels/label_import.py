"""Classify imported labels as new, already present or conflicting, and create the events that store them."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benthoscope.engine.exchange.labels.matching import ImageMatcher, Known, Terms, Unclear
from benthoscope.engine.exchange.labels.records import LabelRecord
from benthoscope.engine.problems import Problem, unknown
from benthoscope.engine.progress import OnStep, Progress, ignore
from benthoscope.engine.term_path import joined
from benthoscope.engine.workspace import Workspace
from benthoscope.engine.workspace.labels.events import UNCONFIRMED
from benthoscope.engine.workspace.labels.log import Act
from benthoscope.engine.workspace.labels.parts import part_act, standing_parts
from benthoscope.engine.workspace.labels.vocabularies import Term

SHOWN = 10  # number of examples in a message
MOST_ACTS = 2_000  # with more events, the log grows too much compared with the value of exact times
DAY = 86_400
TOLD_EVERY = 10_000
Fact = tuple[Any, ...]


@dataclass
class ImportCounts:
    """Numbers of labels by result."""

    stored: int = 0
    annotations: int = 0
    there: int = 0  # already in the workspace
    conflicting: int = 0  # the image has another label, which stays
    replaced: int = 0  # the image had another label, which is replaced
    several: int = 0  # additional class of an image, which can have only one
    unknown_images: Counter[str] = field(default_factory=Counter)
    unclear_images: Counter[str] = field(default_factory=Counter)
    unknown_terms: Counter[tuple[str, ...]] = field(default_factory=Counter)
    unclear_terms: Counter[str] = field(default_factory=Counter)
    nearest: dict[tuple[str, ...], list[Term]] = field(default_factory=dict)
    unconfirmed: Counter[str] = field(default_factory=Counter)  # of the stored labels: predicted and dubious ones
    outside: Counter[str] = field(default_factory=Counter)  # parts outside their image
    coarse: bool = False  # times were rounded to days and confidences to hundredths

    def note_status(self, record: LabelRecord) -> None:
        if record.status in UNCONFIRMED:
            self.unconfirmed[record.status] += 1


@dataclass(frozen=True)
class Meant:
    """A label whose image and term are known."""

    images: tuple[int, ...]
    term_id: int
    record: LabelRecord
    source: str


def images_of(workspace: Workspace, collection: str | None = None, dive: str | None = None) -> ImageMatcher:
    """Return a matcher for the names of all images, or those of a collection or dive."""
    library = workspace.library
    only = library.collection_named(collection).id if collection else None
    names = {collection.id: collection.name for collection in library.collections()}
    groups = {group.id: (group.name, names[group.collection_id]) for group in library.groups(only)}
    if dive is not None and dive not in {name for name, _ in groups.values()}:
        raise unknown("dives", dive, {name for name, _ in groups.values()})
    columns = library.columns("id", "path", "sha256", "group_id", collection_id=only)
    rows = zip(*(columns[name].tolist() for name in ("id", "path", "sha256", "group_id")), strict=True)
    return ImageMatcher(
        [
            Known(number, path, sha256, *groups[group])
            for number, path, sha256, group in rows
            if dive is None or groups[group][0] == dive
        ]
    )


def understood(
    records: Iterable[tuple[str, LabelRecord]],
    images: ImageMatcher,
    terms: Terms,
    tally: ImportCounts,
    on_step: OnStep = ignore,
) -> list[Meant]:
    """Return the labels whose image and term are known, and count the others. Each record has the name of its file."""
    matched = []
    for at, (source, record) in enumerate(records):
        if at % TOLD_EVERY == 0:
            on_step(Progress(at, None, f"Matching {at:,} labels"))
        term, numbers = _term(record, terms, tally), _images(record, images, tally)
        if term and numbers:
            matched.append(Meant(tuple(numbers), term.id, record, source))
    return matched


def acts_of(workspace: Workspace, meant: Sequence[Meant], tally: ImportCounts, *, replace: bool) -> list[Act]:
    """Return the events that store new labels: first labels of images, then labels of parts."""
    facts = [*_image_facts(workspace, meant, tally, replace), *_annotation_facts(workspace, meant, tally)]
    fine = _grouped(facts, lambda fact: fact)
    if len(fine) > MOST_ACTS:
        tally.coarse = True
        fine = _grouped(facts, _coarsened)
    return [_new_event(key, group) for key, group in fine.items()]


def _term(record: LabelRecord, terms: Terms, tally: ImportCounts) -> Term | None:
    try:
        term = terms.meant_by(record)
    except Unclear as error:
        tally.unclear_terms[f"{joined(record.path)}: {error}"] += 1
        return None
    if term is None:
        tally.unknown_terms[record.path] += 1
        if record.path not in tally.nearest:
            tally.nearest[record.path] = terms.nearest(record)
    return term


def _images(record: LabelRecord, images: ImageMatcher, tally: ImportCounts) -> list[int]:
    try:
        matches = images.meant_by(record)
    except Unclear:
        tally.unclear_images[record.image] += 1
        return []
    if not matches:
        tally.unknown_images[record.image] += 1
    return matches


def _image_facts(
    workspace: Workspace, meant: Sequence[Meant], tally: ImportCounts, replace: bool
) -> list[tuple[Fact, tuple[int, tuple[float, ...]]]]:
    """Return (content of the event, (image, ())) for each new label."""
    current = dict(zip(*(array.tolist() for array in workspace.labels.current_terms()), strict=True))
    assigned: dict[int, int] = {}
    facts: list[tuple[Fact, tuple[int, tuple[float, ...]]]] = []
    for label in meant:
        for image in label.images if label.record.shape is None else ():
            if image in assigned:
                tally.several += assigned[image] != label.term_id
                continue
            assigned[image] = label.term_id
            old = current.get(image)
            tally.there += old == label.term_id
            if old is not None and old != label.term_id:
                tally.replaced += replace
                tally.conflicting += not replace
            if old is None or (replace and old != label.term_id):
                tally.stored += 1
                tally.note_status(label.record)
                facts.append((_fact(label), (image, ())))
    return facts


def _annotation_facts(
    workspace: Workspace, meant: Sequence[Meant], tally: ImportCounts
) -> list[tuple[Fact, tuple[int, tuple[float, ...]]]]:
    """Return the same for parts, in pixels. A part that already exists is not stored twice."""
    marked = [(image, label, label.record.shape) for label in meant if label.record.shape for image in label.images]
    if not marked:
        return []
    sizes = _sizes(workspace)
    known: set[tuple[int, str, tuple[float, ...], int | None]] = {
        (annotation.image, annotation.shape, annotation.numbers, annotation.event.term_id)
        for annotation in standing_parts(workspace.labels.events())
    }
    facts = []
    for image, label, shape in marked:
        numbers = _in_pixels(label.record, sizes[image])
        if lies_outside(shape, numbers, sizes[image]):
            tally.outside[label.record.image] += 1
            continue
        key = (image, shape, numbers, label.term_id)
        tally.there += key in known
        if key not in known:
            known.add(key)
            tally.annotations += 1
            tally.note_status(label.record)
            facts.append((_fact(label), (image, numbers)))
    return facts


def _sizes(workspace: Workspace) -> dict[int, tuple[int, int]]:
    columns = workspace.library.columns("id", "width", "height")
    return {
        number: (width, height)
        for number, width, height in zip(*(columns[name].tolist() for name in ("id", "width", "height")), strict=True)
    }


def _in_pixels(record: LabelRecord, size: tuple[int, int]) -> tuple[float, ...]:
    """Convert fractions of width and height to pixels, rounded to a millionth because fractions are decimal."""
    if not record.relative:
        return tuple(record.numbers)
    return tuple(round(share * size[at % 2], 6) for at, share in enumerate(record.numbers))


def lies_outside(shape: str, numbers: Sequence[float], size: tuple[int, int]) -> bool:
    """Return whether a part is completely outside an image of this width and height."""
    if shape == "mask":
        return tuple(map(int, numbers[:2])) != (size[1], size[0])
    if shape == "circle":
        x, y, radius = numbers
        x_min, top, right, bottom = x - radius, y - radius, x + radius, y + radius
    elif shape == "box":
        x_min, top, right, bottom = numbers[0], numbers[1], numbers[0] + numbers[2], numbers[1] + numbers[3]
    else:
        x_min, top, right, bottom = min(numbers[::2]), min(numbers[1::2]), max(numbers[::2]), max(numbers[1::2])
    return right < 0 or bottom < 0 or x_min > size[0] or top > size[1]


def _fact(label: Meant) -> Fact:
    record = label.record
    return (
        label.term_id,
        record.shape,
        label.source,
        record.who,
        record.at,
        record.why,
        record.status,
        record.confidence,
    )


def _coarsened(fact: Fact) -> Fact:
    term_id, shape, source, person, at, why, status, confidence = fact
    day = None if at is None else at // DAY * DAY
    return term_id, shape, source, person, day, why, status, None if confidence is None else round(confidence, 2)


def _grouped(facts: Sequence[tuple[Fact, Any]], key: Any) -> dict[Fact, list[Any]]:
    groups: dict[Fact, list[Any]] = defaultdict(list)
    for fact, target in facts:
        groups[key(fact)].append(target)
    return groups


def _new_event(fact: Fact, group: Sequence[tuple[int, tuple[float, ...]]]) -> Act:
    term_id, shape, source, person, at, why, status, confidence = fact
    stated = {"source": source, "by": person, "at": at, "why": why, "status": status}
    rule = {name: value for name, value in stated.items() if value is not None}
    if shape:
        return part_act(term_id, shape, group, why="import", rule=rule, confidence=confidence)
    images = np.unique(np.array([image for image, _ in group], np.int64))
    return Act("label", images, "import", term_id, rule=rule, confidence=confidence)


def problems_of(tally: ImportCounts) -> list[Problem]:
    """Return the problems, one per term and one for all images."""
    problems = [
        Problem(f"label '{joined(path)}'", f"there is no such term, for {count:,} labels", _offer(tally.nearest[path]))
        for path, count in tally.unknown_terms.most_common()
    ]
    problems += [
        Problem(f"label {description}", f"several terms match, for {count:,} labels", "choose a --vocabulary")
        for description, count in tally.unclear_terms.most_common()
    ]
    for names, text, remedy in (
        (
            tally.outside,
            "have parts outside the image, which were ignored",
            "check that the file refers to these images, not to larger originals",
        ),
        (tally.unknown_images, "are not in the workspace", "import their images first, or check the names"),
        (tally.unclear_images, "match several images", "choose a --collection or --dive"),
    ):
        if names:
            shown = ", ".join(list(names)[:3])
            problems.append(Problem(f"{len(names):,} images", f"{text}, such as {shown}", remedy))
    return problems


def _offer(nearest: Sequence[Term]) -> str:
    add = "add it with --add-terms"
    return f"did you mean {', '.join(joined(term.path) for term in nearest)}? Or {add}" if nearest else add
