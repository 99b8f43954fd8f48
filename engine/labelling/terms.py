"""Vocabularies as trees: roll labels up to a coarser level, translate them to another vocabulary, search and create
terms.

A label that no vocabulary contains becomes a term of the workspace's own vocabulary.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from benthoscope.engine.problems import fail
from benthoscope.engine.term_path import BETWEEN, parted
from benthoscope.engine.workspace.database.plain_values import storable_text
from benthoscope.engine.workspace.labels.vocabularies import NewTerm, Term, TermLink, Vocabularies


@dataclass(frozen=True)
class TermTree:
    """The terms of one or several vocabularies, in any order."""

    terms: tuple[Term, ...]

    @classmethod
    def of(cls, terms: Iterable[Term]) -> "TermTree":
        return cls(tuple(terms))

    @cached_property
    def by_id(self) -> dict[int, Term]:
        return {term.id: term for term in self.terms}

    @cached_property
    def children(self) -> dict[int | None, list[Term]]:
        """Return the children of each term, by name; the roots under None."""
        by_parent: dict[int | None, list[Term]] = {}
        for term in sorted(self.terms, key=lambda term: term.path):
            by_parent.setdefault(term.parent_id, []).append(term)
        return by_parent

    def line(self, term_id: int) -> list[int]:
        """Return the term and its ancestors, from the term to its root."""
        ancestors: list[int] = []
        at: int | None = term_id
        while at is not None:
            ancestors.append(at)
            at = self.by_id[at].parent_id
        return ancestors

    def below(self, term_id: int) -> set[int]:
        """Return the term and all its descendants."""
        descendants, waiting = set(), [term_id]
        while waiting:
            at = waiting.pop()
            descendants.add(at)
            waiting += [child.id for child in self.children.get(at, [])]
        return descendants

    def rolled_up(self, term_ids: np.ndarray, depth: int) -> np.ndarray:
        """Return each term's ancestor at this depth (1: the roots). Terms above that level do not change."""
        return _mapped(term_ids, {term.id: self.line(term.id)[::-1][: max(depth, 1)][-1] for term in self.terms})

    def translated(self, term_ids: np.ndarray, links: Sequence[TermLink]) -> tuple[np.ndarray, np.ndarray]:
        """Return (terms of the other vocabulary, whether the meaning is equal). A term without a link uses that of its
        nearest ancestor, 0 if none has one. Links to narrower terms are not used, because they would claim too much."""
        best = _best_links(links)
        translation = {term.id: self._told_by(term.id, best) for term in self.terms}
        return (
            _mapped(term_ids, {key: pair[0] for key, pair in translation.items()}),
            _mapped(term_ids, {key: int(pair[1]) for key, pair in translation.items()}).astype(bool),
        )

    def _told_by(self, term_id: int, best: Mapping[int, TermLink]) -> tuple[int, bool]:
        for at in self.line(term_id):
            if at in best:
                return best[at].target_id, at == term_id and best[at].relation == "same"
        return 0, False


def _best_links(links: Sequence[TermLink]) -> dict[int, TermLink]:
    usable = [link for link in links if link.relation != "narrower"]
    ordered = sorted(usable, key=lambda link: link.relation == "same")  # an exact match is preferred
    return {link.source_id: link for link in ordered}


def _mapped(term_ids: np.ndarray, table: Mapping[int, int]) -> np.ndarray:
    distinct, term_number = np.unique(term_ids, return_inverse=True)
    return np.array([table[int(number)] for number in distinct], np.int64)[term_number]


OWN_VOCABULARY = "Labels"  # where terms go that people type
MAX_LENGTH = 200  # letters of a name: longer text was pasted by mistake


def find_or_create_term(vocabularies: Vocabularies, text: str) -> Term:
    """Return the term with this name or path ("Biota > Sponges"), or create it with its parents in the vocabulary
    `OWN_VOCABULARY`. An exact match is preferred to one that differs in capital letters."""
    terms = vocabularies.all_terms()
    name = " ".join(text.split())
    known = find_term(terms, (name,)) or find_term(terms, path := _path(name))  # "Waves (>10 cm)" is one name
    if known is not None:
        return known
    created = vocabularies.add(OWN_VOCABULARY, [NewTerm(path[:depth]) for depth in range(1, len(path) + 1)])
    return next(term for term in vocabularies.terms(created.id) if term.path == path)


def find_term(terms: Iterable[Term], path: tuple[str, ...]) -> Term | None:
    """Return the first term with this path or name: as written, or else ignoring capital letters."""
    candidates = list(terms)
    folds: tuple[Callable[[str], str], ...] = (str, str.casefold)
    for fold in folds:
        sought = tuple(map(fold, path))
        for term in candidates:
            if sought in (tuple(map(fold, term.path)), (fold(term.name),)):
                return term
    return None


def _path(name: str) -> tuple[str, ...]:
    path = tuple(level.strip() for level in (parted(name) if BETWEEN in name else name.split(">")))
    if not any(path):
        raise fail("label", "is empty", "type a word or choose a term")
    if not all(path):
        raise fail("label", f"'{name}' has an empty level", "write it as Biota > Sponges")
    if storable_text(name) != name:
        raise fail("label", "contains characters that cannot be stored", "type it again without them")
    if max(map(len, path)) > MAX_LENGTH:
        raise fail("label", f"has {max(map(len, path)):,} letters", f"use at most {MAX_LENGTH}")
    return path
