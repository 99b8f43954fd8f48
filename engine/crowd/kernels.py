"""Compiled loops over judgements. They release the interpreter lock and change only the arrays passed as outputs.

An item is represented by phi = (packed second moment (p), mean (D)), so that each sum over a group is a sum over rows
of phi.
"""

import math

import numba
import numpy as np

QUICK = {"contract", "reassoc", "nsz", "arcp"}  # sums may be reordered; NaN and infinity keep their meaning
FLOOR = 1e-12  # lower limit of E[A^2], because its root is a divisor
TINY = 1e-4  # below this value, tanh(d / 2) / d is computed by its series
RENEW = 256  # number of factors of at most 2 that are multiplied before one logarithm is computed


@numba.njit(cache=True, nogil=True, fastmath=QUICK)
def sum_group(begin, end, other, weight, net, phi, D, p, sums, signed):
    """Sum over one group: weight * phi into `sums` (p + D,), and net * mean into `signed` (D,)."""
    sums[:] = 0.0
    signed[:] = 0.0
    for at in range(begin, end):
        row = phi[other[at]]
        w, n = weight[at], net[at]
        for f in range(p + D):
            sums[f] += w * row[f]
        for d in range(D):
            signed[d] += n * row[p + d]


@numba.njit(cache=True, nogil=True, fastmath=QUICK)
def add_spread(spread, sums, out):
    """Compute out (p,) += spread (p, p) @ sums[:p]. `spread` is transposed so that the inner loop reads contiguous
    memory."""
    p = out.size
    for m in range(p):
        s = sums[m]
        for n in range(p):
            out[n] += spread[m, n] * s


@numba.njit(cache=True, nogil=True)
def solve(precision, target, D, mean, variance):
    """Compute mean = precision^-1 target and variance = 1 / diagonal. Overwrites `precision` (packed) and `target`."""
    for e in range(D):
        variance[e] = 1.0 / precision[e * (e + 1) // 2 + e]
    for e in range(D):  # Cholesky in place: column e of the packed upper factor
        for d in range(e + 1):
            total = precision[e * (e + 1) // 2 + d]
            for f in range(d):
                total -= precision[e * (e + 1) // 2 + f] * precision[d * (d + 1) // 2 + f]
            if d < e:
                precision[e * (e + 1) // 2 + d] = total / precision[d * (d + 1) // 2 + d]
            else:
                precision[e * (e + 1) // 2 + e] = math.sqrt(total)
    for e in range(D):
        for f in range(e):
            target[e] -= precision[e * (e + 1) // 2 + f] * target[f]
        target[e] /= precision[e * (e + 1) // 2 + e]
    for e in range(D - 1, -1, -1):
        total = target[e]
        for f in range(e + 1, D):
            total -= precision[f * (f + 1) // 2 + e] * mean[f]
        mean[e] = total / precision[e * (e + 1) // 2 + e]


@numba.njit(cache=True, nogil=True)
def see(mean, variance, row, D):
    """Write phi of one item."""
    at = 0
    for e in range(D):
        for d in range(e + 1):
            row[at] = mean[d] * mean[e]
            at += 1
        row[at - 1] += variance[e]
    for d in range(D):
        row[at + d] = mean[d]


@numba.njit(cache=True, nogil=True, fastmath=QUICK)
def update_items(
    item_start,
    item_groups,
    start,
    worker,
    other,
    weight,
    net,
    matrices,
    spread,
    bias,
    prior_variance,
    mean,
    variance,
    phi,
):
    """Update each judged item in turn with the newest values of the others (x-update, methods note 2.5)."""
    N, D = mean.shape
    p = D * (D + 1) // 2
    sums, signed = np.empty(p + D), np.empty(D)
    precision, target, pull = np.empty(p), np.empty(D), np.empty(D)
    for i in range(N):
        if item_start[i] == item_start[i + 1]:
            continue
        precision[:] = 0.0
        target[:] = 0.0
        for e in range(D):
            precision[e * (e + 1) // 2 + e] = 1.0 / prior_variance
        for k in range(item_start[i], item_start[i + 1]):
            g = item_groups[k]
            j = worker[g]
            sum_group(start[g], start[g + 1], other, weight, net, phi, D, p, sums, signed)
            add_spread(spread[j], sums, precision)
            for d in range(D):
                pull[d] = 0.5 * signed[d] - bias[j] * sums[p + d]
            for d in range(D):
                for e in range(D):
                    target[e] += matrices[j, d, e] * pull[d]
        solve(precision, target, D, mean[i], variance[i])
        see(mean[i], variance[i], phi[i], D)


@numba.njit(cache=True, nogil=True, fastmath=QUICK)
def worker_sums(worker_start, start, item, other, weight, net, phi, D):
    """Sum per worker over its groups: phi' (p) x weighted phi (p), mean x weighted mean, and mean x net mean / 2."""
    J = worker_start.size - 1
    p = D * (D + 1) // 2
    outer, weighted, signed_outer = np.zeros((J, p, p)), np.zeros((J, D, D)), np.zeros((J, D, D))
    sums, signed = np.empty(p + D), np.empty(D)
    for j in range(J):
        for g in range(worker_start[j], worker_start[j + 1]):
            sum_group(start[g], start[g + 1], other, weight, net, phi, D, p, sums, signed)
            row = phi[item[g]]
            for n in range(p):
                v = row[n]
                for m in range(p):
                    outer[j, n, m] += v * sums[m]
            for d in range(D):
                v = row[p + d]
                for e in range(D):
                    weighted[j, d, e] += v * sums[p + e]
                    signed_outer[j, d, e] += 0.5 * v * signed[e]
    return outer, weighted, signed_outer


@numba.njit(cache=True, nogil=True, fastmath=QUICK)
def prepare_group(position, spread, matrix, mult, D, p, spread_own, turned):
    """Compute the values that the pairs of one group share: spread_own (p,), weighted by multiplicity, and W x (D,)."""
    spread_own[:] = 0.0
    add_spread(spread, position, spread_own)
    for n in range(p):
        spread_own[n] *= mult[n]
    for d in range(D):
        turned[d] = 0.0
        for e in range(D):
            turned[d] += matrix[d, e] * position[p + e]


@numba.njit(cache=True, nogil=True, fastmath=QUICK)
def meet(row, spread_own, turned, bias, bias_variance, D, p):
    """Return (E[A], E[A^2]) of one pair."""
    square, product = 0.0, 0.0
    for n in range(p):
        square += spread_own[n] * row[n]
    for d in range(D):
        product += turned[d] * row[p + d]
    return product + bias, square + 2.0 * bias * product + bias * bias + bias_variance


@numba.njit(cache=True, nogil=True, fastmath=QUICK)
def retouch(
    start, item, worker, other, mirror, count, net, phi, matrices, spread, bias, bias_variance, mult, delta, weight
):
    """Update Delta of all pairs: writes delta and weight = 2 |lam| count. Returns the part of the bound that the
    judgements contribute afterwards.

    For speed, logarithms of 1 + exp(-delta) are computed for products of many such factors.
    """
    D = matrices.shape[1]
    p = D * (D + 1) // 2
    spread_own, turned = np.empty(p), np.empty(D)
    total, product, pending = 0.0, 1.0, 0
    for g in range(item.size):
        i, j = item[g], worker[g]
        prepare_group(phi[i], spread[j], matrices[j], mult, D, p, spread_own, turned)
        for at in range(start[g], start[g + 1]):
            if other[at] < i:
                continue  # the mirror entry covers this pair
            activity, square = meet(phi[other[at]], spread_own, turned, bias[j], bias_variance[j], D, p)
            root = math.sqrt(max(square, FLOOR))
            away = math.exp(-root)
            if root > TINY:
                bend = (1.0 - away) / ((1.0 + away) * root)  # tanh(root / 2) / root
            else:
                bend = 0.5 - root * root / 24.0
            n = count[at]
            weight[at] = weight[mirror[at]] = 0.5 * bend * n
            delta[at] = delta[mirror[at]] = root
            total += 0.5 * (net[at] * activity - n * root)
            if n == 1.0:
                product *= 1.0 + away
                pending += 1
                if pending == RENEW:
                    total -= math.log(product)
                    product, pending = 1.0, 0
            else:
                total -= n * math.log1p(away)
    return total - math.log(product)


@numba.njit(cache=True, nogil=True, fastmath=QUICK)
def activities(start, item, worker, other, phi, matrices, spread, bias, bias_variance, mult):
    """(E[A], E[A^2]) of every entry (E,)."""
    D = matrices.shape[1]
    p = D * (D + 1) // 2
    spread_own, turned = np.empty(p), np.empty(D)
    first, second = np.empty(other.size), np.empty(other.size)
    for g in range(item.size):
        j = worker[g]
        prepare_group(phi[item[g]], spread[j], matrices[j], mult, D, p, spread_own, turned)
        for at in range(start[g], start[g + 1]):
            first[at], second[at] = meet(phi[other[at]], spread_own, turned, bias[j], bias_variance[j], D, p)
    return first, second
