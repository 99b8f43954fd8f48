"""Commands of the Explore page by the name in the message. Parameters after the page are values of the message."""

from typing import Any, Protocol

import numpy as np

from benthoscope.app.components.gallery import Gallery
from benthoscope.app.data.naming import name_segment
from benthoscope.app.pages.explore import content as words
from benthoscope.app.pages.explore import selection_commands, views
from benthoscope.app.pages.explore.model import Explore
from benthoscope.app.session.commands import CommandTable, Ids, Packed
from benthoscope.app.session.selection import unpacked
from benthoscope.engine.problems import fail, unknown


class ExplorePageLike(Protocol):
    """The parts of the Explore page that commands change: the model and two components."""

    explore: Explore
    gallery: Gallery
    bar: Any

    def focus(self, image_id: int) -> None: ...


# --- the selection


def _select(page: ExplorePageLike, how: str, tool: str, images: Packed) -> None:
    positions = unpacked(images, len(page.explore.atlas))
    page.explore.selection.combine(how, positions, {"tool": tool})


def _pick(page: ExplorePageLike, position: int, how: str) -> None:
    """A point was clicked: show the image in the gallery, or with a modifier key add or remove it."""
    if how == "replace":
        page.focus(int(page.explore.atlas.columns.ids[position]))
    else:
        page.explore.selection.combine(how, np.array([position]), {"tool": "point"})


def _cluster(page: ExplorePageLike, cluster: int, how: str = "replace") -> None:
    page.explore.select_cluster(cluster, how)


def _clear(page: ExplorePageLike) -> None:
    page.explore.selection.clear()


def _own_position(page: ExplorePageLike, id_: int) -> int:
    positions = page.explore.atlas.columns.positions(np.array([id_]))
    if not len(positions):
        raise fail("image", f"there is no image {id_}", "reload the page")
    return int(positions[0])


def _own_cluster(page: ExplorePageLike, id_: int) -> int:
    """The cluster of an image."""
    cluster = int(page.explore.atlas.labels[_own_position(page, id_)])
    if cluster < 0:
        raise fail("image", "is in no cluster of this run", "choose another run")
    return cluster


def _select_cluster_of(page: ExplorePageLike, id_: int) -> None:
    page.explore.select_cluster(_own_cluster(page, id_))


def _show_cluster_of(page: ExplorePageLike, id_: int) -> None:
    page.explore.selection.clear()
    page.explore.cluster = [_own_cluster(page, id_)]


def _show_dive_of(page: ExplorePageLike, id_: int) -> None:
    atlas = page.explore.atlas
    page.explore.dive = [atlas.groups[atlas.group[_own_position(page, id_)]].group.id]


def _review_cluster_of(page: ExplorePageLike, id_: int) -> None:
    """Open Review with the cluster of an image."""
    run = page.explore.atlas.run
    page.bar.goto = f"/review?cluster={_own_cluster(page, id_)}" + (f"&run={run.id}" if run else "")


def _back(page: ExplorePageLike) -> None:
    page.explore.selection.back()


def _invert(page: ExplorePageLike) -> None:
    page.explore.selection.invert(page.explore.shown().nonzero()[0])


def _save(page: ExplorePageLike, name: str) -> None:
    selection_commands.save(page.explore, name)


def _recall(page: ExplorePageLike, id_: int) -> None:
    page.explore.saved = id_


def _forget(page: ExplorePageLike, id_: int) -> None:
    selection_commands.forget(page.explore, id_)


# --- saved views


def _save_view(page: ExplorePageLike, name: str) -> None:
    views.save(page.explore, name)


def _open_view(page: ExplorePageLike, name: str) -> None:
    views.restore(page.explore, name)


def _delete_view(page: ExplorePageLike, name: str) -> None:
    views.delete(page.explore, name)


# --- what is shown


def _dive(page: ExplorePageLike, dive: int) -> None:
    number = page.explore.atlas.groups[dive].group.id
    page.explore.dive = [] if page.explore.dive == [number] else [number]


def _legend(page: ExplorePageLike, kind: str, ids: Ids) -> None:
    """Show only images with these colours; without any, all images."""
    if kind not in words.FILTERED_BY.values():
        raise unknown("legend", kind, tuple(words.FILTERED_BY.values()))
    page.explore.param.update(**{kind: sorted(set(ids))})


def _strip(page: ExplorePageLike, dive: int) -> None:
    page.explore.dive = [dive]


def _show(page: ExplorePageLike, cluster: int, id_: int) -> None:
    """An image of a card was clicked: show only its cluster and scroll to the image."""
    page.explore.selection.clear()
    page.explore.cluster = [cluster]
    page.focus(id_)


def _reveal(page: ExplorePageLike, cluster: int) -> None:
    """Show a neighbouring cluster as well."""
    page.explore.cluster = sorted({*page.explore.cluster, cluster})


def _open(page: ExplorePageLike, cluster: int) -> None:
    page.explore.open_cluster(cluster)


def _object(page: ExplorePageLike, object_: int) -> None:
    """Show all images that contain the object; a second click shows all images again."""
    page.explore.object = [] if page.explore.object == [object_] else [object_]


def _pin(page: ExplorePageLike, id_: int) -> None:
    page.explore.pin(None if page.explore.pinned == id_ else id_)


def _set(page: ExplorePageLike, name: str, value: Any) -> None:
    if name == "tile":
        page.gallery.tile = int(value)
    else:
        page.explore.param.update(**{name: int(value) if name == "run" else value})


def _unfilter(page: ExplorePageLike, kind: str, id_: int) -> None:
    words.without(page.explore, kind, id_)


def _show_all(page: ExplorePageLike) -> None:
    page.explore.selection.clear()
    page.explore.show_all()


# --- runs and levels


def _coarser(page: ExplorePageLike) -> None:
    page.explore.switch_level("coarser")


def _finer(page: ExplorePageLike) -> None:
    page.explore.switch_level("finer")


def _compute_levels(page: ExplorePageLike) -> None:
    page.explore.compute_levels()


def _make_current(page: ExplorePageLike) -> None:
    page.explore.make_current()


def _split(page: ExplorePageLike) -> None:
    selection_commands.split_off(page.explore)


def _umap(page: ExplorePageLike) -> None:
    session, atlas = page.explore.session, page.explore.atlas
    features = atlas.run.features if atlas.run else session.workspace.features.names()[0]
    session.app.queue.add("projection", {"features": features})
    session.notify("UMAP is being computed. Choose it in the list when the job is done", kind="info")


# --- labels


def _label(page: ExplorePageLike, word: str) -> None:
    selection_commands.label(page.explore, word)


def _segment(page: ExplorePageLike, id_: int, number: int, word: str) -> None:
    name_segment(page.explore.session, page.explore.atlas, id_, number, word)


def _accept(page: ExplorePageLike, id_: int | None = None) -> None:
    """Accept the suggestion of the opened image, or those of all selected images."""
    images = page.explore.selected_ids().tolist() if id_ is None else [id_]
    selection_commands.accept_suggestions(page.explore, images)


def _crowd(page: ExplorePageLike) -> None:
    """Save the selection and open Crowd with its id: another page is another session."""
    selection_commands.save(page.explore, f"For the crowd, {len(page.explore.selection):,} images")
    page.bar.goto = f"/crowd?selection={page.explore.saved}"


def _export(page: ExplorePageLike) -> None:
    """Save the selection and open the export form with its id: another page is another session."""
    selection_commands.save(page.explore, f"For export, {len(page.explore.selection):,} images")
    page.bar.goto = f"/labels?part=export&selection={page.explore.saved}" + (
        f"&run={page.explore.run}" if page.explore.run is not None else ""
    )


COMMANDS = CommandTable(
    {
        "select": _select,
        "select_cluster_of": _select_cluster_of,
        "show_cluster_of": _show_cluster_of,
        "show_dive_of": _show_dive_of,
        "review_cluster_of": _review_cluster_of,
        "save_view": _save_view,
        "open_view": _open_view,
        "delete_view": _delete_view,
        "pick": _pick,
        "cluster": _cluster,
        "dive": _dive,
        "legend": _legend,
        "strip": _strip,
        "show": _show,
        "reveal": _reveal,
        "pin": _pin,
        "set": _set,
        "umap": _umap,
        "crowd": _crowd,
        "invert": _invert,
        "object": _object,
        "segment": _segment,
        "labels": _export,
        "accept": _accept,
        "coarser": _coarser,
        "finer": _finer,
        "compute_levels": _compute_levels,
        "make_current": _make_current,
        "open": _open,
        "clear": _clear,
        "back": _back,
        "label": _label,
        "save": _save,
        "split": _split,
        "recall": _recall,
        "forget": _forget,
        "unfilter": _unfilter,
        "show_all": _show_all,
    }
)
