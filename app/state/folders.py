"""Folders of the machine the server runs on, for choosing where images lie."""

import os
from dataclasses import dataclass
from pathlib import Path

from engine.imaging import SUFFIXES, is_foreign
from engine.problems import fail

LOOKED_AT = 5_000  # entries of one folder; a folder of a million images must not hold up its listing


@dataclass(frozen=True)
class Listing:
    """What a folder holds; `images` counts those directly in it, `more` says that not everything was looked at."""

    path: str
    parents: tuple[tuple[str, str], ...]  # (name, path), from the top down to the folder itself
    folders: tuple[tuple[str, str], ...]  # (name, path), by name
    images: int
    more: bool


def listing(path: str | Path) -> Listing:
    place = Path(path).expanduser().absolute()
    folders, images, looked = [], 0, 0
    try:
        with os.scandir(place) as entries:
            for looked, entry in enumerate(entries, 1):
                if looked > LOOKED_AT:
                    break
                if entry.name.startswith(".") or is_foreign(entry.name):
                    continue
                if _is_folder(entry):
                    folders.append((entry.name, str(place / entry.name)))
                else:
                    images += Path(entry.name).suffix.lower() in SUFFIXES
    except OSError as error:
        raise fail(str(place), f"cannot be looked into ({error.strerror})", "choose another folder") from error
    folders.sort(key=lambda pair: pair[0].lower())
    return Listing(str(place), tuple(_parents(place)), tuple(folders), images, looked > LOOKED_AT)


def places(known: list[str]) -> list[tuple[str, str]]:
    """Where people begin to look: (name, path) of their home, of disks and of folders imported from before."""
    media = [Path("/media"), Path("/mnt"), Path("/Volumes"), Path("/run/media")]
    found = [("Home", Path.home()), *((path.name, path) for path in media), *((Path(p).name, Path(p)) for p in known)]
    return [(name, str(path)) for name, path in found if path.is_dir()]


def _parents(place: Path) -> list[tuple[str, str]]:
    return [(path.name or path.anchor, str(path)) for path in (*reversed(place.parents), place)]


def _is_folder(entry: os.DirEntry) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False
