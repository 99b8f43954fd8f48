"""One dive or album: its mixture of clusters, and how it stands among the others."""

from typing import Any

import numpy as np
import param

from app.state.app_state import AppState
from app.state.atlas import Atlas, atlas_of
from app.state.dive_compare import Comparison, compared
from app.state.selection import Selection
from app.state.session import Session
from engine.workspace import GroupSummary

LIKEST = 6  # other dives named beside this one


class DiveView(param.Parameterized):
    """Everything about one dive under one run."""

    session = param.ClassSelector(class_=Session, constant=True, doc="The tab.")
    selection = param.ClassSelector(class_=Selection, constant=True, doc="Images marked on this page.")
    dive = param.Integer(default=None, allow_None=True, doc="Id of the dive; None is the first with images.")
    run = param.Integer(default=None, allow_None=True, doc="Number of the run; None is the current one.")
    cluster = param.Integer(default=None, allow_None=True, doc="The cluster the gallery shows; None means all.")

    def __init__(self, session: Session, **values: Any):
        super().__init__(session=session, selection=Selection(), **values)
        session.address.bind(self, "dive", "run", "cluster")

    @property
    def app(self) -> AppState:
        return self.session.app

    @property
    def atlas(self) -> Atlas:
        return atlas_of(self.app, self.run)

    @property
    def index(self) -> int:
        """Of the dive among the groups; an id nobody knows means the first with images."""
        known = None if self.dive is None else self.atlas.index_of_group(self.dive)
        with_images = (at for at, found in enumerate(self.atlas.groups) if found.images)
        return next(with_images, 0) if known is None else known

    @property
    def summary(self) -> GroupSummary:
        return self.atlas.groups[self.index]

    def shown(self) -> np.ndarray:
        """(N,) bool: the images of the dive, of one cluster where one was chosen."""
        atlas = self.atlas
        mask = atlas.group == self.index
        return mask if self.cluster is None else mask & (atlas.labels == self.cluster)

    def comparison(self) -> Comparison:
        atlas = self.atlas
        key = ("compared", atlas.run.id if atlas.run else None, len(atlas), len(atlas.groups))
        return self.app.lasting.once(key, lambda: compared(atlas.weights))

    def likest(self) -> list[tuple[int, float]]:
        """(group index, distance between 0 and 1) of this dive and those with the likest mixtures."""
        found = self.comparison()
        return [(at, float(found.distance[self.index, at])) for at in [self.index, *found.likest(self.index, LIKEST)]]

    def facts(self) -> list[tuple[str, str]]:
        """What is known of the dive, in words."""
        found, atlas = self.summary, self.atlas
        track = atlas.track(self.index)
        altitude = atlas.columns.altitude[track]
        known = {"Images": f"{found.images:,}"}
        if found.first_taken is not None:
            known["Taken"] = f"{_moment(found.first_taken)} to {_moment(found.last_taken)} UTC"
        if found.depth is not None:
            known["Depth"] = f"{found.depth[0]:.1f} to {found.depth[1]:.1f} m"
        if np.isfinite(altitude).any():
            known["Altitude"] = f"{np.nanmedian(altitude):.1f} m (median)"
        if atlas.clusters:
            known["Clusters"] = f"{int((atlas.weights[self.index] > 0.01).sum())} of {atlas.clusters} above 1 %"
        return list(known.items())


def _moment(seconds: float) -> str:
    return str(np.datetime64(round(seconds), "s")).replace("T", " ")[:16]
