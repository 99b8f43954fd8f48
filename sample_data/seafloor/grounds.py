"""Paint the ground without organisms: sands, mud, rock, stones."""

import numpy as np

from benthoscope.sample_data.seafloor.canvas import Brush, Ground, coloured, lit, ramp
from benthoscope.sample_data.seafloor.things import Thing

SAND = ramp((0.22, 0.19, 0.15), (0.52, 0.47, 0.38), (0.66, 0.60, 0.50), (0.78, 0.73, 0.62), (0.93, 0.90, 0.82))
COARSE = ramp((0.16, 0.13, 0.11), (0.48, 0.42, 0.33), (0.64, 0.56, 0.45), (0.76, 0.70, 0.60), (0.98, 0.95, 0.88))
MUD = ramp((0.16, 0.16, 0.14), (0.42, 0.41, 0.36), (0.54, 0.53, 0.47), (0.62, 0.61, 0.55), (0.76, 0.74, 0.68))
ROCK = ramp((0.05, 0.05, 0.05), (0.26, 0.24, 0.22), (0.46, 0.43, 0.39), (0.62, 0.58, 0.52), (0.84, 0.80, 0.73))
TURF = ramp((0.05, 0.04, 0.03), (0.22, 0.18, 0.12), (0.40, 0.33, 0.22), (0.56, 0.47, 0.33), (0.76, 0.68, 0.52))
PINK = ramp((0.10, 0.06, 0.07), (0.40, 0.25, 0.28), (0.62, 0.43, 0.45), (0.76, 0.58, 0.58), (0.90, 0.76, 0.74))
STONES = ramp((0.04, 0.04, 0.04), (0.24, 0.22, 0.20), (0.46, 0.43, 0.39), (0.60, 0.56, 0.50), (0.82, 0.78, 0.70))


def rippled_sand(brush: Brush) -> Ground:
    """Paint sand with wave ripples: crests that fork in places, with darker grit in the troughs."""
    window, spacing, worn = brush.crop(), brush.rng.uniform(0.08, 0.22), brush.rng.uniform(0.35, 1.0)
    across, _ = brush.along()
    phase = (across + 0.055 * window(brush.bank.drift)) * np.float32(2 * np.pi / spacing)
    wave = np.sin(phase + 0.35 * np.sin(phase))
    height = wave * np.float32(worn * brush.bank.length(0.016)) + 0.35 * window(brush.bank.grain)
    tone = 0.50 + 0.24 * lit(height) + np.float32(0.10 * worn) * wave + 0.045 * window(brush.bank.grain)
    return _all(tone, SAND, Thing.SAND)


def flat_sand(brush: Brush) -> Ground:
    """Paint sand without ripples: soft swells and grains."""
    window = brush.crop()
    tone = 0.52 + 0.03 * window(brush.bank.drift) + 0.05 * window(brush.bank.patch) + 0.05 * window(brush.bank.grain)
    return _all(tone, SAND, Thing.SAND)


def coarse_sand(brush: Brush) -> Ground:
    """Paint coarse sand: dark and bright grains of a centimetre or two, in patches."""
    window = brush.crop()
    gravel, grain = np.float32(brush.rng.uniform(0.6, 1.1)) * window(brush.bank.gravel), window(brush.bank.grain)
    specks = 0.11 * gravel + 0.07 * np.clip(np.abs(gravel) - 1.1, 0, 2) * np.sign(gravel)
    tone = 0.48 + specks + 0.07 * grain + 0.05 * window(brush.bank.patch) + 0.10 * lit(1.2 * gravel)
    return _all(tone, COARSE, Thing.SAND)


def some_sand(brush: Brush) -> Ground:
    """Paint flat or coarse sand at random."""
    return (flat_sand, coarse_sand)[brush.rng.integers(2)](brush)


def mud(brush: Brush) -> Ground:
    """Paint fine silt, almost smooth, with faint swells."""
    window = brush.crop()
    swell = window(brush.bank.drift)
    height = brush.bank.length(0.012) * swell + 0.7 * window(brush.bank.patch)
    tone = 0.48 + 0.05 * swell + 0.22 * lit(height) + 0.018 * window(brush.bank.grain)
    return _all(tone, MUD, Thing.MUD)


def bare_rock(brush: Brush) -> Ground:
    """Paint clean rock: faces of several tones with dark joints, and a pink crust of coralline algae in places."""
    window = brush.crop()
    joints, rock, patch = window(brush.bank.joints), window(brush.bank.rock), window(brush.bank.patch)
    height = brush.bank.length(0.022) * rock + brush.bank.length(0.03) * joints
    face = 0.40 + 0.16 * window(brush.bank.faces) + 0.05 * rock + 0.03 * patch + 0.03 * window(brush.bank.grain)
    tone = face * (0.25 + 0.75 * joints) + 0.26 * lit(height)
    colours = np.where((patch > 1.5), coloured(tone + 0.03, PINK), coloured(tone, ROCK))
    return Ground(colours, np.full(brush.shape, Thing.ROCK, np.uint8))


def low_reef(brush: Brush) -> Ground:
    """Paint flat reef: rock under a mat of turf, with thin layers of sand in its hollows."""
    window = brush.crop()
    rock, turf, patch = window(brush.bank.rock), window(brush.bank.turf), window(brush.bank.patch)
    height = brush.bank.length(0.022) * rock + brush.bank.length(0.006) * turf
    tone = 0.45 + 0.30 * lit(height) + 0.04 * rock + 0.06 * turf + 0.03 * window(brush.bank.grain)
    veneer = (rock + 0.5 * patch) < -1.35
    colours = np.where((patch > 1.3), coloured(tone, PINK), coloured(tone, TURF))
    sand = coloured(0.5 + 0.05 * window(brush.bank.grain) + 0.08 * lit(height), SAND)
    things = np.where(veneer, Thing.SAND, Thing.MATRIX).astype(np.uint8)
    return Ground(np.where(veneer, sand, colours), things)


def high_reef(brush: Brush) -> Ground:
    """Paint broken reef: overgrown blocks and ledges up to half a metre high, with black gaps between them."""
    window, tall = brush.crop(), brush.rng.uniform(0.08, 0.22)
    block, rock, turf = window(brush.bank.boulders), window(brush.bank.rock), window(brush.bank.turf)
    overgrowth = brush.bank.length(0.035) * rock + brush.bank.length(0.007) * turf
    height = np.float32(brush.bank.length(tall)) * block + overgrowth
    sky = np.clip(0.06 + 1.35 * block + 0.10 * rock, 0.05, 1.1)  # the fraction of the light that reaches down
    tone = (0.50 + 0.36 * lit(height) + 0.06 * turf + 0.03 * window(brush.bank.patch)) * sky
    things = np.where(sky < 0.22, Thing.UNKNOWN, Thing.MATRIX).astype(np.uint8)
    return Ground(coloured(tone, TURF), things)


def packed_stones(brush: Brush) -> Ground:
    """Paint rounded stones of five to fifteen centimetres, close together."""
    window = brush.crop()
    stone, patch = window(brush.bank.cobbles), window(brush.bank.patch)
    sky = np.clip(0.10 + 1.9 * stone, 0, 1)
    own_tone = 0.34 * window(brush.bank.stone_tones) + 0.03 * patch + 0.03 * window(brush.bank.grain)
    tone = (0.28 + 0.12 * stone + own_tone + 0.30 * lit(brush.bank.length(0.045) * stone)) * sky
    return _all(tone, STONES, Thing.COBBLE)


def beside(brush: Brush, first: Ground, second: Ground) -> tuple[Ground, np.ndarray]:
    """Paint the first ground on one side of a ragged line and the second on the other. Also returns the mask."""
    window = brush.crop()
    across, _ = brush.along()
    edge = across - across.mean() + 0.16 * window(brush.bank.drift) + 0.035 * window(brush.bank.patch)
    other = edge > brush.rng.uniform(-0.33, 0.33)
    colours = np.where(other, second.colours, first.colours)
    return Ground(colours, np.where(other, second.things, first.things)), other


def _all(tone: np.ndarray, colours: np.ndarray, thing: Thing) -> Ground:
    return Ground(coloured(tone, colours), np.full(tone.shape, thing, np.uint8))
