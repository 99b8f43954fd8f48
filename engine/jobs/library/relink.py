"""Finds the images of a root again after their folder moved: by name and size, and what was renamed by content."""

import hashlib
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.jobs.context import JobContext
from engine.problems import fail, unknown
from engine.workspace import Image, Root, Workspace

SAMPLE = 50  # images whose content is compared although name and size agree: a folder of look-alikes shows at once
BLOCK = 1 << 20


@dataclass(frozen=True)
class Found:
    """Where images are in the new folder: `same` by their old name, `renamed` under another (id: relative path)."""

    same: frozenset[int]
    renamed: dict[int, str]
    missing: tuple[str, ...]


def relink(job: JobContext, workspace: Workspace, *, folder: str, root: int | None = None) -> dict[str, Any]:
    """Moves a root to `folder`. Changes nothing where not one of its images is there."""
    place = Path(folder).expanduser().resolve()
    if not place.is_dir():
        raise fail(str(place), "no such folder", "give the folder the images are in now")
    moved = _chosen(workspace, root)
    images = _images_under(workspace, moved)
    found = find_again(job, images, place)
    if images and not found.same and not found.renamed:
        raise fail(str(place), f"holds none of the {len(images)} images of {moved.path}", "give another folder")
    workspace.library.move_root(moved.id, place, found.renamed)
    for name in found.missing[:1000]:
        job.log(f"not found: {name}")
    return {"root": moved.id, "from": moved.path, "to": str(place), "found": len(found.same),
            "renamed": len(found.renamed), "missing": len(found.missing)}


def find_again(job: JobContext, images: list[Image], place: Path) -> Found:
    """Looks for every image in the folder without changing anything."""
    job.progress(0, len(images), "looks for the files by name")
    same = frozenset(_by_name(job, images, place))
    lost = [image for image in images if image.id not in same]
    renamed = _by_content(job, lost, place, {image.path for image in images if image.id in same}) if lost else {}
    missing = tuple(image.path for image in lost if image.id not in renamed)
    return Found(same, renamed, missing)


def _chosen(workspace: Workspace, number: int | None) -> Root:
    """The root meant; without a number the only one there is, or the only one that is missing."""
    roots = workspace.library.roots()
    if number is not None:
        for root in roots:
            if root.id == number:
                return root
        raise unknown("roots", str(number), [str(root.id) for root in roots])
    missing = [root for root in roots if not root.present] or roots
    if len(missing) != 1:
        listed = ", ".join(f"{root.id} ({root.path})" for root in missing) or "none"
        raise fail("root", f"cannot be guessed among: {listed}", "say which with --root NUMBER")
    return missing[0]


def _images_under(workspace: Workspace, root: Root) -> list[Image]:
    columns = workspace.library.columns("id", "root_id")
    return workspace.library.images(columns["id"][columns["root_id"] == root.id])


def _by_name(job: JobContext, images: list[Image], place: Path) -> Iterator[int]:
    every = max(len(images) // SAMPLE, 1)
    for number, image in enumerate(images):
        if number % 500 == 0:
            job.progress(number, len(images), "looks for the files by name")
        path = place / image.path
        if _size(path) == image.size and (number % every or content_hash(path) == image.sha256):
            yield image.id


def _by_content(job: JobContext, lost: list[Image], place: Path, taken: set[str]) -> dict[int, str]:
    """{id: relative path} of images that lie under another name; files of another size need not be read."""
    wanted: dict[str, list[int]] = defaultdict(list)
    for image in lost:
        wanted[image.sha256].append(image.id)
    sizes = {image.size for image in lost}
    found = {}
    for number, path in enumerate(_files(place)):
        job.progress(number, None, f"looks for {len(lost) - len(found)} renamed files by content")
        relative = path.relative_to(place).as_posix()
        if relative in taken or _size(path) not in sizes:
            continue
        owners = wanted.get(content_hash(path))
        if owners:
            found[owners.pop()] = relative
    return found


def _files(place: Path) -> Iterable[Path]:
    return (Path(folder) / name for folder, _, names in os.walk(place) for name in sorted(names))


def _size(path: Path) -> int:
    try:
        return path.stat().st_size if path.is_file() else -1
    except OSError:
        return -1


def content_hash(path: Path) -> str:
    """SHA-256 of a file in hexadecimal; empty where it cannot be read, which equals nothing."""
    found = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while block := file.read(BLOCK):
                found.update(block)
    except OSError:
        return ""
    return found.hexdigest()
