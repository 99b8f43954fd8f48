"""Library: what is there, how to add images, and where describing and clustering begin."""

import panel as pn

from app.components.dialogs import form_dialog, import_dialog
from app.components.library_board import LibraryBoard
from app.state.clustering_form import clustering
from app.state.import_dialog import ImportDialog
from app.state.job_form import JobForm
from app.state.library import LibraryView
from app.state.recipes import describing, forgetting
from app.state.session import Session

KEYS = [["a", "Add images"], ["d", "Describe images"], ["c", "Cluster images"]]


def view(session: Session) -> pn.viewable.Viewable:
    library, adding, form = LibraryView(session), ImportDialog(session), JobForm(session)
    session.keys = KEYS

    def names() -> list[str]:
        return [found.name for found in session.workspace.library.collections()]

    def describe() -> None:
        with session.attempt():
            form.open(describing(session.app, names()))

    def cluster(model: str | None = None) -> None:
        with session.attempt():
            form.open(clustering(session.app, names(), model))

    def forget(name: str) -> None:
        with session.attempt():
            form.open(forgetting(session, name))

    acts = {"add": adding.open, "describe": describe, "cluster": cluster, "forget": forget}
    board = LibraryBoard(acts, content=library.content(), sought=library.sought, sizing_mode="stretch_width")
    session.param.watch(lambda _: board.param.update(content=library.content()), "version")
    board.param.watch(lambda event: library.param.update(sought=event.new), "sought")
    library.param.watch(lambda event: board.param.update(sought=event.new), "sought")
    if "cluster" in session.address.query:  # a link to the form, with the question that was asked elsewhere
        cluster(session.address.query["cluster"])
    return pn.Column(board, import_dialog(adding), form_dialog(form), sizing_mode="stretch_width")
