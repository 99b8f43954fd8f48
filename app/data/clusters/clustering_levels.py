"""Finer and coarser levels of a run on a page, and the corresponding clusters after a switch."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from benthoscope.app.session.app_state import AppState
from benthoscope.app.session.cache import RUNS
from benthoscope.app.session.session import Session
from benthoscope.engine.jobs.cluster.levels import can_have_levels
from benthoscope.engine.problems import fail
from benthoscope.engine.workspace import Run
from benthoscope.engine.workspace.runs import LEVELS, proper_clusters

COMPUTE = "levels"  # kind of the job that computes them
DIRECTIONS = {"coarser": -1, "finer": 1}
NAMED = 12  # clusters listed in a message


@dataclass(frozen=True)
class ShownLevels:
    """The level of the shown run, the next coarser and finer runs, and whether levels can be computed."""

    level: str
    coarser: Run | None
    finer: Run | None
    computable: bool
    computing: bool

    def as_json(self) -> dict[str, Any]:
        return {
            "level": self.level,
            "computable": self.computable,
            "computing": self.computing,
            **{
                name: None if run is None else {"run": run.id, "clusters": proper_clusters(run.summary)}
                for name, run in (("coarser", self.coarser), ("finer", self.finer))
            },
        }


def shown_levels(app: AppState, run: Run) -> ShownLevels:
    """The levels next to that of the run."""
    family = levels_of(app, run)
    at = list(family).index(run.level) if run.level in family else None
    runs = list(family.values())
    computing = any(
        job.kind == COMPUTE and not job.finished and job.parameters.get("run") == run.clustering
        for job in app.jobs.jobs
    )
    return ShownLevels(
        run.level,
        runs[at - 1] if at else None,
        runs[at + 1] if at is not None and at + 1 < len(runs) else None,
        len(family) < len(LEVELS) and can_have_levels(run),
        computing,
    )


def levels_of(app: AppState, run: Run) -> Mapping[str, Run]:
    return app.cached(("levels", run.clustering), lambda: app.workspace.runs.levels(run), RUNS)


def next_level(app: AppState, run: Run, direction: str) -> Run:
    """The run of the next coarser or finer level; raises if there is none."""
    if direction not in DIRECTIONS:
        raise fail("level", f"there is no direction '{direction}'", f"choose one of {', '.join(DIRECTIONS)}")
    target = getattr(shown_levels(app, run), direction)
    if target is None:
        raise fail("level", f"there are no {direction} clusters", "cluster again with another width")
    return target


def compute_levels(session: Session, run: Run) -> None:
    """Queue the job that computes the levels of a run, unless it is queued or running."""
    if not shown_levels(session.app, run).computing:
        session.app.queue.add(COMPUTE, {"run": run.clustering})
        session.app.jobs.refresh()
    session.notify("Finer and coarser clusters are being computed in the background", kind="info")


def corresponding(before: np.ndarray, after: np.ndarray, clusters: list[int]) -> list[int]:
    """Clusters of one level with images of `clusters` of another. Both arrays give the cluster of every image."""
    numbers = np.unique(after[np.isin(before, clusters)])
    return numbers[numbers >= 0].tolist()


def switch_message(clusters: list[int], after: list[int], direction: str, total: int) -> str:
    """Message that says which clusters correspond to the shown ones after a switch."""
    listed = ", ".join(map(str, after[:NAMED])) + (f" and {len(after) - NAMED} more" if len(after) > NAMED else "")
    if len(clusters) != 1 or not after:
        return f"{total} {direction} clusters"
    if direction == "finer":
        return (
            f"Cluster {clusters[0]} splits into {len(after)} finer clusters: {listed}"
            if len(after) > 1
            else f"Cluster {clusters[0]} does not split; its number is now {listed}"
        )
    return f"Cluster {clusters[0]} is part of the coarser cluster {listed}"
