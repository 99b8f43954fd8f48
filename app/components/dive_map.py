"""The tracks of dives on a plane in metres, with graticule, scale and a pie of clusters a dive."""

from app.components.embedding import Plane


class DiveMap(Plane):
    """No coastline and no tiles: neither came with any package at hand under a licence that lets us ship it."""

    def __init__(self, **values):
        super().__init__(**{"title": "Map", "geographic": True, "xy_kind": "f4", "margin": 40, **values})
