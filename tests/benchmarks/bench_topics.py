"""Topics: Gibbs updates, adding images against new fits, weights of a million stored images, the size of the source's
corpus, and accuracy on known and on real sets.

python -m tests.benchmarks topics, or one of the PARTS below, such as topics:fits
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial

import numpy as np

from benthoscope.engine.distributions import SphericalGaussian
from benthoscope.engine.topics import HistogramIntersectionSVM, InfiniteWordTopicModel, VisualLDA
from benthoscope.engine.topics.sampling.gibbs import GibbsRule, GibbsSampler, run_chain
from tests.benchmarks import topics_acceptance, topics_experiments, topics_full_size, topics_sets, topics_stored
from tests.benchmarks.measure import Table, measure
from tests.topic_corpora import pairs, scattered

STARTS = 5


def tables(*parts: str) -> Iterator[Table]:
    for part in parts or [name for name in PARTS if name not in topics_sets.REAL]:
        yield from PARTS[part]()


def _updates() -> Table:
    """Time of one draw of the Gibbs sampler; the numpy prototype of the methods note needed 300 to 400 microseconds."""
    known = scattered(60, size=50)
    X = known.X - known.X.mean(0)
    base = SphericalGaussian.prior(np.zeros(8), float(X.var()) / 4, 0.1, 4.0)
    start = np.full((1, 8), 0.125), np.zeros(60, int)
    sampler = GibbsSampler.start(X, known.image, *start, base, (5.0, 1.0), np.random.default_rng(0), 40)
    run_chain(sampler, GibbsRule(2, burn_in=10))
    _, cost = measure(lambda: run_chain(sampler, GibbsRule(50, burn_in=100)))
    draw = cost.cpu / (50 * len(X)) * 1e6
    return Table(
        "Gibbs sampler, 3,000 descriptors of 8 columns",
        ["clusters", "microseconds per draw", "times faster than 350 microseconds"],
        [[str(sampler.n_clusters), draw, 350 / draw]],
    )


def _increments(seeds: int = 4) -> Table:
    """Adding 65 documents to 585 against one start of a new fit of 650. Bounds are those of the best of some starts,
    because topics of a single start are often poor, which would hide what the addition does."""
    settings = {"inference": "incremental", "n_clusters": 200, "n_init": STARTS, "random_state": 0}
    rows, ratios = [], []
    for seed in range(seeds):
        known = scattered(650, seed=seed)
        old, new = known.subset(np.arange(585)), known.subset(np.arange(585, 650))
        model = InfiniteWordTopicModel(8, **settings).fit(old.X, old.image)
        _, adding = measure(lambda model=model, new=new: model.partial_fit(new.X, new.image))
        again = InfiniteWordTopicModel(8, **settings)
        scratch, fitting = measure(lambda again=again, known=known: again.fit(known.X, known.image))
        change = (model.lower_bound_ - scratch.lower_bound_) / abs(scratch.lower_bound_)
        one_fit = fitting.cpu / STARTS
        ratios.append(one_fit / adding.cpu)
        cells = [seed, adding.cpu, one_fit, f"1/{ratios[-1]:.1f}", f"{change:+.2%}"]
        rows.append([*cells, model.n_clusters_, scratch.n_clusters_])
    columns = [
        "set",
        "adding, CPU s",
        "one start of a new fit, CPU s",
        "share",
        "bound",
        "clusters, added",
        "clusters, new fit",
    ]
    notes = [
        f"Median: adding costs 1/{np.median(ratios):.1f} of one start; both models are the best of {STARTS} starts."
    ]
    return Table("Adding 65 images of 100 descriptors to 585", columns, rows, notes)


def _accuracy() -> Table:
    """Classes of the set Pairs with labels for all training documents (methods note 12.7, BL1)."""
    rows = []
    for spread in (3.0, 1.5):
        known = pairs(spread, pool=200, test=300)
        train, test = known.corpus.subset(known.pool), known.corpus.subset(known.test)

        def score(model, train=train, test=test, known=known):
            weights = model.fit(train.X, train.image).topic_weights_
            machine = HistogramIntersectionSVM().fit(weights, known.labels[known.pool])
            return float((machine.predict(model.transform(test.X, test.image)) == known.labels[known.test]).mean())

        own = score(InfiniteWordTopicModel(10, n_clusters=40, random_state=0))
        rows.append([f"{spread:g}", "iwtm", own])
        rows += [
            [f"{spread:g}", f"lda, {words} words", score(VisualLDA(10, n_words=words, n_init=5, random_state=0))]
            for words in (5, 10, 20, 40, 80, 160)
        ]
        rows.append([f"{spread:g}", "lda, dp words", score(VisualLDA(10, words="dp", n_words=40, random_state=0))])
    return Table("Accuracy on ten classes, 200 training images", ["spread", "model", "accuracy"], rows)


PARTS: dict[str, Callable[[], Iterable[Table]]] = {
    "draws": lambda: [_updates()],
    "added": lambda: [_increments()],
    "stored": topics_stored.tables,
    "fits": topics_full_size.fits,
    "words": topics_full_size.words_and_lda,
    "other-lda": topics_full_size.other_lda,
    "sets": topics_sets.tables,
    **{name: partial(topics_sets.tables, name) for name in topics_sets.REAL},
    "experiments": topics_experiments.tables,
    "accepted": topics_acceptance.tables,
    "starts": topics_acceptance.starts,
    "known": lambda: [_accuracy()],
}
