"""Backups of a workspace: consistent while others write, incremental, and checked against checksums.

    BACKUP/backup.json           which workspace this is
    BACKUP/snapshots/TIME.json   the files of one snapshot, each as a list of pieces, and the numbers of its contents
    BACKUP/pieces/ab/ab12...     pieces of at most 4 MiB, named by their SHA-256; unchanged pieces are stored once

The catalogue is copied first, always as one SQLite file, because all files that it refers to were written before. The
images themselves are not part of a backup.
"""

import contextlib
import fnmatch
import hashlib
import json
import os
import sqlite3
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

from sqlalchemy import select

from benthoscope.engine.problems import BadInput, Problem, fail
from benthoscope.engine.progress import OnStep, Progress, ignore
from benthoscope.engine.workspace.database.catalogue import create_catalogue, migrate, revision_of
from benthoscope.engine.workspace.database.catalogue_files import check_copy, copy_sqlite, copy_tables, dump
from benthoscope.engine.workspace.database.connections import postgres_engines, sqlite_address, sqlite_engines
from benthoscope.engine.workspace.database.schema import workspace as workspace_table
from benthoscope.engine.workspace.storage.files import locked, read_json, replacing, write_json
from benthoscope.engine.workspace.workspace import DATABASE, Workspace, workspace_path

PIECE = 4 << 20  # bytes: an append to a large file stores at most one piece besides the new data
HEADER = 4096
FORMAT = 1
ATTEMPTS = 5  # to read a file that others replace at the same time
# Locks, work that restarts by itself, files stored in another way, and the secret of the app.
LEFT_OUT = (
    "workspace.json",
    "server-token",
    ".*",
    "*.lock",
    "lock",
    "writing",
    "*.switching",
    "*.partial",
    "catalogue.sqlite*",
)
FOLDERS_LEFT_OUT = ("describing", "cache", "backups")
IDENTITY = "workspace.json"
RESULTS = ("features/", "runs/", "learning/", "predictions/")
# A run that is the finer or coarser level of another run.
IS_LEVEL = "json_valid(summary) AND json_extract(summary, '$.level_of') IS NOT NULL"
# Files that name other files; they are read first.
FIRST = ("*.json", "*.index")


@dataclass(frozen=True)
class Snapshot:
    """One state of the workspace. `files` maps each path to {size, mtime_ns, pieces}."""

    name: str
    taken_at: float
    counts: Mapping[str, int]  # see counts_of
    files: Mapping[str, Mapping[str, Any]]

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(entry["size"] for entry in self.files.values())


@dataclass
class BackupCounts:
    """The numbers of files and bytes that one backup stored."""

    files: int = 0
    new_files: int = 0
    new_bytes: int = 0


class Backup:
    """A folder of snapshots of one workspace."""

    def __init__(self, folder: Path):
        self.folder = folder

    @classmethod
    def open(cls, folder: str | os.PathLike) -> "Backup":
        backup_folder = Path(folder).expanduser().absolute()
        if not (backup_folder / "backup.json").is_file():
            raise fail(str(backup_folder), "is not a backup", "create one with `benthoscope backup FOLDER`")
        return cls(backup_folder)

    @property
    def name(self) -> str:
        """Return the name of the workspace."""
        return read_json(self.folder / "backup.json")["name"]

    # --- creating a backup

    @classmethod
    def of(cls, workspace: Workspace, folder: str | os.PathLike) -> "Backup":
        """Return the backup of a workspace in a folder. A new or empty folder becomes a backup."""
        backup_folder = Path(folder).expanduser().absolute()
        if backup_folder.resolve().is_relative_to(workspace.folder.resolve()):
            raise fail(str(backup_folder), "is inside the workspace", "choose a folder on another disk")
        if not (backup_folder / "backup.json").is_file():
            if backup_folder.is_dir() and {path.name for path in backup_folder.iterdir()} - {"snapshots", "pieces"}:
                raise fail(str(backup_folder), "is not empty and not a backup", "choose a new folder")
            try:
                (backup_folder / "snapshots").mkdir(parents=True, exist_ok=True)
                (backup_folder / "pieces").mkdir(exist_ok=True)
            except OSError as error:
                reason = f"cannot be created ({error.strerror})"
                raise fail(str(backup_folder), reason, "choose a folder with write permission") from error
            write_json(
                backup_folder / "backup.json", {"format": FORMAT, "id": workspace.identity.id, "name": workspace.name}
            )
        about = read_json(backup_folder / "backup.json")
        if about["id"] != workspace.identity.id:
            raise fail(
                str(backup_folder), f"is the backup of another workspace, '{about['name']}'", "choose another folder"
            )
        return cls(backup_folder)

    def take(self, workspace: Workspace, on_step: OnStep = ignore) -> tuple[Snapshot, BackupCounts]:
        """Store a new snapshot. Only changes since the last one are written. New pieces are read back to check them."""
        with locked(self.folder / ".lock"):
            tally, before = BackupCounts(), self._newest_files()
            catalogue = self._stored_catalogue(workspace, tally)
            counts = self._counts(catalogue)
            files = self._stored_files(workspace, before, tally, on_step)
            moment, tally.files = datetime.now(UTC), len(files) + 1
            name = moment.strftime("%Y-%m-%dT%H%M%S.%fZ")
            snapshot = Snapshot(name, moment.timestamp(), counts, {DATABASE: catalogue, **files})
            write_json(self.folder / "snapshots" / f"{name}.json", vars(snapshot))
            return snapshot, tally

    def _stored_files(
        self, workspace: Workspace, before: Mapping[str, Mapping[str, Any]], tally: BackupCounts, on_step: OnStep
    ) -> dict[str, Any]:
        """Store all files but the catalogue. Starts again if stored results were replaced in the meantime."""
        for _ in range(ATTEMPTS):
            files, gone, paths = {}, [], _listed(workspace.folder)
            for done, path in enumerate(paths):
                on_step(Progress(done, len(paths), f"Copying {path}"))
                entry = self._stored(workspace.folder / path, before.get(path), tally)
                if entry is None:
                    gone.append(path)
                else:
                    files[path] = entry
            if not any(path.startswith(RESULTS) for path in gone):
                break
            before = files
        # The address of a database may contain a password, and a restored workspace has its catalogue in a file.
        identity = json.dumps(vars(workspace.identity) | {"database": DATABASE}).encode()
        piece = self._store_piece(identity, tally)
        return files | {IDENTITY: {"size": len(identity), "mtime_ns": time.time_ns(), "pieces": [piece]}}

    def _stored_catalogue(self, workspace: Workspace, tally: BackupCounts) -> Mapping[str, Any]:
        with tempfile.TemporaryDirectory(prefix=".catalogue-", dir=self.folder) as name:
            copy = Path(name) / DATABASE
            copy_catalogue(workspace, copy)
            entry = self._stored(copy, None, tally)
            assert entry is not None  # no other process deletes the copy
            return entry

    def _stored(self, path: Path, before: Mapping[str, Any] | None, tally: BackupCounts) -> Mapping[str, Any] | None:
        """Store the pieces of a file and return its entry; None if it was deleted in the meantime."""
        for _ in range(ATTEMPTS):
            try:
                status = path.stat()
                facts = (status.st_size, status.st_mtime_ns)
                same = before is not None and (before["size"], before["mtime_ns"]) == facts
                if before and same and all(self._piece(name).exists() for name in before["pieces"]):
                    return before
                with path.open("rb") as file:
                    pieces = [self._store_piece(data, tally) for data in _split(file)]
                    size = file.tell()
            except FileNotFoundError:
                return None
            if path.exists() and path.stat().st_mtime_ns == status.st_mtime_ns:
                break  # otherwise it changed while it was read; a file that only grew is still valid
        tally.new_files += 1
        return {"size": size, "mtime_ns": status.st_mtime_ns, "pieces": pieces}

    def _store_piece(self, data: bytes, tally: BackupCounts) -> str:
        name = hashlib.sha256(data).hexdigest()
        path = self._piece(name)
        if not path.exists():
            path.parent.mkdir(exist_ok=True)
            try:
                with replacing(path) as file:
                    file.write(data)
            except OSError as error:
                raise fail(
                    str(self.folder),
                    f"cannot be written ({error.strerror or error})",
                    "free some space, then run the backup again: it continues",
                ) from error
            self._read_piece(name)
            tally.new_bytes += len(data)
        return name

    # --- reading a backup

    def snapshots(self) -> list[str]:
        """Return the names of the snapshots, oldest first."""
        return sorted(path.stem for path in (self.folder / "snapshots").glob("*.json"))

    def snapshot(self, name: str | None = None) -> Snapshot:
        """Return the snapshot with this name; by default the newest."""
        names = self.snapshots()
        if not names:
            raise fail(str(self.folder), "contains no complete snapshot", "run `benthoscope backup` again")
        matching = [each for each in names if each.startswith(name)] if name else names[-1:]
        if not matching:
            raise fail(str(self.folder), f"has no snapshot '{name}'", f"choose one of {', '.join(names[-5:])}")
        path = self.folder / "snapshots" / f"{matching[-1]}.json"
        try:
            return Snapshot(**read_json(path))
        except (ValueError, TypeError) as error:
            raise fail(str(path), f"is damaged ({error})", "use another snapshot") from error

    def check(self, on_step: OnStep = ignore) -> list[Problem]:
        """Read all pieces of all snapshots and compare them with their checksums. Open the catalogue of each snapshot.

        Damaged pieces are moved aside, so that the next backup stores them again if the workspace still has them.
        """
        problems: list[Problem] = []
        usable = {}
        for name in self.snapshots():
            try:
                usable[name] = self.snapshot(name)
            except BadInput as error:
                problems.append(error.problem)
        pieces = sorted(
            {piece for snapshot in usable.values() for entry in snapshot.files.values() for piece in entry["pieces"]}
        )
        damaged = set()
        for done, piece in enumerate(pieces):
            on_step(Progress(done, len(pieces), "Checking"))
            try:
                self._read_piece(piece)
            except ValueError:
                damaged.add(piece)
                self._set_aside(piece)
        for name, snapshot in usable.items():
            problems += [
                Problem(f"snapshot {name}", f"{path} is damaged", "use another snapshot, or back up again")
                for path, entry in snapshot.files.items()
                if damaged.intersection(entry["pieces"])
            ]
            if not damaged.intersection(snapshot.files[DATABASE]["pieces"]):
                problems += self._catalogue_problems(name, snapshot)
        return problems

    def prune(self, keep: int) -> int:
        """Remove all snapshots but the newest `keep`, and the pieces that only they used. Returns their number."""
        if keep < 1:
            raise fail("--keep", f"must be 1 or more (got {keep})", "keep at least one snapshot")
        with locked(self.folder / ".lock"):
            old, remaining = self.snapshots()[:-keep], self.snapshots()[-keep:]
            used = {
                piece for name in remaining for entry in self.snapshot(name).files.values() for piece in entry["pieces"]
            }
            for name in old:
                (self.folder / "snapshots" / f"{name}.json").unlink()
            for path in (self.folder / "pieces").rglob("*"):
                if path.is_file() and path.name not in used:
                    path.unlink()
            return len(old)

    def _set_aside(self, piece: str) -> None:
        path = self._piece(piece)
        with contextlib.suppress(OSError):
            path.replace(path.with_name(f"{piece}.damaged"))

    def restore(
        self,
        path: str | os.PathLike,
        *,
        snapshot: str | None = None,
        database: str | None = None,
        replace: bool = False,
        on_step: OnStep = ignore,
    ) -> tuple[Path, Snapshot]:
        """Write a snapshot to a new workspace folder and check all pieces.

        With `replace`, an existing workspace is moved aside, never deleted. `database` is the address of an empty
        PostgreSQL database; by default the catalogue is an SQLite file in the folder.
        """
        target, chosen = workspace_path(path), self.snapshot(snapshot)
        if target.exists() and not replace:
            raise fail(str(target), "already exists", "choose another name, or use --replace to move it aside")
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{target.name}.", dir=target.parent) as name:
            restored_folder = Path(name) / target.name
            self._write_files(chosen, restored_folder, on_step)
            check_copy(restored_folder / DATABASE)
            identity = {**read_json(restored_folder / "workspace.json"), "database": database or DATABASE}
            if database:
                _move_to_database(restored_folder / DATABASE, database)
            write_json(restored_folder / "workspace.json", identity)
            if target.exists():
                target.rename(_aside(target))
            restored_folder.rename(target)
        return target, chosen

    def _write_files(self, snapshot: Snapshot, target_folder: Path, on_step: OnStep) -> None:
        for done, (name, entry) in enumerate(snapshot.files.items()):
            on_step(Progress(done, len(snapshot.files), f"Writing {name}"))
            path = target_folder / name
            if not path.resolve().is_relative_to(target_folder.resolve()):
                raise fail(str(self.folder), f"lists a file outside the workspace: {name}", "use another backup")
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("wb") as file:
                for piece in entry["pieces"]:
                    file.write(self._read_piece(piece))
                file.flush()
                os.fsync(file.fileno())
            os.utime(path, ns=(entry["mtime_ns"], entry["mtime_ns"]))

    def _piece(self, name: str) -> Path:
        return self.folder / "pieces" / name[:2] / name

    def _read_piece(self, name: str) -> bytes:
        try:
            data = self._piece(name).read_bytes()
        except OSError as error:
            raise fail(str(self._piece(name)), f"cannot be read ({error.strerror})", "use another snapshot") from error
        if hashlib.sha256(data).hexdigest() != name:
            raise fail(str(self._piece(name)), "is damaged: its checksum differs", "use another snapshot")
        return data

    def _newest_files(self) -> Mapping[str, Mapping[str, Any]]:
        for name in reversed(self.snapshots()):
            with contextlib.suppress(ValueError):
                return self.snapshot(name).files
        return {}

    @contextlib.contextmanager
    def _catalogue(self, entry: Mapping[str, Any]) -> Iterator[Path]:
        """Yield the catalogue of a snapshot as a temporary file."""
        with tempfile.TemporaryDirectory(prefix="benthoscope-") as name:
            path = Path(name) / DATABASE
            with path.open("wb") as file:
                file.writelines(map(self._read_piece, entry["pieces"]))
            yield path

    def _counts(self, entry: Mapping[str, Any]) -> dict[str, int]:
        with self._catalogue(entry) as path:
            check_copy(path)
            return counts_of(path)

    def _catalogue_problems(self, name: str, snapshot: Snapshot) -> list[Problem]:
        try:
            counts = self._counts(snapshot.files[DATABASE])
        except BadInput as error:
            return [Problem(f"snapshot {name}", error.problem.what, "use another snapshot")]
        if counts != _with_levels(snapshot.counts, counts):
            return [
                Problem(
                    f"snapshot {name}", "the numbers in its catalogue differ from the recorded ones", "back up again"
                )
            ]
        return []


def copy_catalogue(workspace: Workspace, target: Path) -> None:
    """Write a consistent copy of the catalogue as one SQLite file, for any database."""
    if workspace.catalogue.dialect == "sqlite":
        copy_sqlite(workspace.folder / workspace.identity.database, target)
        return
    engines = postgres_engines(workspace.identity.database)
    try:
        revision = revision_of(engines.writer)
        assert revision is not None  # the workspace is open
        dump(engines.writer, target, revision)
    finally:
        engines.dispose()


def counts_of(catalogue: Path) -> dict[str, int]:
    """Return the numbers of images, label events, runs, their finer and coarser levels, and crowd answers in a
    catalogue file."""
    with contextlib.closing(sqlite3.connect(sqlite_address(catalogue, "ro"), uri=True)) as connection:

        def count(rows: str) -> int:
            return connection.execute(f"SELECT count(*) FROM {rows}").fetchone()[0]

        levels = count(f"run WHERE {IS_LEVEL}")
        return {
            "images": count("image"),
            "label_events": count("label_event"),
            "runs": count("run") - levels,
            "levels": levels,
            "crowd_answers": count("crowd_answer"),
        }


def _with_levels(noted: Mapping[str, int], counts: Mapping[str, int]) -> dict[str, int]:
    """Return the recorded counts. Snapshots of earlier versions counted each level as a run; these are counted
    separately here."""
    if "levels" in noted:
        return dict(noted)
    return {**noted, "runs": noted["runs"] - counts["levels"], "levels": counts["levels"]}


def _listed(folder: Path) -> list[str]:
    """Return the files to store. Files that name others come first."""
    paths = []
    for top, names, files in os.walk(folder):
        names[:] = sorted(
            name for name in names if not (name.startswith(".") or (Path(top) == folder and name in FOLDERS_LEFT_OUT))
        )
        for name in files:
            if not any(fnmatch.fnmatch(name, pattern) for pattern in LEFT_OUT):
                paths.append((Path(top) / name).relative_to(folder).as_posix())
    return sorted(paths, key=lambda path: (_rank(path), path))


def _split(file: BinaryIO) -> Iterator[bytes]:
    """Yield the pieces of a file. The header, which changes with each append, is a separate small piece."""
    size = HEADER
    while data := file.read(size):
        yield data
        size = PIECE


def _rank(path: str) -> int:
    name = path.rpartition("/")[2]
    return next((rank for rank, pattern in enumerate(FIRST) if fnmatch.fnmatch(name, pattern)), len(FIRST))


def _aside(target: Path) -> Path:
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    return target.with_name(f"{target.stem}.replaced-{stamp}{target.suffix}")


def _move_to_database(catalogue: Path, address: str) -> None:
    """Copy the file to an empty PostgreSQL database, then delete the file."""
    source, new = sqlite_engines(catalogue), create_catalogue(address)
    try:
        if new.all(select(workspace_table)):
            raise fail("--database", "the database already contains a workspace", "give an empty database")
        migrate(source.writer)
        with source.reader.connect() as origin, origin.begin():
            new.write(lambda connection: copy_tables(origin, connection))
    finally:
        source.dispose()
        new.close()
    for path in catalogue.parent.glob(f"{catalogue.name}*"):
        path.unlink()
