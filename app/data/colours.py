"""Colours of points and tiles: one code for each image, one colour for each code, and the meaning of the codes.

Categories get distinct colours, numbers a colour ramp.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benthoscope.app.data.clusters.clustered_images import Atlas, cluster_names, cluster_word, is_of_topics
from benthoscope.app.data.group_words import group_words
from benthoscope.app.data.labels import LabelledImages, labelled, term_colours
from benthoscope.app.data.measures import Measure, measure_named, measures
from benthoscope.app.data.suggestions import suggested, suggestions
from benthoscope.app.session.app_state import AppState
from benthoscope.app.session.cache import IMAGES, LABELS, RUNS
from benthoscope.plots.colours import GREY, distinct, ramp

UNKNOWN = 65535  # the code of images that have none
STEPS = 200  # colours of a ramp: more than an eye can distinguish
OUTER = (1.0, 99.0)  # percentiles at the ends of a ramp: a single wrong depth shall not make all others one colour


@dataclass(frozen=True)
class Colouring:
    """`codes` (N,) uint16 index `colours`; `names` are those of the codes, or for numbers (least, greatest, unit)."""

    title: str
    codes: np.ndarray
    colours: tuple[str, ...]
    names: tuple[str, ...] = ()
    ends: tuple[float, float, str] | None = None


KINDS = {"cluster": "Cluster", "label": "Label", "suggestion": "Suggestion", "dive": "Dive"}


@dataclass(frozen=True)
class LegendEntry:
    """One line of the legend of a plot. `id` is the number of the cluster, or the id of the label or dive; None if
    images cannot be filtered by it."""

    id: int | None
    colour: str
    text: str
    count: int  # images


def legend_entries(app: AppState, atlas: Atlas, by: str) -> list[LegendEntry]:
    """Cluster, label, suggestion or dive of every colour with its images; empty for numbers."""
    if by not in KINDS:
        return []
    coloured = colouring(app, atlas, by)
    counts = np.bincount(coloured.codes[coloured.codes != UNKNOWN], minlength=len(coloured.colours))
    rows = zip(_ids_of_codes(app, atlas, by), coloured.colours, _texts_of_codes(app, atlas, by), counts, strict=True)
    entries = [LegendEntry(id_, colour, text, int(count)) for id_, colour, text, count in rows]
    without = len(atlas) - int(counts.sum())
    title = cluster_word(atlas.run) if by == "cluster" else KINDS[by]
    return [*entries, LegendEntry(None, GREY, f"No {title.lower()}", without)] if without else entries


def _ids_of_codes(app: AppState, atlas: Atlas, by: str) -> Sequence[int | None]:
    if by == "cluster":
        return range(atlas.clusters)
    if by == "label":
        return [term.id for term in labelled(app).terms]
    if by == "dive":
        return [summary.group.id for summary in atlas.groups]
    return [None] * len(suggested(app).terms)


def _texts_of_codes(app: AppState, atlas: Atlas, by: str) -> Sequence[str]:
    if by != "cluster":
        return colouring(app, atlas, by).names
    return cluster_texts(app, atlas)


def cluster_texts(app: AppState, atlas: Atlas) -> list[str]:
    """Name of every topic; number of every other cluster, and its label where most of its images have one."""
    names = cluster_names(app, atlas)
    if is_of_topics(atlas.run):
        return list(names)
    key = ("cluster texts", atlas.run.id if atlas.run else None)
    return app.cached(key, lambda: _cluster_texts(labelled(app), atlas, names), (IMAGES, LABELS, RUNS))


def _cluster_texts(labels: LabelledImages, atlas: Atlas, names: Sequence[str]) -> list[str]:
    columns = len(labels.terms) + 1  # the last one counts images without a label
    known = atlas.labels >= 0
    terms = np.where(labels.term[known] < 0, columns - 1, labels.term[known])
    flat = atlas.labels[known].astype(np.int64) * columns + terms
    counts = np.bincount(flat, minlength=atlas.clusters * columns).reshape(atlas.clusters, columns)
    texts = []
    for number, of_terms in enumerate(counts[:, :-1]):
        with_label, size = int(of_terms.sum()), int(counts[number].sum())
        best = int(np.argmax(of_terms)) if with_label else 0
        named = with_label and 2 * with_label >= size and 2 * of_terms[best] >= with_label
        texts.append(f"{number} {labels.terms[best].name}" if named else names[number])
    return texts


def colour_choices(app: AppState, atlas: Atlas) -> dict[str, str]:
    """Names and titles of all that can be coloured by."""
    titles = {**KINDS, "cluster": cluster_word(atlas.run), "dive": group_words(app).heading}
    kinds = {name: title for name, title in titles.items() if _can_be_had(app, atlas, name)}
    return kinds | {name: measure.title for name, measure in measures(app, atlas).items()}


def colouring(app: AppState, atlas: Atlas, by: str) -> Colouring:
    if by in KINDS:
        made = {"cluster": _by_cluster, "label": _by_label, "suggestion": _by_suggestion, "dive": _by_dive}
        return made[by](app, atlas)
    measure = measure_named(app, atlas, by)
    return number_colouring(measure, measure.of(app, atlas))


def _can_be_had(app: AppState, atlas: Atlas, kind: str) -> bool:
    return {"cluster": atlas.run is not None, "suggestion": suggestions(app) is not None}.get(kind, True)


def _by_cluster(app: AppState, atlas: Atlas) -> Colouring:
    names = cluster_names(app, atlas)
    return Colouring(cluster_word(atlas.run), _codes(atlas.labels), tuple(distinct(atlas.clusters)), names)


def _by_label(app: AppState, atlas: Atlas) -> Colouring:
    labels, colours = labelled(app), term_colours(app)
    in_use = tuple(colours[term.id] for term in labels.terms)
    return Colouring("Label", _codes(labels.term), in_use, tuple(term.name for term in labels.terms))


def _by_suggestion(app: AppState, atlas: Atlas) -> Colouring:
    suggestion, colours = suggested(app), term_colours(app)
    in_use = tuple(colours[term.id] for term in suggestion.terms)
    return Colouring("Suggestion", _codes(suggestion.term), in_use, tuple(f"{term.name}?" for term in suggestion.terms))


def group_colours(app: AppState) -> dict[int, str]:
    """{id of the dive or album: its colour}, on maps and in tables."""
    groups = [summary.group.id for summary in app.cached("dives", app.workspace.library.summaries, IMAGES)]
    return dict(zip(groups, distinct(len(groups)), strict=True))


def _by_dive(app: AppState, atlas: Atlas) -> Colouring:
    names = tuple(summary.group.name for summary in atlas.groups)
    colours = group_colours(app)
    of_groups = tuple(colours[summary.group.id] for summary in atlas.groups)
    return Colouring(group_words(app).heading, _codes(atlas.group), of_groups, names)


def number_colouring(measure: Measure, values: np.ndarray) -> Colouring:
    """Colours of a ramp for values (N,), NaN where unknown."""
    known = np.isfinite(values)
    low, high = np.percentile(values[known], OUTER) if known.any() else (0.0, 1.0)
    share = (np.where(known, values, low) - low) / max(high - low, 1e-12)
    codes = np.where(known, np.clip(share * STEPS, 0, STEPS - 1), UNKNOWN)
    return Colouring(
        measure.title, codes.astype(np.uint16), tuple(ramp(STEPS)), (), (float(low), float(high), measure.unit)
    )


def _codes(index: np.ndarray) -> np.ndarray:
    return np.where(index < 0, UNKNOWN, index).astype(np.uint16)


__all__ = [
    "GREY",
    "UNKNOWN",
    "Colouring",
    "LegendEntry",
    "cluster_texts",
    "colour_choices",
    "colouring",
    "legend_entries",
    "number_colouring",
]
