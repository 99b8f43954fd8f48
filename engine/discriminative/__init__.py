"""Discriminative clustering by regularised information maximisation, and the classifier it makes of few labels.

    model = RIM(n_clusters=30, strength=2.0, random_state=0).fit(descriptors)
    model.labels_, model.n_clusters_, model.predict_proba(new), model.uncertainty(new)
"""

from engine.discriminative.kernel_rim import KernelRIM
from engine.discriminative.path import chosen_strength, rim_path
from engine.discriminative.rim import RIM
from engine.discriminative.semi_supervised import SemiSupervisedRIM, chosen_by_cross_validation

__all__ = ["RIM", "KernelRIM", "SemiSupervisedRIM", "chosen_by_cross_validation", "chosen_strength", "rim_path"]
