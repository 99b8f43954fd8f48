"""Which folder level is the dive or album."""

import re
from collections.abc import Iterable, Sequence

DIVE = re.compile(r"r\d{8}_\d{6}_", re.ASCII)  # how IMOS and ACFR name the folder of a dive
MEANINGLESS = frozenset({
    "images", "image", "img", "imgs", "photos", "photo", "pictures", "jpg", "jpeg", "png", "tif", "tiff", "raw", "full",
    "left", "right", "dcim", "100gopro", "100media", "stills", "originals", "data", "frames"})


def guessed_level(paths: Iterable[str]) -> int:
    """How many folders down the groups are: 0 means that all images are one group.

    A folder named like an AUV dive decides; else the folder that holds the images, or the one above it as long as its
    name says nothing ("images") or is the same everywhere.
    """
    folders = sorted({tuple(path.split("/")[:-1]) for path in paths})
    dives = {at + 1 for folder in folders for at, name in enumerate(folder) if DIVE.match(name)}
    if dives:
        return min(dives)
    level = max(map(len, folders), default=0)
    while level > 1 and not _telling(folders, level):
        level -= 1
    return level


def group_of(path: str, level: int, root_name: str) -> str:
    """The group's name: the folders down to the level; of images above it, the folder they are in."""
    return "/".join(path.split("/")[:-1][:level]) or root_name


def _telling(folders: Sequence[tuple[str, ...]], level: int) -> bool:
    """Whether going down to this level parts the images further, by names that mean something."""
    names = {folder[:level] for folder in folders}
    above = {folder[:level - 1] for folder in folders}
    last = [name[-1].lower() for name in names if len(name) == level]
    if all(name in MEANINGLESS for name in last):
        return False
    return len(names) > len(above) or len(above) == 1
