"""The Dive page: track, profile and mixture of one dive or album, and the dives with similar mixtures."""

from collections.abc import Mapping
from html import escape
from typing import Any

import panel as pn
import param

from benthoscope.app.components.base import CommandComponent, asset_url
from benthoscope.app.components.forms import JobForm, form_dialog
from benthoscope.app.components.gallery import Gallery
from benthoscope.app.components.notices import empty
from benthoscope.app.components.scatter import DiveMap
from benthoscope.app.data.clusters.clustered_images import cluster_name
from benthoscope.app.data.group_words import words_of_group
from benthoscope.app.data.naming import name_segment
from benthoscope.app.pages.base import PanelsPage
from benthoscope.app.pages.dive import model as views
from benthoscope.app.pages.dive.model import MAP_COLOURS, DiveView
from benthoscope.app.pages.dive.prediction import prediction_content
from benthoscope.app.pages.dive.prediction_form import predicting
from benthoscope.app.session.commands import CommandTable, Packed
from benthoscope.app.session.selection import unpacked
from benthoscope.app.session.session import Session
from benthoscope.engine.problems import unknown

FILL: dict[str, Any] = {"sizing_mode": "stretch_both"}
FOLLOW: Mapping[str, tuple[str, ...]] = {
    "dive": ("track", "mask", "plots_of_dive", "prediction", "facts"),
    "cluster": ("mask", "facts"),
    "run": ("images", "track", "mask", "order", "plots_of_dive", "prediction", "facts"),
    "prediction": ("prediction",),
    "map_by": ("prediction",),
}
Marks = tuple[tuple[int, ...], ...]
KEYS = [["Enter", "Open the image"], ["Space", "Select the image"], ["Esc", "Clear the selection"]]
SHEETS = [asset_url("css/parts.css"), asset_url("css/dive.css")]


class DivePlots(CommandComponent):
    """Sends {act: dive, id}, {act: look, id}, {act: marks, plot, marks}, {act: clear}, {act: prediction, id},
    {act: map_by, by} and {act: predict}."""

    _module = "pages/dive/plots"
    _styles = ("parts", "explore", "dive", "plots")

    dives = param.List(default=[], doc="[id, name] of the dives to choose from.")
    query = param.Dict(default={}, doc="Dive and run of the plots.")
    measures = param.List(default=[], doc="Titles of the known measures along the dive: depth, altitude.")
    noun = param.String(default="cluster", doc="The word for a cluster: cluster or topic.")
    clustered = param.Boolean(default=False, doc="Whether there is a run; without one, there are no mixtures.")
    selected = param.List(default=[], doc="Ids of the selected images of the dive.")
    chosen = param.Dict(
        default={}, doc="{count, explore}: the number of selected images, and their address in Explore."
    )
    prediction = param.Dict(default={}, doc="The predicted column, see `prediction_content`.")


def view(session: Session):
    if not len(session.app.columns):
        return empty("No images yet", "Add a folder of dives or albums first.", ("Go to Library", "/library"))
    session.keys = KEYS
    return DivePage(session).layout


class DivePage(PanelsPage):
    """Connects the components with the view model."""

    def __init__(self, session: Session):
        self.dive = DiveView(session)
        super().__init__(self.dive, COMMANDS)
        self.form = JobForm(session)
        self.words = words_of_group(session.app, self.dive.summary.group.id)
        self.facts = pn.pane.HTML(stylesheets=SHEETS, sizing_mode="stretch_width")
        self.map = DiveMap(tiles=session.app.tiles, **FILL)
        self.gallery = Gallery(title=f"Images of the {self.words.singular}", **FILL)
        self.plots = DivePlots(sizing_mode="stretch_width")
        self.image_views = (self.map, self.gallery)
        self.layout = self._laid_out()
        self._listen()
        self.draw(*FOLLOW["run"])

    def draw(self, *panels: str) -> None:
        for panel in panels:
            if panel == "facts":
                self.facts.object = header_html(self.dive)
            elif panel == "prediction":
                self._set(prediction_content(self.dive))
            else:
                self._set(getattr(views, panel)(self.dive))

    def _listen(self) -> None:
        for component in (*self.image_views, self.plots):
            component.on_message = self.run_command
        for name, panels in FOLLOW.items():
            self.dive.param.watch(lambda event, panels=panels: self.draw(*panels), name)
        self.dive.selection.param.watch(lambda event: self.draw("selection"), "positions")
        self.dive.session.param.watch(lambda event: self.draw("prediction"), "version")

    def _laid_out(self) -> pn.viewable.Viewable:
        track = [card(self.words.map, self.map, height=330)] if self.dive.has_positions else []
        upper = pn.Row(
            *track, card("Images", self.gallery, height=330), sizing_mode="stretch_width", styles={"gap": "10px"}
        )
        panels = [self.facts, upper, self.plots]
        panels.append(form_dialog(self.form))
        return pn.Column(*panels, sizing_mode="stretch_width", styles={"padding": "4px 12px 24px", "gap": "10px"})


def card(title: str, *panels: Any, height: int | None = None) -> pn.viewable.Viewable:
    heading = pn.pane.HTML(f"<h2>{escape(title)}</h2>", stylesheets=SHEETS, sizing_mode="stretch_width")
    sizes = {"sizing_mode": "stretch_width"} if height is None else {"sizing_mode": "stretch_width", "height": height}
    body = pn.Column(*panels, styles={"position": "relative"}, **sizes)
    return pn.Column(heading, body, sizing_mode="stretch_width", stylesheets=SHEETS, css_classes=["box"])


def header_html(dive: DiveView) -> str:
    """The header of the page as HTML: name, facts and links."""
    name, run = dive.summary.group.name, dive.atlas.run
    word = words_of_group(dive.app, dive.summary.group.id).singular
    facts = "".join(f"<div><dt>{escape(word)}</dt><dd>{escape(message)}</dd></div>" for word, message in dive.facts())
    run_query = f"&run={run.id}" if dive.run and run else ""
    only = (
        ""
        if dive.cluster is None
        else (
            f'<a class="button" href="/dive?dive={dive.summary.group.id}{run_query}">'
            f"{escape(cluster_name(dive.app, run, dive.cluster))} only: show all</a>"
        )
    )
    return (
        f'<header class="head"><h1>{escape(name)}</h1>{only}<a class="button" '
        f'href="/explore?dive={dive.summary.group.id}{run_query}">Explore this {word}</a></header>'
        f'<dl class="facts">{facts}</dl>'
    )


def _select(page: DivePage, how: str, tool: str, images: Packed) -> None:
    positions = unpacked(images, len(page.dive.atlas))
    page.dive.selection.combine(how, positions, {"tool": tool})


def _pick(page: DivePage, position: int) -> None:
    page.focus(int(page.dive.atlas.columns.ids[position]))


def _cluster(page: DivePage, cluster: int, id_: int | None = None) -> None:
    """Show one cluster of a dive; a second click shows the whole dive."""
    dive = page.dive.dive if id_ is None else id_
    again = page.dive.cluster == cluster and page.dive.summary.group.id == dive
    page.dive.param.update(cluster=None if again else cluster, dive=dive)


def _pin(page: DivePage) -> None:
    """Say that sorting by similarity is done in Explore, among all images."""
    page.dive.session.notify("To sort by similarity, point at the image in Explore and press P", kind="info")


def _segment(page: DivePage, id_: int, number: int, word: str) -> None:
    name_segment(page.dive.session, page.dive.atlas, id_, number, word)


def _dive(page: DivePage, id_: int | None = None) -> None:
    page.dive.dive = page.dive.summary.group.id if id_ is None else id_


def _open_image(page: DivePage, id_: int) -> None:
    page.focus(id_)


def _marks(page: DivePage, plot: str, marks: Marks) -> None:
    page.dive.select_marks(plot, list(marks))


def _clear(page: DivePage) -> None:
    page.dive.selection.clear()


def _prediction(page: DivePage, id_: int) -> None:
    page.dive.prediction = id_


def _map_by(page: DivePage, by: str) -> None:
    if by not in MAP_COLOURS:
        raise unknown("colours of the map", by, MAP_COLOURS)
    page.dive.map_by = by


def _predict(page: DivePage) -> None:
    page.form.open(predicting(page.dive.app, page.dive.summary))


COMMANDS = CommandTable(
    {
        "prediction": _prediction,
        "map_by": _map_by,
        "predict": _predict,
        "segment": _segment,
        "select": _select,
        "pick": _pick,
        "cluster": _cluster,
        "pin": _pin,
        "dive": _dive,
        "look": _open_image,
        "marks": _marks,
        "clear": _clear,
    }
)
