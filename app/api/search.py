"""One box for everything that has a name: images, dives, clusters, terms, pages."""

from typing import Any

from fastapi import APIRouter, Query

from app.api.needs import State
from app.state.search import search

router = APIRouter(tags=["search"])


@router.get("/search")
def find(app: State, q: str = Query(max_length=200), limit: int = Query(6, ge=1, le=50)) -> list[dict[str, Any]]:
    """What matches, best first within each kind: where it leads (`href`), its name and one line about it."""
    return [vars(found) for found in search(app, q, limit)]
