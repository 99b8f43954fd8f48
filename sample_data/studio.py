"""From the plan of a frame to its picture and its truth."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from PIL import Image

from sample_data.bank import Bank
from sample_data.canvas import Brush, Painting
from sample_data.dives import NONE, Frame
from sample_data.habitats import BY_NAME
from sample_data.sprites import Collection
from sample_data.water import USUAL_ALTITUDE, Shot, Water, photograph

USUAL_WIDTH = 320  # pixels of an image at scale 1
FINEST = 3.0       # scale beyond which scenes are enlarged: the fields would not fit a laptop's memory
COARSEST = 0.35    # scale below which objects would be smaller than a pixel

Size = tuple[int, int]


@dataclass(frozen=True)
class Taken:
    image: Image.Image
    things: np.ndarray | None  # (H, W) uint8 of Thing numbers, where the frame has truth


@dataclass(frozen=True)
class Studio:
    """The fields and sprites that one process keeps for a seed and an image width."""

    bank: Bank
    collection: Collection

    def take(self, frame: Frame, water: Water, size: Size, rng: np.random.Generator) -> Taken:
        """Paints what lies under the vehicle and photographs it."""
        painting = self._painting(frame, size, rng)
        shot = Shot(size, frame.altitude, water, frame.tint, frame.quality)
        image = photograph(painting.image, shot, rng, self.bank)
        things = painting.things
        return Taken(image, None if things is None else np.asarray(things.resize(size, Image.Resampling.NEAREST)))

    def _painting(self, frame: Frame, size: Size, rng: np.random.Generator) -> Painting:
        width = round(USUAL_WIDTH * self.bank.scale * frame.altitude / USUAL_ALTITUDE)  # higher up, more ground in view
        shape = (round(width * size[1] / size[0]), width)
        brush = Brush(rng, self.bank, self.collection, shape, frame.plenty, frame.bearing)
        with_things = frame.truth != NONE
        return BY_NAME[frame.habitat].paint(brush, lambda ground: Painting(brush, ground, with_things=with_things))


@lru_cache(maxsize=2)
def studio(seed: int, width: int) -> Studio:
    """The studio of this process for images of so many pixels across."""
    bank = Bank(seed, float(np.clip(width / USUAL_WIDTH, COARSEST, FINEST)))
    return Studio(bank, Collection(bank))
