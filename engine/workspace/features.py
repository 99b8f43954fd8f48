"""Named feature sets: float32 rows in memory-mapped .npy files, and a JSON sidecar that describes them.

    features/deep.json               the sidecar; renamed into place, so a set is complete or missing
    features/deep.1f3a/rows.npy      (n, width)
    features/deep.1f3a/image_ids.npy (images,)
    features/deep.1f3a/offsets.npy   (images + 1,), for segments only: rows of image i are [o[i], o[i+1])
    features/deep.1f3a/checks.npy    (images,) checksums, compared when rows are read; see feature_checks
    features/deep.1f3a/contents.npy  (images,) the beginning of the SHA-256 of each file when it was described
    features/deep.1f3a/further.npy   (n, further) float16, more columns for classifiers, for descriptors that have them
    features/deep.1f3a/sidecar.json  a copy of the sidecar

After rows were replaced, the files of the next generation are called rows.2.npy and so on. The sidecar names the valid
generation, so that a set changes atomically. Two-dimensional projections of feature sets are stored beside them and can
be computed again.
"""

import contextlib
import hashlib
import json
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from benthoscope.engine.problems import BadInput, Problem, fail, unknown
from benthoscope.engine.value_checks import unusable_values
from benthoscope.engine.workspace.records import current_time
from benthoscope.engine.workspace.storage import npy_append as growing
from benthoscope.engine.workspace.storage.feature_checks import checks_at, image_checks
from benthoscope.engine.workspace.storage.files import Claim, locked, read_json, replacing, write_json
from benthoscope.engine.workspace.storage.id_set import IdSet

LEVELS = ("image", "segment")
DESCRIPTOR = "descriptor"  # subfolder of a feature set with its trained descriptor
CONTENT = np.dtype("S16")
# Files that sets of the first release do not have. A power cut may delete them, because the hashes of the blocks also
# prove the rows.
LATER = {"checks": np.dtype(np.uint64), "contents": CONTENT}
FURTHER = "further"
STEMS = ("rows", "image_ids", "offsets", FURTHER, *LATER)
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,99}")  # also a valid file name on all systems


@dataclass(frozen=True)
class Block:
    """One append: the number of images and rows, and the hash of their content."""

    images: int
    rows: int
    sha256: str


@dataclass(frozen=True)
class Sidecar:
    """The description of a feature set. The extractor has its method and version, so that the set can be computed
    again."""

    name: str
    level: str
    width: int
    extractor: Mapping[str, Any]
    folder: str
    created_at: float
    blocks: tuple[Block, ...] = ()
    generation: int = 1
    further: int = 0  # number of columns in the file of this name

    def file(self, stem: str) -> str:
        """Return the name of a file of this generation."""
        return f"{stem}.npy" if self.generation == 1 else f"{stem}.{self.generation}.npy"

    def content(self) -> dict[str, Any]:
        """Return the content of the JSON file."""
        return asdict(self) | {"data_hash": self.data_hash}

    def hash_of_first(self, rows: int) -> str | None:
        """Return the `data_hash` of the set when it had this number of rows; None if it never had."""
        sums = np.cumsum([block.rows for block in self.blocks])
        at = np.flatnonzero(sums == rows)
        return _joint_hash(self.blocks[: at[-1] + 1]) if len(at) else None

    @property
    def images(self) -> int:
        return sum(block.images for block in self.blocks)

    @property
    def rows(self) -> int:
        return sum(block.rows for block in self.blocks)

    @property
    def data_hash(self) -> str:
        """Return the hash of all content, with which a run records its data."""
        return _joint_hash(self.blocks)


class FeatureSet:
    """A feature set as it was when opened. Later appends are not visible."""

    def __init__(self, sidecar: Sidecar, folder: Path):
        self.sidecar, self.folder = sidecar, folder

    @property
    def name(self) -> str:
        return self.sidecar.name

    @property
    def level(self) -> str:
        return self.sidecar.level

    @property
    def descriptor_folder(self) -> Path:
        """Return the folder of the trained descriptor; sets of early versions have none."""
        return self.folder / DESCRIPTOR

    @cached_property
    def X(self) -> np.ndarray:
        """Return the rows (rows, width) float32, mapped. The first access in a process compares the checksums."""
        rows = growing.opened(self.path, self.sidecar.rows)
        self._refuse_damage()
        return rows

    def learning_rows(self, chosen: np.ndarray | slice = slice(None)) -> np.ndarray:
        """Return the rows for classifiers (n, width + further) float32: those of X, then the further columns. Only X if
        the set has no further ones, or if their file is damaged. Columns of an image that has none are 0, their mean.
        """
        X = np.asarray(self.X[chosen], np.float32)
        further = self._raw_further() if self.sidecar.further else np.empty((0, 0))
        if len(further) < max(self.sidecar.rows, 1):
            return X
        return np.hstack([X, np.nan_to_num(further[chosen].astype(np.float32), nan=0.0, posinf=0.0, neginf=0.0)])

    def _raw_further(self) -> np.ndarray:
        """Return the further columns of as many rows as the file contains."""
        return growing.readable(self._file(FURTHER), self.sidecar.rows, np.float16, self.sidecar.further)

    @property
    def path(self) -> Path:
        """Return the path of the .npy file of X, for reading in chunks."""
        return self._file("rows")

    @cached_property
    def image_ids(self) -> np.ndarray:
        return growing.opened(self._file("image_ids"), self.sidecar.images)

    @property
    def readable_ids(self) -> np.ndarray:
        """Return the ids (images,), -1 where the file is too short."""
        return _padded(self._raw()[0], self.sidecar.images, -1)

    @cached_property
    def offsets(self) -> np.ndarray:
        """Return the first row of each image (images + 1,). Whole images have one row each."""
        if self.level == "image":
            return np.arange(self.sidecar.images + 1)
        return growing.opened(self._file("offsets"), self.sidecar.images + 1)

    @cached_property
    def contents(self) -> np.ndarray:
        """Return the content of the file from which each image was described (images,); empty if unknown."""
        there = growing.readable(self._file("contents"), self.sidecar.images, CONTENT)
        return np.concatenate([there, np.zeros(self.sidecar.images - len(there), CONTENT)])

    @cached_property
    def image_of_row(self) -> np.ndarray:
        """Return the position in `image_ids` of each row's image (rows,)."""
        return np.repeat(np.arange(self.sidecar.images), np.diff(self.offsets))

    def rows_of(self, position: int) -> np.ndarray:
        return self.X[self.offsets[position] : self.offsets[position + 1]]

    def stale(self, replaced: Mapping[int, tuple[str, float]]) -> np.ndarray:
        """Return the positions of images whose file changed since they were described. `replaced` comes from
        `Library.replaced_images`."""
        ids = self._raw()[0]
        positions = np.flatnonzero(np.isin(ids, np.fromiter(replaced, np.int64, len(replaced))))
        keys = content_keys([replaced[number][0] for number in ids[positions].tolist()])
        return positions[self.contents[positions] != keys]

    def damaged_blocks(self) -> list[int]:
        """Return the numbers of the blocks whose content has changed since it was written."""
        bad, image, row = [], 0, 0
        ids, rows, offsets = self._raw()
        for number, block in enumerate(self.sidecar.blocks):
            image, row = image + block.images, row + block.rows
            of_block = slice(image - block.images, image)
            counts = np.diff(offsets[image - block.images : image + 1])
            if _hash(ids[of_block], rows[row - block.rows : row], counts) != block.sha256:
                bad.append(number)
        return bad

    def damaged(self) -> np.ndarray:
        """Return the positions of the images whose id or rows have changed since they were written."""
        checks = growing.readable(self._file("checks"), self.sidecar.images, np.uint64)
        if not len(checks) and self.sidecar.images:  # a set of the first release
            return self._images_of(self.damaged_blocks())
        suspects = np.flatnonzero(self._computed_checks() != _padded(checks, self.sidecar.images))
        if not len(suspects):
            return suspects
        return np.intersect1d(suspects, self._images_of(self.damaged_blocks()))  # otherwise, the checksums are damaged

    def add_checks(self) -> None:
        """Add checksums to a set of the first release, after all of it was compared with the hashes of its blocks."""
        copy = self.folder / "sidecar.json"
        with contextlib.suppress(OSError):  # skipped if the folder is not writable
            damaged, checks = self.damaged(), self._computed_checks()
            checks[damaged] = ~checks[damaged]
            _write_checks(self._file("checks"), checks)
            if not copy.exists():
                write_json(copy, self.sidecar.content())

    def _refuse_damage(self) -> None:
        stamp = self._stamp()
        if stamp in _SOUND:
            return
        damaged = self.damaged()
        if len(damaged):
            raise fail(
                f"feature set {self.name}", f"the stored rows of {len(damaged):,} images are damaged", growing.REPAIR
            )
        if not self._file("checks").exists():
            self.add_checks()
        _SOUND.add(stamp)

    def _computed_checks(self) -> np.ndarray:
        """Return the checksums of the present content (images,); 0 for images whose rows are no longer complete."""
        ids, rows, offsets = self._raw()
        begins, ends = offsets[:-1], offsets[1:]
        checks = np.zeros(self.sidecar.images, np.uint64)
        complete_rows = np.flatnonzero((begins >= 0) & (begins <= ends) & (ends <= len(rows)))
        complete_rows = complete_rows[(complete_rows < len(ids)) & (complete_rows < len(begins))]
        checks[complete_rows] = checks_at(ids[complete_rows], rows, begins[complete_rows], ends[complete_rows])
        return checks

    def _raw(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return (image ids, rows, offsets) as far as the files contain them, unchecked."""
        images, sidecar = self.sidecar.images, self.sidecar
        ids = growing.readable(self._file("image_ids"), images, np.int64)
        rows = growing.readable(self.path, sidecar.rows, np.float32, sidecar.width)
        if self.level == "image":
            return ids, rows, np.arange(images + 1)
        offsets = growing.readable(self._file("offsets"), images + 1, np.int64)
        return ids, rows, np.concatenate([offsets, np.full(images + 1 - len(offsets), -1)])

    def _images_of(self, blocks: list[int]) -> np.ndarray:
        ends = np.cumsum([0, *(block.images for block in self.sidecar.blocks)])
        ranges = [np.arange(ends[number], ends[number + 1]) for number in blocks]
        return np.concatenate(ranges) if ranges else np.empty(0, np.int64)

    def _file(self, stem: str) -> Path:
        return self.folder / self.sidecar.file(stem)

    def _stamp(self) -> tuple:
        """Return a value that changes exactly when somebody writes to the files."""
        paths = [self.path, self._file("image_ids"), *([self._file("offsets")] if self.level == "segment" else [])]
        return (
            str(self.path),
            self.sidecar.images,
            *((status.st_ino, status.st_size, status.st_mtime_ns) for status in map(os.stat, paths)),
        )


_SOUND: set[tuple] = set()  # files whose checksums this process has compared


class FeatureStore:
    def __init__(self, folder: Path, announce: Callable[[Sidecar | str], None] = lambda changed: None):
        """`announce` is called for each set that is published (with its sidecar) or removed (with its name)."""
        self._folder, self._announce = folder, announce
        with contextlib.suppress(OSError):  # a folder that is not writable has no sets, or is opened read-only
            folder.mkdir(exist_ok=True)

    def names(self) -> list[str]:
        """Return the sets that can be opened. `unreadable` describes the others."""
        return [name for name in self._listed() if not self.problem_of(name)]

    def unreadable(self) -> dict[str, Problem]:
        """Return the problems of sets whose sidecar is damaged, or missing beside its copy."""
        problems = {name: problem for name in self._listed() if (problem := self.problem_of(name))}
        for path in self._folder.glob("*/sidecar.json"):
            name, _, _ = path.parent.name.rpartition(".")
            if name not in problems and not self._sidecar_path(name).exists():
                problems[name] = Problem(f"feature set {name}", f"{name}.json is missing", growing.REPAIR)
        return problems

    def _listed(self) -> list[str]:
        return sorted(path.stem for path in self._folder.glob("*.json"))

    def open(self, name: str) -> FeatureSet:
        sidecar = self._sidecar(name)
        return FeatureSet(sidecar, self._folder / sidecar.folder)

    def __contains__(self, name: str) -> bool:
        return bool(NAME.fullmatch(name)) and self._sidecar_path(name).is_file()

    @contextlib.contextmanager
    def writer(
        self, name: str, *, width: int, extractor: Mapping[str, Any], level: str = "image", further: int = 0
    ) -> Iterator["Appender"]:
        """Yield a writer for a new set, published when the block succeeds. It replaces a set with the same name."""
        sidecar = replace(self._new(name, level, width, extractor), further=further)
        folder = self._folder / sidecar.folder
        claim = self._made(folder, sidecar)
        try:
            appender = Appender(sidecar, folder)
            yield appender
            appender.publish_counts()
            with self._alone(name):
                self._published(appender.sidecar)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        finally:
            claim.release()

    @contextlib.contextmanager
    def appending(self, name: str) -> Iterator["Appender"]:
        """Yield a writer that extends an existing set. Each `append` is published immediately."""
        with self._alone(name):
            sidecar = self._sidecar(name)
            if sidecar.images and not (self._folder / sidecar.folder / sidecar.file("checks")).exists():
                FeatureSet(sidecar, self._folder / sidecar.folder).add_checks()
            yield Appender(sidecar, self._folder / sidecar.folder, self._published)

    def rewrite(self, name: str, keep: np.ndarray, replacement: "Callable[[int], Replacement | None]") -> Sidecar:
        """Replace the rows of the images where `keep` (images,) is False, at the same positions.

        `replacement` returns the new rows of an image by its id. If it returns None, the image is removed from the set.
        """
        with self._alone(name):
            sidecar = self._sidecar(name)
            old, folder = FeatureSet(sidecar, self._folder / sidecar.folder), self._folder / sidecar.folder
            new = replace(sidecar, blocks=(), generation=sidecar.generation + 1)
            for stem in STEMS:
                (folder / new.file(stem)).unlink(missing_ok=True)
            _create_files(folder, new)
            appender = Appender(new, folder)
            for block in rewritten_blocks(old, keep, replacement):
                appender.append(*block)
            appender.publish_counts()
            self._published(appender.sidecar)
            for stem in STEMS:
                (folder / sidecar.file(stem)).unlink(missing_ok=True)
            return appender.sidecar

    def restore_sidecars(self) -> list[str]:
        """Replace unreadable or missing sidecars by their copy. Returns the names of these sets."""
        restored = []
        for path in sorted(self._folder.glob("*/sidecar.json")):
            with contextlib.suppress(ValueError, OSError):
                content = read_json(path)
                name = content["name"]
                if content["folder"] == path.parent.name and self.problem_of(name):
                    with self._alone(name):
                        write_json(self._sidecar_path(name), content)
                    restored.append(name)
        return restored

    def problem_of(self, name: str) -> Problem | None:
        """Return why a set cannot be opened."""
        try:
            self._sidecar(name)
        except BadInput as error:
            return error.problem
        return None

    def remove(self, name: str) -> None:
        with self._alone(name):
            sidecar = self._sidecar(name)
            (self._folder / sidecar.folder / "sidecar.json").unlink(missing_ok=True)
            self._sidecar_path(name).unlink()
            shutil.rmtree(self._folder / sidecar.folder, ignore_errors=True)
        self._announce(name)

    def tidy(self) -> list[str]:
        """Remove files left by interrupted writers. Returns the names of the removed folders."""
        living = {self._sidecar(name).folder for name in self.names() if not self.problem_of(name)}
        gone = []
        for folder in [path for path in self._folder.iterdir() if path.is_dir() and path.name not in living]:
            claim = Claim.acquire(folder / "writing")
            if claim:  # no process is writing to it
                shutil.rmtree(folder, ignore_errors=True)
                claim.release()
                gone.append(folder.name)
        return gone

    def _alone(self, name: str) -> contextlib.AbstractContextManager[None]:
        """Lock the set of this name against changes by others within the block."""
        if not NAME.fullmatch(name):
            raise unknown("feature sets", name, self.names())
        return locked(self._folder / f".{name}.lock")

    def _new(self, name: str, level: str, width: int, extractor: Mapping[str, Any]) -> Sidecar:
        if not NAME.fullmatch(name):
            raise fail("feature set", f"'{name}' is not a valid name", "use letters, digits and _ . + - only")
        if level not in LEVELS:
            raise unknown("level of a feature set", level, LEVELS)
        if width < 1:
            raise fail(f"feature set {name}", f"a width of {width} is too small", "use a width of at least 1")
        folder = f"{name}.{secrets.token_hex(4)}"
        return Sidecar(name, level, width, json.loads(json.dumps(dict(extractor))), folder, current_time())

    def _made(self, folder: Path, sidecar: Sidecar) -> Claim:
        folder.mkdir()
        claim = Claim.acquire(folder / "writing")
        assert claim is not None  # the folder is new
        _create_files(folder, sidecar)
        return claim

    def _published(self, sidecar: Sidecar) -> None:
        readable = sidecar.name in self and not self.problem_of(sidecar.name)
        old = self._sidecar(sidecar.name).folder if readable else sidecar.folder
        write_json(self._folder / sidecar.folder / "sidecar.json", sidecar.content(), durable=False)
        write_json(self._sidecar_path(sidecar.name), sidecar.content())
        if old != sidecar.folder:
            shutil.rmtree(self._folder / old, ignore_errors=True)  # readers that have it open keep their map
        self._announce(sidecar)

    def _sidecar(self, name: str) -> Sidecar:
        if name not in self:
            raise unknown("feature sets", name, self.names())
        try:
            content = read_json(self._sidecar_path(name))
            content.pop("data_hash")
            return Sidecar(**content | {"blocks": tuple(Block(**block) for block in content["blocks"])})
        except (ValueError, TypeError, KeyError, AttributeError, OSError) as error:
            remedy = (
                growing.REPAIR
                if any(self._folder.glob(f"{name}.*/sidecar.json"))
                else ("make the set again: benthoscope features --overwrite")
            )
            raise fail(f"feature set {name}", f"{self._sidecar_path(name).name} is damaged", remedy) from error

    def _sidecar_path(self, name: str) -> Path:
        return self._folder / f"{name}.json"


class Appender:
    """Appends rows to a set. `sidecar` describes the current content."""

    def __init__(self, sidecar: Sidecar, folder: Path, published: Callable[[Sidecar], None] | None = None):
        self.sidecar = sidecar
        self._folder, self._published = folder, published
        self._known = IdSet(growing.opened(folder / sidecar.file("image_ids"), sidecar.images))

    def has(self, image_ids: np.ndarray) -> np.ndarray:
        """Return whether each of these images (n,) has rows."""
        return self._known.contains(image_ids)

    def append(
        self,
        image_ids: np.ndarray,
        rows: np.ndarray,
        counts: np.ndarray | None = None,
        contents: np.ndarray | None = None,
    ) -> None:
        """Append rows (n, width) or (n, width + further) of new images. For segments, `counts` has the number of rows
        of each image.

        `contents` (n,) are the content keys of the described files, see `content_keys`.
        """
        image_ids, rows = np.asarray(image_ids, np.int64), np.asarray(rows)
        counts = self._checked(image_ids, rows, counts)
        rows = rows.astype(np.float32, copy=False)
        if not len(image_ids):
            return
        before = self.sidecar
        rows, further = rows[:, : before.width], rows[:, before.width :]
        contents = np.zeros(len(image_ids), CONTENT) if contents is None else np.asarray(contents, CONTENT)
        added = {
            "rows": rows,
            "image_ids": image_ids,
            "contents": contents,
            "checks": image_checks(image_ids, rows, counts),
        }
        for stem, values in added.items():
            after = before.rows if stem == "rows" else before.images
            growing.append(self._path(stem), values, after, durable=stem not in LATER)
        if before.further:
            growing.append(self._path(FURTHER), _wide(further, before.further), before.rows, durable=False)
        if before.level == "segment":
            growing.append(self._path("offsets"), before.rows + np.cumsum(counts), before.images + 1)
        block = Block(len(image_ids), len(rows), _hash(image_ids, rows, counts))
        self.sidecar = replace(before, blocks=(*before.blocks, block))
        self._known.add(image_ids)
        if self._published:
            self._published(self.sidecar)
            self.publish_counts()

    def publish_counts(self) -> None:
        """Update the headers of the .npy files, for readers that do not use the sidecar."""
        growing.publish(self._path("rows"), self.sidecar.rows)
        if self.sidecar.further:
            growing.publish(self._path(FURTHER), self.sidecar.rows, durable=False)
        for stem in ("image_ids", *LATER):
            growing.publish(self._path(stem), self.sidecar.images, durable=stem not in LATER)
        if self.sidecar.level == "segment":
            growing.publish(self._path("offsets"), self.sidecar.images + 1)

    def _path(self, stem: str) -> Path:
        path = self._folder / self.sidecar.file(stem)
        if stem in LATER and not path.exists():  # a set of the first release
            growing.create(path, LATER[stem])
        if stem == FURTHER and not path.exists():  # lost in a power cut; the columns of earlier rows become 0
            growing.create(path, np.float16, self.sidecar.further)
        return path

    def _checked(self, image_ids: np.ndarray, rows: np.ndarray, counts: np.ndarray | None) -> np.ndarray:
        where = f"feature set {self.sidecar.name}"
        width = self.sidecar.width
        if rows.ndim != 2 or rows.shape[1] not in (width, width + self.sidecar.further):
            raise fail(where, f"rows of shape {rows.shape}", f"give (n, {width})")
        counts = np.ones(len(image_ids), np.int64) if counts is None else np.asarray(counts, np.int64)
        if len(counts) != len(image_ids) or counts.sum() != len(rows) or (counts < 0).any():
            raise fail(
                where,
                f"there are {len(rows)} rows for {len(image_ids)} images",
                "give the number of rows of each image",
            )
        if self.sidecar.level == "image" and (counts != 1).any():
            raise fail(where, "several rows for one image", "create the set at the level of segments")
        repeated = image_ids[self._known.contains(image_ids)]
        if len(repeated) or len(np.unique(image_ids)) < len(image_ids):
            number = repeated[0] if len(repeated) else "?"
            raise fail(where, f"image {number} already has rows", "append new images only")
        unusable = unusable_values(rows[:, :width], float(np.finfo(np.float32).max))
        if unusable is not None:
            image_id = int(np.repeat(image_ids, counts)[unusable.row])
            raise fail(
                f"{where} row {unusable.row} (image {image_id})",
                unusable.problem,
                "remove these images",
            )
        return counts


@dataclass(frozen=True)
class Replacement:
    """The new rows (n, width) or (n, width + further) of one image, and the content key of the file they come from."""

    rows: np.ndarray
    content: bytes


def content_keys(hashes: "list[str] | np.ndarray") -> np.ndarray:
    """Return the part of SHA-256 hashes (hexadecimal) that `contents` stores: 64 bits each."""
    return np.array([str(sha256)[:16] for sha256 in hashes], CONTENT)


def rewritten_blocks(
    old: FeatureSet,
    keep: np.ndarray,
    replacement: Callable[[int], Replacement | None],
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
    """Yield (image ids, rows, counts, contents) block by block, with the rows of images replaced where `keep`
    is False."""
    _, rows, offsets = old._raw()
    width = rows.shape[1] + old.sidecar.further
    further = old._raw_further() if old.sidecar.further else np.empty((0, 0), np.float16)
    ids = old.readable_ids
    image, handled_ids = 0, set(ids[keep].tolist())
    for block in old.sidecar.blocks:
        positions = range(image, image := image + block.images)
        pending: list[tuple[int, np.ndarray, bytes]] = []
        for position in positions:
            number = int(ids[position])
            if keep[position]:
                of_image = slice(offsets[position], offsets[position + 1])
                image_rows = _wide(rows[of_image], width, further[of_image])
                pending.append((number, image_rows, old.contents[position]))
            elif number not in handled_ids and (new := replacement(number)) is not None:
                handled_ids.add(number)
                pending.append((number, _wide(new.rows, width), new.content))
        if pending:
            numbers, of_images, contents = zip(*pending, strict=True)
            counts = np.array([len(image_rows) for image_rows in of_images], np.int64)
            yield np.array(numbers, np.int64), np.concatenate(of_images), counts, np.array(contents, CONTENT)


def _wide(rows: np.ndarray, width: int, further: np.ndarray | None = None) -> np.ndarray:
    """Return rows (n, width): these rows, then their further columns, then NaN for columns that are unknown."""
    if rows.shape[1] == width:
        return rows
    wide = np.full((len(rows), width), np.nan, np.float32)
    wide[:, : rows.shape[1]] = rows
    if further is not None and len(further):
        wide[: len(further), rows.shape[1] :] = further
    return wide


def _create_files(folder: Path, sidecar: Sidecar) -> None:
    """Create the empty files of a generation."""
    growing.create(folder / sidecar.file("rows"), np.float32, sidecar.width)
    if sidecar.further:
        growing.create(folder / sidecar.file(FURTHER), np.float16, sidecar.further)
    growing.create(folder / sidecar.file("image_ids"), np.int64)
    for stem, dtype in LATER.items():
        growing.create(folder / sidecar.file(stem), dtype)
    if sidecar.level == "segment":
        growing.create(folder / sidecar.file("offsets"), np.int64)
        growing.append(folder / sidecar.file("offsets"), np.zeros(1, np.int64), 0)


def _write_checks(path: Path, checks: np.ndarray) -> None:
    """Write the file atomically, because several processes may read a set of the first release at the same time."""
    partial = path.with_name(f".{secrets.token_hex(4)}.{path.name}")
    growing.create(partial, np.uint64)
    growing.append(partial, checks, 0)
    growing.publish(partial, len(checks))
    partial.replace(path)


def _padded(values: np.ndarray, count: int, fill: int = 0) -> np.ndarray:
    return np.concatenate([values, np.full(count - len(values), fill, values.dtype)])


def _joint_hash(blocks: tuple[Block, ...]) -> str:
    return hashlib.sha256("".join(block.sha256 for block in blocks).encode()).hexdigest()


def _hash(image_ids: np.ndarray, rows: np.ndarray, counts: np.ndarray) -> str:
    digest = hashlib.sha256()
    for values, dtype in ((image_ids, np.int64), (counts, np.int64), (rows, np.float32)):
        digest.update(np.ascontiguousarray(values, dtype).data)
    return digest.hexdigest()


@dataclass(frozen=True)
class Projection:
    """`xy` (n, 2) float32, one row for each of `image_ids` (n,). `shares` are the shares of the variance along the two
    axes; None for methods without them, and for projections of releases that did not store them."""

    image_ids: np.ndarray
    xy: np.ndarray
    shares: tuple[float, float] | None = None


class ProjectionStore:
    """Stores projections by method and by content of the feature set."""

    def __init__(self, folder: Path):
        self._folder = folder

    def has(self, features: FeatureSet, method: str) -> bool:
        return self._path(features, method).is_file()

    def get(self, features: FeatureSet, method: str) -> Projection | None:
        path = self._path(features, method)
        if not path.is_file():
            return None
        xy = np.load(path, mmap_mode="r", allow_pickle=False)
        return Projection(features.image_ids[: len(xy)], xy, self._shares(path))

    def put(
        self, features: FeatureSet, method: str, xy: np.ndarray, shares: tuple[float, float] | None = None
    ) -> Projection:
        self._folder.mkdir(exist_ok=True)
        path = self._path(features, method)
        if shares is not None:  # before the coordinates: a projection with coordinates is complete
            write_json(path.with_suffix(".json"), {"variance_shares": list(shares)})
        with replacing(path) as file:
            np.save(file, np.asarray(xy, np.float32), allow_pickle=False)
        stored = self.get(features, method)
        assert stored is not None  # it was just written
        return stored

    @staticmethod
    def _shares(path: Path) -> tuple[float, float] | None:
        """Shares from the file beside the coordinates, which earlier releases did not write."""
        try:
            first, second = read_json(path.with_suffix(".json"))["variance_shares"]
            return float(first), float(second)
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def _path(self, features: FeatureSet, method: str) -> Path:
        return self._folder / f"{features.name}.{features.sidecar.data_hash[:16]}.{method}.npy"
