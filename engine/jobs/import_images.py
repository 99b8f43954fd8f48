"""Bringing a folder of images into the workspace: look, plan, read what is new or changed, store.

The catalogue is the checkpoint: what was stored is not read again, so a killed import goes on where it was.
"""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from engine import imaging
from engine.compute import cores
from engine.exchange.plan import Plan, Wishes, described, make_plan, reader_of
from engine.exchange.records import ImageRecord
from engine.exchange.sources import IFDO
from engine.exchange.survey import FoundFile, Survey, survey
from engine.imaging import BadImage, Intake
from engine.jobs.context import JobContext
from engine.jobs.crew import Crew, Lost
from engine.problems import Problem, fail
from engine.progress import OnStep, ignore
from engine.workspace import Workspace
from engine.workspace.records import Image, KnownFile, NewImage
from engine.workspace.thumbnails import AT_IMPORT

BATCH = 64    # images stored together: one transaction, one append to each thumbnail file
HURRY = 1.0   # seconds after which fewer are stored, so that a killed import has lost little
LOOK_UP = 2_000
SHOWN = 20    # duplicates named in the result; all are in the library


@dataclass(frozen=True)
class Home:
    """A registered folder and the part of a surveyed path that lies above it."""

    root_id: int
    above: str  # "" or "dive7/"


@dataclass
class Tally:
    """What came of the images so far."""

    new: int = 0
    changed: int = 0
    unchanged: int = 0
    updated: int = 0  # unchanged files of which the metadata said something new
    bad: int = 0
    problems: list[Problem] = field(default_factory=list)


def import_images(
    job: JobContext, workspace: Workspace, *, folder: str, collection: str | None = None, kind: str | None = None,
    group_level: int | None = None, mapping: Mapping[str, str] | None = None, metadata: Sequence[str] = (),
    workers: int | None = None,
) -> dict[str, Any]:
    """Imports every image below the folder; gives counts, see `benthoscope import --help` for the wishes."""
    found = looked_through(Path(folder), workspace, job.on_step)
    plan = planned(found, Wishes(group_level, collection, kind, mapping or {}), metadata, job.on_step)
    return _Import(job, workspace, plan).run(workers or cores())


def looked_through(folder: Path, workspace: Workspace | None = None, on_step: OnStep = ignore) -> Survey:
    """What lies in the folder. One below a folder that is registered already is seen as part of that one."""
    place = folder.expanduser().resolve()
    top = _registered_above(workspace, place) or place
    return survey(top, on_step, start="" if top == place else place.relative_to(top).as_posix())


def planned(found: Survey, wishes: Wishes, metadata: Sequence[str | Path] = (), on_step: OnStep = ignore) -> Plan:
    """The plan of an import; `metadata` are files that lie elsewhere."""
    extra = {str(path): Path(path).expanduser() for path in metadata}
    return make_plan(found, reader_of(found.folder, extra, imaging.read_bytes), wishes, extra=extra, on_step=on_step)


def _registered_above(workspace: Workspace | None, place: Path) -> Path | None:
    roots = [Path(root.path) for root in workspace.library.roots() if root.present] if workspace else []
    return next((root for root in roots if place != root and place.is_relative_to(root)), None)


class _Import:
    def __init__(self, job: JobContext, workspace: Workspace, plan: Plan):
        self.job, self.workspace, self.plan = job, workspace, plan
        self.library = workspace.library
        self.homes = _homes(workspace, plan.survey.folder)
        self.known = self._known_files()
        self.gone = sorted(self.known.keys() - {file.path for file in plan.survey.images})
        self.tally = Tally()
        self._groups: dict[tuple[str, str], int] = {}

    def run(self, workers: int) -> dict[str, Any]:
        to_read, at_rest = self._sorted_out()
        self.tally.unchanged = len(at_rest)
        self.job.log(f"{len(self.plan.survey.images)} images found, {len(to_read)} to read")
        self._update(at_rest)
        self._read(to_read, workers)
        self._note_sets()
        self._note_problems()
        return self._summary()

    def _known_files(self) -> dict[str, KnownFile]:
        """What the catalogue knows of the folder that was looked through."""
        below = f"{self.plan.survey.start}/" if self.plan.survey.start else ""
        return {home.above + path: known for home in self.homes
                for path, known in self.library.known_files(home.root_id).items()
                if (home.above + path).startswith(below)}

    def _sorted_out(self) -> tuple[list[FoundFile], list[FoundFile]]:
        """The files to be read, and those that are known, unchanged and have their thumbnails."""
        same = [file for file in self.plan.survey.images if _is_same(file, self.known.get(file.path))]
        hashes = {self.known[file.path].sha256 for file in same}
        blank = {sha256 for size in AT_IMPORT for sha256 in self.workspace.thumbnails.missing(hashes, size)}
        at_rest = {file.path for file in same if self.known[file.path].sha256 not in blank}
        files = self.plan.survey.images
        return [file for file in files if file.path not in at_rest], [file for file in files if file.path in at_rest]

    # --- known files

    def _update(self, files: Sequence[FoundFile]) -> None:
        """Stores what corrected metadata now say of files that need not be read again."""
        for at in range(0, len(files), LOOK_UP):
            paths = {self.known[file.path].image_id: file.path for file in files[at:at + LOOK_UP]}
            self.job.progress(0, None, f"Comparing {at:,} of {len(files):,} known images with their metadata")
            stored = self.library.images(paths)
            fresh = [fresh for old in stored if (fresh := self._refreshed(old, paths[old.id]))]
            self.library.store_images(fresh)
            self.tally.updated += len(fresh)
            self.tally.problems += [note for old in stored
                                    for note in self._notes(paths[old.id], old.details.get("notes", ()))]

    def _refreshed(self, old: Image, path: str) -> NewImage | None:
        """The image as its metadata now describe it, or None when that is how it is stored."""
        record, wishes = self.plan.records.get(path), self.plan.wishes
        stored = ImageRecord(path, taken_at=old.taken_at, latitude=old.latitude, longitude=old.longitude,
                             depth=old.depth, altitude=old.altitude, details=old.details)
        described_now = record.filled_from(stored) if record else stored
        chosen = wishes.group_level is not None or wishes.collection or (record and record.group)
        group_id = self._group_id(path) if chosen else old.group_id
        values = {name: getattr(described_now, name) for name in _MEASURES}
        fresh = replace(_as_new(old), group_id=group_id, details=dict(described_now.details), **values)
        return fresh if fresh != _as_new(old) else None

    # --- new and changed files

    def _read(self, files: Sequence[FoundFile], workers: int) -> None:
        top, done, stored_at = self.plan.survey.folder, 0, time.monotonic()
        crew: Crew[str, Intake | Problem] = Crew(take_in, workers)
        paths = {str(top / file.path): file.path for file in files}
        batch: list[tuple[str, Intake]] = []
        self._tell(0, len(files))
        with closing(crew.run(paths, self.job.check)) as results:
            for done, (item, result) in enumerate(results, 1):
                if isinstance(result, Intake):
                    batch.append((paths[item], result))
                else:
                    self._refuse(item, result)
                if len(batch) >= BATCH or time.monotonic() - stored_at > HURRY:
                    self._store(batch)
                    batch, stored_at = [], time.monotonic()
                    self._tell(done, len(files))
        self._store(batch)
        self._tell(done, len(files))

    def _tell(self, done: int, total: int) -> None:
        bad = f", {self.tally.bad:,} cannot be used" if self.tally.bad else ""
        self.job.progress(done, total, f"Reading images: {done:,} of {total:,}{bad}")

    def _refuse(self, item: str, result: Problem | Lost) -> None:
        if isinstance(result, Lost):
            result = Problem(imaging.readable(item), result.why, "leave it out or save it anew with another program")
        self.tally.bad += 1
        self.tally.problems.append(result)

    def _store(self, batch: Sequence[tuple[str, Intake]]) -> None:
        """Thumbnails first: an image in the catalogue has them."""
        jpegs = [(intake.sha256, size, jpeg) for _, intake in batch for size, jpeg in intake.thumbnails.items()]
        try:
            self.workspace.thumbnails.add_many(jpegs)
        except OSError as error:
            raise fail(str(self.workspace.thumbnails.folder), f"cannot be written ({error.strerror or error})",
                       "free some space or move the workspace, then import again: it goes on here") from error
        self.library.store_images([self._new_image(path, intake) for path, intake in batch])
        for path, _ in batch:
            self.tally.changed += path in self.known
            self.tally.new += path not in self.known

    def _new_image(self, path: str, intake: Intake) -> NewImage:
        record, facts = self.plan.records.get(path), intake.facts
        found = described(record, facts, path)
        if record and record.sha256 not in (None, intake.sha256):
            told = "is not the file its metadata describe: the SHA-256 differs"
            remedy = "check whether it was edited; it was imported as it is"
            self.tally.problems.append(Problem(imaging.readable(path), told, remedy))
        self.tally.problems += self._notes(path, facts.notes)
        details = {**found.details, "notes": list(facts.notes)} if facts.notes else dict(found.details)
        home = self._home(path)
        values = {name: getattr(found, name) for name in _MEASURES}
        return NewImage(home.root_id, path.removeprefix(home.above), self._group_id(path), intake.size,
                        intake.mtime_ns, intake.sha256, facts.width, facts.height, **values, details=details)

    def _notes(self, path: str, notes: Iterable[str]) -> Iterator[Problem]:
        return (Problem(imaging.readable(path), note, "imported all the same") for note in notes)

    def _home(self, path: str) -> Home:
        return next(home for home in self.homes if path.startswith(home.above))

    def _group_id(self, path: str) -> int:
        place = self.plan.place(path)
        if place not in self._groups:
            collection = self.library.collection(place[0], self.plan.kind)
            self._groups[place] = self.library.group(collection.id, place[1]).id
        return self._groups[place]

    # --- the end

    def _note_sets(self) -> None:
        """What an iFDO file says of the whole set (licence, creators, platform) goes to the groups it speaks of."""
        for source in self.plan.sources:
            if source.kind == IFDO:
                places = {self.plan.place(path) for path in self.plan.spoken_of[source.name]}
                for collection, group in places & self._groups.keys():
                    owner = self.library.collection(collection, self.plan.kind)
                    self.library.group(owner.id, group, {"ifdo": dict(source.reading.details)})

    def _note_problems(self) -> None:
        """Replaces the problems of the last import of this folder."""
        start = imaging.readable(self.plan.survey.folder / self.plan.survey.start)
        if self.gone:
            first = imaging.readable(self.gone[0])
            told = f"{len(self.gone):,} images imported earlier are no longer there, such as {first}"
            self.tally.problems.append(Problem(start, told, "restore them, or relink the folder if it moved"))
        if self.tally.changed and self.workspace.features.names():
            told = f"{self.tally.changed:,} images have changed since they were described"
            self.tally.problems.append(Problem(start, told, "describe them anew: benthoscope features --again"))
        self.library.note_problems(f"import {start}", [*self.plan.problems, *self.tally.problems])

    def _summary(self) -> dict[str, Any]:
        copies = self._copies()
        tally, found = self.tally, self.plan
        return {
            "images": len(found.survey.images), "new": tally.new, "changed": tally.changed,
            "unchanged": tally.unchanged, "updated": tally.updated, "bad": tally.bad, "gone": len(self.gone),
            "duplicates": sum(len(paths) - 1 for paths in copies), "duplicate_files": copies[:SHOWN],
            "ignored": dict(found.survey.ignored), "problems": len(found.problems) + len(tally.problems),
            "groups": [{"collection": place[0], "group": place[1], "images": count}
                       for place, count in sorted(found.groups().items())],
            "metadata": [{"file": source.name, "kind": source.kind.title,
                          "images": len(found.spoken_of[source.name])} for source in found.sources],
            "losses": [loss for source in found.sources for loss in source.reading.losses],
        }

    def _copies(self) -> list[list[str]]:
        """Paths of images with the same content, of which at least one lies in this folder."""
        ours = {home.root_id for home in self.homes}
        return [[image.path for image in alike] for alike in self.library.duplicates()
                if any(image.root_id in ours for image in alike)]


_MEASURES = ("taken_at", "latitude", "longitude", "depth", "altitude")


def take_in(path: str) -> Intake | Problem:
    """What the processes do: one image, or why it cannot be used."""
    try:
        return imaging.take_in(Path(path), AT_IMPORT)
    except BadImage as error:
        return error.problem


def _homes(workspace: Workspace, folder: Path) -> list[Home]:
    """The roots that files below the folder belong to, the innermost first: the same file never gets two."""
    own = workspace.library.register_root(folder)
    inner = [root for root in workspace.library.roots() if root.id != own.id and Path(root.path).is_relative_to(folder)]
    homes = [Home(root.id, Path(root.path).relative_to(folder).as_posix() + "/") for root in inner]
    return [*sorted(homes, key=lambda home: -len(home.above)), Home(own.id, "")]


def _is_same(file: FoundFile, known: KnownFile | None) -> bool:
    return known is not None and (file.size, file.mtime_ns) == (known.size, known.mtime_ns)


def _as_new(old: Image) -> NewImage:
    return NewImage(**{name: getattr(old, name) for name in NewImage.__dataclass_fields__})
