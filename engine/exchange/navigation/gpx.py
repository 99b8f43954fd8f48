"""GPX tracks: positions by time from a receiver on the boat, the buoy or the diver.

Read with the bare parser, event by event. Document types, and with them all entities, are rejected, so that neither
entity bombs nor references to other files can do harm.
"""

import math
from typing import Any
from xml.parsers import expat

from benthoscope.engine.exchange.navigation.tracks import Track
from benthoscope.engine.exchange.parsing import values
from benthoscope.engine.exchange.parsing.tables import MAX_BYTES
from benthoscope.engine.exchange.parsing.values import moment
from benthoscope.engine.exchange.records import Complaints
from benthoscope.engine.problems import fail

POINTS = frozenset({"trkpt", "rtept", "wpt"})
FIELDS = frozenset({"time", "ele", "depth"})
DEEPEST = 60
LONGEST_TEXT = 200  # characters of a time or a height
REMEDY = "export the track again as GPX"


def read_gpx(data: bytes, *, source: str) -> Track | None:
    """Return the timed points of a GPX file; None if it has fewer than two. BadInput if it is not valid XML."""
    if len(data) > MAX_BYTES:
        raise fail(source, f"has {len(data) >> 20} MB, more than the limit of {MAX_BYTES >> 20} MB", "split it")
    points = _Points(source)
    try:
        points.parse(data)
    except expat.ExpatError as error:
        reason = f"is not valid XML ({expat.ErrorString(error.code)}, line {error.lineno})"
        raise fail(source, reason, REMEDY) from error
    names = ("latitude", "longitude", "depth")
    return Track.of(
        source,
        "GPX track",
        [point[0] for point in points.points],
        {name: [point[at] for point in points.points] for at, name in enumerate(names, 1)},
        points.complaints.problems(),
    )


class _Points:
    """Collects (time, latitude, longitude, depth) of each point with a time."""

    def __init__(self, source: str):
        self.source, self.complaints = source, Complaints(source)
        self.points: list[tuple[float, float, float, float]] = []
        self._depth = 0
        self._point: dict[str, str] | None = None
        self._field: str | None = None
        self._text: list[str] = []

    def parse(self, data: bytes) -> None:
        parser = expat.ParserCreate()
        parser.StartDoctypeDeclHandler = self._refuse_document_type
        parser.EntityDeclHandler = self._refuse_document_type
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        self._parser = parser
        parser.Parse(data, True)

    def _refuse_document_type(self, *_: Any) -> None:
        raise fail(self.source, "has a document type or entities, which a GPX file does not need", REMEDY)

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > DEEPEST:
            raise fail(self.source, f"is nested more than {DEEPEST} deep", REMEDY)
        name = _local(tag)
        if name in POINTS:
            self._point = {"lat": attributes.get("lat", ""), "lon": attributes.get("lon", "")}
        elif self._point is not None and name in FIELDS:
            self._field, self._text = name, []

    def _characters(self, text: str) -> None:
        if self._field and sum(map(len, self._text)) < LONGEST_TEXT:
            self._text.append(text)

    def _end(self, tag: str) -> None:
        self._depth -= 1
        name = _local(tag)
        if name == self._field and self._point is not None:
            self._point[name] = "".join(self._text)[:LONGEST_TEXT]
            self._field = None
        elif name in POINTS and self._point is not None:
            self._note(self._point)
            self._point = None

    def _note(self, point: dict[str, str]) -> None:
        location = f"line {self._parser.CurrentLineNumber}"
        try:
            at = moment(point.get("time"))
            if at is None:
                self.complaints.add(location, "has no time", "export the track with times", "points without a time")
                return
            latitude, longitude = values.latitude(point["lat"]), values.longitude(point["lon"])
            depth = values.depth(point.get("depth"))
            height = values.elevation(point.get("ele")) if depth is None else None
        except ValueError as error:
            self.complaints.add(location, str(error), REMEDY, "invalid points")
            return
        below = -height if height is not None and height < 0 else None
        self.points.append((at, _or_nan(latitude), _or_nan(longitude), _or_nan(below if depth is None else depth)))


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value


def _local(tag: str) -> str:
    """Return the name of an element without its namespace prefix."""
    return tag.rpartition(":")[2]
