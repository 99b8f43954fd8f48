"""The images that marks of a plot stand for: a bar, a cell or a dive on the map selects its images."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from urllib.parse import urlencode

import numpy as np

from benthoscope.app.data.clusters.clustered_images import Atlas, atlas_of
from benthoscope.app.data.figures import (
    FIGURES,
    FigureChoice,
    chosen_live,
    chosen_objects,
    chosen_topics,
    cover_rows,
    cover_rows_across,
    crowd_arrays,
    pairs_of_people,
    topics_track,
)
from benthoscope.app.data.labels import all_terms, current_terms
from benthoscope.app.data.live.state import arrival
from benthoscope.app.session.app_state import AppState
from benthoscope.app.session.sent_selections import explore_address
from benthoscope.engine.labelling.cover.report import EVERYWHERE, CoverRow
from benthoscope.engine.problems import fail, unknown

MOST_MARKS = 100_000  # of one request; more points than a plot draws one by one
SEPARATOR = ","  # of the numbers of a filter in an address
CELL = ("row_number", "column_number")  # of a heat map or of stacked bars
ROW = ("row_number",)
IMAGE = ("image",)
PERIOD = ("first_millisecond", "last_millisecond")  # of a live dive
Mark = tuple[int, ...]
ImagesOf = Callable[[AppState, FigureChoice, list[Mark]], np.ndarray]


@dataclass(frozen=True)
class MarkedImages:
    """`columns` of the plot identify a mark; `images` returns the ids of the images of marks. `filters` are the filters
    of Explore that show the images of one mark, one for each column."""

    columns: tuple[str, ...]
    images: ImagesOf
    filters: tuple[str, ...] = ()


def columns_of_marks(name: str) -> tuple[str, ...]:
    """The columns that identify marks; empty for a plot whose marks are not images."""
    return MARKED[name].columns if name in MARKED else ()


def images_of_marks(app: AppState, name: str, choice: FigureChoice, marks: list[Mark]) -> np.ndarray:
    """Ids of the images that the marks stand for, ascending, each once."""
    if name not in MARKED:
        raise unknown("plot whose marks are images", name, MARKED)
    marked = MARKED[name]
    if any(len(mark) != len(marked.columns) for mark in marks):
        raise fail("marks", f"need {len(marked.columns)} numbers each", "reload the page")
    return np.unique(marked.images(app, choice, marks)) if marks else np.empty(0, np.int64)


def address_of_marks(app: AppState, name: str, choice: FigureChoice, marks: list[Mark], images: np.ndarray) -> str:
    """The address of Explore with the images of the marks selected; of one mark, filtered to them if possible. Empty
    without images."""
    if not len(images):
        return ""
    filters: dict[str, list[str]] = {}
    for mark in marks if len(marks) == 1 else []:
        for word, number in zip(MARKED[name].filters, mark, strict=False):
            filters.setdefault(word, []).append(str(number))
    query = {word: SEPARATOR.join(dict.fromkeys(numbers)) for word, numbers in filters.items()}
    address = explore_address(app, images, f"From the plot: {FIGURES[name].title}", run=choice.run)
    return f"{address}&{urlencode(query, safe=',')}" if query else address


def _where(atlas: Atlas, mask: np.ndarray) -> np.ndarray:
    return atlas.columns.ids[mask]


def _points(app: AppState, choice: FigureChoice, marks: list[Mark]) -> np.ndarray:
    ids = np.array([image for (image,) in marks], np.int64)
    return ids[np.isin(ids, app.columns.ids)]


def _clusters(app: AppState, choice: FigureChoice, marks: list[Mark]) -> np.ndarray:
    atlas = atlas_of(app, choice.run)
    return _where(atlas, np.isin(atlas.labels, [cluster for (cluster,) in marks]))


def _clusters_of_dives(app: AppState, choice: FigureChoice, marks: list[Mark]) -> np.ndarray:
    atlas = atlas_of(app, choice.run)
    mask = np.zeros(len(atlas), bool)
    for dive, cluster in marks:
        mask |= (atlas.columns.group_ids == dive) & (atlas.labels == cluster)
    return _where(atlas, mask)


def _dives(app: AppState, choice: FigureChoice, marks: list[Mark]) -> np.ndarray:
    atlas = atlas_of(app, choice.run)
    return _where(atlas, np.isin(atlas.columns.group_ids, np.unique([number for mark in marks for number in mark])))


def _clusters_of_both_runs(app: AppState, choice: FigureChoice, marks: list[Mark]) -> np.ndarray:
    first, other = atlas_of(app, choice.run), atlas_of(app, choice.against)
    mask = np.zeros(len(first), bool)
    for row, column in marks:
        mask |= (first.labels == row) & (other.labels == column)
    return _where(first, mask)


def _labelled(app: AppState, terms: set[int], group: int) -> np.ndarray:
    """Images of a dive (or of all) that have one of these labels now."""
    images, current = current_terms(app)
    chosen = images[np.isin(current, list(terms))]
    if group == EVERYWHERE:
        return chosen
    return np.intersect1d(chosen, app.columns.ids[app.columns.group_ids == group])


def _with_narrower(app: AppState, term: int) -> set[int]:
    """A term and all terms below it, which a level of the tree counts as the term."""
    parents = {each.id: each.parent_id for each in all_terms(app).values()}
    below = {term}
    while children := {child for child, parent in parents.items() if parent in below} - below:
        below |= children
    return below


def _of_cover(app: AppState, choice: FigureChoice, rows: list[CoverRow], marks: list[Mark]) -> np.ndarray:
    chosen = [rows[at] for (at,) in marks if 0 <= at < len(rows)]
    terms = [{row.term_id} if choice.level is None else _with_narrower(app, row.term_id) for row in chosen]
    images = [_labelled(app, each, row.group_id) for each, row in zip(terms, chosen, strict=True)]
    return np.concatenate([np.empty(0, np.int64), *images])


def _cover(app: AppState, choice: FigureChoice, marks: list[Mark]) -> np.ndarray:
    return _of_cover(app, choice, cover_rows(app, choice), marks)


def _cover_across(app: AppState, choice: FigureChoice, marks: list[Mark]) -> np.ndarray:
    return _of_cover(app, choice, cover_rows_across(app, choice), marks)


def _labelled_by_both(app: AppState, choice: FigureChoice, marks: list[Mark]) -> np.ndarray:
    opinions, _, pairs = pairs_of_people(app)
    chosen = [pairs[at] for (at,) in marks if 0 <= at < len(pairs)]
    both = [np.intersect1d(opinions.by(first)[0], opinions.by(other)[0]) for first, other in chosen]
    return np.concatenate([np.empty(0, np.int64), *both])


def _confused(app: AppState, choice: FigureChoice, marks: list[Mark]) -> np.ndarray:
    opinions, _, pairs = pairs_of_people(app)
    first, other = choice.pair if choice.pair in pairs else pairs[0]
    (images, term), (others, other_term) = opinions.by(first), opinions.by(other)
    both, at, at_other = np.intersect1d(images, others, return_indices=True)
    mask = np.zeros(len(both), bool)
    for row, column in marks:
        mask |= (term[at] == row) & (other_term[at_other] == column)
    return both[mask]


def _crowd_clusters(app: AppState, choice: FigureChoice, marks: list[Mark]) -> np.ndarray:
    arrays = crowd_arrays(app, choice)
    clusters = np.unique([number for mark in marks for number in mark])
    return _points(app, choice, [(image,) for image in arrays["image_ids"][np.isin(arrays["labels"], clusters)]])


def _images_with(app: AppState, choice: FigureChoice, objects: list[int]) -> np.ndarray:
    """(N,) bool: the images that contain all of these objects."""
    known, atlas = chosen_objects(app, choice), atlas_of(app, choice.run)
    mask = np.ones(len(atlas), bool)
    for number in objects:
        mask &= known.shows(number, atlas) if 0 <= number < known.clusters else False
    return mask


def _objects_together(app: AppState, choice: FigureChoice, marks: list[Mark]) -> np.ndarray:
    masks = [_images_with(app, choice, sorted(set(mark))) for mark in marks]
    return _where(atlas_of(app, choice.run), np.any(masks, axis=0))


def _objects_of_dives(app: AppState, choice: FigureChoice, marks: list[Mark]) -> np.ndarray:
    atlas = atlas_of(app, choice.run)
    masks = [(atlas.columns.group_ids == dive) & _images_with(app, choice, [number]) for dive, number in marks]
    return _where(atlas, np.any(masks, axis=0))


def _objects_of_clusters(app: AppState, choice: FigureChoice, marks: list[Mark]) -> np.ndarray:
    atlas = atlas_of(app, choice.run)
    masks = [(atlas.labels == cluster) & _images_with(app, choice, [number]) for cluster, number in marks]
    return _where(atlas, np.any(masks, axis=0))


def _topics_along(app: AppState, choice: FigureChoice, marks: list[Mark]) -> np.ndarray:
    """Images of a bar whose main topic is that of the mark."""
    from benthoscope.plots.topics import bars_along  # it loads HoloViews

    topics = chosen_topics(app, choice)
    track, atlas = topics_track(topics, choice), topics.atlas
    bars = bars_along(len(track), atlas.columns.taken_at[track])
    chosen = [(track[bars[bar]], topic) for bar, topic in marks if 0 <= bar < len(bars)]
    of_topic = [images[atlas.labels[images] == topic] for images, topic in chosen]
    return atlas.columns.ids[np.concatenate([np.empty(0, int), *of_topic])]


def _topics_of_dives(app: AppState, choice: FigureChoice, marks: list[Mark]) -> np.ndarray:
    """Images of a dive whose main topic is that of the mark."""
    return _clusters_of_dives(app, replace(choice, run=chosen_topics(app, choice).run.id), marks)


def _live_clusters_of_periods(app: AppState, choice: FigureChoice, marks: list[Mark]) -> np.ndarray:
    state = chosen_live(app, choice)
    _, arrived = arrival(state)
    has_cluster = state.clusters.code >= 0
    ids, codes = state.columns["image_id"][has_cluster], state.clusters.code[has_cluster]
    mask = np.zeros(len(ids), bool)
    for first, last, code in marks:
        mask |= (arrived >= first) & (arrived < last) & (codes == code)
    return ids[mask & np.isin(ids, app.columns.ids)]


MARKED: Mapping[str, MarkedImages] = {
    "cluster-sizes": MarkedImages(("cluster",), _clusters, ("cluster",)),
    "contingency": MarkedImages(CELL, _clusters_of_both_runs),
    "mixtures": MarkedImages(CELL, _clusters_of_dives, ("dive", "cluster")),
    "similar-mixtures": MarkedImages(CELL, _clusters_of_dives, ("dive", "cluster")),
    "mixture-heatmap": MarkedImages(CELL, _clusters_of_dives, ("dive", "cluster")),
    "distances": MarkedImages(CELL, _dives, ("dive", "dive")),
    "profile": MarkedImages(IMAGE, _points),
    "prediction": MarkedImages(IMAGE, _points),
    "map": MarkedImages(ROW, _dives, ("dive",)),
    "embedding": MarkedImages(IMAGE, _points),
    "cover": MarkedImages(ROW, _cover),
    "cover-by-dive": MarkedImages(ROW, _cover_across),
    "agreement": MarkedImages(ROW, _labelled_by_both),
    "confusion": MarkedImages(CELL, _confused),
    "crowd-positions": MarkedImages(IMAGE, _points),
    "school": MarkedImages(CELL, _crowd_clusters),
    "worker": MarkedImages(CELL, _crowd_clusters),
    "cooccurrence": MarkedImages(CELL, _objects_together, ("object", "object")),
    "objects-by-dive": MarkedImages(CELL, _objects_of_dives, ("dive", "object")),
    "objects-by-cluster": MarkedImages(CELL, _objects_of_clusters, ("cluster", "object")),
    "topics-along": MarkedImages(CELL, _topics_along),
    "topic-mixtures": MarkedImages(CELL, _topics_of_dives, ("dive", "cluster")),
    "live-mixture": MarkedImages((*PERIOD, "column_number"), _live_clusters_of_periods),
    "live-path": MarkedImages(IMAGE, _points),
}
