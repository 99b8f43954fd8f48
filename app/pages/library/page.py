"""The Library page: collections and dives, and the dialogs that import, describe and cluster images."""

from typing import Any

import panel as pn
import param
from panel.custom import Child

from benthoscope.app.components.base import CommandComponent
from benthoscope.app.components.forms import JobForm, form_dialog
from benthoscope.app.components.import_dialog import ImportDialog, import_dialog
from benthoscope.app.components.tables import Column, DataTable
from benthoscope.app.data.colours import group_colours
from benthoscope.app.data.group_words import group_words
from benthoscope.app.pages.library.cluster_form import clustering
from benthoscope.app.pages.library.describe_form import describing, forgetting
from benthoscope.app.pages.library.model import LibraryView, collection_rows, dive_rows, silent_columns
from benthoscope.app.session.commands import CommandTable
from benthoscope.app.session.session import Session


class LibraryBoard(CommandComponent):
    _module = "pages/library/page"
    _styles = ("parts", "library", "plots")

    content = param.Dict(default={}, doc="Content of LibraryView.")
    dives = Child(doc="The table of dives or albums.")
    collections = Child(doc="The table of collections.")


DIVES = (
    Column("name", "Dive", "dive"),
    Column("collection", "Collection", width="13%"),
    Column("images", "Images", "count", 76),
    Column("first", "First image (UTC)", width=130),
    Column("hours", "Hours", "figure", 70),
    Column("shallowest", "From (m)", "figure", 84, {"digits": 1}, "Depth of the shallowest image"),
    Column("deepest", "To (m)", "figure", 68, {"digits": 1}, "Depth of the deepest image"),
    Column("labelled", "Labelled", "share", 104),
)
COLLECTIONS = (
    Column("name", "Collection"),
    Column("groups", "Dives", "count", 92),
    Column("images", "Images", "count", 84),
    Column("labelled", "Labelled", "share", 130),
    Column(
        "forget",
        "",
        "button",
        40,
        {"act": "forget", "icon": "remove_circle_outline", "words": "Remove {name} from the workspace"},
    ),
)
HEIGHT = 420  # pixels of the table of dives: more are scrolled


KEYS = [["a", "Add images"], ["d", "Describe images"], ["c", "Cluster images"]]


def view(session: Session) -> pn.viewable.Viewable:
    library, adding, form = LibraryView(session), ImportDialog(session), JobForm(session)
    session.keys = KEYS

    def names() -> list[str]:
        return [collection.name for collection in session.workspace.library.collections()]

    def describe() -> None:
        with session.attempt():
            form.open(describing(session.app, names()))

    def cluster(model: str | None = None) -> None:
        with session.attempt():
            form.open(clustering(session.app, names(), model))

    def forget(name: str) -> None:
        with session.attempt():
            form.open(forgetting(session, name))

    def add() -> None:
        adding.open()

    commands = CommandTable({"add": add, "describe": describe, "cluster": cluster, "forget": forget}, targets=0)
    dives = DataTable("Dives", DIVES, height=HEIGHT)
    collections = DataTable("Collections", COLLECTIONS, filters=False)
    board = LibraryBoard(session.handler(commands), dives=dives, collections=collections, sizing_mode="stretch_width")

    def draw(*_: Any) -> None:
        content, words = library.content(), group_words(session.app)
        dives.label = words.plural.capitalize()
        dives.rename(name=words.singular.capitalize())
        collections.rename(groups=dives.label)
        rows = dive_rows(content["collections"], group_colours(session.app))
        dives.show_rows(rows, silent_columns(rows))
        collections.show_rows(collection_rows(content["collections"]))
        board.content = content

    draw()
    session.param.watch(draw, "version")
    dives.follow_filter("name", library, "sought")
    if "cluster" in session.address.query:  # a link from another page opens the form with a question
        cluster(session.address.query["cluster"])
    return pn.Column(board, import_dialog(adding), form_dialog(form), sizing_mode="stretch_width")
