"""What evening out the water would do, to be judged before all images are described so."""

import io

from fastapi import APIRouter
from starlette.responses import Response

from app.api.needs import State
from engine.jobs.waters import compared

router = APIRouter(tags=["library"])


@router.get("/water.jpg", responses={200: {"content": {"image/jpeg": {}}}}, response_class=Response)
def water(app: State, collection: str = "") -> Response:
    """Some images of different dives of a `collection` or of all, as they are and with the water taken out."""
    held = io.BytesIO()
    compared(app.workspace, collection or None)[0].save(held, "JPEG")
    return Response(held.getvalue(), media_type="image/jpeg", headers={"cache-control": "private, no-cache"})
