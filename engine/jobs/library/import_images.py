"""The job that imports a folder of images: scan, plan, read new and changed files, store.

The catalogue is the checkpoint: stored files are not read again, so an interrupted import continues.
"""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from benthoscope.engine import imaging
from benthoscope.engine.compute import cores
from benthoscope.engine.exchange.image_import.folder_scan import FoundFile, Survey, survey
from benthoscope.engine.exchange.image_import.import_plan import (
    ImportOptions,
    ImportPlan,
    described,
    make_plan,
    reader_of,
)
from benthoscope.engine.exchange.image_import.sources import IFDO
from benthoscope.engine.exchange.navigation.tracks import MAX_GAP, JoinTally, Track, reshifted
from benthoscope.engine.exchange.records import LISTED, ImageRecord
from benthoscope.engine.imaging import BadImage, Intake
from benthoscope.engine.jobs.context import JobContext
from benthoscope.engine.jobs.durations import image_work, record
from benthoscope.engine.jobs.process_pool import Lost, ProcessPool
from benthoscope.engine.problems import Problem, fail
from benthoscope.engine.progress import OnStep, ignore
from benthoscope.engine.workspace import Workspace
from benthoscope.engine.workspace.records import MEASURES, Image, KnownFile, NewImage
from benthoscope.engine.workspace.storage.thumbnails import AT_IMPORT

BATCH = 64  # images stored together: one transaction, one append to each thumbnail file
HURRY = 1.0  # seconds after which a smaller batch is stored, so that an interrupted import loses little
LOOK_UP = 2_000
SHOWN = 20  # duplicates named in the result; all are in the library


@dataclass(frozen=True)
class Home:
    """A registered folder, and the part of a scanned path above it."""

    root_id: int
    above: str  # "" or "dive7/"


@dataclass
class ImageImportCounts:
    """Numbers of images by result so far."""

    new: int = 0
    changed: int = 0
    unchanged: int = 0
    updated: int = 0  # unchanged files with new metadata
    bad: int = 0
    problems: list[Problem] = field(default_factory=list)


def import_images(
    job: JobContext,
    workspace: Workspace,
    *,
    folder: str,
    collection: str | None = None,
    kind: str | None = None,
    group_level: int | None = None,
    mapping: Mapping[str, str] | None = None,
    metadata: Sequence[str] = (),
    workers: int | None = None,
    follow_links: bool = False,
    navigation: Sequence[str] = (),
    clock_offset: float | None = None,
    max_gap: float = MAX_GAP,
    check_content: bool = False,
) -> dict[str, Any]:
    """Import all images below the folder and return counts. See `benthoscope import --help` for the options. A known
    file with the same size and time is not read again unless `check_content` is set."""
    began = time.monotonic()
    survey_result = looked_through(Path(folder), workspace, job.on_step, follow_links=follow_links)
    options = ImportOptions(group_level, collection, kind, mapping or {}, clock_offset, max_gap)
    plan = planned(survey_result, options, metadata, job.on_step, navigation=navigation)
    result = _Import(job, workspace, plan, check_content).run(workers or cores())
    amount = image_work(result["new"] + result["changed"], workspace.library.mean_megapixels())
    record("import", "", amount, time.monotonic() - began)
    return result


def looked_through(
    folder: Path, workspace: Workspace | None = None, on_step: OnStep = ignore, *, follow_links: bool = False
) -> Survey:
    """Scan the folder. A folder below a registered one is treated as part of it."""
    path = folder.expanduser().resolve()
    top = _registered_above(workspace, path) or path
    return survey(
        top, on_step, start="" if top == path else path.relative_to(top).as_posix(), follow_links=follow_links
    )


def import_options(parameters: Mapping[str, Any]) -> ImportOptions:
    """Return the options among the parameters of an import."""
    names = ("group_level", "collection", "kind", "mapping", "clock_offset", "max_gap")
    return ImportOptions(**{name: parameters[name] for name in names if parameters.get(name) is not None})


def planned(
    scan: Survey,
    options: ImportOptions,
    metadata: Sequence[str | Path] = (),
    on_step: OnStep = ignore,
    *,
    navigation: Sequence[str | Path] = (),
) -> ImportPlan:
    """Return the plan of an import. `metadata` and `navigation` are files in other folders."""
    extra, tracks = ({str(path): Path(path).expanduser() for path in files} for files in (metadata, navigation))
    read = reader_of(scan.folder, extra | tracks, imaging.read_bytes)
    return make_plan(scan, read, options, extra=extra, navigation=tracks, on_step=on_step)


def _registered_above(workspace: Workspace | None, path: Path) -> Path | None:
    roots = [Path(root.path) for root in workspace.library.roots() if root.present] if workspace else []
    return next((root for root in roots if path != root and path.is_relative_to(root)), None)


class _Import:
    def __init__(self, job: JobContext, workspace: Workspace, plan: ImportPlan, check_content: bool = False):
        self.job, self.workspace, self.plan, self.check_content = job, workspace, plan, check_content
        self.library = workspace.library
        self.homes = _homes(workspace, plan.survey.folder)
        self.known = self._known_files()
        self.gone = sorted(self.known.keys() - {file.path for file in plan.survey.images})
        self.tally, self.joins = ImageImportCounts(), JoinTally()
        self._groups: dict[tuple[str, str], int] = {}

    def run(self, workers: int) -> dict[str, Any]:
        to_read, at_rest = self._sorted_out()
        self.tally.unchanged = len(at_rest)
        self.job.log(f"{len(self.plan.survey.images)} images found, {len(to_read)} to read")
        self._update(at_rest)
        self._read(to_read, workers)
        self._note_sets()
        self._note_joins()
        self._note_problems()
        return self._summary()

    def _known_files(self) -> dict[str, KnownFile]:
        """Return the known files of the scanned folder."""
        below = f"{self.plan.survey.start}/" if self.plan.survey.start else ""
        return {
            home.above + path: known
            for home in self.homes
            for path, known in self.library.known_files(home.root_id).items()
            if (home.above + path).startswith(below)
        }

    def _sorted_out(self) -> tuple[list[FoundFile], list[FoundFile]]:
        """Return the files to read, and the known, unchanged files with thumbnails."""
        same = (
            []
            if self.check_content
            else [file for file in self.plan.survey.images if _is_same(file, self.known.get(file.path))]
        )
        hashes = {self.known[file.path].sha256 for file in same}
        blank = {sha256 for size in AT_IMPORT for sha256 in self.workspace.thumbnails.missing(hashes, size)}
        at_rest = {file.path for file in same if self.known[file.path].sha256 not in blank}
        files = self.plan.survey.images
        return [file for file in files if file.path not in at_rest], [file for file in files if file.path in at_rest]

    # --- known files

    def _update(self, files: Sequence[FoundFile]) -> None:
        """Store new metadata of files that need not be read again."""
        for at in range(0, len(files), LOOK_UP):
            paths = {self.known[file.path].image_id: file.path for file in files[at : at + LOOK_UP]}
            self.job.progress(0, None, f"Comparing {at:,} of {len(files):,} known images with their metadata")
            stored = self.library.images(paths)
            fresh = [fresh for old in stored if (fresh := self._refreshed(old, paths[old.id]))]
            self.library.store_images(fresh)
            self.tally.updated += len(fresh)
            self.tally.problems += [
                note for old in stored for note in self._notes(paths[old.id], old.details.get("notes", ()))
            ]

    def _refreshed(self, old: Image, path: str) -> NewImage | None:
        """Return the image with its new metadata, or None if nothing changed."""
        record, options = self.plan.records.get(path), self.plan.options
        stored = stored_record(old, path)
        if record is None or record.taken_at is None:
            stored = reshifted(stored, options.clock_offset)
        stored = self.plan.navigation.without_old_join(stored)
        described_now = self._joined(record.filled_from(stored) if record else stored, path)
        chosen = options.group_level is not None or options.collection or (record and record.group)
        group_id = self._group_id(path) if chosen else old.group_id
        return changed_image(old, described_now, group_id)

    # --- new and changed files

    def _read(self, files: Sequence[FoundFile], workers: int) -> None:
        top, done, stored_at = self.plan.survey.folder, 0, time.monotonic()
        pool: ProcessPool[str, Intake | Problem] = ProcessPool(take_in, workers)
        paths = {str(top / file.path): file.path for file in files}
        batch: list[tuple[str, Intake]] = []
        self._report(0, len(files))
        with closing(pool.run(paths, self.job.check)) as results:
            for done, (item, result) in enumerate(results, 1):
                if isinstance(result, Intake):
                    batch.append((paths[item], result))
                else:
                    self._refuse(item, result)
                if len(batch) >= BATCH or time.monotonic() - stored_at > HURRY:
                    self._store(batch)
                    batch, stored_at = [], time.monotonic()
                    self._report(done, len(files))
        self._store(batch)
        self._report(done, len(files))

    def _report(self, done: int, total: int) -> None:
        bad = f", {self.tally.bad:,} cannot be used" if self.tally.bad else ""
        self.job.progress(done, total, f"Reading images: {done:,} of {total:,}{bad}")

    def _refuse(self, item: str, result: Problem | Lost) -> None:
        if isinstance(result, Lost):
            result = Problem(imaging.readable(item), result.why, "remove it or save it again with another program")
        self.tally.bad += 1
        self.tally.problems.append(result)

    def _store(self, batch: Sequence[tuple[str, Intake]]) -> None:
        """Store thumbnails first, so that each image in the catalogue has them."""
        jpegs = [(intake.sha256, size, jpeg) for _, intake in batch for size, jpeg in intake.thumbnails.items()]
        try:
            self.workspace.thumbnails.add_many(jpegs)
        except OSError as error:
            raise fail(
                str(self.workspace.thumbnails.folder),
                f"cannot be written ({error.strerror or error})",
                "free some space or move the workspace, then import again to continue",
            ) from error
        self.library.store_images([self._new_image(path, intake) for path, intake in batch])
        for path, intake in batch:
            self.tally.new += path not in self.known
            if path in self.known:
                same = self.known[path].sha256 == intake.sha256
                self.tally.unchanged += same
                self.tally.changed += not same

    def _new_image(self, path: str, intake: Intake) -> NewImage:
        record, facts = self.plan.records.get(path), intake.facts
        merged = self._joined(described(record, facts, path, self.plan.options.clock_offset), path)
        if record and record.sha256 not in (None, intake.sha256):
            warning = "is not the file its metadata describe: the SHA-256 differs"
            remedy = "check whether it was edited; it was imported as it is"
            self.tally.problems.append(Problem(imaging.readable(path), warning, remedy))
        self.tally.problems += self._notes(path, facts.notes)
        home = self._home(path)
        return new_image(home.root_id, path.removeprefix(home.above), self._group_id(path), intake, merged)

    def _joined(self, record: ImageRecord, path: str) -> ImageRecord:
        """Add the data of navigation files for the time of the image."""
        if not self.plan.navigation.tracks:
            return record
        record, outcome = self.plan.navigation.joined(record, path)
        self.joins.note(path, record, outcome)
        return record

    def _notes(self, path: str, notes: Iterable[str]) -> Iterator[Problem]:
        return (Problem(imaging.readable(path), note, "it was imported anyway") for note in notes)

    def _home(self, path: str) -> Home:
        return next(home for home in self.homes if path.startswith(home.above))

    def _group_id(self, path: str) -> int:
        group_key = self.plan.group_key_of(path)
        if group_key not in self._groups:
            collection = self.library.collection(group_key[0], self.plan.kind)
            self._groups[group_key] = self.library.group(collection.id, group_key[1]).id
        return self._groups[group_key]

    # --- the end

    def _note_sets(self) -> None:
        """Store the header of iFDO files (licence, creators, platform) with the groups they describe."""
        for source in self.plan.sources:
            if source.kind == IFDO:
                group_keys = {self.plan.group_key_of(path) for path in self.plan.spoken_of[source.name]}
                for collection, group in group_keys & self._groups.keys():
                    owner = self.library.collection(collection, self.plan.kind)
                    self.library.group(owner.id, group, {"ifdo": dict(source.reading.details)})

    def _note_joins(self) -> None:
        """Report images that navigation files do not cover: the first ones as problems, all of them in the
        job's log."""
        gap = self.plan.navigation.max_gap
        for paths, reason, remedy in (
            (
                self.joins.without_fix,
                f"no navigation file has fixes at most {gap:g} s apart around its time",
                "check the camera's clock (--clock-offset) or allow a longer --max-gap",
            ),
            (
                self.joins.without_time,
                "has no time, so no position could be looked up",
                "give a table with its time, or an image with an EXIF time",
            ),
        ):
            for path in paths:
                self.job.log(f"not matched with navigation: {imaging.readable(path)}: {reason}")
            self.tally.problems += [Problem(imaging.readable(path), reason, remedy) for path in paths[:LISTED]]
            if len(paths) > LISTED:
                self.tally.problems.append(
                    Problem(
                        imaging.readable(self.plan.survey.folder),
                        f"{len(paths) - LISTED:,} more images like this: {reason}",
                        f"{remedy}; all are in the job's log",
                    )
                )

    def _navigation_summary(self) -> dict[str, Any] | None:
        navigation, joins = self.plan.navigation, self.joins
        if not navigation.tracks:
            return None
        return {
            "files": [describe_track(track) for track in navigation.tracks],
            "matched": joins.matched,
            "by_camera_clock": joins.by_camera_clock,
            "without_fix": len(joins.without_fix),
            "without_time": len(joins.without_time),
            "examples": sorted([*joins.without_fix, *joins.without_time])[:SHOWN],
            "max_gap": navigation.max_gap,
            "clock_offset": navigation.clock_offset or 0.0,
        }

    def _note_problems(self) -> None:
        """Replace the problems of the last import of this folder."""
        start = imaging.readable(self.plan.survey.folder / self.plan.survey.start)
        if self.gone:
            first = imaging.readable(self.gone[0])
            warning = f"{len(self.gone):,} images imported earlier are missing, such as {first}"
            self.tally.problems.append(Problem(start, warning, "restore them, or relink the folder if it moved"))
        if self.tally.changed and self.workspace.features.names():
            changed = f"{self.tally.changed:,} images have changed since their features were computed"
            warning = f"{changed}; they have no cluster now"
            self.tally.problems.append(
                Problem(start, warning, "compute their features again: benthoscope features --repair")
            )
        self.library.note_problems(f"import {start}", [*self.plan.problems, *self.tally.problems])

    def _summary(self) -> dict[str, Any]:
        copies = self._copies()
        tally, plan = self.tally, self.plan
        return {
            "images": len(plan.survey.images),
            "new": tally.new,
            "changed": tally.changed,
            "unchanged": tally.unchanged,
            "updated": tally.updated,
            "bad": tally.bad,
            "gone": len(self.gone),
            "duplicates": sum(len(paths) - 1 for paths in copies),
            "duplicate_files": copies[:SHOWN],
            "ignored": dict(plan.survey.ignored),
            "skipped_links": plan.survey.skipped_links,
            "problems": len(plan.problems) + len(tally.problems),
            "groups": [
                {"collection": group_key[0], "group": group_key[1], "images": count}
                for group_key, count in sorted(plan.groups().items())
            ],
            "metadata": [
                {"file": source.name, "kind": source.kind.title, "images": len(plan.spoken_of[source.name])}
                for source in plan.sources
            ],
            "losses": [loss for source in plan.sources for loss in source.reading.losses],
            "navigation": self._navigation_summary(),
        }

    def _copies(self) -> list[list[str]]:
        """Return paths of images with the same content, at least one of them in this folder."""
        root_ids = {home.root_id for home in self.homes}
        return [
            [image.path for image in images]
            for images in self.library.duplicates()
            if any(image.root_id in root_ids for image in images)
        ]


def new_image(root_id: int, path: str, group_id: int, intake: Intake, record: ImageRecord) -> NewImage:
    """Return an image that was read, with its metadata and the notes of its reader."""
    facts = intake.facts
    return NewImage(
        root_id,
        path,
        group_id,
        intake.size,
        intake.mtime_ns,
        intake.sha256,
        facts.width,
        facts.height,
        **_measures(record),
        details={**record.details, **({"notes": list(facts.notes)} if facts.notes else {})},
    )


def stored_record(image: Image, path: str) -> ImageRecord:
    """Return the metadata of an image in the library."""
    return ImageRecord(path, **_measures(image), details=image.details)


def changed_image(image: Image, record: ImageRecord, group_id: int) -> NewImage | None:
    """Return the image with the metadata of a record and in a group; None if nothing changes."""
    old = NewImage(**{name: getattr(image, name) for name in NewImage.__dataclass_fields__})
    fresh = replace(old, group_id=group_id, details=dict(record.details), **_measures(record))
    return fresh if fresh != old else None


def _measures(image: Image | ImageRecord) -> dict[str, Any]:
    return {name: getattr(image, name) for name in MEASURES}


def take_in(path: str) -> Intake | Problem:
    """Process one image in a worker process. Returns the reason if it is unusable."""
    try:
        return imaging.take_in(Path(path), AT_IMPORT)
    except BadImage as error:
        return error.problem


def describe_track(track: Track) -> dict[str, Any]:
    """Return a navigation file as plain values; times in seconds since 1970 UTC."""
    first, last = track.span
    return {
        "file": track.name,
        "kind": track.title,
        "fixes": track.fixes,
        "first": first,
        "last": last,
        "fields": sorted(track.series),
    }


def _homes(workspace: Workspace, folder: Path) -> list[Home]:
    """Return the roots of files below the folder, innermost first. A file never gets two roots."""
    own_root = workspace.library.register_root(folder)
    inner = [
        root for root in workspace.library.roots() if root.id != own_root.id and Path(root.path).is_relative_to(folder)
    ]
    homes = [Home(root.id, Path(root.path).relative_to(folder).as_posix() + "/") for root in inner]
    return [*sorted(homes, key=lambda home: -len(home.above)), Home(own_root.id, "")]


def _is_same(file: FoundFile, known: KnownFile | None) -> bool:
    return known is not None and (file.size, file.mtime_ns) == (known.size, known.mtime_ns)
