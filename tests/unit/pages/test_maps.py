"""The background of maps: land that ships with the program, and tiles only from an allowed server."""

import json
from importlib.resources import files

import numpy as np
import pytest

from benthoscope.app.commands.serve import is_tile_address
from benthoscope.app.server.access import origin


def rings():
    return [
        np.reshape(ring, (-1, 2))
        for ring in json.loads((files("benthoscope.assets") / "maps" / "land.json").read_text())
    ]


def on_land(longitude, latitude):
    """By counting edges to the east."""
    crossed = 0
    for ring in rings():
        (x1, y1), (x2, y2) = ring[:-1].T, ring[1:].T
        spans = (y1 > latitude) != (y2 > latitude)
        at = x1[spans] + (latitude - y1[spans]) / (y2[spans] - y1[spans]) * (x2[spans] - x1[spans])
        crossed += int((at > longitude).sum())
    return crossed % 2 == 1


@pytest.mark.parametrize("place", [(133.8, -23.7), (2.3, 48.8), (-100.0, 40.0), (25.0, 0.0), (146.6, -42.2)])
def test_the_middles_of_continents_are_land(place):
    assert on_land(*place)


@pytest.mark.parametrize("place", [(80.0, -30.0), (-30.0, 40.0), (-150.0, 10.0), (121.8, -14.0), (0.0, 0.0)])
def test_the_seas_are_not(place):
    assert not on_land(*place)


def test_every_ring_is_closed_and_on_the_earth():
    for ring in rings():
        assert (ring[0] == ring[-1]).all() and (np.abs(ring) <= [180, 90]).all()


@pytest.mark.parametrize("text", ["https://tiles.lab.org/{z}/{x}/{y}.png", "http://10.0.0.7:8080/sea/{z}/{y}/{x}.jpg"])
def test_an_address_of_tiles_is_taken_and_only_its_host_is_let_in(text):
    assert is_tile_address(text)
    assert origin(text) == text[: text.index("/", 8)]


@pytest.mark.parametrize(
    "text",
    [
        "https://tiles.lab.org",
        "tiles.lab.org/{z}/{x}/{y}.png",
        "file:///tiles/{z}/{x}/{y}.png",
        "javascript:{z}{x}{y}",
        "https://*/{z}/{x}/{y}.png",
        "https://a;script-src *//{z}/{x}/{y}",
        "https:///{z}/{x}/{y}.png",
    ],
)
def test_an_address_that_is_none_of_tiles_or_widens_the_policy_is_refused(text):
    assert not is_tile_address(text)
