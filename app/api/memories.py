"""Routes of memories: labels of earlier campaigns, and the one in use for suggestions."""

from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import BaseModel, Field

from benthoscope.app.api.common import State, Text, not_found
from benthoscope.app.session.cache import LABELS
from benthoscope.engine.labelling.memory.memory_file import read_memory
from benthoscope.engine.labelling.memory.memory_folder import existing_memory, memories, remove_memory
from benthoscope.engine.labelling.memory.memory_in_use import MemoryUse, can_learn, use_memory
from benthoscope.engine.labelling.memory.memory_status import content_facts, entry_facts, status
from benthoscope.engine.labelling.suggestions import SuggestionStore

router = APIRouter(tags=["memories"])


class MemoryChoice(BaseModel):
    name: Annotated[Text, Field(min_length=1, max_length=100, description="Name of a memory.")]
    add_terms: bool = Field(default=False, description="Add the terms that the vocabularies lack.")


@router.get("/memories")
def listed(app: State) -> list[dict[str, Any]]:
    """The memories on this machine: labels of earlier campaigns that can be used for suggestions.

    A job of the kind `remember` makes one: POST /jobs with {"kind": "remember", "parameters": {"name": "reef 2019"}}.
    """
    return [entry_facts(entry) for entry in memories()]


@router.get("/memories/{name}")
def memory(name: Text, app: State) -> dict[str, Any]:
    """One memory with the number of its labels by term and by how they were made."""
    entry = next((entry for entry in memories() if entry.name == name), None)
    if entry is None:
        raise not_found("memories", f"there is no '{name}'")
    return {**entry_facts(entry), **content_facts(read_memory(entry.path))}


@router.delete("/memories/{name}")
def removal(name: Text, app: State) -> dict[str, Any]:
    """Delete the file of a memory. Workspaces that use it keep a copy until it is turned off there."""
    return {"removed": str(remove_memory(name))}


@router.get("/memory")
def in_use(app: State) -> dict[str, Any] | None:
    """The memory in use in this workspace, its weight, and whether it fits; null without one."""
    return status(app.workspace)


@router.put("/memory")
def use(choice: MemoryChoice, app: State) -> dict[str, Any] | None:
    """Use a memory for suggestions, instead of any earlier one, and train the model with it."""
    use_memory(app.workspace, existing_memory(choice.name), create_terms=choice.add_terms)
    return _trained(app)


@router.delete("/memory")
def turn_off(app: State) -> dict[str, Any] | None:
    """Turn the memory off, and train the model without it."""
    MemoryUse(app.workspace.folder).stop()
    if not can_learn(app.workspace):
        SuggestionStore(app.workspace.folder).remove()
    return _trained(app)


def _trained(app: State) -> dict[str, Any] | None:
    if can_learn(app.workspace):
        app.queue.add("learn")
    app.changed(LABELS)
    return status(app.workspace)
