"""Where a ranked list stops belonging, asked page by page of a person who may slip: noisy probabilistic bisection.

Pages 0 to cut - 1 belong in full, later ones do not. What is known of the cut is a posterior; each answer moves it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

SLIP = 0.03      # answers that are not meant: keys get mixed up, one odd tile in fifty is overlooked
SURE = 0.9       # of the posterior at its median: then further questions are not worth their time
LONG = 10        # pages to take from which on one more or less does not matter
IGNORANCE = 0.25  # its weight in a prior made of model probabilities: a model alone must never be SURE


@dataclass(frozen=True)
class Answer:
    page: int
    belongs: bool


@dataclass(frozen=True)
class Bisection:
    """`posterior` (pages + 1,) is over the cut; a new state comes of every answer, so an answer is undone by keeping
    the old state."""

    posterior: np.ndarray
    answers: tuple[Answer, ...] = ()
    excluded: frozenset[int] = field(default_factory=frozenset)  # images taken out one by one
    slip: float = SLIP

    @property
    def pages(self) -> int:
        return len(self.posterior) - 1

    @property
    def cut(self) -> int:
        """The median: number of pages to take."""
        return self.quantile(0.5)

    @property
    def done(self) -> bool:
        slack = int(self.cut >= LONG)
        near = self.posterior[max(self.cut - slack, 0) : self.cut + slack + 1]
        return bool(near.sum() >= SURE)

    def quantile(self, share: float) -> int:
        return int(np.searchsorted(np.cumsum(self.posterior), share * (1 - 1e-12)))

    def page_to_ask(self) -> int:
        """The page whose answer tells most: the posterior splits evenly there."""
        beyond = 1 - np.cumsum(self.posterior)[:-1]  # of page p: P(cut > p) = P(p belongs)
        return int(np.abs(beyond - 0.5).argmin())

    def answered(self, page: int, belongs: bool) -> "Bisection":
        within = np.arange(len(self.posterior)) > page
        likelihood = np.where(within == belongs, 1 - self.slip, self.slip)
        posterior = self.posterior * likelihood
        return replace(self, posterior=posterior / posterior.sum(), answers=(*self.answers, Answer(page, belongs)))

    def without(self, images: Sequence[int]) -> "Bisection":
        return replace(self, excluded=self.excluded | set(images))

    def pages_ahead(self) -> tuple[int, int]:
        """The pages to ask after a yes and after a no: to be fetched while the person looks."""
        page = self.page_to_ask()
        return self.answered(page, True).page_to_ask(), self.answered(page, False).page_to_ask()

    def taken(self, ranking: np.ndarray, page_size: int, cut: int | None = None) -> np.ndarray:
        """The images before the cut (the one found, or one moved by hand), without those taken out."""
        images = ranking[: (self.cut if cut is None else cut) * page_size]
        return images[~np.isin(images, list(self.excluded))]

    def told(self) -> dict:
        """What the label of the act keeps: how the cut was found."""
        return {"cut": self.cut, "pages": self.pages, "between": [self.quantile(0.025), self.quantile(0.975)],
                "answers": [[answer.page, answer.belongs] for answer in self.answers],
                "excluded": sorted(self.excluded)}


def begun(pages: int) -> Bisection:
    """Nothing known but that cuts near the beginning are as many as cuts of ten times that length."""
    weights = 1 / (np.arange(pages + 1) + 1.0)
    return Bisection(weights / weights.sum())


def begun_from(probability: np.ndarray, page_size: int) -> Bisection:
    """What a model's probabilities (N,), falling, say of the cut: page p belongs where about half of it or more does.
    A share of the prior stays with ignorance."""
    pages = -(-len(probability) // page_size)
    flat = begun(pages).posterior
    means = np.array([probability[at : at + page_size].mean() for at in range(0, len(probability), page_size)])
    log_yes, log_no = np.log(np.clip(means, 1e-3, 1 - 1e-3)), np.log(np.clip(1 - means, 1e-3, 1 - 1e-3))
    score = np.concatenate([[0], np.cumsum(log_yes)]) + np.concatenate([np.cumsum(log_no[::-1])[::-1], [0]])
    informed = np.exp(score - score.max())
    mixed = (1 - IGNORANCE) * informed / informed.sum() + IGNORANCE * flat
    return Bisection(mixed / mixed.sum())


def page_of(ranking: np.ndarray, page: int, page_size: int, rng: np.random.Generator | None = None) -> np.ndarray:
    """The images of a page, shuffled so that the place within it gives no hint."""
    images = ranking[page * page_size : (page + 1) * page_size]
    return images if rng is None else rng.permutation(images)
