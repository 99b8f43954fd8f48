"""A class with its ancestors as one text, such as "Biota > Sponges", the usual form in most programs."""

import re
from collections.abc import Sequence

BETWEEN = " > "


def joined(path: Sequence[str]) -> str:
    """Join the names of a path to one text. A > inside a name that would separate it is escaped by a backslash."""
    return BETWEEN.join(map(_marked, path))


def parted(text: str) -> tuple[str, ...]:
    """Split a text into the names of its path. Also reads texts from other programs."""
    return tuple(re.sub(r"\\([\\>])", r"\1", name) for name in text.split(BETWEEN))


def _marked(name: str) -> str:
    if "\\" in name or BETWEEN.strip() in name.split(" "):
        return name.replace("\\", "\\\\").replace(">", "\\>")
    return name
