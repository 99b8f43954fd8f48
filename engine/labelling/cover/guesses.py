"""Guesses that define the strata of cover: a model's suggestion for each image, made without its answer.

The answers to random draws train the model like other labels. The guess for a drawn image therefore comes from one of
ten models that were trained without a tenth of the draws. The guess for any other image comes from a model of all
labels.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benthoscope.engine.discriminative.coefficients import Coefficients
from benthoscope.engine.discriminative.objective import InformationObjective, WeightedExamples
from benthoscope.engine.discriminative.optimisation import Precision, climb
from benthoscope.engine.labelling.classifier import ENOUGH
from benthoscope.engine.labelling.cover.estimate import FEW
from benthoscope.engine.labelling.training_data import LearningData, labelled_rows
from benthoscope.engine.workspace import Workspace
from benthoscope.engine.workspace.storage.files import replacing

FOLDS = 10
PENALTY = 0.03
STEPS = 60
FILE = "cover_guesses.npz"  # in the folder `learning` of the workspace


@dataclass(frozen=True)
class Guesses:
    """The suggested term (N,) of each image and its probability. `facts` describe the training labels."""

    image_ids: np.ndarray
    terms: np.ndarray
    probabilities: np.ndarray
    facts: dict

    def of(self, ids: np.ndarray) -> np.ndarray:
        """Return the guesses of these images (n,), 0 for images without features."""
        rows = self._rows(ids)
        return np.where(rows >= 0, self.terms[rows], 0)

    def probabilities_of(self, ids: np.ndarray) -> np.ndarray:
        """Return the model's confidence in the guesses of these images (n,)."""
        rows = self._rows(ids)
        return np.where(rows >= 0, self.probabilities[rows], 0.0)

    def _rows(self, ids: np.ndarray) -> np.ndarray:
        order = np.argsort(self.image_ids)
        at = np.minimum(np.searchsorted(self.image_ids, ids, sorter=order), len(order) - 1)
        return np.where(self.image_ids[order[at]] == ids, order[at], -1)


def cross_fitted(
    rows: np.ndarray,
    row_numbers: np.ndarray,
    y: np.ndarray,
    weights: np.ndarray,
    is_drawn: np.ndarray,
    classes: int,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """Return (guessed class, its probability) (N,) for each row of `rows` (N, D), from labels y (n,) of
    `row_numbers` (n,). Labels with `is_drawn` (n,) are predicted by models trained without a tenth of the
    draws, which includes them."""
    guess, probability = _best(_fitted(rows, row_numbers, y, weights, classes), rows)
    fold = np.full(len(row_numbers), -1)
    fold[is_drawn] = rng.permutation(int(is_drawn.sum())) % FOLDS
    for number in range(min(FOLDS, int(is_drawn.sum()))):
        out = fold == number
        model = _fitted(rows, row_numbers[~out], y[~out], weights[~out], classes)
        guess[row_numbers[out]], probability[row_numbers[out]] = _best(model, rows[row_numbers[out]])
    return guess, probability


def _best(model: Coefficients, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    P = np.exp(model.log_probabilities(rows))
    best = P.argmax(1)
    return best, P[np.arange(len(P)), best].astype(np.float64)


def _fitted(
    rows: np.ndarray, row_numbers: np.ndarray, y: np.ndarray, weights: np.ndarray, classes: int
) -> Coefficients:
    labelled = WeightedExamples(rows[row_numbers], y, weights)
    start = Coefficients.zeros(classes, rows.shape[1])
    return climb(InformationObjective(PENALTY, labelled=labelled), start, Precision(1e-6, 1e-4, STEPS)).coefficients


def learned_guesses(workspace: Workspace, material: LearningData, seed: int = 0) -> Guesses | None:
    """Train models on the current labels and return their guesses; None if there are too few draws or terms."""
    log, draws = workspace.labels, workspace.sampling.answered_draws("cover")
    labels = labelled_rows(log.events(), material, log.current())
    if len(draws) < FEW or len(np.unique(labels.terms)) < 2:
        return None
    rng = np.random.default_rng(seed)
    is_drawn = np.isin(material.image_ids[labels.rows], [draw.image_id for draw in draws])
    other_rows = rng.permutation(np.flatnonzero(~is_drawn))[: max(ENOUGH - int(is_drawn.sum()), 0)]
    chosen = np.sort(np.concatenate([np.flatnonzero(is_drawn), other_rows]))
    terms, y = np.unique(labels.terms[chosen], return_inverse=True)
    guess, probability = cross_fitted(
        np.asarray(material.data.rows), labels.rows[chosen], y, labels.trust[chosen], is_drawn[chosen], len(terms), rng
    )
    facts = {
        "last_event": log.last_number(),
        "labels": len(chosen),
        "draws": int(is_drawn.sum()),
        "features": material.features,
        "newest_draw": max(draw.id for draw in draws),
    }
    return Guesses(material.image_ids, terms[guess], probability, facts)


class GuessStore:
    """The newest guesses of a workspace in a single file, so that readers never see a mix of two versions."""

    def __init__(self, folder: Path):
        self._path = folder / "learning" / FILE

    def put(self, guesses: Guesses) -> None:
        self._path.parent.mkdir(exist_ok=True)
        with replacing(self._path) as file:
            np.savez(
                file,
                image_ids=guesses.image_ids,
                terms=guesses.terms,
                probabilities=guesses.probabilities,
                facts=np.array(json.dumps(guesses.facts)),
            )

    def get(self) -> Guesses | None:
        """Return the stored guesses; None before the first training."""
        if not self._path.exists():
            return None
        with np.load(self._path, allow_pickle=False) as archive:
            return Guesses(
                archive["image_ids"], archive["terms"], archive["probabilities"], json.loads(str(archive["facts"]))
            )


def refresh_guesses(workspace: Workspace, material: LearningData) -> Guesses | None:
    """Train again on the current labels and store the guesses."""
    guesses = learned_guesses(workspace, material)
    if guesses:
        GuessStore(workspace.folder).put(guesses)
    return guesses
