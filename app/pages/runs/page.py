"""The Runs page: the list of runs, running ones, one run in detail, a comparison of two, and sweeps of widths."""

from collections.abc import Mapping
from typing import Any

import panel as pn
import param
from panel.custom import Child

from benthoscope.app.components.base import CommandComponent
from benthoscope.app.components.forms import FormField, JobForm, Recipe, form_dialog
from benthoscope.app.components.tables import Column, DataTable
from benthoscope.app.data.clusters.clustering_levels import levels_of
from benthoscope.app.data.figures import MOST_CELLS, sweeps
from benthoscope.app.session.cache import RUNS
from benthoscope.app.session.commands import CommandTable
from benthoscope.app.session.required import required
from benthoscope.app.session.session import Session
from benthoscope.engine.exchange.parsing.csv_output import stamp
from benthoscope.engine.jobs.cluster.compare_runs import Comparison, compare_runs
from benthoscope.engine.jobs.cluster.fit_request import FIELDS, limit_sentences
from benthoscope.engine.workspace import Run
from benthoscope.engine.workspace.runs import proper_clusters


class RunsBoard(CommandComponent):
    _module = "pages/runs/page"
    _styles = ("parts", "runs", "plots")

    content = param.Dict(default={}, doc="Content of RunsView.")
    table = Child(doc="The list of runs.")


COLUMNS = (
    Column(
        "current",
        "",
        "button",
        36,
        {
            "act": "choose",
            "icon": "star_border",
            "on": "star",
            "once": True,
            "state": "current",
            "words": "{choose_words}",
        },
    ),
    Column("name", "Run", "open", options={"act": "select"}),
    Column("model", "Model", width=112),
    Column("features", "Features", width=136),
    Column("width", "Width", "figure", 72),
    Column("clusters", "Clusters", "count", 76),
    Column("images", "Images", "count", 76),
    Column("held_out", "Held-out", "figure", 84, {"digits": 3}),
    Column("made", "Made (UTC)", width=140),
    Column("seconds", "Took (s)", "seconds", 88),
    Column(
        "compare",
        "",
        "button",
        36,
        {"act": "compare", "icon": "compare_arrows", "state": "comparing", "when": "other", "words": "Compare {name}"},
    ),
    Column("rename", "", "button", 36, {"act": "rename", "icon": "edit", "words": "Rename {name}"}),
    Column("delete", "", "button", 36, {"act": "delete", "icon": "delete_outline", "words": "Delete {name}"}),
)


class RunsView(param.Parameterized):
    session = required(Session)
    run = param.Integer(default=None, allow_None=True, doc="Id of the shown run; None is the current one.")
    other = param.Integer(default=None, allow_None=True, doc="Id of the run it is compared with.")

    def __init__(self, session: Session):
        super().__init__(session=session)
        self.form = JobForm(session)
        session.address.bind(self, run="run", against="other")

    def content(self) -> dict[str, Any]:
        """Content of the page as plain values."""
        runs = self.session.workspace.runs.all()
        shown = self._shown(runs)
        return {
            "any": bool(runs),
            "shown": details(self.session, shown) if shown else None,
            "comparison": self._comparison(shown, runs),
            "sweeps": sweeps(runs),
            "version": self.session.app.images_version,
            "deleted": [row(run) for run in reversed(self.session.workspace.runs.all(deleted=True))],
        }

    def rows(self) -> list[dict[str, Any]]:
        """The runs as the table lists them, the newest first."""
        runs = self.session.workspace.runs.all()
        shown, current = self._shown(runs), self.session.workspace.runs.current()
        replaced = self.session.workspace.library.replaced_images()
        return [
            table_row(
                row(run, replaced),
                current=current is not None and current.clustering == run.id,
                shown=shown is not None and shown.id == run.id,
                comparing=self.other == run.id,
            )
            for run in reversed(runs)
        ]

    def select(self, number: int) -> None:
        self.param.update(run=number, other=None if self.other == number else self.other)

    def compare(self, number: int | None) -> None:
        """Shows the run beside the one in view; the second time, no longer."""
        shown = self._shown(self.session.workspace.runs.all())
        self.other = None if shown is None or number in (shown.id, self.other) else number

    def choose(self, number: int) -> None:
        """Make it the run that Explore and the other pages open with."""
        with self.session.attempt():
            self.session.workspace.runs.choose(number)
            self.session.changed(RUNS)
            self.session.notify(f"{self.session.workspace.runs.get(number).name} is now the current run")

    def rename(self, number: int) -> None:
        """Opens the form that asks for the new name."""
        name = self.session.workspace.runs.get(number).name
        self.form.open(
            Recipe(
                title="Rename run",
                intro="",
                action="Rename",
                fields=(FormField("name", "New name", "", "text", name),),
                cost=lambda values: "",
                run_now=lambda values: self._renamed(number, str(values["name"]).strip()),
            )
        )

    def _renamed(self, number: int, name: str) -> str:
        self.session.workspace.runs.rename(number, name)
        self.session.changed(RUNS)
        return f"The run is called {name}"

    def delete(self, number: int) -> None:
        """Delete a run; the message line offers to undo this."""
        with self.session.attempt():
            runs = self.session.workspace.runs
            name = runs.get(number).name
            runs.delete(number)
            self.param.update(
                run=None if self.run == number else self.run, other=None if self.other == number else self.other
            )
            self.session.changed(RUNS)
            self.session.notify(f"Deleted {name}", undo=lambda: runs.restore(number), undo_changes=(RUNS,))

    def restore(self, number: int) -> None:
        with self.session.attempt():
            self.session.workspace.runs.restore(number)
            self.session.changed(RUNS)

    def _shown(self, runs: list[Run]) -> Run | None:
        by_id = {run.id: run for run in runs}
        chosen = None if self.run is None else by_id.get(self.run)
        return chosen or self.session.workspace.runs.current()

    def _comparison(self, shown: Run | None, runs: list[Run]) -> dict[str, Any] | None:
        other = next((run for run in runs if run.id == self.other), None)
        if shown is None or other is None or other.id == shown.id:
            return None
        key = ("comparison", shown.id, other.id)
        with self.session.attempt():
            return self.session.app.cached(key, lambda: comparison_content(compare_runs(shown, other)), RUNS)
        return None


def row(run: Run, replaced: Mapping[int, tuple[str, float]] | None = None) -> dict[str, Any]:
    """A run as a row of the list; `replaced` are the images whose file was replaced after their import."""
    provenance, summary = run.provenance, run.summary
    return {
        **run.facts(),
        "problem": None if run.is_stored else "its files are missing: run benthoscope doctor",
        "clusters": proper_clusters(summary),
        "unclustered": run.unclustered,
        "without_cluster": run.without_cluster,
        "images": summary.get("images"),
        "held_out": summary.get("held_out"),
        "partial": bool(summary.get("partial")),
        "replaced": sum(moment > run.began_at for _, moment in (replaced or {}).values()),
        "width": run.parameters.get("width"),
        "seconds": provenance.get("seconds"),
    }


def table_row(run: Mapping[str, Any], *, current: bool, shown: bool, comparing: bool) -> dict[str, Any]:
    """A run with what the buttons and remarks of its row depend on."""
    replaced = (
        "The files of these images were replaced after this run. They have no cluster in it; describe and cluster again"
    )
    tags = [
        ("stopped early", None, run["partial"]),
        ("files missing", run["problem"], run["problem"]),
        (f"{run['unclustered']:,} outside", "These images are in no cluster", run["unclustered"]),
        (f"{run['replaced']:,} images replaced since", replaced, run["replaced"]),
    ]
    name = run["name"]
    return {
        **run,
        "made": stamp(run["created_at"], "%Y-%m-%d %H:%M"),
        "current": current,
        "choose_words": f"{name} is the current run" if current else f"Make {name} the current run",
        "mark": "shown" if shown else "",
        "other": not shown,
        "comparing": comparing,
        "tags": [[word, why] for word, why, holds in tags if holds],
    }


def _ends_after_passes(run: Run) -> bool:
    """Whether the fit ends after a number of passes instead of when it converges."""
    return (run.provenance.get("parameters") or {}).get("inference") in ("svi", "incremental", "gibbs")


def details(session: Session, run: Run) -> dict[str, Any]:
    """The values needed to reproduce the run, and which plots it has."""
    provenance = run.provenance
    family = levels_of(session.app, run)
    levels = [[level, member.id, proper_clusters(member.summary)] for level, member in family.items()]
    return {
        **row(run),
        "levels": levels if len(levels) > 1 else [],
        "bound": run.summary.get("lower_bound"),
        "converged": None if _ends_after_passes(run) else run.summary.get("converged"),
        "limits": limit_sentences(run, FIELDS),
        "has_names": run.is_stored and "probability" in run.arrays(),
        "has_trace": len(provenance.get("trace") or []) > 1,
        "parameters": plain(provenance.get("parameters") or run.parameters),
        "provenance": plain(
            {
                "Seed": provenance.get("seed"),
                "Data": (provenance.get("features") or {}).get("data_hash", ""),
                "Machine": provenance.get("machine"),
                **{f"Version of {name}": version for name, version in (provenance.get("versions") or {}).items()},
            }
        ),
    }


def plain(values: Mapping[str, Any]) -> list[list[str]]:
    """Names and values as text, without empty ones."""
    return [[name, str(value)] for name, value in sorted(values.items()) if value is not None and value != ""]


def comparison_content(comparison: Comparison) -> dict[str, Any]:
    """A comparison as plain values; the table is a plot."""
    return {
        "images": len(comparison.image_ids),
        "v_measure": comparison.v_measure,
        "adjusted_rand": comparison.adjusted_rand,
        "one": row(comparison.first),
        "other": row(comparison.other),
        "splits": comparison.splits(),
        "left_out": max(len(comparison.table) - MOST_CELLS, 0),
    }


COMMANDS = CommandTable(
    {
        "select": RunsView.select,
        "compare": RunsView.compare,
        "choose": RunsView.choose,
        "rename": RunsView.rename,
        "delete": RunsView.delete,
        "restore": RunsView.restore,
    }
)


def view(session: Session) -> pn.viewable.Viewable:
    runs = RunsView(session)
    table = DataTable("Runs", COLUMNS, runs.rows())
    board = RunsBoard(session.handler(COMMANDS, runs), content=runs.content(), table=table, sizing_mode="stretch_width")

    def draw(*_) -> None:
        table.show_rows(runs.rows())
        board.content = runs.content()

    session.param.watch(draw, "version")
    runs.param.watch(draw, ["run", "other"])
    return pn.Column(board, form_dialog(runs.form), sizing_mode="stretch_width")
