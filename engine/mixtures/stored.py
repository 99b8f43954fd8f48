"""What all fitted models tell of themselves when they are stored, and take back when they are made anew."""

from typing import Any

import numpy as np

from engine.problems import fail


def told_of(model: Any) -> dict[str, Any]:
    """Kind, parameters and course of a fitted mixture, as JSON can hold them."""
    return {"model": type(model).__name__, "clusters": type(model.clusters_).__name__, "params": model.get_params(),
            "n_iter": model.n_iter_, "passes": model.passes_, "converged": model.converged_}


def made_anew(kind: type, told: dict[str, Any]) -> Any:
    """A model with the parameters told, if one of its kind told them; JSON knows no tuples."""
    if told.get("model") != kind.__name__:
        raise fail("stored model", f"is a {told.get('model')}, not a {kind.__name__}", "look it up in MODELS")
    return kind(**{name: tuple(v) if isinstance(v, list) else v for name, v in told["params"].items()})


def take_course(model: Any, arrays: dict[str, np.ndarray], told: dict[str, Any]) -> None:
    """How the fit went."""
    model.lower_bound_history_ = [float(bound) for bound in arrays["lower_bound_history"]]
    model.n_iter_, model.passes_, model.converged_ = told["n_iter"], told["passes"], told["converged"]
