"""Images in: safe decoding, facts without decoding, thumbnails. Knows files and pixels, not the workspace."""

from engine.imaging.decode import MAX_PIXELS, decode, read_image
from engine.imaging.facts import ImageFacts, facts_of, probe
from engine.imaging.files import read_bytes
from engine.imaging.formats import SUFFIXES
from engine.imaging.refusals import BadImage, is_foreign, readable
from engine.imaging.shrink import thumbnails

__all__ = [
    "MAX_PIXELS", "SUFFIXES", "BadImage", "ImageFacts", "decode", "facts_of", "is_foreign", "probe", "read_bytes",
    "read_image", "readable", "thumbnails",
]
