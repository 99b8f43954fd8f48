"""Topic weights of stored images are inferred in chunks: memory does not grow with the number of images."""

import tracemalloc

import numpy as np

from benthoscope.engine.compute import InOrder
from benthoscope.engine.topics import InfiniteWordTopicModel, as_documents
from benthoscope.engine.topics.documents import ROWS_AT_ONCE
from tests.topic_corpora import ring

EACH, WIDTH = 50, 24  # patches of an image, and their dimensions
IMAGES = 1_000_000
LIMIT = 1e9  # bytes


def most_bytes(function) -> int:
    """Return the most bytes that were allocated during the call of a function."""
    tracemalloc.start()
    function()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def stored_rows(path, count, width):
    """Write rows of two known columns and zeros to a file."""
    rows = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(count, width))
    rows[:, :2] = np.tile(CORPUS.X, (-(-count // len(CORPUS.X)), 1))[:count]
    rows.flush()
    return path


CORPUS = ring(20, 40)


def test_a_million_images_need_less_than_a_gigabyte(tmp_path):
    """The list of images by the slope of two sizes, and the largest of the blocks, which do not grow."""
    by_size = []
    for count in (20_000, 60_000):
        path = stored_rows(tmp_path / f"{count}.npy", count * EACH, 2)
        images = np.repeat(np.arange(count, dtype=np.int32), EACH)
        by_size.append(most_bytes(lambda path=path, images=images: as_documents(path, images)) + images.nbytes)
    per_image = (by_size[1] - by_size[0]) / 40_000
    X = np.column_stack([CORPUS.X, np.zeros((len(CORPUS.X), WIDTH - 2))])
    model = InfiniteWordTopicModel(3, n_clusters=10, n_init=1, max_iter=3, random_state=0).fit(X, CORPUS.image)
    blocks = []
    for count in (1_000, 3_000):
        assert count * EACH > 2 * ROWS_AT_ONCE
        path = stored_rows(tmp_path / f"wide {count}.npy", count * EACH, WIDTH)
        images = np.repeat(np.arange(count, dtype=np.int32), EACH)
        # Without threads: how much of their work coincides differs from run to run.
        blocks.append(most_bytes(lambda path=path, images=images: model.transform(path, images, compute=InOrder())))
    of_blocks = (blocks[1] - blocks[0]) / 2_000  # bytes of one more image; the largest block does not grow
    with_threads = most_bytes(lambda: model.transform(path, images))
    weights = IMAGES * 3 * 8 * 3  # of the result, its chunks, and the counts
    assert by_size[0] + (per_image + of_blocks) * IMAGES + with_threads + weights < LIMIT


def test_documents_of_a_file_are_read_in_blocks(tmp_path):
    path = tmp_path / "rows.npy"
    np.save(path, np.ones((4 * ROWS_AT_ONCE, 2), np.float32))
    documents = as_documents(path, np.repeat(np.arange(8), ROWS_AT_ONCE // 2))
    assert [len(block.read()) for block in documents.blocks()] == [ROWS_AT_ONCE] * 4
