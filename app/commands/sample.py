"""`benthoscope sample`: synthetic dives or photo albums whose truth is known."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from app.commands.terminal import STOPPED, JsonOption, show
from engine.problems import fail, unknown

Listener = Callable[[int, int], None]  # images done, images wanted


@dataclass(frozen=True)
class Flavour:
    """One kind of sample: the function that makes it, what its groups are called, and how much is made unasked."""

    make: Callable[..., Any]
    groups: str
    usual_groups: int
    usual_images: int


def sample(
    folder: Annotated[Path | None, typer.Argument(help="Where to write; by default sample-FLAVOUR here.")] = None,
    flavour: Annotated[str, typer.Option(
        metavar="campaign|albums", help="AUV dives over the sea floor, or holiday photos.")] = "campaign",
    groups: Annotated[int | None, typer.Option("--dives", "--albums", help="How many; by default 6 dives, 4 albums.",
                                               show_default=False)] = None,
    images: Annotated[int | None, typer.Option(help="How many in all; by default 240 or 60.")] = None,
    size: Annotated[str, typer.Option(metavar="WIDTHxHEIGHT", help="Of an image, in pixels.")] = "320x240",
    seed: Annotated[int, typer.Option(help="The same seed gives the same files.")] = 0,
    workers: Annotated[int | None, typer.Option(min=1, help="Processes; by default one for each core.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Throw away the sample that is in the folder.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Make a synthetic campaign of AUV dives, or photo albums, whose truth is known.

    Habitats, objects and point counts come with it as CSV files. Stopped half-way, the same command goes on from there.

    Examples:

        benthoscope sample

        benthoscope sample big --dives 12 --images 10000

        benthoscope sample --flavour albums --albums 6 --images 300
    """
    kind, folder = _flavour(flavour), folder or Path(f"sample-{flavour}")
    wanted = {kind.groups: kind.usual_groups if groups is None else groups,
              "images": kind.usual_images if images is None else images, "size": _size(size)}
    began = time.perf_counter()
    with _said_plainly(folder), _bar(quiet=as_json) as on_step:
        truth = kind.make(folder, **wanted, seed=seed, workers=workers, force=force, on_step=on_step)
    found = {"folder": str(folder), "flavour": flavour, kind.groups: len({image.group for image in truth.images}),
             "images": len(truth.images), "seconds": round(time.perf_counter() - began, 2)}
    show(found, as_json, lambda found: _text(found, kind))


def _flavour(word: str) -> Flavour:
    from sample_data import make_albums, make_campaign

    flavours = {"campaign": Flavour(make_campaign, "dives", 6, 240), "albums": Flavour(make_albums, "albums", 4, 60)}
    if word not in flavours:
        raise unknown("--flavour", word, flavours)
    return flavours[word]


def _size(text: str) -> tuple[int, int]:
    parts = text.lower().split("x")
    if len(parts) != 2 or not all(part.isascii() and part.isdecimal() for part in parts):
        raise fail("--size", f"'{text}' is not a width and a height", "write them as 320x240")
    return int(parts[0]), int(parts[1])


def _text(found: dict[str, Any], kind: Flavour) -> str:
    held = f"{found['images']} images in {found[kind.groups]} {kind.groups}, with their truth"
    return f"{held}, are in {found['folder']}\nNext: benthoscope import {found['folder']}"


@contextmanager
def _said_plainly(folder: Path) -> Iterator[None]:
    """What can go wrong for a person becomes one line."""
    from sample_data import FolderInUse, UnusableSettings

    try:
        yield
    except FolderInUse as error:
        raise fail(str(folder), str(error), "name another folder, or add --force to replace its sample") from error
    except UnusableSettings as error:
        raise fail("sample", str(error), "see `benthoscope sample --help`") from error
    except OSError as error:
        raise fail(str(folder), error.strerror or str(error), "choose a folder on a disk with room") from error
    except KeyboardInterrupt:
        typer.secho("Stopped; what was done is kept, and the same command goes on from there.", fg="yellow", err=True)
        raise typer.Exit(STOPPED) from None


@contextmanager
def _bar(*, quiet: bool) -> Iterator[Listener]:
    """A function that draws images done, rate and time left; where nobody watches it draws nothing."""
    if quiet or not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("Painting"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[pace]}"),
               TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task, pace = bar.add_task("", total=None, pace=""), Pace()
        yield lambda done, total: bar.update(task, completed=done, total=total, pace=pace(done))


class Pace:
    """Images a second since the first call, which may come when many are done already."""

    def __init__(self) -> None:
        self.began: tuple[float, int] | None = None

    def __call__(self, done: int) -> str:
        now = time.perf_counter()
        self.began = self.began or (now, done)
        seconds = now - self.began[0]
        return f"{(done - self.began[1]) / seconds:.0f} images/s" if seconds > 0 else ""
