"""Clusterings by distances alone, without a model of the rows: k-means and HDBSCAN. They are for comparisons.

model = KMeans(n_clusters=40, random_state=0).fit(descriptors)
model = HDBSCAN(min_cluster_size=20).fit(descriptors)   # labels_ is -1 for rows without a cluster
"""

from typing import TYPE_CHECKING

from benthoscope.engine.lazy_names import lazy_names

if TYPE_CHECKING:
    from benthoscope.engine.distance_models.density import HDBSCAN
    from benthoscope.engine.distance_models.k_means import KMeans

__all__ = ["HDBSCAN", "KMeans"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "HDBSCAN": "benthoscope.engine.distance_models.density",
        "KMeans": "benthoscope.engine.distance_models.k_means",
    },
)
