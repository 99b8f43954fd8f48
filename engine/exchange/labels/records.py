"""Records that importers create from label files."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from benthoscope.engine.exchange.labels.export_model import BULK, DUBIOUS, PREDICTED, VERIFIED
from benthoscope.engine.exchange.parsing import values
from benthoscope.engine.exchange.parsing.values import moment
from benthoscope.engine.exchange.records import Complaints
from benthoscope.engine.problems import Problem
from benthoscope.engine.workspace.labels.vocabularies import NewTerm

STATES = (VERIFIED, BULK, PREDICTED, DUBIOUS)


@dataclass(frozen=True)
class LabelRecord:
    """One label, with its image and class named as in the source; None for missing values.

    With a shape, it is the label of a part of the image (see engine.workspace.labels.parts), in pixels or, if
    `relative`, in fractions of the image's width and height.
    """

    image: str
    path: tuple[str, ...]  # of the class, from the root down; a single name if the source has no more
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
    """The labels of one file. `vocabularies` are the class lists it contains, name: (version, terms)."""

    records: tuple[LabelRecord, ...] = ()
    problems: tuple[Problem, ...] = ()
    losses: tuple[str, ...] = ()
    vocabularies: Mapping[str, tuple[str, Sequence[NewTerm]]] = field(default_factory=dict)


def confidence_in(value: object, location: str, complaints: Complaints) -> float | None:
    """Return a confidence from 0 to 1, or None."""
    try:
        share = values.number(value)
    except ValueError as error:
        complaints.add(location, f"confidence: {error}", "use a number from 0 to 1", "invalid confidences")
        return None
    if share is not None and not 0 <= share <= 1:
        complaints.add(
            location, f"has a confidence of {share:g}", "use a number from 0 to 1", "confidences outside 0 to 1"
        )
        return None
    return share


def moment_in(value: object, location: str, complaints: Complaints) -> float | None:
    try:
        return moment(value)
    except ValueError as error:
        complaints.add(location, str(error), "use 2019-05-13 13:14:15, in UTC", "invalid times")
        return None


def number_in(value: object, location: str, complaints: Complaints) -> float | None:
    try:
        return values.number(value)
    except ValueError as error:
        complaints.add(location, str(error), "give a plain number", "invalid numbers")
        return None


def complete(numbers: Iterable[float | None]) -> tuple[float, ...]:
    """Return the numbers, or () if one of them is missing."""
    values = tuple(numbers)
    known = tuple(number for number in values if number is not None)
    return known if len(known) == len(values) else ()


def state_in(value: str | None) -> str | None:
    return value if value in STATES else None


def worded(value: str | None) -> str | None:
    """Return the text of a cell, None for an empty one."""
    return value if value and value.strip() else None
