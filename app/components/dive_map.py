"""The tracks of dives on a plane in metres, with graticule, scale and a pie of clusters a dive."""

from app.components.embedding import Plane


class DiveMap(Plane):
    """Lies on coarse land of our own, and on tiles only where a person said from which server."""

    def __init__(self, **values):
        super().__init__(**{"title": "Map", "geographic": True, "xy_kind": "f4", "margin": 40, **values})
