"""REST, version 1, described at /api/v1/openapi.json; and the images and thumbnails that pages show."""

from fastapi import FastAPI

from app.api import (
    assets,
    crowd,
    explore,
    health,
    images,
    jobs,
    labels,
    library,
    people,
    runs,
    search,
    segments,
    thumbnails,
    water,
)
from app.api.memory import Memory
from app.api.rates import Permits

DESCRIPTION = """Everything a script needs: images, dives, runs, clusters, labels and jobs.

Send the token of the server as `Authorization: Bearer TOKEN`. Errors are `{"error": {"where", "what", "remedy"}}`.
"""
PREFIX = "/api/v1"


def include(api: FastAPI) -> None:
    """Adds every route; a new part of the interface is a module with a router and one word here."""
    api.state.crowd_permits, api.state.crowd_memory = Permits(), Memory()
    for part in (library, images, runs, jobs, people, search, explore, segments, labels, crowd, water):
        api.include_router(part.router, prefix=PREFIX)
    for part in (health.router, thumbnails.router, segments.pictures, assets.router):
        api.include_router(part)
    api.include_router(crowd.pages)
