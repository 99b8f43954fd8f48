"""Clustering of a stream in bounded memory.

model = MemoryBoundedVDP(memory=4000, epoch=2000)
for rows in arriving:
    model.partial_fit(rows)
model.snapshot_, model.predict(rows), model.novelty(rows)
"""

from benthoscope.engine.streaming.cluster_labels import ClusterNames, cluster_names, units_to_label
from benthoscope.engine.streaming.identity import ClusterEvent
from benthoscope.engine.streaming.memory_bounded_topics import MemoryBoundedTopicModel, SegmentedDocuments
from benthoscope.engine.streaming.memory_bounded_vdp import MemoryBoundedVDP
from benthoscope.engine.streaming.memory_need import MemoryNeed, memory_need, round_work
from benthoscope.engine.streaming.snapshot import Novelty, StreamSnapshot
from benthoscope.engine.streaming.stream_estimator import BudgetWarning, RowSource

__all__ = [
    "BudgetWarning",
    "ClusterEvent",
    "ClusterNames",
    "MemoryBoundedTopicModel",
    "MemoryBoundedVDP",
    "MemoryNeed",
    "Novelty",
    "RowSource",
    "SegmentedDocuments",
    "StreamSnapshot",
    "cluster_names",
    "memory_need",
    "round_work",
    "units_to_label",
]
