"""What an importer of labels makes of a file from outside."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from engine.exchange import values
from engine.exchange.moments import moment
from engine.exchange.outgoing import BULK, PREDICTED, VERIFIED
from engine.exchange.records import Complaints
from engine.problems import Problem
from engine.workspace.vocabularies import NewTerm

STATES = (VERIFIED, BULK, PREDICTED)


@dataclass(frozen=True)
class LabelRecord:
    """One label, its image and class named as the source names them; None where it says nothing.

    With a shape it is the label of a part of the image (see engine.workspace.parts), in pixels, or where `relative` in
    shares of the image's width and height.
    """

    image: str
    path: tuple[str, ...]           # of the class from the root down; one name where the source knows no more
    group: str | None = None
    collection: str | None = None
    sha256: str | None = None
    code: str | None = None
    vocabulary: str | None = None
    who: str | None = None
    at: float | None = None
    why: str | None = None
    status: str | None = None
    confidence: float | None = None
    shape: str | None = None
    numbers: tuple[float, ...] = ()
    relative: bool = False


@dataclass(frozen=True)
class LabelReading:
    """The labels of one file; `vocabularies` are class lists it brings, name: (version, terms)."""

    records: tuple[LabelRecord, ...] = ()
    problems: tuple[Problem, ...] = ()
    losses: tuple[str, ...] = ()
    vocabularies: Mapping[str, tuple[str, Sequence[NewTerm]]] = field(default_factory=dict)


def confidence_in(value: object, place: str, complaints: Complaints) -> float | None:
    """A share from 0 to 1, or None."""
    try:
        found = values.number(value)
    except ValueError as error:
        complaints.add(place, f"confidence: {error}", "give a share from 0 to 1", "confidences that cannot be used")
        return None
    if found is not None and not 0 <= found <= 1:
        complaints.add(place, f"a confidence of {found:g}", "give a share from 0 to 1", "confidences beyond 0 to 1")
        return None
    return found


def moment_in(value: object, place: str, complaints: Complaints) -> float | None:
    try:
        return moment(value)
    except ValueError as error:
        complaints.add(place, str(error), "use 2019-05-13 13:14:15, in UTC", "times that cannot be used")
        return None


def number_in(value: object, place: str, complaints: Complaints) -> float | None:
    try:
        return values.number(value)
    except ValueError as error:
        complaints.add(place, str(error), "give a plain number", "numbers that cannot be used")
        return None


def state_in(value: str | None) -> str | None:
    return value if value in STATES else None


def worded(value: str | None) -> str | None:
    """The text of a cell, None for an empty one."""
    return value if value and value.strip() else None
