"""Terms as a tree: labels given at any level are rolled up to a coarser one, or told in another vocabulary."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from engine.workspace.term_links import TermLink
from engine.workspace.vocabularies import Term


@dataclass(frozen=True)
class TermTree:
    """Of one or several vocabularies; parents may come in any order."""

    terms: tuple[Term, ...]

    @classmethod
    def of(cls, terms: Iterable[Term]) -> "TermTree":
        return cls(tuple(terms))

    @cached_property
    def by_id(self) -> dict[int, Term]:
        return {term.id: term for term in self.terms}

    @cached_property
    def children(self) -> dict[int | None, list[Term]]:
        """Of every term, by name; the roots under None."""
        found: dict[int | None, list[Term]] = {}
        for term in sorted(self.terms, key=lambda term: term.path):
            found.setdefault(term.parent_id, []).append(term)
        return found

    def line(self, term_id: int) -> list[int]:
        """The term and its ancestors, from itself to its root."""
        found, at = [], term_id
        while at is not None:
            found.append(at)
            at = self.by_id[at].parent_id
        return found

    def below(self, term_id: int) -> set[int]:
        """The term and everything under it."""
        found, waiting = set(), [term_id]
        while waiting:
            at = waiting.pop()
            found.add(at)
            waiting += [child.id for child in self.children.get(at, [])]
        return found

    def rolled_up(self, term_ids: np.ndarray, depth: int) -> np.ndarray:
        """Each term's ancestor at that depth (1: the roots); a term above it stays."""
        return _mapped(term_ids, {term.id: self.line(term.id)[::-1][: max(depth, 1)][-1] for term in self.terms})

    def translated(self, term_ids: np.ndarray, links: Sequence[TermLink]) -> tuple[np.ndarray, np.ndarray]:
        """(terms of the other vocabulary, whether they mean no less): a term without a link of its own takes that of
        its nearest ancestor, 0 where none has one. Links to narrower terms would claim too much and are not taken."""
        best = _best_links(links)
        found = {term.id: self._told_by(term.id, best) for term in self.terms}
        return (_mapped(term_ids, {key: pair[0] for key, pair in found.items()}),
                _mapped(term_ids, {key: int(pair[1]) for key, pair in found.items()}).astype(bool))

    def _told_by(self, term_id: int, best: Mapping[int, TermLink]) -> tuple[int, bool]:
        for at in self.line(term_id):
            if at in best:
                return best[at].target_id, at == term_id and best[at].relation == "same"
        return 0, False


def _best_links(links: Sequence[TermLink]) -> dict[int, TermLink]:
    usable = [link for link in links if link.relation != "narrower"]
    ordered = sorted(usable, key=lambda link: link.relation == "same")  # the same meaning wins
    return {link.source_id: link for link in ordered}


def _mapped(term_ids: np.ndarray, table: Mapping[int, int]) -> np.ndarray:
    distinct, place = np.unique(term_ids, return_inverse=True)
    return np.array([table[int(number)] for number in distinct], np.int64)[place]
