"""The label log at full size: a bulk label of a million images, the history of one image, current labels."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benthoscope.engine.workspace import Workspace
from benthoscope.engine.workspace.labels.log import Act
from benthoscope.engine.workspace.labels.vocabularies import NewTerm
from tests.benchmarks.measure import Table, measure

MILLION = 1_000_000
SINGLE, BULK = 20_000, 200


def tables() -> Iterator[Table]:
    with tempfile.TemporaryDirectory() as name, Workspace.create(Path(name) / "log") as workspace:
        yield _table(workspace)


def _table(workspace: Workspace) -> Table:
    log, rng = workspace.labels, np.random.default_rng(0)
    ann = workspace.people.named("Ann").id
    words = workspace.vocabularies.add("own", [NewTerm(("sand",)), NewTerm(("kelp",))])
    sand, kelp = (term.id for term in workspace.vocabularies.terms(words.id))
    scattered = np.sort(rng.choice(4 * MILLION, MILLION, replace=False)) + 1
    rows = [
        _row("one act, 1,000,000 neighbouring images", lambda: log.label(ann, np.arange(1, MILLION + 1), sand)),
        _row("one act, 1,000,000 images scattered over 4,000,000", lambda: log.label(ann, scattered, kelp)),
        _row("what holds, for the first time", log.current),
        _row("undo of that act", lambda: log.undo_last(ann)),
        _row("what holds after it", log.current),
    ]
    _filled(log, ann, sand, rng)
    rows += [
        _row(f"history of one image after {SINGLE:,} single and {BULK} bulk acts", lambda: log.history(500_000)),
        _row("what holds after all of them", log.current),
        _row("one more label, and what holds", lambda: (log.label(ann, [7], kelp), log.current())),
    ]
    return Table("The label log (SQLite)", ("", "CPU s", "wall s"), rows)


def _filled(log, person: int, term: int, rng: np.random.Generator) -> None:
    """Fill the log as after a season: many single labels, some bulk labels of ten thousand images each."""
    singles = [Act("label", np.array([image]), "manual", term) for image in rng.integers(1, MILLION, SINGLE)]
    bulks = [Act("label", np.sort(rng.choice(MILLION, 10_000, replace=False)) + 1, "bulk", term) for _ in range(BULK)]
    log.append_events(person, singles + bulks)


def _row(name: str, function) -> tuple:
    _, cost = measure(function)
    return name, cost.cpu, cost.wall
