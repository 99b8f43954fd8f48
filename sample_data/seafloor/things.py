"""The object classes in masks and point labels."""

from enum import IntEnum


class Thing(IntEnum):
    """The number is the value in a mask; 0 means unidentified."""

    UNKNOWN = 0
    SAND = 1
    MUD = 2
    SHELL = 3
    COBBLE = 4
    ROCK = 5
    MATRIX = 6
    KELP = 7
    RED_ALGAE = 8
    BROWN_ALGAE = 9
    SEAGRASS = 10
    SPONGE = 11
    CORAL = 12
    RHODOLITH = 13
    BRYOZOAN = 14
    ASCIDIAN = 15
    ECHINODERM = 16
    FISH = 17

    @property
    def label(self) -> str:
        """Return the name used in a point count."""
        return LABELS[self]


LABELS = {
    Thing.UNKNOWN: "unknown",
    Thing.SAND: "sand",
    Thing.MUD: "mud",
    Thing.SHELL: "screw shell",
    Thing.COBBLE: "cobble",
    Thing.ROCK: "bare rock",
    Thing.MATRIX: "biological matrix",
    Thing.KELP: "kelp",
    Thing.RED_ALGAE: "red macroalgae",
    Thing.BROWN_ALGAE: "brown macroalgae",
    Thing.SEAGRASS: "seagrass",
    Thing.SPONGE: "sponge",
    Thing.CORAL: "coral",
    Thing.RHODOLITH: "rhodolith",
    Thing.BRYOZOAN: "bryozoan",
    Thing.ASCIDIAN: "ascidian",
    Thing.ECHINODERM: "echinoderm",
    Thing.FISH: "fish",
}
