"""A campaign of AUV dives on disk: images, track files and truth."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np

from benthoscope.sample_data import truth
from benthoscope.sample_data.dives import MASK, POINTS, Dive, Frame, plan
from benthoscope.sample_data.seafloor.things import Thing
from benthoscope.sample_data.seafloor.water import Water
from benthoscope.sample_data.studio import Size, studio
from benthoscope.sample_data.tracks_csv import track_file
from benthoscope.sample_data.truth import ImageTruth, PointLabel, Truth, csv_text, read_truth, table
from benthoscope.sample_data.writing import (
    UNFINISHED,
    Batch,
    OnStep,
    Pressed,
    Recipe,
    batch_file,
    claim,
    finish,
    jpeg,
    nothing,
    press,
)

BATCH = 16  # images; a batch takes a tenth of a second or two, so that cancelling is quick
POINTS_PER_IMAGE = 50  # as usual in coral point counts


@dataclass(frozen=True)
class Strip:
    """Some frames of one dive: the content of a batch."""

    folder: str
    number: int
    water: Water
    frames: tuple[Frame, ...]


def make_campaign(
    folder: Path | str,
    *,
    dives: int = 6,
    images: int = 240,
    size: Size = (320, 240),
    seed: int = 0,
    workers: int | None = None,
    force: bool = False,
    on_step: OnStep = nothing,
) -> Truth:
    """Fill a folder with a synthetic AUV campaign and return its truth.

    The same dives, images, size and seed give the same files. A folder with an unfinished campaign of the same settings
    is completed; any other non-empty folder raises FolderInUse unless `force` is set. `on_step(done, images)` may raise
    to stop. More than one worker starts processes, so a script needs the usual `if __name__ == "__main__"`.
    """
    width, height = size
    folder, recipe = Path(folder), Recipe("campaign", dives, images, (width, height), seed)
    planned = plan(dives, images, np.random.default_rng([seed, 1]))
    folders = [*(dive.folder for dive in planned), truth.FOLDER]
    if not claim(folder, recipe, folders, force=force):
        batches = list(_batches(planned))
        press(folder, batches, partial(take, seed, (width, height)), workers, on_step)
        _gather_masks(folder, batches)
        finish(folder, recipe, folders, _texts(folder, planned, batches))
    return read_truth(folder)


def take(seed: int, size: Size, batch: Batch) -> Pressed:
    """Create the images of a batch, and their object masks and point labels."""
    strip: Strip = batch.content
    files, arrays = {}, {}
    for frame in strip.frames:
        rng = np.random.default_rng([seed, 2, strip.number, frame.number])
        photo = studio(seed, size[0]).take(frame, strip.water, size, rng)
        name = f"{strip.folder}/{frame.file}"
        files[name] = jpeg(photo.image)
        if photo.things is not None:
            arrays[f"{frame.truth}/{name}"] = TRUTHS[frame.truth](photo.things, rng)
    return Pressed(files, arrays)


def _mask_of_things(things: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return things


def _counted(things: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return row, column and thing of random pixels (50, 3)."""
    rows, columns = (rng.integers(0, n, POINTS_PER_IMAGE) for n in things.shape)
    return np.stack([rows, columns, things[rows, columns]], axis=1).astype(np.int32)


TRUTHS = {MASK: _mask_of_things, POINTS: _counted}


def _batches(dives: Sequence[Dive]) -> Iterator[Batch]:
    for dive in dives:
        for start in range(0, len(dive.frames), BATCH):
            frames = dive.frames[start : start + BATCH]
            yield Batch(f"{dive.folder}-{start:06d}", len(frames), Strip(dive.folder, dive.number, dive.water, frames))


def _texts(folder: Path, dives: Sequence[Dive], batches: Sequence[Batch]) -> dict[str, str]:
    """Return the CSV files of a campaign by their paths."""
    tracks = {f"{dive.folder}/track_files/{track_file(dive).name}": track_file(dive).text for dive in dives}
    images = (
        ImageTruth(f"{dive.folder}/{frame.file}", dive.folder, frame.label, frame.quality, frame.truth)
        for dive in dives
        for frame in dive.frames
    )
    return tracks | {
        f"{truth.FOLDER}/{truth.IMAGES}": csv_text(ImageTruth, images),
        f"{truth.FOLDER}/{truth.POINTS}": csv_text(PointLabel, _points(folder, batches)),
        f"{truth.FOLDER}/{truth.CLASSES}": table(("number", "name"), ((int(t), t.label) for t in Thing)),
    }


def _points(folder: Path, batches: Sequence[Batch]) -> Iterator[PointLabel]:
    for image, counted in _gathered(folder, batches, POINTS):
        for n, (row, column, thing) in enumerate(counted.tolist(), start=1):
            yield PointLabel(image, n, row, column, Thing(thing).label)


def _gather_masks(folder: Path, batches: Sequence[Batch]) -> None:
    """Collect all masks in one archive, from which np.load can read single ones."""
    path = folder / truth.FOLDER / truth.MASKS
    path.parent.mkdir(exist_ok=True)
    unfinished = path.with_name(f".{path.name}{UNFINISHED}")
    with ZipFile(unfinished, "w", ZIP_DEFLATED) as archive:
        for image, mask in _gathered(folder, batches, MASK):
            with archive.open(f"{image}.npy", "w") as member:
                np.lib.format.write_array(member, mask)
    unfinished.replace(path)


def _gathered(folder: Path, batches: Sequence[Batch], kind: str) -> Iterator[tuple[str, np.ndarray]]:
    for batch in batches:
        with np.load(batch_file(folder, batch.key)) as arrays:
            for name in arrays.files:
                if name.startswith(f"{kind}/"):
                    yield name.removeprefix(f"{kind}/"), arrays[name]
