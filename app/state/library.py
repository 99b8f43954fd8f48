"""The library: which dives there are, how far each is labelled, where they lie, and what could not be used."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import param

from app.state.app_state import AppState
from app.state.session import Session
from engine.workspace.records import GroupSummary

TRACK_POINTS = 160  # of a dive on the small map: more than it has pixels
PROBLEMS = 200      # shown at once; the command line lists all


@dataclass(frozen=True)
class DiveRow:
    """A dive or album as the table shows it; times in seconds since 1970 UTC, depths in metres."""

    id: int
    name: str
    images: int
    first: float | None
    last: float | None
    depth: tuple[float, float] | None
    labelled: int


class LibraryView(param.Parameterized):
    session = param.ClassSelector(class_=Session, constant=True)
    sought = param.String(default="", doc="Only dives whose name holds this.")

    def __init__(self, session: Session):
        super().__init__(session=session)
        session.address.bind(self, find="sought")

    def content(self) -> dict[str, Any]:
        """Everything the page draws, as plain values."""
        app, library = self.session.app, self.session.workspace.library
        collections = dive_table(app)
        roots = library.roots()
        problems = app.kept("problems", library.problems)
        return {
            "stats": self._stats(collections), "collections": collections, "tracks": app.kept(
                "small tracks", lambda: tracks(app)), "features": feature_sets(app),
            "missing_roots": [{"id": root.id, "path": root.path} for root in roots if not root.present],
            "problems": [asdict(found) for found in problems[:PROBLEMS]], "problem_count": len(problems),
            "duplicates": app.kept("copies", lambda: sum(len(same) - 1 for same in library.duplicates())),
        }

    def _stats(self, collections: list[dict[str, Any]]) -> list[dict[str, str]]:
        groups = [group for found in collections for group in found["groups"]]
        images, labelled = sum(group["images"] for group in groups), sum(group["labelled"] for group in groups)
        run = self.session.app.run()
        clusters = f"{run.summary.get('clusters', '?')} in {run.name}" if run else "none yet"
        share = f"{100 * labelled / images:.0f} %" if images else "0 %"
        return [{"label": "Images", "value": f"{images:,}"},
                {"label": "Dives and albums", "value": f"{len(groups):,}"},
                {"label": "Labelled", "value": f"{labelled:,} ({share})"}, {"label": "Clusters", "value": clusters}]


def dive_table(app: AppState) -> list[dict[str, Any]]:
    """Collections by name, each with its dives or albums."""
    summaries = app.kept("summaries", app.workspace.library.summaries)
    labelled = labelled_by_group(app)
    return [{"id": found.id, "name": found.name, "kind": found.kind,
             "groups": [asdict(_row(summary, labelled)) for summary in summaries
                        if summary.group.collection_id == found.id]}
            for found in app.workspace.library.collections()]


def _row(summary: GroupSummary, labelled: dict[int, int]) -> DiveRow:
    return DiveRow(summary.group.id, summary.group.name, summary.images, summary.first_taken, summary.last_taken,
                   summary.depth, labelled.get(summary.group.id, 0))


def labelled_by_group(app: AppState) -> dict[int, int]:
    """How many images of each dive have a label that holds."""
    def count() -> dict[int, int]:
        columns = app.columns
        groups = columns.group_ids[columns.positions(app.workspace.labels.current()[0])]
        return dict(zip(*(part.tolist() for part in np.unique(groups, return_counts=True)), strict=True))

    return app.kept("labelled by group", count)


def tracks(app: AppState) -> dict[str, list[list[float]]]:
    """By dive [latitudes, longitudes] along its course, thinned; dives without positions are left out."""
    columns = app.columns
    placed = np.flatnonzero(np.isfinite(columns.latitude) & np.isfinite(columns.longitude))
    order = placed[np.lexsort((columns.taken_at[placed], columns.group_ids[placed]))]
    groups, first = np.unique(columns.group_ids[order], return_index=True)
    parts = np.split(order, first)[1:]
    return {str(group): _thinned(columns.latitude[part], columns.longitude[part])
            for group, part in zip(groups.tolist(), parts, strict=True)}


def _thinned(latitude: np.ndarray, longitude: np.ndarray) -> list[list[float]]:
    at = np.unique(np.linspace(0, len(latitude) - 1, min(len(latitude), TRACK_POINTS)).astype(int))
    return [latitude[at].round(6).tolist(), longitude[at].round(6).tolist()]


def feature_sets(app: AppState) -> list[dict[str, Any]]:
    """What describes the images, and how many it lacks."""
    total = len(app.columns)
    return [{"name": found.name, "level": found.level, "images": found.images, "width": found.width,
             "rows": found.rows, "lacks": max(total - found.images, 0)}
            for found in _sidecars(app, app.workspace.features.names())]


def _sidecars(app: AppState, names: Iterable[str]) -> list[Any]:
    return [app.features(name).sidecar for name in names]
