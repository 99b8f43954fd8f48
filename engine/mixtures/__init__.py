"""Mixtures of Gaussians that find their number of clusters, for rows in groups that share clusters but not proportions.

SCM and MCM cluster on two levels at once: segments, and the images they are of.

    model = GMC(width=0.05, random_state=0).fit(descriptors, groups=dives)
    model.labels_, model.weights_, model.n_clusters_, model.lower_bound_
"""

from engine.mixtures.bayesian import BayesianMixture
from engine.mixtures.course import Checkpoint
from engine.mixtures.models import BGMM, GMC, VDP, SymmetricGMC
from engine.mixtures.two_level_models import MCM, SCM
from engine.problems import unknown

__all__ = ["BGMM", "GMC", "MCM", "MODELS", "SCM", "TWO_LEVELS", "VDP", "BayesianMixture", "Checkpoint", "SymmetricGMC",
           "model_named"]

MODELS: dict[str, type[BayesianMixture]] = {"bgmm": BGMM, "gmc": GMC, "sgmc": SymmetricGMC, "vdp": VDP}
TWO_LEVELS: dict[str, type[SCM] | type[MCM]] = {"mcm": MCM, "scm": SCM}


def model_named(word: str) -> type[BayesianMixture]:
    """The estimator of a CLI name."""
    if word not in MODELS:
        raise unknown("model", word, MODELS)
    return MODELS[word]
