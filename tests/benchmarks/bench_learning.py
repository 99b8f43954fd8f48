"""How many actions and minutes it takes to label a whole set rightly, by simulated experts; and what learning costs."""

from collections.abc import Iterator

import numpy as np

from engine.compute import blas_threads
from engine.labelling.inputs import inputs
from engine.labelling.learner import learn
from tests.benchmarks import experts
from tests.benchmarks.experts import Expert, Point, point, reached
from tests.benchmarks.flows import FLOWS, Flow
from tests.benchmarks.known_sets import KnownSet, known_sets
from tests.benchmarks.measure import Table, measure

WANTED = (0.9, 0.95)
SEEDS = 4
COLUMNS = ("way to label", *(f"{what} to {100 * share:.0f} %" for share in WANTED for what in ("actions", "minutes")),
           "labelled by then", "precision of that")
IMAGES, WIDTH, TERMS = 100_000, 64, 15


def tables() -> Iterator[Table]:
    with blas_threads(1):
        yield _speed()
        for known in known_sets():
            yield _actions(known)


def _actions(known: KnownSet) -> Table:
    rows = [_row(name, known, flow) for name, flow in FLOWS.items()]
    title = f"{known.name}: {len(known.X):,} images, {known.classes.max() + 1} classes"
    return Table(f"Actions until so many of all labels are right. {title}", COLUMNS, rows, [
        f"Means of {SEEDS} simulated experts; an action is a key or a click, a name is one key; "
        f"{100 * experts.SLIP:.0f} % of decisions slip. {experts.NAME_SECONDS} s to name one image, "
        f"{experts.TILE_SECONDS} s a tile, {experts.ANSWER_SECONDS} s an answer, {experts.PATCH_SECONDS} s to go to a "
        f"patch of tiles and {experts.SWEEP_SECONDS} s for each touched there with a key held down. A dash: not "
        "reached."])


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
