"""Conjugate pieces: priors that turn sums over data into posteriors with expectations and complexity penalties."""

from engine.distributions.categorical import DirichletCategorical
from engine.distributions.diagonal import GaussianGamma
from engine.distributions.exponential import GammaExponential
from engine.distributions.family import Clusters, expected_log_likelihood, log_evidence, moments
from engine.distributions.gaussian import GaussianWishart
from engine.distributions.weights import (
    Dirichlet,
    GeneralisedDirichlet,
    NestedSticks,
    TiedSticks,
    TruncatedSticks,
    Weights,
    WeightsPrior,
)
from engine.distributions.weights import log_evidence as log_evidence_of_weights

__all__ = [
    "Clusters", "Dirichlet", "DirichletCategorical", "GammaExponential", "GaussianGamma", "GaussianWishart",
    "GeneralisedDirichlet", "NestedSticks", "TiedSticks", "TruncatedSticks", "Weights", "WeightsPrior",
    "expected_log_likelihood", "log_evidence", "log_evidence_of_weights", "moments",
]
