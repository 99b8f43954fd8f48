"""What each message of a view does."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from app.state import explore_words as words
from app.state import selection_acts as acts
from app.state.object_acts import name_segment
from app.state.wire import unpacked

if TYPE_CHECKING:
    from app.pages.explore import ExplorePage

Told = Mapping[str, Any]


def _select(page: "ExplorePage", told: Told) -> None:
    positions = unpacked(bytes(told["images"]), len(page.explore.atlas))
    page.explore.selection.combine(told["how"], positions, {"tool": told["tool"]})


def _pick(page: "ExplorePage", told: Told) -> None:
    """A point was clicked: alone it is brought into sight, with a key it joins or leaves the selection."""
    position = int(told["position"])
    if told["how"] == "replace":
        page.focus(int(page.explore.atlas.columns.ids[position]))
    else:
        page.explore.selection.combine(told["how"], [position], {"tool": "point"})


def _cluster(page: "ExplorePage", told: Told) -> None:
    page.explore.select_cluster(int(told["cluster"]), told.get("how", "replace"))


def _dive(page: "ExplorePage", told: Told) -> None:
    number = page.explore.atlas.groups[int(told["dive"])].group.id
    page.explore.dive = [] if page.explore.dive == [number] else [number]


def _strip(page: "ExplorePage", told: Told) -> None:
    page.explore.dive = [int(told["dive"])]


def _show(page: "ExplorePage", told: Told) -> None:
    """An image of a card: its cluster alone, and the image in sight."""
    page.explore.selection.clear()
    page.explore.cluster = [int(told["cluster"])]
    page.focus(int(told["id"]))


def _reveal(page: "ExplorePage", told: Told) -> None:
    """A neighbour named on a card: both are shown."""
    number = int(told["cluster"])
    page.explore.cluster = sorted({*page.explore.cluster, number})


def _object(page: "ExplorePage", told: Told) -> None:
    """An object on a card or in an image: all images that contain it; the same again shows all."""
    number = int(told["object"])
    page.explore.object = [] if page.explore.object == [number] else [number]


def _segment(page: "ExplorePage", told: Told) -> None:
    name_segment(page.explore.session, page.explore.atlas, int(told["id"]), int(told["number"]), str(told["word"]))


def _pin(page: "ExplorePage", told: Told) -> None:
    image_id = int(told["id"])
    page.explore.pin(None if page.explore.pinned == image_id else image_id)


def _set(page: "ExplorePage", told: Told) -> None:
    name, value = told["name"], told["value"]
    if name == "tile":
        page.gallery.tile = int(value)
    else:
        page.explore.param.update(**{name: int(value) if name == "run" else value})


def _umap(page: "ExplorePage", told: Told) -> None:
    session, atlas = page.explore.session, page.explore.atlas
    features = atlas.run.features if atlas.run else session.workspace.features.names()[0]
    session.app.queue.add("projection", {"features": features})
    session.tell("Images are being laid out by neighbourhoods; choose UMAP when it is done", kind="info")


def _crowd(page: "ExplorePage", told: Told) -> None:
    """Saved, because the page that asks the crowd is another session and finds it by its number."""
    acts.save(page.explore, f"For the crowd, {len(page.explore.selection):,} images")
    page.bar.goto = f"/crowd?selection={page.explore.saved}"


def _export(page: "ExplorePage", told: Told) -> None:
    """Saved, because the page that exports is another session and finds it by its number."""
    acts.save(page.explore, f"For export, {len(page.explore.selection):,} images")
    page.bar.goto = f"/labels?part=files&selection={page.explore.saved}"


def _accept(page: "ExplorePage", told: Told) -> None:
    """The suggestion of the image in view, or those of all that are selected."""
    images = [int(told["id"])] if "id" in told else page.explore.selected_ids().tolist()
    acts.accept_suggestions(page.explore, images)


def _invert(page: "ExplorePage", told: Told) -> None:
    page.explore.selection.invert(page.explore.shown().nonzero()[0])


ACTS: Mapping[str, Callable[["ExplorePage", Told], None]] = {
    "select": _select, "pick": _pick, "cluster": _cluster, "dive": _dive, "strip": _strip, "show": _show,
    "reveal": _reveal, "pin": _pin, "set": _set, "umap": _umap, "crowd": _crowd, "invert": _invert,
    "object": _object, "segment": _segment, "labels": _export, "accept": _accept,
    "open": lambda page, told: page.explore.open_cluster(int(told["cluster"])),
    "clear": lambda page, told: page.explore.selection.clear(),
    "back": lambda page, told: page.explore.selection.back(),
    "label": lambda page, told: acts.label(page.explore, told["word"]),
    "save": lambda page, told: acts.save(page.explore, told["name"]),
    "split": lambda page, told: acts.split_off(page.explore),
    "recall": lambda page, told: setattr(page.explore, "saved", int(told["id"])),
    "forget": lambda page, told: acts.forget(page.explore, int(told["id"])),
    "unfilter": lambda page, told: words.without(page.explore, told["kind"], int(told["id"])),
    "show_all": lambda page, told: (page.explore.selection.clear(), page.explore.show_all()),
}

