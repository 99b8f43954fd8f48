"""What each view of the dive page shows, as parameters of its component: {component: {parameter: value}}."""

from typing import Any

import numpy as np

from app.state.colouring import GREY, cluster_colours, colouring
from app.state.dive import DiveView
from app.state.tracks import in_metres
from app.state.wire import packed, packed_mask

Values = dict[str, dict[str, Any]]
MOST_ROWS = 120  # of the heat map: beyond, rows are thinner than their names


def images(dive: DiveView) -> Values:
    app, atlas = dive.app, dive.atlas
    ids = app.kept("ids address", lambda: app.shelf.put(atlas.columns.ids.astype(np.int32)), of_images=True)
    by = colouring(app, atlas, "cluster" if atlas.run else "dive")
    return {"images": {"count": len(atlas), "ids_url": ids, "version": app.version,
                       "run": atlas.run.id if atlas.run else None, "code_url": app.shelf.put(by.codes),
                       "colours": list(by.colours), "names": list(by.names), "unknown": GREY}}


def track(dive: DiveView) -> Values:
    """Map and strip of the dive, with its own middle: metres of one dive, not of a campaign."""
    atlas, columns = dive.atlas, dive.atlas.columns
    own = atlas.track(dive.index)
    tracks = in_metres(columns.latitude[own], columns.longitude[own])
    xy = np.full((len(atlas), 2), np.nan, np.float32)
    xy[own] = tracks.xy
    dives = [[found.group.id, found.group.name] for found in atlas.groups if found.images]
    return {
        "map": {"xy_url": dive.app.shelf.put(xy) if tracks.any else "", "extent": list(tracks.extent),
                "middle": list(tracks.middle), "note": "" if tracks.any else "These images have no positions."},
        "strip": {"dives": dives, "dive": dive.summary.group.id, "positions": own.astype("<i4").tobytes(),
                  "depth": columns.depth[own].astype("<f4").tobytes(),
                  "altitude": columns.altitude[own].astype("<f4").tobytes(),
                  "time": columns.taken_at[own].astype("<f8").tobytes()},
    }


def mask(dive: DiveView) -> Values:
    shown = packed_mask(dive.shown())
    return {"map": {"shown": shown}, "gallery": {"mask": shown}}


def order(dive: DiveView) -> Values:
    return {"gallery": {"order_url": dive.app.shelf.put(dive.atlas.along[0].astype(np.int32))}}


def selection(dive: DiveView) -> Values:
    return {"images": {"selected": packed(dive.selection.positions, len(dive.atlas))}}


def mixtures(dive: DiveView) -> Values:
    """This dive's bar above those of the likest dives, and the heat map of all."""
    atlas, found = dive.atlas, dive.comparison()
    here = dive.summary.group.id
    bars = [{"id": atlas.groups[at].group.id, "name": atlas.groups[at].group.name, "note": "" if at == dive.index else
             f"{distance:.2f} apart", "shares": _shares(atlas.weights[at])} for at, distance in dive.likest()]
    rows = found.dives[:MOST_ROWS].tolist()
    colours = cluster_colours(atlas.clusters)
    return {
        "bars": {"rows": bars, "colours": colours, "current": here},
        "heat": {"rows": [{"id": atlas.groups[at].group.id, "name": atlas.groups[at].group.name} for at in rows],
                 "columns": [{"number": int(at), "colour": colours[at]} for at in found.clusters],
                 "values": [_shares(atlas.weights[at][found.clusters]) for at in rows], "current": here},
    }


def _shares(shares: np.ndarray) -> list[float]:
    return np.round(shares, 4).tolist()
