"""How right crowd clustering is: against other ways, with bad workers, with fewer tasks, and on real answers."""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import yaml
from sklearn.metrics import roc_auc_score

from engine.crowd import (
    BayesianCrowdClustering,
    FactorizationCrowdClustering,
    Judgements,
    Sorting,
    average_linkage,
    consensus_factors,
    informative_tasks,
    judgements_of,
    majority,
    sample_tasks,
    spectral_clusters,
)
from engine.metrics import adjusted_rand, variation_of_information
from tests.benchmarks.measure import Table
from tests.crowds import Crowd, school_crowd

DATA = Path(__file__).parents[2].parent / "shared" / "data" / "crowd_welinder"
SEEDS = range(4)
K, SIZE, VIEWS = 6, 20, 6
DIMENSIONS = (2, 3, 4, 5)
BATCH, FIRST, MOST = 15, 60, 300   # tasks between two fits, before the first one, and at most
WANTED = (0.85, 0.90, 0.95)        # ARI to reach

Method = Callable[[Judgements], np.ndarray]


def bayes(judged: Judgements) -> np.ndarray:
    return _bayesian().fit(judged).labels_


METHODS: dict[str, Method] = {
    "Bayes, K found": bayes,
    "worker NMF, K given": lambda judged: FactorizationCrowdClustering(K, starts=3, random_state=0).fit(judged).labels_,
    "consensus NMF, K given": lambda judged: consensus_factors(judged, K, starts=3, random_state=0),
    "co-association, average linkage, K given": lambda judged: average_linkage(judged, K),
    "co-association, spectral, K given": lambda judged: spectral_clusters(judged, K, np.random.default_rng(0)),
    "majority": majority,
}
CROWDS = {
    "15 % guessers": {"spammers": 0.15},
    "no bad worker": {},
    "40 % guessers": {"spammers": 0.4},
    "15 % lazy, 10 % colluders": {"lazy": 0.15, "colluders": 0.1},
}


def tables() -> Iterator[Table]:
    yield _by_repeats()
    yield _by_crowd()
    yield _guessers()
    yield _adaptive()
    if DATA.exists():
        yield _real()


def _bayesian() -> BayesianCrowdClustering:
    return BayesianCrowdClustering(dimensions=DIMENSIONS, restarts=4, random_state=0)


def _judged(crowd: Crowd, views: float, repeats: int) -> Judgements:
    return crowd.judgements(sample_tasks(crowd.n_items, SIZE, views, crowd.rng), repeats)


def _by_repeats() -> Table:
    """Mean ARI and VI as V grows, with 15 % guessers; V views of one worker each, then three."""
    settings = [(3, 1), (6, 1), (12, 1), (6, 3)]
    rows = []
    for name, method in METHODS.items():
        row = [name]
        for views, repeats in settings:
            found = [_scores(school_crowd(seed, spammers=0.15), views, repeats, method) for seed in SEEDS]
            row.append("{:.3f} / {:.2f}".format(*np.mean(found, axis=0)))
        rows.append(row)
    columns = ["ARI / VI (nats)", *(f"V={views}, {repeats} a task" for views, repeats in settings)]
    return Table("Six clusters, 300 items, 40 workers of three schools, 15 % guessers", columns, rows)


def _by_crowd() -> Table:
    rows = []
    for name, method in METHODS.items():
        scores = [[_scores(school_crowd(seed, **shares), VIEWS, 3, method)[0] for seed in SEEDS]
                  for shares in CROWDS.values()]
        rows.append([name, *(float(np.mean(some)) for some in scores)])
    return Table("Mean ARI by crowd, V=6, three workers a task", ["method", *CROWDS], rows)


def _scores(crowd: Crowd, views: float, repeats: int, method: Method) -> tuple[float, float]:
    found = method(_judged(crowd, views, repeats))
    return adjusted_rand(crowd.truth, found), variation_of_information(crowd.truth, found)


def _guessers() -> Table:
    rows = []
    for share in (0.1, 0.2, 0.4):
        for repeats in (1, 3):
            areas = []
            for seed in SEEDS:
                crowd = school_crowd(seed, spammers=share)
                model = _bayesian().fit(_judged(crowd, VIEWS, repeats))
                areas.append(roc_auc_score(crowd.spam, -model.worker_quality_))
            rows.append([f"{share:.0%}", repeats, float(np.mean(areas)), float(np.min(areas))])
    return Table("Guessers found by quality", ["guessers", "workers a task", "AUC, mean", "AUC, least"], rows,
                 ["Target: 0.95 at 20 %."])


def _adaptive() -> Table:
    """Tasks, one worker each, until the ARI is reached; adaptive: what to show and whom to ask no more."""
    rows = []
    for share in (0.15, 0.4):
        needed = {how: [_needed(seed, share, how == "adaptive") for seed in SEEDS] for how in ("random", "adaptive")}
        for at, wanted in enumerate(WANTED):
            random, chosen = (np.array([some[at] for some in needed[how]], float) for how in ("random", "adaptive"))
            rows.append([f"{share:.0%}", wanted, random.mean(), chosen.mean(), f"{1 - chosen.sum() / random.sum():.0%}",
                         f"{random.astype(int).tolist()} / {chosen.astype(int).tolist()}"])
    columns = ["guessers", "ARI wanted", "tasks, random", "tasks, adaptive", "fewer", "by seed, random / adaptive"]
    return Table("Adaptive sampling", columns, rows, [
        f"A run that has not got there after {MOST} tasks counts as {MOST}: where random ones stop there, what is "
        "saved is understated. Target: at least 40 % fewer.", f"Both begin with the same {FIRST} random tasks."])


def _needed(seed: int, share: float, adaptive: bool) -> list[int]:
    """Tasks after which the mean of two fits in a row is at least each wanted ARI."""
    crowd, rng = school_crowd(seed, spammers=share), np.random.default_rng(seed)
    load, answers, course = np.zeros(len(crowd.habits)), [], []
    may = np.ones(len(load), bool)
    tasks = sample_tasks(crowd.n_items, SIZE, FIRST * SIZE / crowd.n_items, rng)
    while True:
        for task in tasks:
            worker = np.lexsort((rng.random(len(load)), load + 1e6 * ~may))[0]
            load[worker] += 1
            answers.append(crowd.answer(int(worker), task))
        model = _bayesian().fit(judgements_of(answers, crowd.n_items, len(load)).judgements)
        course.append((len(answers), adjusted_rand(crowd.truth, model.labels_)))
        if len(answers) >= MOST or min(course[-1][1], course[-2][1] if len(course) > 1 else 0) >= max(WANTED):
            return [_reached(course, wanted) for wanted in WANTED]
        if adaptive:
            may = model.looking_ | (load < 2)  # one answer is too little to judge anybody by
            tasks = informative_tasks(model, SIZE, BATCH, rng)
        else:
            tasks = [rng.choice(crowd.n_items, SIZE, replace=False) for _ in range(BATCH)]


def _reached(course: list[tuple[int, float]], wanted: float) -> int:
    for (tasks, ari), (_, following) in zip(course, [*course[1:], (MOST, 1.0)], strict=True):
        if (ari + following) / 2 >= wanted:
            return tasks
    return MOST


def _real() -> Table:
    """39 people's yes or no on 108 pictures of two birds, as sortings of 18 pictures into two groups."""
    judged, truth = bluebirds()
    rest, held = judged.split(0.2, np.random.default_rng(0))
    rows = [["majority of yes or no on each picture", adjusted_rand(truth, yes_or_no()), float("nan")]]
    for weight in (1.0, 0.3, 0.1):
        model = BayesianCrowdClustering(dimensions=(1, 2, 3), judgement_weight=weight, random_state=0).fit(rest)
        rows.append([f"Bayes, weight {weight:g} (K = {model.n_clusters_}, D = {model.n_dimensions_})",
                     adjusted_rand(truth, model.labels_), model.score(held)])
    two = BayesianCrowdClustering(dimensions=(1, 2, 3), judgement_weight=0.3, n_clusters=2, random_state=0).fit(rest)
    rows.append(["Bayes, weight 0.3, K = 2 given", adjusted_rand(truth, two.labels_), two.score(held)])
    others = {"worker NMF": FactorizationCrowdClustering(2, random_state=0).fit(rest).labels_,
              "average linkage": average_linkage(rest, 2), "majority of pairs": majority(rest),
              "spectral": spectral_clusters(rest, 2, np.random.default_rng(0))}
    rows += [[name, adjusted_rand(truth, labels), float("nan")] for name, labels in others.items()]
    rate = rest.same.mean()
    base = float(np.where(held.same, np.log(rate), np.log(1 - rate)).mean())
    return Table("Bluebirds, real answers", ["method", "ARI to the two kinds", "log p of held-out judgements"], rows,
                 [f"Base rate alone: {base:.3f}. The first line knows the question, the others only who belongs with "
                  "whom."])


def bluebirds(size: int = 18) -> tuple[Judgements, np.ndarray]:
    said, truth = _read()
    sortings, rng = [], np.random.default_rng(0)
    for worker, row in enumerate(said):
        for part in np.array_split(rng.permutation(len(truth)), len(truth) // size):
            sortings.append(Sorting(worker, part.tolist(), row[part].tolist()))
    return judgements_of(sortings, len(truth), len(said)).judgements, truth


def yes_or_no() -> np.ndarray:
    return (_read()[0].mean(0) > 0.5).astype(int)


def _read() -> tuple[np.ndarray, np.ndarray]:
    answers = yaml.safe_load((DATA / "bluebirds_labels.yaml").read_text(encoding="utf-8"))
    truth = yaml.safe_load((DATA / "bluebirds_gt.yaml").read_text(encoding="utf-8"))
    pictures = sorted(truth)
    said = np.array([[bool(answers[worker][name]) for name in pictures] for worker in sorted(answers)])
    return said, np.array([int(truth[name]) for name in pictures])
