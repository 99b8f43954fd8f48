"""What each view of Explore shows, as parameters of its component: {component: {parameter: value}}.

"images" stands for every view of images. Arrays go on the shelf, sets of images are packed.
"""

from typing import Any

import numpy as np

from app.state import explore_words as words
from app.state.cards import FILTERS, ORDERS
from app.state.colouring import GREY, cluster_colours
from app.state.colours import distinct
from app.state.exemplar_book import KINDS, book_of
from app.state.explore import Explore
from app.state.object_terms import words as object_words
from app.state.ordering import GROUPINGS
from app.state.outlines import outlines
from app.state.terms import all_terms, labelled
from app.state.tracks import dive_places, tracks_of
from app.state.wire import packed, packed_mask

Values = dict[str, dict[str, Any]]
MOST_PIES = 60    # beyond, pies hide each other and the tracks
SLICES = 12       # of a pie; smaller shares are one grey slice


def images(explore: Explore) -> Values:
    """Which images there are."""
    app, atlas = explore.app, explore.atlas
    ids = app.kept("ids address", lambda: app.shelf.put(atlas.columns.ids.astype(np.int32)), of_images=True)
    return {"images": {"count": len(atlas), "ids_url": ids, "version": app.version,
                       "run": atlas.run.id if atlas.run else None}}


def colours(explore: Explore) -> Values:
    found = explore.colours()
    return {"images": {"code_url": explore.app.shelf.put(found.codes), "colours": list(found.colours),
                       "names": list(found.names), "unknown": GREY}, "bar": {"legend": words.legend(explore)}}


def order(explore: Explore) -> Values:
    """The order of the tiles and the headings between them."""
    app, atlas = explore.app, explore.atlas
    grouping = GROUPINGS[explore.group](app, atlas) if explore.group else None
    grouped = {"group_url": app.shelf.put(grouping.code), "group_names": list(grouping.names)} if grouping else {
        "group_url": "", "group_names": []}
    return {"gallery": {"order_url": app.shelf.put(explore.order_positions()), "pinned": explore.pinned or 0,
                        **grouped}}


def mask(explore: Explore) -> Values:
    """What passes the filters; the gallery shows the part of it that was selected elsewhere."""
    shown = _packed(explore.shown())
    return {"embedding": {"shown": shown}, "map": {"shown": shown}, "gallery": {"mask": _packed(explore.in_gallery())}}


def selection(explore: Explore) -> Values:
    return {"images": {"selected": packed(explore.selection.positions, len(explore.atlas))}}


def open(explore: Explore) -> Values:  # noqa: A001 - named after the parameter of the cards
    return {"cards": {"open": list(explore.cluster)}}


def pane(explore: Explore) -> Values:
    return {"bench": {"pane": explore.pane}}


def cards(explore: Explore) -> Values:
    app, atlas = explore.app, explore.atlas
    return {"cards": {
        "cards": [card.as_json() for card in explore.cards_shown()], "total": atlas.clusters, "version": app.version,
        "dives": [found.group.name for found in atlas.groups], "colours": cluster_colours(atlas.clusters),
        **_objects(explore), "open": list(explore.cluster), "kind": explore.cards, "order": explore.sorted,
        "only": explore.only,
        "kind_choices": [list(pair) for pair in KINDS.items()], "word": explore.word,
        "order_choices": [[name, title] for name, (title, _) in ORDERS.items()],
        "only_choices": [[name, title] for name, (title, _) in FILTERS.items()]}}


def _objects(explore: Explore) -> dict[str, Any]:
    """Colours and names of the objects that clusters are made of."""
    found = explore.objects
    if found is None:
        return {"cut": "", "object_colours": [], "object_names": []}
    return {"cut": found.features.folder.name, "object_colours": distinct(found.clusters),
            "object_names": object_words(explore.app, found)}


def plane(explore: Explore) -> Values:
    """The embedding with the outline and the picture of every cluster."""
    found = explore.plane()
    if found is None:
        return {"embedding": {"xy_url": "", "outlines": [], "pictures": [], "note": _why_no_plane(explore)}}
    atlas, names = explore.atlas, cluster_colours(explore.atlas.clusters)
    key = ("outlines", found.key, atlas.run.id if atlas.run else None)
    homes = explore.app.lasting.once(key, lambda: outlines(atlas, found))
    drawn = [{"cluster": home.cluster, "rings": home.rings, "colour": names[home.cluster]} for home in homes]
    return {"embedding": {"xy_url": explore.app.shelf.put(found.xy), "xy_kind": "u2", "extent": _extent(found.xy),
                          "outlines": drawn, "pictures": _pictures(explore, homes, names), "note": ""}}


def map(explore: Explore) -> Values:  # noqa: A001 - named after the view
    """The tracks with the pie of every dive."""
    atlas, tracks = explore.atlas, tracks_of(explore.app, explore.atlas)
    note = "" if tracks.any else "These images have no positions."
    pies = [_pie(explore, *place) for place in dive_places(atlas, tracks)] if atlas.clusters else []
    return {"map": {"xy_url": explore.app.shelf.put(tracks.xy) if tracks.any else "", "extent": list(tracks.extent),
                    "middle": list(tracks.middle), "pies": pies if len(pies) <= MOST_PIES else [], "note": note}}


def strip(explore: Explore) -> Values:
    """One dive from its first image to its last: the one filtered by, or the first."""
    atlas = explore.atlas
    dives = [[found.group.id, found.group.name] for found in atlas.groups if found.images]
    chosen = explore.dive[0] if explore.dive else (dives[0][0] if dives else None)
    index = None if chosen is None else atlas.index_of_group(chosen)
    if index is None:
        return {"strip": {"dives": dives, "dive": None, "positions": b""}}
    track, columns = atlas.track(index), atlas.columns
    return {"strip": {"dives": dives, "dive": chosen, "positions": track.astype("<i4").tobytes(),
                      "depth": columns.depth[track].astype("<f4").tobytes(),
                      "altitude": columns.altitude[track].astype("<f4").tobytes(),
                      "time": columns.taken_at[track].astype("<f8").tobytes()}}


def bar(explore: Explore) -> Values:
    """The bar, and the small controls of the panes."""
    app, atlas, shown = explore.app, explore.atlas, explore.shown()
    selected = explore.selected_ids()
    export = f"{app.shelf.put(selected)}/images.csv" + (f"?run={atlas.run.id}" if atlas.run else "") if len(
        selected) else ""
    tools = {"gallery": words.gallery_controls(explore), "embedding": words.embedding_controls(explore)}
    return {
        "bar": {"choices": words.bar_controls(explore), "filters": words.filters(explore), "total": len(atlas),
                "shown": int(shown.sum()), "selected_count": len(explore.selection), "export_url": export,
                "terms": sorted({" > ".join(term.path) for term in all_terms(app).values()}),
                "saved": [list(found) for found in app.workspace.selections.list()]},
        "bench": {"tools": tools, "told": {"gallery": f"{int(explore.in_gallery().sum()):,}",
                                           "clusters": f"{atlas.clusters}" if atlas.run else "",
                                           "map": _labelled_told(explore)}},
    }


def _labelled_told(explore: Explore) -> str:
    share = labelled(explore.app).share
    return f"{100 * share:.0f} % labelled" if share else ""


def _packed(shown: np.ndarray) -> bytes:
    """Nothing stands for all: the usual case."""
    return b"" if shown.all() else packed_mask(shown)


def _why_no_plane(explore: Explore) -> str:
    if explore.projection == "umap" and explore.projections()["pca"]:
        return "This projection was not made yet."
    return "Images can be laid out by likeness once they are described, in Library."


def _extent(xy: np.ndarray) -> list[int]:
    known = xy[xy[:, 0] != 65535]
    (west, south), (east, north) = (known.min(0), known.max(0)) if len(known) else ((0, 0), (1, 1))
    return [int(west), int(east), int(south), int(north)]


def _pictures(explore: Explore, homes: list, colours: list[str]) -> list[dict[str, Any]]:
    atlas, book = explore.atlas, book_of(explore.app, explore.atlas)
    largest = sorted(homes, key=lambda home: -atlas.sizes[home.cluster])
    return [{"cluster": home.cluster, "peak": list(home.peak), "colour": colours[home.cluster],
             "id": int(atlas.columns.ids[book.of(home.cluster, explore.cards, 1)[0]]),
             "name": f"Cluster {home.cluster}, {atlas.sizes[home.cluster]:,} images"} for home in largest]


def _pie(explore: Explore, dive: int, x: float, y: float) -> dict[str, Any]:
    atlas, names = explore.atlas, cluster_colours(explore.atlas.clusters)
    shares = atlas.weights[dive]
    largest = np.argsort(-shares, kind="stable")[:SLICES]
    largest = [int(number) for number in largest if shares[number] > 0.005]
    rest = max(float(shares.sum() - shares[largest].sum()), 0.0)
    return {"dive": dive, "name": atlas.groups[dive].group.name, "x": x, "y": y,
            "shares": [*(round(float(shares[number]), 4) for number in largest), round(rest, 4)],
            "colours": [*(names[number] for number in largest), GREY]}
