"""Everything an import wants of one file, from reading it once."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.imaging.facts import ImageFacts, facts_of
from engine.imaging.files import read_file
from engine.imaging.refusals import readable
from engine.imaging.shrink import thumbnails


@dataclass(frozen=True)
class Intake:
    """Size and time are those of the file when it was read; thumbnails are JPEGs by their longest side."""

    size: int
    mtime_ns: int
    sha256: str
    facts: ImageFacts
    thumbnails: Mapping[int, bytes]


def take_in(path: Path, sizes: Sequence[int]) -> Intake:
    """Reads, hashes, probes and shrinks the image; raises BadImage with one plain reason."""
    data, status = read_file(path)
    where = readable(path)
    facts = facts_of(data, where=where, suffix=path.suffix)
    made = thumbnails(data, sizes, where=where)
    return Intake(status.st_size, status.st_mtime_ns, hashlib.sha256(data).hexdigest(), facts, made)
