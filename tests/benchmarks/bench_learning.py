"""How many actions and minutes it takes to label a whole set rightly, by simulated experts; what learning costs; and
how few actions there could be."""

from collections.abc import Iterator

import numpy as np
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.svm import SVC

from engine.compute import blas_threads
from engine.labelling.inputs import inputs
from engine.labelling.learner import learn
from tests.benchmarks import experts
from tests.benchmarks.experts import Expert, Point, point, reached
from tests.benchmarks.flows import FLOWS, Flow
from tests.benchmarks.known_sets import KnownSet, known_sets
from tests.benchmarks.measure import Table, measure

WANTED = (0.9, 0.95)
SEEDS = 2
COLUMNS = ("way to label", *(f"{what} to {100 * share:.0f} %" for share in WANTED for what in ("actions", "minutes")),
           "labelled by then", "precision of that")
IMAGES, WIDTH, TERMS = 100_000, 64, 15


def tables() -> Iterator[Table]:
    with blas_threads(1):
        yield _speed()
        sets = list(known_sets())
        yield _left_to_do(sets)
        for known in sets:
            yield _actions(known)


def _left_to_do(sets: list[KnownSet]) -> Table:
    """What a model leaves to people even when four fifths of the images are labelled, each of them rightly."""
    rows = [_row_left(known) for known in sets]
    return Table("What a strong model leaves to do, taught by four fifths of all labels", (
        "set", "images", "accuracy on the rest", f"images to put right for {100 * WANTED[-1]:.0f} %",
        "one by one, times that"), rows, [
        "Support vectors with an RBF kernel, five folds, the best of six settings. Before anything is taught there are "
        "more to put right; a drag over tiles side by side puts right several at once."])


def _row_left(known: KnownSet) -> tuple:
    X, folds = known.X / known.X.std(), StratifiedKFold(5, shuffle=True, random_state=0)
    best = max(float(cross_val_score(SVC(C=C, gamma=gamma / X.shape[1]), X, known.classes, cv=folds).mean())
               for C in (3.0, 10.0, 30.0) for gamma in (0.3, 1.0))
    left = max(round((WANTED[-1] - best) * len(X)), 0)
    once = WANTED[-1] / (1 - experts.SLIP) * len(X)
    return known.name, len(X), round(best, 3), left, round(once / left, 1) if left > 0.01 * len(X) else "-"


def _actions(known: KnownSet) -> Table:
    rows = [_row(name, known, flow) for name, flow in FLOWS.items()]
    title = f"{known.name}: {len(known.X):,} images, {known.classes.max() + 1} classes"
    return Table(f"Actions until so many of all labels are right. {title}", COLUMNS, rows, [
        f"Means of {SEEDS} simulated experts; an action is a key or a click; {100 * experts.SLIP:.0f} % of decisions "
        f"slip. {experts.NAME_SECONDS} s to name one image, {experts.TILE_SECONDS} s a tile, {experts.ANSWER_SECONDS} "
        f"s an answer, {experts.CLICK_SECONDS} s a click. A dash: not reached."])


def _row(name: str, known: KnownSet, flow: Flow) -> tuple:
    runs = [_until(known, flow, seed) for seed in range(SEEDS)]
    cells = []
    for share in WANTED:
        found = [reached(points, share) for points in runs]
        whole = all(found)
        cells += [round(float(np.mean([at.actions for at in found]))) if whole else "-",
                  round(float(np.mean([at.seconds for at in found])) / 60, 1) if whole else "-"]
    ends = [points[-1] for points in runs]
    return (name, *cells, round(float(np.mean([end.labelled for end in ends])), 3),
            round(float(np.mean([end.precision for end in ends])), 3))


def _until(known: KnownSet, flow: Flow, seed: int) -> list[Point]:
    """Where the flow stood at each step, up to the last accuracy wanted."""
    expert, points = Expert(known.classes, np.random.default_rng([seed, 1])), []
    for found in flow(known, expert, np.random.default_rng([seed, 2])):
        points.append(found)
        if found.accuracy >= WANTED[-1]:
            break
    return points or [point(expert)]


def _speed() -> Table:
    """Retraining after a batch at full size; what is made once for a run is told apart."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, TERMS, IMAGES)
    X = (1.2 * rng.standard_normal((TERMS, WIDTH))[truth] + rng.standard_normal((IMAGES, WIDTH))).astype(np.float32)
    data, made = measure(lambda: inputs(X, truth % 12, rng=rng))
    rows, model = [("inputs of a run, once", "", made.cpu, made.wall)], None
    for labels in (200, 1_000, 20_000):
        places = rng.permutation(IMAGES)[:labels]

        def retrain(places=places, before=model):
            found = learn(data, places, truth[places], before=before, rng=rng)
            return found, found.probabilities(data.rows)

        (model, P), cost = measure(retrain)
        rows.append((f"learn from {labels:,} labels, suggest all", float((model.terms[P.argmax(1)] == truth).mean()),
                     cost.cpu, cost.wall))
    return Table(f"Learning at {IMAGES:,} images x {WIDTH}, {TERMS} terms", ("", "accuracy", "CPU s", "wall s"), rows)
