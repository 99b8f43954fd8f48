"""What was learnt last, kept beside the workspace: suggestions for every image, and how far they can be trusted."""

import secrets
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from engine.labelling.acceptance import Curve, accuracy_coverage
from engine.labelling.calibration import Reliability, reliability
from engine.labelling.conformal import conformal_sets, conformal_threshold
from engine.labelling.learner import Learned
from engine.labelling.material import Material, Said
from engine.workspace.arrays import load_parts, save_parts
from engine.workspace.files import read_json, write_json
from engine.workspace.records import now

POINTER = "current.json"


@dataclass(frozen=True)
class Suggestions:
    """Probabilities (N, K) of the terms (K,) for images (N,). Held-out labels tell how good they are: where they are
    (n,), what a model that had not seen them said (n, K), the column of the true term (n,) and the weight of each."""

    image_ids: np.ndarray
    groups: np.ndarray
    clusters: np.ndarray
    familiarity: np.ndarray
    terms: np.ndarray
    probabilities: np.ndarray
    labelled: np.ndarray      # (N,) bool, when it was learnt
    held_places: np.ndarray
    held_probabilities: np.ndarray
    held_y: np.ndarray
    held_weight: np.ndarray
    facts: Mapping[str, Any]  # features, run, number of the last event, labels learnt from, accuracy, moment

    def best(self) -> tuple[np.ndarray, np.ndarray]:
        """(term id, probability) of the best guess for every image."""
        at = self.probabilities.argmax(1)
        return self.terms[at], self.probabilities[np.arange(len(at)), at]

    def held(self) -> tuple[np.ndarray, np.ndarray]:
        """(probability of the best guess of every held-out label, whether it was right)."""
        return self.held_probabilities.max(1), self.held_probabilities.argmax(1) == self.held_y

    def curve(self) -> Curve:
        return accuracy_coverage(*self.held(), self.held_weight)

    def reliability(self) -> Reliability:
        return reliability(*self.held(), self.held_weight)

    def conformal_threshold(self, error: float) -> float:
        of_truth = self.held_probabilities[np.arange(len(self.held_y)), self.held_y]
        return conformal_threshold(of_truth, error, self.held_weight)

    def sets(self, places: np.ndarray, error: float) -> np.ndarray:
        """(n, K) bool: for images by place the terms among which the true one is, but for a share `error`."""
        return conformal_sets(np.asarray(self.probabilities[places]), self.conformal_threshold(error))

    def unseen_probabilities(self) -> np.ndarray:
        """(N, K): for labelled images what the model would say had it not seen their label."""
        P = np.array(self.probabilities)
        P[self.held_places] = self.held_probabilities
        return P


class SuggestionStore:
    """One set of suggestions at a time; readers keep what they have open while a newer one takes its place."""

    def __init__(self, folder: Path):
        self._folder = folder / "learning"
        self._folder.mkdir(exist_ok=True)

    def put(self, found: Suggestions) -> None:
        name, old = secrets.token_hex(6), self._name()
        save_parts(self._folder / name, {**vars(found), "facts": dict(found.facts)})
        write_json(self._folder / POINTER, name)
        if old:
            shutil.rmtree(self._folder / old, ignore_errors=True)

    def get(self) -> Suggestions | None:
        """What was learnt last, None before anything was."""
        name = self._name()
        try:
            return Suggestions(**load_parts(self._folder / name)) if name else None
        except FileNotFoundError:  # another process put a newer one in its place meanwhile
            return self.get() if self._name() != name else None

    def history(self) -> list[dict[str, Any]]:
        """The facts of every time something was learnt, oldest first: the learning curve of this campaign."""
        path = self._folder / "history.json"
        return read_json(path) if path.exists() else []

    def note(self, facts: Mapping[str, Any]) -> None:
        write_json(self._folder / "history.json", [*self.history(), dict(facts)])

    def _name(self) -> str | None:
        path = self._folder / POINTER
        return read_json(path) if path.exists() else None


def suggested(found: Material, learned: Learned, labels: Said, last_event: int) -> Suggestions:
    """What a learned model says of all images of its material."""
    P = learned.probabilities(found.data.rows).astype(np.float32)
    for places, term in labels.refused:
        P[np.ix_(places, learned.terms == term)] = 0.0
    held = learned.held_out
    labelled = np.zeros(len(P), bool)
    labelled[labels.places] = True
    facts = {"features": found.features, "run": found.run_id, "last_event": last_event, "labels": len(labels.places),
             "acts": len(np.unique(labels.acts)), "terms": len(learned.terms), "accuracy": learned.accuracy(),
             "calibration_error": learned.reliability().error, "at": now()}
    return Suggestions(found.image_ids, found.groups, found.data.clusters, found.data.familiarity(), learned.terms, P,
                       labelled, held.places, held.probabilities(learned.temperature), held.y, held.weights, facts)
