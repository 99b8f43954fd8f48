"""The second campaign with and without a memory of the first one, on halves of sets of images with known classes.

A small simulation: both halves come from the same survey, a label is one image, and the expert makes no mistakes.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from benthoscope.engine.compute import blas_threads
from benthoscope.engine.features.compression import PrincipalAxes
from benthoscope.engine.features.registry import LEARNED
from benthoscope.engine.labelling.classifier import Inputs, Learned, Remembered, inputs, learn
from benthoscope.engine.labelling.memory.memory_file import half_precision
from benthoscope.engine.labelling.memory.memory_in_use import memory_weight
from benthoscope.engine.labelling.page_choice.queues import margins
from benthoscope.engine.mixtures import GMC
from tests.benchmarks.known_sets import KnownSet, known_sets
from tests.benchmarks.measure import Table

SEEDS = 2
SHORT = 32  # columns for the clusters
FIRST = 20  # own labels of the second row of figures
WANTED = 0.9
GROWTH = 0.15  # of the own labels, in a batch
COLUMNS = (
    "suggestions from",
    "right with 0 own labels",
    f"right with {FIRST}",
    f"own labels until {WANTED:.0%} of all images are right".replace("%", " %"),
)


@dataclass(frozen=True)
class TwoCampaigns:
    """Inputs and classes of the second campaign; mapped rows and classes of the first one."""

    data: Inputs
    classes: np.ndarray
    memory_rows: np.ndarray
    memory_classes: np.ndarray

    def remembered(self, own_labels: int) -> Remembered:
        weights = np.full(len(self.memory_classes), memory_weight(own_labels))
        return Remembered(self.memory_rows, self.memory_classes, weights)


def tables() -> Iterator[Table]:
    with blas_threads(1):
        for known in known_sets():
            yield table_of(known)


def table_of(known: KnownSet) -> Table:
    campaigns = halves(known)
    rows = [
        (name, *_figures(campaigns, uses)) for name, uses in (("own labels", False), ("memory and own labels", True))
    ]
    title = f"{known.name}: {len(campaigns.memory_classes):,} labels in the memory, {len(campaigns.classes):,} images"
    note = (
        f"Means of {SEEDS} runs. Images of one dive or track are in one campaign. The first {FIRST} own labels are of "
        "random images, the others of those the model is least certain about. Labelled images count as right. A dash: "
        "no model."
    )
    return Table(f"Second campaign with a memory of the first. {title}", COLUMNS, rows, [note])


def halves(known: KnownSet) -> TwoCampaigns:
    """Divide a set by dives or tracks, or at random. The axes are learned from the second half only, and the vectors of
    the first half have the precision of a memory file."""
    units = known.tracks if len(np.unique(known.tracks)) > 1 else np.arange(len(known.classes))
    names = np.random.default_rng(5).permutation(np.unique(units))
    first = np.isin(units, names[: len(names) // 2])
    projection = PrincipalAxes(SHORT, further=LEARNED - SHORT).fit(
        lambda: [known.long[~first]], rng=np.random.default_rng(0)
    )
    vectors, scale = half_precision(known.long[first])
    short = projection(known.long[~first])
    data = inputs(short, GMC(random_state=0).fit(short[:, :SHORT]).labels_, rng=np.random.default_rng(0))
    memory_rows = data.row_map(projection(vectors.astype(np.float32) * scale))
    return TwoCampaigns(data, known.classes[~first], memory_rows, known.classes[first])


def _figures(campaigns: TwoCampaigns, uses_memory: bool) -> tuple[object, ...]:
    runs = [_run(campaigns, uses_memory, seed) for seed in range(SEEDS)]
    with_few, needed = np.mean(runs, axis=0)
    return _at_start(campaigns) if uses_memory else "-", round(float(with_few), 3), round(float(needed))


def _at_start(campaigns: TwoCampaigns) -> float:
    nothing = np.empty(0, np.int64)
    return round(_right(campaigns, _learned(campaigns, nothing, True, 0), nothing), 3)


def _run(campaigns: TwoCampaigns, uses_memory: bool, seed: int) -> tuple[float, int]:
    """Return (accuracy of the suggestions after the first labels, labels until the wanted share is right)."""
    order = np.random.default_rng([seed, 3]).permutation(len(campaigns.classes))
    labelled = np.empty(0, np.int64) if uses_memory else order[:FIRST]
    with_few = _right(campaigns, _learned(campaigns, order[:FIRST], uses_memory, seed), order[:FIRST])
    while len(labelled) < len(order):
        model = _learned(campaigns, labelled, uses_memory, seed)
        free = np.setdiff1d(np.arange(len(order)), labelled)
        right = (len(labelled) + len(free) * _right(campaigns, model, labelled)) / len(order)
        if right >= WANTED:
            break
        if len(labelled) < FIRST:
            labelled = order[:FIRST]
            continue
        batch = max(FIRST, int(GROWTH * len(labelled)))
        worth = margins(model.probabilities(campaigns.data.rows[free]))
        labelled = np.concatenate([labelled, free[np.argsort(-worth, kind="stable")[:batch]]])
    return with_few, len(labelled)


def _learned(campaigns: TwoCampaigns, labelled: np.ndarray, uses_memory: bool, seed: int) -> Learned:
    memory = campaigns.remembered(len(labelled)) if uses_memory else None
    return learn(
        campaigns.data, labelled, campaigns.classes[labelled], remembered=memory, rng=np.random.default_rng(seed)
    )


def _right(campaigns: TwoCampaigns, model: Learned, labelled: np.ndarray) -> float:
    """Return the share of right suggestions among the images without a label."""
    free = np.setdiff1d(np.arange(len(campaigns.classes)), labelled)
    guesses = model.terms[model.probabilities(campaigns.data.rows[free]).argmax(1)]
    return float((guesses == campaigns.classes[free]).mean()) if len(free) else 1.0
