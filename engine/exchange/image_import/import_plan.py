"""Plan an import: which images, in which groups, with which metadata. Nothing is stored yet.

Guesses the folder level of dives or albums, and matches records to image files.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from benthoscope.engine.exchange.image_import.folder_scan import Survey
from benthoscope.engine.exchange.image_import.sources import IFDO, SPREADSHEET, TRACK, Source, read_source
from benthoscope.engine.exchange.metadata.columns import DROP, FIELDS, KEEP, column_called
from benthoscope.engine.exchange.navigation.tracks import MAX_GAP, Navigation, shifted
from benthoscope.engine.exchange.parsing.tables import with_progress
from benthoscope.engine.exchange.parsing.values import TRIGGER, moment_in_name
from benthoscope.engine.exchange.records import ImageRecord
from benthoscope.engine.imaging import ImageFacts, readable
from benthoscope.engine.problems import BadInput, Problem, fail, unknown
from benthoscope.engine.progress import OnStep, ignore

DIVE = re.compile(r"r\d{8}_\d{6}_", re.ASCII)  # the form of dive folders of IMOS and ACFR
MEANINGLESS = frozenset(
    {
        "images",
        "image",
        "img",
        "imgs",
        "photos",
        "photo",
        "pictures",
        "jpg",
        "jpeg",
        "png",
        "tif",
        "tiff",
        "raw",
        "full",
        "left",
        "right",
        "dcim",
        "100gopro",
        "100media",
        "stills",
        "originals",
        "data",
        "frames",
    }
)


def guessed_level(paths: Iterable[str]) -> int:
    """Return the folder level of the groups; 0 means that all images are one group.

    A folder named like an AUV dive decides. Otherwise it is the folder of the images, or a parent folder if its name is
    generic ("images") or the same everywhere.
    """
    folders = sorted({tuple(path.split("/")[:-1]) for path in paths})
    dives = {at + 1 for folder in folders for at, name in enumerate(folder) if DIVE.match(name)}
    if dives:
        return min(dives)
    level = max(map(len, folders), default=0)
    while level > 1 and not _distinguishes(folders, level):
        level -= 1
    return level


def group_of(path: str, level: int, root_name: str) -> str:
    """Return the group's name: the folders down to the level; for images above it, their own folder."""
    return "/".join(path.split("/")[:-1][:level]) or root_name


def _distinguishes(folders: Sequence[tuple[str, ...]], level: int) -> bool:
    """Return whether this level divides the images further, by meaningful names."""
    names = {folder[:level] for folder in folders}
    above = {folder[: level - 1] for folder in folders}
    last = [name[-1].lower() for name in names if len(name) == level]
    if all(name in MEANINGLESS for name in last):
        return False
    return len(names) > len(above) or len(above) == 1


@dataclass(frozen=True)
class Matches:
    """The combined records of each image path, and for each source the paths of its images."""

    records: dict[str, ImageRecord]
    spoken_of: dict[str, tuple[str, ...]]
    problems: tuple[Problem, ...]


def match(sources: Iterable[Source], paths: Sequence[str], on_step: OnStep = ignore) -> Matches:
    """Match records to images. If sources disagree, the one with the higher trust is used, and the first row within a
    source."""
    files = Files(paths)
    records: dict[str, ImageRecord] = {}
    spoken_of: dict[str, tuple[str, ...]] = {}
    problems = []
    for source in sorted(sources, key=lambda source: -source.kind.trust):
        matched, unclear = _of_one(source, files, on_step)
        spoken_of[source.name] = tuple(matched)
        for path, record in matched.items():
            records[path] = records[path].filled_from(record) if path in records else record
        if unclear:
            problems.append(
                Problem(
                    source.name,
                    f"{unclear:,} rows have an image name that occurs several times",
                    "use paths instead of file names, or a column for the dive",
                )
            )
    return Matches(records, spoken_of, tuple(problems))


def _of_one(source: Source, files: "Files", on_step: OnStep) -> tuple[dict[str, ImageRecord], int]:
    matched: dict[str, ImageRecord] = {}
    unclear = 0
    for record in with_progress(source.reading.records, source.name, on_step):
        for name, record_of_name in _named(record):
            paths = files.meant_by(name, record.group, source.name)
            unclear += paths is None
            for path in paths or ():
                matched.setdefault(path, record_of_name)
    return matched, unclear


def _named(record: ImageRecord) -> list[tuple[str, ImageRecord]]:
    """Return the record under its image's name and, without the hash, under the name of the paired image."""
    named = [(record.image, record)]
    return [*named, (record.paired_image, replace(record, sha256=None))] if record.paired_image else named


class Files:
    """Finds image paths by name, ignoring case and, if necessary, the ending."""

    def __init__(self, paths: Sequence[str]):
        self._by_stem: dict[str, list[str]] = defaultdict(list)
        for path in paths:
            self._by_stem[_stem(path)].append(path)

    def meant_by(self, name: str, group: str | None, source: str) -> list[str] | None:
        """Return the files that match a name, several only if they differ in their ending; None if the match is not
        unique.

        Preferred are files whose folders match the name, files in the folder of the group, and files near the source.
        """
        candidates = self._by_stem.get(_stem(name), []) or self._by_stem.get(PurePosixPath(name).name.lower(), [])
        if len(candidates) > 1:
            ranks = {path: _rank(path, name, group, source) for path in candidates}
            best = max(ranks.values())
            candidates = [path for path in candidates if ranks[path] == best]
        exact = [path for path in candidates if _file(path) == _file(name)]
        chosen = exact or candidates
        return chosen if len({PurePosixPath(path).parent for path in chosen}) <= 1 else None


def _stem(path: str) -> str:
    return PurePosixPath(path).stem.lower()


def _file(path: str) -> str:
    return PurePosixPath(path).name.lower()


def _rank(path: str, name: str, group: str | None, source: str) -> tuple[int, bool, int]:
    folders = path.lower().split("/")[:-1]
    in_group = group is not None and group.lower() in folders
    return (
        _common(reversed(folders), reversed(name.lower().split("/")[:-1])),
        in_group,
        _common(folders, source.lower().split("/")[:-1]),
    )


def _common(first: Iterable[str], second: Iterable[str]) -> int:
    """Return the number of equal leading names."""
    same = 0
    for a, b in zip(first, second, strict=False):
        if a != b:
            break
        same += 1
    return same


CAMPAIGN, ALBUMS = "campaign", "albums"


@dataclass(frozen=True)
class ImportOptions:
    """Options of an import. None uses the guess."""

    group_level: int | None = None
    collection: str | None = None
    kind: str | None = None  # "campaign" or "albums"
    mapping: Mapping[str, str] = field(default_factory=dict)  # column name to field name, `keep` or `drop`
    clock_offset: float | None = None  # seconds to add to the camera's times
    max_gap: float = MAX_GAP  # seconds between two fixes of a navigation file


@dataclass(frozen=True)
class ImportPlan:
    survey: Survey
    options: ImportOptions
    level: int
    sources: tuple[Source, ...]
    records: Mapping[str, ImageRecord]  # by image path
    spoken_of: Mapping[str, Sequence[str]]  # source name to the paths of its images
    unrelated: tuple[str, ...]  # tables and documents without any of the images
    problems: tuple[Problem, ...]
    navigation: Navigation = field(default_factory=Navigation)  # tracks to be matched by time

    @property
    def collection(self) -> str:
        """Return the collection of images whose metadata name none."""
        return self.options.collection or self.survey.folder.resolve().name or "images"

    @property
    def kind(self) -> str:
        """Return "campaign" if a track, an iFDO file or AUV file names indicate dives, else "albums"."""
        if self.options.kind:
            return self.options.kind
        of_dives = any(source.kind in (IFDO, TRACK) for source in self.sources)
        by_name = any(TRIGGER.match(PurePosixPath(file.path).name) for file in self.survey.images[:100])
        with_depth = any(record.depth is not None for record in self.records.values())
        return CAMPAIGN if of_dives or by_name or with_depth else ALBUMS

    def record_of(self, path: str, taken_at: float | None = None) -> ImageRecord | None:
        """Return the metadata of an image, completed by navigation files at its time; None without metadata. `taken_at`
        is the time of the image for metadata without one."""
        record = self.records.get(path)
        timed = record or ImageRecord(path)
        if timed.taken_at is None:
            timed = replace(timed, taken_at=taken_at)
        if not self.navigation.tracks or timed.taken_at is None:
            return record
        return self.navigation.joined(timed, path)[0]

    def group_key_of(self, path: str) -> tuple[str, str]:
        """Return (collection, group) of an image. Folders decide if a level was chosen, else metadata with a group."""
        record = self.records.get(path)
        folder = group_of(path, self.level, self.collection)
        if record is None:
            return self.collection, folder
        collection = self.options.collection or record.collection or self.collection
        return collection, folder if self.options.group_level is not None else record.group or folder

    def groups(self) -> Counter[tuple[str, str]]:
        """Return the number of images in each (collection, group)."""
        return Counter(self.group_key_of(file.path) for file in self.survey.images)


def make_plan(
    survey: Survey,
    read: Callable[[str], bytes],
    options: ImportOptions,
    *,
    extra: Iterable[str] = (),
    navigation: Iterable[str] = (),
    on_step: OnStep = ignore,
) -> ImportPlan:
    """Return the plan of an import. `read` returns the bytes of a metadata file by name. `extra` are metadata files in
    other folders, `navigation` files of positions by time.

    Raises BadInput if an option cannot be applied, in particular a mapping of a column that no table has.
    """
    check_options(options)
    paths = [file.path for file in survey.images]
    sources, problems, useless = _read_all([file.path for file in survey.metadata], read, options, on_step)
    sources += [_asked_for(name, read(name), options, on_step) for name in extra]
    tracks = [_asked_for_track(name, read(name), options, on_step) for name in navigation]
    _check_mapping(options.mapping, [*sources, *tracks])
    tracks += [source for source in sources if source.track]
    sources = [source for source in sources if not source.track]
    matches = match(sources, paths, on_step)
    related = tuple(source for source in sources if matches.spoken_of[source.name])
    unrelated = tuple(source for source in sources if not matches.spoken_of[source.name])
    reading_problems = [problem for source in (*related, *tracks) for problem in source.reading.problems]
    reading_problems += [
        Problem(
            source.name,
            f"is an {source.kind.title} file without any of the images in this folder",
            "check that it belongs to this folder",
        )
        for source in unrelated
        if source.kind != SPREADSHEET
    ]
    return ImportPlan(
        survey,
        options,
        _level(paths, options),
        related,
        matches.records,
        matches.spoken_of,
        (*(source.name for source in unrelated), *useless),
        (*survey.problems, *problems, *reading_problems, *matches.problems),
        Navigation(tuple(source.track for source in tracks if source.track), options.max_gap, options.clock_offset),
    )


def check_options(options: ImportOptions) -> None:
    """Raise BadInput for an option that is wrong for any folder of images."""
    if options.kind not in (None, CAMPAIGN, ALBUMS):
        raise unknown("kind of collection", options.kind, (CAMPAIGN, ALBUMS))
    if options.group_level is not None and options.group_level < 0:
        raise fail(
            "group level",
            f"{options.group_level}",
            "give 0 for one group, 1 for a group per folder, 2 for the level below",
        )
    if not 0 < options.max_gap < math.inf:
        raise fail(
            "max gap", f"must be greater than 0 (got {options.max_gap:g})", "give seconds between two fixes, such as 60"
        )
    if options.clock_offset is not None and not math.isfinite(options.clock_offset):
        raise fail("clock offset", f"{options.clock_offset} is not a number", "give seconds, such as -36000")
    for meaning in options.mapping.values():
        if meaning not in FIELDS and meaning not in (KEEP, DROP):
            raise unknown("mapping", meaning, [*FIELDS, KEEP, DROP])


def described(
    record: ImageRecord | None, facts: ImageFacts, name: str, clock_offset: float | None = None
) -> ImageRecord:
    """Merge the metadata, then the EXIF block, then the file name of an image.

    The clock offset corrects times from the image itself, not those from metadata.
    """
    known = record or ImageRecord(name)
    by_name, surely_utc = moment_in_name(PurePosixPath(name).name)
    named = ImageRecord(name, taken_at=by_name)
    exif = _from_exif(facts)
    if known.taken_at is None:
        named, exif = shifted(named, clock_offset), shifted(exif, clock_offset)
    merged = known.filled_from(named).filled_from(exif) if surely_utc else known.filled_from(exif).filled_from(named)
    unsure = known.taken_at is None and merged.taken_at is not None and not surely_utc and not facts.zone_known
    return merged if not unsure else merged.filled_from(ImageRecord(name, details={"clock": "of the camera"}))


def _from_exif(facts: ImageFacts) -> ImageRecord:
    below = facts.elevation if facts.elevation is not None and facts.elevation < 0 else None
    details = {
        "heading": facts.heading,
        "area": facts.area,
        "camera": facts.camera or None,
        "elevation": facts.elevation if below is None else None,
        "format": facts.format,
    }
    return ImageRecord(
        "",
        taken_at=facts.taken_at.timestamp() if facts.taken_at else None,
        latitude=facts.latitude,
        longitude=facts.longitude,
        depth=None if below is None else -below,
        details={name: value for name, value in details.items() if value is not None},
    )


def _level(paths: Sequence[str], options: ImportOptions) -> int:
    return guessed_level(paths) if options.group_level is None else options.group_level


def _read_all(
    names: Iterable[str], read: Callable[[str], bytes], options: ImportOptions, on_step: OnStep
) -> tuple[list[Source], list[Problem], list[str]]:
    """Return (what was read, problems of unreadable files, names of files without usable content)."""
    sources, problems, useless = [], [], []
    for name in names:
        try:
            source = read_source(read(name), name=readable(name), corrections=options.mapping, on_step=on_step)
        except BadInput as error:
            if error.problem.where == "mapping":
                raise
            problems.append(error.problem)
        else:
            sources += [source] if source else []
            useless += [] if source else [readable(name)]
    return sources, problems, useless


def _asked_for(name: str, data: bytes, options: ImportOptions, on_step: OnStep) -> Source:
    """Read a file that the user named. Problems are errors, not remarks."""
    source = read_source(data, name=name, corrections=options.mapping, on_step=on_step)
    if source is None:
        raise fail(name, "cannot find the column of the images", "give it: --mapping COLUMN=image")
    return source


def _asked_for_track(name: str, data: bytes, options: ImportOptions, on_step: OnStep) -> Source:
    """Read a navigation file that the user named. It must contain positions or depths by time."""
    source = read_source(data, name=name, corrections=options.mapping, on_step=on_step)
    if source is None or source.track is None:
        raise fail(
            name,
            "contains no positions or depths by time",
            "give a CSV with columns of time and of position or depth, a GPX track or a NetCDF file",
        )
    return replace(source, track=replace(source.track, chosen=True))


def _check_mapping(mapping: Mapping[str, str], sources: Iterable[Source]) -> None:
    tables = [source.table for source in sources if source.table]
    for column in mapping:
        if not any(column_called(column, table.header) for table in tables):
            raise unknown("mapping", column, {name for table in tables for name in table.header})


def reader_of(folder: Path, extra: Mapping[str, Path], read_bytes: Callable[[Path], bytes]) -> Callable[[str], bytes]:
    """Return the `read` of make_plan for files below a folder and some in other folders."""
    return lambda name: read_bytes(extra.get(name) or folder / name)
