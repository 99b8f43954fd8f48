"""The job that finds the images of a moved folder: by name and size, and renamed files by content."""

import hashlib
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benthoscope.engine.jobs.context import JobContext
from benthoscope.engine.problems import fail, unknown
from benthoscope.engine.workspace import Image, Root, Workspace

SAMPLE = 50  # images whose content is compared even if name and size match, to detect a folder with similar files
BLOCK = 1 << 20


@dataclass(frozen=True)
class ImageMatches:
    """Positions of images in the new folder: `same` by their old name, `renamed` under another name (id: relative
    path)."""

    same: frozenset[int]
    renamed: dict[int, str]
    missing: tuple[str, ...]


def relink(job: JobContext, workspace: Workspace, *, folder: str, root: int | None = None) -> dict[str, Any]:
    """Move a root to `folder`. Changes nothing if none of its images is found."""
    image_folder = folder_of_images(folder)
    moved = chosen_root(workspace, root)
    images = _images_under(workspace, moved)
    matches = find_again(job, images, image_folder)
    if images and not matches.same and not matches.renamed:
        raise fail(
            str(image_folder), f"contains none of the {len(images)} images of {moved.path}", "choose another folder"
        )
    workspace.library.move_root(moved.id, image_folder, matches.renamed)
    for name in matches.missing[:1000]:
        job.log(f"not found: {name}")
    return {
        "root": moved.id,
        "from": moved.path,
        "to": str(image_folder),
        "found": len(matches.same),
        "renamed": len(matches.renamed),
        "missing": len(matches.missing),
    }


def find_again(job: JobContext, images: list[Image], root: Path) -> ImageMatches:
    """Search for all images in the folder without changing anything."""
    job.progress(0, len(images), "searching files by name")
    same = frozenset(_by_name(job, images, root))
    lost = [image for image in images if image.id not in same]
    renamed = _by_content(job, lost, root, {image.path for image in images if image.id in same}) if lost else {}
    missing = tuple(image.path for image in lost if image.id not in renamed)
    return ImageMatches(same, renamed, missing)


def folder_of_images(folder: str) -> Path:
    """Return the folder as an absolute path; BadInput if it does not exist."""
    root = Path(folder).expanduser().resolve()
    if not root.is_dir():
        raise fail(str(root), "no such folder", "give the new folder of the images")
    return root


def chosen_root(workspace: Workspace, number: int | None) -> Root:
    """Return the requested root; without a number, the only one, or the only missing one."""
    roots = workspace.library.roots()
    if number is not None:
        for root in roots:
            if root.id == number:
                return root
        raise unknown("roots", str(number), [str(root.id) for root in roots])
    missing = [root for root in roots if not root.present] or roots
    if len(missing) != 1:
        listed = ", ".join(f"{root.id} ({root.path})" for root in missing) or "none"
        raise fail("root", f"several roots are possible: {listed}", "choose one with --root NUMBER")
    return missing[0]


def _images_under(workspace: Workspace, root: Root) -> list[Image]:
    columns = workspace.library.columns("id", "root_id")
    return workspace.library.images(columns["id"][columns["root_id"] == root.id])


def _by_name(job: JobContext, images: list[Image], root: Path) -> Iterator[int]:
    every = max(len(images) // SAMPLE, 1)
    for number, image in enumerate(images):
        if number % 500 == 0:
            job.progress(number, len(images), "searching files by name")
        path = root / image.path
        if _size(path) == image.size and (number % every or content_hash(path) == image.sha256):
            yield image.id


def _by_content(job: JobContext, lost: list[Image], root: Path, assigned: set[str]) -> dict[int, str]:
    """Return {id: relative path} of renamed images. Only files of the same size are read."""
    by_hash: dict[str, list[int]] = defaultdict(list)
    for image in lost:
        by_hash[image.sha256].append(image.id)
    sizes = {image.size for image in lost}
    matches: dict[int, str] = {}
    for number, path in enumerate(_files(root)):
        job.progress(number, None, f"searching {len(lost) - len(matches)} renamed files by content")
        relative = path.relative_to(root).as_posix()
        if relative in assigned or _size(path) not in sizes:
            continue
        owners = by_hash.get(content_hash(path))
        if owners:
            matches[owners.pop()] = relative
    return matches


def _files(root: Path) -> Iterable[Path]:
    return (Path(folder) / name for folder, _, names in os.walk(root) for name in sorted(names))


def _size(path: Path) -> int:
    try:
        return path.stat().st_size if path.is_file() else -1
    except OSError:
        return -1


def content_hash(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal; empty if it cannot be read, which matches nothing."""
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while block := file.read(BLOCK):
                digest.update(block)
    except OSError:
        return ""
    return digest.hexdigest()
