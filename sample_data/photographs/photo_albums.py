"""Photo albums on disk: images with EXIF, and their truth."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path

import numpy as np

from benthoscope.sample_data import truth
from benthoscope.sample_data.bank import Bank
from benthoscope.sample_data.photographs.holidays import Album, Photo, plan
from benthoscope.sample_data.photographs.landscape import Easel
from benthoscope.sample_data.photographs.photo import developed, exif
from benthoscope.sample_data.photographs.scenes import BY_NAME
from benthoscope.sample_data.studio import COARSEST, FINEST, USUAL_WIDTH, Size
from benthoscope.sample_data.truth import ImageTruth, Truth, csv_text, read_truth
from benthoscope.sample_data.writing import Batch, OnStep, Pressed, Recipe, claim, finish, jpeg, nothing, press

BATCH = 16  # images


@dataclass(frozen=True)
class Spread:
    """Some photos of one album: the content of a batch."""

    folder: str
    number: int
    tint: tuple[float, float, float]
    photos: tuple[Photo, ...]


def make_albums(
    folder: Path | str,
    *,
    albums: int = 4,
    images: int = 60,
    size: Size = (320, 240),
    seed: int = 0,
    workers: int | None = None,
    force: bool = False,
    on_step: OnStep = nothing,
) -> Truth:
    """Fill a folder with synthetic photo albums and return their truth. The options are those of make_campaign."""
    width, height = size
    folder, recipe = Path(folder), Recipe("albums", albums, images, (width, height), seed)
    planned = plan(albums, images, np.random.default_rng([seed, 3]))
    folders = [*(album.folder for album in planned), truth.FOLDER]
    if not claim(folder, recipe, folders, force=force):
        press(folder, list(_batches(planned)), partial(take, seed, (width, height)), workers, on_step)
        finish(folder, recipe, folders, {f"{truth.FOLDER}/{truth.IMAGES}": csv_text(ImageTruth, _known(planned))})
    return read_truth(folder)


def take(seed: int, size: Size, batch: Batch) -> Pressed:
    """Create the photos of a batch."""
    spread: Spread = batch.content
    bank = _bank(seed, size[0])
    files = {}
    for photo in spread.photos:
        rng = np.random.default_rng([seed, 4, spread.number, photo.number])
        scene = BY_NAME[photo.scene].paint(Easel(rng, bank, _shape(size, bank)))
        image = developed(scene, spread.tint, photo.quality, rng, bank).resize(size)
        files[f"{spread.folder}/{photo.file}"] = jpeg(image, exif=exif(photo.when, photo.position))
    return Pressed(files)


@lru_cache(maxsize=2)
def _bank(seed: int, width: int) -> Bank:
    return Bank(seed, float(np.clip(width / USUAL_WIDTH, COARSEST, FINEST)))


def _shape(size: Size, bank: Bank) -> tuple[int, int]:
    width = round(USUAL_WIDTH * bank.scale)
    return round(width * size[1] / size[0]), width


def _batches(albums: Sequence[Album]) -> Iterator[Batch]:
    for album in albums:
        for start in range(0, len(album.photos), BATCH):
            photos = album.photos[start : start + BATCH]
            spread = Spread(album.folder, album.number, album.tint, photos)
            yield Batch(f"{album.number:04d}-{start:06d}", len(photos), spread)


def _known(albums: Sequence[Album]) -> Iterator[ImageTruth]:
    for album in albums:
        for photo in album.photos:
            yield ImageTruth(f"{album.folder}/{photo.file}", album.folder, photo.scene, photo.quality, "")
