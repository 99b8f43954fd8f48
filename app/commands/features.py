"""`benthoscope features`: describe images in numbers, so that they can be compared and clustered."""

import math
from pathlib import Path
from typing import Annotated, Any

import typer

from app.commands.terminal import JsonOption, WorkspaceOption, opened, run_job, show
from engine.problems import fail

SHOWN = 10  # problems printed before "and 37 more"


def features(
    kind: Annotated[str, typer.Option(
        metavar="WORD,WORD,...", help="What to look at; see above. With --onnx this is onnx.")] = "deep",
    onnx: Annotated[Path | None, typer.Option(
        metavar="FILE", help="A network of your own, such as DINOv2 exported to ONNX. Its input size and normalisation "
                             "are read from the file or from preprocessor_config.json beside it.")] = None,
    input_size: Annotated[int | None, typer.Option(
        min=1, metavar="PX", help="Side of the images that network takes, where its file leaves it open.")] = None,
    normalise: Annotated[str | None, typer.Option(
        metavar="M,M,M/S,S,S", help="Mean and standard deviation of red, green and blue (0 to 1) that network was "
                                    "trained with, where its file does not say; ImageNet's by default.")] = None,
    dimension: Annotated[int | None, typer.Option(
        min=1, help="Numbers an image ends up with. More keep more detail and need more images to cluster; by default "
                    "32 for deep, 20 for scspm, 15 for segments.")] = None,
    raw: Annotated[bool, typer.Option(
        "--raw", help="Keep the full descriptions (1280 numbers for deep, 21504 for scspm), for a classifier of your "
                      "own; too long to cluster.")] = False,
    water: Annotated[bool, typer.Option(
        "--water", help="First even out the light of each dive and the colour that water takes with altitude, learned "
                        "from the dive's own images. For AUV and towed cameras.")] = False,
    preview: Annotated[Path | None, typer.Option(
        metavar="FILE", help="With --water: only write a picture of some images before and after, to judge it by.",
    )] = None,
    collection: Annotated[str | None, typer.Option(help="Only this campaign; by default all images.")] = None,
    name: Annotated[str | None, typer.Option(help="Name of the feature set; by default the word of its kind.")] = None,
    like: Annotated[Path | None, typer.Option(
        metavar="FOLDER", help="Use the dictionary, filters and axes another set has learned (the folder `descriptor` "
                               "in that set's folder), so that two campaigns can be compared.")] = None,
    learn_from: Annotated[int | None, typer.Option(
        min=2, help="Images a new set learns from, drawn at random; 2000 by default.")] = None,
    again: Annotated[bool, typer.Option(
        "--again", help="Make the set anew with all it learns, instead of adding what it lacks.")] = False,
    seed: Annotated[int, typer.Option(help="The same seed gives the same numbers on the same machine.")] = 0,
    workers: Annotated[int | None, typer.Option(min=1, help="Threads; by default one for each core.")] = None,
    scheduler: Annotated[str | None, typer.Option(
        metavar="tcp://HOST:PORT", help="Run on a Dask cluster that sees the images under the same paths.")] = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Describe images in numbers, so that they can be compared and clustered.

    Without options every image gets its description by a network trained on a million photographs, which is the best
    choice for nearly every collection. What you can choose:

    [bold]deep[/bold]      what a trained network sees in the whole image; start here

    [bold]segments[/bold]  some fifty regions in every image, each by its colour and fine texture: to find out not only
    which scenes there are but what is in them

    [bold]scspm[/bold]     the layout of texture, learned on your own images; blind to colour, so the tint of the water
    does not matter

    [bold]rp[/bold]        the same, shortened by chance directions to a thousand numbers that keep all distances

    [bold]colour[/bold]    shares of colours, textures and edges; quick, good for photo albums, misled by water

    [bold]mean[/bold]      the mean colour alone, to see how much the others add

    [bold]onnx[/bold]      a network of your own, with --onnx FILE

    Run it again after importing more images: only those are described. Images that cannot be read are skipped and
    listed by `benthoscope problems`. Ctrl-C stops; the same command goes on from there.

    Examples:

        benthoscope features

        benthoscope features --kind deep,segments

        benthoscope features --water --preview before-after.png

        benthoscope features --kind deep,scspm --water

        benthoscope features --onnx dinov2-small.onnx --name dino
    """
    if preview and not water:
        raise fail("--preview", "shows the water correction", "say --water too")
    asked = {"kinds": _words(kind, onnx), "onnx": _path(onnx), "input_size": input_size, **_normalisation(normalise),
             "dimension": dimension, "raw": raw, "water": water, "collection": collection, "name": name,
             "like": _path(like), "learn_from": learn_from, "again": again, "seed": seed, "workers": workers,
             "scheduler": scheduler}
    with opened(workspace) as found:
        if preview:
            show(_previewed(found, preview, collection, seed), as_json, _preview_text)
            return
        result = run_job(found, "features", {key: value for key, value in asked.items() if value is not None},
                         as_json=as_json)
    show(result, as_json, _table)


def _words(kind: str, onnx: Path | None) -> list[str]:
    words = [word.strip() for word in kind.split(",") if word.strip()]
    if not words:
        raise fail("--kind", "says nothing", "write it like deep,segments")
    return ["onnx"] if onnx and words == ["deep"] else words


def _path(given: Path | None) -> str | None:
    return str(given.absolute()) if given else None


def _normalisation(told: str | None) -> dict[str, list[float]]:
    if told is None:
        return {}
    try:
        mean, deviation = ([float(number) for number in part.split(",")] for part in told.split("/"))
    except ValueError:
        mean = deviation = []
    if len(mean) != 3 or len(deviation) != 3 or min(deviation) <= 0:
        raise fail("--normalise", f"'{told}' is no mean and deviation of three colours",
                   "write it like 0.485,0.456,0.406/0.229,0.224,0.225")
    return {"mean": mean, "deviation": deviation}


def _previewed(workspace: Any, file: Path, collection: str | None, seed: int) -> dict[str, Any]:
    from engine.jobs.waters import preview

    return preview(workspace, file.absolute(), collection, seed)


def _preview_text(result: dict[str, Any]) -> str:
    return "\n".join([f"Before and after, side by side: {result['file']}", *map(_dive_text, result["dives"])])


def _dive_text(dive: dict[str, Any]) -> str:
    """What a metre of water takes of each colour, beside what it takes of the one that travels best."""
    if not any(dive["lost_per_metre"]):
        return f"dive {dive['group']}: no change with altitude could be told; light and tint are evened out"
    least = min(dive["lost_per_metre"])
    shares = [f"{100 * (1 - math.exp(least - rate)):.0f} % of {colour}"
              for rate, colour in zip(dive["lost_per_metre"], ("red", "green", "blue"), strict=True) if rate > least]
    return f"dive {dive['group']}: a metre of water takes {' and '.join(shares)}"


def _table(result: dict[str, Any]) -> Any:
    from rich.console import Group
    from rich.markup import escape
    from rich.table import Table

    table = Table("Feature set", "Images", "New", "Rows", "Numbers each", box=None, header_style="bold")
    for one in result["sets"]:
        table.add_row(one["name"], f"{one['images']:,}", f"{one['added']:,}", f"{one['rows']:,}", str(one["width"]))
    notes = [f"[yellow]{escape(note)}[/yellow]" for note in result["notes"]]
    if result["skipped"]:
        notes.append(f"[red]{result['skipped']:,} images skipped[/red]:")
        notes += [f"  {escape(told)}" for told in result["problems"][:SHOWN]]
        more = result["skipped"] - min(SHOWN, len(result["problems"]))
        notes += [f"  and {more:,} more; see `benthoscope problems`"] if more else []
    return Group(table, *notes, f"Next: benthoscope cluster --features {result['sets'][0]['name']}")
