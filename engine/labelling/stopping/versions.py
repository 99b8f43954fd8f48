"""Frozen label versions: the label of every image at one moment, which the final check then tests.

The model and the labels go on changing while a version is checked. The claim is about the version.
"""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benthoscope.engine.problems import fail
from benthoscope.engine.workspace.storage.files import load_parts, save_parts

FOLDER = "label_versions"


@dataclass(frozen=True)
class LabelVersion:
    """Sorted image ids (N,) with the delivered term, whether somebody looked at the image, and the forecast probability
    that the term is wrong. Images that somebody looked at have a forecast of 0. `facts` hold the number of the version,
    the person, the time, the last label event, the target, the allowed number of wrong labels and the error
    probability."""

    image_ids: np.ndarray
    terms: np.ndarray
    looked: np.ndarray
    labelled: np.ndarray
    forecast: np.ndarray
    facts: Mapping[str, Any]

    @property
    def number(self) -> int:
        return int(self.facts["number"])

    @property
    def unseen(self) -> np.ndarray:
        """Sorted ids of the images that nobody has looked at."""
        return np.asarray(self.image_ids)[~np.asarray(self.looked)]

    def terms_of(self, images: Sequence[int] | np.ndarray) -> np.ndarray:
        """Return the delivered terms of images of the version."""
        return np.asarray(self.terms)[np.searchsorted(self.image_ids, images)]


class VersionStore:
    """Stores versions in numbered folders. A version is never changed."""

    def __init__(self, workspace_folder: Path):
        self._folder = workspace_folder / FOLDER

    def numbers(self) -> list[int]:
        """Return the numbers of the complete versions, oldest first."""
        if not self._folder.is_dir():
            return []
        return sorted(
            int(path.parent.name) for path in self._folder.glob("*/parts.json") if path.parent.name.isdecimal()
        )

    def add(self, version: LabelVersion) -> LabelVersion:
        """Store a version under the next number and return it with that number."""
        number = max(self.numbers(), default=0) + 1
        folder = self._folder / str(number)
        shutil.rmtree(folder, ignore_errors=True)  # an incomplete one, left by a process that was killed
        facts = {**version.facts, "number": number}
        save_parts(folder, {**vars(version), "facts": facts})
        return self.get(number)

    def get(self, number: int) -> LabelVersion:
        if number not in self.numbers():
            raise fail("label versions", f"there is no version {number}", "start a final check")
        return LabelVersion(**load_parts(self._folder / str(number)))

    def latest(self) -> LabelVersion | None:
        numbers = self.numbers()
        return self.get(numbers[-1]) if numbers else None
