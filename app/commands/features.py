"""`benthoscope features`: compute a feature vector for every image, so that images can be compared and clustered."""

import math
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from benthoscope.app.commands.terminal import (
    JsonOption,
    WorkspaceOption,
    open_workspace,
    run_job,
    show,
    styled,
    text_table,
    writing,
)
from benthoscope.engine.problems import fail


class DescriptorCommand(TyperCommand):
    """Takes the list of descriptors from their catalogue, which is loaded only to show the help."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        from benthoscope.engine.features import DESCRIPTORS

        listed = "\n\n".join(f"{spec.word}: {spec.about}" for spec in DESCRIPTORS.values())
        self.epilog = f"Descriptors:\n\n{listed}"
        super().format_help(ctx, formatter)


SHOWN = 10  # problems printed before "and 37 more"


def features(
    descriptor: Annotated[
        str,
        typer.Option(
            metavar="NAME,NAME,...", help="Descriptors to use; see above. --onnx implies the descriptor onnx."
        ),
    ] = "deep",
    onnx: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Your own network, such as DINOv2 exported to ONNX. Its input size and normalisation "
            "are read from the file, or from preprocessor_config.json beside it.",
        ),
    ] = None,
    input_size: Annotated[
        int | None,
        typer.Option(min=1, metavar="PX", help="Input size of the ONNX network, if its file does not fix it."),
    ] = None,
    normalise: Annotated[
        str | None,
        typer.Option(
            metavar="M,M,M/S,S,S",
            help="Mean and standard deviation of red, green and blue (0 to 1) in the training of the ONNX "
            "network, if its file does not contain them (default: those of ImageNet).",
        ),
    ] = None,
    dimensions: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Length of the feature vectors. Longer vectors keep more detail, but need more images to cluster "
            "(default: 32 for deep, 20 for scspm, 15 for segments).",
        ),
    ] = None,
    raw: Annotated[
        bool,
        typer.Option(
            "--raw",
            help="Store the vectors without reduction (1280 numbers for deep, 21504 for scspm) for a classifier of "
            "your own. They are too long to cluster.",
        ),
    ] = False,
    dictionary: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="How scspm and rp learn the patterns they look for: kmeans, random, lasso, ksvd, or stream "
            "(default: kmeans). With stream, a mixture reads the patches once, and they decide the number of patterns; "
            "this takes minutes.",
        ),
    ] = None,
    water: Annotated[
        bool,
        typer.Option(
            "--water",
            help="First correct the lighting and the water colour of each dive. The correction is estimated from the "
            "images of the dive and their altitudes. For AUV and towed cameras.",
        ),
    ] = False,
    preview: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="With --water: only write a picture of some images before and after the correction.",
        ),
    ] = None,
    collection: Annotated[
        str | None, typer.Option(help="Only this campaign or set of albums (default: all images).")
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="Name of the feature set (default: the name of its descriptor).")
    ] = None,
    reuse_from: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Reuse the dictionary, filters and axes of another feature set (the folder `descriptor` "
            "inside the folder of that set), so that two campaigns can be compared.",
        ),
    ] = None,
    learn_from: Annotated[
        int | None,
        typer.Option(min=2, help="Number of random images that a new feature set is fitted to (default: 2000)."),
    ] = None,
    overwrite: Annotated[
        bool,
        typer.Option("--overwrite", help="Compute the feature set from scratch, instead of adding missing images."),
    ] = False,
    repair: Annotated[
        bool,
        typer.Option(
            "--repair",
            help="Update all feature sets: describe only images whose file changed or whose stored rows are damaged.",
        ),
    ] = False,
    seed: Annotated[
        int, typer.Option(help="Seed of the random numbers: the same seed gives the same result on the same machine.")
    ] = 0,
    workers: Annotated[int | None, typer.Option(min=1, help="Number of threads (default: one per core).")] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="tcp://HOST:PORT", help="Run on a Dask cluster whose workers see the images under the same paths."
        ),
    ] = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compute a feature vector for every image, so that images can be compared and clustered.

    The default descriptor is a network trained on a million photographs. It is the best choice for most collections.
    The descriptors are listed below.

    After importing more images, run the command again: it describes new images, images whose file changed, and images
    whose stored rows are damaged. Images that cannot be read are skipped and listed by `benthoscope problems`. Ctrl-C
    stops; the same command resumes.

    Examples:

        benthoscope features

        benthoscope features --descriptor deep,segments

        benthoscope features --water --preview before-after.png

        benthoscope features --descriptor deep,scspm --water

        benthoscope features --onnx dinov2-small.onnx --name dino

        benthoscope features --repair
    """
    if preview and not water:
        raise fail("--preview", "needs --water", "add --water")
    options = {
        "kinds": _descriptors(descriptor, onnx),
        "onnx": _path(onnx),
        "input_size": input_size,
        **_normalisation(normalise),
        "dimension": dimensions,
        "raw": raw,
        "dictionary": dictionary,
        "water": water,
        "collection": collection,
        "name": name,
        "like": _path(reuse_from),
        "learn_from": learn_from,
        "again": overwrite,
        "repair": repair,
        "seed": seed,
        "workers": workers,
        "scheduler": scheduler,
    }
    with open_workspace(workspace) as opened_workspace:
        if preview:
            show(_write_preview(opened_workspace, preview, collection, seed), as_json, _preview_text)
            return
        result = run_job(
            opened_workspace,
            "features",
            {key: value for key, value in options.items() if value is not None},
            as_json=as_json,
        )
    show(result, as_json, _table)


def _descriptors(text: str, onnx: Path | None) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise fail("--descriptor", "names no descriptor", "write it like deep,segments")
    return ["onnx"] if onnx and names == ["deep"] else names


def _path(path: Path | None) -> str | None:
    return str(path.absolute()) if path else None


def _normalisation(text: str | None) -> dict[str, list[float]]:
    if text is None:
        return {}
    try:
        mean, deviation = ([float(number) for number in numbers.split(",")] for numbers in text.split("/"))
    except ValueError:
        mean = deviation = []
    if len(mean) != 3 or len(deviation) != 3 or min(deviation) <= 0:
        raise fail(
            "--normalise",
            f"'{text}' is not the mean and standard deviation of three colours",
            "write it like 0.485,0.456,0.406/0.229,0.224,0.225",
        )
    return {"mean": mean, "deviation": deviation}


def _write_preview(workspace: Any, file: Path, collection: str | None, seed: int) -> dict[str, Any]:
    from benthoscope.engine.jobs.describe.water_models import preview

    with writing(file):
        return preview(workspace, file.absolute(), collection, seed)


def _preview_text(result: dict[str, Any]) -> str:
    return "\n".join(
        [f"Wrote images before and after the correction to {result['file']}", *map(_dive_text, result["dives"])]
    )


def _dive_text(dive: dict[str, Any]) -> str:
    """How much of each colour a metre of water absorbs, relative to the colour that it absorbs least."""
    if not any(dive["lost_per_metre"]):
        return f"Dive {dive['group']}: no change of colour with altitude found; lighting and tint are corrected"
    least = min(dive["lost_per_metre"])
    shares = [
        f"{100 * (1 - math.exp(least - rate)):.0f} % of {colour}"
        for rate, colour in zip(dive["lost_per_metre"], ("red", "green", "blue"), strict=True)
        if rate > least
    ]
    return f"Dive {dive['group']}: a metre of water absorbs {' and '.join(shares)}"


def _table(result: dict[str, Any]) -> Any:
    from rich.console import Group
    from rich.text import Text

    rows = [
        (row["name"], *(f"{row[key]:,}" for key in ("images", "added", "rows")), str(row["width"]))
        for row in result["sets"]
    ]
    table = text_table(("Feature set", "Images", "New", "Rows", "Dimensions"), rows)
    notes: list[Any] = [styled(note, "yellow") for note in result["notes"]]
    notes += [
        f"{feature_set['name']}: {feature_set['renewed']:,} images described again because their files changed, "
        f"{feature_set['repaired']:,} because their rows were damaged"
        for feature_set in result["sets"]
        if feature_set["renewed"] or feature_set["repaired"]
    ]
    if result["skipped"]:
        notes.append(Text.assemble((f"{result['skipped']:,} images skipped", "red"), ":"))
        notes += [f"  {problem}" for problem in result["problems"][:SHOWN]]
        unlisted = result["skipped"] - min(SHOWN, len(result["problems"]))
        notes += [f"  and {unlisted:,} more; see `benthoscope problems`"] if unlisted else []
    if not result["sets"]:
        return Group(*(notes or ["Nothing to repair."]))
    return Group(table, *notes, f"Next: benthoscope cluster {_options(result['sets'][0])}")


def _options(feature_set: dict[str, Any]) -> str:
    """Return the options of `benthoscope cluster` for a feature set."""
    name = feature_set["name"]
    if feature_set["level"] == "image":
        return f"--features {name}"
    return f"--model {'iwtm' if name.endswith('patches') else 'scm'} --segments {name}"
