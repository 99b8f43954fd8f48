"""How a crowd's server answers 200 people at once, the people on the same machine."""

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
        seen = outcome(everybody(PEOPLE, campaign, server))
        kept = len(workspace.crowd.answers(campaign.id))
    rows = [_row(seen, kind, words) for kind, words in KINDS.items()] + [_row(seen, None, "all")]
    yield Table(f"{PEOPLE} people at once", ("request", "requests", "median ms", "p99 ms"), rows,
                [f"Answers acknowledged: {len(seen.acknowledged)}, stored: {kept}. Target: p99 of all under 250 ms."])


def _row(seen: Seen, kind: str | None, words: str) -> tuple[str, int, float, float]:
    median, late = seen.quantiles(kind)
    count = sum(len(some) for name, some in seen.seconds.items() if kind in (None, name))
    return words, count, 1e3 * median, 1e3 * late
