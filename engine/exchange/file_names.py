"""Names for exported files out of names people gave: no folders, no surprises on any system, each used once."""

import hashlib
import re
from collections.abc import Iterable

LONGEST = 100
RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\.|$)", re.IGNORECASE)


def file_name(*words: str) -> str:
    """The words joined by underscores; a hash tells apart what had to be changed beyond blanks."""
    wanted = "_".join(words)
    safe = re.sub(r"[^\w.-]+", "_", wanted.replace(" ", "_")).strip("._")
    if safe and safe == wanted.replace(" ", "_") and len(safe) <= LONGEST and not RESERVED.match(safe):
        return safe
    mark = hashlib.sha256(wanted.encode("utf-8", "backslashreplace")).hexdigest()[:8]
    return f"{safe[:LONGEST].replace('.', '_') or 'export'}_{mark}"


def unlike(names: Iterable[str]) -> list[str]:
    """The names, those that differ from an earlier one by nothing but case with a number behind."""
    seen: set[str] = set()
    found = []
    for name in names:
        tried, number = name, 2
        while tried.lower() in seen:
            tried, number = f"{name}_{number}", number + 1
        seen.add(tried.lower())
        found.append(tried)
    return found
