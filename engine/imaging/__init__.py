"""Images in: safe decoding, facts without decoding, thumbnails. Knows files and pixels, not the workspace."""

from engine.imaging.decode import MAX_PIXELS, decode, read_image
from engine.imaging.facts import ImageFacts, facts_of, probe
from engine.imaging.files import check_regular, read_bytes
from engine.imaging.formats import SUFFIXES
from engine.imaging.intake import Intake, take_in
from engine.imaging.refusals import BadImage, is_foreign, readable, unreadable
from engine.imaging.shrink import thumbnails

__all__ = [
    "MAX_PIXELS", "SUFFIXES", "BadImage", "ImageFacts", "Intake", "check_regular", "decode", "facts_of", "is_foreign",
    "probe", "read_bytes", "read_image", "readable", "take_in", "thumbnails", "unreadable",
]
