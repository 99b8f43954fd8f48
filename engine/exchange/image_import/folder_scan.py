"""Scan a folder of images: names, sizes and times only; no file is opened."""

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from benthoscope.engine.exchange.image_import.sources import METADATA
from benthoscope.engine.exchange.records import LISTED
from benthoscope.engine.imaging import SUFFIXES, BadImage, check_regular, is_foreign, readable, unreadable
from benthoscope.engine.problems import Problem, fail
from benthoscope.engine.progress import OnStep, Progress, ignore

WORKSPACE = ".benthos"  # a workspace is often beside its images
SYSTEM = frozenset({"thumbs.db", "desktop.ini", "__macosx", "@eadir", "$recycle.bin", "system volume information"})

SAMPLE, TRUTH = "sample.json", "truth"  # the folder of a made sample has the true labels beside the images


@dataclass(frozen=True)
class FoundFile:
    """A file by its path below the scanned folder, with forward slashes."""

    path: str
    size: int
    mtime_ns: int


@dataclass(frozen=True)
class Survey:
    """Images and possible metadata files, sorted by path. Other files are counted by ending."""

    folder: Path
    start: str = ""  # the scanned folder below the root, "" for the root
    images: tuple[FoundFile, ...] = ()
    metadata: tuple[FoundFile, ...] = ()
    ignored: Mapping[str, int] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    skipped_links: int = 0  # links that lead out of the folder


def survey(folder: Path, on_step: OnStep = ignore, *, start: str = "", follow_links: bool = False) -> Survey:
    """Scan the folder and all its subfolders. Hidden files and workspaces are ignored.

    With `start`, a subfolder, only this one is scanned; paths stay relative to the folder. Symbolic links that lead out
    of the folder are skipped and listed as problems, unless `follow_links` is set. Loops of links are detected.
    """
    if not (folder / start).is_dir():
        raise fail(readable(folder / start), "is not a folder", "give the folder with the images")
    walk = _Walk(folder, None if follow_links else (folder / start).resolve())
    for _ in walk.folders(start):
        on_step(Progress(0, None, f"Scanning {readable(folder)}: {len(walk.images):,} images so far"))
    images, metadata = (tuple(sorted(files, key=lambda file: file.path)) for files in (walk.images, walk.metadata))
    problems = (*walk.problems, *walk.link_problems())
    return Survey(folder, start, images, metadata, dict(walk.ignored.most_common()), problems, len(walk.outside_links))


class _Walk:
    def __init__(self, folder: Path, boundary: Path | None):
        """`boundary` is the folder that links must not leave; None allows all links."""
        self.root, self.boundary = folder, boundary
        self.outside_links: list[Problem] = []
        self.images: list[FoundFile] = []
        self.metadata: list[FoundFile] = []
        self.ignored: Counter[str] = Counter()
        self.problems: list[Problem] = []
        self._visited: set[tuple[int, int]] = set()

    def folders(self, start: str) -> Iterator[str]:
        """Record all files. Yields each folder after it is scanned."""
        waiting = [start]
        while waiting:
            below = waiting.pop()
            waiting += reversed(self._look_into(below))
            yield below

    def _look_into(self, below: str) -> list[str]:
        """Record the files of one folder and return its subfolders."""
        folder = self.root / below
        try:
            if self._was_here(folder):
                return []
            with os.scandir(folder) as entries:
                return [
                    inner
                    for entry in sorted(entries, key=lambda entry: entry.name)
                    if (inner := self._look_at(entry, below)) is not None
                ]
        except OSError as error:
            self.problems.append(unreadable(error, folder).problem)
            return []

    def _was_here(self, folder: Path) -> bool:
        """Return whether the folder was already scanned. Links may form a loop, or lead to the same images twice."""
        status = folder.stat()
        known = (status.st_dev, status.st_ino) in self._visited
        self._visited.add((status.st_dev, status.st_ino))
        if known:
            self.problems.append(
                Problem(
                    readable(folder),
                    "was already scanned under another name",
                    "nothing is lost; remove the link if it forms a loop",
                )
            )
        return known

    def _look_at(self, entry: os.DirEntry, below: str) -> str | None:
        """Record a file, or return the path of a folder to scan."""
        path = f"{below}/{entry.name}" if below else entry.name
        if entry.name.startswith(".") or entry.name.lower() in SYSTEM or entry.name.endswith(WORKSPACE):
            self.ignored["hidden"] += 1
            return None
        if self._leads_outside(entry):
            return None
        try:
            is_folder = entry.is_dir()
        except OSError:  # a link that points back to itself
            is_folder = False
        if is_foreign(entry.name) and (is_folder or _suffix(path) in SUFFIXES):
            self.problems.append(Problem(readable(self.root / path), "its name is not UTF-8", "rename it"))
            return None
        if is_folder:
            return path
        self._note(entry, path)
        return None

    def _is_truth_of_a_sample(self, path: str) -> bool:
        """Return whether a file has the true labels of a made sample. They are there to compare results with; as
        metadata they would look like results."""
        folder = PurePosixPath(path).parent
        return folder.name == TRUTH and (self.root / folder.parent / SAMPLE).is_file()

    def _leads_outside(self, entry: os.DirEntry) -> bool:
        """Return whether the entry is a link out of the boundary. Such links are listed."""
        if self.boundary is None or not entry.is_symlink():
            return False
        try:
            target = Path(entry.path).resolve()
        except (OSError, RuntimeError):  # a loop of links is reported when the entry is scanned
            return False
        if target.is_relative_to(self.boundary):
            return False
        self.outside_links.append(
            Problem(
                readable(entry.path),
                f"is a link that leads out of the folder, to {readable(target)}; it was skipped",
                "import with --follow-links to include it",
            )
        )
        return True

    def link_problems(self) -> list[Problem]:
        """Return the problems of skipped links. If there are very many, only the first ones are listed."""
        uncounted = len(self.outside_links) - LISTED
        summary = (
            [
                Problem(
                    readable(self.root),
                    f"{uncounted:,} more links lead out of the folder and were skipped",
                    "import with --follow-links to include them",
                )
            ]
            if uncounted > 0
            else []
        )
        return self.outside_links[:LISTED] + summary

    def _note(self, entry: os.DirEntry, path: str) -> None:
        suffix = _suffix(path)
        if suffix in METADATA and self._is_truth_of_a_sample(path):
            return
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
