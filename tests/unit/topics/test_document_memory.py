"""A pass over descriptors in a file does not fill the memory of the process with the file."""

import re
from pathlib import Path

import numpy as np
import pytest

from benthoscope.engine.compute.chunks import RowChunk
from benthoscope.engine.topics.documents import as_documents

STATUS = Path("/proc/self/status")
MEGABYTES = 64


def mapped_megabytes() -> float:
    """Memory of this process that is mapped from files."""
    kilobytes = re.search(r"RssFile:\s+(\d+) kB", STATUS.read_text(encoding="ascii"))
    return int(kilobytes[1]) / 1000


@pytest.fixture
def stored(tmp_path):
    path = tmp_path / "rows.npy"
    rows = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(MEGABYTES * 4000, 64))
    rows[:] = np.arange(len(rows), dtype=np.float32)[:, None]
    rows.flush()
    return path


@pytest.mark.skipif(not STATUS.exists(), reason="only Linux tells how much memory is mapped from files")
def test_blocks_of_a_file_are_released_after_they_are_read(stored):
    before = mapped_megabytes()
    documents = as_documents(stored, np.repeat(np.arange(MEGABYTES * 40), 100))
    sums = [block.read()[:, 0].sum(dtype=float) for block in documents.blocks()]
    count = MEGABYTES * 4000
    assert sum(sums) == count * (count - 1) / 2
    assert mapped_megabytes() - before < MEGABYTES / 4


def test_released_rows_are_read_again(stored):
    chunk = RowChunk(stored, 5000, 9000)
    first = chunk.read().copy()
    chunk.release()
    np.testing.assert_array_equal(chunk.read(), first)
    RowChunk(np.zeros((3, 2)), 0, 3).release()  # rows in memory stay there
