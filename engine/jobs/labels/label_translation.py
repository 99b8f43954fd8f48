"""Labels told otherwise before they go out: in the terms of another vocabulary, or rolled up to a coarser level."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import chain

import numpy as np

from engine.exchange.outgoing import Loss, Outgoing, PartSaid, Picture, Said
from engine.labelling.trees import TermTree
from engine.problems import unknown
from engine.workspace import Workspace
from engine.workspace.vocabularies import Term

Meanings = Mapping[int, tuple[str, Term]]  # by the id of a term: the vocabulary and the term it is told as


def retold(outgoing: Outgoing, workspace: Workspace, vocabulary: str | None = None, level: int | None = None
           ) -> tuple[Outgoing, list[Loss]]:
    """With every label in the terms of `vocabulary` and no deeper than `level` (1: the roots); what is lost by that.
    Labels the vocabulary has no word for are left out."""
    if vocabulary is None and level is None:
        return outgoing, []
    known = dict(outgoing.terms)
    if vocabulary is not None and vocabulary not in known:
        raise unknown("vocabulary", vocabulary, known)
    meant, coarser = _meanings(outgoing, workspace, vocabulary, level)
    pictures = tuple(_picture(picture, meant) for picture in outgoing.pictures)
    told = replace(outgoing, pictures=pictures)
    dropped = len(outgoing.all_said) - len(told.all_said)
    found = [Loss("labels without a word in it", dropped, f"{vocabulary} links no term to theirs"),
             Loss("labels told more coarsely", sum(said.term.id in coarser for said in outgoing.all_said),
                  "a coarser level or vocabulary was asked for")]
    return told, [loss for loss in found if loss.count]


def _meanings(outgoing: Outgoing, workspace: Workspace, vocabulary: str | None, level: int | None
              ) -> tuple[Meanings, set[int]]:
    """(what each used term is told as, the terms that lose something by it)."""
    tree = TermTree.of(chain.from_iterable(outgoing.terms.values()))
    home = {term.id: name for name, terms in outgoing.terms.items() for term in terms}
    used = np.array(sorted(outgoing.used_terms), np.int64)
    target, exact = _translated(tree, home, used, workspace, vocabulary)
    final = target.copy()
    if level is not None:
        final[target > 0] = tree.rolled_up(target[target > 0], level)
    coarser = {int(term) for term, whole, before, after in zip(used, exact, target, final, strict=True)
               if after and (not whole or after != before)}
    meant = {int(term): (home[int(at)], tree.by_id[int(at)]) for term, at in zip(used, final, strict=True) if at}
    return meant, coarser


def _translated(tree: TermTree, home: Mapping[int, str], used: np.ndarray, workspace: Workspace, vocabulary: str | None
                ) -> tuple[np.ndarray, np.ndarray]:
    """(terms of the vocabulary, 0 where it has none; whether they mean the same)."""
    target, exact = used.copy(), np.ones(len(used), bool)
    if vocabulary is None:
        return target, exact
    numbers = {words.name: words.id for words in workspace.vocabularies.all()}
    for name in {home[int(term)] for term in used} - {vocabulary}:
        mine = np.array([home[int(term)] == name for term in used])
        links = workspace.term_links.between(numbers[name], numbers[vocabulary])
        target[mine], exact[mine] = tree.translated(used[mine], links)
    return target, exact


def _picture(picture: Picture, meant: Meanings) -> Picture:
    said = _said(picture.said, meant) if picture.said else None
    parts = [PartSaid(told, part.shape, part.numbers) for part in picture.parts if (told := _said(part.said, meant))]
    return replace(picture, said=said, parts=tuple(parts))


def _said(said: Said, meant: Meanings) -> Said | None:
    if said.term.id not in meant:
        return None
    vocabulary, term = meant[said.term.id]
    return replace(said, term=term, vocabulary=vocabulary)
