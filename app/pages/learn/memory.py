"""The memory of an earlier campaign on the Learn page: which one is in use, and which ones can be used."""

from datetime import UTC, datetime
from typing import Any

from benthoscope.app.data.suggestions import suggestions
from benthoscope.app.session.app_state import AppState
from benthoscope.app.session.cache import FEATURES, IMAGES, LABELS, RUNS
from benthoscope.engine.labelling.memory.memory_folder import MemoryEntry, memories
from benthoscope.engine.labelling.memory.memory_in_use import MemoryInUse, MemoryUse, check_descriptor, missing_terms
from benthoscope.engine.labelling.memory.memory_status import status_facts
from benthoscope.engine.labelling.training_data import chosen_features
from benthoscope.engine.problems import BadInput
from benthoscope.engine.workspace.features import FeatureSet

MANY = 20  # names of missing labels in a list; the rest is counted


def memory_content(app: AppState) -> dict[str, Any]:
    """The memory in use, the memories that could be used, and the name under which the labels can be stored."""
    in_use = app.cached("memory in use", MemoryUse(app.workspace.folder).get, (IMAGES, LABELS))
    feature_set = app.cached("features to learn from", lambda: _feature_set(app), (FEATURES, RUNS))
    return {
        "used": in_use and _used(app, in_use, feature_set),
        "available": [] if in_use else [_available(entry, feature_set) for entry in memories()],
        "name": app.workspace.name,
    }


def _feature_set(app: AppState) -> FeatureSet | None:
    try:
        return chosen_features(app.workspace)[0]
    except BadInput:
        return None


def _used(app: AppState, memory: MemoryInUse, feature_set: FeatureSet | None) -> dict[str, Any]:
    missing = app.cached("labels a memory lacks", lambda: missing_terms(app.workspace, memory.terms), LABELS)
    trained = suggestions(app)
    fits = feature_set is not None and memory.fits(feature_set)
    facts = status_facts(memory, missing, fits, trained.facts.get("memory") if trained else None)
    return {**facts, "missing": facts["missing"][:MANY], "missing_count": len(missing)}


def _available(entry: MemoryEntry, feature_set: FeatureSet | None) -> dict[str, Any]:
    facts = entry.facts
    if facts is None:
        return {"name": entry.name, "about": "", "problem": entry.problem}
    made = datetime.fromtimestamp(facts.created_at, UTC).date().isoformat()
    about = f"{facts.labels:,} images, {len(facts.terms):,} labels, from {facts.source}, {made}"
    return {"name": entry.name, "about": about, "problem": _misfit(entry, feature_set)}


def _misfit(entry: MemoryEntry, feature_set: FeatureSet | None) -> str:
    """Why a memory cannot be used here; empty if it can."""
    if feature_set is None or entry.facts is None:
        return "there is no feature set of whole images"
    try:
        check_descriptor(entry.facts, feature_set)
    except BadInput as error:
        return str(error)
    return ""
