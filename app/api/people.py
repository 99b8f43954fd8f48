"""Who works here."""

from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, Field

from app.api.needs import State

router = APIRouter(tags=["people"])


class Name(BaseModel):
    name: str = Field(min_length=1, max_length=80)


@router.get("/people")
def people(app: State) -> list[dict[str, Any]]:
    """Everybody who ever labelled or said a name, by name."""
    return [vars(found) for found in app.workspace.people.all()]


@router.post("/people", status_code=201)
def person(new: Name, app: State) -> dict[str, Any]:
    """The person of this name, made where it is new."""
    return vars(app.workspace.people.named(new.name))
