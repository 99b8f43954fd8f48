"""Saved views of Explore: the query of the address under a name, for everybody who works in the workspace."""

from benthoscope.app.pages.explore.model import Explore
from benthoscope.app.session.address import with_word
from benthoscope.app.session.cache import OTHER

PAGE = "explore"


def names(explore: Explore) -> list[str]:
    return [view.name for view in explore.app.workspace.views.of_page(PAGE)]


def save(explore: Explore, name: str) -> None:
    """Store what the page shows: run, filters, colours, order, pane and saved selection. A selection that another page
    sent is not stored for long, so it is left out."""
    person = explore.session.require_person()
    view = explore.app.workspace.views.save(
        PAGE, name, with_word(explore.session.address.query, "sent", None), person.name
    )
    explore.session.notify(f"Saved the view {view.name}")
    explore.session.changed(OTHER)


def restore(explore: Explore, name: str) -> None:
    """Show a view as it was saved."""
    explore.selection.clear()
    explore.session.address.query = dict(explore.app.workspace.views.get(PAGE, name).query)


def delete(explore: Explore, name: str) -> None:
    """Delete a view; what the page shows stays."""
    views = explore.app.workspace.views
    removed = views.remove(PAGE, name)
    explore.session.notify(
        f"Deleted the view {removed.name}", undo=lambda: views.restore(removed), undo_changes=(OTHER,)
    )
    explore.session.changed(OTHER)
