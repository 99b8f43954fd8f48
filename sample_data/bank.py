"""Random fields that a process computes once, so that an image needs only crops and no Fourier transforms."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from benthoscope.sample_data.noise import cells, fractal, standard

PIXELS_PER_METRE = 200  # pixels per metre of a scene at scale 1: 320 pixels show 1.6 m of ground from 2 m above
SIDE = 1024  # pixels of a field at scale 1; twice the widest canvas, so that crops differ


@dataclass(frozen=True)
class Bank:
    """Fields for scenes that are `scale` times finer than 200 pixels per metre, all derived from one seed."""

    seed: int
    scale: float = 1.0

    @property
    def side(self) -> int:
        return 2048 if self.scale > 1.4 else SIDE

    def length(self, metres: float) -> float:
        """Return a length in metres in pixels."""
        return metres * PIXELS_PER_METRE * self.scale

    @cached_property
    def grain(self) -> np.ndarray:
        """Single grains of sand."""
        return self._fractal(1, 0.35, longest=0.05, shortest=0.004)

    @cached_property
    def gravel(self) -> np.ndarray:
        """Lumps of one to three centimetres."""
        return self._fractal(2, 0.6, longest=0.03, shortest=0.016)

    @cached_property
    def turf(self) -> np.ndarray:
        """Tufts and knobs of two to six centimetres."""
        return self._fractal(3, 1.5, longest=0.10, shortest=0.014)

    @cached_property
    def drift(self) -> np.ndarray:
        """Slow changes over about a metre."""
        return self._fractal(4, 2.2, longest=1.2, shortest=0.12)

    @cached_property
    def patch(self) -> np.ndarray:
        """Ragged patches of some decimetres."""
        return self._fractal(5, 1.7, longest=0.6, shortest=0.012)

    @cached_property
    def rock(self) -> np.ndarray:
        """Height of weathered rock: ridges and hollows at every size."""
        broad, fine = (self._fractal(n, slope, longest=0.7, shortest=0.02) for n, slope in ((6, 1.9), (7, 1.4)))
        return standard(broad - 0.8 * np.abs(broad + 0.4 * fine) + 0.25 * fine)

    @cached_property
    def boulders(self) -> np.ndarray:
        """Height (0 in the gaps to 1) of blocks from a decimetre to half a metre, piled on each other."""
        large, small = self._stones(8, 0.46, bend=0.20), self._stones(12, 0.17, bend=0.20)
        return np.maximum(large, 0.62 * small * (large < 0.45))

    @cached_property
    def cobbles(self) -> np.ndarray:
        """Height (0 in the gaps to 1) of packed stones of five to fifteen centimetres."""
        large, small = self._stones(9, 0.13, bend=0.06), self._stones(13, 0.055, bend=0.06)
        return np.maximum(large, 0.6 * small * (large < 0.4))

    @cached_property
    def stone_tones(self) -> np.ndarray:
        """A tone, 0..1, for each of the larger cobbles."""
        return self._cells(9, 0.13, bend=0.06)[2]

    @cached_property
    def joints(self) -> np.ndarray:
        """0 on the cracks of jointed rock, rising to 1 within two centimetres."""
        first, second, _ = self._cells(10, 0.55, bend=0.07)
        return np.clip((second - first) / 0.045, 0, 1).astype(np.float32)

    @cached_property
    def faces(self) -> np.ndarray:
        """The tone, 0..1, of each face between the joints."""
        return self._cells(10, 0.55, bend=0.07)[2]

    @cached_property
    def static(self) -> np.ndarray:
        """Sensor noise with three partly correlated channels."""
        rng = self._rng(11)
        common = rng.standard_normal((self.side, self.side, 1), dtype=np.float32)
        own_noise = rng.standard_normal((self.side, self.side, 3), dtype=np.float32)
        return np.float32(0.75) * common + np.float32(0.55) * own_noise

    def _fractal(self, number: int, slope: float, *, longest: float, shortest: float) -> np.ndarray:
        waves = {"longest": self.length(longest), "shortest": max(2.0, self.length(shortest))}
        return fractal(self.side, slope, self._rng(number), **waves)

    def _stones(self, number: int, width: float, *, bend: float) -> np.ndarray:
        first, second, tone = self._cells(number, width, bend=bend)
        within = np.clip((second - first - 0.05) / (0.55 + 0.35 * tone), 0, 1)  # rounder than the cells they fill
        return (np.sqrt(1 - (1 - within) ** 2) * (0.55 + 0.45 * tone)).astype(np.float32)

    def _cells(self, number: int, width: float, *, bend: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return cells whose straight borders are bent by this many widths."""
        pixels = self.length(width)
        rng = self._rng(number)
        waves = {"longest": 1.8 * pixels, "shortest": 0.45 * pixels}
        bends = [fractal(self.side, 2.0, rng, **waves) * bend * pixels for _ in range(2)]
        at = np.arange(self.side, dtype=np.float32)
        rows = (at[:, None] + bends[0]).astype(int) % self.side
        columns = (at[None] + bends[1]).astype(int) % self.side
        return tuple(field[rows, columns] for field in cells(self.side, round(pixels), rng))

    def _rng(self, number: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, 77, number])


Crop = Callable[[np.ndarray], np.ndarray]


def crop(side: int, shape: tuple[int, int], rng: np.random.Generator) -> Crop:
    """Return one random window with a random flip, which can be applied to several fields so that they match."""
    top, first_column = (int(rng.integers(0, side - n + 1)) for n in shape)
    down, right = (int(step) for step in rng.choice((-1, 1), 2))
    return lambda field: field[top : top + shape[0], first_column : first_column + shape[1]][::down, ::right]
