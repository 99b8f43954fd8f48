"""Clustering whose features are computed first if there are none, for `benthoscope segment` and `discover`."""

from typing import TYPE_CHECKING, Any

from benthoscope.app.commands.terminal import check_jobs, run_job
from benthoscope.engine.problems import fail

if TYPE_CHECKING:
    from benthoscope.engine.workspace import Workspace

LEVELS = {"segment": "segments", "image": "whole images"}


def describe_and_cluster(
    workspace: "Workspace", features: str, level: str, request: dict[str, Any], *, as_json: bool
) -> int:
    """Cluster as in `request` and return the number of the run. If there is no feature set `features`, the descriptor
    of this name is computed first; it must describe `level`."""
    from benthoscope.engine.features import DESCRIPTORS

    jobs: list[tuple[str, dict[str, Any]]] = [("cluster", request)]
    if features not in workspace.features and features in DESCRIPTORS:
        if DESCRIPTORS[features].level != level:
            other = LEVELS[DESCRIPTORS[features].level]
            raise fail(f"descriptor {features}", f"describes {other}", f"choose a descriptor of {LEVELS[level]}")
        jobs.insert(0, ("features", {"kinds": [features], "collection": request["collection"]}))
    check_jobs(workspace, jobs)
    results = [run_job(workspace, kind, parameters, as_json=as_json) for kind, parameters in jobs]
    return int(results[-1]["run"])
