"""kill -9 of several processes that store thumbnails in one library: confirmed thumbnails are present and intact."""

import random
import time
from contextlib import ExitStack

import pytest

from benthoscope.engine.workspace.storage.thumbnails import ThumbnailLibrary
from tests.faults.storing import acknowledged, jpeg, sha, store_for_ever
from tests.faults.victims import running

pytestmark = pytest.mark.slow
ROUNDS, PROCESSES = 12, 3


def killed_while_storing(folder, notes, draw):
    """Start a process for each note file. When all have stored something, kill them one after the other."""
    before = [acknowledged(note) for note in notes]
    with ExitStack() as started:
        victims = [
            started.enter_context(running(store_for_ever, folder, writer_number, note))
            for writer_number, note in enumerate(notes)
        ]
        until = time.monotonic() + 30
        while any(acknowledged(note) <= count for note, count in zip(notes, before, strict=True)):
            assert time.monotonic() < until, "nothing was stored within 30 s: does a dead process hold the lock?"
            time.sleep(0.01)
        for victim in victims:
            time.sleep(draw.uniform(0, 0.05))
            victim.kill()


def test_nothing_acknowledged_is_lost_when_writers_are_killed_thirty_six_times(tmp_path):
    draw, folder = random.Random(0), tmp_path / "thumbnails"
    notes = [tmp_path / f"{writer_number}.txt" for writer_number in range(PROCESSES)]
    for _ in range(ROUNDS):
        killed_while_storing(folder, notes, draw)
        reader = ThumbnailLibrary(folder)
        for writer_number, note in enumerate(notes):
            stored_rows = acknowledged(note)
            recent = range(max(0, stored_rows - 300), stored_rows)
            assert [n for n in recent if reader.get(sha(writer_number, n), 320) != jpeg(n)] == []
    library = ThumbnailLibrary(folder)
    library.add(sha(9, 9), 320, b"last")  # cuts off what the last kill left half-written
    report = library.verify()[1]
    assert report.damaged_bytes == 0 and report.thumbnails > sum(map(acknowledged, notes))
    hashes = [sha(writer_number, n) for writer_number, note in enumerate(notes) for n in range(acknowledged(note))]
    assert library.missing(hashes, 320) == []
