"""A workspace: one folder NAME.benthos that holds everything but the images.

    workspace.json   what it is, and where its catalogue is
    catalogue.sqlite images, groups, runs, labels, jobs (or a PostgreSQL database, by address)
    features/ thumbnails/ runs/ jobs/
"""

import os
import uuid
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from sqlalchemy import delete, insert, select, update

from engine.problems import fail
from engine.workspace.catalogue import Catalogue, open_catalogue
from engine.workspace.crowd import CrowdStore
from engine.workspace.favourites import Favourites
from engine.workspace.features import FeatureStore, Sidecar
from engine.workspace.files import locked, read_json, write_json
from engine.workspace.labels import LabelLog
from engine.workspace.library import Library
from engine.workspace.people import People
from engine.workspace.records import now
from engine.workspace.runs import RunStore
from engine.workspace.schema import feature_set, workspace
from engine.workspace.selections import SelectionStore
from engine.workspace.term_links import TermLinks
from engine.workspace.thumbnails import ThumbnailLibrary
from engine.workspace.vocabularies import Vocabularies

SUFFIX = ".benthos"
FORMAT = 1  # of the folder; the catalogue has its own revisions
DATABASE = "catalogue.sqlite"


@dataclass(frozen=True)
class Identity:
    """What workspace.json says."""

    id: str
    name: str
    format: int
    database: str  # a file name within the folder, or a postgresql:// address


class Workspace:
    """Open it once in a process and close it at the end: `with Workspace.open("reef.benthos") as workspace:`."""

    def __init__(self, folder: Path, identity: Identity, catalogue: Catalogue):
        self.folder, self.identity, self.catalogue = folder, identity, catalogue
        self.library = Library(catalogue, folder)
        self.features = FeatureStore(folder / "features", self._note_features)
        self.runs = RunStore(catalogue, folder / "runs")
        self.people = People(catalogue)
        self.vocabularies = Vocabularies(catalogue)
        self.labels = LabelLog(catalogue)
        self.favourites = Favourites(catalogue)
        self.term_links = TermLinks(catalogue)
        self.selections = SelectionStore(catalogue)
        self.crowd = CrowdStore(catalogue)

    @classmethod
    def create(cls, path: str | os.PathLike, *, name: str | None = None, database: str | None = None) -> "Workspace":
        """A new workspace in a new or empty folder; `database` may be a postgresql:// address."""
        folder = workspace_path(path)
        if folder.exists() and any(folder.iterdir()):
            raise fail(str(folder), "is there already and not empty", "open it, or choose another name")
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise fail(str(folder), f"cannot be made ({error.strerror})", "choose a folder you may write to") from error
        identity = Identity(str(uuid.uuid4()), name or folder.stem, FORMAT, database or DATABASE)
        catalogue = open_catalogue(_address(folder, identity))
        try:
            _introduce(catalogue, identity)
        except BaseException:
            catalogue.close()
            raise
        write_json(folder / "workspace.json", vars(identity))
        return cls(folder, identity, catalogue)

    @classmethod
    def open(cls, path: str | os.PathLike) -> "Workspace":
        folder = workspace_path(path)
        identity = read_identity(folder)
        with locked(folder / "opening.lock"):  # one process migrates, the others find it done
            catalogue = open_catalogue(_address(folder, identity))
        return cls(folder, identity, catalogue)

    @cached_property
    def thumbnails(self) -> ThumbnailLibrary:
        return ThumbnailLibrary(self.folder / "thumbnails")

    @property
    def name(self) -> str:
        return self.identity.name

    def close(self) -> None:
        self.catalogue.close()

    def __enter__(self) -> "Workspace":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _note_features(self, changed: Sidecar | str) -> None:
        """Keeps the catalogue's list of feature sets in step with the folder."""
        if isinstance(changed, str):
            self.catalogue.execute(delete(feature_set).where(feature_set.c.name == changed))
            return
        values = {"level": changed.level, "width": changed.width, "extractor": dict(changed.extractor),
                  "created_at": changed.created_at}

        def note(connection) -> None:
            row = connection.execute(select(feature_set).where(feature_set.c.name == changed.name)).first()
            if row is None:
                connection.execute(insert(feature_set).values(name=changed.name, **values))
            elif row.created_at != changed.created_at:  # appends change nothing that is noted here
                connection.execute(update(feature_set).where(feature_set.c.id == row.id).values(**values))

        self.catalogue.write(note, durable=False)


def workspace_path(path: str | os.PathLike) -> Path:
    """The folder meant by a path with or without its ending."""
    folder = Path(path).expanduser().absolute()
    if folder.suffix == SUFFIX or (folder / "workspace.json").is_file():
        return folder
    return folder.with_name(folder.name + SUFFIX)


def read_identity(folder: Path) -> Identity:
    try:
        identity = Identity(**read_json(folder / "workspace.json"))
    except FileNotFoundError as error:
        raise fail(str(folder), "is no workspace", f"make one with `benthoscope init {folder.stem}`") from error
    except (OSError, ValueError, TypeError) as error:
        raise fail(str(folder / "workspace.json"), f"cannot be read ({error})", "restore it from a copy") from error
    if identity.format > FORMAT:
        raise fail(str(folder), f"has format {identity.format}, newer than {FORMAT}", "update Benthoscope")
    return identity


def _address(folder: Path, identity: Identity) -> str | Path:
    return identity.database if "://" in identity.database else folder / identity.database


def _introduce(catalogue: Catalogue, identity: Identity) -> None:
    """Writes who lives in this database, and refuses one that another workspace lives in."""
    found = catalogue.first(select(workspace))
    if found:
        raise fail(identity.database, f"already holds the workspace '{found.name}'", "give an empty database")
    catalogue.execute(insert(workspace).values(id=identity.id, name=identity.name, created_at=now()))
