"""The extension of a label in Review: a ranked list of images in pages, with answers and a cut."""

from dataclasses import dataclass, replace

import numpy as np

from benthoscope.engine.labelling.bisection import Bisection, begun_from, page_of
from benthoscope.engine.problems import fail

PAGE = 50  # images of a page: seen in about six seconds


@dataclass(frozen=True)
class Growing:
    """Images ranked by their probability of having the term, or of being in cluster `into`, and the search for the
    cut."""

    term_id: int | None
    ranking: np.ndarray
    probability: np.ndarray
    search: Bisection
    earlier: tuple[Bisection, ...] = ()  # states before each answer, for undo
    cut: int | None = None  # set by the person
    into: int | None = None

    @property
    def page(self) -> int:
        return self.search.page_to_ask()

    def images(self) -> np.ndarray:
        """Images of the current page without those left out, in a fixed random order."""
        shown = page_of(self.ranking, self.page, PAGE, np.random.default_rng(self.page))
        return shown[~np.isin(shown, list(self.search.excluded))]

    def answered(self, belongs: bool) -> "Growing":
        return replace(
            self, search=self.search.answered(self.page, belongs), earlier=(*self.earlier, self.search), cut=None
        )

    def back(self) -> "Growing":
        if not self.earlier:
            return self
        return replace(self, search=self.earlier[-1], earlier=self.earlier[:-1])

    def without(self, images: list[int]) -> "Growing":
        return replace(self, search=self.search.without(images))

    def moved(self, cut: int) -> "Growing":
        return replace(self, cut=max(0, min(cut, self.search.pages)))

    @property
    def pages_taken(self) -> int:
        return self.search.cut if self.cut is None else self.cut

    def accepted_images(self) -> np.ndarray:
        return self.search.accepted(self.ranking, PAGE, self.pages_taken)

    def curve(self) -> list[float]:
        """Mean probability of every page."""
        return [
            round(float(self.probability[at : at + PAGE].mean()), 4) for at in range(0, len(self.probability), PAGE)
        ]


def growing(term_id: int, ranking: np.ndarray, probability: np.ndarray) -> Growing:
    return Growing(term_id, ranking, probability, begun_from(probability, PAGE))


def into_cluster(cluster: int, ranking: np.ndarray) -> Growing:
    """An extension of a cluster over images ranked by similarity; only their order is known."""
    if not len(ranking):
        raise fail("new cluster", "every other image has a label", "there is nothing to add")
    unknown = np.full(len(ranking), 0.5)
    return Growing(None, ranking, unknown, begun_from(unknown, PAGE), into=cluster)
