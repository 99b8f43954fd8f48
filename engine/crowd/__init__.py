"""Crowd clustering: many people each sort a few items. The models estimate the clusters of all items and the criteria
of each worker.

    model = BayesianCrowdClustering(random_state=0).fit(judgements)
    model.labels_, model.confusion().normalised, model.worker_quality_, model.schools()
"""

from benthoscope.engine.crowd.baselines import average_linkage, majority, spectral_clusters
from benthoscope.engine.crowd.bayesian import BayesianCrowdClustering
from benthoscope.engine.crowd.constraints import Bonds, bonds, settled, telling_axes
from benthoscope.engine.crowd.factorization import FactorizationCrowdClustering, consensus_factors
from benthoscope.engine.crowd.judgements import Expanded, Judgements, Sorting, as_judgements, judgements_of
from benthoscope.engine.crowd.tasks import (
    Branch,
    informative_tasks,
    labels_of,
    refined,
    sample_tasks,
    suggested_views,
    tasks_of_worker,
)
from benthoscope.engine.crowd.workers import Confusion, agreement, block_order

__all__ = [
    "BayesianCrowdClustering",
    "Bonds",
    "Branch",
    "Confusion",
    "Expanded",
    "FactorizationCrowdClustering",
    "Judgements",
    "Sorting",
    "agreement",
    "as_judgements",
    "average_linkage",
    "block_order",
    "bonds",
    "consensus_factors",
    "informative_tasks",
    "judgements_of",
    "labels_of",
    "majority",
    "refined",
    "sample_tasks",
    "settled",
    "spectral_clusters",
    "suggested_views",
    "tasks_of_worker",
    "telling_axes",
]
