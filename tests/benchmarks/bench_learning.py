"""Cost of labelling a whole set by simulated experts: patches, corrected tiles, minutes; and run time of training.

`learning:targets` compares only the ways of working that the targets need, in about a quarter of an hour.
`learning:all` compares all, with one expert and, after `make peers`, with the strategies of scikit-activeml.
`learning:classes` counts only the patches of each class.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from benthoscope.app.pages.learn.content import content
from benthoscope.engine.compute import blas_threads
from benthoscope.engine.features.registry import LEARNED
from benthoscope.engine.labelling.classifier import inputs, learn
from tests.benchmarks import experts
from tests.benchmarks.active_learning_peers import missing_peers, peer_flows
from tests.benchmarks.baselines import BASELINES, MARGIN, Flow
from tests.benchmarks.experts import Expert, Point, reached
from tests.benchmarks.known_sets import KnownSet, known_sets
from tests.benchmarks.known_workspace import known_workspace
from tests.benchmarks.learn_flows import LearnPages, clusters_then_sort, next_best, random_then_sort, typical_then_sort
from tests.benchmarks.measure import Cost, Table, measure

WANTED = (0.9, 0.95)
SEEDS = 4
SEEDS_OF_ALL = 1  # of the comparison of all ways of working, which takes more than half an hour
QUICK, CAREFUL = experts.READING
UNITS = ("patches", "corrected", f"min at {QUICK} s", f"min at {CAREFUL} s")
COLUMNS = ("way to label", *(f"{unit}, {100 * share:.0f} %" for share in WANTED for unit in UNITS))
TARGET_COLUMNS = (
    "set",
    "labels right",
    "minutes, next best",
    "times fewer than margin sampling (target 2.5)",
    "times fewer than the best baseline (target 1.5)",
    "best baseline",
)
TUNED = "The constants of the app were chosen on fish4knowledge and deepdive_gbr; the other sets are tests."
IMAGES, WIDTH, TERMS = 100_000, LEARNED, 15
AXES = 32  # that clustering reads
ROUNDS = 8  # pages that are timed
LEARNABLE = 0.8  # share of the images of a class that a linear model names right
PATCHES, PATCH_IMAGES = 4, 50  # target of each such class: patches, and images for one more
LEARN: dict[str, Flow] = {
    "Learn: next best": next_best,
    "Learn: typical images, then sort": typical_then_sort,
    "Learn: 20 random labels, then sort": random_then_sort,
    "Review and Learn: clusters, groups, sort": clusters_then_sort,
}


Runs = Mapping[str, list[list[Point]]]  # states of each simulated expert, by way of working


# Next best, margin sampling, and the baselines that needed fewest minutes among all of `learning_small`.
PAGES = ("20 labels, linear model, pages to sort", "20 labels, linear model, random pages")
TARGETS = ("Learn: next best", MARGIN, *PAGES)


def tables(*parts: str) -> Iterator[Table]:
    with blas_threads(1):
        for part in parts or ("speed", "page", "all"):
            yield from PARTS[part]()


def _all() -> Iterator[Table]:
    return cost_tables(known_sets(), SEEDS_OF_ALL, {**LEARN, **BASELINES, **peer_flows()})


def _classes() -> Iterator[Table]:
    flow = next(iter(LEARN.values()))
    yield _classes_table(
        [
            (known.name, *_patches_of_classes(known, [_until(known, flow, seed) for seed in range(SEEDS)]))
            for known in known_sets()
        ]
    )


def _targets() -> Iterator[Table]:
    flows = {**LEARN, **BASELINES}
    return cost_tables(known_sets(), SEEDS, {name: flows[name] for name in TARGETS})


def cost_tables(sets: Iterable[KnownSet], seeds: int, flows: Mapping[str, Flow]) -> Iterator[Table]:
    """Yield the costs of each set, then what was reached of the targets."""
    reached_targets: list[tuple[object, ...]] = []
    of_classes: list[tuple[object, ...]] = []
    for known in sets:
        runs = {name: [_until(known, flow, seed) for seed in range(seeds)] for name, flow in flows.items()}
        yield costs(known, runs)
        reached_targets += [(known.name, *row) for row in _ratios(runs)]
        of_classes.append((known.name, *_patches_of_classes(known, runs[next(iter(LEARN))])))
    yield _classes_table(of_classes)
    yield Table(
        f"Next best against other ways, minutes at {CAREFUL} s a tile",
        TARGET_COLUMNS,
        reached_targets,
        [_note(seeds), TUNED, *(missing_peers() if len(flows) > len(TARGETS) else [])],
    )


def costs(known: KnownSet, runs: Runs) -> Table:
    """Return the costs of every way of working until 90 and 95 % of all labels are right."""
    return Table(
        f"Cost until this share of all labels is right. {known.name}: {len(known.X):,} images, "
        f"{known.classes.max() + 1} classes",
        COLUMNS,
        [(name, *_cells(points)) for name, points in runs.items()],
    )


def _classes_table(rows: list[tuple[object, ...]]) -> Table:
    return Table(
        f"Patches of each class that a linear model can learn, until {100 * WANTED[-1]:.0f} % of all labels are right",
        ("set", "such classes", "of them within the target", "median patches", "median target"),
        rows,
        [
            f"With {next(iter(LEARN))}, means of the experts. Such classes: a linear model of all other images names "
            f"at least {100 * LEARNABLE:.0f} % of their images right. Target: {PATCHES} patches, and one for every "
            f"{PATCH_IMAGES} images of the class."
        ],
    )


def _patches_of_classes(known: KnownSet, runs: list[list[Point]]) -> tuple[object, ...]:
    """Return how many classes can be learned, how many of them needed few patches, and the medians of patches and
    target."""
    ends = [reached(points, WANTED[-1]) for points in runs]
    sizes = np.bincount(known.classes)
    is_learnable = _accuracy_of_classes(known) >= LEARNABLE
    if None in ends or not is_learnable.any():
        return int(is_learnable.sum()), "-", "-", "-"
    patches = np.mean([end.patches_of_classes for end in ends if end is not None], axis=0)[is_learnable]
    most = (PATCHES + sizes / PATCH_IMAGES)[is_learnable]
    return len(most), int((patches <= most).sum()), float(np.median(patches)), float(np.median(most))


def _accuracy_of_classes(known: KnownSet) -> np.ndarray:
    """Return for each class the share of its images that a linear model of the other images names right (5 parts)."""
    rows = known.wide / np.sqrt((known.wide**2).sum(1).mean() / known.wide.shape[1])
    model = LogisticRegression(C=0.1, max_iter=300)
    right = cross_val_predict(model, rows, known.classes, cv=StratifiedKFold(5)) == known.classes
    return np.bincount(known.classes, right) / np.bincount(known.classes)


def _cells(runs: list[list[Point]]) -> list[object]:
    cells: list[object] = []
    for share in WANTED:
        ends = [reached(points, share) for points in runs]
        done = [end for end in ends if end is not None]
        if len(done) < len(runs):
            cells += ["-"] * len(UNITS)
            continue
        cells += [round(float(np.mean([end.patches for end in done])))]
        cells += [round(float(np.mean([end.corrected for end in done])))]
        cells += [round(float(np.mean([end.minutes(reading) for end in done])), 1) for reading in experts.READING]
    return cells


def _ratios(runs: Runs) -> Iterator[tuple[object, ...]]:
    """Yield for each share how many times fewer minutes "next best" needs than margin sampling and than the best
    baseline."""
    for share in WANTED:
        minutes = {name: _minutes(points, share) for name, points in runs.items()}
        ours = minutes[next(iter(LEARN))]
        others = {name: value for name, value in minutes.items() if name not in LEARN and value is not None}
        best = min(others, key=lambda name: others[name], default="")
        margin = minutes[MARGIN]
        yield (
            f"{100 * share:.0f} %",
            "-" if ours is None else round(ours, 1),
            "-" if ours is None or margin is None else f"{margin / ours:.2f}",
            "-" if ours is None or not best else f"{others[best] / ours:.2f}",
            best,
        )


def _minutes(runs: list[list[Point]], share: float) -> float | None:
    ends = [reached(points, share) for points in runs]
    done = [end.minutes(CAREFUL) for end in ends if end is not None]
    return float(np.mean(done)) if len(done) == len(runs) else None


def _note(seeds: int) -> str:
    return (
        f"Means of {seeds} simulated {'expert' if seeds == 1 else 'experts'}. Patches: actions, a sweep over "
        "neighbouring tiles of one class counted as one. Corrected: tiles that got another label than shown, or a "
        f"first one. Minutes include {experts.SINGLE_SECONDS} s to name one image shown alone, "
        f"{experts.PATCH_SECONDS} s to go to a patch and {experts.SWEEP_SECONDS} s for each of its tiles, "
        f"{experts.CHECK_SECONDS} s to check a page, {experts.END_SECONDS} s to end it, {experts.SWITCH_SECONDS} s to "
        f"open the next one, and {experts.TYPE_SECONDS} s to type a term without one of the {experts.KEYS} keys. "
        f"{100 * experts.SLIP:.0f} % of decisions slip, mostly to the most similar class. A dash: not reached."
    )


def _until(known: KnownSet, flow: Flow, seed: int) -> list[Point]:
    """Return the state of the flow at each step, until the last target accuracy."""
    expert, points = Expert.of(known.X, known.classes, seed), []
    for current in flow(known, expert, np.random.default_rng([seed, 2])):
        points.append(current)
        if current.accuracy >= WANTED[-1]:
            break
    return points


def _speed() -> Iterator[Table]:
    """Measure training after a batch at full size, separately from what is computed once per run."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, TERMS, IMAGES)
    X = (1.2 * rng.standard_normal((TERMS, WIDTH))[truth] + rng.standard_normal((IMAGES, WIDTH))).astype(np.float32)
    data, made = measure(lambda: inputs(X, truth % 12, rng=rng))
    rows, model = [("inputs of a run, once", "", made.cpu, made.wall)], None
    for labels in (200, 1_000, 20_000):
        labelled_rows = rng.permutation(IMAGES)[:labels]

        def retrain(rows=labelled_rows, before=model):
            model_ = learn(data, rows, truth[rows], before=before, rng=rng)
            return model_, model_.probabilities(data.rows)

        (model, P), cost = measure(retrain)
        rows.append(
            (
                f"learn from {labels:,} labels, suggest all",
                float((model.terms[P.argmax(1)] == truth).mean()),
                cost.cpu,
                cost.wall,
            )
        )
    yield Table(f"Learning at {IMAGES:,} images x {WIDTH}, {TERMS} terms", ("", "accuracy", "CPU s", "wall s"), rows)


def _page() -> Iterator[Table]:
    """Measure in the server how soon the next page of a large campaign is there: after the key that accepts a page, and
    with the suggestions of a newer model."""
    known = _large_set()
    expert = Expert.of(known.X, known.classes, 0)
    steps: dict[str, list[Cost]] = {"next page after a page is accepted": [], "the same with new suggestions": []}
    after_key, after_training = steps.values()
    with known_workspace(known) as place:
        pages = LearnPages.opened(place, expert, np.random.default_rng(0))
        pages.name_at_random(200)
        pages.train()
        pages.learn.choose_queue("sort")
        content(pages.learn)
        for _ in range(ROUNDS):
            table = pages.learn.table()
            after_key.append(_cost_of(lambda table=table: pages.learn.accept({}, table.number), pages))
            pages.train()
            after_training.append(_cost_of(lambda: None, pages))
    rows = [
        (step, *(1000 * float(np.median([getattr(cost, unit) for cost in costs])) for unit in ("cpu", "wall")))
        for step, costs in steps.items()
    ]
    yield Table(
        f"Next page of Learn at {IMAGES:,} images (target 300 ms), medians of {ROUNDS}",
        ("", "CPU ms", "wall ms"),
        rows,
        ["In the server, until what the browser shows is complete. A page has 60 images."],
    )


def _cost_of(command: Callable[[], object], pages: LearnPages) -> Cost:
    return measure(lambda: (command(), content(pages.learn)))[1]


def _large_set() -> KnownSet:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, TERMS, IMAGES)
    rows = (1.2 * rng.standard_normal((TERMS, WIDTH))[truth] + rng.standard_normal((IMAGES, WIDTH))).astype(np.float32)
    dives = truth % 12
    return KnownSet("synthetic", rows[:, :AXES], rows, truth, dives, rows, dives)


PARTS: Mapping[str, Callable[[], Iterator[Table]]] = {
    "speed": _speed,
    "page": _page,
    "all": _all,
    "targets": _targets,
    "classes": _classes,
}
