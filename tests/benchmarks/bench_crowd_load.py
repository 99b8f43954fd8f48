"""Response times of a crowd server for 200 simultaneous people, simulated on the same machine."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.benchmarks.measure import Table
from tests.load.people import Seen, asked, everybody
from tests.loops import outcome

PEOPLE = 200
KINDS = {"join": "join", "task": "next task", "image": "image of 320", "answer": "answer, on disk when acknowledged"}


def tables() -> Iterator[Table]:
    with tempfile.TemporaryDirectory() as name, asked(Path(name)) as (workspace, campaign, server):
        load = outcome(everybody(PEOPLE, campaign, server))
        stored_count = len(workspace.crowd.answers(campaign.id))
    rows = [_row(load, kind, words) for kind, words in KINDS.items()] + [_row(load, None, "all")]
    yield Table(
        f"{PEOPLE} people at the same time",
        ("request", "requests", "median ms", "p99 ms"),
        rows,
        [f"Answers acknowledged: {len(load.acknowledged)}, stored: {stored_count}. Target: p99 of all under 250 ms."],
    )


def _row(load: Seen, kind: str | None, words: str) -> tuple[str, int, float, float]:
    median, late = load.quantiles(kind)
    count = sum(len(some) for name, some in load.seconds.items() if kind in (None, name))
    return words, count, 1e3 * median, 1e3 * late
