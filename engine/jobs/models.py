"""Every model that can make a run, by its word; each fits rows in groups, assigns rows, and goes into arrays."""

from typing import Any

from engine import mixtures
from engine.discriminative import RIM, KernelRIM
from engine.problems import unknown

MODELS: dict[str, type] = {**mixtures.MODELS, "rim": RIM, "krim": KernelRIM}


def model_named(word: str) -> type:
    """The estimator of a CLI name."""
    if word not in MODELS:
        raise unknown("model", word, MODELS)
    return MODELS[word]


def with_width(word: str, width: float, parameters: dict[str, Any]) -> dict[str, Any]:
    """The parameters with the width of clusters, for models that have one."""
    return {"width": width, **parameters} if "width" in model_named(word)().get_params() else parameters
