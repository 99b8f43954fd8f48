"""What an import would do: which images, in which groups, with which metadata. Nothing is stored yet."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from engine.exchange.columns import DROP, FIELDS, KEEP, column_called
from engine.exchange.groups import group_of, guessed_level
from engine.exchange.matching import match
from engine.exchange.moments import TRIGGER, moment_in_name
from engine.exchange.records import ImageRecord
from engine.exchange.sources import IFDO, SPREADSHEET, TRACK, Source, read_source
from engine.exchange.survey import Survey
from engine.imaging import ImageFacts, readable
from engine.problems import BadInput, Problem, fail, unknown
from engine.progress import OnStep, ignore

CAMPAIGN, ALBUMS = "campaign", "albums"


@dataclass(frozen=True)
class Wishes:
    """What a person decided; None leaves it to the guess."""

    group_level: int | None = None
    collection: str | None = None
    kind: str | None = None  # "campaign" or "albums"
    mapping: Mapping[str, str] = field(default_factory=dict)  # column name to field name, `keep` or `drop`


@dataclass(frozen=True)
class Plan:
    survey: Survey
    wishes: Wishes
    level: int
    sources: tuple[Source, ...]
    records: Mapping[str, ImageRecord]      # by image path
    spoken_of: Mapping[str, Sequence[str]]  # source name to the paths of the images it speaks of
    unrelated: tuple[str, ...]              # tables and documents that speak of none of the images
    problems: tuple[Problem, ...]

    @property
    def collection(self) -> str:
        """The collection of images whose metadata name none."""
        return self.wishes.collection or self.survey.folder.resolve().name or "images"

    @property
    def kind(self) -> str:
        """A campaign of dives, as against albums, when a track, an iFDO or AUV file names say so."""
        if self.wishes.kind:
            return self.wishes.kind
        of_dives = any(source.kind in (IFDO, TRACK) for source in self.sources)
        by_name = any(TRIGGER.match(PurePosixPath(file.path).name) for file in self.survey.images[:100])
        with_depth = any(record.depth is not None for record in self.records.values())
        return CAMPAIGN if of_dives or by_name or with_depth else ALBUMS

    def place(self, path: str) -> tuple[str, str]:
        """(collection, group) of an image. Folders decide when a level was chosen, else metadata that name a group."""
        record = self.records.get(path)
        folder = group_of(path, self.level, self.collection)
        if record is None:
            return self.collection, folder
        collection = self.wishes.collection or record.collection or self.collection
        return collection, folder if self.wishes.group_level is not None else record.group or folder

    def groups(self) -> Counter[tuple[str, str]]:
        """How many images each (collection, group) would hold."""
        return Counter(self.place(file.path) for file in self.survey.images)


def make_plan(survey: Survey, read: Callable[[str], bytes], wishes: Wishes, *, extra: Iterable[str] = (),
              on_step: OnStep = ignore) -> Plan:
    """The plan of an import; `read` gives the bytes of a metadata file by name, `extra` names some from elsewhere.

    Raises BadInput when a wish cannot be fulfilled, above all a mapping of a column that no table has.
    """
    if wishes.kind not in (None, CAMPAIGN, ALBUMS):
        raise unknown("kind of collection", wishes.kind, (CAMPAIGN, ALBUMS))
    paths = [file.path for file in survey.images]
    sources, problems = _read_all([file.path for file in survey.metadata], read, wishes, on_step)
    sources += [_asked_for(name, read(name), wishes, on_step) for name in extra]
    _check_mapping(wishes.mapping, sources)
    matches = match(sources, paths, on_step)
    related = tuple(source for source in sources if matches.spoken_of[source.name])
    unrelated = tuple(source for source in sources if not matches.spoken_of[source.name])
    told = [problem for source in related for problem in source.reading.problems]
    told += [Problem(source.name, f"is an {source.kind.title} file that names none of the images here",
                     "check that it belongs to this folder") for source in unrelated if source.kind != SPREADSHEET]
    return Plan(survey, wishes, _level(paths, wishes), related, matches.records, matches.spoken_of,
                tuple(source.name for source in unrelated), (*survey.problems, *problems, *told, *matches.problems))


def described(record: ImageRecord | None, facts: ImageFacts, name: str) -> ImageRecord:
    """What is known of an image from metadata, then from its EXIF block, then from its file name."""
    known = record or ImageRecord(name)
    by_name, surely_utc = moment_in_name(PurePosixPath(name).name)
    named = ImageRecord(name, taken_at=by_name)
    exif = _from_exif(facts)
    found = known.filled_from(named).filled_from(exif) if surely_utc else known.filled_from(exif).filled_from(named)
    unsure = known.taken_at is None and found.taken_at is not None and not surely_utc and not facts.zone_known
    return found if not unsure else found.filled_from(ImageRecord(name, details={"clock": "of the camera"}))


def _from_exif(facts: ImageFacts) -> ImageRecord:
    below = facts.elevation is not None and facts.elevation < 0
    details = {"heading": facts.heading, "area": facts.area, "camera": facts.camera or None,
               "elevation": None if below else facts.elevation, "format": facts.format}
    return ImageRecord(
        "", taken_at=facts.taken_at.timestamp() if facts.taken_at else None, latitude=facts.latitude,
        longitude=facts.longitude, depth=-facts.elevation if below else None,
        details={name: value for name, value in details.items() if value is not None})


def _level(paths: Sequence[str], wishes: Wishes) -> int:
    level = guessed_level(paths) if wishes.group_level is None else wishes.group_level
    if level < 0:
        raise fail("group level", f"{level}", "give 0 for one group, 1 for a group per folder, 2 for the level below")
    return level


def _read_all(
    names: Iterable[str], read: Callable[[str], bytes], wishes: Wishes, on_step: OnStep
) -> tuple[list[Source], list[Problem]]:
    sources, problems = [], []
    for name in names:
        try:
            source = read_source(read(name), name=readable(name), corrections=wishes.mapping, on_step=on_step)
        except BadInput as error:
            if error.problem.where == "mapping":
                raise
            problems.append(error.problem)
        else:
            sources += [source] if source else []
    return sources, problems


def _asked_for(name: str, data: bytes, wishes: Wishes, on_step: OnStep) -> Source:
    """A file that a person named must be of use: what is wrong with it is an error, not a remark."""
    source = read_source(data, name=name, corrections=wishes.mapping, on_step=on_step)
    if source is None:
        raise fail(name, "no column names the images", "say which one does: --mapping COLUMN=image")
    return source


def _check_mapping(mapping: Mapping[str, str], sources: Iterable[Source]) -> None:
    tables = [source.table for source in sources if source.table]
    for column, meaning in mapping.items():
        if meaning not in FIELDS and meaning not in (KEEP, DROP):
            raise unknown("mapping", meaning, [*FIELDS, KEEP, DROP])
        if not any(column_called(column, table.header) for table in tables):
            raise unknown("mapping", column, {name for table in tables for name in table.header})


def reader_of(folder: Path, extra: Mapping[str, Path], read_bytes: Callable[[Path], bytes]) -> Callable[[str], bytes]:
    """The `read` of make_plan for files below a folder and some from elsewhere."""
    return lambda name: read_bytes(extra.get(name) or folder / name)
