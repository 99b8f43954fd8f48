"""Runs: what was clustered and how, two of them side by side, and how the width of clusters matters."""

from collections import defaultdict
from typing import Any

import param

from app.state.session import Session
from engine.jobs.comparison import Comparison, compare_runs
from engine.workspace import Run

CELLS = 80  # clusters of either run drawn in the table of a comparison: beyond, nobody reads them


class RunsView(param.Parameterized):
    session = param.ClassSelector(class_=Session, constant=True)
    run = param.Integer(default=None, allow_None=True, doc="The run in view; none: the current one.")
    other = param.Integer(default=None, allow_None=True, doc="The run it is compared with.")

    def __init__(self, session: Session):
        super().__init__(session=session)
        session.address.bind(self, run="run", against="other")

    def content(self) -> dict[str, Any]:
        """Everything the page draws, as plain values."""
        runs = self.session.workspace.runs.all()
        shown = self._shown(runs)
        return {"runs": [row(run) for run in reversed(runs)], "shown": details(self.session, shown) if shown else None,
                "comparison": self._comparison(shown, runs), "sweeps": sweeps(runs),
                "deleted": [row(run) for run in reversed(self.session.workspace.runs.all(deleted=True))]}

    def select(self, number: int) -> None:
        self.param.update(run=number, other=None if self.other == number else self.other)

    def compare(self, number: int | None) -> None:
        shown = self._shown(self.session.workspace.runs.all())
        self.other = None if shown is None or number == shown.id else number

    def choose(self, number: int) -> None:
        """Makes it the run that Explore and the others open with."""
        with self.session.attempt():
            self.session.workspace.runs.choose(number)
            self.session.changed(images=False)
            self.session.tell(f"{self.session.workspace.runs.get(number).name} is the current run now")

    def rename(self, number: int, name: str) -> None:
        with self.session.attempt():
            self.session.workspace.runs.rename(number, name)
            self.session.changed(images=False)

    def delete(self, number: int) -> None:
        """Takes it out of the lists; the message line offers to bring it back."""
        with self.session.attempt():
            runs = self.session.workspace.runs
            name = runs.get(number).name
            runs.delete(number)
            self.param.update(run=None if self.run == number else self.run,
                              other=None if self.other == number else self.other)
            self.session.changed(images=False)
            self.session.tell(f"{name} is deleted", undo=lambda: runs.restore(number))

    def restore(self, number: int) -> None:
        with self.session.attempt():
            self.session.workspace.runs.restore(number)
            self.session.changed(images=False)

    def _shown(self, runs: list[Run]) -> Run | None:
        by_id = {run.id: run for run in runs}
        return by_id.get(self.run) or self.session.workspace.runs.current()

    def _comparison(self, shown: Run | None, runs: list[Run]) -> dict[str, Any] | None:
        other = next((run for run in runs if run.id == self.other), None)
        if shown is None or other is None or other.id == shown.id:
            return None
        key = ("comparison", shown.id, other.id)
        with self.session.attempt():
            return self.session.app.kept(key, lambda: told(compare_runs(shown, other)))
        return None


def row(run: Run) -> dict[str, Any]:
    """A run as the list shows it."""
    provenance, summary = run.provenance, run.summary
    return {"id": run.id, "name": run.name, "model": run.model, "features": run.features, "current": run.current,
            "created": run.created_at, "clusters": summary.get("clusters"), "images": summary.get("images"),
            "held_out": summary.get("held_out"), "partial": bool(summary.get("partial")),
            "width": run.parameters.get("width"), "seconds": provenance.get("seconds")}


def details(session: Session, run: Run) -> dict[str, Any]:
    """Sizes, the course of the bound, and all that is needed to do the run again."""
    clusters = session.app.kept(("clusters", run.id), lambda: session.workspace.runs.clusters(run.id))
    provenance = run.provenance
    return {**row(run), "bound": run.summary.get("lower_bound"), "converged": run.summary.get("converged"),
            "sizes": [[cluster.number, cluster.size] for cluster in clusters], "trace": provenance.get("trace") or [],
            "parameters": plain(provenance.get("parameters") or run.parameters), "provenance": plain({
                "Seed": provenance.get("seed"), "Data": (provenance.get("features") or {}).get("data_hash", ""),
                "Machine": provenance.get("machine"), **{f"Version of {name}": version for name, version
                                                         in (provenance.get("versions") or {}).items()}})}


def plain(values: dict[str, Any]) -> list[list[str]]:
    """Names and values as text, without those that say nothing."""
    return [[name, str(value)] for name, value in sorted(values.items()) if value is not None and value != ""]


def told(comparison: Comparison) -> dict[str, Any]:
    """A comparison as the page draws it: the largest clusters of both, ordered so that likes stand together."""
    rows, columns = (order[:CELLS] for order in comparison.ordered())
    return {"images": len(comparison.image_ids), "v_measure": comparison.v_measure,
            "adjusted_rand": comparison.adjusted_rand, "one": row(comparison.one), "other": row(comparison.other),
            "rows": rows.tolist(), "columns": columns.tolist(), "table": comparison.table[rows][:, columns].tolist(),
            "row_totals": comparison.table.sum(1)[rows].tolist(), "splits": comparison.splits(),
            "left_out": max(len(comparison.table) - len(rows), 0)}


def sweeps(runs: list[Run]) -> list[dict[str, Any]]:
    """Runs that differ in width alone: model and description with [width, clusters, held-out score, id] by width."""
    found: dict[tuple[str, str], list[list[Any]]] = defaultdict(list)
    for run in runs:
        if run.parameters.get("width") is not None and not run.summary.get("partial"):
            point = [run.parameters["width"], run.summary.get("clusters"), run.summary.get("held_out"), run.id]
            found[run.model, run.features].append(point)
    return [{"model": model, "features": features, "points": sorted(points, key=lambda point: point[0])}
            for (model, features), points in found.items() if len({point[0] for point in points}) > 1]
