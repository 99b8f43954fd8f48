"""Estimate, store and preview the water-colour model of each dive."""

import contextlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from benthoscope.engine.features import WaterModel, learn_water, side_by_side
from benthoscope.engine.features.compression import draw
from benthoscope.engine.features.planes import resize
from benthoscope.engine.imaging import BadImage, read_image
from benthoscope.engine.jobs.describe.describing import ImageToDescribe, catalogued, clear
from benthoscope.engine.problems import BadInput, fail
from benthoscope.engine.workspace import Workspace
from benthoscope.engine.workspace.storage.files import load_parts, save_parts

LEARN_FROM = 150  # training images of a dive; enough for a clear light pattern
SIZE = 320  # px, longer side of training images and of previews
SHOWN = 6  # pairs in a comparison
ENDINGS = (".png", ".jpg", ".jpeg", ".webp")


def by_group(pictures: Iterable[ImageToDescribe]) -> dict[int, list[ImageToDescribe]]:
    """Return the images of each dive or album."""
    groups: dict[int, list[ImageToDescribe]] = defaultdict(list)
    for picture in pictures:
        groups[picture.group].append(picture)
    return groups


def water_of(
    workspace: Workspace,
    pictures: Sequence[ImageToDescribe],
    *,
    seed: int = 0,
    check: Callable[[], None] = lambda: None,
) -> WaterModel:
    """Return the water model of the group of these images. It is estimated once and then stays the same. `check` is
    called between images and may raise."""
    folder = workspace.folder / "water" / str(pictures[0].group)
    if (folder / "parts.json").exists():
        return WaterModel.restored(load_parts(folder))
    images, altitudes = [], []
    for picture in draw(pictures, LEARN_FROM, np.random.default_rng(seed)):
        check()
        with contextlib.suppress(BadImage):
            images.append(read_image(picture.path, longest=SIZE))
            altitudes.append(picture.altitude)
    model = learn_water(images, altitudes)
    save_parts(folder, model.arrays())
    return model


def preview(workspace: Workspace, file: Path, collection: str | None = None, seed: int = 0) -> dict[str, Any]:
    """Write the picture of `compared`. Returns what was learned about the dives."""
    if file.suffix.lower() not in ENDINGS:
        raise fail(str(file), "is not the name of an image file", f"use the ending {' or '.join(ENDINGS)}")
    picture, summaries = compared(workspace, collection, seed)
    try:
        picture.save(file)
    except OSError as error:
        raise fail(str(file), f"cannot be written ({error.strerror or error})", "choose another folder") from error
    return {"file": str(file), "dives": summaries}


def compared(
    workspace: Workspace, collection: str | None = None, seed: int = 0
) -> tuple[Image.Image, list[dict[str, Any]]]:
    """Return a picture of some images of different dives, before the correction on the left and after it on the right,
    and what was learned about their dives."""
    summaries, pairs = [], []
    for number, pictures in by_group(catalogued(workspace, collection)).items():
        with contextlib.suppress(BadInput):  # too few images; the job reports this, and there is nothing to show
            model = water_of(workspace, pictures, seed=seed)
            summaries.append(
                {
                    "group": number,
                    "lost_per_metre": np.round(model.rate, 3).tolist(),
                    "gain": np.round(np.exp(model.gain), 3).tolist(),
                    "altitude": round(model.altitude, 2),
                }
            )
            pairs += _pair(pictures, model, np.random.default_rng([seed, number]))
    if not pairs:
        raise fail(
            "water correction",
            "no dive has enough images to estimate its water model",
            "compute features without --water",
        )
    return _stacked(pairs[:SHOWN]), summaries


def _pair(pictures: Sequence[ImageToDescribe], model: WaterModel, rng: np.random.Generator) -> list[np.ndarray]:
    """Return one image of a dive before and after, if it can be read."""
    picture = pictures[int(rng.integers(len(pictures)))]
    with contextlib.suppress(BadImage):
        image = read_image(picture.path, longest=SIZE)
        return [side_by_side(image, clear(image, picture, {picture.group: model}))]
    return []


def _stacked(pairs: Sequence[np.ndarray]) -> Image.Image:
    wide = max(pair.shape[1] for pair in pairs)
    rows = [resize(pair, round(pair.shape[0] * wide / pair.shape[1]), wide) for pair in pairs]
    return Image.fromarray(np.concatenate(rows))
