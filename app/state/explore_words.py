"""What the Explore page says: the controls above its panes, the filters that are on, the words beside titles."""

from collections.abc import Iterable
from typing import Any

from app.state.colouring import colour_choices
from app.state.explore import STATES, Explore
from app.state.object_terms import words
from app.state.ordering import GROUPINGS, order_choices
from app.state.projections import METHODS
from app.state.terms import all_terms

Control = dict[str, Any]


def bar_controls(explore: Explore) -> list[Control]:
    """Run, colour, label state."""
    runs = explore.app.kept("runs", explore.app.workspace.runs.all)
    current = explore.atlas.run
    listed = [(str(run.id), run.name) for run in reversed(runs)]
    controls = [_select("run", "Run", "hub", str(current.id), listed)] if current else []
    return [*controls, _select("colour", "Colour by", "palette", _known(explore.colour, colours(explore), "dive"),
                               colours(explore)),
            _select("state", "Label state", "label", explore.state, STATES.items())]


def gallery_controls(explore: Explore) -> list[Control]:
    orders = order_choices(explore.app, explore.atlas)
    if explore.pinned is None:
        orders.pop("likeness")
    groups = [("", "No groups"), *((name, f"By {name}") for name in GROUPINGS)]
    return [_select("order", "Sort by", "sort", explore.order if explore.order in orders else "track", orders.items()),
            {"name": "descending", "kind": "toggle", "title": "From greatest to least", "icon": "swap_vert",
             "value": explore.descending},
            _select("group", "Group by", None, explore.group, groups),
            {"name": "tile", "kind": "range", "title": "Size of tiles", "icon": "photo_size_select_large",
             "value": 112, "choices": (48, 320)}]


def embedding_controls(explore: Explore) -> list[Control]:
    ready = explore.projections()
    methods = [(name, title, not ready[name]) for name, title in METHODS.items()]
    controls = [{**_select("projection", "Projection", None, explore.projection, []), "choices": methods}]
    if ready["pca"] and not ready["umap"]:
        controls.append({"name": "umap", "kind": "button", "title": "Lay images out by neighbourhoods",
                         "word": "Make UMAP", "value": None})
    return controls


def filters(explore: Explore) -> list[dict[str, Any]]:
    """Every filter that is on: its kind, its id and words for it."""
    atlas, names = explore.atlas, {found.group.id: found.group.name for found in explore.atlas.groups}
    shown = [{"kind": "cluster", "id": number, "text": f"Cluster {number}"} for number in explore.cluster]
    if explore.objects_sought():
        called = words(explore.app, explore.objects)
        shown += [{"kind": "object", "id": number, "text": called[number]} for number in explore.objects_sought()]
    shown += [{"kind": "dive", "id": number, "text": names[number]} for number in explore.dive if number in names]
    if explore.term is not None and explore.term in all_terms(explore.app):
        shown.append({"kind": "term", "id": explore.term, "text": all_terms(explore.app)[explore.term].name})
    if len(explore.scope) and len(atlas):
        shown.append({"kind": "scope", "id": 0, "text": scope_told(explore)})
    return shown


def scope_told(explore: Explore) -> str:
    return f"{len(explore.scope):,} selected in view"


def without(explore: Explore, kind: str, number: int) -> None:
    """Takes one filter away."""
    if kind == "term":
        explore.term = None
    elif kind == "scope":
        explore.selection.clear()
    elif kind in ("cluster", "object", "dive"):
        setattr(explore, kind, [known for known in getattr(explore, kind) if known != number])


def legend(explore: Explore) -> dict[str, Any]:
    """The ends of a ramp in words, with its colours; nothing for clusters, labels and dives."""
    found = explore.colours()
    if found.ends is None:
        return {}
    low, high, unit = found.ends
    return {"ends": [_number(low, unit), _number(high, unit)] if explore.colour != "time" else ["first", "last"],
            "colours": list(found.colours)}


def colours(explore: Explore) -> list[tuple[str, str]]:
    return list(colour_choices(explore.app, explore.atlas).items())


def _select(name: str, title: str, icon: str | None, value: str, choices: Iterable[tuple[str, str]]) -> Control:
    return {"name": name, "kind": "select", "title": title, "icon": icon, "value": value, "choices": list(choices)}


def _known(value: str, choices: list[tuple[str, str]], otherwise: str) -> str:
    return value if value in dict(choices) else otherwise


def _number(value: float, unit: str) -> str:
    return f"{value:.4g} {unit}".strip()
