"""Whether the server answers, for scripts and supervisors; open to everybody, says nothing about the data."""

from importlib.metadata import version

from fastapi import APIRouter

router = APIRouter(tags=["server"])


@router.get("/health")
async def health() -> dict[str, str]:
    """Answers as soon as the server takes requests."""
    return {"status": "ok", "version": version("benthoscope")}
