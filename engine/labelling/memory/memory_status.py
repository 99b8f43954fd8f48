"""Facts about memories as plain values, for commands, REST and pages."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from benthoscope.engine.labelling.memory.memory_file import LabelMemory, MemoryTerm
from benthoscope.engine.labelling.memory.memory_folder import MemoryEntry
from benthoscope.engine.labelling.memory.memory_in_use import MemoryInUse, MemoryUse, missing_terms
from benthoscope.engine.labelling.memory.transfer import transfer_text
from benthoscope.engine.labelling.suggestions import SuggestionStore
from benthoscope.engine.problems import BadInput
from benthoscope.engine.term_path import joined
from benthoscope.engine.workspace import Workspace

TABLE_HEADER = ("image", "term", "vocabulary", "reason", "trust", "time")


def entry_facts(entry: MemoryEntry) -> dict[str, Any]:
    """Return what a memory in the folder is, or its problem."""
    facts = entry.facts
    named = {"name": entry.name, "path": str(entry.path), "bytes": entry.bytes, "problem": entry.problem}
    if facts is None:
        return named
    return {
        **named,
        "source": facts.source,
        "created_at": facts.created_at,
        "labels": facts.labels,
        "looked_at": facts.looked_at,
        "terms": len(facts.terms),
        "descriptor": dict(facts.identity),
        "water": facts.water,
    }


def content_facts(memory: LabelMemory) -> dict[str, Any]:
    """Return the labels of a memory counted by term and by how they were made."""
    by_term = np.bincount(memory.terms, minlength=len(memory.facts.terms)).tolist()
    by_reason = np.bincount(memory.reasons, minlength=len(memory.facts.reasons)).tolist()
    terms = zip(memory.facts.terms, by_term, strict=True)
    return {
        "counts": [{"vocabulary": term.vocabulary, "term": joined(term.path), "labels": n} for term, n in terms],
        "reasons": dict(zip(memory.facts.reasons, by_reason, strict=True)),
    }


def memory_rows(memory: LabelMemory) -> list[tuple[Any, ...]]:
    """Return the labels of a memory as rows of a table with TABLE_HEADER."""
    columns = (memory.images, memory.terms, memory.reasons, memory.trust, memory.times)
    terms, reasons = memory.facts.terms, memory.facts.reasons
    return [
        (image, joined(terms[term].path), terms[term].vocabulary, reasons[reason], f"{trust:g}", f"{time:.0f}")
        for image, term, reason, trust, time in zip(*(column.tolist() for column in columns), strict=True)
    ]


def status(workspace: Workspace) -> dict[str, Any] | None:
    """Return the facts about the memory in use in a workspace; None without one."""
    memory = MemoryUse(workspace.folder).get()
    if memory is None:
        return None
    trained = SuggestionStore(workspace.folder).get()
    facts = trained.facts.get("memory") if trained else None
    return status_facts(memory, missing_terms(workspace, memory.terms), _fits(workspace, memory), facts)


def _fits(workspace: Workspace, memory: MemoryInUse) -> bool:
    try:
        return memory.fits(workspace.features.open(memory.features))
    except BadInput:
        return False


def status_facts(
    memory: MemoryInUse, missing: Sequence[MemoryTerm], fits: bool, trained: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Return the same from the parts. `trained` are the facts of the training with the memory, None before it."""
    return {
        "name": memory.name,
        "source": memory.source,
        "labels": len(memory.row_terms),
        "terms": len(memory.terms),
        "missing": [joined(term.path) for term in missing],
        "weight": trained["weight"] if trained else None,
        "text": transfer_text(trained, memory.name) if trained else "",
        "misleads": bool(trained and trained["misleads"]),
        "fits": fits,
    }
