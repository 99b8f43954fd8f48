"""Periodic random fields, the basis of all painted surfaces."""

import numpy as np


def fractal(side: int, slope: float, rng: np.random.Generator, *, longest: float, shortest: float = 2) -> np.ndarray:
    """(side, side) float32 of mean 0 and deviation 1; amplitude falls as frequency ** slope between two wave lengths.

    `longest` and `shortest` are in pixels.
    """
    frequency = np.hypot(np.fft.fftfreq(side)[:, None], np.fft.rfftfreq(side)[None]).astype(np.float32)
    frequency[0, 0] = 1
    amplitude = frequency**-slope
    amplitude *= 1 / (1 + (1 / (longest * frequency)) ** 4)
    amplitude *= 1 / (1 + (shortest * frequency) ** 8)
    amplitude[0, 0] = 0
    white = np.fft.rfft2(rng.standard_normal((side, side), dtype=np.float32))
    return standard(np.fft.irfft2(white * amplitude, s=(side, side)))


def standard(field: np.ndarray) -> np.ndarray:
    """Return the field with mean 0 and deviation 1, float32."""
    return ((field - field.mean()) / field.std()).astype(np.float32)


def cells(side: int, width: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Distance to the nearest and to the second nearest of jittered seeds, in cell widths, and the nearest one's tone.

    About one seed in every square of `width` pixels; all three (side, side) float32, the tone uniform in 0..1.
    """
    count = max(side // width, 3)
    jitter = rng.uniform(0.12, 0.88, (2, count, count)).astype(np.float32)
    tones = rng.random((count, count), dtype=np.float32)
    positions = (np.arange(side, dtype=np.float32) + 0.5) * (count / side)
    home = positions.astype(int)
    first, second = (np.full((side, side), 9, np.float32) for _ in range(2))
    tone = np.zeros((side, side), np.float32)
    for dy in (-1, 0, 1):
        for dx in (-1, 0, 1):
            rows, columns = (home + dy)[:, None], (home + dx)[None]
            cell = (rows % count, columns % count)
            away = np.hypot(rows + jitter[0][cell] - positions[:, None], columns + jitter[1][cell] - positions[None])
            nearer = away < first
            second = np.where(nearer, first, np.minimum(second, away))
            first, tone = np.where(nearer, away, first), np.where(nearer, tones[cell], tone)
    return first, second, tone
