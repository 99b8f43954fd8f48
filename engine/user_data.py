"""The folder for files of this user that no program can make again."""

import os
import sys
from pathlib import Path


def user_data() -> Path:
    """Return the data folder of this user on this system."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "benthoscope"
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "benthoscope"
