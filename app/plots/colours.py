"""Colours that every page, plot and file shares: one for each cluster and term, and ramps for numbers."""

import math

import numpy as np

GREY = "#9aa5ad"  # no category, or an unknown number
GOLDEN = 0.618033988749895
# Chosen by a search among colours that are visible on white and on the dark theme. Of any two, the difference is at
# least 27 (CIE 1976) for people with normal colour vision and with each of the three common deficiencies.
FIRST = ("#1ea5d2", "#966900", "#c30f4b", "#695ad2", "#96c369", "#a51e78", "#f096a5", "#c3b41e")
# From dark to light through blue and green, in even steps of lightness: readable in grey and for colour-blind people.
RAMP = ("#2b1455", "#3b2f7e", "#37548f", "#2c7390", "#21908b", "#2fae7b", "#68c75c", "#b0dc3a", "#f4e61e")


def distinct(count: int) -> list[str]:
    """Colours of which neighbours differ strongly; the first ones do not depend on `count`. The first eight differ for
    colour-blind people too."""
    further = [_hex(*_okhsl((0.62 + number * GOLDEN) % 1, number)) for number in range(len(FIRST), count)]
    return [*FIRST[:count], *further]


def ramp(steps: int) -> list[str]:
    anchors = np.array([[int(colour[at : at + 2], 16) for at in (1, 3, 5)] for colour in RAMP], float)
    at = np.linspace(0, len(RAMP) - 1, steps)
    channels = [np.interp(at, np.arange(len(RAMP)), anchors[:, channel]) for channel in range(3)]
    return [f"#{round(r):02x}{round(g):02x}{round(b):02x}" for r, g, b in zip(*channels, strict=True)]


def on(colour: str) -> str:
    """Black or white, whichever has more contrast on this colour."""
    linear = [_linear(int(colour[at : at + 2], 16) / 255) for at in (1, 3, 5)]
    light = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "#000000" if (light + 0.05) / 0.05 > 1.05 / (light + 0.05) else "#ffffff"


def _okhsl(hue: float, number: int) -> tuple[float, float, float]:
    """OKLCH with three alternating levels of lightness and chroma, because hue alone separates only about twelve."""
    lightness, strength = ((0.66, 0.15), (0.78, 0.12), (0.55, 0.14))[(number // 5) % 3]
    a, b = strength * math.cos(2 * math.pi * hue), strength * math.sin(2 * math.pi * hue)
    cube = [
        (lightness + x * a + y * b) ** 3
        for x, y in ((0.3963377774, 0.2158037573), (-0.1055613458, -0.0638541728), (-0.0894841775, -1.291485548))
    ]
    rows = (
        (4.0767416621, -3.3077115913, 0.2309699292),
        (-1.2684380046, 2.6097574011, -0.3413193965),
        (-0.0041960863, -0.7034186147, 1.707614701),
    )
    red, green, blue = (_gamma(sum(weight * value for weight, value in zip(row, cube, strict=True))) for row in rows)
    return red, green, blue


def _gamma(value: float) -> float:
    value = min(max(value, 0.0), 1.0)
    return 12.92 * value if value <= 0.0031308 else 1.055 * value ** (1 / 2.4) - 0.055


def _linear(value: float) -> float:
    return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4


def _hex(red: float, green: float, blue: float) -> str:
    return f"#{round(red * 255):02x}{round(green * 255):02x}{round(blue * 255):02x}"
