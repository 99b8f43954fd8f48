"""`benthoscope sample`: synthetic dives or photo albums with known labels."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from benthoscope.app.commands.terminal import STOPPED, JsonOption, show
from benthoscope.engine.problems import fail, unknown

OnStep = Callable[[int, int], None]  # images done, images in all


@dataclass(frozen=True)
class Flavour:
    """A kind of sample: the function that makes it, the word for its groups, and the default counts."""

    make: Callable[..., Any]
    groups: str
    default_groups: int
    default_images: int


def sample(
    folder: Annotated[
        Path | None, typer.Argument(help="Folder to write to (default: sample-FLAVOUR in this folder).")
    ] = None,
    flavour: Annotated[
        str, typer.Option(metavar="campaign|albums", help="AUV dives over the sea floor, or albums of holiday photos.")
    ] = "campaign",
    groups: Annotated[
        int | None,
        typer.Option(
            "--dives", "--albums", help="Number of dives or albums (default: 6 dives, 4 albums).", show_default=False
        ),
    ] = None,
    images: Annotated[
        int | None, typer.Option(help="Number of images in all (default: 240 in dives, 60 in albums).")
    ] = None,
    size: Annotated[str, typer.Option(metavar="WIDTHxHEIGHT", help="Size of the images in pixels.")] = "320x240",
    seed: Annotated[int, typer.Option(help="Seed of the random numbers: the same seed gives the same files.")] = 0,
    workers: Annotated[int | None, typer.Option(min=1, help="Number of processes (default: one per core).")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the sample that is in the folder.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Create a synthetic campaign of AUV dives, or photo albums, with known labels.

    CSV files beside the images list the true habitats, objects and point counts. Ctrl-C stops; the same command
    resumes.

    Examples:

        benthoscope sample

        benthoscope sample big --dives 12 --images 10000

        benthoscope sample --flavour albums --albums 6 --images 300
    """
    kind, folder = _flavour(flavour), folder or Path(f"sample-{flavour}")
    options = {
        kind.groups: kind.default_groups if groups is None else groups,
        "images": kind.default_images if images is None else images,
        "size": _size(size),
    }
    started = time.perf_counter()
    with _errors_as_problems(folder), _bar(quiet=as_json) as on_step:
        truth = kind.make(folder, **options, seed=seed, workers=workers, force=overwrite, on_step=on_step)
    facts = {
        "folder": str(folder),
        "flavour": flavour,
        kind.groups: len({image.group for image in truth.images}),
        "images": len(truth.images),
        "seconds": round(time.perf_counter() - started, 2),
    }
    show(facts, as_json, lambda facts: _text(facts, kind))


def _flavour(name: str) -> Flavour:
    from benthoscope.sample_data import make_albums, make_campaign

    flavours = {"campaign": Flavour(make_campaign, "dives", 6, 240), "albums": Flavour(make_albums, "albums", 4, 60)}
    if name not in flavours:
        raise unknown("--flavour", name, flavours)
    return flavours[name]


def _size(text: str) -> tuple[int, int]:
    numbers = text.lower().split("x")
    if len(numbers) != 2 or not all(number.isascii() and number.isdecimal() for number in numbers):
        raise fail("--size", f"'{text}' is not a width and a height", "write them as 320x240")
    return int(numbers[0]), int(numbers[1])


def _text(facts: dict[str, Any], kind: Flavour) -> str:
    content = f"{facts['images']} images in {facts[kind.groups]} {kind.groups}, and their true labels,"
    return f"Wrote {content} to {facts['folder']}\nNext: benthoscope import {facts['folder']}"


@contextmanager
def _errors_as_problems(folder: Path) -> Iterator[None]:
    """Turn errors in the input into one line."""
    from benthoscope.sample_data import FolderInUse, UnusableSettings

    try:
        yield
    except FolderInUse as error:
        raise fail(
            str(folder), str(error), "choose another folder, or add --overwrite to replace its sample"
        ) from error
    except UnusableSettings as error:
        raise fail("sample", str(error), "see `benthoscope sample --help`") from error
    except OSError as error:
        raise fail(str(folder), error.strerror or str(error), "choose a folder on a disk with free space") from error
    except KeyboardInterrupt:
        typer.secho("Stopped. Finished images are kept; run the same command to resume.", fg="yellow", err=True)
        raise typer.Exit(STOPPED) from None


@contextmanager
def _bar(*, quiet: bool) -> Iterator[OnStep]:
    """Yield a function that draws a progress bar; it draws nothing if standard error is no terminal."""
    if quiet or not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("Drawing images"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[pace]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task, pace = bar.add_task("", total=None, pace=""), ImageRate()
        yield lambda done, total: bar.update(task, completed=done, total=total, pace=pace(done))


class ImageRate:
    """Images per second since the first call; images done before it do not count."""

    def __init__(self) -> None:
        self.start: tuple[float, int] | None = None

    def __call__(self, done: int) -> str:
        now = time.perf_counter()
        self.start = self.start or (now, done)
        seconds = now - self.start[0]
        return f"{(done - self.start[1]) / seconds:.0f} images/s" if seconds > 0 else ""
