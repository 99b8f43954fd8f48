"""Reading images: safe decoding, metadata without decoding, thumbnails. Handles files and pixels, not workspaces."""

from benthoscope.engine.imaging.decode import MAX_PIXELS, SUFFIXES, decode, read_image
from benthoscope.engine.imaging.errors import BadImage, is_foreign, readable, unreadable
from benthoscope.engine.imaging.files import check_regular, read_bytes
from benthoscope.engine.imaging.intake import Intake, take_in, thumbnails
from benthoscope.engine.imaging.metadata import ImageFacts, facts_of, probe

__all__ = [
    "MAX_PIXELS",
    "SUFFIXES",
    "BadImage",
    "ImageFacts",
    "Intake",
    "check_regular",
    "decode",
    "facts_of",
    "is_foreign",
    "probe",
    "read_bytes",
    "read_image",
    "readable",
    "take_in",
    "thumbnails",
    "unreadable",
]
