"""The plots of a workspace by name: which values they show. Pages, REST and the command `plot` draw the same ones."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benthoscope import plots
from benthoscope.app.data.clusters.clustered_images import Atlas, atlas_of, cluster_names, cluster_word, is_of_topics
from benthoscope.app.data.colours import group_colours
from benthoscope.app.data.column_predictions import chosen_prediction, predictions_of_dive
from benthoscope.app.data.crowd_results import plane, schools
from benthoscope.app.data.group_words import group_words
from benthoscope.app.data.labels import all_terms, standing_events, term_colours
from benthoscope.app.data.live.state import (
    LiveState,
    cluster_colours,
    live_state,
    mixture_over_time,
    newest_dive,
    path_rows,
)
from benthoscope.app.data.objects import Objects, objects_of, words
from benthoscope.app.data.projections import METHODS
from benthoscope.app.data.projections import plane as projected
from benthoscope.app.data.suggestions import answered_draws
from benthoscope.app.data.topics import Topics, topics_of
from benthoscope.app.session.app_state import AppState
from benthoscope.app.session.cache import IMAGES, LABELS, RUNS
from benthoscope.engine.analysis import compare_mixtures, cooccurrence
from benthoscope.engine.analysis.projections import NOWHERE
from benthoscope.engine.jobs.cluster.compare_runs import compare_runs
from benthoscope.engine.jobs.cluster.model_catalog import JOINT_SEGMENTATION, TOPIC_MODELS
from benthoscope.engine.labelling.agreement import cohen_kappa, confusion, opinions, shared
from benthoscope.engine.labelling.cover.evidence import CANNOT_TELL
from benthoscope.engine.labelling.cover.report import EVERYWHERE, Cover, CoverRow, cover_of
from benthoscope.engine.labelling.crowd_adoption import newest_crowd_run
from benthoscope.engine.labelling.measured_accuracy import AnsweredDraws, measure
from benthoscope.engine.labelling.suggestions import SuggestionStore
from benthoscope.engine.problems import fail, unknown
from benthoscope.engine.workspace import Run

MOST_CELLS = 80  # clusters of each run in a comparison; more are not readable
MOST_TERMS = 24  # of a confusion table
MOST_COVER = 12  # terms of a dive; the CSV file of the command `cover` has all
MOST_OBJECTS = 60  # in the table of co-occurrence
MOST_DIVES = 120  # rows of a heat map; more rows would be thinner than their names
MOST_SIMILAR = 6  # dives with similar mixtures below one dive
MOST_CURVE = 60  # points of a curve


@dataclass(frozen=True)
class FigureChoice:
    """The subject of a plot; None means the current run, the first dive and so on."""

    run: int | None = None
    job: int | None = None  # a running fit instead of a run
    against: int | None = None  # the run to compare with
    dive: int | None = None
    prediction: int | None = None  # number of a predicted column; the newest one by default
    term: int | None = None
    campaign: int | None = None
    person: int = 0  # number of a person of a campaign
    school: int = 0
    pair: tuple[int, int] | None = None  # two people who label
    level: int | None = None  # of the vocabulary
    together: bool = False  # whether the confidence level applies to all intervals at once
    method: str = "pca"
    threshold: float | None = None  # confidence from which suggestions are accepted
    pictures: bool = False  # whether the hover shows pictures, which this server has
    live: int | None = None  # a live dive; the newest one by default
    theme: str = "light"


@dataclass(frozen=True)
class FigureEntry:
    """`options` are the names of the fields of FigureChoice that the plot uses."""

    title: str
    draw: Callable[[AppState, FigureChoice], Any]
    options: tuple[str, ...] = ()


def figure(app: AppState, name: str, choice: FigureChoice) -> Any:
    """The plot as an object of HoloViews. Raises BadInput for an unknown name and where there are no values yet."""
    if name not in FIGURES:
        raise unknown("plot", name, FIGURES)
    return FIGURES[name].draw(app, choice)


def sweeps(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """Runs that differ only in width: model, features and [width, clusters, held-out score, id] in order of width."""
    points: dict[tuple[str, str], list[list[Any]]] = defaultdict(list)
    for run in runs:
        if run.parameters.get("width") is not None and not run.summary.get("partial"):
            point = [run.parameters["width"], run.summary.get("clusters"), run.summary.get("held_out"), run.id]
            points[run.model, run.features].append(point)
    return [
        {"model": model, "features": features, "points": sorted(points, key=lambda point: point[0])}
        for (model, features), points in points.items()
        if len({point[0] for point in points}) > 1
    ]


# --- runs


def _run(app: AppState, run_id: int | None) -> Run:
    run = app.run(run_id)
    if run is None:
        raise fail("run", "there is no run yet", "cluster the images first, or give a run")
    return run


def _trace(app: AppState, choice: FigureChoice) -> list[list[float]]:
    if choice.job is not None:
        job = app.queue.get(choice.job)
        name, trace = f"job {job.title}", job.figures.get("trace") or []
    else:
        run = _run(app, choice.run)
        name, trace = f"run {run.name}", run.provenance.get("trace") or []
    if not trace:
        raise fail(name, "has no log of its fit", "choose a run that a model made")
    return trace


def _fitted_run_words(app: AppState, choice: FigureChoice) -> tuple[str, str]:
    """The words for what a model is fitted to and for what the fit counts."""
    if choice.job is None:
        run = _run(app, choice.run)
        model = run.model if is_of_topics(run) else ""
    else:
        job = app.queue.get(choice.job)
        steps = [job.parameters, *(step.get("parameters", {}) for step in job.parameters.get("steps", []))]
        extended = app.run(job.parameters["run"]) if job.kind == "extend topics" else None
        model = extended.model if extended else next((step["model"] for step in steps if step.get("model")), "")
    if model == JOINT_SEGMENTATION:
        return "segment", "Topics"
    return ("patch", "Kinds of patches") if model in TOPIC_MODELS else ("image", "Clusters")


def _lower_bound(app: AppState, choice: FigureChoice) -> Any:
    steps, bound = zip(*[(row[0], row[1]) for row in _trace(app, choice)], strict=True)
    return plots.lower_bound(steps, bound, row_word=_fitted_run_words(app, choice)[0], theme=choice.theme)


def _cluster_count(app: AppState, choice: FigureChoice) -> Any:
    steps, clusters = zip(*[(row[0], row[2]) for row in _trace(app, choice)], strict=True)
    return plots.cluster_count(steps, clusters, kind=_fitted_run_words(app, choice)[1], theme=choice.theme)


def _cluster_sizes(app: AppState, choice: FigureChoice) -> Any:
    if choice.job is not None:
        job = app.queue.get(choice.job)
        if not job.figures.get("sizes"):
            raise fail(f"job {job.title}", "has no clusters at the moment", "look again when it fits a model")
        return plots.cluster_sizes(job.figures["sizes"], theme=choice.theme)
    run = _run(app, choice.run)
    clusters = app.cached(("clusters", run.id), lambda: app.workspace.runs.clusters(run.id), RUNS)
    sizes, numbers = [cluster.size for cluster in clusters], [cluster.number for cluster in clusters]
    return plots.cluster_sizes(sizes, numbers, theme=choice.theme)


def _sweep(app: AppState, choice: FigureChoice) -> tuple[list[list[Any]], list[str]]:
    """Points of the sweep that contains the run, and the names of their runs."""
    runs, chosen = app.workspace.runs.all(), app.run(choice.run)
    all_sweeps = sweeps(runs)
    of_run = [
        sweep for sweep in all_sweeps if chosen and any(point[3] == chosen.clustering for point in sweep["points"])
    ]
    if not all_sweeps:
        raise fail("runs", "no two of them differ only in width", "cluster the images with several widths")
    points = (of_run or all_sweeps)[0]["points"]
    names = {run.id: run.name for run in runs}
    return points, [names[point[3]] for point in points]


def _width_sweep(app: AppState, choice: FigureChoice) -> Any:
    points, names = _sweep(app, choice)
    return plots.width_sweep([p[0] for p in points], [p[1] for p in points], names, theme=choice.theme)


def _held_out(app: AppState, choice: FigureChoice) -> Any:
    points, names = _sweep(app, choice)
    if all(point[2] is None for point in points):
        raise fail("runs", "none of them has a held-out score", "set a held-out share when you cluster")
    return plots.held_out_likelihood([p[0] for p in points], [p[2] for p in points], names, theme=choice.theme)


def _contingency(app: AppState, choice: FigureChoice) -> Any:
    if choice.against is None:
        raise fail("comparison", "needs two runs", "name the run to compare with")
    first, other = _run(app, choice.run), _run(app, choice.against)
    comparison = app.cached(("compared runs", first.id, other.id), lambda: compare_runs(first, other), RUNS)
    rows, columns = (order[:MOST_CELLS] for order in comparison.ordered())
    return plots.contingency(
        comparison.table[rows][:, columns],
        rows,
        columns,
        first=first.name,
        other=other.name,
        kinds=(cluster_word(first), cluster_word(other)),
        row_totals=comparison.table.sum(1)[rows],
        theme=choice.theme,
    )


# --- dives


def _clustered(app: AppState, choice: FigureChoice) -> Atlas:
    return atlas_of(app, _run(app, choice.run).id)


def _group_names(atlas: Atlas) -> list[str]:
    """Names of the dives; of two with the same name, the second has its number behind it."""
    names: dict[str, None] = {}
    for summary in atlas.groups:
        name = summary.group.name
        names[f"{name} ({summary.group.id})" if name in names else name] = None
    return list(names)


def picture_address(app: AppState, choice: FigureChoice) -> str:
    """Where the pictures of a hover are; empty for a plot that leaves this server."""
    return f"/thumbnails/image/@image/320.jpg?v={app.images_version}" if choice.pictures else ""


def _mixtures(app: AppState, choice: FigureChoice) -> dict[str, Any]:
    """Shares and names of the dives with clustered images, as arguments of a plot."""
    atlas = _clustered(app, choice)
    rows = [at for at in range(len(atlas.groups)) if atlas.weights[at].any()]
    names = _group_names(atlas)
    return {
        "shares": atlas.weights[rows],
        "groups": [names[at] for at in rows],
        "numbers": [atlas.groups[at].group.id for at in rows],
        "names": cluster_names(app, atlas) if is_of_topics(atlas.run) else None,
        "kind": cluster_word(atlas.run),
        "group_word": group_words(app).heading,
        "theme": choice.theme,
    }


def _mixture_heatmap(app: AppState, choice: FigureChoice) -> Any:
    values = _mixtures(app, choice)
    if len(values["groups"]) > MOST_DIVES:
        values |= {name: values[name][:MOST_DIVES] for name in ("shares", "groups", "numbers")}
    return plots.mixture_heatmap(**values)


def _distances(app: AppState, choice: FigureChoice) -> Any:
    values = _mixtures(app, choice)
    del values["names"], values["kind"]  # the plot does not show clusters
    return plots.group_distances(**values)


def _similar_mixtures(app: AppState, choice: FigureChoice) -> Any:
    """Bars of one dive and of the dives with the most similar mixtures."""
    from benthoscope.plots.style import short_names  # loads HoloViews

    atlas = _clustered(app, choice)
    at, names = _dive_index(atlas, choice.dive), _group_names(atlas)
    comparison = compare_mixtures(atlas.weights)
    rows = [row for row in (at, *comparison.most_similar(at, MOST_SIMILAR)) if row == at or atlas.weights[row].any()]
    return plots.mixture_bars(
        atlas.weights[rows],
        [names[row] for row in rows],
        names=cluster_names(app, atlas),
        kind=cluster_word(atlas.run),
        numbers=[atlas.groups[row].group.id for row in rows],
        notes={"Distance": [f"{comparison.distance[at, row]:.2f}" for row in rows]},
        group_word=group_words(app).heading,
        title=f"Mixtures similar to {short_names(names)[at]}",
        theme=choice.theme,
    )


def _dive_index(atlas: Atlas, dive: int | None) -> int:
    if dive is None:
        return next((at for at, summary in enumerate(atlas.groups) if summary.images), 0)
    index = atlas.index_of_group(dive)
    if index is None:
        raise fail("dive", f"there is no dive with the number {dive}", "choose another")
    return index


def _profile(app: AppState, choice: FigureChoice) -> Any:
    atlas = atlas_of(app, choice.run)
    if not len(atlas):
        raise fail("workspace", "there are no images yet", "import images first")
    track, columns = atlas.track(_dive_index(atlas, choice.dive)), atlas.columns
    return plots.profile(
        atlas.labels[track],
        time=columns.taken_at[track],
        depth=columns.depth[track],
        altitude=columns.altitude[track],
        names=dict(enumerate(cluster_names(app, atlas))),
        kind=cluster_word(atlas.run),
        images=columns.ids[track].astype(np.int32),
        picture=picture_address(app, choice),
        theme=choice.theme,
    )


def _prediction(app: AppState, choice: FigureChoice) -> Any:
    atlas = atlas_of(app, choice.run)
    dive = _dive_index(atlas, choice.dive)
    shown = chosen_prediction(predictions_of_dive(app, atlas, dive), choice.prediction)
    if shown is None:
        raise fail("prediction", "there is none for this dive yet", "predict a column on the page of the dive")
    track, columns = atlas.track(dive), atlas.columns
    return plots.prediction(
        shown.mean[track],
        shown.low[track],
        shown.high[track],
        measured=shown.measured[track],
        title=str(shown.facts["title"]),
        unit=str(shown.facts["unit"] or ""),
        time=columns.taken_at[track],
        images=columns.ids[track].astype(np.int32),
        picture=picture_address(app, choice),
        theme=choice.theme,
    )


def _track_map(app: AppState, choice: FigureChoice) -> Any:
    atlas = atlas_of(app, choice.run)
    names, columns = _group_names(atlas), atlas.columns
    chosen = range(len(names)) if choice.dive is None else [_dive_index(atlas, choice.dive)]
    positions = {names[at]: atlas.track(at) for at in chosen}
    tracks = {name: (columns.latitude[track], columns.longitude[track]) for name, track in positions.items()}
    if not any(np.isfinite(latitude).any() for latitude, _ in tracks.values()):
        raise fail("images", "have no positions", "import navigation first")
    shares = {names[at]: atlas.mixtures[at] for at in chosen if atlas.clusters and atlas.mixtures[at].any()}
    numbers = {names[at]: atlas.groups[at].group.id for at in chosen}
    colours = group_colours(app)
    return plots.track_map(
        tracks,
        shares=shares,
        names=cluster_names(app, atlas),
        kind=cluster_word(atlas.run),
        numbers=numbers,
        colours={name: colours[number] for name, number in numbers.items()},
        group_word=group_words(app).heading,
        theme=choice.theme,
    )


def _embedding(app: AppState, choice: FigureChoice) -> Any:
    atlas = atlas_of(app, choice.run)
    if choice.method not in METHODS:
        raise unknown("method", choice.method, METHODS)
    points = projected(app, atlas, choice.method)
    if points is None:
        raise fail("embedding", "has not been computed yet", "describe the images, or choose it once in Explore")
    xy = np.where(points.xy == NOWHERE, np.nan, points.scale.start + points.xy * points.scale.unit)
    return plots.embedding(
        xy,
        atlas.labels,
        names=cluster_names(app, atlas),
        kind=cluster_word(atlas.run),
        images=atlas.columns.ids,
        axes=points.axes,
        theme=choice.theme,
    )


# --- labels


def estimated_cover(app: AppState, level: int | None = None, together: bool = False) -> Cover:
    """Cover of all dives together, then of each dive; labels are replaced by their parents at `level` if given."""
    return app.cached(
        ("cover", level, together), lambda: cover_of(app.workspace, level=level, together=together), (IMAGES, LABELS)
    )


def largest_first(rows: Sequence[CoverRow]) -> list[CoverRow]:
    """Rows of one dive by their estimate, or by their upper limit without one."""
    return sorted(rows, key=lambda row: -(row.share.high if row.share.estimate is None else row.share.estimate))


def _term_name(app: AppState, term: int) -> str:
    return "cannot tell" if term == CANNOT_TELL else all_terms(app)[term].name


def _intervals(rows: Sequence[CoverRow]) -> dict[str, Any]:
    return {
        "estimate": [row.share.estimate for row in rows],
        "low": [row.share.low for row in rows],
        "high": [row.share.high for row in rows],
        "methods": [row.share.method for row in rows],
    }


def cover_rows(app: AppState, choice: FigureChoice) -> list[CoverRow]:
    """The rows of the plot of one dive, or of all dives together."""
    group = EVERYWHERE if choice.dive is None else choice.dive
    rows = [row for row in estimated_cover(app, choice.level, choice.together).rows if row.group_id == group]
    if not rows:
        raise fail("cover", "nothing is labelled here yet", "label some images first")
    return largest_first(rows)[:MOST_COVER]


def _cover(app: AppState, choice: FigureChoice) -> Any:
    from benthoscope.plots.style import short_names  # loads HoloViews

    group = EVERYWHERE if choice.dive is None else choice.dive
    rows, colours = cover_rows(app, choice), term_colours(app)
    groups = [summary.group for summary in atlas_of(app, None).groups]
    names = dict(zip((each.id for each in groups), short_names(each.name for each in groups), strict=True))
    return plots.cover(
        [_term_name(app, row.term_id) for row in rows],
        **_intervals(rows),
        colours=[colours[row.term_id] for row in rows],
        group=names.get(group, f"all {group_words(app).plural}"),
        theme=choice.theme,
    )


def cover_rows_across(app: AppState, choice: FigureChoice) -> list[CoverRow]:
    """The rows of the plot of one term in all dives; without a choice, of the most frequent term."""
    estimates = estimated_cover(app, choice.level, choice.together)
    terms = [row.term_id for row in largest_first([row for row in estimates.rows if row.group_id == EVERYWHERE])]
    if not terms:
        raise fail("cover", "nothing is labelled yet", "label some images first")
    term = terms[0] if choice.term is None else choice.term
    groups = {summary.group.id for summary in atlas_of(app, None).groups}
    rows = [row for row in estimates.rows if row.term_id == term and row.group_id in groups]
    if not rows:
        raise fail("cover", "this label is not used", "choose another label")
    return rows


def _cover_across(app: AppState, choice: FigureChoice) -> Any:
    rows = cover_rows_across(app, choice)
    names = {summary.group.id: summary.group.name for summary in atlas_of(app, None).groups}
    term = rows[0].term_id
    return plots.cover_across_groups(
        [names[row.group_id] for row in rows],
        **_intervals(rows),
        term=_term_name(app, term),
        colour=term_colours(app)[term],
        group_word=group_words(app).heading,
        theme=choice.theme,
    )


def pairs_of_people(app: AppState) -> tuple[Any, dict[int, str], list[tuple[int, int]]]:
    """Opinions, names of people, and the pairs of people who labelled the same images."""
    all_opinions = app.cached("opinions", lambda: opinions(standing_events(app)), LABELS)
    people = np.unique(all_opinions.of_several().people).tolist()
    pairs = [(first, second) for at, first in enumerate(people) for second in people[at + 1 :]]
    pairs = [pair for pair in pairs if len(shared(all_opinions, *pair)[0])]
    if not pairs:
        raise fail("agreement", "no image was labelled by two people", "let a second person label some of them")
    return all_opinions, {person.id: person.name for person in app.workspace.people.all()}, pairs


def _label_agreement(app: AppState, choice: FigureChoice) -> Any:
    all_opinions, names, pairs = pairs_of_people(app)
    labels = [shared(all_opinions, *pair) for pair in pairs]
    return plots.label_agreement(
        [(names[first], names[second]) for first, second in pairs],
        [float((a == b).mean()) for a, b in labels],
        [float(cohen_kappa(a, b)) for a, b in labels],
        [len(a) for a, _ in labels],
        theme=choice.theme,
    )


def _confusion(app: AppState, choice: FigureChoice) -> Any:
    all_opinions, names, pairs = pairs_of_people(app)
    first, other = choice.pair if choice.pair in pairs else pairs[0]
    table = confusion(*shared(all_opinions, first, other))
    order = np.argsort(-(table.counts.sum(0) + table.counts.sum(1)), kind="stable")[:MOST_TERMS]
    return plots.confusion(
        table.counts[np.ix_(order, order)],
        [_term_name(app, term) for term in table.terms[order].tolist()],
        first=names[first],
        other=names[other],
        numbers=table.terms[order].tolist(),
        theme=choice.theme,
    )


# --- suggestions


def _draws(app: AppState) -> AnsweredDraws:
    draws = answered_draws(app)
    if missing := measure(draws).missing:
        raise fail("accuracy", missing, "answer random images in Learn")
    return draws


def _calibration(app: AppState, choice: FigureChoice) -> Any:
    bins = _draws(app).reliability()
    return plots.calibration(bins.confidence, bins.right, bins.weight, theme=choice.theme)


def _accuracy_coverage(app: AppState, choice: FigureChoice) -> Any:
    curve = _draws(app).curve()
    picked = np.unique(np.linspace(0, len(curve.coverage) - 1, MOST_CURVE).astype(int))
    accepted = None if choice.threshold is None else curve.thresholds >= choice.threshold
    decided = None if accepted is None else float(np.max(curve.coverage[accepted], initial=0))
    return plots.accuracy_coverage(
        curve.coverage[picked],
        curve.accuracy[picked],
        curve.at_least[picked],
        thresholds=curve.thresholds[picked],
        decided=decided,
        theme=choice.theme,
    )


def measured_history(facts: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Facts of every training whose accuracy was measured on random draws; earlier versions measured it differently."""
    return [fact for fact in facts if "draws" in fact and fact["accuracy"] is not None]


def _learning_curve(app: AppState, choice: FigureChoice) -> Any:
    facts = app.cached("learning history", SuggestionStore(app.workspace.folder).history, LABELS)
    measured = measured_history(facts)
    if not measured:
        raise fail("accuracy", "no training was measured yet", "answer random images in Learn and train a model")
    return plots.learning_curve(
        [fact["labels"] for fact in measured], [fact["accuracy"] for fact in measured], theme=choice.theme
    )


# --- crowd


def crowd_arrays(app: AppState, choice: FigureChoice) -> dict[str, np.ndarray]:
    campaigns = app.workspace.crowd.all()
    if not campaigns:
        raise fail("crowd", "there is no campaign yet", "start one in Crowd")
    campaign = campaigns[-1] if choice.campaign is None else app.workspace.crowd.get(choice.campaign)
    run = newest_crowd_run(app.workspace, campaign)
    if run is None:
        raise fail(f"campaign {campaign.name}", "has no clusters yet", "cluster its answers first")
    return {name: np.asarray(values) for name, values in run.arrays().items()}


def _crowd_positions(app: AppState, choice: FigureChoice) -> Any:
    arrays = crowd_arrays(app, choice)
    at, xy = plane(arrays["positions"])
    return plots.crowd_positions(
        xy,
        arrays["labels"][at],
        arrays["image_ids"][at],
        picture=picture_address(app, choice),
        theme=choice.theme,
    )


def _school(app: AppState, choice: FigureChoice) -> Any:
    groups, _ = schools(crowd_arrays(app, choice))
    if not 0 <= choice.school < len(groups):
        raise fail("school of thought", f"there are {len(groups)}", "choose another number")
    group = groups[choice.school]
    return plots.school(
        group["table"], group["order"], number=choice.school + 1, people=group["people"], theme=choice.theme
    )


def _worker_confusion(app: AppState, choice: FigureChoice) -> Any:
    arrays = crowd_arrays(app, choice)
    groups, school_of = schools(arrays)
    if not 0 <= choice.person < len(school_of):
        raise fail("person", f"the campaign has {len(school_of)} people", "choose another number")
    school = school_of[choice.person]
    order = groups[school]["order"] if school >= 0 else None
    return plots.worker_confusion(
        arrays["confusion"][choice.person], order, person=f"person {choice.person + 1}", theme=choice.theme
    )


# --- objects


def chosen_objects(app: AppState, choice: FigureChoice) -> Objects:
    """The objects of a run. Raises BadInput if it has none."""
    objects = objects_of(app, _clustered(app, choice))
    if objects is None:
        raise fail("objects", "this run has none", "cluster segments with SCM or MCM")
    return objects


def _cooccurrence(app: AppState, choice: FigureChoice) -> Any:
    objects = chosen_objects(app, choice)
    largest = set(np.argsort(-objects.images, kind="stable")[:MOST_OBJECTS].tolist())
    order = [number for number in cooccurrence(objects.together, objects.clustered).order.tolist() if number in largest]
    names = words(app, objects)
    return plots.cooccurrence(objects.together, objects.clustered, names=names, order=order, theme=choice.theme)


def _objects_by_dive(app: AppState, choice: FigureChoice) -> Any:
    objects, atlas, words_of_groups = chosen_objects(app, choice), _clustered(app, choice), group_words(app)
    shares, names = objects.by_dive(atlas), _group_names(atlas)
    comparison = compare_mixtures(shares)
    rows = [at for at in comparison.groups.tolist() if shares[at].any()][:MOST_DIVES]
    return plots.mixture_heatmap(
        shares,
        names,
        names=words(app, objects),
        group_word=words_of_groups.heading,
        kind="Object",
        whole=f"segments of the {words_of_groups.singular}",
        title=f"Share of every object in every {words_of_groups.singular}",
        order=(rows, comparison.clusters.tolist()),
        numbers=[summary.group.id for summary in atlas.groups],
        theme=choice.theme,
    )


def _objects_by_cluster(app: AppState, choice: FigureChoice) -> Any:
    """Shares of the objects in the image clusters, the largest cluster first."""
    objects, atlas = chosen_objects(app, choice), _clustered(app, choice)
    sizes, shares, titles = atlas.sizes, objects.by_image_cluster(atlas), cluster_names(app, atlas)
    order = [int(at) for at in np.argsort(-sizes, kind="stable") if sizes[at]][:MOST_DIVES]
    return plots.mixture_bars(
        shares[order],
        [titles[at] for at in order],
        names=words(app, objects),
        numbers=order,
        notes={"Images of the cluster": [f"{sizes[at]:,}" for at in order]},
        group_word="Image cluster",
        kind="Object",
        whole="segments",
        title="Objects in image clusters, the largest cluster first",
        theme=choice.theme,
    )


# --- live dives


def chosen_live(app: AppState, choice: FigureChoice) -> LiveState:
    """The state of a live dive. Raises BadInput if there is none yet."""
    dive = choice.live
    if dive is None:
        newest = newest_dive(app)
        if newest is None:
            raise fail("live dive", "there is none yet", "start one with `benthoscope watch FOLDER`")
        dive = newest.id
    return live_state(app, dive)


def _live_rounds(app: AppState, choice: FigureChoice) -> LiveState:
    state = chosen_live(app, choice)
    if not state.rounds:
        raise fail(f"dive {state.dive.name}", "has learned nothing yet", "wait for its first round")
    return state


def _live_mixture(app: AppState, choice: FigureChoice) -> Any:
    state = chosen_live(app, choice)
    colours = state.colours()
    return plots.live_mixture(
        *mixture_over_time(state), state.names(), [colours[key] for key in state.clusters.keys], theme=choice.theme
    )


def _cluster_lives(app: AppState, choice: FigureChoice) -> Any:
    state = _live_rounds(app, choice)
    rounds = state.rounds
    numbers = sorted({number for each in rounds for number in each.clusters})
    names = {int(key): name for key, name in zip(state.clusters.keys, state.names(), strict=True) if key.isdigit()}
    return plots.cluster_lives(
        [each.at for each in rounds],
        [each.clusters for each in rounds],
        [each.events for each in rounds],
        cluster_colours(numbers),
        names=names,
        theme=choice.theme,
    )


def _live_memory(app: AppState, choice: FigureChoice) -> Any:
    rounds = _live_rounds(app, choice).rounds
    return plots.memory_use(
        [each.at for each in rounds],
        [each.memory["values"] for each in rounds],
        [each.memory["budget"] for each in rounds],
        [each.budget_binds for each in rounds],
        theme=choice.theme,
    )


def _live_fit(app: AppState, choice: FigureChoice) -> Any:
    state = _live_rounds(app, choice)
    fits = [(each.at, each.score) for each in state.rounds if each.score is not None]
    if not fits:
        raise fail(f"dive {state.dive.name}", "has learned one round only", "wait for its second round")
    times, scores = zip(*fits, strict=True)
    return plots.fit_of_new_images(times, scores, theme=choice.theme)


def _live_path(app: AppState, choice: FigureChoice) -> Any:
    state = chosen_live(app, choice)
    rows = path_rows(state)
    images = state.columns["image_id"][rows]
    latitude, longitude = app.workspace.library.positions(images)
    if not (np.isfinite(latitude) & np.isfinite(longitude)).any():
        raise fail("images", "have no positions yet", "write a table of positions beside them")
    colours = state.colours()
    return plots.sailed_path(
        latitude,
        longitude,
        state.clusters.code[rows],
        state.names(),
        [colours[key] for key in state.clusters.keys],
        novel=state.columns["novel"][rows],
        images=images,
        picture=picture_address(app, choice),
        theme=choice.theme,
    )


# --- topics


def chosen_topics(app: AppState, choice: FigureChoice) -> Topics:
    """The topics of a run. Raises BadInput if it has none."""
    topics = topics_of(app, choice.run)
    if topics is None or (choice.run is not None and topics.run.id != choice.run):
        raise fail("topics", "there are none in this run", "find topics first")
    return topics


def _topics_along(app: AppState, choice: FigureChoice) -> Any:
    topics = chosen_topics(app, choice)
    track, columns = topics_track(topics, choice), topics.atlas.columns
    return plots.topics_along(
        topics.weights[topics.row_of[track]],
        time=columns.taken_at[track],
        names=topics.names,
        images=columns.ids[track].tolist(),
        group_word=group_words(app).singular,
        theme=choice.theme,
    )


def topics_track(topics: Topics, choice: FigureChoice) -> np.ndarray:
    """Positions of the images of a dive that have topics; without a choice, of the first such dive."""
    chosen = topics.by_dive.any(1).argmax() if choice.dive is None else _dive_index(topics.atlas, choice.dive)
    return topics.along(int(chosen))


def _topic_mixtures(app: AppState, choice: FigureChoice) -> Any:
    topics, groups = chosen_topics(app, choice), group_words(app)
    rows = np.flatnonzero(topics.by_dive.any(1))[:MOST_DIVES]
    names = _group_names(topics.atlas)
    return plots.mixture_bars(
        topics.by_dive[rows],
        [names[at] for at in rows],
        names=topics.names,
        numbers=[topics.atlas.groups[at].group.id for at in rows],
        group_word=groups.heading,
        kind="Topic",
        theme=choice.theme,
    )


FIGURES: Mapping[str, FigureEntry] = {
    "lower-bound": FigureEntry("Lower bound during the fit", _lower_bound, ("run", "job")),
    "cluster-count": FigureEntry("Number of clusters during the fit", _cluster_count, ("run", "job")),
    "cluster-sizes": FigureEntry("Images per cluster", _cluster_sizes, ("run", "job")),
    "width-sweep": FigureEntry("Clusters of runs with different widths", _width_sweep, ("run",)),
    "held-out": FigureEntry("Held-out likelihood of runs with different widths", _held_out, ("run",)),
    "contingency": FigureEntry("Images by cluster of two runs", _contingency, ("run", "against")),
    "mixtures": FigureEntry(
        "Mixture of clusters per dive", lambda app, choice: plots.mixture_bars(**_mixtures(app, choice)), ("run",)
    ),
    "mixture-heatmap": FigureEntry("Clusters by dive, similar ones side by side", _mixture_heatmap, ("run",)),
    "similar-mixtures": FigureEntry(
        "Mixture of one dive and of the most similar ones", _similar_mixtures, ("dive", "run")
    ),
    "distances": FigureEntry("Distances between dives", _distances, ("run",)),
    "profile": FigureEntry("Depth, altitude and clusters along a dive", _profile, ("dive", "run")),
    "prediction": FigureEntry("Predicted column along a dive, with its band", _prediction, ("dive", "prediction")),
    "map": FigureEntry("Tracks of the dives with their clusters", _track_map, ("dive", "run")),
    "embedding": FigureEntry("Projection of all images", _embedding, ("run", "method")),
    "cover": FigureEntry("Cover of all labels with intervals", _cover, ("dive", "level", "together")),
    "cover-by-dive": FigureEntry("Cover of one label per dive", _cover_across, ("term", "level", "together")),
    "agreement": FigureEntry("Agreement between people who label", _label_agreement),
    "confusion": FigureEntry("Labels of two people for the same images", _confusion, ("pair",)),
    "calibration": FigureEntry("Predicted and observed accuracy of suggestions", _calibration),
    "accuracy": FigureEntry("Accuracy of suggestions against coverage", _accuracy_coverage, ("threshold",)),
    "learning-curve": FigureEntry("Accuracy of suggestions by number of labels", _learning_curve),
    "crowd-positions": FigureEntry("Images by the answers of the crowd", _crowd_positions, ("campaign",)),
    "school": FigureEntry("Clusters that a school of thought puts together", _school, ("campaign", "school")),
    "worker": FigureEntry("Clusters that one person puts together", _worker_confusion, ("campaign", "person")),
    "cooccurrence": FigureEntry("Objects in the same image, compared with chance", _cooccurrence, ("run",)),
    "objects-by-dive": FigureEntry("Share of every object in every dive", _objects_by_dive, ("run",)),
    "objects-by-cluster": FigureEntry("Share of every object in every image cluster", _objects_by_cluster, ("run",)),
    "topics-along": FigureEntry("Topics along a dive", _topics_along, ("dive", "run")),
    "topic-mixtures": FigureEntry("Mixture of topics per dive", _topic_mixtures, ("run",)),
    "live-mixture": FigureEntry("Mixture of clusters of a live dive over time", _live_mixture, ("live",)),
    "live-clusters": FigureEntry("Changes of the clusters", _cluster_lives, ("live",)),
    "live-memory": FigureEntry("Memory of the learner of a live dive", _live_memory, ("live",)),
    "live-fit": FigureEntry("How well the clusters of a live dive predict new images", _live_fit, ("live",)),
    "live-path": FigureEntry("Path of a live dive so far", _live_path, ("live",)),
}
GROWING = frozenset(name for name, entry in FIGURES.items() if "live" in entry.options)  # during a dive
