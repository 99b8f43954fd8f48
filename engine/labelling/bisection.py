"""Find the page where a ranked list stops matching, from answers of a person who may make mistakes (probabilistic
bisection).

All images on pages 0 to cut - 1 match, later pages do not. The posterior of the cut changes with each answer.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

SLIP = 0.03  # fraction of mistaken answers: wrong keys, or an overlooked tile
SURE = 0.9  # posterior probability of the median above which more questions are not worth their time
LONG = 10  # from this number of pages, one page more or less does not matter
IGNORANCE = 0.25  # its weight in a prior from model probabilities, because a model alone must never reach SURE


@dataclass(frozen=True)
class PageAnswer:
    page: int
    belongs: bool


@dataclass(frozen=True)
class Bisection:
    """`posterior` (pages + 1,) is over the cut. Each answer creates a new state, so keeping the old one allows undo."""

    posterior: np.ndarray
    answers: tuple[PageAnswer, ...] = ()
    excluded: frozenset[int] = field(default_factory=frozenset)  # images removed one by one
    slip: float = SLIP

    @property
    def pages(self) -> int:
        return len(self.posterior) - 1

    @property
    def cut(self) -> int:
        """Return the median of the cut: the number of pages to accept."""
        return self.quantile(0.5)

    @property
    def done(self) -> bool:
        slack = int(self.cut >= LONG)
        near = self.posterior[max(self.cut - slack, 0) : self.cut + slack + 1]
        return bool(near.sum() >= SURE)

    def quantile(self, share: float) -> int:
        return int(np.searchsorted(np.cumsum(self.posterior), share * (1 - 1e-12)))

    def page_to_ask(self) -> int:
        """Return the page with the most informative answer: it splits the posterior evenly."""
        beyond = 1 - np.cumsum(self.posterior)[:-1]  # for page p: P(cut > p) = P(p matches)
        return int(np.abs(beyond - 0.5).argmin())

    def answered(self, page: int, belongs: bool) -> "Bisection":
        within = np.arange(len(self.posterior)) > page
        likelihood = np.where(within == belongs, 1 - self.slip, self.slip)
        posterior = self.posterior * likelihood
        return replace(self, posterior=posterior / posterior.sum(), answers=(*self.answers, PageAnswer(page, belongs)))

    def without(self, images: Sequence[int]) -> "Bisection":
        return replace(self, excluded=self.excluded | set(images))

    def pages_ahead(self) -> tuple[int, int]:
        """Return the next page after a yes and after a no, so that both can be loaded while the person looks."""
        page = self.page_to_ask()
        return self.answered(page, True).page_to_ask(), self.answered(page, False).page_to_ask()

    def accepted(self, ranking: np.ndarray, page_size: int, cut: int | None = None) -> np.ndarray:
        """Return the images before the cut (estimated or set by hand), without removed ones."""
        images = ranking[: (self.cut if cut is None else cut) * page_size]
        return images[~np.isin(images, list(self.excluded))]

    def to_dict(self) -> dict:
        """Return how the cut was found, as stored with the label event."""
        return {
            "cut": self.cut,
            "pages": self.pages,
            "between": [self.quantile(0.025), self.quantile(0.975)],
            "answers": [[answer.page, answer.belongs] for answer in self.answers],
            "excluded": sorted(self.excluded),
        }


def new_bisection(pages: int) -> Bisection:
    """Return a bisection without model. A priori, the logarithm of the cut is uniform."""
    weights = 1 / (np.arange(pages + 1) + 1.0)
    return Bisection(weights / weights.sum())


def begun_from(probability: np.ndarray, page_size: int) -> Bisection:
    """Return a bisection that starts from a model's probabilities (N,), in descending order: a page matches if at least
    about half of it does. A part of the prior stays uninformative."""
    pages = -(-len(probability) // page_size)
    flat = new_bisection(pages).posterior
    means = np.array([probability[at : at + page_size].mean() for at in range(0, len(probability), page_size)])
    log_yes, log_no = np.log(np.clip(means, 1e-3, 1 - 1e-3)), np.log(np.clip(1 - means, 1e-3, 1 - 1e-3))
    score = np.concatenate([[0], np.cumsum(log_yes)]) + np.concatenate([np.cumsum(log_no[::-1])[::-1], [0]])
    informed = np.exp(score - score.max())
    mixed = (1 - IGNORANCE) * informed / informed.sum() + IGNORANCE * flat
    return Bisection(mixed / mixed.sum())


def page_of(ranking: np.ndarray, page: int, page_size: int, rng: np.random.Generator | None = None) -> np.ndarray:
    """Return the images of a page, shuffled so that their position gives no hint."""
    images = ranking[page * page_size : (page + 1) * page_size]
    return images if rng is None else rng.permutation(images)
