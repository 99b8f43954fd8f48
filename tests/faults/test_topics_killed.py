"""Fits of topics that are killed resume from their last checkpoint and end like fits that were not."""

import os
import signal
from pathlib import Path

import numpy as np
import pytest

from benthoscope.engine.topics import InfiniteWordTopicModel, VisualLDA, monitor
from benthoscope.engine.workspace.storage.files import load_parts, save_parts
from tests.faults.victims import running
from tests.topic_corpora import ring

CORPUS = ring(30, 20, seed=3)
EARLIER, LATER = CORPUS.subset(np.arange(20)), CORPUS.subset(np.arange(20, 30))


class OnDisk:
    """A checkpoint in a folder, as jobs have it. The process dies at the save number `dies_at`."""

    def __init__(self, folder: Path, dies_at: int = 0):
        self.folder, self.dies_at, self.saves = folder, dies_at, 0

    def save(self, state):
        self.saves += 1
        save_parts(self.folder / str(len(list(self.folder.iterdir()))), state)
        if self.saves == self.dies_at:
            os.kill(os.getpid(), signal.SIGKILL)

    def load(self):
        states = sorted(self.folder.iterdir(), key=lambda path: int(path.name))
        return load_parts(states[-1]) if states else None


def gibbs(checkpoint):
    model = InfiniteWordTopicModel(3, inference="gibbs", sweeps=10, burn_in=2, start_clusters=8, random_state=0)
    return model.fit(CORPUS.X, CORPUS.image, checkpoint=checkpoint)


def lda(checkpoint):
    model = VisualLDA(3, n_words=8, max_iter=6, n_init=2, tol=0, random_state=0)
    return model.fit(CORPUS.X, CORPUS.image, checkpoint=checkpoint)


def added(checkpoint):
    model = InfiniteWordTopicModel(
        3, inference="incremental", n_clusters=10, n_init=1, max_iter=3, iterations_alone=4, iterations_together=4,
        random_state=0,
    )  # fmt: skip
    model.fit(EARLIER.X, EARLIER.image)
    return model.partial_fit(LATER.X, LATER.image, checkpoint=checkpoint)


def fit_until_killed(fit, folder: Path, dies_at: int) -> None:
    monitor.SECONDS_BETWEEN_CHECKPOINTS = 0.0
    fit(OnDisk(folder, dies_at))


@pytest.mark.parametrize("fit, dies_at", [(gibbs, 6), (lda, 9), (added, 6)])
def test_a_killed_fit_of_topics_resumes_and_ends_like_one_that_was_not(fit, dies_at, tmp_path):
    with running(fit_until_killed, fit, tmp_path, dies_at) as victim:
        victim.join()
        assert victim.exitcode == -signal.SIGKILL
    resumed, uninterrupted = fit(OnDisk(tmp_path)), fit(None)
    assert resumed.lower_bound_history_ == pytest.approx(uninterrupted.lower_bound_history_, rel=1e-9)
    np.testing.assert_allclose(resumed.topic_weights_, uninterrupted.topic_weights_, atol=1e-6)
