"""A few items that stand for many: exemplars chosen from a stream, and the baselines they are measured against."""

from engine.exemplars.dissimilarity import cosine, euclidean, numbers, of_kernel, precomputed, squared_euclidean
from engine.exemplars.estimator import StreamGreedy
from engine.exemplars.greedy import greedy, lazy_greedy, stochastic_greedy
from engine.exemplars.loss import ExemplarLoss
from engine.exemplars.phantom import at, constant, origin, random_direction
from engine.exemplars.sampling import deviation, validation_size
from engine.exemplars.set_function import SetFunction
from engine.exemplars.sieves import sieve_streaming, sieve_streaming_plus_plus, three_sieves
from engine.exemplars.streamed_loss import Race, StreamedLoss
from engine.exemplars.streams import blocks_in_a_pass, cycling
from engine.exemplars.swapping import Chosen, stream_greedy

__all__ = [
    "Chosen", "ExemplarLoss", "Race", "SetFunction", "StreamGreedy", "StreamedLoss", "at", "blocks_in_a_pass",
    "constant", "cosine", "cycling", "deviation", "euclidean", "greedy", "lazy_greedy", "numbers", "of_kernel",
    "origin", "precomputed", "random_direction", "sieve_streaming", "sieve_streaming_plus_plus", "squared_euclidean",
    "stochastic_greedy", "stream_greedy", "three_sieves", "validation_size",
]
