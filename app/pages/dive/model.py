"""View model of the Dive page, and the content of its views: {component: {parameter: value}}."""

from typing import Any

import numpy as np
import param

from benthoscope.app.data.clusters.clustered_images import cluster_word, image_set
from benthoscope.app.data.clusters.run_view_model import RunViewModel
from benthoscope.app.data.colours import colouring
from benthoscope.app.data.figures import FigureChoice
from benthoscope.app.data.plot_images import Mark, images_of_marks
from benthoscope.app.data.projections import lines_url, tracks_of
from benthoscope.app.session.required import required
from benthoscope.app.session.selection import Selection, packed, packed_mask
from benthoscope.app.session.sent_selections import explore_address
from benthoscope.app.session.session import Session
from benthoscope.engine.analysis import tracks_in_metres
from benthoscope.engine.workspace import GroupSummary
from benthoscope.plots.colours import GREY

CLUSTER = "cluster"
MIXTURES = ("similar-mixtures", "mixture-heatmap")  # plots with a mark for each cluster of a dive
PREDICTED_COLOURS = {"mean": "Predicted value", "measured": "Measured value", "std": "Uncertainty"}
MAP_COLOURS = (CLUSTER, *PREDICTED_COLOURS)


class DiveView(RunViewModel):
    """Everything about one dive under one run."""

    selection = required(Selection, doc="Images marked on this page.")
    dive = param.Integer(default=None, allow_None=True, doc="Id of the dive; None is the first with images.")
    cluster = param.Integer(default=None, allow_None=True, doc="The cluster the gallery shows; None means all.")

    prediction = param.Integer(default=None, allow_None=True, doc="Number of the prediction; None is the newest one.")
    map_by: param.Selector[str] = param.Selector(
        default=CLUSTER, objects=list(MAP_COLOURS), doc="The colour of the images on the map."
    )

    def __init__(self, session: Session, **values: Any):
        super().__init__(session=session, selection=Selection(), **values)
        session.address.bind(self, "dive", "run", "cluster", "prediction", map="map_by")

    @property
    def index(self) -> int:
        """Index of the dive in the groups; an unknown id means the first dive with images."""
        known = None if self.dive is None else self.atlas.index_of_group(self.dive)
        with_images = (at for at, summary in enumerate(self.atlas.groups) if summary.images)
        return next(with_images, 0) if known is None else known

    @property
    def summary(self) -> GroupSummary:
        return self.atlas.groups[self.index]

    def shown(self) -> np.ndarray:
        """(N,) bool: the images of the dive, or those of the chosen cluster."""
        atlas = self.atlas
        mask = atlas.group == self.index
        return mask if self.cluster is None else mask & (atlas.labels == self.cluster)

    def select_marks(self, plot: str, marks: list[Mark]) -> None:
        """Select the images of marks in a plot. One cell or bar of mixtures also shows its dive and cluster."""
        choice = FigureChoice(run=self.run, dive=self.summary.group.id)
        images = images_of_marks(self.app, plot, choice, marks)
        self.selection.become(np.sort(self.atlas.columns.positions(images)), {"tool": "plot"})
        if marks and not len(images):
            word = cluster_word(self.atlas.run).lower()
            self.session.notify(f"For no image is this {word} the most probable one", kind="info")
        elif plot in MIXTURES and len(marks) == 1:
            self.param.update(dive=marks[0][0], cluster=marks[0][1])
        elif plot in MIXTURES:
            self.cluster = None

    @property
    def has_positions(self) -> bool:
        """Whether any image of the workspace has a position; otherwise there is no map."""
        return tracks_of(self.app, self.atlas).any

    def measures(self) -> list[str]:
        """Titles of the measures that an image of the dive has."""
        track, columns = self.atlas.track(self.index), self.atlas.columns
        known = {"Depth": columns.depth, "Altitude": columns.altitude}
        return [title for title, values in known.items() if np.isfinite(values[track]).any()]

    def facts(self) -> list[tuple[str, str]]:
        """(title, text) of the known facts about the dive."""
        summary, atlas = self.summary, self.atlas
        track = atlas.track(self.index)
        altitude = atlas.columns.altitude[track]
        known = {"Images": f"{summary.images:,}"}
        if summary.first_taken is not None and summary.last_taken is not None:
            known["Taken"] = f"{_moment(summary.first_taken)} to {_moment(summary.last_taken)} UTC"
        if summary.depth is not None:
            known["Depth"] = f"{summary.depth[0]:.1f} to {summary.depth[1]:.1f} m"
        if np.isfinite(altitude).any():
            known["Altitude"] = f"{np.nanmedian(altitude):.1f} m (median)"
        if atlas.clusters:
            known[f"{cluster_word(atlas.run)}s"] = (
                f"{int((atlas.weights[self.index] > 0.01).sum())} of {atlas.clusters} above 1 %"
            )
        return list(known.items())


def _moment(seconds: float) -> str:
    return str(np.datetime64(round(seconds), "s")).replace("T", " ")[:16]


Values = dict[str, dict[str, Any]]


def images(dive: DiveView) -> Values:
    app, atlas = dive.app, dive.atlas
    by = colouring(app, atlas, "cluster" if atlas.run else "dive")
    return {
        "images": {
            **image_set(app, atlas),
            "code_url": app.arrays.put(by.codes),
            "colours": list(by.colours),
            "names": list(by.names),
            "unknown": GREY,
        }
    }


def track(dive: DiveView) -> Values:
    """The map, centred on the dive."""
    atlas, columns = dive.atlas, dive.atlas.columns
    positions = atlas.track(dive.index)
    tracks = tracks_in_metres(columns.latitude[positions], columns.longitude[positions])
    xy = np.full((len(atlas), 2), np.nan, np.float32)
    xy[positions] = tracks.xy
    return {
        "map": {
            "xy_url": dive.app.arrays.put(xy) if tracks.any else "",
            "extent": list(tracks.extent),
            "middle": list(tracks.middle),
            "lines_url": lines_url(dive.app, atlas),
            "note": "" if tracks.any else "These images have no positions.",
        },
    }


def plots_of_dive(dive: DiveView) -> Values:
    """What the plots show."""
    atlas = dive.atlas
    return {
        "plots": {
            "dives": [[summary.group.id, summary.group.name] for summary in atlas.groups if summary.images],
            "query": {"dive": dive.summary.group.id, "run": atlas.run.id if atlas.run else None},
            "measures": dive.measures(),
            "clustered": bool(atlas.clusters),
            "noun": cluster_word(atlas.run).lower(),
            **_selected(dive),
        }
    }


def _selected(dive: DiveView) -> dict[str, Any]:
    """The selection, as the plots show it."""
    atlas, positions = dive.atlas, dive.selection.positions
    ids = atlas.columns.ids[positions]
    run, group = atlas.run.id if atlas.run else None, dive.summary.group
    back = f"/dive?dive={group.id}"
    address = explore_address(dive.app, ids, f"Selected in {group.name}", back=back, run=run) if len(ids) else ""
    return {
        "selected": ids[atlas.group[positions] == dive.index].tolist(),
        "chosen": {"count": len(ids), "explore": address},
    }


def mask(dive: DiveView) -> Values:
    shown = packed_mask(dive.shown())
    return {"map": {"shown": shown}, "gallery": {"mask": shown}}


def order(dive: DiveView) -> Values:
    return {"gallery": {"order_url": dive.app.arrays.put(dive.atlas.along[0].astype(np.int32))}}


def selection(dive: DiveView) -> Values:
    return {"images": {"selected": packed(dive.selection.positions, len(dive.atlas))}, "plots": _selected(dive)}
