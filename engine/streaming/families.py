"""The distributions of a cluster in a stream, and their priors, which the first rows set once and for all."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from benthoscope.engine.compute import InOrder
from benthoscope.engine.distributions import Clusters, DirichletCategorical, GaussianGamma, GaussianWishart
from benthoscope.engine.mixtures.data import Frame, Summary, summarised
from benthoscope.engine.problems import fail, unknown

STRENGTH = 0.01  # pseudo-rows of the prior mean: it hardly matters where a cluster is
EXTRA_FREEDOM = 2  # beyond the columns, so that the expected covariance of the prior exists
SMALLEST_SCALE = 1e-150  # of a frame; rows in smaller units would lose their digits when squared


class StreamFamily(Protocol):
    def frame(self, summary: Summary) -> Frame:
        """Return the units of the computation, from the first rows."""
        ...

    def prior(self, summary: Summary, frame: Frame, width: float) -> Clusters:
        """Return the prior in units of the frame."""
        ...


@dataclass(frozen=True)
class _Gaussian:
    """A cluster is expected to have `width` times the variance of all rows along their first principal axis, in every
    direction."""

    full: bool

    def frame(self, summary: Summary) -> Frame:
        return Frame(summary.mean, max(float(np.sqrt(summary.largest_variance)), SMALLEST_SCALE))

    def prior(self, summary: Summary, frame: Frame, width: float) -> Clusters:
        D = len(frame.origin)
        mean = ((summary.mean - frame.origin) / frame.scale)[None]
        variance = width * summary.largest_variance / frame.scale**2
        strength = np.full(1, STRENGTH)
        if self.full:
            freedom = float(D + EXTRA_FREEDOM)
            return GaussianWishart(mean, strength, np.full(1, freedom), np.sqrt(freedom * variance) * np.eye(D)[None])
        shape = (1.0 + EXTRA_FREEDOM) / 2  # what the full prior gives a single column
        return GaussianGamma(mean, strength, np.full(1, shape), np.full((1, D), shape * variance))


@dataclass(frozen=True)
class _Discrete:
    """Rows of counts of words; an item is a row with a single 1. `width` is the prior count of every word."""

    def frame(self, summary: Summary) -> Frame:
        return Frame(np.zeros(len(summary.mean)), 1.0)

    def prior(self, summary: Summary, frame: Frame, width: float) -> Clusters:
        if summary.lowest < 0:
            raise fail(
                "X",
                f"Negative values in data: the smallest count is {summary.lowest:g}",
                "give counts of words, or use observation='full' or 'diagonal'",
            )
        return DirichletCategorical.prior(len(summary.mean), width)


FAMILIES: dict[str, StreamFamily] = {
    "diagonal": _Gaussian(full=False),
    "discrete": _Discrete(),
    "full": _Gaussian(full=True),
}


class PriorSettings(Protocol):
    """The settings of a stream that its prior depends on."""

    @property
    def family(self) -> StreamFamily: ...

    @property
    def width(self) -> float: ...

    @property
    def prior_rows(self) -> int: ...


def first_prior(settings: PriorSettings, rows: np.ndarray) -> tuple[Frame, Summary, Clusters]:
    """Return a frame that suits the first rows, their summary, and the prior that they give."""
    summary = summarised(rows[: settings.prior_rows], InOrder())
    frame = settings.family.frame(summary)
    return frame, summary, settings.family.prior(summary, frame, settings.width)


def later_prior(
    settings: PriorSettings, frame: Frame, first_rows: Summary, rows_before: int, rows: np.ndarray
) -> tuple[Clusters, Summary | None]:
    """Return the prior after more rows, of which only the first `prior_rows` of the stream count, and their summary;
    None for the summary once the prior is final. `rows_before` is the number of rows before these."""
    fresh = summarised(rows[: max(settings.prior_rows - rows_before, 0)], InOrder())
    summary = fresh if rows_before == 0 else first_rows + fresh
    is_final = rows_before + len(rows) >= settings.prior_rows
    return settings.family.prior(summary, frame, settings.width), None if is_final else summary


def family_named(word: str) -> StreamFamily:
    if word not in FAMILIES:
        raise unknown("observation", str(word), FAMILIES)
    return FAMILIES[word]
