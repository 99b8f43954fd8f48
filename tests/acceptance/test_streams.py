"""Streams against fits to all rows at the same time: quality, order, memory, time, growth, novelty and topics.

The generators and tolerances are those of the acceptance tests AT7 to AT21 of the method specification.
"""

import tracemalloc
import warnings
from functools import cache
from itertools import islice

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.metrics import normalized_mutual_info_score

from benthoscope.engine.metrics import v_measure
from benthoscope.engine.streaming import BudgetWarning, MemoryBoundedTopicModel, MemoryBoundedVDP
from tests.streams import gaussian_stream, growing_stream, orders_of, topic_stream

pytestmark = pytest.mark.filterwarnings("ignore::benthoscope.engine.streaming.BudgetWarning")


def streamed(rows, memory=500, epoch=500, **settings):
    return MemoryBoundedVDP(memory=memory, epoch=epoch, horizon=len(rows), lineage=False, **settings).partial_fit(rows)


@cache
def streamed_in_order(seed, separation, count, memory=500):
    return streamed(gaussian_stream(seed, separation, count)[0], memory)


@cache
def fitted_at_once(seed, separation, count):
    """A round with all rows, before any compression."""
    rows = gaussian_stream(seed, separation, count)[0]
    return streamed(rows, memory=10 * count, epoch=count)


def comparison(model, seed, separation, count):
    """(ratio of the bounds, gap per row, held-out loss) against the fit to all rows."""
    _, _, held_out, _ = gaussian_stream(seed, separation, count)
    batch = fitted_at_once(seed, separation, count)
    gap = batch.lower_bound_ - model.lower_bound_
    return 1 - gap / abs(batch.lower_bound_), gap / count, batch.score(held_out) - model.score(held_out)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3, 8))
def test_a_stream_comes_close_to_the_fit_of_all_rows(seed):
    """AT9."""
    _, _, held_out, clusters = gaussian_stream(seed, 1.6, 20_000)
    model = streamed_in_order(seed, 1.6, 20_000)
    ratio, gap, loss = comparison(model, seed, 1.6, 20_000)
    assert ratio >= 0.995 and gap <= 0.06 and loss <= 0.02
    assert 19 <= model.n_clusters_ <= 21
    batch = fitted_at_once(seed, 1.6, 20_000)
    shared = [normalized_mutual_info_score(clusters, each.predict(held_out)) for each in (batch, model)]
    assert shared[0] - shared[1] <= 0.01


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seed", "separation", "least_ratio", "most_loss"), [(2, 1.3, 0.99, 0.05), (0, 1.6, 0.997, 0.01)]
)
def test_long_streams_of_overlapping_clusters_come_close_and_beat_a_random_subset(
    seed, separation, least_ratio, most_loss
):
    """AT10 and AT13: remembering summaries is better than forgetting rows."""
    rows, _, held_out, _ = gaussian_stream(seed, separation, 50_000)
    model = streamed_in_order(seed, separation, 50_000)
    ratio, _, loss = comparison(model, seed, separation, 50_000)
    assert ratio >= least_ratio and loss <= most_loss
    chosen = np.random.default_rng(0).choice(len(rows), 1000, replace=False)
    subset = streamed(rows[chosen], memory=10_000, epoch=1000)
    assert model.score(held_out) - subset.score(held_out) >= 0.1


@pytest.mark.slow
def test_the_order_of_the_rows_hardly_matters():
    """AT12: as drawn, four shuffles, sorted by dive, and sorted by cluster in both directions."""
    rows, clusters, held_out, held_out_clusters = gaussian_stream(3, 1.6, 20_000)
    _, *orders = orders_of(clusters).values()
    orders += [np.random.default_rng(seed).permutation(20_000) for seed in range(3)]
    models = [streamed_in_order(3, 1.6, 20_000), *(streamed(rows[order]) for order in orders)]
    ratios, _, losses = np.array([comparison(model, 3, 1.6, 20_000) for model in models]).T
    assert np.ptp(ratios) <= 0.003 and np.ptp(losses) <= 0.02
    counts = np.array([model.n_clusters_ for model in models])
    assert (abs(counts - np.median(counts)) <= 1).all() and 19 <= np.median(counts) <= 21
    assert np.ptp([v_measure(held_out_clusters, model.predict(held_out)) for model in models]) <= 0.01


@pytest.mark.slow
def test_a_larger_memory_does_not_lose_quality():
    """AT15."""
    held_out = gaussian_stream(4, 1.6, 20_000)[2]
    scores = [streamed_in_order(4, 1.6, 20_000, memory).score(held_out) for memory in (200, 500, 1000)]
    assert scores[0] - scores[1] <= 0.01 and scores[1] - scores[2] <= 0.01


def peaks_of_memory(counts):
    """The traced peak after each of these numbers of rows of one stream. The first 1,000 rows are not traced."""
    rows = gaussian_stream(3, 1.6, max(counts))[0]
    model, peaks = MemoryBoundedVDP(memory=500, epoch=500, lineage=False).partial_fit(rows[:1000]), []
    tracemalloc.start()
    for start in range(1000, len(rows), 500):
        model.partial_fit(rows[start : start + 500])
        if start + 500 in counts:
            peaks.append(tracemalloc.get_traced_memory()[1])
    tracemalloc.stop()
    return peaks


@pytest.mark.slow
def test_memory_and_time_do_not_grow_with_the_stream():
    """AT7 and AT8 in short form: traced peaks of 5,000, 10,000 and 20,000 rows, and the sweeps over the memory of 100
    epochs. `make bench ONLY=streaming:memory` has 90,000 rows and CPU seconds."""
    peaks = peaks_of_memory((5_000, 10_000, 20_000))
    assert max(peaks) / min(peaks) <= 1.25
    rows = gaussian_stream(3, 1.6, 50_000)[0]
    model, sweeps = MemoryBoundedVDP(memory=500, epoch=500, lineage=False), []
    for start in range(0, 50_000, 500):
        reports = []
        model.partial_fit(rows[start : start + 500], on_step=reports.append)
        sweeps.append(len(reports))
    assert np.median(sweeps[75:]) / np.median(sweeps[25:50]) <= 1.3


@pytest.mark.slow
def test_the_number_of_clusters_grows_with_the_data():
    """AT11 in short form, on 40,000 rows; `make bench ONLY=streaming:growth` has 100,000 rows of two streams."""
    rows, clusters = growing_stream(0, 40_000)
    model, counts = MemoryBoundedVDP(memory=1000, epoch=1000, horizon=40_000), {}
    for start in range(0, len(rows), 1000):
        model.partial_fit(rows[start : start + 1000])
        assert model.snapshot_.memory["values"] <= 8000 and model.snapshot_.memory["units"] <= 1000
        counts[start + 1000] = model.n_clusters_
    assert counts[1000] < counts[10_000] < counts[40_000]
    true_clusters = (np.bincount(clusters) >= 20).sum()
    assert abs(model.n_clusters_ - true_clusters) <= 0.25 * true_clusters


def told_apart(rows, clusters, cluster):
    """The share of the rows of a cluster that the true Gaussians of the others place below their 1st percentile."""
    others = [k for k in np.unique(clusters) if k != cluster]
    log_density = [
        np.log((clusters == k).sum())
        + multivariate_normal(rows[clusters == k].mean(0), np.cov(rows[clusters == k].T)).logpdf(rows)
        for k in others
    ]
    log_density = logsumexp(log_density, axis=0)
    return (log_density[clusters == cluster] < np.quantile(log_density[clusters != cluster], 0.01)).mean()


@pytest.mark.slow
def test_a_new_kind_of_rows_is_novel_first_and_then_a_cluster():
    """AT14, for the first two clusters of each of three streams whose rows differ from the others.

    A cluster that overlaps others is not novel for any method.
    """
    flagged, recalls, intruders = [], [], []
    for seed in (3, 4, 5):
        rows, clusters, _, _ = gaussian_stream(seed, 1.6, 12_000)
        distinct = (k for k in range(20) if told_apart(rows, clusters, k) >= 0.95)
        for withheld in islice(distinct, 2):
            old, new = rows[clusters != withheld][:10_470], rows[clusters == withheld][:30]
            model = streamed(old[:10_000])
            epoch = np.concatenate([new, old[10_000:]])
            flagged.append(model.novelty(new).is_novel.mean())
            model.partial_fit(epoch)
            labels = model.predict(np.concatenate([new, old[:5000]]))
            own = np.bincount(labels[:30]).argmax()
            recalls.append((labels[:30] == own).mean())
            intruders.append((labels[30:] == own).mean())
    assert len(flagged) == 6
    assert np.median(flagged) >= 0.9
    assert np.median(recalls) >= 0.85 and np.median(intruders) <= 0.01


def test_a_budget_for_fewer_clusters_than_there_are_runs_and_warns():
    """AT16: digits, 8 clumps."""
    digits = PCA(20, random_state=0).fit_transform(load_digits().data)
    clump = 231
    memory = -(-8 * clump // 20)
    with pytest.warns(BudgetWarning), warnings.catch_warnings():
        warnings.simplefilter("always", BudgetWarning)
        model = streamed(digits[:1500], memory=memory, epoch=100, width=0.05)
    assert model.n_clusters_ <= memory * 20 // clump + 1
    assert model.snapshot_.memory["values"] <= memory * 20


def completion(model, rows, documents):
    """Mean log density of every second item of new documents, whose proportions come from the other items."""
    seen = np.arange(len(rows)) % 2 == 0
    shares = model.fold_in(rows[seen], documents[seen])
    log_density = model.clusters_.log_predictive(rows[~seen])
    return logsumexp(log_density + np.log(shares[documents[~seen] - documents.min()]), axis=1).mean()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_a_stream_of_documents_comes_close_to_the_fit_of_all_documents(seed):
    """AT19: rounds of 5 documents, 6,000 stored numbers, 8 % of the items."""
    (rows, documents, _), (new_rows, new_documents, _) = topic_stream(seed)
    model = MemoryBoundedTopicModel(memory=2000, epoch=1500, horizon=len(rows)).partial_fit(rows, groups=documents)
    batch = MemoryBoundedTopicModel(memory=10**7, epoch=len(rows)).partial_fit(rows, groups=documents)
    gap = batch.lower_bound_ - model.lower_bound_
    assert 1 - gap / abs(batch.lower_bound_) >= 0.96 and gap / len(rows) <= 0.15
    loss = completion(batch, new_rows, new_documents) - completion(model, new_rows, new_documents)
    assert loss <= 0.15


@pytest.mark.slow
@pytest.mark.parametrize("max_groups", [None, 20])
def test_images_of_the_same_class_are_retrieved(max_groups):
    """AT21: 40 images of four mixtures of topics, 40 queries."""
    rng = np.random.default_rng(0)
    centres = 3 * rng.normal(size=(8, 3))
    mixtures = rng.dirichlet(np.full(8, 0.3), 4)
    classes = np.arange(80) % 4
    shares = np.stack([rng.dirichlet(20 * mixtures[each] + 0.05) for each in classes])
    topics = np.stack([rng.choice(8, 200, p=share) for share in shares])
    items = centres[topics] + 0.7 * rng.normal(size=(80, 200, 3))
    model = MemoryBoundedTopicModel(memory=3000, epoch=2000, max_groups=max_groups)
    model.partial_fit(items[:40].reshape(-1, 3), groups=np.repeat(np.arange(40), 200))
    gallery = None if max_groups is None else {number: items[number] for number in range(40)}
    nearest = [int(model.retrieve(query, top=1, gallery=gallery)[0][0]) for query in items[40:]]
    assert (classes[nearest] == classes[40:]).mean() >= 0.9
    assert all(number in model.retrieve(items[number], top=5, gallery=gallery)[0] for number in range(40))
