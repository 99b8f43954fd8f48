"""Which of several clusterings of the positions the answers themselves make likeliest.

The mixture's bound prefers few long clusters where they stand in a regular layout, and k-means cannot say how many
there are. So both propose, with too many clusters too; members go where the answers put them, clusters that nobody
tells apart are joined, those of nothing but slips given up, and the evidence of the answers decides.
"""

import numpy as np

from engine.crowd.atoms import Answers, evidence, memberships, told_apart, without_scraps
from engine.crowd.beliefs import Beliefs
from engine.crowd.platonic import PlatonicClusters, given_number, of_members, platonic_clusters
from engine.crowd.workers import confusion
from engine.progress import OnStep, ignore

WEIGHED = 2       # clusterings of the mixture that are weighed
TOO_MANY = 12     # clusters k-means begins with; those too many are joined
AROUND = (-1, 0, 1)  # clusters more or fewer than the best so far that k-means tries


def found_clusters(beliefs: Beliefs, judged: np.ndarray, answers: Answers, rng: np.random.Generator, *, width: float,
                   on_step: OnStep = ignore) -> PlatonicClusters:
    """However many clusters the answers tell apart."""
    position = beliefs.position
    first = platonic_clusters(position, judged, rng, count=WEIGHED, width=width, on_step=on_step)
    if not judged.any():
        return first[0]
    many = min(TOO_MANY, max(1, int(judged.sum()) // 4))
    resps = [_settled(beliefs, answers, one) for one in (*first, given_number(position, judged, many, rng))]
    best = _likeliest(answers, resps)
    again = {min(max(best.shape[1] + more, 1), int(judged.sum())) for more in AROUND}
    resps = [best, *(_settled(beliefs, answers, given_number(position, judged, K, rng)) for K in sorted(again))]
    return _placed(beliefs, answers, of_members(position, without_scraps(answers, _likeliest(answers, resps))))


def given_clusters(beliefs: Beliefs, judged: np.ndarray, answers: Answers, K: int, rng: np.random.Generator,
                   ) -> PlatonicClusters:
    """K clusters, their members by the answers."""
    return _placed(beliefs, answers, given_number(beliefs.position, judged, K, rng))


def _placed(beliefs: Beliefs, answers: Answers, first: PlatonicClusters) -> PlatonicClusters:
    """The same clusters with members by the answers."""
    return of_members(beliefs.position, _members(beliefs, answers, first)) if first.K > 1 else first


def _settled(beliefs: Beliefs, answers: Answers, first: PlatonicClusters) -> np.ndarray:
    """(N, K) after reassigning members and joining what nobody tells apart."""
    return told_apart(answers, _members(beliefs, answers, first)) if first.K > 1 else first.probability


def _members(beliefs: Beliefs, answers: Answers, first: PlatonicClusters) -> np.ndarray:
    return memberships(answers, first.probability, confusion(beliefs, first).normalised)


def _likeliest(answers: Answers, resps: list[np.ndarray]) -> np.ndarray:
    return max(resps, key=lambda resp: evidence(answers, resp))
