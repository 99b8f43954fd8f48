"""A memory: the labelled images of a campaign in one file, for use in later campaigns.

The file is a zip archive without compression. It contains no images.

    memory.json    what the memory is: name, source, date, descriptor, terms, how the labels were made
    vectors.npy    (n, D) float16, the vectors of the images before the projection, divided by `scale`
    terms.npy      (n,) int32, positions in the list of terms
    reasons.npy    (n,) int32, positions in the list of reasons
    trust.npy      (n,) float32, 1 if somebody looked at the image, less for labels of whole groups
    times.npy      (n,) float64, seconds since 1970 of each label
    images.npy     (n,) text, file names of the images

The axes of a projection are learned in each campaign, so projected vectors of two campaigns cannot be compared. Vectors
before the projection can.
"""

import json
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from benthoscope.engine.problems import BadInput, fail
from benthoscope.engine.workspace.storage.files import replacing

FORMAT = 1
FACTS = "memory.json"
ARRAYS = ("vectors", "terms", "reasons", "trust", "times", "images")
KINDS = {"vectors": "f", "terms": "i", "reasons": "i", "trust": "f", "times": "f", "images": "U"}  # numpy's letters
LARGEST_HALF = 60_000.0  # float16 ends at 65,504; longer vectors are divided by a scale
UNREADABLE = (  # errors of damaged files; RuntimeError is that of an encrypted archive
    OSError, zipfile.BadZipFile, RuntimeError, ValueError, KeyError, TypeError, AttributeError, EOFError, MemoryError,
    RecursionError,
)  # fmt: skip
MAX_NAME = 200  # letters of a term
MAX_FACTS = 16 << 20  # bytes of the description; more is damaged or hostile
REMEDY = "copy the file again, or make a new one with `benthoscope memory add`"


@dataclass(frozen=True)
class MemoryTerm:
    """A term by the name of its vocabulary and its path from the root."""

    vocabulary: str
    path: tuple[str, ...]


@dataclass(frozen=True)
class MemoryFacts:
    """The description of a memory. `identity` belongs to the descriptor; `water`: were water effects removed?"""

    name: str
    source: str  # name of the campaign
    created_at: float
    identity: Mapping[str, Any]
    water: bool
    width: int
    labels: int
    looked_at: int  # labels of images that somebody looked at
    terms: tuple[MemoryTerm, ...]
    reasons: tuple[str, ...]
    scale: float = 1.0


@dataclass(frozen=True)
class LabelMemory:
    """The content of a memory file. Arrays are as described in this module; `vectors` are already scaled back."""

    facts: MemoryFacts
    vectors: np.ndarray  # (n, D) float32
    terms: np.ndarray
    reasons: np.ndarray
    trust: np.ndarray
    times: np.ndarray
    images: np.ndarray


def half_precision(vectors: np.ndarray) -> tuple[np.ndarray, float]:
    """Return (vectors / scale as float16, scale)."""
    largest = float(np.abs(vectors).max(initial=0.0))
    scale = max(largest / LARGEST_HALF, 1.0)
    return (vectors / scale).astype(np.float16), scale


def write_memory(path: Path, memory: LabelMemory) -> None:
    """Write the file. It replaces an earlier one only when it is complete."""
    vectors, scale = half_precision(memory.vectors)
    facts = {**vars(memory.facts), "scale": scale, "format": FORMAT, "terms": [vars(t) for t in memory.facts.terms]}
    arrays = {name: getattr(memory, name) for name in ARRAYS} | {"vectors": vectors}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            archive.writestr(FACTS, json.dumps(facts, indent=1, ensure_ascii=False))
            for name, array in arrays.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                    np.lib.format.write_array(entry, array, allow_pickle=False)
    except OSError as error:
        reason = error.strerror or str(error)
        raise fail(str(path), f"cannot be written ({reason})", "free some space or choose another folder") from error


def read_memory(path: Path) -> LabelMemory:
    """Return the content of a memory file. Raises BadInput if it is damaged or not a memory."""
    with _reporting(path), zipfile.ZipFile(path) as archive:
        facts = _facts(archive)
        arrays = {name: _array(archive, name) for name in ARRAYS}
        memory = LabelMemory(facts, **{**arrays, "vectors": arrays["vectors"].astype(np.float32) * facts.scale})
        _check(memory)
        return memory


def read_facts(path: Path) -> MemoryFacts:
    """Return what a memory is, without reading its arrays. Cached until the file changes."""
    with _reporting(path):
        status = path.stat()
        return _facts_of(path, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=256)
def _facts_of(path: Path, changed_ns: int, size: int) -> MemoryFacts:
    with zipfile.ZipFile(path) as archive:
        return _facts(archive)


@contextmanager
def _reporting(path: Path) -> Iterator[None]:
    """Report errors of unreadable files as one line."""
    try:
        yield
    except BadInput:
        raise
    except FileNotFoundError as error:
        raise fail(str(path), "there is no such file", "see `benthoscope memory list`") from error
    except UNREADABLE as error:
        raise fail(str(path), f"is damaged or not a memory ({error})", REMEDY) from error


def _facts(archive: zipfile.ZipFile) -> MemoryFacts:
    if archive.getinfo(FACTS).file_size > MAX_FACTS:
        raise ValueError("its description is too long")
    content = json.loads(archive.read(FACTS))
    version = content.pop("format")
    if version != FORMAT:
        raise fail(
            str(archive.filename), f"was written in format {version}; this version reads {FORMAT}", "update the program"
        )
    terms = tuple(MemoryTerm(str(term["vocabulary"]), tuple(map(str, term["path"]))) for term in content.pop("terms"))
    facts = MemoryFacts(**{**content, "terms": terms, "reasons": tuple(content["reasons"])})
    names = [name for term in terms for name in (term.vocabulary, *term.path)]
    if not all(term.path for term in terms) or not all(map(_is_name, names)):
        raise ValueError("a term has no usable name")
    if not (isinstance(facts.identity, dict) and facts.labels > 0 and facts.width > 0 and 0 < facts.scale < np.inf):
        raise ValueError("its description is incomplete")
    return facts


def _is_name(name: str) -> bool:
    return bool(name.strip()) and name.isprintable() and len(name) <= MAX_NAME


def _array(archive: zipfile.ZipFile, name: str) -> np.ndarray:
    """Return an array. Its size is compared with that of the entry first, so that a false header cannot request all
    memory."""
    info = archive.getinfo(f"{name}.npy")
    if info.compress_type != zipfile.ZIP_STORED:
        raise ValueError(f"{info.filename} is compressed")
    with archive.open(info) as entry:
        shape, dtype = _header(entry)
        if dtype.kind != KINDS[name] or int(np.prod(shape, dtype=object)) * dtype.itemsize > info.file_size:
            raise ValueError(f"{info.filename} does not match its header")
    with archive.open(info) as entry:
        array = np.lib.format.read_array(entry, allow_pickle=False)
        entry.read()  # at the end, the checksum is compared
    return array


def _header(entry: Any) -> tuple[tuple[int, ...], np.dtype]:
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    shape, _, dtype = readers[np.lib.format.read_magic(entry)](entry)
    return shape, dtype


def _check(memory: LabelMemory) -> None:
    facts, count = memory.facts, memory.facts.labels
    lengths = {name: len(getattr(memory, name)) for name in ARRAYS}
    if set(lengths.values()) != {count} or memory.vectors.shape != (count, facts.width):
        raise ValueError("its arrays differ in length")
    for name, known in (("terms", facts.terms), ("reasons", facts.reasons)):
        numbers = getattr(memory, name)
        if numbers.min() < 0 or numbers.max() >= len(known):
            raise ValueError(f"{name} have numbers outside the list")
    if not (np.isfinite(memory.vectors).all() and (memory.trust > 0).all() and (memory.trust <= 1).all()):
        raise ValueError("a value is outside its range")
