"""What Review is in the middle of: a cluster on the table, a list being grown, an act being checked."""

from dataclasses import dataclass, field, replace

import numpy as np

from engine.labelling.audit import WANTED, audit_size, drawn
from engine.labelling.bisection import Bisection, begun_from, page_of
from engine.problems import fail

PAGE = 50         # images of a page in grow mode: what an eye passes over in six seconds
MOST_CHECKED = 120  # images of an audit: beyond that the bound is told as it is


@dataclass(frozen=True)
class Growing:
    """A list ranked by how likely each image has the term, or is in cluster `into`, and what is known of its cut."""

    term_id: int | None
    ranking: np.ndarray
    probability: np.ndarray
    search: Bisection
    earlier: tuple[Bisection, ...] = ()  # before each answer, to go back to
    cut: int | None = None               # moved by hand
    into: int | None = None

    @property
    def page(self) -> int:
        return self.search.page_to_ask()

    def images(self) -> np.ndarray:
        """Of the page asked, shuffled, always in the same way; those taken out are gone."""
        shown = page_of(self.ranking, self.page, PAGE, np.random.default_rng(self.page))
        return shown[~np.isin(shown, list(self.search.excluded))]

    def answered(self, belongs: bool) -> "Growing":
        return replace(self, search=self.search.answered(self.page, belongs), earlier=(*self.earlier, self.search),
                       cut=None)

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

    def taken(self) -> np.ndarray:
        return self.search.taken(self.ranking, PAGE, self.pages_taken)

    def curve(self) -> list[float]:
        """Mean probability of every page."""
        return [round(float(self.probability[at : at + PAGE].mean()), 4)
                for at in range(0, len(self.probability), PAGE)]


@dataclass(frozen=True)
class Checking:
    """A random part of a bulk act, to be looked through once more."""

    event: int
    images: np.ndarray
    of: int
    wanted: float = WANTED
    seen: frozenset[int] = field(default_factory=frozenset)


def growing(term_id: int, ranking: np.ndarray, probability: np.ndarray) -> Growing:
    return Growing(term_id, ranking, probability, begun_from(probability, PAGE))


def into_cluster(cluster: int, ranking: np.ndarray) -> Growing:
    """Of images by likeness to what the cluster began with: nothing is known but the order."""
    if not len(ranking):
        raise fail("grow", "no other image is without a label", "there is nothing to take in")
    unknown = np.full(len(ranking), 0.5)
    return Growing(None, ranking, unknown, begun_from(unknown, PAGE), into=cluster)


def checking(event: int, images: np.ndarray, seen: np.ndarray, wanted: float = WANTED) -> Checking:
    """As many as the wanted bound takes; the draw follows from the number of the event."""
    size = min(audit_size(len(images), wanted), MOST_CHECKED)
    chosen = drawn(images, seen, size, np.random.default_rng(event))
    return Checking(event, chosen, len(images), wanted, frozenset(seen.tolist()))
