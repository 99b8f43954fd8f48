"""Named feature sets: float32 rows in memory-mapped .npy files, and a JSON sidecar that says what they are.

    features/deep.json               the sidecar: renamed into place, so a set is there wholly or not at all
    features/deep.1f3a/rows.npy      (n, width)
    features/deep.1f3a/image_ids.npy (images,)
    features/deep.1f3a/offsets.npy   (images + 1,), at the level of segments only: rows of image i are [o[i], o[i+1])
"""

import contextlib
import hashlib
import json
import re
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from engine.problems import fail, unknown
from engine.workspace import growing
from engine.workspace.files import Claim, locked, read_json, write_json
from engine.workspace.records import now

LEVELS = ("image", "segment")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,99}")  # also a file name, on every system


@dataclass(frozen=True)
class Block:
    """One append: how many images and rows it brought, and the hash of what it brought."""

    images: int
    rows: int
    sha256: str


@dataclass(frozen=True)
class Sidecar:
    """What a feature set is. The extractor says by which means and version, so that it can be done again."""

    name: str
    level: str
    width: int
    extractor: Mapping[str, Any]
    folder: str
    created_at: float
    blocks: tuple[Block, ...] = ()

    @property
    def images(self) -> int:
        return sum(block.images for block in self.blocks)

    @property
    def rows(self) -> int:
        return sum(block.rows for block in self.blocks)

    @property
    def data_hash(self) -> str:
        """Of all content, so that a run can say on what it was made."""
        return hashlib.sha256("".join(block.sha256 for block in self.blocks).encode()).hexdigest()


class FeatureSet:
    """A set as it was when it was opened; appends made later do not show."""

    def __init__(self, sidecar: Sidecar, folder: Path):
        self.sidecar, self.folder = sidecar, folder

    @property
    def name(self) -> str:
        return self.sidecar.name

    @property
    def level(self) -> str:
        return self.sidecar.level

    @cached_property
    def X(self) -> np.ndarray:
        """(rows, width) float32, mapped: only what is looked at is read."""
        return growing.opened(self.folder / "rows.npy", self.sidecar.rows)

    @property
    def path(self) -> Path:
        """Of the .npy file behind X, for whoever reads it in chunks."""
        return self.folder / "rows.npy"

    @cached_property
    def image_ids(self) -> np.ndarray:
        return growing.opened(self.folder / "image_ids.npy", self.sidecar.images)

    @cached_property
    def offsets(self) -> np.ndarray:
        """(images + 1,): where the rows of each image begin; for whole images one row each."""
        if self.level == "image":
            return np.arange(self.sidecar.images + 1)
        return growing.opened(self.folder / "offsets.npy", self.sidecar.images + 1)

    @cached_property
    def image_of_row(self) -> np.ndarray:
        """(rows,): the position in `image_ids` of the image each row belongs to."""
        return np.repeat(np.arange(self.sidecar.images), np.diff(self.offsets))

    def rows_of(self, position: int) -> np.ndarray:
        return self.X[self.offsets[position] : self.offsets[position + 1]]

    def damaged_blocks(self) -> list[int]:
        """The numbers of the blocks whose content is no longer what was written."""
        bad, image, row = [], 0, 0
        for number, block in enumerate(self.sidecar.blocks):
            images, rows = slice(image, image + block.images), slice(row, row + block.rows)
            counts = np.diff(self.offsets)[images]
            if _hash(self.image_ids[images], self.X[rows], counts) != block.sha256:
                bad.append(number)
            image, row = images.stop, rows.stop
        return bad


class FeatureStore:
    def __init__(self, folder: Path, announce: Callable[[Sidecar | str], None] = lambda changed: None):
        """`announce` is told of every set published (its sidecar) or removed (its name)."""
        self._folder, self._announce = folder, announce
        folder.mkdir(exist_ok=True)

    def names(self) -> list[str]:
        return sorted(path.stem for path in self._folder.glob("*.json"))

    def open(self, name: str) -> FeatureSet:
        sidecar = self._sidecar(name)
        return FeatureSet(sidecar, self._folder / sidecar.folder)

    def __contains__(self, name: str) -> bool:
        return bool(NAME.fullmatch(name)) and self._sidecar_path(name).is_file()

    @contextlib.contextmanager
    def writer(
        self, name: str, *, width: int, extractor: Mapping[str, Any], level: str = "image"
    ) -> Iterator["Appender"]:
        """A new set, published when the block ends well; it replaces a set of the same name."""
        sidecar = self._new(name, level, width, extractor)
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
        """An existing set to be continued. Each `append` is published at once: what is in stays in, come what may."""
        with self._alone(name):
            sidecar = self._sidecar(name)
            yield Appender(sidecar, self._folder / sidecar.folder, self._published)

    def remove(self, name: str) -> None:
        with self._alone(name):
            sidecar = self._sidecar(name)
            self._sidecar_path(name).unlink()
            shutil.rmtree(self._folder / sidecar.folder, ignore_errors=True)
        self._announce(name)

    def tidy(self) -> list[str]:
        """Removes what killed writers left behind; gives the names of the folders removed."""
        living = {self._sidecar(name).folder for name in self.names()}
        gone = []
        for folder in [path for path in self._folder.iterdir() if path.is_dir() and path.name not in living]:
            claim = Claim.taken(folder / "writing")
            if claim:  # nobody is writing to it
                shutil.rmtree(folder, ignore_errors=True)
                claim.release()
                gone.append(folder.name)
        return gone

    def _alone(self, name: str) -> contextlib.AbstractContextManager[None]:
        """Nobody else changes the set of this name within the block."""
        if not NAME.fullmatch(name):
            raise unknown("feature sets", name, self.names())
        return locked(self._folder / f".{name}.lock")

    def _new(self, name: str, level: str, width: int, extractor: Mapping[str, Any]) -> Sidecar:
        if not NAME.fullmatch(name):
            raise fail("feature set", f"'{name}' cannot be a name", "use letters, digits and _ . + - only")
        if level not in LEVELS:
            raise unknown("level of a feature set", level, LEVELS)
        if width < 1:
            raise fail(f"feature set {name}", f"rows of {width} numbers", "give a width of at least 1")
        folder = f"{name}.{secrets.token_hex(4)}"
        return Sidecar(name, level, width, json.loads(json.dumps(dict(extractor))), folder, now())

    def _made(self, folder: Path, sidecar: Sidecar) -> Claim:
        folder.mkdir()
        claim = Claim.taken(folder / "writing")
        growing.create(folder / "rows.npy", np.float32, sidecar.width)
        growing.create(folder / "image_ids.npy", np.int64)
        if sidecar.level == "segment":
            growing.create(folder / "offsets.npy", np.int64)
            growing.append(folder / "offsets.npy", np.zeros(1, np.int64), 0)
        return claim

    def _published(self, sidecar: Sidecar) -> None:
        old = self._sidecar(sidecar.name).folder if sidecar.name in self else sidecar.folder
        write_json(self._sidecar_path(sidecar.name), asdict(sidecar) | {"data_hash": sidecar.data_hash})
        if old != sidecar.folder:
            shutil.rmtree(self._folder / old, ignore_errors=True)  # whoever has it open keeps his map of it
        self._announce(sidecar)

    def _sidecar(self, name: str) -> Sidecar:
        if name not in self:
            raise unknown("feature sets", name, self.names())
        content = read_json(self._sidecar_path(name))
        content.pop("data_hash")
        return Sidecar(**content | {"blocks": tuple(Block(**block) for block in content["blocks"])})

    def _sidecar_path(self, name: str) -> Path:
        return self._folder / f"{name}.json"


class Appender:
    """Takes rows in; `sidecar` tells what is there so far."""

    def __init__(self, sidecar: Sidecar, folder: Path, published: Callable[[Sidecar], None] | None = None):
        self.sidecar = sidecar
        self._folder, self._published = folder, published
        self._known = set(growing.opened(folder / "image_ids.npy", sidecar.images).tolist())

    @property
    def known(self) -> frozenset[int]:
        """The ids of the images that have their rows."""
        return frozenset(self._known)

    def append(self, image_ids: np.ndarray, rows: np.ndarray, counts: np.ndarray | None = None) -> None:
        """Rows (n, width) of images not there yet; at the level of segments `counts` says how many are each image's."""
        image_ids, rows = np.asarray(image_ids, np.int64), np.asarray(rows, np.float32)
        counts = self._checked(image_ids, rows, counts)
        if not len(image_ids):
            return
        before = self.sidecar
        growing.append(self._folder / "rows.npy", rows, before.rows)
        growing.append(self._folder / "image_ids.npy", image_ids, before.images)
        if before.level == "segment":
            growing.append(self._folder / "offsets.npy", before.rows + np.cumsum(counts), before.images + 1)
        block = Block(len(image_ids), len(rows), _hash(image_ids, rows, counts))
        self.sidecar = replace(before, blocks=(*before.blocks, block))
        self._known.update(image_ids.tolist())
        if self._published:
            self._published(self.sidecar)
            self.publish_counts()

    def publish_counts(self) -> None:
        """Brings the headers of the .npy files up to the sidecar, for readers that know nothing of it."""
        growing.publish(self._folder / "rows.npy", self.sidecar.rows)
        growing.publish(self._folder / "image_ids.npy", self.sidecar.images)
        if self.sidecar.level == "segment":
            growing.publish(self._folder / "offsets.npy", self.sidecar.images + 1)

    def _checked(self, image_ids: np.ndarray, rows: np.ndarray, counts: np.ndarray | None) -> np.ndarray:
        where = f"feature set {self.sidecar.name}"
        if rows.ndim != 2 or rows.shape[1] != self.sidecar.width:
            raise fail(where, f"rows of shape {rows.shape}", f"give (n, {self.sidecar.width})")
        counts = np.ones(len(image_ids), np.int64) if counts is None else np.asarray(counts, np.int64)
        if len(counts) != len(image_ids) or counts.sum() != len(rows) or (counts < 0).any():
            raise fail(where, f"{len(rows)} rows for {len(image_ids)} images", "give the number of rows of each image")
        if self.sidecar.level == "image" and (counts != 1).any():
            raise fail(where, "several rows for one image", "make the set at the level of segments")
        repeated = [number for number in image_ids.tolist() if number in self._known]
        if repeated or len(np.unique(image_ids)) < len(image_ids):
            raise fail(where, f"image {(repeated or ['?'])[0]} has its rows already", "append new images only")
        if not np.isfinite(rows).all():
            raise fail(where, "rows with NaN or infinite numbers", "leave those images out and list them")
        return counts


def _hash(image_ids: np.ndarray, rows: np.ndarray, counts: np.ndarray) -> str:
    found = hashlib.sha256()
    for part, dtype in ((image_ids, np.int64), (counts, np.int64), (rows, np.float32)):
        found.update(np.ascontiguousarray(part, dtype).data)
    return found.hexdigest()
