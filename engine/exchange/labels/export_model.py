"""The data of an export: images with their effective labels, and the report on what a format cannot store."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePosixPath
from typing import Any

from benthoscope.engine.exchange.parsing.csv_output import is_formula
from benthoscope.engine.workspace import Image
from benthoscope.engine.workspace.labels.vocabularies import Term

# checked by a person, given to many images without an individual look, or by a model
VERIFIED, BULK, PREDICTED = "verified", "bulk", "predicted"
DUBIOUS = "dubious"  # by a person or a model, but not confirmed: it needs a second look
Place = tuple[str, str]  # collection, group


@dataclass(frozen=True)
class ExportLabel:
    """A label: the term, the person, the time and reason, and the confidence."""

    term: Term
    vocabulary: str
    who: str
    at: float  # seconds since 1970 UTC
    why: str  # a reason of the label log
    status: str  # verified, bulk, predicted or dubious
    confidence: float | None  # 0 to 1


@dataclass(frozen=True)
class ExportAnnotation:
    """A label of a part of an image. Shapes and numbers as in engine.workspace.labels.parts, in pixels."""

    label: ExportLabel
    shape: str
    numbers: tuple[float, ...]


@dataclass(frozen=True)
class ExportImage:
    """An image with its position, its label and its cluster."""

    image: Image
    group: str
    collection: str
    label: ExportLabel | None = None
    annotations: tuple[ExportAnnotation, ...] = ()
    cluster: int | None = None
    probability: float | None = None

    @property
    def given_label(self) -> ExportLabel:
        """Return the label of an image that has one, such as those in `Outgoing.labelled`."""
        if self.label is None:
            raise ValueError(f"{self.image.path} has no label")
        return self.label

    @property
    def group_key(self) -> Place:
        return self.collection, self.group

    @property
    def name(self) -> str:
        return PurePosixPath(self.image.path).name


@dataclass(frozen=True)
class ExportTrack:
    """The navigation file of a dive as imported."""

    name: str
    data: bytes


@dataclass(frozen=True)
class Outgoing:
    """All data of an export. `headers` are the iFDO headers of imported dives, `fields` header fields added by the
    user; `audits`, `refusals` and `past` count events that no format can store."""

    title: str
    identity: str  # of the workspace
    pictures: tuple[ExportImage, ...]
    terms: Mapping[str, Sequence[Term]]  # vocabulary name: all its terms, parents first
    versions: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[Place, Mapping[str, Any]] = field(default_factory=dict)
    tracks: Mapping[Place, Sequence[ExportTrack]] = field(default_factory=dict)
    fields: Mapping[str, Any] = field(default_factory=dict)
    run: str = ""
    audits: int = 0
    refusals: int = 0
    past: int = 0

    @cached_property
    def labelled(self) -> tuple[ExportImage, ...]:
        return tuple(picture for picture in self.pictures if picture.label)

    @cached_property
    def all_labels(self) -> tuple[ExportLabel, ...]:
        """Return the labels of images and of their parts."""
        return tuple(
            label
            for picture in self.pictures
            for label in (
                *([picture.label] if picture.label else []),
                *(annotation.label for annotation in picture.annotations),
            )
        )

    @cached_property
    def used_terms(self) -> dict[int, tuple[str, Term]]:
        """Return (vocabulary, term) of each term in use, by id, sorted by path."""
        terms = {label.term.id: (label.vocabulary, label.term) for label in self.all_labels}
        return dict(sorted(terms.items(), key=lambda pair: (pair[1][0], pair[1][1].path)))

    @cached_property
    def by_group(self) -> dict[Place, list[ExportImage]]:
        groups: dict[Place, list[ExportImage]] = {}
        for picture in self.pictures:
            groups.setdefault(picture.group_key, []).append(picture)
        return groups

    @cached_property
    def keys(self) -> dict[int, str]:
        """Return the name of each image in formats that use file names: its name, or its path if a dive has the name
        twice."""
        names = Counter((picture.group_key, picture.name.lower()) for picture in self.pictures)
        return {
            picture.image.id: picture.name
            if names[picture.group_key, picture.name.lower()] == 1
            else picture.image.path
            for picture in self.pictures
        }

    @cached_property
    def formula_names(self) -> int:
        """Return the number of names of images, dives, campaigns and classes that a spreadsheet would run as
        formulas."""
        names = {name for group_key in self.by_group for name in group_key}
        terms = {text for _, term in self.used_terms.values() for text in (term.name, term.path[0])}
        return sum(map(is_formula, (*self.keys.values(), *names, *terms)))


@dataclass(frozen=True)
class ExportFile:
    """A file to write. Its chunks are created while it is written."""

    name: str
    chunks: Iterable[bytes]


@dataclass(frozen=True)
class Loss:
    """Something in the workspace that the export does not contain, or not completely."""

    what: str
    count: int
    why: str


@dataclass(frozen=True)
class Written:
    """The files of a format. `rows` counts the written labels."""

    files: tuple[ExportFile, ...]
    rows: int
    losses: tuple[Loss, ...]


@dataclass(frozen=True)
class ExportReport:
    """The written files and the data not included; stored beside the files."""

    files: tuple[str, ...]
    rows: int
    losses: tuple[Loss, ...]

    def to_dict(self) -> dict[str, Any]:
        return {"files": list(self.files), "rows": self.rows, "losses": [vars(loss) for loss in self.losses]}


@dataclass(frozen=True)
class Thing:
    """A kind of data that may be lost: its name, and a function that counts it among the written labels."""

    description: str
    count: Callable[[Outgoing, Sequence[ExportLabel]], int]


def losses(outgoing: Outgoing, carried: Iterable[str], why: str, *, special: Sequence[Loss] = ()) -> tuple[Loss, ...]:
    """Return the THINGS that exist but are not `carried`, and `special` ones of the format. Kinds without data are left
    out."""
    carried_kinds = frozenset(carried)
    labels = _written_labels(outgoing, carried_kinds)
    lost = [
        Loss(thing.description, thing.count(outgoing, labels), why)
        for name, thing in THINGS.items()
        if name not in carried_kinds
    ]
    return tuple(loss for loss in (*special, *lost) if loss.count)


def _written_labels(outgoing: Outgoing, carried: frozenset[str]) -> list[ExportLabel]:
    """Return the labels whose details a format could store. A lost label is counted once, not once per detail."""
    image_labels = [picture.given_label for picture in outgoing.labelled] if "whole" in carried else []
    annotation_labels = (
        [annotation.label for picture in outgoing.pictures for annotation in picture.annotations]
        if "parts" in carried
        else []
    )
    return image_labels + annotation_labels


def _pictures(test: Callable[[ExportImage], Any]) -> Callable[[Outgoing, Sequence[ExportLabel]], int]:
    return lambda outgoing, _: sum(bool(test(picture)) for picture in outgoing.pictures)


def _count_labels(test: Callable[[ExportLabel], Any]) -> Callable[[Outgoing, Sequence[ExportLabel]], int]:
    return lambda _, labels: sum(bool(test(label)) for label in labels)


def _once(count: Callable[[Outgoing], int]) -> Callable[[Outgoing, Sequence[ExportLabel]], int]:
    return lambda outgoing, _: count(outgoing)


THINGS = {
    "unlabelled": Thing("images without a label", _pictures(lambda picture: not picture.label)),
    "whole": Thing("labels of whole images", _once(lambda outgoing: len(outgoing.labelled))),
    "parts": Thing(
        "labels of points, boxes and outlines",
        _once(lambda outgoing: sum(len(picture.annotations) for picture in outgoing.pictures)),
    ),
    "paths": Thing("labels whose class has parents", _count_labels(lambda label: len(label.term.path) > 1)),
    "codes": Thing("labels whose class has a code", _count_labels(lambda label: label.term.code)),
    "vocabulary": Thing("names of vocabularies", lambda _, labels: len({label.vocabulary for label in labels})),
    "who": Thing("labels with their author", _count_labels(lambda label: label.who)),
    "at": Thing("labels with their time", _count_labels(lambda label: label.at)),
    "why": Thing("labels with their reason", _count_labels(lambda label: label.why)),
    "status": Thing("labels not verified individually", _count_labels(lambda label: label.status != VERIFIED)),
    "confidence": Thing("labels with a confidence", _count_labels(lambda label: label.confidence is not None)),
    "sha256": Thing("hashes of images", _once(lambda outgoing: len(outgoing.pictures))),
    "group": Thing("names of dives or albums", _once(lambda outgoing: len(outgoing.by_group))),
    "taken_at": Thing("times of images", _pictures(lambda picture: picture.image.taken_at is not None)),
    "position": Thing("positions of images", _pictures(lambda picture: picture.image.latitude is not None)),
    "depth": Thing("depths of images", _pictures(lambda picture: picture.image.depth is not None)),
    "altitude": Thing("heights above the sea floor", _pictures(lambda picture: picture.image.altitude is not None)),
    "details": Thing("images with further metadata", _pictures(lambda picture: picture.image.details)),
    "clusters": Thing("images with a cluster", _pictures(lambda picture: picture.cluster is not None)),
    "audits": Thing("audits of labels", _once(lambda outgoing: outgoing.audits)),
    "refusals": Thing("refused suggestions", _once(lambda outgoing: outgoing.refusals)),
    "past": Thing("earlier events: labels replaced, undone or removed", _once(lambda outgoing: outgoing.past)),
}
# Things that our own table and iFDO files store: all except further metadata and the history.
CARRIED_BY_TABLES = frozenset(THINGS) - {"details", "audits", "refusals", "past"}
