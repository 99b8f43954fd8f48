"""Objects in the scenes of the albums: people, houses, boats, firs, fruit and flowers."""

import numpy as np
from PIL import Image, ImageDraw

from benthoscope.sample_data.photographs.landscape import Colour, Easel, ink, sheet

WALLS = ((0.80, 0.62, 0.44), (0.86, 0.78, 0.60), (0.70, 0.42, 0.34), (0.88, 0.86, 0.80), (0.62, 0.66, 0.66))
FRUIT = (
    (0.85, 0.16, 0.12),
    (0.95, 0.58, 0.10),
    (0.96, 0.84, 0.20),
    (0.40, 0.62, 0.18),
    (0.42, 0.16, 0.36),
    (0.72, 0.52, 0.30),
)
FLOWERS = ((0.90, 0.22, 0.34), (0.96, 0.82, 0.22), (0.92, 0.60, 0.80), (0.96, 0.94, 0.92), (0.56, 0.36, 0.76))
CLOTHES = ((0.75, 0.20, 0.18), (0.18, 0.26, 0.48), (0.90, 0.86, 0.78), (0.20, 0.42, 0.36), (0.88, 0.66, 0.24))
BOATS = ((0.94, 0.94, 0.92), (0.16, 0.30, 0.52), (0.72, 0.16, 0.14), (0.20, 0.46, 0.42))

Pen = ImageDraw.ImageDraw
Box = tuple[float, float, float, float]


def with_people(easel: Easel, picture: np.ndarray, level: float, *, sunshades: int) -> Image.Image:
    """Return the picture as an image with people below a level and sunshades among them."""
    rng, (height, width) = easel.rng, easel.shape
    image, pen = sheet(picture)
    for depth in np.sort(rng.uniform(0, 1, int(rng.integers(1, 8)))):
        person(easel, pen, rng.uniform(0, width), height * (level + 0.18 * depth), height * (0.07 + 0.10 * depth))
    for _ in range(sunshades):
        x, y, reach = rng.uniform(0, width), height * rng.uniform(0.72, 0.92), height * rng.uniform(0.06, 0.13)
        pen.line((x, y, x, y - 1.3 * reach), fill=(90, 70, 50), width=max(1, int(reach / 14)))
        shade = ink(CLOTHES[rng.integers(5)])
        pen.pieslice((x - reach, y - 2 * reach, x + reach, y - 0.4 * reach), 180, 360, fill=shade)
    return image


def person(easel: Easel, pen: Pen, x: float, y: float, tall: float) -> None:
    """Draw a person with their feet at (x, y)."""
    wide, shirt, legs = 0.12 * tall, CLOTHES[easel.rng.integers(5)], CLOTHES[easel.rng.integers(5)]
    pen.rectangle((x - 0.8 * wide, y - 0.45 * tall, x + 0.8 * wide, y), fill=ink(legs, 0.7))
    pen.rectangle((x - wide, y - 0.84 * tall, x + wide, y - 0.42 * tall), fill=ink(shirt))
    pen.ellipse((x - 0.6 * wide, y - tall, x + 0.6 * wide, y - 0.84 * tall), fill=ink((0.78, 0.58, 0.46)))


def lit_windows(easel: Easel, pen: Pen, box: Box) -> None:
    """Draw the windows of a building at night, some of them lit."""
    x_min, top, right, bottom = box
    pitch, rng = easel.shape[1] / 64, easel.rng
    for y in np.arange(top + pitch / 2, bottom - pitch, pitch):
        for x in np.arange(x_min + pitch / 2, right - pitch / 2, pitch * 0.9):
            if rng.random() < 0.45:
                glow = ink((1.0, 0.84, 0.46) if rng.random() < 0.8 else (0.75, 0.86, 1.0), rng.uniform(0.5, 1.0))
                pen.rectangle((x, y, x + pitch * 0.4, y + pitch * 0.45), fill=glow)


def fir(pen: Pen, x: float, y: float, tall: float) -> None:
    """Draw a fir with snow on one side and its foot at (x, y)."""
    for layer in range(5):
        top, wide = y - tall + layer * tall * 0.17, tall * (0.09 + 0.055 * layer)
        pen.polygon(((x, top), (x - wide, top + 0.30 * tall), (x + wide, top + 0.30 * tall)), fill=(32, 58, 50))
        white = ((x, top), (x - wide, top + 0.28 * tall), (x - 0.1 * wide, top + 0.18 * tall))
        pen.polygon(white, fill=(232, 238, 246))


def crate(easel: Easel, pen: Pen, box: Box) -> None:
    """Draw a crate of one sort of fruit in rows."""
    x_min, top, right, bottom = box
    rng, colour = easel.rng, FRUIT[easel.rng.integers(len(FRUIT))]
    reach = easel.shape[1] * rng.uniform(0.012, 0.024)
    pen.rectangle(box, fill=ink((0.50, 0.36, 0.22)))
    for y in np.arange(top + reach, bottom - reach, 1.5 * reach):
        for x in np.arange(x_min + 1.2 * reach, right - reach, 1.8 * reach):
            cx, cy = np.array((x, y)) + rng.normal(0, 0.2, 2) * reach
            pen.ellipse((cx - reach, cy - reach, cx + reach, cy + reach), fill=ink(colour, rng.uniform(0.55, 0.85)))
            lit = (cx - 0.8 * reach, cy - 0.9 * reach, cx + 0.5 * reach, cy + 0.4 * reach)
            pen.ellipse(lit, fill=ink(colour, 1.08))
    pen.rectangle((x_min, bottom - 0.1 * (bottom - top), right, bottom), fill=ink((0.66, 0.48, 0.30)))


def facades(easel: Easel, pen: Pen, *, bottom: float, tall: float) -> None:
    """Draw a row of houses from edge to edge."""
    rng, width = easel.rng, easel.shape[1]
    x = -rng.uniform(0, 0.1) * width
    while x < width:
        wide, high = width * rng.uniform(0.10, 0.20), tall * rng.uniform(0.7, 1.2)
        wall = WALLS[rng.integers(len(WALLS))]
        pen.rectangle((x, bottom - high, x + wide, bottom), fill=ink(wall, rng.uniform(0.85, 1.05)))
        roof = ((x - 2, bottom - high), (x + wide / 2, bottom - high - 0.3 * wide), (x + wide + 2, bottom - high))
        pen.polygon(roof, fill=ink((0.60, 0.28, 0.20), rng.uniform(0.8, 1.1)))
        windows(pen, (x, bottom - high, x + wide, bottom), wide / 4, ink(WALLS[rng.integers(len(WALLS))], 0.55))
        x += wide


def windows(pen: Pen, box: Box, pitch: float, shutter: tuple[int, int, int]) -> None:
    """Draw shuttered windows in rows."""
    x_min, top, right, bottom = box
    for y in np.arange(top + 0.5 * pitch, bottom - pitch, 1.6 * pitch):
        for x in np.arange(x_min + 0.5 * pitch, right - 0.8 * pitch, 1.25 * pitch):
            pen.rectangle((x - 0.12 * pitch, y, x + 0.72 * pitch, y + 0.9 * pitch), fill=shutter)
            pen.rectangle((x + 0.08 * pitch, y, x + 0.52 * pitch, y + 0.9 * pitch), fill=(48, 54, 66))


def boat(easel: Easel, pen: Pen, x: float, y: float, long: float) -> None:
    """Draw a boat with a cabin and a mast; (x, y) is its stern."""
    rng, hull = easel.rng, BOATS[easel.rng.integers(len(BOATS))]
    outline = ((x, y), (x + long, y), (x + 0.86 * long, y + 0.22 * long), (x + 0.12 * long, y + 0.22 * long))
    pen.polygon(outline, fill=ink(hull))
    pen.line((x, y + 0.05 * long, x + long, y + 0.05 * long), fill=ink(hull, 0.6), width=max(1, int(long / 30)))
    pen.rectangle((x + 0.3 * long, y - 0.16 * long, x + 0.6 * long, y), fill=ink((0.92, 0.90, 0.84)))
    mast = x + 0.62 * long
    pen.line((mast, y, mast, y - long * rng.uniform(0.8, 1.3)), fill=(214, 208, 196), width=max(1, int(long / 40)))


def flower(pen: Pen, x: float, y: float, reach: float, colour: Colour, tone: float) -> None:
    """Draw a flower on its stalk."""
    pen.line((x, y, x, y + 2.5 * reach), fill=(44, 84, 30), width=max(1, int(reach / 2)))
    pen.ellipse((x - reach, y - reach, x + reach, y + reach), fill=ink(colour, tone))
    pen.ellipse((x - 0.3 * reach, y - 0.3 * reach, x + 0.3 * reach, y + 0.3 * reach), fill=ink(colour, 0.6 * tone))
