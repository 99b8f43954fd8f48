"""The samples that come with the program: small, complete, ready to be imported."""

from importlib.resources import files
from pathlib import Path


def campaign_path() -> Path:
    """The folder of a campaign of six dives."""
    return Path(str(files("sample_data") / "campaign"))


def albums_path() -> Path:
    """The folder of four photo albums."""
    return Path(str(files("sample_data") / "albums"))
