"""The possible distributions of a cluster, and how their priors are derived from the data (methods note 3.5)."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from benthoscope.engine.distributions import (
    Clusters,
    DirichletCategorical,
    GammaExponential,
    GaussianGamma,
    GaussianWishart,
)
from benthoscope.engine.mixtures.data import Frame, Summary
from benthoscope.engine.problems import fail, unknown


class Family(Protocol):
    def frame(self, summary: Summary) -> Frame:
        """Return the frame of the search: origin at the mean of the rows, scale equal to the largest principal standard
        deviation."""
        ...

    def prior(self, frame: Frame, width: float, scaled: bool) -> Clusters:
        """Return the prior in units of the frame. `width` is the prior variance of a cluster divided by the largest
        principal variance."""
        ...


@dataclass(frozen=True)
class Gaussian:
    kind: type[GaussianWishart] | type[GaussianGamma]

    def frame(self, summary: Summary) -> Frame:
        return Frame(summary.mean, float(np.sqrt(summary.largest_variance)))

    def prior(self, frame: Frame, width: float, scaled: bool) -> Clusters:
        return self.kind.prior(np.zeros(len(frame.origin)), width if scaled else width / frame.scale**2)


@dataclass(frozen=True)
class Exponential:
    """Exponential columns. Rates have no origin; the scale is the mean over all columns, and `width` is the prior mean
    divided by it."""

    def frame(self, summary: Summary) -> Frame:
        if summary.lowest < 0:
            raise fail(
                "X",
                f"has negative values (the smallest is {summary.lowest:g})",
                "exponential clusters need values of zero or more; use observation='full' or 'diagonal'",
            )
        return Frame(np.zeros(len(summary.mean)), float(summary.mean.mean()) or 1.0)

    def prior(self, frame: Frame, width: float, scaled: bool) -> Clusters:
        return GammaExponential.prior(np.full(len(frame.origin), width if scaled else width / frame.scale), 1.0)


FAMILIES: dict[str, Family] = {
    "diagonal": Gaussian(GaussianGamma),
    "exponential": Exponential(),
    "full": Gaussian(GaussianWishart),
}
KINDS: dict[str, type] = {
    kind.__name__: kind for kind in (DirichletCategorical, GammaExponential, GaussianGamma, GaussianWishart)
}


def family_named(word: str) -> Family:
    if word not in FAMILIES:
        raise unknown("observation", str(word), FAMILIES)
    return FAMILIES[word]
