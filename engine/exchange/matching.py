"""Which image file a record means."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from engine.exchange.records import ImageRecord
from engine.exchange.sources import Source
from engine.exchange.tables import told
from engine.problems import Problem
from engine.progress import OnStep, ignore


@dataclass(frozen=True)
class Matches:
    """For each image path what the sources say of it, together; for each source the paths it speaks of."""

    records: dict[str, ImageRecord]
    spoken_of: dict[str, tuple[str, ...]]
    problems: tuple[Problem, ...]


def match(sources: Iterable[Source], paths: Sequence[str], on_step: OnStep = ignore) -> Matches:
    """Where sources disagree the one of higher trust is believed, and of rows of one source the first."""
    files = Files(paths)
    found: dict[str, ImageRecord] = {}
    spoken_of: dict[str, tuple[str, ...]] = {}
    problems = []
    for source in sorted(sources, key=lambda source: -source.kind.trust):
        own, unclear = _of_one(source, files, on_step)
        spoken_of[source.name] = tuple(own)
        for path, record in own.items():
            found[path] = found[path].filled_from(record) if path in found else record
        if unclear:
            problems.append(Problem(source.name, f"{unclear:,} rows name an image of which there are several",
                                    "give paths instead of file names, or a column for the dive"))
    return Matches(found, spoken_of, tuple(problems))


def _of_one(source: Source, files: "Files", on_step: OnStep) -> tuple[dict[str, ImageRecord], int]:
    own: dict[str, ImageRecord] = {}
    unclear = 0
    for record in told(source.reading.records, source.name, on_step):
        for name, one in _named(record):
            paths = files.meant_by(name, record.group, source.name)
            unclear += paths is None
            for path in paths or ():
                own.setdefault(path, one)
    return own, unclear


def _named(record: ImageRecord) -> list[tuple[str, ImageRecord]]:
    """The record under its image's name and, without the hash, which is not its own, under the twin's."""
    named = [(record.image, record)]
    return [*named, (record.twin, replace(record, sha256=None))] if record.twin else named


class Files:
    """Image paths, found by name without regard to case and, where need be, ending."""

    def __init__(self, paths: Sequence[str]):
        self._by_stem: dict[str, list[str]] = defaultdict(list)
        for path in paths:
            self._by_stem[_stem(path)].append(path)

    def meant_by(self, name: str, group: str | None, source: str) -> list[str] | None:
        """The files a name means, several only if they differ in their ending; None when it is not clear which.

        Better than another is a file whose folders are those of the name, which lies in the folder of its group, and
        nearer to the source.
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
    return (_common(reversed(folders), reversed(name.lower().split("/")[:-1])), in_group,
            _common(folders, source.lower().split("/")[:-1]))


def _common(one: Iterable[str], other: Iterable[str]) -> int:
    """How many leading names are the same."""
    same = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        same += 1
    return same
