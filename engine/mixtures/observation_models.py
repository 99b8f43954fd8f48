"""The distributions a cluster may have, and how their priors are set from the data (methods note 3.5)."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from engine.distributions import Clusters, GammaExponential, GaussianGamma, GaussianWishart
from engine.mixtures.observations import Frame
from engine.mixtures.summary import Summary
from engine.problems import fail, unknown


class Family(Protocol):
    def frame(self, summary: Summary) -> Frame:
        """How the search sees the rows: about their mean, in units of the largest principal deviation."""
        ...

    def prior(self, frame: Frame, width: float, scaled: bool) -> Clusters:
        """In units of the frame. `width` is the a priori variance of a cluster over the largest principal variance."""
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
    """Rates have no origin; the scale is the mean over all columns, `width` the a priori mean over it."""

    def frame(self, summary: Summary) -> Frame:
        if summary.lowest < 0:
            raise fail("X", f"has negative values (the least is {summary.lowest:g})",
                       "exponential clusters take values from zero up; use observation='full' or 'diagonal'")
        return Frame(np.zeros(len(summary.mean)), float(summary.mean.mean()) or 1.0)

    def prior(self, frame: Frame, width: float, scaled: bool) -> Clusters:
        return GammaExponential.prior(np.full(len(frame.origin), width if scaled else width / frame.scale), 1.0)


FAMILIES: dict[str, Family] = {
    "diagonal": Gaussian(GaussianGamma), "exponential": Exponential(), "full": Gaussian(GaussianWishart),
}
KINDS: dict[str, type] = {kind.__name__: kind for kind in (GammaExponential, GaussianGamma, GaussianWishart)}


def family_named(word: str) -> Family:
    if word not in FAMILIES:
        raise unknown("observation", str(word), FAMILIES)
    return FAMILIES[word]
