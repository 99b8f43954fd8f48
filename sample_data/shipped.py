"""The samples that are part of the program: small, complete, ready to import."""

from importlib.resources import files
from pathlib import Path


def campaign_path() -> Path:
    """Return the folder of a campaign of six dives."""
    return Path(str(files("benthoscope.sample_data") / "campaign"))


def albums_path() -> Path:
    """Return the folder of four photo albums."""
    return Path(str(files("benthoscope.sample_data") / "albums"))
