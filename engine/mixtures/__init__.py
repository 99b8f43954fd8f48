"""Gaussian mixtures that estimate the number of clusters, for rows in groups.

All groups share the clusters, but each group has its own proportions of them. SCM and MCM cluster on two levels at the
same time: segments and images.

    model = GMC(width=0.05, random_state=0).fit(descriptors, groups=dives)
    model.labels_, model.weights_, model.n_clusters_, model.lower_bound_
"""

from typing import TYPE_CHECKING

from benthoscope.engine.lazy_names import lazy_names

if TYPE_CHECKING:
    from benthoscope.engine.mixtures.bayesian import BayesianMixture
    from benthoscope.engine.mixtures.fit_monitor import Checkpoint
    from benthoscope.engine.mixtures.hierarchy import ClusterHierarchy, cluster_hierarchy
    from benthoscope.engine.mixtures.models import BGMM, GMC, VDP, SymmetricGMC
    from benthoscope.engine.mixtures.named_models import MODELS, TWO_LEVELS, model_named
    from benthoscope.engine.mixtures.two_level.models import MCM, SCM

__all__ = [
    "BGMM",
    "GMC",
    "MCM",
    "MODELS",
    "SCM",
    "TWO_LEVELS",
    "VDP",
    "BayesianMixture",
    "Checkpoint",
    "ClusterHierarchy",
    "SymmetricGMC",
    "cluster_hierarchy",
    "model_named",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "BGMM": "benthoscope.engine.mixtures.models",
        "GMC": "benthoscope.engine.mixtures.models",
        "MCM": "benthoscope.engine.mixtures.two_level.models",
        "MODELS": "benthoscope.engine.mixtures.named_models",
        "SCM": "benthoscope.engine.mixtures.two_level.models",
        "TWO_LEVELS": "benthoscope.engine.mixtures.named_models",
        "VDP": "benthoscope.engine.mixtures.models",
        "BayesianMixture": "benthoscope.engine.mixtures.bayesian",
        "Checkpoint": "benthoscope.engine.mixtures.fit_monitor",
        "ClusterHierarchy": "benthoscope.engine.mixtures.hierarchy",
        "SymmetricGMC": "benthoscope.engine.mixtures.models",
        "cluster_hierarchy": "benthoscope.engine.mixtures.hierarchy",
        "model_named": "benthoscope.engine.mixtures.named_models",
    },
)
