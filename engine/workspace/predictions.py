"""Stored predictions of columns: a number with its uncertainty for each image, and how good it is.

    predictions/index.json        {number: folder}; changed atomically
    predictions/3.1f3a/           the arrays and facts of one prediction

A prediction of the same column for the same images replaces the earlier one and keeps its number.
"""

import contextlib
import secrets
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benthoscope.engine.problems import BadInput, Problem, fail
from benthoscope.engine.workspace.storage.files import (
    load_parts,
    locked,
    problem_of_parts,
    read_json,
    save_parts,
    write_json,
)

INDEX = "index.json"
REMEDY = "predict again: benthoscope predict COLUMN"


@dataclass(frozen=True)
class PredictedColumn:
    """Predictions for the images `image_ids` (N,). `values` are the measurements they were learned from, NaN where
    unknown. `facts` has column, title, unit, features, scope, quality, quality of each dive, and the parameters."""

    image_ids: np.ndarray
    values: np.ndarray
    mean: np.ndarray
    std: np.ndarray
    low: np.ndarray
    high: np.ndarray
    block: np.ndarray
    facts: Mapping[str, Any]
    id: int = 0  # set by the store

    @property
    def title(self) -> str:
        return str(self.facts["title"])

    @property
    def key(self) -> tuple[Any, ...]:
        """The column and the images; a newer prediction with the same key replaces this one."""
        return tuple(self.facts.get(name) for name in ("column", "collection", "dive"))


class PredictionStore:
    def __init__(self, folder: Path):
        self._folder = folder / "predictions"

    def put(self, prediction: PredictedColumn) -> PredictedColumn:
        """Store a prediction and return it with its number."""
        self._folder.mkdir(exist_ok=True)
        with locked(self._folder / "lock"):
            index = self._index()
            earlier = [each.id for each in self.all() if each.key == prediction.key]
            number = earlier[0] if earlier else max(map(int, index), default=0) + 1
            name = f"{number}.{secrets.token_hex(4)}"
            save_parts(self._folder / name, _stored_values(prediction))
            old = index.get(str(number))
            write_json(self._folder / INDEX, {**index, str(number): name})
        self._delete(old)
        return replace(prediction, id=number)

    def all(self) -> list[PredictedColumn]:
        """Return all readable predictions, by number."""
        predictions = []
        for number in self.numbers():
            with contextlib.suppress(BadInput):
                predictions.append(self.get(number))
        return predictions

    def numbers(self) -> list[int]:
        """Return the numbers of all predictions, ascending."""
        return sorted(map(int, self._index()))

    def get(self, number: int) -> PredictedColumn:
        name = self._index().get(str(number))
        if name is None:
            raise fail("predictions", f"there is no prediction {number}", "list them with `benthoscope predict`")
        try:
            return PredictedColumn(**load_parts(self._folder / name), id=number)
        except FileNotFoundError:  # another process replaced it in the meantime
            if self._index().get(str(number)) != name:
                return self.get(number)
            raise
        except TypeError as error:
            raise fail(str(self._folder / name), f"is damaged ({error})", REMEDY) from error

    def remove(self, number: int) -> None:
        with locked(self._folder / "lock"):
            index = self._index()
            name = index.pop(str(self.get(number).id))
            write_json(self._folder / INDEX, index)
        self._delete(name)

    def problems(self) -> list[Problem]:
        """Return the problems of stored predictions."""
        problems = (problem_of_parts(self._folder / name, read=True) for name in self._index().values())
        return [Problem(problem.where, problem.what, REMEDY) for problem in problems if problem]

    def _index(self) -> dict[str, str]:
        path = self._folder / INDEX
        with contextlib.suppress(ValueError):
            return read_json(path) if path.exists() else {}
        return {}

    def _delete(self, name: str | None) -> None:
        if name:
            shutil.rmtree(self._folder / name, ignore_errors=True)


def _stored_values(prediction: PredictedColumn) -> dict[str, Any]:
    values = {**vars(prediction), "facts": dict(prediction.facts)}
    del values["id"]
    return values
