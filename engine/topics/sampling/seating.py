"""The state of the collapsed Gibbs sampler and one sweep over descriptors (methods note 2.1 to 2.4).

In the Chinese restaurant franchise, a descriptor sits at a table of its topic, and a table serves one cluster. Topic
weights, cluster parameters and stick weights are integrated out.
"""

import math
from typing import NamedTuple

import numba
import numpy as np

from benthoscope.engine.distributions import SphericalGaussian

LIVE, TABLES, FREE = 0, 1, 2  # positions in `Seating.totals`
NOBODY = -1


class Seating(NamedTuple):
    """All arrays of the sampler: n descriptors, N documents, T topics, room for K clusters. Changed in place."""

    x: np.ndarray  # (n, D)
    document: np.ndarray  # (n,)
    topic: np.ndarray  # (n,) -1: not seated yet
    table: np.ndarray  # (n,)
    document_topics: np.ndarray  # (N, T)
    document_sizes: np.ndarray  # (N,) seated descriptors
    table_cluster: np.ndarray  # (n,) of each table
    table_count: np.ndarray  # (n,)
    table_next: np.ndarray  # (n,) tables of one topic and cluster form a list
    table_before: np.ndarray  # (n,)
    first_table: np.ndarray  # (T, K) -1: none
    free_tables: np.ndarray  # (n,) stack
    topic_clusters: np.ndarray  # (T, K) descriptors
    topic_sizes: np.ndarray  # (T,)
    cluster_tables: np.ndarray  # (K,)
    cluster_sizes: np.ndarray  # (K,)
    mean: np.ndarray  # (K, D)
    rate: np.ndarray  # (K,)
    constant: np.ndarray  # (K + 1,) of the log predictive density; the last one belongs to an empty cluster
    live: np.ndarray  # (K,) numbers of the clusters in use, then those of free ones
    place: np.ndarray  # (K,) position in `live`
    totals: np.ndarray  # (3,) clusters in use, tables in use, free tables
    prior_mean: np.ndarray  # (D,)
    prior: np.ndarray  # (3,) strength, shape, rate


class ClassPriors(NamedTuple):
    """Dirichlet priors of topic weights for each of Y classes. A document of class -1 has no known class."""

    alpha: np.ndarray  # (Y, T)
    log_share: np.ndarray  # (Y,)
    document_class: np.ndarray  # (N,)
    log_weight: np.ndarray  # (N, Y) log p(topics of the document | class), for documents without a class


def empty_seating(x: np.ndarray, document: np.ndarray, N: int, T: int, base: SphericalGaussian, room: int) -> Seating:
    """Return the state before any descriptor has a seat."""
    n = len(x)
    i64 = np.int64
    prior = np.array([base.strength[0], base.shape[0], base.rate[0]])
    seating = Seating(
        np.ascontiguousarray(x, float), document.astype(i64), np.full(n, NOBODY, i64), np.full(n, NOBODY, i64),
        np.zeros((N, T), i64), np.zeros(N, i64), np.full(n, NOBODY, i64), np.zeros(n, i64),
        np.full(n, NOBODY, i64), np.full(n, NOBODY, i64), np.full((T, room), NOBODY, i64),
        np.arange(n, dtype=i64)[::-1].copy(), np.zeros((T, room), i64), np.zeros(T, i64), np.zeros(room, i64),
        np.zeros(room, i64), np.tile(base.mean[0], (room, 1)), np.full(room, prior[2]), np.zeros(room + 1),
        np.arange(room, dtype=i64), np.arange(room, dtype=i64), np.array([0, 0, n], i64),
        base.mean[0].copy(), prior,
    )  # fmt: skip
    _refresh_constant(seating, room)
    return seating


def with_room(seating: Seating, room: int) -> Seating:
    """Return the same state with room for more clusters."""
    T, old = seating.first_table.shape
    D = seating.x.shape[1]
    added = room - old
    wider = {
        "first_table": np.full((T, added), NOBODY),
        "topic_clusters": np.zeros((T, added), np.int64),
        "cluster_tables": np.zeros(added, np.int64),
        "cluster_sizes": np.zeros(added, np.int64),
        "mean": np.tile(seating.prior_mean, (added, 1)).reshape(added, D),
        "rate": np.full(added, seating.prior[2]),
        "live": np.arange(old, room),
        "place": np.arange(old, room),
    }
    grown = {
        name: np.concatenate([getattr(seating, name), values], axis=1 if values.ndim == 2 and name != "mean" else 0)
        for name, values in wider.items()
    }
    constant = np.zeros(room + 1)
    constant[:old], constant[room] = seating.constant[:old], seating.constant[old]
    return seating._replace(**{name: np.ascontiguousarray(value) for name, value in grown.items()}, constant=constant)


@numba.njit(cache=True, nogil=True)
def _refresh_constant(s, k):
    """Set the term of the log predictive density of cluster k that does not depend on the descriptor."""
    D = s.x.shape[1]
    empty = k == s.rate.size
    count = 0 if empty else s.cluster_sizes[k]
    rate = s.prior[2] if empty else s.rate[k]
    nu, a = s.prior[0] + count, s.prior[1] + 0.5 * D * count
    s.constant[k] = (
        0.5 * D * (math.log(nu / (nu + 1)) - math.log(2 * math.pi))
        + math.lgamma(a + 0.5 * D) - math.lgamma(a) + a * math.log(rate)
    )  # fmt: skip


@numba.njit(cache=True, nogil=True)
def _log_density(s, i, k):
    """Return the log predictive density of descriptor i in cluster k; K stands for an empty cluster."""
    D = s.x.shape[1]
    empty = k == s.rate.size
    count = 0 if empty else s.cluster_sizes[k]
    rate = s.prior[2] if empty else s.rate[k]
    nu, a = s.prior[0] + count, s.prior[1] + 0.5 * D * count
    far = 0.0
    if empty:
        for d in range(D):
            far += (s.x[i, d] - s.prior_mean[d]) ** 2
    else:
        for d in range(D):
            far += (s.x[i, d] - s.mean[k, d]) ** 2
    return s.constant[k] - (a + 0.5 * D) * math.log(rate + 0.5 * nu / (nu + 1) * far)


@numba.njit(cache=True, nogil=True)
def _enter_cluster(s, i, k):
    nu = s.prior[0] + s.cluster_sizes[k]
    far = 0.0
    for d in range(s.x.shape[1]):
        gap = s.x[i, d] - s.mean[k, d]
        far += gap * gap
        s.mean[k, d] += gap / (nu + 1)
    s.rate[k] += 0.5 * nu / (nu + 1) * far
    s.cluster_sizes[k] += 1
    _refresh_constant(s, k)


@numba.njit(cache=True, nogil=True)
def _leave_cluster(s, i, k):
    s.cluster_sizes[k] -= 1
    if s.cluster_sizes[k] == 0:
        s.mean[k] = s.prior_mean
        s.rate[k] = s.prior[2]
    else:
        nu = s.prior[0] + s.cluster_sizes[k]  # after the removal
        far = 0.0
        for d in range(s.x.shape[1]):
            s.mean[k, d] += (s.mean[k, d] - s.x[i, d]) / nu
            far += (s.x[i, d] - s.mean[k, d]) ** 2
        s.rate[k] -= 0.5 * nu / (nu + 1) * far
    _refresh_constant(s, k)


@numba.njit(cache=True, nogil=True)
def _open_cluster(s):
    k = s.live[s.totals[LIVE]]
    s.totals[LIVE] += 1
    return k


@numba.njit(cache=True, nogil=True)
def _close_cluster(s, k):
    """Move cluster k behind the clusters in use."""
    last = s.totals[LIVE] - 1
    other, at = s.live[last], s.place[k]
    s.live[at], s.live[last] = other, k
    s.place[other], s.place[k] = at, last
    s.totals[LIVE] = last


@numba.njit(cache=True, nogil=True)
def _open_table(s, z, k):
    s.totals[FREE] -= 1
    t = s.free_tables[s.totals[FREE]]
    follower = s.first_table[z, k]
    s.table_cluster[t], s.table_next[t], s.table_before[t] = k, follower, NOBODY
    if follower != NOBODY:
        s.table_before[follower] = t
    s.first_table[z, k] = t
    s.cluster_tables[k] += 1
    s.totals[TABLES] += 1
    return t


@numba.njit(cache=True, nogil=True)
def _close_table(s, z, t):
    k, before, after = s.table_cluster[t], s.table_before[t], s.table_next[t]
    if before == NOBODY:
        s.first_table[z, k] = after
    else:
        s.table_next[before] = after
    if after != NOBODY:
        s.table_before[after] = before
    s.free_tables[s.totals[FREE]] = t
    s.totals[FREE] += 1
    s.totals[TABLES] -= 1
    s.cluster_tables[k] -= 1
    if s.cluster_tables[k] == 0:
        _close_cluster(s, k)


@numba.njit(cache=True, nogil=True)
def seat(s, i, z, t):
    """Give descriptor i the table t of topic z."""
    k, d = s.table_cluster[t], s.document[i]
    s.topic[i], s.table[i] = z, t
    s.table_count[t] += 1
    s.document_topics[d, z] += 1
    s.document_sizes[d] += 1
    s.topic_clusters[z, k] += 1
    s.topic_sizes[z] += 1
    _enter_cluster(s, i, k)


@numba.njit(cache=True, nogil=True)
def unseat(s, i):
    z, t, d = s.topic[i], s.table[i], s.document[i]
    k = s.table_cluster[t]
    s.table_count[t] -= 1
    s.document_topics[d, z] -= 1
    s.document_sizes[d] -= 1
    s.topic_clusters[z, k] -= 1
    s.topic_sizes[z] -= 1
    _leave_cluster(s, i, k)
    s.topic[i] = s.table[i] = NOBODY
    if s.table_count[t] == 0:
        _close_table(s, z, t)


@numba.njit(cache=True, nogil=True)
def topic_prior_weights(counts, size, classes, d, out):
    """Write the prior weight of each topic for one more descriptor of document d (methods note 2.2)."""
    T = counts.size
    y = classes.document_class[d]
    if y >= 0:
        for t in range(T):
            out[t] = classes.alpha[y, t] + counts[t]
        return
    Y = classes.alpha.shape[0]
    highest = -np.inf
    for c in range(Y):
        highest = max(highest, classes.log_share[c] + classes.log_weight[d, c])
    for t in range(T):
        out[t] = 0.0
    for c in range(Y):
        weight = math.exp(classes.log_share[c] + classes.log_weight[d, c] - highest)
        total = classes.alpha[c].sum() + size
        for t in range(T):
            out[t] += weight * (classes.alpha[c, t] + counts[t]) / total


@numba.njit(cache=True, nogil=True)
def shift_class_weights(counts, size, classes, d, t, sign):
    """Update log p(topics of document d | class) when a descriptor of topic t joins (1) or has left (-1). `counts` and
    `size` are without it."""
    if classes.document_class[d] >= 0:
        return
    for c in range(classes.alpha.shape[0]):
        gain = math.log(classes.alpha[c, t] + counts[t]) - math.log(classes.alpha[c].sum() + size)
        classes.log_weight[d, c] += sign * gain


@numba.njit(cache=True, nogil=True)
def random_position(weights, count, uniform):
    total = 0.0
    for j in range(count):
        total += weights[j]
    goal = uniform * total
    for j in range(count):
        goal -= weights[j]
        if goal < 0:
            return j
    for j in range(count - 1, -1, -1):
        if weights[j] > 0:
            return j
    return 0


@numba.njit(cache=True, nogil=True)
def _table_of(s, z, k, uniform):
    goal = uniform * s.topic_clusters[z, k]
    t = s.first_table[z, k]
    while s.table_next[t] != NOBODY:
        goal -= s.table_count[t]
        if goal < 0:
            return t
        t = s.table_next[t]
    return t


@numba.njit(cache=True, nogil=True)
def sweep(s, classes, topic_concentration, concentration, uniforms, begin, end):
    """Draw the seats of descriptors begin to end again. Returns the descriptor before which room for a new cluster is
    needed, or `end`. `uniforms` (end - begin, 4) are random numbers in 0..1."""
    K, T = s.rate.size, s.topic_sizes.size
    density, weights, topics = np.empty(K + 1), np.empty(K + 1), np.empty(T)
    of_new, prior = 0.0, np.empty(T)
    for i in range(begin, end):
        if s.totals[LIVE] == K:
            return i
        d = s.document[i]
        if s.topic[i] >= 0:
            z = s.topic[i]
            unseat(s, i)
            shift_class_weights(s.document_topics[d], s.document_sizes[d], classes, d, z, -1)
        live = s.totals[LIVE]
        density[live] = _log_density(s, i, K)
        highest = density[live]
        for j in range(live):
            density[j] = _log_density(s, i, s.live[j])
            highest = max(highest, density[j])
        of_new = 0.0
        for j in range(live + 1):
            density[j] = math.exp(density[j] - highest)
            of_new += density[j] * (concentration if j == live else s.cluster_tables[s.live[j]])
        of_new /= s.totals[TABLES] + concentration
        topic_prior_weights(s.document_topics[d], s.document_sizes[d], classes, d, prior)
        for z in range(T):
            likelihood = topic_concentration * of_new
            for j in range(live):
                likelihood += s.topic_clusters[z, s.live[j]] * density[j]
            topics[z] = prior[z] * likelihood / (s.topic_sizes[z] + topic_concentration)
        z = random_position(topics, T, uniforms[i - begin, 0])
        for j in range(live):
            weights[j] = s.topic_clusters[z, s.live[j]] * density[j]
        weights[live] = topic_concentration * of_new
        j = random_position(weights, live + 1, uniforms[i - begin, 1])
        if j < live:
            t = _table_of(s, z, s.live[j], uniforms[i - begin, 2])
        else:
            for j in range(live):
                weights[j] = s.cluster_tables[s.live[j]] * density[j]
            weights[live] = concentration * density[live]
            j = random_position(weights, live + 1, uniforms[i - begin, 3])
            t = _open_table(s, z, s.live[j] if j < live else _open_cluster(s))
        shift_class_weights(s.document_topics[d], s.document_sizes[d], classes, d, z, 1)
        seat(s, i, z, t)
    return end


@numba.njit(cache=True, nogil=True)
def seat_start(s, topics, clusters):
    """Seat all descriptors by given topics and clusters (0, 1, ...), with one table for each pair."""
    for _ in range(clusters.max() + 1):
        _open_cluster(s)
    for i in range(topics.size):
        z, k = topics[i], clusters[i]
        t = s.first_table[z, k]
        if t == NOBODY:
            t = _open_table(s, z, k)
        seat(s, i, z, t)


@numba.njit(cache=True, nogil=True)
def sweep_topics(log_likelihood, document, topics, counts, sizes, classes, uniforms):
    """Draw only the topics of new descriptors again, under fixed likelihoods (n, T)."""
    T = counts.shape[1]
    weights = np.empty(T)
    for i in range(topics.size):
        d = document[i]
        if topics[i] >= 0:
            counts[d, topics[i]] -= 1
            sizes[d] -= 1
            shift_class_weights(counts[d], sizes[d], classes, d, topics[i], -1)
        topic_prior_weights(counts[d], sizes[d], classes, d, weights)
        highest = log_likelihood[i].max()
        for t in range(T):
            weights[t] *= math.exp(log_likelihood[i, t] - highest)
        z = random_position(weights, T, uniforms[i])
        shift_class_weights(counts[d], sizes[d], classes, d, z, 1)
        topics[i] = z
        counts[d, z] += 1
        sizes[d] += 1
