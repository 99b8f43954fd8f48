"""Content of the Explore views, as component parameters: {component: {parameter: value}}.

The name "images" means every component that shows images. Arrays are stored on the shelf and fetched by address; sets
of images are sent packed.
"""

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

import numpy as np

from benthoscope.app.components.gallery import TILE_SIZES
from benthoscope.app.data.clusters.clustered_images import cluster_name, cluster_names, cluster_word, image_set
from benthoscope.app.data.clusters.clustering_levels import shown_levels
from benthoscope.app.data.colours import cluster_texts, colour_choices, legend_entries
from benthoscope.app.data.exemplars import KINDS, examples_of
from benthoscope.app.data.group_words import group_words
from benthoscope.app.data.labels import all_terms, labelled
from benthoscope.app.data.measures import GROUPINGS, order_choices
from benthoscope.app.data.objects import words
from benthoscope.app.data.objects import words as object_words
from benthoscope.app.data.projections import METHODS, lines_url, tracks_of
from benthoscope.app.pages.explore import views
from benthoscope.app.pages.explore.cards import FILTERS, ORDERS
from benthoscope.app.pages.explore.model import STATES, Explore
from benthoscope.app.pages.registry import PAGES
from benthoscope.app.session.cache import RUNS
from benthoscope.app.session.selection import packed, packed_mask
from benthoscope.engine.analysis import cluster_outlines, group_positions
from benthoscope.engine.jobs.cluster.fit_request import FIELDS, limit_sentences
from benthoscope.engine.workspace import Run
from benthoscope.plots.colours import GREY, distinct

Values = dict[str, dict[str, Any]]
MOST_PIES = 60  # more pies would hide each other and the tracks
SLICES = 12  # of a pie; smaller shares share one grey slice


def images(explore: Explore) -> Values:
    """Number, ids and version of all images."""
    return {"images": image_set(explore.app, explore.atlas)}


def colours(explore: Explore) -> Values:
    coloured = explore.colours()
    return {
        "images": {
            "code_url": explore.app.arrays.put(coloured.codes),
            "colours": list(coloured.colours),
            "names": list(coloured.names),
            "unknown": GREY,
        },
        "bar": {"legend": legend(explore)},
        **plot_legend(explore),
    }


FILTERED_BY = {"cluster": "cluster", "label": "term", "dive": "dive"}  # the parameter that an entry of the legend sets


def plot_legend(explore: Explore) -> Values:
    """The legend of embedding and map: what the colours mean, how many images have them, and which are shown."""
    by = explore.colour_in_use
    coloured, kind = explore.colours(), FILTERED_BY.get(by, "")
    if coloured.ends is not None:
        content = {"title": coloured.title, **legend(explore)}
    else:
        entries = explore.app.cached(
            ("legend", by, explore.atlas.run.id if explore.atlas.run else None),
            lambda: [asdict(entry) for entry in legend_entries(explore.app, explore.atlas, by)],
        )
        chosen = list(getattr(explore, kind)) if kind else []
        content = {"title": coloured.title, "kind": kind, "entries": entries, "chosen": chosen}
    legend_and_caption = {"legend": content, "caption": explore.atlas.run.name if explore.atlas.run else ""}
    return {"embedding": legend_and_caption, "map": legend_and_caption}


def order(explore: Explore) -> Values:
    """Order of the tiles and headings between groups."""
    app, atlas = explore.app, explore.atlas
    grouping = GROUPINGS[explore.group](app, atlas) if explore.group else None
    grouped = (
        {"group_url": app.arrays.put(grouping.code), "group_names": list(grouping.names)}
        if grouping
        else {"group_url": "", "group_names": []}
    )
    return {
        "gallery": {"order_url": app.arrays.put(explore.order_positions()), "pinned": explore.pinned or 0, **grouped}
    }


def mask(explore: Explore) -> Values:
    """Images that pass the filters; the gallery shows only those selected in another view, if there are any."""
    shown = _packed(explore.shown())
    legends = plot_legend(explore) if explore.colour_in_use in FILTERED_BY else {}
    return {
        "embedding": {"shown": shown, **legends.get("embedding", {})},
        "map": {"shown": shown, **legends.get("map", {})},
        "gallery": {"mask": _packed(explore.in_gallery())},
    }


def selection(explore: Explore) -> Values:
    return {"images": {"selected": packed(explore.selection.positions, len(explore.atlas))}}


def open(explore: Explore) -> Values:  # noqa: A001 - named after the parameter of the cards
    return {"cards": {"open": list(explore.cluster)}}


def pane(explore: Explore) -> Values:
    return {"bench": {"pane": explore.pane}}


def cards(explore: Explore) -> Values:
    app, atlas = explore.app, explore.atlas
    return {
        "cards": {
            "cards": [card.as_json() for card in explore.cards_shown()],
            "total": atlas.clusters,
            "version": app.version,
            "dives": [summary.group.name for summary in atlas.groups],
            "colours": distinct(atlas.clusters),
            "names": list(cluster_names(app, atlas)),
            "noun": cluster_word(atlas.run).lower(),
            "limits": limit_sentences(atlas.run, FIELDS) if atlas.run else [],
            **_objects(explore),
            "open": list(explore.cluster),
            "kind": explore.cards,
            "order": explore.sorted,
            "only": explore.only,
            "kind_choices": [list(pair) for pair in KINDS.items()],
            "word": explore.word,
            "order_choices": [[name, title] for name, (title, _) in ORDERS.items()],
            "only_choices": [[name, title] for name, (title, _) in FILTERS.items()],
        }
    }


def _objects(explore: Explore) -> dict[str, Any]:
    """Colours and names of the objects in the clusters."""
    objects = explore.objects
    if objects is None:
        return {"cut": "", "object_colours": [], "object_names": []}
    return {
        "cut": objects.features.folder.name,
        "object_colours": distinct(objects.clusters),
        "object_names": object_words(explore.app, objects),
    }


def plane(explore: Explore) -> Values:
    """The embedding with an outline and an example image of every cluster."""
    projection = explore.plane()
    if projection is None:
        note = _why_no_plane(explore)
        return {"embedding": {"xy_url": "", "outlines": [], "pictures": [], "axes": [], "note": note}}
    atlas, names = explore.atlas, distinct(explore.atlas.clusters)
    key = ("outlines", projection.key, atlas.run.id if atlas.run else None)
    homes = explore.app.cached(key, lambda: cluster_outlines(projection.xy, atlas.labels, atlas.clusters), of=())
    outlines = [{"cluster": home.cluster, "rings": home.rings, "colour": names[home.cluster]} for home in homes]
    return {
        "embedding": {
            "xy_url": explore.app.arrays.put(projection.xy),
            "xy_kind": "u2",
            "extent": _extent(projection.xy),
            "axes": list(projection.axes),
            "scale": asdict(projection.scale),
            "outlines": outlines,
            "pictures": _pictures(explore, homes, names),
            "note": "",
        }
    }


def map(explore: Explore) -> Values:  # noqa: A001 - named after the view
    """The tracks, and a pie of cluster shares for every dive."""
    atlas, tracks = explore.atlas, tracks_of(explore.app, explore.atlas)
    note = "" if tracks.any else "These images have no positions."
    pies = [_pie(explore, *location) for location in group_positions(tracks.xy, atlas.group)] if atlas.clusters else []
    return {
        "map": {
            "xy_url": explore.app.arrays.put(tracks.xy) if tracks.any else "",
            "extent": list(tracks.extent),
            "middle": list(tracks.middle),
            "lines_url": lines_url(explore.app, atlas),
            "pies": pies if len(pies) <= MOST_PIES else [],
            "note": note,
        },
        "bench": {"has_map": tracks.any},
    }


def strip(explore: Explore) -> Values:
    """One dive from its first image to its last: the dive of the filter, or the first dive."""
    atlas = explore.atlas
    groups = [summary.group for summary in atlas.groups if summary.images]
    dives = [[group.id, group.name] for group in groups]
    chosen = explore.dive[0] if explore.dive else (groups[0].id if groups else None)
    index = None if chosen is None else atlas.index_of_group(chosen)
    if index is None:
        return {"strip": {"dives": dives, "dive": None, "positions": b""}}
    track, columns = atlas.track(index), atlas.columns
    return {
        "strip": {
            "dives": dives,
            "dive": chosen,
            "positions": track.astype("<i4").tobytes(),
            "depth": columns.depth[track].astype("<f4").tobytes(),
            "altitude": columns.altitude[track].astype("<f4").tobytes(),
            "time": columns.taken_at[track].astype("<f8").tobytes(),
        }
    }


def bar(explore: Explore) -> Values:
    """The bar at the top and the controls of the panes."""
    app, atlas, shown = explore.app, explore.atlas, explore.shown()
    selected = explore.selected_ids()
    export = (
        f"{app.arrays.put(selected)}/images.csv" + (f"?run={atlas.run.id}" if atlas.run else "")
        if len(selected)
        else ""
    )
    tools = {"gallery": gallery_controls(explore), "embedding": embedding_controls(explore)}
    return {
        "bar": {
            "choices": bar_controls(explore),
            "filters": filters(explore),
            "total": len(atlas),
            "shown": int(shown.sum()),
            "selected_count": len(explore.selection),
            "export_url": export,
            "saved": [list(stored) for stored in app.workspace.selections.list()],
            "views": views.names(explore),
            "back": way_back(explore),
        },
        "bench": {
            "noun": cluster_word(atlas.run).lower(),
            "tools": tools,
            "told": {
                "gallery": f"{int(explore.in_gallery().sum()):,}",
                "clusters": f"{atlas.clusters}" if atlas.run else "",
                "map": _labelled_told(explore),
            },
        },
    }


def _labelled_told(explore: Explore) -> str:
    share = labelled(explore.app).share
    return f"{100 * share:.0f} % labelled" if share else ""


def _packed(shown: np.ndarray) -> bytes:
    """An empty value means all images, the usual case."""
    return b"" if shown.all() else packed_mask(shown)


def _why_no_plane(explore: Explore) -> str:
    if explore.projection == "umap" and explore.projections()["pca"]:
        return "There is no UMAP yet. Press Make UMAP to compute it."
    return "Describe the images in Library first. They can then be plotted by similarity."


def _extent(xy: np.ndarray) -> list[int]:
    known = xy[xy[:, 0] != 65535]
    (west, south), (east, north) = (known.min(0), known.max(0)) if len(known) else ((0, 0), (1, 1))
    return [int(west), int(east), int(south), int(north)]


def _pictures(explore: Explore, homes: list, colours: list[str]) -> list[dict[str, Any]]:
    atlas, examples = explore.atlas, examples_of(explore.app, explore.atlas)
    largest, titles = sorted(homes, key=lambda home: -atlas.sizes[home.cluster]), cluster_names(explore.app, atlas)
    return [
        {
            "cluster": home.cluster,
            "peak": list(home.peak),
            "colour": colours[home.cluster],
            "id": int(atlas.columns.ids[examples.of(home.cluster, explore.cards, 1)[0]]),
            "name": f"{titles[home.cluster]}, {atlas.sizes[home.cluster]:,} images",
        }
        for home in largest
    ]


def _pie(explore: Explore, dive: int, x: float, y: float) -> dict[str, Any]:
    atlas, names = explore.atlas, distinct(explore.atlas.clusters)
    texts = cluster_texts(explore.app, atlas)
    shares = atlas.weights[dive]
    by_share = np.argsort(-shares, kind="stable")[:SLICES]
    largest = [int(number) for number in by_share if shares[number] > 0.005]
    other_share = max(float(shares.sum() - shares[largest].sum()), 0.0)
    return {
        "dive": dive,
        "name": atlas.groups[dive].group.name,
        "x": x,
        "y": y,
        "shares": [*(round(float(shares[number]), 4) for number in largest), round(other_share, 4)],
        "colours": [*(names[number] for number in largest), GREY],
        "names": [*(texts[number] for number in largest), f"Other {cluster_word(atlas.run).lower()}s"],
    }


Control = dict[str, Any]


def bar_controls(explore: Explore) -> list[Control]:
    """Controls for run, level, colour and label state."""
    runs = explore.app.cached("runs", explore.app.workspace.runs.all, RUNS)
    current = explore.atlas.run
    listed = [(str(run.id), run.name) for run in reversed(runs)]
    if current and str(current.id) not in dict(listed):  # a finer or coarser level of a run in the list
        listed = [
            (str(current.id), current.name) if number == str(current.clustering) else (number, name)
            for number, name in listed
        ]
    controls = (
        [_select("run", "Run", "Run", str(current.id), listed), *level_controls(explore, current)] if current else []
    )
    return [
        *controls,
        _select(
            "colour",
            "Colour by",
            "Colour",
            _known(explore.colour, palette_choices(explore), "dive"),
            palette_choices(explore),
        ),
        _select("state", "Label state", "Labels", explore.state, STATES.items()),
    ]


def level_controls(explore: Explore, run: Run) -> list[Control]:
    """Buttons that show or compute the coarser and finer level, and one that makes the run current."""
    levels = shown_levels(explore.app, run)
    controls = []
    if levels.computable:
        controls = [
            _button(
                "compute_levels",
                "Compute finer and coarser clusters",
                "unfold_more",
                "Computing levels" if levels.computing else "Finer, coarser",
                disabled=levels.computing,
            )
        ]
    elif levels.coarser or levels.finer:
        controls = [
            _button(
                name,
                f"{name.title()} clusters: {target.summary.get('clusters')}"
                if target
                else f"There are no {name} clusters",
                icon,
                name.title(),
                disabled=target is None,
            )
            for name, target, icon in (
                ("coarser", levels.coarser, "unfold_less"),
                ("finer", levels.finer, "unfold_more"),
            )
        ]
    chosen = explore.app.run()
    if chosen is not None and chosen.clustering != run.clustering:
        controls.append(_button("make_current", "Open all pages with this clustering", "star_border", "Make current"))
    return controls


def _button(name: str, title: str, icon: str, word: str, *, disabled: bool = False) -> Control:
    return {
        "name": name,
        "kind": "button",
        "title": title,
        "icon": icon,
        "word": word,
        "value": None,
        "disabled": disabled,
    }


def gallery_controls(explore: Explore) -> list[Control]:
    orders = order_choices(explore.app, explore.atlas)
    if explore.pinned is None:
        orders.pop("likeness")
    titles = {"dive": group_words(explore.app).singular}
    groups = [("", "No groups"), *((name, f"By {titles.get(name, name)}") for name in GROUPINGS)]
    return [
        _select("order", "Sort by", "Sort by", explore.order if explore.order in orders else "track", orders.items()),
        {
            "name": "descending",
            "kind": "toggle",
            "title": "Descending order",
            "icon": "swap_vert",
            "value": explore.descending,
        },
        _select("group", "Group by", "Group by", explore.group, groups),
        {
            "name": "tile",
            "kind": "range",
            "title": "Size of tiles",
            "caption": "Tile size",
            "value": 112,
            "choices": TILE_SIZES,
        },
    ]


def embedding_controls(explore: Explore) -> list[Control]:
    ready = explore.projections()
    methods = [(name, title, not ready[name]) for name, title in METHODS.items()]
    controls = [{**_select("projection", "Projection", "Projection", explore.projection, []), "choices": methods}]
    if ready["pca"] and not ready["umap"]:
        controls.append(
            {
                "name": "umap",
                "kind": "button",
                "title": "Compute a plot of neighbourhoods (UMAP)",
                "word": "Make UMAP",
                "value": None,
            }
        )
    return controls


def filters(explore: Explore) -> list[dict[str, Any]]:
    """Active filters: kind, id and text of each."""
    atlas, names = explore.atlas, {summary.group.id: summary.group.name for summary in explore.atlas.groups}
    shown = [
        {"kind": "cluster", "id": number, "text": cluster_name(explore.app, atlas.run, number)}
        for number in explore.cluster
    ]
    objects = explore.objects
    if objects is not None and explore.objects_sought():
        called = words(explore.app, objects)
        shown += [{"kind": "object", "id": number, "text": called[number]} for number in explore.objects_sought()]
    shown += [{"kind": "dive", "id": number, "text": names[number]} for number in explore.dive if number in names]
    terms = all_terms(explore.app)
    shown += [{"kind": "term", "id": number, "text": terms[number].name} for number in explore.term if number in terms]
    if len(explore.scope) and len(atlas):
        shown.append({"kind": "scope", "id": 0, "text": selection_in_view(explore)})
    return shown


def selection_in_view(explore: Explore) -> str:
    sent = explore.sent_selection
    return (
        f"{len(explore.scope):,} selected in view" if sent is None else f"{len(explore.scope):,} selected: {sent.text}"
    )


def way_back(explore: Explore) -> dict[str, str]:
    """Address and words of the link to the page that sent the selection; empty if there is none."""
    sent = explore.sent_selection
    if sent is None or not sent.back:
        return {}
    slug = sent.back[1:].partition("?")[0].strip("/")
    title = next((page.title for page in PAGES if page.slug == slug), "the plot")
    return {"href": sent.back, "text": f"Back to {title}"}


def without(explore: Explore, kind: str, number: int) -> None:
    """Remove one filter."""
    if kind == "scope":
        explore.selection.clear()
    elif kind in ("cluster", "object", "dive", "term"):
        setattr(explore, kind, [known for known in getattr(explore, kind) if known != number])


def legend(explore: Explore) -> dict[str, Any]:
    """Labels of both ends of a colour ramp and its colours; empty for clusters, labels and dives."""
    coloured = explore.colours()
    if coloured.ends is None:
        return {}
    low, high, unit = coloured.ends
    return {
        "ends": [_number(low, unit), _number(high, unit)] if explore.colour != "time" else ["first", "last"],
        "colours": list(coloured.colours),
    }


def palette_choices(explore: Explore) -> list[tuple[str, str]]:
    return list(colour_choices(explore.app, explore.atlas).items())


def _select(name: str, title: str, caption: str, value: str, choices: Iterable[tuple[str, str]]) -> Control:
    return {
        "name": name,
        "kind": "select",
        "title": title,
        "caption": caption,
        "value": value,
        "choices": list(choices),
    }


def _known(value: str, choices: list[tuple[str, str]], otherwise: str) -> str:
    return value if value in dict(choices) else otherwise


def _number(value: float, unit: str) -> str:
    return f"{value:.4g} {unit}".strip()
