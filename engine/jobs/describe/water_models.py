"""The water of every dive: learned once from its own images, kept in the workspace, shown before and after."""

import contextlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from engine.features import WaterModel, learn_water, side_by_side
from engine.features.pixels import resize
from engine.features.sampling import draw
from engine.imaging import BadImage, read_image
from engine.jobs.describing import Picture, catalogued, clear
from engine.problems import BadInput, fail
from engine.workspace import Workspace
from engine.workspace.arrays import load_parts, save_parts

LEARN_FROM = 150  # images of a dive: the light's pattern stands out clearly by then
SIZE = 320        # px, longer side of those, and of those shown
SHOWN = 6         # pairs in a comparison
ENDINGS = (".png", ".jpg", ".jpeg", ".webp")


def by_group(pictures: Iterable[Picture]) -> dict[int, list[Picture]]:
    """The pictures of each dive or album."""
    groups: dict[int, list[Picture]] = defaultdict(list)
    for picture in pictures:
        groups[picture.group].append(picture)
    return groups


def water_of(workspace: Workspace, pictures: Sequence[Picture], *, seed: int = 0,
             check: Callable[[], None] = lambda: None) -> WaterModel:
    """The model of the one group these pictures belong to; learned the first time, the same ever after. `check` is
    called between images and may raise."""
    place = workspace.folder / "water" / str(pictures[0].group)
    if (place / "parts.json").exists():
        return WaterModel.restored(load_parts(place))
    images, altitudes = [], []
    for picture in draw(pictures, LEARN_FROM, np.random.default_rng(seed)):
        check()
        with contextlib.suppress(BadImage):
            images.append(read_image(picture.path, longest=SIZE))
            altitudes.append(picture.altitude)
    model = learn_water(images, altitudes)
    save_parts(place, model.arrays())
    return model


def preview(workspace: Workspace, file: Path, collection: str | None = None, seed: int = 0) -> dict[str, Any]:
    """Writes what `compared` shows; gives what was learned of the dives."""
    if file.suffix.lower() not in ENDINGS:
        raise fail(str(file), "is no name of a picture", f"let it end in {' or '.join(ENDINGS)}")
    picture, told = compared(workspace, collection, seed)
    try:
        picture.save(file)
    except OSError as error:
        raise fail(str(file), f"cannot be written ({error.strerror or error})", "choose another place") from error
    return {"file": str(file), "dives": told}


def compared(workspace: Workspace, collection: str | None = None,
             seed: int = 0) -> tuple[Image.Image, list[dict[str, Any]]]:
    """A picture of some images of different dives, before the correction on the left and after it on the right; and
    what was learned of their dives."""
    told, pairs = [], []
    for number, pictures in by_group(catalogued(workspace, collection)).items():
        with contextlib.suppress(BadInput):  # too few images: the job says so, there is nothing to show
            model = water_of(workspace, pictures, seed=seed)
            told.append({"group": number, "lost_per_metre": np.round(model.rate, 3).tolist(),
                         "gain": np.round(np.exp(model.gain), 3).tolist(), "altitude": round(model.altitude, 2)})
            pairs += _pair(pictures, model, np.random.default_rng([seed, number]))
    if not pairs:
        raise fail("water correction", "no dive has enough images to learn its water", "describe without --water")
    return _stacked(pairs[:SHOWN]), told


def _pair(pictures: Sequence[Picture], model: WaterModel, rng: np.random.Generator) -> list[np.ndarray]:
    """One image of a dive before and after, if it can be read."""
    picture = pictures[rng.integers(len(pictures))]
    with contextlib.suppress(BadImage):
        image = read_image(picture.path, longest=SIZE)
        return [side_by_side(image, clear(image, picture, {picture.group: model}))]
    return []


def _stacked(pairs: Sequence[np.ndarray]) -> Image.Image:
    wide = max(pair.shape[1] for pair in pairs)
    rows = [resize(pair, round(pair.shape[0] * wide / pair.shape[1]), wide) for pair in pairs]
    return Image.fromarray(np.concatenate(rows))
