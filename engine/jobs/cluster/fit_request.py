"""The request of a clustering job, the estimator for it, and the records of its progress and provenance.

The trace of a fit for plots is thinned, so that it stays small for long fits. Limits that a fit reached are described
in sentences that say how to raise them.
"""

import platform
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from benthoscope.engine.jobs.cluster.model_catalog import model_named
from benthoscope.engine.problems import fail
from benthoscope.engine.progress import OnStep, Progress
from benthoscope.engine.workspace import NewRun, Run, Workspace
from benthoscope.engine.workspace.runs import WITHOUT_CLUSTER

if TYPE_CHECKING:
    from benthoscope.engine.jobs.cluster.constrained import Steering


POINTS = 400  # more than a plot has pixels for


class Trace:
    """Forwards progress with `trace` among its figures: [step, bound per row, clusters] of the steps so far."""

    def __init__(self, listener: OnStep):
        self._listener = listener
        self._steps, self._every = 0, 1
        self._latest: Any = None  # figures of the last step; models repeat them to report that they are still at work
        self.points: list[list[Any]] = []
        self.stage = ""  # prefix of each message

    def on_step(self, progress: Progress) -> None:
        self._note(progress.figures)
        figures = {**progress.figures, "trace": self.points[:]}
        self._listener(replace(progress, figures=figures, message=f"{self.stage}{progress.message}"))

    def _note(self, figures: Any) -> None:
        bound, clusters = figures.get("bound_per_row"), figures.get("clusters")
        if bound is None or figures is self._latest:
            return
        self._latest = figures
        self._steps += 1
        if self._steps % self._every == 0:
            self.points.append([self._steps, float(bound), int(clusters)])
        if len(self.points) > POINTS:
            self.points, self._every = self.points[1::2], self._every * 2


PACKAGES = ("benthoscope", "numpy", "scipy", "scikit-learn", "numba")


@dataclass(frozen=True)
class FitRequest:
    """A requested fit: model, parameters, rows and the user."""

    model: str
    parameters: Mapping[str, Any]
    name: str
    hold_out: float
    seed: int
    steering: "Steering | None" = None

    def new_run(self, features: str, origin: dict[str, Any], summary: dict[str, Any]) -> NewRun:
        """Return the run to store. `origin` is its provenance. The name of a fit that was stopped says so."""
        name = f"{self.name} (stopped early)" if summary["partial"] else self.name
        return NewRun(name, self.model, features, dict(self.parameters), origin, summary)


def estimator_for(request: FitRequest) -> Any:
    """Return the estimator with the requested parameters. Raises if a parameter does not exist."""
    kind = model_named(request.model)
    known = kind().get_params()
    for name in request.parameters:
        if name not in known:
            raise fail(f"model {request.model}", f"has no parameter '{name}'", f"it has {', '.join(sorted(known))}")
    return kind(**request.parameters, random_state=request.seed)


def provenance(request: FitRequest, estimator: Any, began: float, trace: Trace, **data: Any) -> dict[str, Any]:
    """Return all that is needed to repeat the fit. `data` describes the rows."""
    return {
        "seed": request.seed,
        "parameters": _plain(estimator.get_params()),
        "hold_out": request.hold_out,
        **data,
        "versions": {"python": platform.python_version()} | {name: version(name) for name in PACKAGES},
        "machine": f"{platform.system()} {platform.machine()}",
        "began_at": began,
        "seconds": time.time() - began,
        "bounds": [float(bound) for bound in estimator.lower_bound_history_],
        "trace": trace.points,
    }


def fit_summary(estimator: Any, partial: bool) -> dict[str, Any]:
    """Return the course of the fit for the summary of a run. A fit that was stopped has not converged."""
    return {
        "partial": partial,
        "lower_bound": None if estimator.lower_bound_ is None else float(estimator.lower_bound_),
        "converged": bool(estimator.converged_) and not partial,
        "limits": getattr(estimator, "limits_reached_", []),
    }


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


OPTIONS = {
    "max_clusters": "--max-clusters",
    "n_clusters": "--max-clusters",
    "max_image_clusters": "--max-image-clusters",
    "memory": "--memory",
    "max_clumps": "--clumps of `benthoscope segment`",
}
FIELDS = {
    "max_clusters": "Maximum clusters",
    "n_clusters": "Maximum clusters",
    "max_image_clusters": "Maximum image clusters",
    "memory": "Memory",
    "max_clumps": "--clumps of `benthoscope segment`",
}


ONE_CLUSTER = (
    "The lower bound is highest for one cluster. If kinds overlap strongly, more clusters may still predict held-out "
    "images better: compare a run with a smaller width by the held-out score."
)


def limit_sentences(run: Run, names: Mapping[str, str] = OPTIONS) -> list[str]:
    """Return one sentence per limit that the fit reached, one if all rows form a single cluster, and one if images are
    without a cluster. `names` has the names of the settings that raise the limits."""
    allowed = run.provenance.get("parameters") or {}
    found_one = run.summary.get("clusters") == 1 and run.summary.get("lower_bound") is not None
    alone = [ONE_CLUSTER] if found_one and allowed.get("max_clusters") != 1 else []
    outside = [_outside(run)] if run.unclustered else []
    return (
        alone
        + outside
        + [
            f"The fit reached the limit of {allowed[limit]:,} {_counted(run, limit)}; raise it with {names[limit]}."
            for limit in run.summary.get("limits") or []
            if limit in names and allowed.get(limit)
        ]
    )


def _outside(run: Run) -> str:
    images = run.summary["images"]
    share = f"{run.unclustered:,} of {images:,} images ({run.unclustered / images:.0%})"
    return f"{share} are in no cluster. They are together in one more, “{WITHOUT_CLUSTER}”."


def with_limits(workspace: Workspace, result: Mapping[str, Any]) -> dict[str, Any]:
    """Return the result of a clustering job with the sentences on its limits as `limits_reached`."""
    return {**result, "limits_reached": limit_sentences(workspace.runs.get(result["run"]))}


def _counted(run: Run, limit: str) -> str:
    if limit == "max_image_clusters":
        return "image clusters"
    if limit == "memory":
        return "remembered images"
    if limit == "max_clumps":
        return "remembered clumps"
    return "segment clusters" if "segment_clusters" in run.summary else "clusters"
