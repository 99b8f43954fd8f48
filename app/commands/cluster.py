"""`benthoscope cluster`: find groups of images that belong together, across all dives."""

from typing import Annotated, Any

import typer

from app.commands.terminal import JsonOption, WorkspaceOption, opened, run_job, show
from engine.problems import fail

HELD_OUT_IN_SWEEP = 0.1  # widths can only be compared on images that no model has seen


def cluster(
    model: Annotated[str, typer.Option(help="Which question is answered; see below.")] = "gmc",
    features: Annotated[str, typer.Option(help="Feature set to cluster: descriptions of whole images.")] = "deep",
    segments: Annotated[str | None, typer.Option(
        metavar="FEATURES", help="mcm, scm, gmc-segments: the set of segments; by default the one there is.")] = None,
    segment_width: Annotated[float | None, typer.Option(
        help="mcm, scm, gmc-segments: how wide a cluster of segments may be; smaller gives more kinds of objects.",
        show_default="1")] = None,
    width: Annotated[float, typer.Option(help="A cluster's expected variance as a share of the whole variation: "
                                              "smaller gives more and tighter clusters.")] = 0.05,
    sweep: Annotated[str | None, typer.Option(metavar="W,W,...", help="Try several widths, one run each.")] = None,
    collection: Annotated[str | None, typer.Option(help="Only this collection; by default all images.")] = None,
    name: Annotated[str | None, typer.Option(help="Name of the run.")] = None,
    hold_out: Annotated[float | None, typer.Option(
        help="Share of images kept aside to score the model with; 0.1 in a sweep, else none.")] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same clusters on the same machine.")] = 0,
    dimensions: Annotated[int | None, typer.Option(
        help="Look at this many directions of largest variation; by default as many as the number of images can "
             "support.")] = None,
    max_clusters: Annotated[int | None, typer.Option(help="No more clusters than this.")] = None,
    search: Annotated[str | None, typer.Option(help="How clusters are split: greedy, exhaustive, together.")] = None,
    observation: Annotated[str | None, typer.Option(help="Shape of clusters: full, diagonal, exponential.")] = None,
    scheduler: Annotated[str | None, typer.Option(metavar="tcp://HOST:PORT", help="Run on a Dask cluster.")] = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Cluster all dives or albums together; how many clusters there are is found, not asked.

    The result is a run: list runs with `benthoscope runs`. Ctrl-C stops and keeps the clusters found so far; a killed
    run goes on with `benthoscope jobs retry`. Which model answers which question:

    gmc: Which kinds of images are there, and how much of each does every dive have? Right for most surveys. sgmc is the
    same with all kinds expected to be equally common in a dive.

    vdp, bgmm: Which kinds of images are there, whatever dive they are from?

    rim, krim: Where do the images part most clearly, along straight borders or along borders of any shape?

    mcm: Which kinds of scenes are there, and which objects make them up? Looks at whole images and at their segments at
    once; needs both described: `benthoscope features --kind deep,segments`.

    scm: The same by the segments alone: scenes that show the same objects in the same shares.

    gmc-segments: Which kinds of objects are there? Clusters segments only; every image has its own shares of them.

    Examples:

        benthoscope cluster

        benthoscope cluster --model vdp --width 0.1 --name "no dives"

        benthoscope cluster --sweep 0.02,0.05,0.1,0.2

        benthoscope cluster --model mcm

        benthoscope cluster --model mcm --width 0.1 --segment-width 0.5

        benthoscope cluster --features deep --scheduler tcp://lab:8786
    """
    extra = {"max_clusters": max_clusters, "search": search, "observation": observation}
    parameters = {key: value for key, value in extra.items() if value is not None}
    widths = _widths(sweep) if sweep else [width]
    aside = hold_out if hold_out is not None else (HELD_OUT_IN_SWEEP if sweep else 0.0)
    with opened(workspace) as found:
        results = [run_job(found, "cluster", {
            "model": model, "features": features, "width": each, "collection": collection, "hold_out": aside,
            "seed": seed, "dimensions": dimensions, "scheduler": scheduler, "parameters": parameters,
            "name": f"{name} {each:g}" if name and sweep else name, "segments": segments,
            "segment_width": segment_width,
        }, as_json=as_json) for each in widths]
    show(results if sweep else results[0], as_json, lambda _: _table(results))


def _widths(told: str) -> list[float]:
    try:
        return [float(word) for word in told.split(",")]
    except ValueError:
        raise fail("--sweep", f"'{told}' is no list of numbers", "write it like 0.02,0.05,0.1") from None


def _table(results: list[dict[str, Any]]) -> Any:
    from rich.markup import escape
    from rich.table import Table

    of_segments = "segment_clusters" in results[0]
    last = ("Segment clusters", "Segments") if of_segments else ("Held-out log likelihood",)
    table = Table("Run", "Name", "Clusters", "Images", *last, box=None, header_style="bold")
    for run in results:
        score = "" if run["held_out"] is None else f"{run['held_out']:.4f}"
        rest = (str(run["segment_clusters"]), f"{run['segments']:,}") if of_segments else (score,)
        table.add_row(str(run["run"]), escape(run["name"]), str(run["clusters"]), f"{run['images']:,}", *rest)
    return table
