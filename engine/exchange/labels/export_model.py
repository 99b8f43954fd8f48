"""What leaves the workspace: images with the labels that hold, and the account of what a format could not carry."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePosixPath
from typing import Any

from engine.workspace import Image
from engine.workspace.vocabularies import Term

VERIFIED, BULK, PREDICTED = "verified", "bulk", "predicted"  # seen by a person, named unseen with others, by a model
Place = tuple[str, str]  # collection, group


@dataclass(frozen=True)
class Said:
    """A label: the term, who gave it when and why, and how sure it is."""

    term: Term
    vocabulary: str
    who: str
    at: float                 # seconds since 1970 UTC
    why: str                  # a reason of the label log
    status: str               # verified, bulk or predicted
    confidence: float | None  # 0 to 1


@dataclass(frozen=True)
class PartSaid:
    """A label of a part of an image; shapes and numbers as in engine.workspace.parts, in pixels."""

    said: Said
    shape: str
    numbers: tuple[float, ...]


@dataclass(frozen=True)
class Picture:
    """An image with its place, its label, and the cluster it is in."""

    image: Image
    group: str
    collection: str
    said: Said | None = None
    parts: tuple[PartSaid, ...] = ()
    cluster: int | None = None
    probability: float | None = None

    @property
    def place(self) -> Place:
        return self.collection, self.group

    @property
    def name(self) -> str:
        return PurePosixPath(self.image.path).name


@dataclass(frozen=True)
class Track:
    """The navigation file of a dive as it was imported."""

    name: str
    data: bytes


@dataclass(frozen=True)
class Outgoing:
    """Everything an export may need. `headers` are what an iFDO file said of a dive when it was imported, `fields` what
    a person adds to the header now; `audits`, `refusals` and `past` count events no format has a place for."""

    title: str
    identity: str  # of the workspace
    pictures: tuple[Picture, ...]
    terms: Mapping[str, Sequence[Term]]  # vocabulary name: all of its terms, parents first
    versions: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[Place, Mapping[str, Any]] = field(default_factory=dict)
    tracks: Mapping[Place, Sequence[Track]] = field(default_factory=dict)
    fields: Mapping[str, Any] = field(default_factory=dict)
    run: str = ""
    audits: int = 0
    refusals: int = 0
    past: int = 0

    @cached_property
    def labelled(self) -> tuple[Picture, ...]:
        return tuple(picture for picture in self.pictures if picture.said)

    @cached_property
    def all_said(self) -> tuple[Said, ...]:
        """Of images and of their parts."""
        return tuple(said for picture in self.pictures
                     for said in (*([picture.said] if picture.said else []), *(part.said for part in picture.parts)))

    @cached_property
    def used_terms(self) -> dict[int, tuple[str, Term]]:
        """(vocabulary, term) of every term some label uses, by id, in the order of their paths."""
        found = {said.term.id: (said.vocabulary, said.term) for said in self.all_said}
        return dict(sorted(found.items(), key=lambda pair: (pair[1][0], pair[1][1].path)))

    @cached_property
    def by_place(self) -> dict[Place, list[Picture]]:
        found: dict[Place, list[Picture]] = {}
        for picture in self.pictures:
            found.setdefault(picture.place, []).append(picture)
        return found

    @cached_property
    def keys(self) -> dict[int, str]:
        """What formats that know file names call an image: its name, or its path where a dive has the name twice."""
        names = Counter((picture.place, picture.name.lower()) for picture in self.pictures)
        return {picture.image.id: picture.name if names[picture.place, picture.name.lower()] == 1
                else picture.image.path for picture in self.pictures}


@dataclass(frozen=True)
class ExportFile:
    """A file to be written; the chunks are made while it is."""

    name: str
    chunks: Iterable[bytes]


@dataclass(frozen=True)
class Loss:
    """Something the workspace holds and the export does not, or not in full."""

    what: str
    count: int
    why: str


@dataclass(frozen=True)
class Written:
    """What a format makes of it. `rows` counts labels written."""

    files: tuple[ExportFile, ...]
    rows: int
    losses: tuple[Loss, ...]


@dataclass(frozen=True)
class ExportReport:
    """What was written and what was left behind; kept beside the files."""

    files: tuple[str, ...]
    rows: int
    losses: tuple[Loss, ...]

    def told(self) -> dict[str, Any]:
        return {"files": list(self.files), "rows": self.rows, "losses": [vars(loss) for loss in self.losses]}


@dataclass(frozen=True)
class Thing:
    """Something that may be lost: what it is called and how many there are, among the labels that are written."""

    what: str
    count: Callable[[Outgoing, Sequence[Said]], int]


def losses(outgoing: Outgoing, carried: Iterable[str], why: str, *, special: Sequence[Loss] = ()) -> tuple[Loss, ...]:
    """What of THINGS is there and not carried, with `special` ones of the format; those that concern nothing are left
    out."""
    kept = frozenset(carried)
    said = _written_labels(outgoing, kept)
    lost = [Loss(thing.what, thing.count(outgoing, said), why) for name, thing in THINGS.items() if name not in kept]
    return tuple(loss for loss in (*special, *lost) if loss.count)


def _written_labels(outgoing: Outgoing, kept: frozenset[str]) -> list[Said]:
    """The labels whose details a format might carry: a lost label is counted once, not once for each detail."""
    whole = [picture.said for picture in outgoing.labelled] if "whole" in kept else []
    parts = [part.said for picture in outgoing.pictures for part in picture.parts] if "parts" in kept else []
    return whole + parts


def _pictures(test: Callable[[Picture], Any]) -> Callable[[Outgoing, Sequence[Said]], int]:
    return lambda outgoing, _: sum(bool(test(picture)) for picture in outgoing.pictures)


def _said(test: Callable[[Said], Any]) -> Callable[[Outgoing, Sequence[Said]], int]:
    return lambda _, labels: sum(bool(test(said)) for said in labels)


def _once(count: Callable[[Outgoing], int]) -> Callable[[Outgoing, Sequence[Said]], int]:
    return lambda outgoing, _: count(outgoing)


THINGS = {
    "unlabelled": Thing("images without a label", _pictures(lambda picture: not picture.said)),
    "whole": Thing("labels of whole images", _once(lambda outgoing: len(outgoing.labelled))),
    "parts": Thing("labels of points, boxes and outlines",
                   _once(lambda outgoing: sum(len(picture.parts) for picture in outgoing.pictures))),
    "paths": Thing("labels whose class has parents", _said(lambda said: len(said.term.path) > 1)),
    "codes": Thing("labels whose class has a code", _said(lambda said: said.term.code)),
    "vocabulary": Thing("names of vocabularies", lambda _, labels: len({said.vocabulary for said in labels})),
    "who": Thing("labels with the person who gave them", _said(lambda said: said.who)),
    "at": Thing("labels with the moment they were given", _said(lambda said: said.at)),
    "why": Thing("labels with the reason they were given", _said(lambda said: said.why)),
    "status": Thing("labels not verified one by one", _said(lambda said: said.status != VERIFIED)),
    "confidence": Thing("labels with a confidence", _said(lambda said: said.confidence is not None)),
    "sha256": Thing("hashes of images", _once(lambda outgoing: len(outgoing.pictures))),
    "group": Thing("dives or albums of images", _once(lambda outgoing: len(outgoing.by_place))),
    "taken_at": Thing("times of images", _pictures(lambda picture: picture.image.taken_at is not None)),
    "position": Thing("positions of images", _pictures(lambda picture: picture.image.latitude is not None)),
    "depth": Thing("depths of images", _pictures(lambda picture: picture.image.depth is not None)),
    "altitude": Thing("heights above the sea floor", _pictures(lambda picture: picture.image.altitude is not None)),
    "details": Thing("images with further metadata", _pictures(lambda picture: picture.image.details)),
    "clusters": Thing("images with a cluster", _pictures(lambda picture: picture.cluster is not None)),
    "audits": Thing("audits of labels", _once(lambda outgoing: outgoing.audits)),
    "refusals": Thing("refused suggestions", _once(lambda outgoing: outgoing.refusals)),
    "past": Thing("earlier acts: labels replaced, undone or taken away", _once(lambda outgoing: outgoing.past)),
}
