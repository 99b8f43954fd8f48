"""The REST API, version 1, described at /api/v1/openapi.json, and the files that pages load."""

from fastapi import FastAPI

from benthoscope.app.api import (
    catalog,
    crowd,
    explore,
    images,
    jobs,
    label_edits,
    labels,
    library,
    live,
    memories,
    plots,
    predictions,
    runs,
    static_files,
)
from benthoscope.app.api.common import Permits
from benthoscope.app.session.cache import Memory

DESCRIPTION = """Access for scripts to images, dives, runs, clusters, labels and jobs.

Send the token of the server as `Authorization: Bearer TOKEN`. Errors are `{"error": {"where", "what", "remedy"}}`.
"""
PREFIX = "/api/v1"
UNDER_PREFIX = (
    library.router,
    images.router,
    runs.router,
    predictions.router,
    plots.router,
    jobs.router,
    live.router,
    library.people_router,
    explore.search_router,
    explore.router,
    images.segments_router,
    labels.router,
    label_edits.router,
    memories.router,
    catalog.router,
    crowd.router,
    images.water_router,
)
AT_THE_ROOT = (
    static_files.health_router,
    images.thumbnails_router,
    images.pictures,
    static_files.router,
    crowd.pages,
)


def include(api: FastAPI) -> None:
    """Add every route."""
    api.state.crowd_permits, api.state.crowd_memory = Permits(), Memory()
    for router in UNDER_PREFIX:
        api.include_router(router, prefix=PREFIX)
    for router in AT_THE_ROOT:
        api.include_router(router)
