"""A memory in use in a workspace: its rows by the projection of this campaign, and the terms that match.

    learning/memory.json          the name of the folder with the rows
    learning/memory.1f3a/         rows, terms, trust, and facts

The rows are a copy. The workspace needs neither the file of the memory nor the network of the descriptor to learn from
it. If the feature set is computed again, its projection changes, and the memory has to be used again.
"""

import contextlib
import secrets
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from benthoscope.engine.features import storage
from benthoscope.engine.labelling.classifier import Remembered
from benthoscope.engine.labelling.memory.memory_file import MemoryFacts, MemoryTerm, read_memory
from benthoscope.engine.labelling.training_data import LearningData, chosen_features
from benthoscope.engine.problems import BadInput, Problem, fail
from benthoscope.engine.term_path import joined
from benthoscope.engine.workspace import Workspace
from benthoscope.engine.workspace.features import FeatureSet
from benthoscope.engine.workspace.labels.vocabularies import NewTerm, Term
from benthoscope.engine.workspace.records import current_time
from benthoscope.engine.workspace.storage.files import (
    load_parts,
    problem_of_parts,
    read_json,
    save_parts,
    write_json,
)

HALF = 200.0  # own labels at which a memory's label counts half; chosen on two of the sets of bench_memory
MOST_ROWS = 3_000  # rows used for training: more cost time and change little


@dataclass(frozen=True)
class MemoryInUse:
    """Rows (n, d) of a memory by this campaign's projection, the position of each row's term, and its trust."""

    name: str
    source: str
    made_at: float
    used_at: float
    features: str
    feature_folder: str  # the version of the feature set whose projection was applied
    terms: tuple[MemoryTerm, ...]
    rows: np.ndarray
    row_terms: np.ndarray
    trust: np.ndarray

    def fits(self, feature_set: FeatureSet) -> bool:
        """Return whether the rows are of this feature set's projection."""
        return (self.features, self.feature_folder) == (feature_set.name, feature_set.sidecar.folder)


class MemoryUse:
    """The memory in use in a workspace; at most one."""

    def __init__(self, folder: Path):
        self._folder = folder / "learning"
        self._pointer = self._folder / "memory.json"

    def put(self, memory: MemoryInUse) -> None:
        name, old = f"memory.{secrets.token_hex(6)}", self._name()
        terms = [[term.vocabulary, list(term.path)] for term in memory.terms]
        self._folder.mkdir(exist_ok=True)
        save_parts(self._folder / name, {**vars(memory), "terms": terms})
        write_json(self._pointer, name)
        self._delete(old)

    def get(self) -> MemoryInUse | None:
        """Return the memory in use; None without one, or if its files are damaged, which `problem` reports."""
        name = self._name()
        try:
            if name is None:
                return None
            values = load_parts(self._folder / name)
            terms = tuple(MemoryTerm(vocabulary, tuple(path)) for vocabulary, path in values.pop("terms"))
            return MemoryInUse(**values, terms=terms)
        except (BadInput, KeyError, TypeError, ValueError):
            return self.get() if self._name() != name else None  # replaced by another process in the meantime

    def problem(self) -> Problem | None:
        """Return the problem with the stored memory, if any."""
        remedy = "turn it off and use it again: benthoscope memory use --off"
        name = self._name()
        if name is None:
            return Problem(str(self._pointer), "is damaged", remedy) if self._pointer.exists() else None
        problem = problem_of_parts(self._folder / name, read=True)
        return problem and Problem(problem.where, problem.what, remedy)

    def stop(self) -> bool:
        """Turn the memory off. Returns whether one was in use."""
        name, was_used = self._name(), self._pointer.exists()
        self._pointer.unlink(missing_ok=True)
        self._delete(name)
        return was_used

    def _delete(self, name: str | None) -> None:
        if name:
            shutil.rmtree(self._folder / name, ignore_errors=True)

    def _name(self) -> str | None:
        with contextlib.suppress(OSError, ValueError):
            name = read_json(self._pointer)
            return name if isinstance(name, str) and name.startswith("memory.") and "/" not in name else None
        return None


def identity_of(feature_set: FeatureSet) -> dict[str, Any]:
    """Return the identity of the descriptor of a feature set, and whether water effects were removed."""
    stored = _descriptor_of(feature_set)
    return {"identity": stored.identity, "water": bool(feature_set.sidecar.extractor.get("water"))}


def _descriptor_of(feature_set: FeatureSet) -> storage.StoredDescriptor:
    folder = feature_set.descriptor_folder
    if not storage.is_stored(folder):
        raise fail(
            f"feature set {feature_set.name}",
            "has no stored descriptor, so its vectors cannot be compared with those of other campaigns",
            "compute it with `benthoscope features`",
        )
    return _read_descriptor(folder, (folder / storage.LEARNED).stat().st_mtime_ns)


@lru_cache(maxsize=8)
def _read_descriptor(folder: Path, changed_ns: int) -> storage.StoredDescriptor:
    return storage.read(folder)


def check_descriptor(facts: MemoryFacts, feature_set: FeatureSet) -> None:
    """Raise BadInput if the vectors of a memory cannot be compared with those of a feature set."""
    identity = identity_of(feature_set)
    if identity == {"identity": dict(facts.identity), "water": facts.water}:
        return
    raise fail(
        f"memory {facts.name}",
        f"was made with the descriptor {_in_words(facts.identity, facts.water)}; the feature set {feature_set.name} "
        f"has {_in_words(identity['identity'], identity['water'])}",
        "describe the images with the same descriptor and settings, then cluster them by that feature set",
    )


def _in_words(identity: Mapping[str, Any], water: bool) -> str:
    learned = str(identity.get("learned") or "")
    properties = [
        f"{identity.get('descriptor')} version {identity.get('version')}",
        *(f"{name} {value}" for name, value in dict(identity.get("parameters") or {}).items()),
        f"learned arrays {learned[:8]}" if learned else "",
        "water removed" if water else "",
    ]
    return ", ".join(filter(None, properties))


def use_memory(workspace: Workspace, path: Path, *, create_terms: bool = False) -> MemoryInUse:
    """Use the memory in a file for the suggestions of this workspace, instead of any earlier one."""
    memory = read_memory(path)
    feature_set, _ = chosen_features(workspace)
    check_descriptor(memory.facts, feature_set)
    rows = _descriptor_of(feature_set).own_vectors(memory.vectors)
    if rows.shape[1] != feature_set.sidecar.width + feature_set.sidecar.further:
        raise fail(
            f"memory {memory.facts.name}",
            f"gives rows of {rows.shape[1]} values; the feature set {feature_set.name} has {feature_set.sidecar.width}",
            "make the memory again",
        )
    in_use = MemoryInUse(
        memory.facts.name,
        memory.facts.source,
        memory.facts.created_at,
        current_time(),
        feature_set.name,
        feature_set.sidecar.folder,
        memory.facts.terms,
        rows,
        memory.terms,
        memory.trust,
    )
    MemoryUse(workspace.folder).put(in_use)
    if create_terms:
        create_missing_terms(workspace, in_use.terms)
    return in_use


def matching_terms(terms: Sequence[MemoryTerm], known: Sequence[Term], vocabularies: Mapping[int, str]) -> np.ndarray:
    """Return the id of the term with the same path for each term of a memory (K,), 0 if there is none.

    `vocabularies` gives the name of the vocabulary of each known term. The same vocabulary is preferred, then the exact
    spelling.
    """
    ids: dict[tuple[Any, ...], int] = {}
    for term in known:
        vocabulary, path = vocabularies[term.id], term.path
        folded = tuple(name.casefold() for name in path)
        for key in ((vocabulary, path), (vocabulary, folded), ("", path), ("", folded)):
            ids.setdefault(key, term.id)
    return np.array([_first_match(term, ids) for term in terms], np.int64)


def _first_match(term: MemoryTerm, ids: Mapping[tuple[Any, ...], int]) -> int:
    folded = tuple(name.casefold() for name in term.path)
    keys = ((term.vocabulary, term.path), (term.vocabulary, folded), ("", term.path), ("", folded))
    return next((ids[key] for key in keys if key in ids), 0)


def term_ids(workspace: Workspace, terms: Sequence[MemoryTerm]) -> np.ndarray:
    """Return the ids of a memory's terms in this workspace (K,), 0 for those it lacks."""
    known: list[Term] = []
    names: dict[int, str] = {}
    for vocabulary in workspace.vocabularies.all():
        terms_of_vocabulary = workspace.vocabularies.terms(vocabulary.id)
        known += terms_of_vocabulary
        names |= {term.id: vocabulary.name for term in terms_of_vocabulary}
    return matching_terms(terms, known, names)


def missing_terms(workspace: Workspace, terms: Sequence[MemoryTerm]) -> list[MemoryTerm]:
    """Return the terms that the vocabularies of this workspace lack."""
    ids = term_ids(workspace, terms)
    return [term for term, number in zip(terms, ids.tolist(), strict=True) if not number]


def create_missing_terms(workspace: Workspace, terms: Sequence[MemoryTerm]) -> list[str]:
    """Create the terms that the workspace lacks, each in the vocabulary it came from. Returns their paths."""
    missing = missing_terms(workspace, terms)
    for name in dict.fromkeys(term.vocabulary for term in missing):
        paths = [term.path for term in missing if term.vocabulary == name]
        new_terms = [NewTerm(path[:depth]) for path in paths for depth in range(1, len(path) + 1)]
        workspace.vocabularies.add(name, list({term.path: term for term in new_terms}.values()))
    return [joined(term.path) for term in missing]


def memory_weight(own_labels: float) -> float:
    """Return the weight of a memory's label beside this number of own labels: it falls as own labels arrive."""
    return HALF / (HALF + own_labels)


def remembered(
    workspace: Workspace, material: LearningData, own_labels: float, rng: np.random.Generator
) -> Remembered | None:
    """Return the training examples of the memory in use; None without one, or if it does not fit the feature set."""
    memory = MemoryUse(workspace.folder).get()
    if memory is None or not memory.fits(workspace.features.open(material.features)):
        return None
    ids = term_ids(workspace, memory.terms)[memory.row_terms]
    known = np.flatnonzero(ids)
    chosen = np.sort(rng.permutation(known)[:MOST_ROWS])
    if not len(chosen):
        return None
    weights = memory.trust[chosen].astype(np.float64) * memory_weight(own_labels)
    row_map = material.data.row_map
    return Remembered(row_map(memory.rows[chosen, : row_map.width]), ids[chosen], weights)


def can_learn(workspace: Workspace) -> bool:
    """Return whether there are labels of two terms to learn from, including those of the memory in use."""
    terms = set(workspace.labels.current_terms()[1].tolist())
    memory = MemoryUse(workspace.folder).get() if len(terms) < 2 else None
    if memory is not None:
        terms |= set(term_ids(workspace, memory.terms).tolist()) - {0}
    return len(terms) > 1
