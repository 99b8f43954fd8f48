"""Routes of the library: the workspace, collections with their dives or albums, import problems, and people."""

from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, Field

from benthoscope.app.api.common import Integer, State, Text, not_found
from benthoscope.engine.labelling.accuracy.repeats import slip_facts

router = APIRouter(tags=["library"])


@router.get("/workspace")
def workspace(app: State) -> dict[str, Any]:
    """Name, counts and feature sets of the workspace."""
    opened = app.workspace
    return {
        "name": opened.name,
        "images": opened.library.count_images(),
        "version": app.version,
        "features": opened.features.names(),
        "runs": len(opened.runs.all()),
    }


@router.get("/collections")
def collections(app: State) -> list[dict[str, Any]]:
    """Every collection with its dives or albums: counts, times, depths in m, bounds (south, west, north, east)."""
    library = app.workspace.library
    summaries = library.summaries()
    return [
        {
            "id": collection.id,
            "name": collection.name,
            "kind": collection.kind,
            "details": dict(collection.details),
            "groups": [
                {
                    "id": summary.group.id,
                    "name": summary.group.name,
                    "images": summary.images,
                    "first_taken": summary.first_taken,
                    "last_taken": summary.last_taken,
                    "depth": summary.depth,
                    "bounds": summary.bounds,
                }
                for summary in summaries
                if summary.group.collection_id == collection.id
            ],
        }
        for collection in library.collections()
    ]


@router.get("/problems")
def problems(app: State) -> list[dict[str, str]]:
    """Files and rows that imports could not use: where, what, and what to do."""
    return [vars(problem) for problem in app.workspace.library.problems()]


class Name(BaseModel):
    name: Text = Field(min_length=1, max_length=80)


people_router = APIRouter(tags=["people"])


@people_router.get("/people")
def people(app: State) -> list[dict[str, Any]]:
    """All people of the workspace, by name."""
    return [vars(person) for person in app.workspace.people.all()]


@people_router.get("/people/{person_id}/slips")
def slips(person_id: Integer, app: State) -> dict[str, Any]:
    """How many labels of a person were not confirmed when Learn showed them again, with a 95 % interval."""
    if person_id not in {person.id for person in app.workspace.people.all()}:
        raise not_found("people", f"there is no person {person_id}")
    return slip_facts(app.workspace, person_id)


@people_router.post("/people", status_code=201)
def person(new: Name, app: State) -> dict[str, Any]:
    """The person of this name. It is created if it does not exist."""
    return vars(app.workspace.people.named(new.name))
