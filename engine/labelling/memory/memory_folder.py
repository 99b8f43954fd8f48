"""The folder with the memories of this user: their names, what is wrong with damaged ones, and their removal."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from benthoscope.engine.labelling.memory.memory_file import MemoryFacts, read_facts
from benthoscope.engine.problems import BadInput, fail, unknown
from benthoscope.engine.user_data import user_data

VARIABLE = "BENTHOSCOPE_MEMORIES"  # environment variable with another folder
SUFFIX = ".memory.zip"
NAME = re.compile(r"[^\W_][\w .+-]{0,99}")  # also a valid file name on all systems


def memory_folder(folder: Path | str | None = None) -> Path:
    """Return the folder of memories: the given one, that of the environment, or the one in the user's data."""
    return Path(folder or os.environ.get(VARIABLE) or user_data() / "memories").expanduser()


def memory_path(name: str, folder: Path | str | None = None) -> Path:
    """Return the file of a memory by its name."""
    if not NAME.fullmatch(name) or name != name.strip():
        raise fail("memory", f"'{name}' is not a usable name", "use letters, digits, spaces, dots and hyphens")
    return memory_folder(folder) / f"{name}{SUFFIX}"


@dataclass(frozen=True)
class MemoryEntry:
    """A memory in the folder. `facts` is None if the file is damaged; `problem` then says why."""

    name: str
    path: Path
    bytes: int
    facts: MemoryFacts | None
    problem: str = ""


def memories(folder: Path | str | None = None) -> list[MemoryEntry]:
    """Return all memories of the folder by name, damaged ones too."""
    try:
        paths = sorted(memory_folder(folder).glob(f"*{SUFFIX}"))
    except OSError:
        return []
    return [_entry(path) for path in paths if not path.name.startswith(".")]


def existing_memory(name: str, folder: Path | str | None = None) -> Path:
    """Return the file of a memory by its name. Raises BadInput if there is none."""
    path = memory_path(name, folder)
    if not path.is_file():
        raise unknown(f"memories in {memory_folder(folder)}", name, [entry.name for entry in memories(folder)])
    return path


def remove_memory(name: str, folder: Path | str | None = None) -> Path:
    """Delete the file of a memory. Campaigns that use it keep their copy until it is turned off there."""
    path = existing_memory(name, folder)
    try:
        path.unlink()
    except OSError as error:
        raise fail(str(path), f"cannot be deleted ({error.strerror or error})", "check the permissions") from error
    return path


def _entry(path: Path) -> MemoryEntry:
    name, size = path.name.removesuffix(SUFFIX), 0
    try:
        size = path.stat().st_size
        return MemoryEntry(name, path, size, read_facts(path))
    except (OSError, BadInput) as error:
        return MemoryEntry(name, path, size, None, str(error))
