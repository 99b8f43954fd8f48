"""Exemplar selection: choose a few items that represent many, from a stream, with baselines for comparison."""

from benthoscope.engine.exemplars.active_set import ActiveSet
from benthoscope.engine.exemplars.baselines import (
    greedy,
    lazy_greedy,
    sieve_streaming,
    sieve_streaming_plus_plus,
    stochastic_greedy,
    three_sieves,
)
from benthoscope.engine.exemplars.distances import cosine, euclidean, numbers, of_kernel, precomputed, squared_euclidean
from benthoscope.engine.exemplars.gaussian_process import SquaredExponential
from benthoscope.engine.exemplars.loss import (
    ExemplarLoss,
    at,
    constant,
    deviation,
    origin,
    random_direction,
    validation_size,
)
from benthoscope.engine.exemplars.objective import SetFunction
from benthoscope.engine.exemplars.race import Race
from benthoscope.engine.exemplars.sparse_gp import SparseGPRegressor
from benthoscope.engine.exemplars.stream_greedy import Chosen, StreamGreedy, blocks_in_a_pass, cycling, stream_greedy
from benthoscope.engine.exemplars.streamed_loss import StreamedLoss

__all__ = [
    "ActiveSet",
    "Chosen",
    "ExemplarLoss",
    "Race",
    "SetFunction",
    "SparseGPRegressor",
    "SquaredExponential",
    "StreamGreedy",
    "StreamedLoss",
    "at",
    "blocks_in_a_pass",
    "constant",
    "cosine",
    "cycling",
    "deviation",
    "euclidean",
    "greedy",
    "lazy_greedy",
    "numbers",
    "of_kernel",
    "origin",
    "precomputed",
    "random_direction",
    "sieve_streaming",
    "sieve_streaming_plus_plus",
    "squared_euclidean",
    "stochastic_greedy",
    "stream_greedy",
    "three_sieves",
    "validation_size",
]
