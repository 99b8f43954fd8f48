"""What lies in a folder of images: a walk that looks at names, sizes and times and opens nothing."""

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from engine.exchange.sources import METADATA
from engine.imaging import SUFFIXES, BadImage, check_regular, is_foreign, readable, unreadable
from engine.problems import Problem, fail
from engine.progress import OnStep, Progress, ignore

WORKSPACE = ".benthos"  # a workspace often lies beside its images
SYSTEM = frozenset({"thumbs.db", "desktop.ini", "__macosx", "@eadir", "$recycle.bin", "system volume information"})


@dataclass(frozen=True)
class FoundFile:
    """A file by its path below the surveyed folder, with forward slashes."""

    path: str
    size: int
    mtime_ns: int


@dataclass(frozen=True)
class Survey:
    """Images and possible metadata files in the order of their paths; what else lies there is counted by ending."""

    folder: Path
    start: str = ""  # the folder below it that was looked through, "" for all of it
    images: tuple[FoundFile, ...] = ()
    metadata: tuple[FoundFile, ...] = ()
    ignored: Mapping[str, int] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()


def survey(folder: Path, on_step: OnStep = ignore, *, start: str = "") -> Survey:
    """Walks the folder and all below it, links to folders included; hidden files and workspaces are passed over.

    With `start`, a folder below it, only from there on; paths stay those below the folder.
    """
    if not (folder / start).is_dir():
        raise fail(readable(folder / start), "is no folder", "give the folder that holds the images")
    walk = _Walk(folder)
    for _ in walk.folders(start):
        on_step(Progress(0, None, f"Looking through {readable(folder)}: {len(walk.images):,} images so far"))
    images, metadata = (tuple(sorted(files, key=lambda file: file.path)) for files in (walk.images, walk.metadata))
    return Survey(folder, start, images, metadata, dict(walk.ignored.most_common()), tuple(walk.problems))


class _Walk:
    def __init__(self, folder: Path):
        self.root = folder
        self.images: list[FoundFile] = []
        self.metadata: list[FoundFile] = []
        self.ignored: Counter[str] = Counter()
        self.problems: list[Problem] = []
        self._seen: set[tuple[int, int]] = set()

    def folders(self, start: str) -> Iterator[str]:
        """Takes note of every file; yields each folder once it is done."""
        waiting = [start]
        while waiting:
            below = waiting.pop()
            waiting += reversed(self._look_into(below))
            yield below

    def _look_into(self, below: str) -> list[str]:
        """Notes the files of one folder and gives its folders."""
        folder = self.root / below
        try:
            if self._was_here(folder):
                return []
            with os.scandir(folder) as entries:
                return [inner for entry in sorted(entries, key=lambda entry: entry.name)
                        if (inner := self._look_at(entry, below)) is not None]
        except OSError as error:
            self.problems.append(unreadable(error, folder).problem)
            return []

    def _was_here(self, folder: Path) -> bool:
        """Links between folders may lead round in a circle, or to the same images twice."""
        status = folder.stat()
        known = (status.st_dev, status.st_ino) in self._seen
        self._seen.add((status.st_dev, status.st_ino))
        if known:
            self.problems.append(Problem(readable(folder), "is a folder already looked through under another name",
                                         "nothing is lost; remove the link if it leads round in a circle"))
        return known

    def _look_at(self, entry: os.DirEntry, below: str) -> str | None:
        """Notes a file, or gives the path of a folder to look into."""
        path = f"{below}/{entry.name}" if below else entry.name
        if entry.name.startswith(".") or entry.name.lower() in SYSTEM or entry.name.endswith(WORKSPACE):
            self.ignored["hidden"] += 1
            return None
        try:
            is_folder = entry.is_dir()
        except OSError:  # a link that leads back to itself
            is_folder = False
        if is_foreign(entry.name) and (is_folder or _suffix(path) in SUFFIXES):
            self.problems.append(Problem(readable(self.root / path), "its name is not UTF-8", "rename it"))
            return None
        if is_folder:
            return path
        self._note(entry, path)
        return None

    def _note(self, entry: os.DirEntry, path: str) -> None:
        suffix = _suffix(path)
        if suffix not in SUFFIXES and suffix not in METADATA:
            self.ignored[suffix or "no ending"] += 1
            return
        try:
            status = entry.stat()
            check_regular(Path(entry.path), status)
        except OSError as error:
            self.problems.append(unreadable(error, Path(entry.path)).problem)
        except BadImage as error:
            self.problems.append(error.problem)
        else:
            files = self.images if suffix in SUFFIXES else self.metadata
            files.append(FoundFile(path, status.st_size, status.st_mtime_ns))


def _suffix(path: str) -> str:
    return PurePosixPath(path).suffix.lower()
