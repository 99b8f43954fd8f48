"""Cover: the fraction of each term in each dive and in all images, with its evidence.

With random draws, fractions are estimated with intervals. Without them, only bounds are reported.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benthoscope.engine.exchange.parsing.csv_output import csv_text
from benthoscope.engine.labelling.cover.estimate import (
    CONFIDENCE,
    FEW,
    Cells,
    GuessCounts,
    cells_of,
    expected_counts,
    joined,
    limits,
    melded_limits,
    same_rates,
    wave_weights,
)
from benthoscope.engine.labelling.cover.evidence import CANNOT_TELL, CoverEvidence, WaveEvidence, gather, to_ask_again
from benthoscope.engine.labelling.cover.guesses import GuessStore
from benthoscope.engine.labelling.terms import TermTree
from benthoscope.engine.problems import fail
from benthoscope.engine.term_path import joined as join_path
from benthoscope.engine.workspace import Workspace

EVERYWHERE = 0  # the group that represents all images
OPEN_SHARE = 0.05  # largest fraction of open draws with which a fraction is estimated
SOURCES = 2  # sources of guesses: bulk labels, the model
COLUMNS = ("group", "term", "share", "low", "high", "draws", "labelled", "images", "method")
NOT_RANDOM = "no images were drawn at random"


@dataclass(frozen=True)
class Share:
    """The fraction of images with a term. `estimate` is None if only bounds are known; `labelled` images have a term
    given by looking, `draws` of them were drawn at random; `of` is the number of all images."""

    estimate: float | None
    low: float
    high: float
    labelled: int
    of: int
    draws: int
    method: str


@dataclass(frozen=True)
class CoverRow:
    group_id: int
    term_id: int
    share: Share


@dataclass(frozen=True)
class GroupCover:
    """The evidence behind the fractions of a dive, or of all images.

    `of_drawn` are fractions of the images in dives with draws, if other dives have none: (term, estimate, low, high).
    `other_at_most` bounds all terms that nobody gave and no model guessed.
    """

    group_id: int
    images: int
    labelled: int
    draws: int
    open_draws: int
    estimated: bool
    remark: str
    other_at_most: float
    drawn_images: int
    of_drawn: tuple[tuple[int, float, float, float], ...] = ()


@dataclass(frozen=True)
class Slips:
    """Second answers: `asked_again` draws have two answers, `differed` of them differ; `waiting` draws need one."""

    asked_again: int
    differed: int
    waiting: int

    def __str__(self) -> str:
        if self.waiting:
            return f"{self.waiting:,} random images need a second look; until then mistakes are not corrected"
        if not self.asked_again:
            return "shares of labels as given, error rate not measured"
        answers = "1 answer" if self.differed == 1 else f"{self.differed:,} answers"
        return f"{self.asked_again:,} random images were labelled twice: {answers} differed"


@dataclass(frozen=True)
class Cover:
    """The rows of all images come first, then those of each dive."""

    rows: tuple[CoverRow, ...]
    groups: tuple[GroupCover, ...]
    slips: Slips
    confidence: float
    together: bool

    @property
    def intervals(self) -> str:
        level = f"{100 * self.confidence:.3g} %"
        return f"all intervals together at {level}" if self.together else f"each interval at {level}"


def cover_of(
    workspace: Workspace, *, level: int | None = None, confidence: float = CONFIDENCE, together: bool = False
) -> Cover:
    """Return the cover of a workspace. With `level`, terms are rolled up to this level of their vocabulary."""
    guesses = GuessStore(workspace.folder).get()
    tree = TermTree.of(workspace.vocabularies.all_terms())
    return cover(
        gather(workspace, guesses), tree if level is not None else None, level, confidence=confidence, together=together
    )


def cover(
    evidence: CoverEvidence,
    tree: TermTree | None = None,
    level: int | None = None,
    *,
    confidence: float = CONFIDENCE,
    together: bool = False,
) -> Cover:
    """Return the cover of each term that somebody gave or the model guessed, for all images and for each dive."""
    if not 0.5 <= confidence < 1:
        raise fail("confidence", f"must be at least 0.5 and below 1 (got {confidence:g})")
    terms, members = _reported(evidence.terms, tree, level)
    K = max(len(terms), 1)
    exact = 1 - (1 - confidence) / K if together else confidence
    blocks = [
        (EVERYWHERE, np.ones(len(evidence.image_ids), bool)),
        *((int(group), evidence.groups == group) for group in np.unique(evidence.groups)),
    ]
    rows, groups = [], []
    for group, rows_of in blocks:
        figures = _Figures.of(evidence, rows_of, members, exact)
        groups.append(figures.group(group, terms))
        rows += [CoverRow(group, int(term), share) for term, share in zip(terms, figures.shares(), strict=True)]
    return Cover(tuple(rows), tuple(groups), _slips(evidence), confidence, together)


def as_csv(rows: Sequence[CoverRow], groups: dict[int, str], terms: dict[int, str]) -> str:
    """Return CSV with one line per dive and term, with method and counts. The fraction is empty if only bounds are
    known."""
    return csv_text(
        COLUMNS,
        (
            (
                groups[row.group_id],
                terms[row.term_id],
                *map(_number, (row.share.estimate, row.share.low, row.share.high)),
                row.share.draws,
                row.share.labelled,
                row.share.of,
                row.share.method,
            )
            for row in rows
        ),
    )


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}"


def term_names(workspace: Workspace) -> dict[int, str]:
    """Return {term: path}, with a text for images that nobody can identify."""
    return {term.id: join_path(term.path) for term in workspace.vocabularies.all_terms()} | {CANNOT_TELL: "cannot tell"}


def _reported(terms: np.ndarray, tree: TermTree | None, level: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Return (reported terms (T,), the columns of each (T, K))."""
    rolled = terms.copy()
    if tree is not None and level is not None:
        real = terms != CANNOT_TELL
        rolled[real] = tree.rolled_up(terms[real], level)
    reported = np.unique(rolled)
    return reported, (reported[:, None] == rolled).astype(float)


def _slips(evidence: CoverEvidence) -> Slips:
    several = [draw for draw in evidence.draws if len(draw.answers) > 1]
    guesses = dict(zip(evidence.image_ids.tolist(), np.append(evidence.terms, 0)[evidence.guess].tolist(), strict=True))
    return Slips(
        len(several),
        sum(draw.answers[0].term_id != draw.answers[1].term_id for draw in several),
        len(to_ask_again(evidence.draws, guesses)),
    )


@dataclass(frozen=True, eq=False)
class _Block:
    """Images in the same frames. With draws: the `tables` of each wave and source, and the weight of each wave."""

    rows: np.ndarray
    waves: tuple[WaveEvidence, ...]
    tables: tuple[tuple[GuessCounts, GuessCounts], ...]
    weights: np.ndarray

    @property
    def has_draws(self) -> bool:
        return len(self.waves) > 0


@dataclass(frozen=True, eq=False)
class _Figures:
    """Computes the fractions of the reported terms for a set of images."""

    evidence: CoverEvidence
    rows: np.ndarray
    members: np.ndarray
    confidence: float
    blocks: tuple[_Block, ...]

    @classmethod
    def of(cls, evidence: CoverEvidence, rows: np.ndarray, members: np.ndarray, confidence: float) -> "_Figures":
        numbers = np.unique(evidence.block[rows])
        blocks = tuple(_block(evidence, rows & (evidence.block == number)) for number in numbers)
        return cls(evidence, rows, members, confidence, blocks)

    # --- counts

    @property
    def images(self) -> int:
        return int(self.rows.sum())

    @property
    def labelled(self) -> int:
        return int((self.evidence.known[self.rows] >= 0).sum())

    def draw_counts(self) -> tuple[int, int]:
        """Return (answered draws, open draws) among the images."""
        answered = waiting = 0
        for block in self.blocks:
            for tables in block.tables:
                answered += int(sum(table.answers.sum() + table.wrong.sum() for table in tables))
                waiting += int(sum(table.open_draws.sum() for table in tables))
        return answered, waiting

    def known_counts(self, rows: np.ndarray) -> np.ndarray:
        """Return the number of images (K,) of each column whose term was given by looking."""
        evidence_rows = self.evidence.known[rows]
        return np.bincount(evidence_rows[evidence_rows >= 0], minlength=len(self.evidence.terms)).astype(float)

    # --- figures

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Return (low, high) (T,) of the fractions among all images. Images without draws may have any term."""
        low, high = self.drawn_limits()
        for block in self.blocks:
            if not block.has_draws:
                hits = self.members @ self.known_counts(block.rows)
                low, high = low + hits, high + hits + (self.evidence.known[block.rows] < 0).sum()
        known = self.known_counts(self.rows)
        hits = self.members @ known
        N = max(self.images, 1)
        return np.maximum(low, hits) / N, np.minimum(high, self.images - (known.sum() - hits)) / N

    def drawn_limits(self) -> tuple[np.ndarray, np.ndarray]:
        """Return (low, high) (T,) for the number of images of each term in the blocks with draws."""
        drawn_blocks = [block for block in self.blocks if block.has_draws]
        if not drawn_blocks:
            return np.zeros(len(self.members)), np.zeros(len(self.members))
        constant = sum(self.members @ self._constant(block) for block in drawn_blocks)
        unknown = sum(self._unknown(block) for block in drawn_blocks)
        cells, groups = self._cells(drawn_blocks)
        low, high = limits(cells, self.confidence) if groups is None else melded_limits(cells, groups, self.confidence)
        total = cells.weights.sum(-1)
        return constant + low * total, constant + unknown + high * total

    def estimates(self) -> np.ndarray:
        """Return the expected number of images (T,) of each term in the blocks with draws; the sum equals the images of
        these blocks."""
        drawn_blocks = [block for block in self.blocks if block.has_draws]
        overall = sum(table.answers.sum(0) for block in drawn_blocks for tables in block.tables for table in tables)
        few = self.draw_counts()[0] < FEW
        material = np.zeros(len(self.evidence.terms))
        for block in drawn_blocks:
            counts = self._constant(block)
            for tables, weight in zip(block.tables, block.weights, strict=True):
                for table in tables:
                    counts = counts + weight * expected_counts(table.without_guesses() if few else table, overall)
            material += _at_least(counts, self.known_counts(block.rows), int(block.rows.sum()))
        return self.members @ material

    def shares(self) -> list[Share]:
        answered = self.draw_counts()[0]
        low, high = self.bounds()
        method, estimate = self.method(), self.estimate()
        if estimate is not None:
            low, high = np.minimum(low, estimate), np.maximum(high, estimate)
        labelled, images = self.labelled, self.images
        return [
            Share(
                None if estimate is None else float(estimate[at]),
                float(low[at]),
                float(high[at]),
                labelled,
                images,
                answered,
                method,
            )
            for at in range(len(self.members))
        ]

    def estimate(self) -> np.ndarray | None:
        """Return the fractions (T,); None if there is no random sample, if it leaves out images, or if too many draws
        are open."""
        if self.labelled == self.images:
            return self.members @ self.known_counts(self.rows) / max(self.images, 1)
        return self.estimates() / self.images if self.complete() and not self.too_many_open() else None

    def complete(self) -> bool:
        """Return whether each image is known or represented by draws."""
        return all(block.has_draws or (self.evidence.known[block.rows] >= 0).all() for block in self.blocks)

    def too_many_open(self) -> bool:
        answered, waiting = self.draw_counts()
        return waiting > OPEN_SHARE * (answered + waiting)

    def method(self) -> str:
        """Return how the fractions were obtained, in words."""
        answered, waiting = self.draw_counts()
        known = self.labelled
        counted = f", {known - answered:,} other labels counted as they are" if known > answered else ""
        if known == self.images:
            return "counted in full"
        if not answered and not waiting:
            return NOT_RANDOM + counted
        if self.too_many_open():
            return f"answer {waiting:,} open random images first"
        drawn_blocks = sum(int(block.rows.sum()) for block in self.blocks if block.has_draws)
        some = "" if self.complete() else f"; they represent {drawn_blocks:,} of {self.images:,} images"
        first = "first impression: " if answered < FEW else ""
        return f"{first}{answered:,} random images{some}{counted}"

    def group(self, group: int, terms: np.ndarray) -> GroupCover:
        answered, waiting = self.draw_counts()
        drawn_blocks = [block for block in self.blocks if block.has_draws]
        rows = np.isin(self.evidence.block, [self.evidence.block[block.rows][0] for block in drawn_blocks]) & self.rows
        of_drawn: tuple[tuple[int, float, float, float], ...] = ()
        if drawn_blocks and not self.complete() and not self.too_many_open():
            inner = _Figures(self.evidence, rows, self.members, self.confidence, tuple(drawn_blocks))
            of_drawn = tuple(
                (int(term), share.estimate, share.low, share.high)
                for term, share in zip(terms, inner.shares(), strict=True)
                if share.estimate is not None
            )
        return GroupCover(
            group,
            self.images,
            self.labelled,
            answered,
            waiting,
            self.estimate() is not None,
            self.method(),
            self.other_at_most(),
            int(rows.sum()),
            of_drawn,
        )

    def other_at_most(self) -> float:
        """Return an upper limit for the fraction of all terms that nobody gave and no model guessed."""
        none = np.zeros((1, self.members.shape[1]))
        nothing = _Figures(self.evidence, self.rows, none, self.confidence, self.blocks)
        return float(nothing.bounds()[1][0])

    # --- cells

    def _constant(self, block: _Block) -> np.ndarray:
        """Return the known images (K,) outside the part that each wave represents, multiplied by the weight of the
        wave."""
        return sum(
            weight * self.known_counts(block.rows & ~wave.inside)
            for wave, weight in zip(block.waves, block.weights, strict=True)
        )

    def _unknown(self, block: _Block) -> float:
        """Return the number of images outside the part that each wave represents whose label was removed since."""
        return float(
            sum(
                weight * (self.evidence.known[block.rows & ~wave.inside] < 0).sum()
                for wave, weight in zip(block.waves, block.weights, strict=True)
            )
        )

    def _cells(self, blocks: Sequence[_Block]) -> tuple[Cells, np.ndarray | None]:
        """Return (cells, None), or with the group of each cell if the sampling rates are unequal."""
        few = self.draw_counts()[0] < FEW
        singles = all(len(block.waves) == 1 for block in blocks)
        if len(blocks) > 1 and singles and _may_be_pooled([block.tables[0] for block in blocks]):
            pooled = [blocks[0].tables[0]] if len(blocks) == 1 else [_pooled([block.tables[0] for block in blocks])]
            return self._side_by_side(pooled, np.ones(1), few)[0], None
        sides = [self._side_by_side(block.tables, block.weights, few) for block in blocks]
        cells = joined([side for side, _ in sides])
        return cells, None if len(blocks) == 1 else np.concatenate([groups for _, groups in sides])

    def _side_by_side(
        self, tables: Sequence[tuple[GuessCounts, GuessCounts]], weights: np.ndarray, few: bool
    ) -> tuple[Cells, np.ndarray]:
        """Return (cells of all waves and sources, the guess group of each)."""
        cells, groups = [], []
        for (bulk, model), weight in zip(tables, weights, strict=True):
            sources = (bulk.pooled(model).without_guesses(),) if few else (bulk, model)
            for number, table in enumerate(sources):
                cells.append(cells_of(table, self.members, weight))
                groups += [2 * number, 2 * number + 1]
        return joined(cells), np.array(groups)


def _at_least(counts: np.ndarray, known: np.ndarray, images: int) -> np.ndarray:
    """Return expected counts (K,) that sum to the images and are at least the known counts. Labels given after the
    draws may show more images of a term than expected."""
    beyond_known = np.maximum(counts - known, 0)
    beyond_known = beyond_known if beyond_known.sum() > 0 else counts
    return known + beyond_known * ((images - known.sum()) / max(beyond_known.sum(), 1e-300))


def _block(evidence: CoverEvidence, rows: np.ndarray) -> _Block:
    material = [(wave, evidence.tables(wave, rows)) for wave in evidence.waves if (wave.covers & rows).any()]
    draws = [sum(table.draws.sum() for table in tables) for _, tables in material]
    images = [sum(table.images.sum() for table in tables) for _, tables in material]
    used_waves = [at for at, count in enumerate(draws) if count > 0]
    weights = wave_weights([draws[at] for at in used_waves], [images[at] for at in used_waves])
    return _Block(
        rows, tuple(material[at][0] for at in used_waves), tuple(material[at][1] for at in used_waves), weights
    )


def _may_be_pooled(tables: Sequence[tuple[GuessCounts, GuessCounts]]) -> bool:
    """Return whether each source of guesses has almost the same sampling rate in all blocks."""
    for source in range(SOURCES):
        there = [pair[source] for pair in tables if pair[source].images.sum() > 0]
        if there and not same_rates([table.draws.sum() for table in there], [table.images.sum() for table in there]):
            return False
    return True


def _pooled(tables: Sequence[tuple[GuessCounts, GuessCounts]]) -> tuple[GuessCounts, GuessCounts]:
    first, *other_tables = tables
    for bulk, model in other_tables:
        first = (first[0].pooled(bulk), first[1].pooled(model))
    return first
