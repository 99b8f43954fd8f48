"""Labels read from files, sorted out: which can be stored, which are there already, which stand against what holds."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from engine.exchange.label_matching import Images, Known, Terms, Unclear
from engine.exchange.label_records import LabelRecord
from engine.problems import Problem, unknown
from engine.progress import OnStep, Progress, ignore
from engine.workspace import Workspace
from engine.workspace.labels import Act
from engine.workspace.parts import part_act, standing_parts
from engine.workspace.vocabularies import Term

SHOWN = 10          # examples of a kind that are named
MOST_ACTS = 2_000   # beyond it the log grows faster than what is learnt from to-the-second times
DAY = 86_400
TOLD_EVERY = 10_000
Fact = tuple[Any, ...]


@dataclass
class Tally:
    """What became of the labels."""

    stored: int = 0
    parts: int = 0
    there: int = 0        # said by the workspace already
    kept: int = 0         # their image has another label, which stays
    replaced: int = 0     # their image had another label, which they take the place of
    several: int = 0      # a further class for an image, of which one can hold
    unknown_images: Counter[str] = field(default_factory=Counter)
    unclear_images: Counter[str] = field(default_factory=Counter)
    unknown_terms: Counter[tuple[str, ...]] = field(default_factory=Counter)
    unclear_terms: Counter[str] = field(default_factory=Counter)
    nearest: dict[tuple[str, ...], list[Term]] = field(default_factory=dict)
    coarse: bool = False  # moments were cut to days and confidences to hundredths


@dataclass(frozen=True)
class Meant:
    """A label whose image and term were found."""

    images: tuple[int, ...]
    term_id: int
    record: LabelRecord
    source: str


def images_of(workspace: Workspace, collection: str | None = None, dive: str | None = None) -> Images:
    """All images, or those of a collection or dive, to be found by names from outside."""
    library = workspace.library
    only = library.collection_named(collection).id if collection else None
    names = {found.id: found.name for found in library.collections()}
    groups = {group.id: (group.name, names[group.collection_id]) for group in library.groups(only)}
    if dive is not None and dive not in {name for name, _ in groups.values()}:
        raise unknown("dives", dive, {name for name, _ in groups.values()})
    columns = library.columns("id", "path", "sha256", "group_id", collection_id=only)
    rows = zip(*(columns[name].tolist() for name in ("id", "path", "sha256", "group_id")), strict=True)
    return Images([Known(number, path, sha256, *groups[group]) for number, path, sha256, group in rows
                   if dive is None or groups[group][0] == dive])


def understood(records: Iterable[tuple[str, LabelRecord]], images: Images, terms: Terms, tally: Tally,
               on_step: OnStep = ignore) -> list[Meant]:
    """The labels whose image and term are known; the others are tallied. Records come with their file's name."""
    found = []
    for at, (source, record) in enumerate(records):
        if at % TOLD_EVERY == 0:
            on_step(Progress(at, None, f"Matching {at:,} labels"))
        term, numbers = _term(record, terms, tally), _images(record, images, tally)
        if term and numbers:
            found.append(Meant(tuple(numbers), term.id, record, source))
    return found


def acts_of(workspace: Workspace, meant: Sequence[Meant], tally: Tally, *, replace: bool) -> list[Act]:
    """The acts that store what is new: labels of whole images, then those of parts."""
    facts = [*_whole(workspace, meant, tally, replace), *_parts(workspace, meant, tally)]
    fine = _grouped(facts, lambda one: one)
    if len(fine) > MOST_ACTS:
        tally.coarse = True
        fine = _grouped(facts, _coarsened)
    return [_act(key, group) for key, group in fine.items()]


def _term(record: LabelRecord, terms: Terms, tally: Tally) -> Term | None:
    try:
        found = terms.meant_by(record)
    except Unclear as error:
        tally.unclear_terms[f"{' > '.join(record.path)}: {error}"] += 1
        return None
    if found is None:
        tally.unknown_terms[record.path] += 1
        if record.path not in tally.nearest:
            tally.nearest[record.path] = terms.nearest(record)
    return found


def _images(record: LabelRecord, images: Images, tally: Tally) -> list[int]:
    try:
        found = images.meant_by(record)
    except Unclear:
        tally.unclear_images[record.image] += 1
        return []
    if not found:
        tally.unknown_images[record.image] += 1
    return found


def _whole(workspace: Workspace, meant: Sequence[Meant], tally: Tally, replace: bool
           ) -> list[tuple[Fact, tuple[int, tuple[float, ...]]]]:
    """(what the act says, (image, ())) of every label that is new."""
    held = dict(zip(*(array.tolist() for array in workspace.labels.current_terms()), strict=True))
    taken: dict[int, int] = {}
    found = []
    for one in meant:
        for image in one.images if one.record.shape is None else ():
            if image in taken:
                tally.several += taken[image] != one.term_id
                continue
            taken[image] = one.term_id
            old = held.get(image)
            tally.there += old == one.term_id
            if old is not None and old != one.term_id:
                tally.replaced += replace
                tally.kept += not replace
            if old is None or (replace and old != one.term_id):
                tally.stored += 1
                found.append((_fact(one), (image, ())))
    return found


def _parts(workspace: Workspace, meant: Sequence[Meant], tally: Tally
           ) -> list[tuple[Fact, tuple[int, tuple[float, ...]]]]:
    """The same of parts, in pixels; a part that is there already is not stored twice."""
    marked = [(image, one) for one in meant if one.record.shape for image in one.images]
    if not marked:
        return []
    sizes = _sizes(workspace)
    known = {(part.image, part.shape, part.numbers, part.event.term_id)
             for part in standing_parts(workspace.labels.events())}
    found = []
    for image, one in marked:
        numbers = _in_pixels(one.record, sizes[image])
        key = (image, one.record.shape, numbers, one.term_id)
        tally.there += key in known
        if key not in known:
            known.add(key)
            tally.parts += 1
            found.append((_fact(one), (image, numbers)))
    return found


def _sizes(workspace: Workspace) -> dict[int, tuple[int, int]]:
    columns = workspace.library.columns("id", "width", "height")
    return {number: (width, height) for number, width, height in
            zip(*(columns[name].tolist() for name in ("id", "width", "height")), strict=True)}


def _in_pixels(record: LabelRecord, size: tuple[int, int]) -> tuple[float, ...]:
    """Shares of width and height as pixels, to a millionth: shares are decimal fractions of them."""
    if not record.relative:
        return tuple(record.numbers)
    return tuple(round(share * size[at % 2], 6) for at, share in enumerate(record.numbers))


def _fact(one: Meant) -> Fact:
    record = one.record
    return (one.term_id, record.shape, one.source, record.who, record.at, record.why, record.status, record.confidence)


def _coarsened(fact: Fact) -> Fact:
    term_id, shape, source, who, at, why, status, confidence = fact
    day = None if at is None else at // DAY * DAY
    return term_id, shape, source, who, day, why, status, None if confidence is None else round(confidence, 2)


def _grouped(facts: Sequence[tuple[Fact, Any]], key: Any) -> dict[Fact, list[Any]]:
    found: dict[Fact, list[Any]] = defaultdict(list)
    for fact, what in facts:
        found[key(fact)].append(what)
    return found


def _act(fact: Fact, group: Sequence[tuple[int, tuple[float, ...]]]) -> Act:
    term_id, shape, source, who, at, why, status, confidence = fact
    said = {"source": source, "by": who, "at": at, "why": why, "status": status}
    rule = {name: value for name, value in said.items() if value is not None}
    if shape:
        return part_act(term_id, shape, group, why="import", rule=rule, confidence=confidence)
    images = np.unique(np.array([image for image, _ in group], np.int64))
    return Act("label", images, "import", term_id, rule=rule, confidence=confidence)


def problems_of(tally: Tally) -> list[Problem]:
    """What could not be used, one line for each term and one for all images."""
    found = [Problem(f"label '{' > '.join(path)}'", f"no such term, for {count:,} labels", _offer(tally.nearest[path]))
             for path, count in tally.unknown_terms.most_common()]
    found += [Problem(f"label {told}", f"several terms may be meant, for {count:,} labels", "say which --vocabulary")
              for told, count in tally.unclear_terms.most_common()]
    for names, what, remedy in (
            (tally.unknown_images, "are not in the workspace", "import their images first, or check the names"),
            (tally.unclear_images, "are names of several images", "say which --collection or --dive is meant")):
        if names:
            shown = ", ".join(list(names)[:3])
            found.append(Problem(f"{len(names):,} images", f"{what}, such as {shown}", remedy))
    return found


def _offer(nearest: Sequence[Term]) -> str:
    add = "add it with --add-terms"
    return f"did you mean {', '.join(' > '.join(term.path) for term in nearest)}? Or {add}" if nearest else add
