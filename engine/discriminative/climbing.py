"""L-BFGS from one start to the nearest summit; the objective is not concave, so the start matters."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from engine.discriminative.logit import Coefficients
from engine.discriminative.objective import Labelled, Objective

Evaluate = Callable[[Coefficients], tuple[float, Coefficients]]
WARM_UP = 15  # steps of the supervised fit a start is made with: 5 to 200 lead to the same summit, 1 does not


@dataclass(frozen=True)
class Precision:
    """When a climb ends: the relative gain of a step, the largest slope, the number of steps."""

    gain: float = 1e-9
    slope: float = 1e-6
    steps: int = 1000


@dataclass(frozen=True)
class Summit:
    coefficients: Coefficients
    value: float
    steps: int
    converged: bool


def climb(
    objective: Evaluate, start: Coefficients, precision: Precision, on_value: Callable[[float], None] = lambda F: None
) -> Summit:
    """`on_value` hears F after every step and may raise to stop."""
    classes, latest = len(start.biases), [0.0]

    def downhill(flat: np.ndarray) -> tuple[float, np.ndarray]:
        F, gradient = objective(Coefficients.unpacked(flat, classes))
        latest[0] = F
        return -F, -gradient.packed()

    options = {"maxcor": 10, "ftol": precision.gain, "gtol": precision.slope, "maxiter": precision.steps,
               "maxfun": 10 * precision.steps}
    found = minimize(downhill, start.packed(), jac=True, method="L-BFGS-B", options=options,
                     callback=lambda _: on_value(latest[0]))
    return Summit(Coefficients.unpacked(found.x, classes), float(-found.fun), int(found.nit), bool(found.success))


def supervised_start(X: np.ndarray, y: np.ndarray, classes: int, penalty: float, steps: int = WARM_UP) -> Coefficients:
    """A few steps of multilogit regression towards labels y (N,), from nothing."""
    mean = Labelled(X, y, np.full(len(y), 1 / len(y)))
    start = Coefficients.zeros(classes, X.shape[1])
    return climb(Objective(penalty, labelled=mean), start, Precision(steps=steps)).coefficients
