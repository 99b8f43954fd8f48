"""Conjugate distributions: priors that turn sums over data into posteriors, with expectations and KL divergences."""

from benthoscope.engine.distributions.base import (
    Clusters,
    ProductsOfFeatures,
    expected_log_likelihood,
    log_evidence,
    moments,
)
from benthoscope.engine.distributions.categorical import DirichletCategorical
from benthoscope.engine.distributions.diagonal_gaussian import GaussianGamma
from benthoscope.engine.distributions.exponential import GammaExponential
from benthoscope.engine.distributions.gaussian import GaussianWishart
from benthoscope.engine.distributions.spherical_gaussian import SphericalGaussian
from benthoscope.engine.distributions.weights import (
    Dirichlet,
    GeneralisedDirichlet,
    MergingPrior,
    NestedSticks,
    TiedSticks,
    TruncatedSticks,
    Weights,
    WeightsPrior,
)
from benthoscope.engine.distributions.weights import log_evidence as log_evidence_of_weights

__all__ = [
    "Clusters",
    "Dirichlet",
    "DirichletCategorical",
    "GammaExponential",
    "GaussianGamma",
    "GaussianWishart",
    "GeneralisedDirichlet",
    "MergingPrior",
    "NestedSticks",
    "ProductsOfFeatures",
    "SphericalGaussian",
    "TiedSticks",
    "TruncatedSticks",
    "Weights",
    "WeightsPrior",
    "expected_log_likelihood",
    "log_evidence",
    "log_evidence_of_weights",
    "moments",
]
