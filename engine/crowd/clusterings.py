"""Choose the clustering of the positions that makes the answers most likely.

The bound of the mixture prefers few long clusters if the clusters form a regular layout, and k-means cannot estimate
their number. Both therefore propose clusterings, also with too many clusters. Members move to the clusters that their
answers support, indistinguishable clusters are merged, clusters of slips are removed, and the evidence of the answers
decides.
"""

import numpy as np

from benthoscope.engine.crowd.cluster_merging import Answers, evidence, memberships, told_apart, without_scraps
from benthoscope.engine.crowd.consensus import PlatonicClusters, given_number, of_members, platonic_clusters
from benthoscope.engine.crowd.posterior import Beliefs
from benthoscope.engine.crowd.workers import confusion
from benthoscope.engine.progress import OnStep, ignore

WEIGHED = 2  # number of clusterings of the mixture that are compared
TOO_MANY = 12  # initial clusters of k-means; superfluous ones are merged
AROUND = (-1, 0, 1)  # differences from the best number so far that k-means tries


def found_clusters(
    beliefs: Beliefs,
    judged: np.ndarray,
    answers: Answers,
    rng: np.random.Generator,
    *,
    width: float,
    on_step: OnStep = ignore,
) -> PlatonicClusters:
    """Return the clusters that the answers distinguish; their number is estimated."""
    position = beliefs.position
    first = platonic_clusters(position, judged, rng, count=WEIGHED, width=width, on_step=on_step)
    if not judged.any():
        return first[0]
    most_clusters = min(TOO_MANY, max(1, int(judged.sum()) // 4))
    resps = [
        _settled(beliefs, answers, start) for start in (*first, given_number(position, judged, most_clusters, rng))
    ]
    best = _likeliest(answers, resps)
    again = {min(max(best.shape[1] + step, 1), int(judged.sum())) for step in AROUND}
    resps = [best, *(_settled(beliefs, answers, given_number(position, judged, K, rng)) for K in sorted(again))]
    return _placed(beliefs, answers, of_members(position, without_scraps(answers, _likeliest(answers, resps))))


def given_clusters(
    beliefs: Beliefs,
    judged: np.ndarray,
    answers: Answers,
    K: int,
    rng: np.random.Generator,
) -> PlatonicClusters:
    """Return K clusters with members assigned by the answers."""
    return _placed(beliefs, answers, given_number(beliefs.position, judged, K, rng))


def _placed(beliefs: Beliefs, answers: Answers, first: PlatonicClusters) -> PlatonicClusters:
    """Return the same clusters with members assigned by the answers."""
    return of_members(beliefs.position, _members(beliefs, answers, first)) if first.K > 1 else first


def _settled(beliefs: Beliefs, answers: Answers, first: PlatonicClusters) -> np.ndarray:
    """Return memberships (N, K) after moving members and merging clusters that no worker distinguishes."""
    return told_apart(answers, _members(beliefs, answers, first)) if first.K > 1 else first.probability


def _members(beliefs: Beliefs, answers: Answers, first: PlatonicClusters) -> np.ndarray:
    return memberships(answers, first.probability, confusion(beliefs, first).normalised)


def _likeliest(answers: Answers, resps: list[np.ndarray]) -> np.ndarray:
    return max(resps, key=lambda resp: evidence(answers, resp))
