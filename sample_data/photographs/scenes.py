"""The scenes of the albums."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from PIL import Image

from benthoscope.sample_data.photographs.landscape import Colour, Easel, gradient, ink, over, sheet, sky, tinted
from benthoscope.sample_data.photographs.staffage import (
    CLOTHES,
    FLOWERS,
    boat,
    crate,
    facades,
    fir,
    flower,
    lit_windows,
    with_people,
)
from benthoscope.sample_data.seafloor.canvas import lit


@dataclass(frozen=True)
class Scene:
    name: str
    paint: Callable[[Easel], Image.Image]


def beach(easel: Easel) -> Image.Image:
    """Sky, sea with surf, sand with sunshades and people."""
    rng, horizon = easel.rng, easel.rng.uniform(0.28, 0.42)
    picture = sky(easel, (0.32, 0.56, 0.86), (0.76, 0.87, 0.95), rng.uniform(0, 1))
    shore = easel.outline(rng.uniform(0.58, 0.70), 0.025) + rng.uniform(-0.2, 0.2) * (easel.column - 0.5)
    swell = easel.streaks(7, 1)
    sea = tinted(0.9 + 0.10 * swell + 0.2 * (easel.row - horizon), (0.10, 0.48, 0.60))
    picture = over(picture, easel.below(np.float32(horizon)) * np.ones(easel.shape), sea)
    foam = np.clip(1.2 - np.abs(easel.row - shore + 0.02 * swell) / 0.022, 0, 1)
    window = easel.crop()
    sand = tinted(0.94 + 0.03 * window(easel.bank.grain) + 0.05 * window(easel.bank.patch), (0.88, 0.78, 0.58))
    picture = over(over(picture, easel.below(shore), sand), foam, (0.97, 0.98, 0.97))
    return with_people(easel, picture, 0.72, sunshades=int(rng.integers(0, 5)))


def forest(easel: Easel) -> Image.Image:
    """Leaves against the light, trunks near and far, ferns and litter."""
    rng, window = easel.rng, easel.crop()
    leaves = 0.62 + 0.20 * window(easel.bank.turf) + 0.18 * window(easel.bank.patch)
    picture = tinted(np.clip(leaves * (1.25 - 0.6 * easel.row), 0.05, 1.6), (0.38, 0.52, 0.18))
    ground = easel.outline(0.74, 0.03)
    litter = tinted(np.clip(0.7 + 0.22 * window(easel.bank.gravel), 0.1, 1.5), (0.34, 0.32, 0.16))
    picture = over(picture, easel.below(ground), litter)
    for depth in np.sort(rng.uniform(0.15, 1, int(rng.integers(10, 18)))):
        picture = _trunk(easel, picture, depth)
    ferns = easel.below(easel.outline(0.86, 0.05)) * np.clip(window(easel.bank.turf), 0, 1)
    return sheet(over(picture, ferns, (0.28, 0.48, 0.14)))[0]


def mountain(easel: Easel) -> Image.Image:
    """Ranges behind one another, the farthest with snow, a meadow or a lake in front."""
    rng = easel.rng
    picture = sky(easel, (0.30, 0.50, 0.80), (0.80, 0.88, 0.94), rng.uniform(0, 1.1))
    for level, rough, colour in ((0.34, 0.10, (0.50, 0.54, 0.60)), (0.52, 0.07, (0.36, 0.42, 0.40))):
        picture = _range(easel, picture, easel.outline(level, rough), colour, snow=level < 0.4)
    front = easel.outline(0.76, 0.025)
    if rng.random() < 0.4:  # a lake
        mirror = picture[::-1] * (0.75 + 0.06 * easel.streaks(8, 1)[..., None])
        return sheet(over(picture, easel.below(front), mirror))[0]
    window = easel.crop()
    grass = tinted(0.9 + 0.12 * window(easel.bank.grain) + 0.16 * window(easel.bank.patch), (0.40, 0.54, 0.20))
    return sheet(over(picture, easel.below(front), grass))[0]


def city_at_night(easel: Easel) -> Image.Image:
    """A skyline of lit windows over dark water that mirrors it."""
    rng, (height, width) = easel.rng, easel.shape
    image, pen = sheet(gradient(easel, (0.02, 0.03, 0.10), (0.10, 0.09, 0.20), (0.24, 0.15, 0.20)))
    bank = int(height * rng.uniform(0.70, 0.80))
    x = -0.05 * width
    while x < width:
        wide, tall = width * rng.uniform(0.05, 0.15), height * rng.beta(2, 2.4) * 0.62
        pen.rectangle((x, bank - tall, x + wide, bank), fill=ink((0.07, 0.07, 0.11), rng.uniform(0.6, 1.6)))
        lit_windows(easel, pen, (x, bank - tall, x + wide, bank))
        x += wide * rng.uniform(0.85, 1.25)
    city = np.asarray(image, np.float32) / 255
    mirrored = np.roll(city[::-1], 2 * bank - height, axis=0)
    smeared = (mirrored + np.roll(mirrored, 3, 0) + np.roll(mirrored, 6, 0)) / 3
    water = smeared * (0.62 + 0.16 * easel.streaks(6, 1)[..., None])
    return sheet(over(city, easel.below(np.float32(bank / height)) * np.ones(easel.shape), water))[0]


def snow(easel: Easel) -> Image.Image:
    """White slopes with blue shadows and snow-laden firs."""
    rng, window = easel.rng, easel.crop()
    picture = sky(easel, (0.62, 0.72, 0.84), (0.86, 0.89, 0.93), rng.uniform(0.2, 1.4))
    slope = easel.outline(rng.uniform(0.40, 0.55), 0.05) + rng.uniform(-0.25, 0.25) * (easel.column - 0.5)
    relief = lit(easel.bank.length(0.05) * window(easel.bank.drift) + 0.5 * window(easel.bank.patch))
    blue = 0.10 * tinted(np.clip(-relief, 0, 1), (1.0, 0.6, 0.0))  # what the shade takes away
    drifts = tinted(0.95 + 0.16 * relief, (0.93, 0.96, 1.0)) - blue
    image, pen = sheet(over(picture, easel.below(slope), drifts))
    height, width = easel.shape
    for depth in np.sort(rng.uniform(0, 1, int(rng.integers(5, 16)))):
        x = rng.uniform(0, 1)
        foot = slope[int(x * (width - 1))] + 0.02 + 0.40 * depth
        fir(pen, x * width, foot * height, height * (0.10 + 0.30 * depth))
    return image


def sunset(easel: Easel) -> Image.Image:
    """A low sun over water, hills against the light."""
    rng, horizon, middle = easel.rng, easel.rng.uniform(0.50, 0.66), easel.rng.uniform(0.2, 0.8)
    picture = gradient(easel, (0.22, 0.20, 0.42), (0.72, 0.36, 0.36), (0.98, 0.66, 0.30), (0.98, 0.72, 0.34))
    clouds = np.clip(0.5 * easel.streaks(9, 2), 0, 0.6) * (easel.row < horizon)
    picture = over(picture, clouds, (0.52, 0.22, 0.32))
    wide = easel.shape[1] / easel.shape[0]
    away = np.hypot((easel.column - middle) * wide, easel.row - horizon + rng.uniform(0.04, 0.14))
    picture = picture + np.exp(-away / 0.12)[..., None] * np.array((0.5, 0.34, 0.10), np.float32)
    picture = over(picture, np.clip((0.05 - away) * 80, 0, 1), (1.0, 0.95, 0.72))
    picture = over(picture, easel.below(easel.outline(horizon - 0.03, 0.025)), (0.13, 0.08, 0.12))
    glitter = np.exp(-np.abs(easel.column - middle) / (0.05 + 0.25 * np.clip(easel.row - horizon, 0, 1)))
    waves = 0.42 + 0.14 * easel.streaks(8, 1) + 0.7 * glitter * np.clip(0.4 + easel.streaks(6, 1), 0, 1.4)
    water = tinted(np.clip(waves, 0, 1.4), (0.86, 0.54, 0.34))
    return sheet(over(picture, easel.below(np.float32(horizon)) * np.ones(easel.shape), water))[0]


def market(easel: Easel) -> Image.Image:
    """Crates of fruit under a striped awning."""
    rng, (height, width) = easel.rng, easel.shape
    image, pen = sheet(gradient(easel, (0.24, 0.20, 0.17), (0.30, 0.24, 0.18)))
    top, stripe, colour = height * rng.uniform(0.12, 0.26), width / rng.integers(9, 16), CLOTHES[rng.integers(5)]
    for n in range(int(width / stripe) + 1):
        shade = ink(colour if n % 2 else (0.94, 0.92, 0.88))
        pen.polygon(((n * stripe, 0), ((n + 1) * stripe, 0), ((n + 1) * stripe, top), (n * stripe, top)), fill=shade)
        pen.ellipse((n * stripe, top - stripe / 3, (n + 1) * stripe, top + stripe / 3), fill=shade)
    rows, columns = int(rng.integers(2, 4)), int(rng.integers(3, 6))
    for row in range(rows):
        for column in range(columns):
            tall, wide = (height - 1.3 * top) / rows, width / columns
            x_min, upper = column * wide, 1.3 * top + row * tall
            crate(easel, pen, (x_min, upper, x_min + 0.96 * wide, upper + 0.94 * tall))
    return image


def harbour(easel: Easel) -> Image.Image:
    """A row of houses on the quay, boats with masts, and their mirror in the water."""
    rng, (height, width) = easel.rng, easel.shape
    quay = rng.uniform(0.44, 0.56)
    image, pen = sheet(sky(easel, (0.40, 0.60, 0.84), (0.84, 0.90, 0.94), rng.uniform(0, 1.2)))
    facades(easel, pen, bottom=quay * height, tall=0.20 * height)
    town = np.asarray(image, np.float32) / 255
    mirrored = np.roll(town[::-1], int(2 * quay * height) - height, axis=0)
    ripples = 0.62 + 0.12 * easel.streaks(7, 1)[..., None]
    water = (0.45 * mirrored + 0.55 * np.array((0.16, 0.36, 0.42), np.float32)) * (ripples + 0.3)
    image, pen = sheet(over(town, easel.below(np.float32(quay)) * np.ones(easel.shape), water))
    for depth in np.sort(rng.uniform(0.05, 1, int(rng.integers(4, 9)))):
        x, y = rng.uniform(0, 1) * width, (quay + 0.04 + 0.36 * depth) * height
        boat(easel, pen, x, y, width * (0.08 + 0.16 * depth))
    return image


def garden(easel: Easel) -> Image.Image:
    """Hedge, lawn and beds full of flowers."""
    rng, window, (height, width) = easel.rng, easel.crop(), easel.shape
    hedge = np.clip(0.75 + 0.22 * window(easel.bank.turf) + 0.1 * window(easel.bank.patch), 0.1, 1.5)
    picture = over(
        sky(easel, (0.45, 0.65, 0.88), (0.80, 0.90, 0.96), 0.6),
        easel.below(easel.outline(0.16, 0.03)),
        tinted(hedge, (0.22, 0.38, 0.14)),
    )
    lawn = tinted(1 + 0.10 * window(easel.bank.grain) + 0.05 * np.sin(40 * easel.column), (0.42, 0.62, 0.22))
    image, pen = sheet(over(picture, easel.below(easel.outline(0.42, 0.01)), lawn))
    beds = window(easel.bank.drift) > 0.0
    spots = rng.random((int(rng.integers(700, 1100)), 2))
    for x, y in spots[np.argsort(spots[:, 1])]:
        if y > 0.40 and beds[int(y * (height - 1)), int(x * (width - 1))]:
            sort, reach = FLOWERS[rng.integers(len(FLOWERS))], width * (0.003 + 0.012 * y)
            flower(pen, x * width, y * height, reach, sort, rng.uniform(0.8, 1.1))
    return image


def old_town(easel: Easel) -> Image.Image:
    """A street of plastered houses with shuttered windows over cobbles."""
    rng, height = easel.rng, easel.shape[0]
    image, pen = sheet(sky(easel, (0.44, 0.62, 0.86), (0.82, 0.88, 0.94), rng.uniform(0, 1)))
    foot = rng.uniform(0.70, 0.80)
    facades(easel, pen, bottom=foot * height, tall=0.58 * height)
    street = np.asarray(image, np.float32) / 255
    stones = 0.45 + 0.6 * easel.crop()(easel.bank.cobbles)[::-1]
    street = over(street, easel.below(np.float32(foot)) * np.ones(easel.shape), tinted(stones, (0.62, 0.58, 0.54)))
    return with_people(easel, street, 0.80, sunshades=0)


def _trunk(easel: Easel, picture: np.ndarray, depth: float) -> np.ndarray:
    rng = easel.rng
    wide, foot = 0.008 + 0.05 * depth**1.5, 0.70 + 0.28 * depth
    middle = rng.uniform(0, 1) + rng.normal(0, 0.03) * (easel.row - 0.5)
    across = (easel.column - middle) / wide
    bark = tinted(np.clip(0.75 - 0.35 * across + 0.25 * easel.streaks(1, 6), 0.1, 1.6), (0.30, 0.24, 0.18))
    hazy = bark * (0.35 + 0.65 * depth) + (1 - depth) * 0.25 * np.array((0.75, 0.85, 0.55), np.float32)
    return over(picture, (np.abs(across) < 1) & (easel.row < foot), hazy)


def _range(easel: Easel, picture: np.ndarray, crest: np.ndarray, colour: Colour, *, snow: bool) -> np.ndarray:
    window = easel.crop()
    relief = lit(easel.bank.length(0.06) * window(easel.bank.rock))
    faces = tinted(np.clip(0.95 + 0.5 * relief, 0.2, 1.6), colour)
    white = (easel.row - crest + 0.05 * window(easel.bank.patch) < 0.12) & snow
    faces = over(faces, white, tinted(np.clip(0.95 + 0.3 * relief, 0, 1.1), (0.94, 0.96, 1.0)))
    return over(picture, easel.below(crest), faces)


SCENES = (
    Scene("beach", beach),
    Scene("forest", forest),
    Scene("mountain", mountain),
    Scene("city at night", city_at_night),
    Scene("snow", snow),
    Scene("sunset", sunset),
    Scene("market", market),
    Scene("harbour", harbour),
    Scene("garden", garden),
    Scene("old town", old_town),
)
BY_NAME = {scene.name: scene for scene in SCENES}
