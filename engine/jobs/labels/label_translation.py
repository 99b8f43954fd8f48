"""Translate labels for an export: to another vocabulary, or to a coarser level."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import chain

import numpy as np

from benthoscope.engine.exchange.labels.export_model import ExportAnnotation, ExportImage, ExportLabel, Loss, Outgoing
from benthoscope.engine.labelling.terms import TermTree
from benthoscope.engine.problems import unknown
from benthoscope.engine.workspace import Workspace
from benthoscope.engine.workspace.labels.vocabularies import Term

Meanings = Mapping[int, tuple[str, Term]]  # by the id of a term: the vocabulary and the translated term


def retold(
    outgoing: Outgoing, workspace: Workspace, vocabulary: str | None = None, level: int | None = None
) -> tuple[Outgoing, list[Loss]]:
    """Translate all labels to `vocabulary` and roll them up to `level` (1: the roots). Also returns what is lost.
    Labels without a translation are left out."""
    if vocabulary is None and level is None:
        return outgoing, []
    known = dict(outgoing.terms)
    if vocabulary is not None and vocabulary not in known:
        raise unknown("vocabulary", vocabulary, known)
    meant, coarser = _meanings(outgoing, workspace, vocabulary, level)
    pictures = tuple(_picture(picture, meant) for picture in outgoing.pictures)
    translated = replace(outgoing, pictures=pictures)
    dropped = len(outgoing.all_labels) - len(translated.all_labels)
    loss_list = [
        Loss("labels without a translation", dropped, f"{vocabulary} has no linked term"),
        Loss(
            "labels with a coarser term",
            sum(label.term.id in coarser for label in outgoing.all_labels),
            "a coarser level or vocabulary was requested",
        ),
    ]
    return translated, [loss for loss in loss_list if loss.count]


def _meanings(
    outgoing: Outgoing, workspace: Workspace, vocabulary: str | None, level: int | None
) -> tuple[Meanings, set[int]]:
    """Return (the translation of each used term, the terms that lose information)."""
    tree = TermTree.of(chain.from_iterable(outgoing.terms.values()))
    home = {term.id: name for name, terms in outgoing.terms.items() for term in terms}
    used = np.array(sorted(outgoing.used_terms), np.int64)
    target, exact = _translated(tree, home, used, workspace, vocabulary)
    final = target.copy()
    if level is not None:
        final[target > 0] = tree.rolled_up(target[target > 0], level)
    coarser = {
        int(term)
        for term, is_exact, before, after in zip(used, exact, target, final, strict=True)
        if after and (not is_exact or after != before)
    }
    meant = {int(term): (home[int(at)], tree.by_id[int(at)]) for term, at in zip(used, final, strict=True) if at}
    return meant, coarser


def _translated(
    tree: TermTree, home: Mapping[int, str], used: np.ndarray, workspace: Workspace, vocabulary: str | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return (terms of the vocabulary, 0 without translation; whether the meaning is the same)."""
    target, exact = used.copy(), np.ones(len(used), bool)
    if vocabulary is None:
        return target, exact
    numbers = {words.name: words.id for words in workspace.vocabularies.all()}
    for name in {home[int(term)] for term in used} - {vocabulary}:
        of_vocabulary = np.array([home[int(term)] == name for term in used])
        links = workspace.term_links.between(numbers[name], numbers[vocabulary])
        target[of_vocabulary], exact[of_vocabulary] = tree.translated(used[of_vocabulary], links)
    return target, exact


def _picture(picture: ExportImage, meant: Meanings) -> ExportImage:
    label = _translated_label(picture.label, meant) if picture.label else None
    annotations = [
        ExportAnnotation(translation, annotation.shape, annotation.numbers)
        for annotation in picture.annotations
        if (translation := _translated_label(annotation.label, meant))
    ]
    return replace(picture, label=label, annotations=tuple(annotations))


def _translated_label(label: ExportLabel, meant: Meanings) -> ExportLabel | None:
    if label.term.id not in meant:
        return None
    vocabulary, term = meant[label.term.id]
    return replace(label, term=term, vocabulary=vocabulary)
