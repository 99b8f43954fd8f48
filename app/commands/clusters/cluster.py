"""`benthoscope cluster`: find groups of images that belong together, across all dives."""

from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperOption

from benthoscope.app.commands.terminal import (
    JsonOption,
    SeedOption,
    WorkspaceOption,
    check_jobs,
    open_workspace,
    run_job,
    show,
    text_table,
)
from benthoscope.engine.problems import fail


class CatalogueCommand(TyperCommand):
    """Takes the help of models and of their parameters from the catalogue, which is loaded only to show the help."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        from benthoscope.engine.jobs.cluster.model_catalog import CATALOG, PARAMETERS

        for parameter in self.params:
            if not isinstance(parameter, TyperOption):
                continue
            if parameter.name in PARAMETERS and not parameter.help:
                parameter.help = PARAMETERS[parameter.name].text
            elif parameter.name == "model":
                parameter.help = (
                    f"The model to fit: {', '.join(entry.name for entry in CATALOG)}; see the questions below."
                )
        models = "\n\n".join(f"{entry.name}: {entry.question_for()}" for entry in CATALOG)
        self.epilog = f"Questions that the models answer:\n\n{models}"
        super().format_help(ctx, formatter)


HELD_OUT_IN_SWEEP = 0.1  # widths can only be compared on images that no model was fitted to


def cluster(
    model: Annotated[str, typer.Option()] = "gmc",
    features: Annotated[str, typer.Option(help="Feature set of whole images.")] = "deep",
    segments: Annotated[
        str | None,
        typer.Option(
            metavar="FEATURES",
            help="mcm, scm, gmc-segments, iwtm, lda: feature set of segments or patches (default: patches for iwtm "
            "and lda, else segments).",
        ),
    ] = None,
    segment_width: Annotated[
        float | None,
        typer.Option(show_default="1"),
    ] = None,
    width: Annotated[
        float,
        typer.Option(),
    ] = 0.05,
    sweep: Annotated[str | None, typer.Option(metavar="W,W,...", help="Fit one run for each of these widths.")] = None,
    collection: Annotated[
        str | None, typer.Option(help="Only this campaign or set of albums (default: all images).")
    ] = None,
    name: Annotated[str | None, typer.Option(help="Name of the run.")] = None,
    hold_out: Annotated[
        float | None,
        typer.Option(help="Fraction of images used only to score the model (default: 0.1 in a sweep, otherwise 0)."),
    ] = None,
    seed: SeedOption = 0,
    dimensions: Annotated[
        int | None,
        typer.Option(help="Number of principal axes to use (default: as many as the number of images supports)."),
    ] = None,
    max_clusters: Annotated[int | None, typer.Option()] = None,
    clusters: Annotated[
        int | None,
        typer.Option(help="kmeans: the number of clusters. rim, krim: the largest number.", show_default="40 or 20"),
    ] = None,
    min_cluster_size: Annotated[int | None, typer.Option(show_default="5")] = None,
    min_samples: Annotated[int | None, typer.Option()] = None,
    max_image_clusters: Annotated[int | None, typer.Option(show_default="100")] = None,
    search: Annotated[str | None, typer.Option()] = None,
    observation: Annotated[
        str | None,
        typer.Option(show_default="diagonal for models of whole images, else full"),
    ] = None,
    topics: Annotated[int | None, typer.Option(min=1, help="iwtm, lda: number of topics.", show_default="10")] = None,
    words: Annotated[int | None, typer.Option(min=1, help="lda: size of the vocabulary.", show_default="200")] = None,
    inference: Annotated[
        str | None,
        typer.Option(help="iwtm: svi, vi, incremental or gibbs; lda: vi or gibbs.", show_default="svi or vi"),
    ] = None,
    memory: Annotated[int | None, typer.Option(metavar="N", show_default="4000")] = None,
    epoch: Annotated[int | None, typer.Option(metavar="N", show_default="2000")] = None,
    levels: Annotated[
        bool, typer.Option("--levels/--no-levels", help="Also compute a finer and a coarser level of the clusters.")
    ] = True,
    scheduler: Annotated[str | None, typer.Option(metavar="tcp://HOST:PORT", help="Run on a Dask cluster.")] = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Cluster all dives or albums together. The number of clusters is chosen automatically, except by kmeans.

    The result is a run; `benthoscope runs` lists all runs. Ctrl-C stops and keeps the clusters found so far.
    `benthoscope jobs retry` resumes a run that was killed. Every run also has a finer and a coarser level, with more
    and with fewer clusters. A new run does not become the current one; use `benthoscope runs choose RUN`.

    Examples:

        benthoscope cluster

        benthoscope cluster --model vdp --width 0.1 --name "no dives"

        benthoscope cluster --sweep 0.02,0.05,0.1,0.2

        benthoscope cluster --model mcm

        benthoscope cluster --model mcm --width 0.1 --segment-width 0.5

        benthoscope cluster --model iwtm --segments patches --topics 20

        benthoscope cluster --model mbvdp --memory 10000 --epoch 5000

        benthoscope cluster --model kmeans --clusters 40

        benthoscope cluster --model hdbscan --min-cluster-size 20

        benthoscope cluster --features deep --scheduler tcp://lab:8786
    """
    from benthoscope.engine.jobs.cluster.fit_request import with_limits
    from benthoscope.engine.jobs.cluster.model_catalog import entry_named, has_width, looks_at_segments

    if sweep and not looks_at_segments(model) and not has_width(model):
        raise fail("--sweep", f"clusters of {model} have no width", "do not use --sweep")
    extra = {
        "max_clusters": max_clusters,
        "n_clusters": clusters,
        "min_cluster_size": min_cluster_size,
        "min_samples": min_samples,
        "max_image_clusters": max_image_clusters,
        "search": search,
        "n_topics": topics,
        "n_words": words,
        "inference": inference,
        "observation": observation or entry_named(model).observation,
        "memory": memory,
        "epoch": epoch,
    }
    parameters = {key: value for key, value in extra.items() if value is not None}
    widths = _widths(sweep) if sweep else [width]
    held_out = hold_out if hold_out is not None else (HELD_OUT_IN_SWEEP if sweep else 0.0)
    parameter_sets = [
        {
            "model": model,
            "features": features,
            "width": each,
            "collection": collection,
            "hold_out": held_out,
            "seed": seed,
            "dimensions": dimensions,
            "scheduler": scheduler,
            "parameters": parameters,
            "name": f"{name} {each:g}" if name and sweep else name,
            "segments": segments,
            "segment_width": segment_width,
            "levels": levels,
        }
        for each in widths
    ]
    with open_workspace(workspace) as opened_workspace:
        # All jobs of a sweep are checked before the first one runs.
        check_jobs(opened_workspace, [("cluster", each) for each in parameter_sets])
        results = [
            with_limits(opened_workspace, run_job(opened_workspace, "cluster", each, as_json=as_json))
            for each in parameter_sets
        ]
    show(results if sweep else results[0], as_json, lambda _: _text(results))


def _widths(text: str) -> list[float]:
    try:
        return [float(word) for word in text.split(",")]
    except ValueError:
        raise fail("--sweep", f"'{text}' is not a list of numbers", "write it like 0.02,0.05,0.1") from None


def _text(results: list[dict[str, Any]]) -> Any:
    """A table of the runs, and one sentence for every limit that a fit reached."""
    from rich.console import Group

    sentences = [f"Run {run['run']}: {sentence}" for run in results for sentence in run["limits_reached"]]
    return Group(_table(results), *sentences)


def _table(results: list[dict[str, Any]]) -> Any:
    of_segments = "segment_clusters" in results[0]
    last = ("Segment clusters", "Segments") if of_segments else ("Held-out log likelihood",)

    from benthoscope.engine.workspace.runs import proper_clusters

    def cells(run: dict[str, Any]) -> tuple[str, ...]:
        score = "" if run["held_out"] is None else f"{run['held_out']:.4f}"
        columns = (str(run["segment_clusters"]), f"{run['segments']:,}") if of_segments else (score,)
        counts = [run["levels"][level]["clusters"] for level in ("coarser", "finer") if level in run["levels"]]
        levels = ", ".join(map(str, sorted([*counts, proper_clusters(run) or 0]))) if counts else ""
        return str(run["run"]), run["name"], str(proper_clusters(run)), levels, f"{run['images']:,}", *columns

    return text_table(("Run", "Name", "Clusters", "Levels", "Images", *last), map(cells, results))
