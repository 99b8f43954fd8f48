"""What a clustering was asked for, the estimator that makes of it, and what is remembered of how it went."""

import platform
import time
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from engine.jobs.models import model_named
from engine.jobs.trace import Trace
from engine.problems import fail

if TYPE_CHECKING:
    from engine.jobs.steering import Steering

PACKAGES = ("benthoscope", "numpy", "scipy", "scikit-learn", "numba")


@dataclass(frozen=True)
class Request:
    """What is to be done: which model with which parameters on which rows, by whose hands."""

    model: str
    parameters: Mapping[str, Any]
    name: str
    hold_out: float
    seed: int
    steering: "Steering | None" = None


def estimator_for(request: Request) -> Any:
    """The estimator with the parameters asked for; a parameter it does not have is told."""
    kind = model_named(request.model)
    known = kind().get_params()
    for name in request.parameters:
        if name not in known:
            raise fail(f"model {request.model}", f"has no parameter '{name}'", f"it has {', '.join(sorted(known))}")
    return kind(**request.parameters, random_state=request.seed)


def provenance(request: Request, estimator: Any, began: float, trace: Trace, **data: Any) -> dict[str, Any]:
    """All that is needed to do it again; `data` says on what it was done."""
    return {
        "seed": request.seed, "parameters": _plain(estimator.get_params()), "hold_out": request.hold_out, **data,
        "versions": {"python": platform.python_version()} | {name: version(name) for name in PACKAGES},
        "machine": f"{platform.system()} {platform.machine()}", "began_at": began, "seconds": time.time() - began,
        "bounds": [float(bound) for bound in estimator.lower_bound_history_], "trace": trace.points,
    }


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
