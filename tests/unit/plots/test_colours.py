"""Colours differ for everybody: with normal vision and with each of the three common colour vision deficiencies.

A deficiency is simulated with the matrix of Machado, Oliveira and Fernandes (2009), "A Physiologically-based Model for
Simulation of Color Vision Deficiency", IEEE Transactions on Visualization and Computer Graphics 15(6), severity 1.0, on
linear RGB. The difference is that of CIE 1976 (L*a*b*); 2.3 is just noticeable.
"""

import numpy as np
import pytest

from benthoscope.plots.colours import FIRST, distinct
from benthoscope.plots.style import THEMES

VISION = {
    "normal": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)
WHITE = np.array([0.95047, 1.0, 1.08883])  # D65
CLEAR, CLEAR_LINES = 20, 10  # at least; lines are long and have a legend beside them


def linear(colours):
    channels = np.array([[int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)] for colour in colours])
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def smallest_difference(colours, vision):
    """Between any two of the colours, as seen with this vision."""
    ratios = np.clip(linear(colours) @ np.array(VISION[vision]).T, 0, 1) @ XYZ.T / WHITE
    f = np.where(ratios > 216 / 24389, np.cbrt(ratios), (24389 / 27 * ratios + 16) / 116)
    lab = np.stack([116 * f[:, 1] - 16, 500 * (f[:, 0] - f[:, 1]), 200 * (f[:, 1] - f[:, 2])], axis=1)
    differences = np.linalg.norm(lab[:, None] - lab[None], axis=2)
    return differences[np.triu_indices(len(lab), 1)].min()


def contrast(colours, background):
    """Contrast of WCAG 2 on a background."""
    luminance, ground = (linear(each) @ XYZ[1] for each in (colours, [background]))
    return (np.maximum(luminance, ground) + 0.05) / (np.minimum(luminance, ground) + 0.05)


def test_the_simulation_knows_what_colour_blind_people_confuse():
    red, green = "#b03030", "#5f6a1e"
    assert smallest_difference([red, green], "normal") > 2 * smallest_difference([red, green], "deuteranopia")


@pytest.mark.parametrize("vision", VISION)
def test_the_first_eight_colours_of_clusters_and_terms_differ(vision):
    assert smallest_difference(distinct(8), vision) >= CLEAR


@pytest.mark.parametrize("vision", VISION)
@pytest.mark.parametrize("theme", THEMES)
def test_the_lines_of_both_themes_differ(theme, vision):
    assert smallest_difference(THEMES[theme].lines, vision) >= CLEAR_LINES


@pytest.mark.parametrize("theme", THEMES)
def test_the_colours_are_visible_on_the_background_of_both_themes(theme):
    background = THEMES[theme].background
    assert contrast(distinct(8), background).min() >= 1.9
    assert contrast(THEMES[theme].lines, background).min() >= 3


def test_a_colour_does_not_depend_on_how_many_there_are():
    assert distinct(3) == distinct(40)[:3] == list(FIRST[:3])
    assert len(set(distinct(60))) == 60
