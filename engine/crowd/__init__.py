"""Crowd clustering: many people each sort a few items; which items belong together, and who goes by what.

    model = BayesianCrowdClustering(random_state=0).fit(judgements)
    model.labels_, model.confusion().normalised, model.worker_quality_, model.schools()
"""

from engine.crowd.adaptive import informative_tasks
from engine.crowd.agreement import agreement
from engine.crowd.baselines import average_linkage, majority, spectral_clusters
from engine.crowd.bayesian import BayesianCrowdClustering
from engine.crowd.factorization import FactorizationCrowdClustering, consensus_factors
from engine.crowd.judgements import Expanded, Judgements, Sorting, as_judgements, judgements_of
from engine.crowd.refinement import Branch, labels_of, refined
from engine.crowd.sampling import sample_tasks, suggested_views, tasks_of_worker
from engine.crowd.steering import Bonds, bonds, settled, telling_axes
from engine.crowd.workers import Confusion, block_order

__all__ = [
    "BayesianCrowdClustering", "Bonds", "Branch", "Confusion", "Expanded", "FactorizationCrowdClustering",
    "Judgements", "Sorting", "agreement", "as_judgements", "average_linkage", "block_order", "bonds",
    "consensus_factors", "informative_tasks", "judgements_of", "labels_of", "majority", "refined", "sample_tasks",
    "settled", "spectral_clusters", "suggested_views", "tasks_of_worker", "telling_axes",
]
