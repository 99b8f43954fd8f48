"""A workspace: one folder NAME.benthos with everything but the images.

workspace.json                       its identity, and the position of its catalogue
catalogue.sqlite                     images, groups, runs, labels, jobs (or a PostgreSQL database, by address)
features/  thumbnails/  runs/  predictions/  jobs/  live/
backups/                             a copy of the catalogue before each migration
"""

import atexit
import contextlib
import os
import shlex
import shutil
import tempfile
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property, partial
from pathlib import Path

import numpy as np
from sqlalchemy import Engine, Row, delete, insert, select, update

from benthoscope.engine.problems import Problem, fail
from benthoscope.engine.workspace.crowd.store import CrowdStore
from benthoscope.engine.workspace.database.catalogue import Catalogue, create_catalogue, open_catalogue
from benthoscope.engine.workspace.database.catalogue_files import (
    copy_sqlite,
    keep_version,
    lacks_log,
    merge_log,
    refuse_missing,
    switching,
)
from benthoscope.engine.workspace.database.schema import feature_set, workspace
from benthoscope.engine.workspace.features import FeatureSet, FeatureStore, Sidecar
from benthoscope.engine.workspace.labels.log import LabelLog
from benthoscope.engine.workspace.labels.sampling import SamplingStore
from benthoscope.engine.workspace.labels.vocabularies import Favourites, TermLinks, Vocabularies
from benthoscope.engine.workspace.library import Library, People
from benthoscope.engine.workspace.live_dives import LiveDiveStore
from benthoscope.engine.workspace.records import current_time
from benthoscope.engine.workspace.runs import RunStore
from benthoscope.engine.workspace.selections import SelectionStore
from benthoscope.engine.workspace.storage.files import locked, make_folder, read_json, write_json
from benthoscope.engine.workspace.storage.thumbnails import ThumbnailLibrary
from benthoscope.engine.workspace.views import ViewStore

SUFFIX = ".benthos"
FORMAT = 1  # version of the folder; the catalogue has its own revisions
DATABASE = "catalogue.sqlite"
OPENING = "opening.lock"


@dataclass(frozen=True)
class Identity:
    """The content of workspace.json."""

    id: str
    name: str
    format: int
    database: str  # a file name in the folder, or a postgresql:// address


class Workspace:
    """Open it once per process and close it at the end: `with Workspace.open("reef.benthos") as workspace:`."""

    def __init__(self, folder: Path, identity: Identity, catalogue: Catalogue):
        self.folder, self.identity, self.catalogue = folder, identity, catalogue
        atexit.register(self.close)  # a script may end without closing; see catalogue_files
        self.library = Library(catalogue, folder)
        self.features = FeatureStore(folder / "features", self._note_features)
        self.runs = RunStore(catalogue, folder / "runs")
        self.people = People(catalogue)
        self.vocabularies = Vocabularies(catalogue)
        self.labels = LabelLog(catalogue)
        self.sampling = SamplingStore(catalogue, self.labels)
        self.favourites = Favourites(catalogue)
        self.term_links = TermLinks(catalogue)
        self.selections = SelectionStore(catalogue)
        self.views = ViewStore(folder)
        self.crowd = CrowdStore(catalogue)
        self.live = LiveDiveStore(catalogue, folder)

    @classmethod
    def create(cls, path: str | os.PathLike, *, name: str | None = None, database: str | None = None) -> "Workspace":
        """Create a workspace in a new or empty folder; `database` may be a postgresql:// address."""
        folder = workspace_path(path)
        if folder.exists() and any(folder.iterdir()):
            raise fail(str(folder), "already exists and is not empty", "open it, or choose another name")
        make_folder(folder)
        identity = Identity(str(uuid.uuid4()), name or folder.stem, FORMAT, database or DATABASE)
        catalogue = create_catalogue(_address(folder, identity))
        try:
            _introduce(catalogue, identity)
        except BaseException:
            catalogue.close()
            raise
        write_json(folder / "workspace.json", vars(identity))
        return cls(folder, identity, catalogue)

    @classmethod
    def open(cls, path: str | os.PathLike, *, accept_incomplete: bool = False) -> "Workspace":
        """Open the workspace in a folder. Without write permission, it is opened read-only with a copy of its
        catalogue.

        Opening never creates a catalogue, and raises for the catalogue of another workspace. A catalogue that was
        copied without its log opens only with `accept_incomplete`, because its newest labels may be missing.
        """
        folder = workspace_path(path)
        identity = read_identity(folder)
        if not can_write(folder, identity):
            return cls(folder, identity, _opened_for_looking(folder, identity))
        with locked(folder / OPENING):  # one process migrates, the others wait
            catalogue = _opened(folder, identity, accept_incomplete)
        return cls(folder, identity, catalogue)

    @property
    def read_only(self) -> bool:
        """Return whether the workspace is open read-only."""
        return self.catalogue.read_only

    @cached_property
    def thumbnails(self) -> ThumbnailLibrary:
        return ThumbnailLibrary(self.folder / "thumbnails")

    @property
    def name(self) -> str:
        return self.identity.name

    def close(self) -> None:
        atexit.unregister(self.close)
        self.catalogue.finish_writes()
        if self.catalogue.dialect == "sqlite" and not self.read_only:
            path = self.folder / self.identity.database
            # SQLite removes the log when the last connection closes, before the header of the file says so.
            with contextlib.suppress(OSError), locked(self.folder / OPENING), switching(path):
                self.catalogue.close()
                merge_log(path)
        self.catalogue.close()

    def stale_images(self, features: FeatureSet) -> np.ndarray:
        """Return ids of images whose file changed since the rows of a feature set were computed."""
        return features.readable_ids[features.stale(self.library.replaced_images())]

    def lost_catalogue(self) -> Problem | None:
        """Return a problem if the catalogue has no images although features or runs are on disk."""
        if self.library.count_images():
            return None
        stored = [f"feature set {name}" for name in self.features.names()]
        stored += [f"run {folder.name}" for folder in _folders(self.folder / "runs")]
        if not stored:
            return None
        return Problem(
            str(self.folder),
            f"the catalogue has no images, but there are {', '.join(stored[:4])}",
            "restore a backup with `benthoscope restore`; if you removed the images intentionally, ignore this",
        )

    def __enter__(self) -> "Workspace":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _note_features(self, changed: Sidecar | str) -> None:
        """Update the catalogue's list of feature sets after a change in the folder."""
        if isinstance(changed, str):
            self.catalogue.execute(delete(feature_set).where(feature_set.c.name == changed))
            return
        values = {
            "level": changed.level,
            "width": changed.width,
            "extractor": dict(changed.extractor),
            "created_at": changed.created_at,
        }

        def note(connection) -> None:
            row = connection.execute(select(feature_set).where(feature_set.c.name == changed.name)).first()
            if row is None:
                connection.execute(insert(feature_set).values(name=changed.name, **values))
            elif row.created_at != changed.created_at:  # appends change none of these values
                connection.execute(update(feature_set).where(feature_set.c.id == row.id).values(**values))

        self.catalogue.write(note, durable=False)


def workspace_path(path: str | os.PathLike) -> Path:
    """Return the folder of a path with or without its ending."""
    folder = Path(path).expanduser().absolute()
    if folder.suffix == SUFFIX or (folder / "workspace.json").is_file():
        return folder
    return folder.with_name(folder.name + SUFFIX)


def read_identity(folder: Path) -> Identity:
    try:
        identity = Identity(**read_json(folder / "workspace.json"))
    except FileNotFoundError as error:
        raise fail(str(folder), "is not a workspace", f"create one with `benthoscope init {folder.stem}`") from error
    except (OSError, ValueError, TypeError) as error:
        raise fail(str(folder / "workspace.json"), f"cannot be read ({error})", "restore it from a copy") from error
    if identity.format > FORMAT:
        raise fail(str(folder), f"has format {identity.format}, newer than {FORMAT}", "update Benthoscope")
    return identity


def can_write(folder: Path, identity: Identity) -> bool:
    """Return whether this process may change files of the workspace."""
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError:
        return False
    database = folder / identity.database
    return "://" in identity.database or not database.exists() or os.access(database, os.W_OK)


def _opened(folder: Path, identity: Identity, accept_incomplete: bool) -> Catalogue:
    address, keep = _address(folder, identity), partial(keep_version, folder)
    if isinstance(address, str):
        return _identified(open_catalogue(address, before_migration=keep), identity)
    refuse_missing(address, restore_remedy(folder))
    if not accept_incomplete and lacks_log(address):
        raise fail(
            str(address),
            "was copied without its -wal file while a program used it: the newest labels may be missing",
            f"copy {address.name}-wal as well, or {restore_remedy(folder)}; to accept the loss: "
            f"benthoscope doctor --accept-catalogue --workspace {shlex.quote(str(folder))}",
        )
    with switching(address):
        return _identified(open_catalogue(address, before_migration=keep), identity)


def _opened_for_looking(folder: Path, identity: Identity) -> Catalogue:
    """Return a copy of the current catalogue in a temporary folder, which is deleted when the process ends."""
    address = _address(folder, identity)
    if isinstance(address, str):
        return _identified(open_catalogue(address, read_only=True, before_migration=_refuse_migration), identity)
    refuse_missing(address, restore_remedy(folder))
    temporary_folder = Path(tempfile.mkdtemp(prefix="benthoscope-"))
    atexit.register(shutil.rmtree, temporary_folder, ignore_errors=True)
    copy_sqlite(address, temporary_folder / DATABASE)
    return _identified(open_catalogue(temporary_folder / DATABASE, read_only=True), identity)


def _refuse_migration(engine: Engine, revision: str) -> None:
    raise fail(
        "catalogue",
        f"has the tables of an older version (revision {revision})",
        "open it once in a writable folder",
    )


def _identified(catalogue: Catalogue, identity: Identity) -> Catalogue:
    """Return the catalogue after checking that it belongs to this workspace."""
    rows = catalogue.all(select(workspace))
    if [row.id for row in rows] == [identity.id]:
        return catalogue
    catalogue.close()
    if not rows:
        raise fail(
            identity.name,
            "its catalogue is empty and belongs to no workspace",
            "restore a backup with `benthoscope restore`",
        )
    raise fail(
        identity.name,
        f"its catalogue belongs to another workspace, '{rows[0].name}' (created {_day(rows[0])})",
        "replace it by the right catalogue, or restore a backup with `benthoscope restore`",
    )


def _day(row: Row) -> str:
    return datetime.fromtimestamp(row.created_at, UTC).strftime("%Y-%m-%d")


def restore_remedy(folder: Path) -> str:
    """Return how to restore a lost catalogue."""
    return f"restore a backup: benthoscope restore BACKUP {shlex.quote(folder.stem)} --replace"


def _folders(parent: Path) -> list[Path]:
    return [path for path in parent.iterdir() if path.is_dir()] if parent.is_dir() else []


def _address(folder: Path, identity: Identity) -> str | Path:
    return identity.database if "://" in identity.database else folder / identity.database


def _introduce(catalogue: Catalogue, identity: Identity) -> None:
    """Write the identity of the workspace to its database. Raises if another workspace uses it."""
    stored = catalogue.first(select(workspace))
    if stored:
        raise fail(identity.database, f"already contains the workspace '{stored.name}'", "give an empty database")
    catalogue.execute(insert(workspace).values(id=identity.id, name=identity.name, created_at=current_time()))
