"""The catalogue of many images: reading its columns, and the first opening of Library with more and more duplicates."""

import statistics
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from sqlalchemy import case, func, update

from benthoscope.app.pages.library.model import LibraryView
from benthoscope.app.session.app_state import AppState
from benthoscope.app.session.image_table import read_columns
from benthoscope.app.session.session import Session
from benthoscope.engine.workspace import Workspace
from benthoscope.engine.workspace.database.schema import image
from tests.benchmarks.measure import Cost, Table, measure
from tests.benchmarks.sized_workspace import make_workspace

TURNS = 5
SIZES = (100_000, 1_000_000)
SHARES = (0.0, 0.1, 0.5, 0.9)  # of images with the same content as an older one
OPENED = 100_000  # images of the workspace whose Library is opened


def tables(*parts: str) -> Iterator[Table]:
    for part in parts or PARTS:
        yield PARTS[part]()


def _columns() -> Table:
    """Print the cost of the columns that every page shares."""
    rows = []
    for images in SIZES:
        with tempfile.TemporaryDirectory() as folder, _workspace(Path(folder), images) as workspace:
            cost = _median(lambda workspace=workspace: read_columns(workspace))
            rows.append([f"{images:,}", cost.cpu, cost.wall])
    notes = (f"Median of {TURNS} turns. Target: less than 0.5 s for 1,000,000 images.",)
    return Table("Columns of all images", ("images", "CPU s", "wall s"), rows, notes)


def _openings() -> Table:
    """Print the cost of Library in a new process, as far as it depends on the catalogue."""
    rows = []
    with tempfile.TemporaryDirectory() as folder, _workspace(Path(folder), OPENED) as workspace:
        for share in SHARES:
            _duplicate(workspace, share)
            copies = workspace.library.count_copies()
            cost = _median(lambda: LibraryView(Session(AppState(workspace))).content())
            rows.append([f"{copies:,}", cost.cpu, cost.wall])
    notes = (f"Median of {TURNS} turns. Target: independent of the number of duplicates.",)
    return Table(f"First opening of Library, {OPENED:,} images", ("duplicates", "CPU s", "wall s"), rows, notes)


def _workspace(folder: Path, images: int) -> Workspace:
    path = folder / "library.benthos"
    make_workspace(path, images, described=False)
    return Workspace.open(path)


def _duplicate(workspace: Workspace, share: float) -> None:
    """Give this share of the images the content of an older one: each of these contents has ten images."""
    copied = image.c.id > OPENED - round(share * OPENED * 10 / 9)
    content = case((copied, 10 * OPENED + image.c.id // 10), else_=image.c.id)
    hashes = func.printf("%064x", content)  # a function of SQLite
    workspace.catalogue.write(lambda connection: connection.execute(update(image).values(sha256=hashes)))


def _median(function: Callable[[], Any]) -> Cost:
    """Return the cost of a median turn, after one that is not measured."""
    function()
    costs = [measure(function)[1] for _ in range(TURNS)]
    return Cost(statistics.median(c.cpu for c in costs), statistics.median(c.wall for c in costs), costs[-1].peak)


PARTS: dict[str, Callable[[], Table]] = {"columns": _columns, "openings": _openings}
