"""View model of the Library page: dives with their labelled shares, tracks, feature sets and import problems."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import param

from benthoscope.app.data.group_words import group_words
from benthoscope.app.data.labels import labelled_by_group
from benthoscope.app.session.app_state import AppState
from benthoscope.app.session.cache import FEATURES, IMAGES, RUNS
from benthoscope.app.session.required import required
from benthoscope.app.session.session import Session
from benthoscope.engine.exchange.parsing.csv_output import stamp
from benthoscope.engine.workspace.records import GroupSummary

PROBLEMS = 200  # shown at once; the command line lists all


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
    session = required(Session)
    sought = param.String(default="", doc="Show only dives whose name contains this.")

    def __init__(self, session: Session):
        super().__init__(session=session)
        session.address.bind(self, find="sought")

    def content(self) -> dict[str, Any]:
        """Content of the page as plain values."""
        app, library = self.session.app, self.session.workspace.library
        collections = dive_table(app)
        roots = library.roots()
        problems = app.cached("problems", library.problems, IMAGES)
        return {
            "stats": self._stats(collections),
            "collections": collections,
            "map": app.cached("map of the library", lambda: map_facts(app), IMAGES),
            "features": feature_sets(app),
            "missing_roots": [{"id": root.id, "path": root.path} for root in roots if not root.present],
            "notices": app.cached("notices", lambda: notices(app), (IMAGES, RUNS, FEATURES)),
            "problems": [asdict(problem) for problem in problems[:PROBLEMS]],
            "problem_count": len(problems),
            "duplicates": app.cached("copies", library.count_copies, IMAGES),
        }

    def _stats(self, collections: list[dict[str, Any]]) -> list[dict[str, str]]:
        groups = [group for collection in collections for group in collection["groups"]]
        images, labelled = sum(group["images"] for group in groups), sum(group["labelled"] for group in groups)
        run = self.session.app.run()
        clusters = f"{run.summary.get('clusters', '?')} in {run.name}" if run else "none yet"
        share = f"{100 * labelled / images:.0f} %" if images else "0 %"
        return [
            {"label": "Images", "value": f"{images:,}"},
            {"label": group_words(self.session.app).plural.capitalize(), "value": f"{len(groups):,}"},
            {"label": "Labelled", "value": f"{labelled:,} ({share})"},
            {"label": "Clusters", "value": clusters},
        ]


def dive_rows(collections: Sequence[Mapping[str, Any]], colours: Mapping[int, str]) -> list[dict[str, Any]]:
    """The dives or albums of all collections as the table lists them, with the colours of their tracks."""
    return [
        {
            "id": group["id"],
            "colour": colours[group["id"]],
            "name": group["name"],
            "collection": collection["name"],
            "images": group["images"],
            "first": stamp(group["first"], "%Y-%m-%d %H:%M"),
            "hours": None if group["first"] is None else round((group["last"] - group["first"]) / 3600, 1),
            "shallowest": group["depth"][0] if group["depth"] else None,
            "deepest": group["depth"][1] if group["depth"] else None,
            "labelled": group["labelled"] / group["images"] if group["images"] else 0.0,
        }
        for collection in collections
        for group in collection["groups"]
    ]


def collection_rows(collections: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The collections as the table lists them, with the sums of their dives or albums."""
    rows = []
    for collection in collections:
        images, labelled = (sum(group[name] for group in collection["groups"]) for name in ("images", "labelled"))
        rows.append(
            {
                "id": collection["id"],
                "name": collection["name"],
                "groups": len(collection["groups"]),
                "images": images,
                "labelled": labelled / images if images else 0.0,
            }
        )
    return rows


def silent_columns(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Columns of the dives that say nothing: depths where none is known, the collection where there is but one."""
    depths = [] if any(row["deepest"] is not None for row in rows) else ["shallowest", "deepest"]
    return [*depths, *(["collection"] if len({row["collection"] for row in rows}) < 2 else [])]


def dive_table(app: AppState) -> list[dict[str, Any]]:
    """Collections by name, each with its dives or albums."""
    summaries = app.cached("summaries", app.workspace.library.summaries, IMAGES)
    labelled = labelled_by_group(app)
    return [
        {
            "id": collection.id,
            "name": collection.name,
            "kind": collection.kind,
            "groups": [
                asdict(_row(summary, labelled)) for summary in summaries if summary.group.collection_id == collection.id
            ],
        }
        for collection in app.workspace.library.collections()
    ]


def _row(summary: GroupSummary, labelled: dict[int, int]) -> DiveRow:
    return DiveRow(
        summary.group.id,
        summary.group.name,
        summary.images,
        summary.first_taken,
        summary.last_taken,
        summary.depth,
        labelled.get(summary.group.id, 0),
    )


def map_facts(app: AppState) -> dict[str, Any]:
    """The number of dives with positions, and the middle of all positions as [latitude, longitude]."""
    columns = app.columns
    known = np.isfinite(columns.latitude) & np.isfinite(columns.longitude)
    if not known.any():
        return {"dives": 0, "middle": []}
    latitude, longitude = columns.latitude[known], columns.longitude[known]
    middle = [float(values.min() + values.max()) / 2 for values in (latitude, longitude)]
    return {"dives": len(np.unique(columns.group_ids[known])), "middle": middle}


def feature_sets(app: AppState) -> list[dict[str, Any]]:
    """Feature sets, each with the number of images that have no features in it."""
    total = len(app.columns)
    return [
        {
            "name": sidecar.name,
            "level": sidecar.level,
            "images": sidecar.images,
            "width": sidecar.width,
            "rows": sidecar.rows,
            "lacks": max(total - sidecar.images, 0),
            "stale": stale_count(app, sidecar.name),
        }
        for sidecar in _sidecars(app, app.workspace.features.names())
    ]


def stale_count(app: AppState, name: str) -> int:
    """Number of images whose file was replaced after their features were computed."""
    return app.cached(
        ("stale images", name), lambda: len(app.workspace.stale_images(app.features(name))), (IMAGES, FEATURES)
    )


def notices(app: AppState) -> list[str]:
    """Problems of the workspace itself, each with its remedy."""
    workspace = app.workspace
    problems = [workspace.lost_catalogue(), *workspace.features.unreadable().values()]
    lines = [str(problem) for problem in problems if problem]
    if workspace.read_only:
        lines.append(
            "This workspace is read-only because its folder cannot be written to. Changes by others do not appear here."
        )
    return lines


def _sidecars(app: AppState, names: Iterable[str]) -> list[Any]:
    return [app.features(name).sidecar for name in names]
