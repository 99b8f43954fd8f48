"""The stored suggestions of a workspace: for each image the probabilities of all terms, and how reliable they are.

Also: suggestions as a table, and the age of a model, which decides whether its suggestions may still be accepted.
"""

import contextlib
import secrets
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benthoscope.engine.exchange.parsing.csv_output import csv_text
from benthoscope.engine.labelling.calibration import conformal_sets, conformal_threshold
from benthoscope.engine.labelling.classifier import Learned
from benthoscope.engine.labelling.measured_accuracy import Measured, conformal_size
from benthoscope.engine.labelling.training_data import LabelsOfRows, LearningData
from benthoscope.engine.problems import BadInput, Problem
from benthoscope.engine.workspace.labels.events import Event, standing, undone_numbers
from benthoscope.engine.workspace.labels.log import LabelLog
from benthoscope.engine.workspace.records import current_time
from benthoscope.engine.workspace.storage.files import load_parts, problem_of_parts, read_json, save_parts, write_json

POINTER = "current.json"


@dataclass(frozen=True)
class Suggestions:
    """Probabilities (N, K) of the terms (K,) for images (N,).

    For held-out labels: their rows (n,), the probabilities by a model that had not seen them (n, K), the column of the
    true term (n,), how many images each represents, and which ones answer a random draw. Only draws may be used to
    report the quality of suggestions.
    """

    image_ids: np.ndarray
    groups: np.ndarray
    clusters: np.ndarray
    familiarity: np.ndarray
    terms: np.ndarray
    probabilities: np.ndarray
    labelled: np.ndarray  # (N,) bool, when the model was trained
    held_places: np.ndarray
    held_probabilities: np.ndarray
    held_y: np.ndarray
    held_weight: np.ndarray
    facts: Mapping[str, Any]  # features, run, number of the last event, number of labels, accuracy, time
    held_drawn: np.ndarray | None = None  # None if a former version stored the suggestions

    def without(self, image_ids: np.ndarray) -> "Suggestions":
        """Return the suggestions without these images."""
        keep = ~np.isin(self.image_ids, image_ids)
        if keep.all():
            return self
        new_row = np.cumsum(keep) - 1
        held_out = keep[self.held_places]
        every = {
            name: getattr(self, name)[keep]
            for name in ("image_ids", "groups", "clusters", "familiarity", "probabilities", "labelled")
        }
        some = {name: getattr(self, name)[held_out] for name in ("held_probabilities", "held_y", "held_weight")}
        if self.held_drawn is not None:
            some["held_drawn"] = self.held_drawn[held_out]
        return replace(self, **every, **some, held_places=new_row[self.held_places[held_out]])

    def best(self) -> tuple[np.ndarray, np.ndarray]:
        """Return (term id, probability) of the best guess for each image."""
        at = self.probabilities.argmax(1)
        return self.terms[at], self.probabilities[np.arange(len(at)), at]

    def conformal_threshold(self, error: float) -> float | None:
        """Return the smallest probability of a term in a set that misses the true term in at most the fraction `error`
        of cases; None before enough random draws were answered."""
        is_drawn = np.zeros(len(self.held_y), bool) if self.held_drawn is None else np.asarray(self.held_drawn)
        rows = np.flatnonzero(is_drawn)
        threshold = conformal_threshold(np.asarray(self.held_probabilities)[rows, np.asarray(self.held_y)[rows]], error)
        return threshold if len(rows) >= conformal_size(error) else None

    def draws_for_sets(self) -> int:
        """Return the number of random draws behind the prediction sets."""
        return 0 if self.held_drawn is None else int(np.sum(self.held_drawn))

    def sets(self, rows: np.ndarray, error: float) -> np.ndarray | None:
        """Return prediction sets (n, K) bool for images by position, which miss the true term in at most the fraction
        `error` of cases; None before enough random draws were answered."""
        threshold = self.conformal_threshold(error)
        return None if threshold is None else conformal_sets(self.unseen_rows(rows), threshold)

    def unseen_rows(self, rows: np.ndarray) -> np.ndarray:
        """Return probabilities (n, K) of images by position; labelled ones by models that did not see their label."""
        P = np.array(self.probabilities[rows])
        order = np.argsort(self.held_places)
        at = np.searchsorted(self.held_places, rows, sorter=order)
        held_out = at < len(order)
        held_out[held_out] = np.asarray(self.held_places)[order[at[held_out]]] == rows[held_out]
        P[held_out] = np.asarray(self.held_probabilities)[order[at[held_out]]]
        return P

    def unseen_probabilities(self) -> np.ndarray:
        """Return probabilities (N, K) in which labelled images have predictions of models that did not see
        their label."""
        P = np.array(self.probabilities)
        P[self.held_places] = self.held_probabilities
        return P


class SuggestionStore:
    """Stores one set of suggestions at a time. Readers keep an open one while a newer one replaces it."""

    def __init__(self, folder: Path):
        self._folder = folder / "learning"
        with contextlib.suppress(OSError):  # a workspace without write permission can still be viewed
            self._folder.mkdir(exist_ok=True)

    def put(self, suggestions: Suggestions) -> None:
        name, old = secrets.token_hex(6), self._name()
        save_parts(self._folder / name, {**vars(suggestions), "facts": dict(suggestions.facts)})
        write_json(self._folder / POINTER, name)
        if old:
            shutil.rmtree(self._folder / old, ignore_errors=True)

    def get(self) -> Suggestions | None:
        """Return the stored suggestions; None before the first training or if they are damaged, which triggers a new
        training."""
        name = self._name()
        try:
            return Suggestions(**load_parts(self._folder / name)) if name else None
        except FileNotFoundError:  # another process replaced it by a newer one in the meantime
            return self.get() if self._name() != name else None
        except (BadInput, TypeError):
            return None

    def remove(self) -> None:
        """Delete the suggestions, as if no model had been trained."""
        name = self._name()
        (self._folder / POINTER).unlink(missing_ok=True)
        if name:
            shutil.rmtree(self._folder / name, ignore_errors=True)

    def problem(self) -> Problem | None:
        """Return the problem with the stored suggestions, if any."""
        path = self._folder / POINTER
        if not path.exists():
            return None
        name = self._name()
        remedy = "train again: benthoscope learn"
        if name is None:
            return Problem(str(path), "is damaged", remedy)
        problem = problem_of_parts(self._folder / name, read=True)
        return problem and Problem(problem.where, problem.what, remedy)

    def history(self) -> list[dict[str, Any]]:
        """Return the facts of all training rounds, oldest first: the learning curve of this workspace."""
        path = self._folder / "history.json"
        with contextlib.suppress(ValueError):
            return read_json(path) if path.exists() else []
        return []

    def note(self, facts: Mapping[str, Any]) -> None:
        write_json(self._folder / "history.json", [*self.history(), dict(facts)])

    def _name(self) -> str | None:
        path = self._folder / POINTER
        try:
            name = read_json(path) if path.exists() else None
        except ValueError:
            return None
        return name if isinstance(name, str) else None


def suggested(
    material: LearningData, learned: Learned, labels: LabelsOfRows, last_event: int, measured: Measured
) -> Suggestions:
    """Return the suggestions of a trained model for all images of its data, with the accuracy measured on
    random draws."""
    P = learned.probabilities(material.data.rows).astype(np.float32)
    for rows, term in labels.refused:
        P[np.ix_(rows, learned.terms == term)] = 0.0
    held_out = learned.held_out
    labelled = np.zeros(len(P), bool)
    labelled[labels.rows] = True
    facts = {
        "features": material.features,
        "run": material.run_id,
        "last_event": last_event,
        "labels": len(labels.rows),
        "acts": len(np.unique(labels.event_of_row)),
        "terms": len(learned.terms),
        "accuracy": measured.accuracy,
        "at_least": measured.at_least,
        "calibration_error": measured.calibration_error,
        "draws": measured.answered,
        "missing": measured.missing,
        "split": held_out.kind,
        "at": current_time(),
    }
    return Suggestions(
        material.image_ids,
        material.groups,
        material.data.clusters,
        material.data.familiarity(),
        learned.terms,
        P,
        labelled,
        held_out.rows,
        held_out.probabilities(learned.temperature),
        held_out.y,
        held_out.weights,
        facts,
        held_out.is_drawn,
    )


HEADER = ("path", "term", "confidence", "possible", "terms")


def as_csv(
    suggestions: Suggestions,
    positions: np.ndarray,
    sets: np.ndarray | None,
    paths: Mapping[int, Path],
    names: Mapping[int, str],
) -> str:
    """Return CSV with one row per image by position. `possible` counts the terms in its set (n, K) bool, and `terms`
    lists them, most likely first, separated by |. Both are empty if sets are not available."""
    best, sure = suggestions.best()
    order = np.argsort(-np.asarray(suggestions.probabilities[positions]), axis=1, kind="stable")
    rows = []
    for row, position in enumerate(positions.tolist()):
        possible = [] if sets is None else [names[int(suggestions.terms[at])] for at in order[row] if sets[row, at]]
        rows.append(
            (
                paths[int(suggestions.image_ids[position])],
                names[int(best[position])],
                f"{sure[position]:.4f}",
                len(possible) or "",
                "|".join(possible),
            )
        )
    return csv_text(HEADER, rows)


BEHIND = 150  # missing labels: a page or two, accepted while the model was being trained
BEHIND_SHARE = 0.05  # the same as a fraction of the training labels


@dataclass(frozen=True)
class ModelAge:
    """`learned` of `labels` labels are in the model; `changed` labels were added or removed since, `new_terms` of them
    with terms unknown to the model."""

    learned: int
    labels: int
    changed: int
    new_terms: int

    @property
    def current(self) -> bool:
        return self.changed == 0

    @property
    def stale(self) -> bool:
        """Return whether too much has changed for its suggestions to be accepted."""
        return self.new_terms > 0 or self.changed > max(BEHIND, BEHIND_SHARE * self.learned)

    def __str__(self) -> str:
        known = max(min(self.learned, self.labels - self.changed), 0)
        if known == self.labels:
            return f"trained on all {self.labels:,} labels"
        return f"trained on {known:,} of {self.labels:,} labels"


def model_age(suggestions: Suggestions, log: LabelLog) -> ModelAge:
    """Return the age of stored suggestions, compared with the label log."""
    since, history = int(suggestions.facts["last_event"]), log.events()
    later = [event for event in standing(history) if event.number > since]
    taken_away = sum(event.count for event in later if event.kind in ("clear", "revert"))
    numbers = log.current()[1]
    changed = int((numbers > since).sum()) + taken_away + _turned(history, since)
    unknown = {event.term_id for event in later if event.kind == "label"} - set(np.asarray(suggestions.terms).tolist())
    return ModelAge(int(suggestions.facts["labels"]), len(numbers), changed, len(unknown))


def _turned(history: Sequence[Event], since: int) -> int:
    """Return the number of images in older events that were undone or redone since."""
    before, current = undone_numbers([event for event in history if event.number <= since]), undone_numbers(history)
    return sum(
        event.count
        for event in history
        if event.number <= since
        and event.kind in ("label", "clear", "revert")
        and (event.number in before) != (event.number in current)
    )
