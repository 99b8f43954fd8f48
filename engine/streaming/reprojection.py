"""The memory of a stream in new features y = A x + b. Means and covariances of clumps map exactly, without the rows."""

from dataclasses import replace

import numpy as np

from benthoscope.engine.compute import blas_threads
from benthoscope.engine.distributions import Clusters, GaussianGamma, GaussianWishart
from benthoscope.engine.mixtures.data import Frame, Summary
from benthoscope.engine.mixtures.fitted import FittedMixture
from benthoscope.engine.mixtures.inference import step
from benthoscope.engine.mixtures.model import Statistics
from benthoscope.engine.problems import fail
from benthoscope.engine.streaming.learning import StreamSettings, StreamState
from benthoscope.engine.streaming.recent_rows import left_out_densities
from benthoscope.engine.streaming.units import UnitRows, Units


def mapped_state(state: StreamState, settings: StreamSettings, A: np.ndarray, b: np.ndarray | float) -> StreamState:
    """Return the state in the new features. Each unit keeps its responsibilities for the first update."""
    _check_map(state.units.kind, A)
    frame = Frame(A @ state.frame.origin + b, state.frame.scale)
    summary = _summary(mapped_sums(state.units.kind, state.units.total()[None], A)[0], state.units.kind, A, frame)
    prior = settings.family.prior(summary, frame, settings.width)
    units = Units(prior, state.units.points @ A.T, mapped_sums(state.units.kind, state.units.sums, A))
    model = replace(state.model, clusters=prior)
    snapshot = state.published
    with blas_threads(1):
        shares = UnitRows(state.units).responsibilities(snapshot.mixture.parameters.scorer(state.model.clusters))
        data = UnitRows(units)
        owned = shares * data.weights
        moments = owned @ units.averages(slice(None))
        fit = step(model, data, Statistics(owned.sum(1)[None], moments, np.array([data.total])))
        offset = -data.total * len(frame.origin) * float(np.log(frame.scale))
        mixture = FittedMixture(fit.parameters, fit.statistics, prior, frame, fit.bound + offset)
        published = replace(snapshot, mixture=mixture)
        recent = state.recent @ A.T
        scores = left_out_densities(published, recent)
    return replace(
        state, frame=frame, first_rows=None, model=model, units=units, recent=recent, scores=scores, snapshot=published
    )


def mapped_sums(kind: Clusters, sums: np.ndarray, A: np.ndarray) -> np.ndarray:
    """Return summed statistics (n, F) of rows x as those of the rows A x."""
    D, count = kind.n_features, sums[:, :1]
    values = sums[:, 1 : D + 1] @ A.T
    if isinstance(kind, GaussianGamma):
        return np.hstack([count, values, sums[:, D + 1 :] * np.diagonal(A) ** 2])
    upper, mapped_upper = np.triu_indices(D), np.triu_indices(len(A))
    products = np.empty((len(sums), D, D))
    products[:, upper[0], upper[1]] = products[:, upper[1], upper[0]] = sums[:, D + 1 :]
    mapped = A @ products @ A.T
    return np.hstack([count, values, mapped[:, mapped_upper[0], mapped_upper[1]]])


def _check_map(kind: Clusters, A: np.ndarray) -> None:
    D = kind.n_features
    if A.ndim != 2 or A.shape[1] != D:
        raise fail("A", f"has shape {A.shape}", f"give a matrix with {D} columns, one per feature")
    if isinstance(kind, GaussianGamma) and not (len(A) == D and np.array_equal(A, np.diag(np.diagonal(A)))):
        raise fail("A", "mixes columns, whose covariances a diagonal model does not store", "use observation='full'")
    if not isinstance(kind, GaussianGamma | GaussianWishart):
        raise fail("A", "counts of words cannot be mapped", "use observation='full' or 'diagonal'")


def _summary(total: np.ndarray, kind: Clusters, A: np.ndarray, frame: Frame) -> Summary:
    """Return the summary of all rows in the new features, from their summed statistics in units of the frame."""
    D, count = len(A), total[0]
    mean = total[1 : D + 1] / count
    products = np.zeros((D, D))
    if isinstance(kind, GaussianGamma):
        products[np.arange(D), np.arange(D)] = total[D + 1 :] - count * mean**2
    else:
        upper = np.triu_indices(D)
        products[upper] = products.T[upper] = total[D + 1 :] - count * mean[upper[0]] * mean[upper[1]]
    return Summary(round(float(count)), frame.origin + frame.scale * mean, frame.scale**2 * products, 0.0, None)
