"""Discriminative clustering by regularised information maximisation (RIM), and the semi-supervised classifier based on
it.

    model = RIM(n_clusters=30, strength=2.0, random_state=0).fit(descriptors)
    model.labels_, model.n_clusters_, model.predict_proba(new), model.uncertainty(new)
"""

from typing import TYPE_CHECKING

from benthoscope.engine.lazy_names import lazy_names

if TYPE_CHECKING:
    from benthoscope.engine.discriminative.kernel_rim import KernelRIM
    from benthoscope.engine.discriminative.penalty_path import chosen_strength, rim_path
    from benthoscope.engine.discriminative.rim import RIM
    from benthoscope.engine.discriminative.semi_supervised import SemiSupervisedRIM, chosen_by_cross_validation

__all__ = ["RIM", "KernelRIM", "SemiSupervisedRIM", "chosen_by_cross_validation", "chosen_strength", "rim_path"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "RIM": "benthoscope.engine.discriminative.rim",
        "KernelRIM": "benthoscope.engine.discriminative.kernel_rim",
        "SemiSupervisedRIM": "benthoscope.engine.discriminative.semi_supervised",
        "chosen_by_cross_validation": "benthoscope.engine.discriminative.semi_supervised",
        "chosen_strength": "benthoscope.engine.discriminative.penalty_path",
        "rim_path": "benthoscope.engine.discriminative.penalty_path",
    },
)
