"""What evening out the water would do, to be judged before all images are described so."""

import tempfile
from pathlib import Path

from fastapi import APIRouter
from starlette.responses import Response

from app.api.needs import State
from engine.jobs.waters import preview

router = APIRouter(tags=["library"])


@router.get("/water.jpg", responses={200: {"content": {"image/jpeg": {}}}}, response_class=Response)
def water(app: State, collection: str = "") -> Response:
    """Some images of different dives of a `collection` or of all, as they are and with the water taken out."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "water.jpg"
        preview(app.workspace, file, collection or None)
        return Response(file.read_bytes(), media_type="image/jpeg", headers={"cache-control": "private, no-cache"})
