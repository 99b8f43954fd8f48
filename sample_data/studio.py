"""Paint a planned frame and compute its truth."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from PIL import Image

from benthoscope.sample_data.bank import Bank
from benthoscope.sample_data.dives import NONE, Frame
from benthoscope.sample_data.seafloor.canvas import Brush, Painting
from benthoscope.sample_data.seafloor.habitats import BY_NAME
from benthoscope.sample_data.seafloor.sprites import Collection
from benthoscope.sample_data.seafloor.water import USUAL_ALTITUDE, Shot, Water, photograph

USUAL_WIDTH = 320  # pixels of an image at scale 1
# largest scale of painted scenes; larger images are enlarged, because the fields would not fit into a laptop's memory
FINEST = 3.0
COARSEST = 0.35  # smallest scale, below which objects would be smaller than a pixel

Size = tuple[int, int]


@dataclass(frozen=True)
class Taken:
    image: Image.Image
    things: np.ndarray | None  # (H, W) uint8 of Thing numbers, for frames with truth


@dataclass(frozen=True)
class Studio:
    """The fields and sprites that a process keeps for a seed and an image width."""

    bank: Bank
    collection: Collection

    def take(self, frame: Frame, water: Water, size: Size, rng: np.random.Generator) -> Taken:
        """Paint the view under the vehicle and photograph it."""
        painting = self._painting(frame, size, rng)
        shot = Shot(size, frame.altitude, water, frame.tint, frame.quality)
        image = photograph(painting.image, shot, rng, self.bank)
        things = painting.things
        return Taken(image, None if things is None else np.asarray(things.resize(size, Image.Resampling.NEAREST)))

    def _painting(self, frame: Frame, size: Size, rng: np.random.Generator) -> Painting:
        # a higher altitude shows more ground
        width = round(USUAL_WIDTH * self.bank.scale * frame.altitude / USUAL_ALTITUDE)
        shape = (round(width * size[1] / size[0]), width)
        brush = Brush(rng, self.bank, self.collection, shape, frame.plenty, frame.bearing)
        with_things = frame.truth != NONE
        return BY_NAME[frame.habitat].paint(brush, lambda ground: Painting(brush, ground, with_things=with_things))


@lru_cache(maxsize=2)
def studio(seed: int, width: int) -> Studio:
    """Return the studio of this process for images of this width in pixels."""
    bank = Bank(seed, float(np.clip(width / USUAL_WIDTH, COARSEST, FINEST)))
    return Studio(bank, Collection(bank))
