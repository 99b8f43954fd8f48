"""Checks of the parameters of the topic model."""

from typing import Any

import numpy as np

from benthoscope.engine.problems import fail, unknown

WHOLE = ("n_topics", "max_iter", "n_init", "iterations_alone", "iterations_together", "sweeps")
POSITIVE = ("topic_concentration", "concentration", "mean_strength", "learning_rate")
POSITIVE_OR_NONE = ("alpha", "precision_strength", "n_clusters", "n_atoms", "n_nearest")
CHOICES = {
    "inference": ("vi", "svi", "incremental", "gibbs"),
    "document_start": ("cold", "warm"),
    "start": ("spread", "random"),
    "schedule": ("constant", "decreasing"),
    "last_stick": ("free", "fixed"),
}


def check_settings(values: dict[str, Any]) -> None:
    """Raise if a parameter has a value that no fit can use."""
    for name, allowed in CHOICES.items():
        if values[name] not in allowed:
            raise unknown(name, str(values[name]), allowed)
    for name in WHOLE:
        value = values[name]
        if not (isinstance(value, int | np.integer) and value >= 1):
            raise fail(name, f"must be a whole number of 1 or more (got {value!r})")
    for name in (*POSITIVE, *POSITIVE_OR_NONE):
        value = values[name]
        if value is not None and not value > 0:
            raise fail(name, f"must be greater than 0 (got {value!r})")
    if values["learning_rate"] > 1:
        raise fail("learning_rate", f"must be at most 1 (got {values['learning_rate']!r})")
