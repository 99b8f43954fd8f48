"""The folder for files that can be made again at any time."""

import os
import sys
from pathlib import Path


def user_cache() -> Path:
    """Return the cache folder of this user on this system."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "benthoscope"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "benthoscope"
