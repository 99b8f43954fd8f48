"""Documents: images as sets of descriptors of different size, in memory or in a .npy file, divided into blocks."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np

from benthoscope.engine.compute.chunks import RowChunk, rows
from benthoscope.engine.mixtures import validation as checking
from benthoscope.engine.problems import fail
from benthoscope.engine.value_checks import UnusableInput, largest_for, unusable_values

ROWS_AT_ONCE = 20_000  # rows that are read and checked together
NUMBERS_AT_ONCE = 2_000_000  # image numbers that are counted together
SAMPLED = 200_000  # rows from which the mean and the variance of a large file are estimated


@dataclass(frozen=True, eq=False)
class DocumentBlock:
    """Some documents. Rows first[d] to first[d] + sizes[d] of the source belong to the d-th of them. Only these rows
    are sent to another process."""

    source: np.ndarray | Path
    first: np.ndarray  # (n,)
    sizes: np.ndarray  # (n,)
    centre: np.ndarray  # (D,) subtracted from all rows

    @property
    def starts(self) -> np.ndarray:
        """Return the first row of each document among the rows that `read` returns, and the number of rows (n + 1,)."""
        return np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.int64)

    def read(self) -> np.ndarray:
        """Return the centred rows of all documents in order, as float32 or float64."""
        raw = self._raw()
        dtype = precision_of(raw.dtype)
        centred = raw.astype(dtype, copy=False) - self.centre.astype(dtype, copy=False)
        if len(self.first):
            RowChunk(self.source, int(self.first.min()), self._last).release()
        return centred

    def _raw(self) -> np.ndarray:
        every = RowChunk(self.source, 0, self._last).read()
        if len(self.first) and np.array_equal(self.first[1:], (self.first + self.sizes)[:-1]):
            return every[self.first[0] : self.first[-1] + self.sizes[-1]]
        pieces = [every[at : at + size] for at, size in zip(self.first, self.sizes, strict=True)]
        return np.concatenate(pieces) if pieces else every[:0]

    @property
    def _last(self) -> int:
        return int((self.first + self.sizes).max(initial=0))

    def __reduce__(self):
        if isinstance(self.source, Path):
            return DocumentBlock, (self.source, self.first, self.sizes, self.centre)
        return DocumentBlock, (np.ascontiguousarray(self._raw()), self.starts[:-1], self.sizes, self.centre)


@dataclass(frozen=True, eq=False)
class Documents:
    """All documents of a corpus. An image without descriptors is a document of size 0."""

    source: np.ndarray | Path
    first: np.ndarray  # (N,)
    sizes: np.ndarray  # (N,)
    width: int
    centre: np.ndarray  # (D,)

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def n_rows(self) -> int:
        return int(self.sizes.sum())

    def centred_at(self, centre: np.ndarray) -> "Documents":
        return replace(self, centre=np.asarray(centre, float))

    def take(self, numbers: np.ndarray) -> "Documents":
        return replace(self, first=self.first[numbers], sizes=self.sizes[numbers])

    def blocks(self, most_rows: int = ROWS_AT_ONCE) -> list[DocumentBlock]:
        """Return blocks of whole documents, in order, with at most `most_rows` rows unless one document is larger."""
        return [
            DocumentBlock(self.source, self.first[at:to], self.sizes[at:to], self.centre)
            for at, to in _ranges(self.sizes, most_rows)
        ]

    def read(self) -> np.ndarray:
        """Return the centred rows of all documents in order (rows, D)."""
        return DocumentBlock(self.source, self.first, self.sizes, self.centre).read()

    def random_rows(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """Return distinct random centred rows as float64, at most `count`, in the order of the documents."""
        total = self.n_rows
        chosen = np.arange(total) if count >= total else np.sort(rng.choice(total, count, replace=False))
        ends = np.cumsum(self.sizes)
        document = np.searchsorted(ends, chosen, side="right")
        numbers = self.first[document] + chosen - (ends - self.sizes)[document]
        every = RowChunk(self.source, 0, int((self.first + self.sizes).max(initial=0))).read()
        return every[numbers].astype(float) - self.centre


def _ranges(sizes: np.ndarray, most: int) -> list[tuple[int, int]]:
    ranges, at, filled = [], 0, 0
    for number, size in enumerate(sizes.tolist()):
        if number > at and filled + size > most:
            ranges.append((at, number))
            at, filled = number, 0
        filled += size
    return [*ranges, (at, len(sizes))] if len(sizes) else ranges


def precision_of(dtype: np.dtype) -> np.dtype:
    """Return float32 for descriptors of single or half precision, else float64."""
    return np.dtype(np.float32) if dtype in (np.dtype(np.float32), np.dtype(np.float16)) else np.dtype(np.float64)


def as_documents(
    descriptors: np.ndarray | str | Path | Sequence[np.ndarray],
    image_of_descriptor: np.ndarray | None = None,
    n_images: int | None = None,
) -> Documents:
    """Return the documents of rows (N, D), where `image_of_descriptor` (N,) has the number of each row's image. Without
    it, each row is a document. A list of arrays has one document per array. Raises if a value is not usable."""
    if is_list_of_documents(descriptors):
        if image_of_descriptor is not None:
            raise fail("image_of_descriptor", "a list already has one array per image", "remove image_of_descriptor")
        return _from_list(descriptors)
    source = checking.rows_of(descriptors)
    count, width = checking.width_of(source)
    for chunk in rows(source, ROWS_AT_ONCE):
        _check_values(chunk)
        chunk.release()
    images = np.arange(count) if image_of_descriptor is None else _numbers(image_of_descriptor, count)
    n_images = _number_of_images(images, n_images)
    if np.any(images[1:] < images[:-1]):
        source, images = _sorted(source, images)
    sizes = _sizes(images, n_images)
    first = np.cumsum(sizes) - sizes
    return Documents(source, first, sizes, width, np.zeros(width))


def _from_list(arrays: Sequence[np.ndarray]) -> Documents:
    if not arrays:
        raise fail("descriptors", "there are no documents", "give at least one image with descriptors")
    lists = [np.asarray(array) for array in arrays]
    widths = {array.shape[1] for array in lists if array.ndim == 2}
    if len(widths) != 1 or any(array.ndim != 2 for array in lists):
        raise fail("descriptors", "the arrays do not have the same number of columns", "give arrays (n, D) of one D")
    images = np.repeat(np.arange(len(lists)), [len(array) for array in lists])
    return as_documents(np.concatenate(lists), images, len(lists))


def is_list_of_documents(descriptors: Any) -> TypeGuard[Sequence[np.ndarray]]:
    """Return whether the descriptors are a list with one array per image."""
    return isinstance(descriptors, list | tuple) and (not descriptors or getattr(descriptors[0], "ndim", 0) == 2)


def _check_values(chunk: RowChunk) -> None:
    values = chunk.read()
    if values.dtype.kind not in "fiub":
        raise fail("descriptors", f"have the type {values.dtype}", "give real numbers")
    if values.dtype == np.float16:
        values = values.astype(np.float32)  # half precision has no room for the largest allowed value
    unusable = unusable_values(values, largest_for(values.dtype), chunk.start)
    if unusable is not None:
        raise UnusableInput("descriptors", unusable)


def _numbers(images: np.ndarray, count: int) -> np.ndarray:
    images = np.asarray(images)
    if images.shape != (count,):
        raise fail(
            "image_of_descriptor", f"{len(np.atleast_1d(images))} entries for {count} descriptors",
            "give one image number per descriptor",
        )  # fmt: skip
    if images.dtype.kind not in "iu" or images.min(initial=0) < 0:
        raise fail("image_of_descriptor", "has an entry that is not a whole number", "number the images from 0")
    return images


def _sizes(images: np.ndarray, n_images: int) -> np.ndarray:
    """Return the number of rows of each image, in chunks: NumPy would copy all numbers to a wider type."""
    sizes = np.zeros(n_images, np.int64)
    for at in range(0, len(images), NUMBERS_AT_ONCE):
        sizes += np.bincount(images[at : at + NUMBERS_AT_ONCE], minlength=n_images)
    return sizes


def _number_of_images(images: np.ndarray, n_images: int | None) -> int:
    needed = int(images.max(initial=-1)) + 1
    if n_images is not None and n_images < needed:
        raise fail("n_images", f"is {n_images}, but there is an image number {needed - 1}", f"give at least {needed}")
    return needed if n_images is None else n_images


def _sorted(source: np.ndarray | Path, images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if isinstance(source, Path):
        raise fail(
            "image_of_descriptor", "the rows of a file must be in the order of their images",
            "sort the rows of the file by image",
        )  # fmt: skip
    order = np.argsort(images, kind="stable")
    return source[order], images[order]


def centre_and_variance(documents: Documents, rng: np.random.Generator) -> tuple[np.ndarray, float]:
    """Return the mean of the descriptors (D,) and the mean over columns of their variance. A constant corpus gets a
    small positive variance. Large files are sampled."""
    sample = documents.centred_at(np.zeros(documents.width)).random_rows(SAMPLED, rng)
    centre = sample.mean(0)
    variance = float(((sample - centre) ** 2).mean())
    least = 1e-10 * max(1.0, float((centre**2).mean()))
    return centre, max(variance, least)


def document_of_rows(documents: Documents) -> np.ndarray:
    """Return the number of the document of each row that `read` returns."""
    return np.repeat(np.arange(len(documents)), documents.sizes)


@dataclass(frozen=True, eq=False)
class JoinedDocuments:
    """Documents of several sources, one source after the other."""

    sources: tuple[Documents, ...]

    def __len__(self) -> int:
        return sum(len(source) for source in self.sources)

    @property
    def n_rows(self) -> int:
        return sum(source.n_rows for source in self.sources)

    @property
    def sizes(self) -> np.ndarray:
        return np.concatenate([source.sizes for source in self.sources])

    def take(self, numbers: np.ndarray) -> "JoinedDocuments":
        """Return the documents with these numbers, which must be in ascending order."""
        ends = np.cumsum([len(source) for source in self.sources])
        at = np.split(numbers, np.searchsorted(numbers, ends[:-1]))
        begins = [0, *ends[:-1]]
        return JoinedDocuments(
            tuple(source.take(chosen - begin) for source, chosen, begin in zip(self.sources, at, begins, strict=True))
        )

    def blocks(self, most_rows: int = ROWS_AT_ONCE) -> list[DocumentBlock]:
        return [block for source in self.sources for block in source.blocks(most_rows)]


Corpus = Documents | JoinedDocuments


def joined(first: Corpus, second: Documents) -> JoinedDocuments:
    sources = first.sources if isinstance(first, JoinedDocuments) else (first,)
    return JoinedDocuments((*sources, second))
