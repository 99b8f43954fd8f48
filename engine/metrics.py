"""How alike two partitions are, and how well a model foresees what it has not seen."""
