"""The Objects page without its widgets: which run of objects is shown, and in which way."""

from typing import Any

import param

from app.state.app_state import AppState
from app.state.atlas import Atlas, arrays_of, atlas_of
from app.state.object_acts import name_object, name_segment
from app.state.object_book import KINDS
from app.state.objects import Objects, objects_of
from app.state.segments import LABELS
from app.state.session import Session
from engine.workspace import Run

PARTS = {"cards": "Objects", "together": "Seen together", "dives": "In dives", "scenes": "In image clusters",
         "points": "Labelled points"}
ORDERS = {"size": "Most segments", "images": "Most images", "number": "Number", "unnamed": "Least named",
          "name": "Name"}


class ObjectGallery(param.Parameterized):
    session = param.ClassSelector(class_=Session, constant=True, doc="The tab.")
    run = param.Integer(default=None, allow_None=True, doc="Number of the run; None is the latest that knows objects.")
    part = param.Selector(default="cards", objects=list(PARTS), doc="What is shown.")
    kind = param.Selector(default="typical", objects=list(KINDS), doc="Which segments stand for an object.")
    order = param.Selector(default="size", objects=list(ORDERS), doc="The order of the cards.")
    word = param.String(default="", doc="Shows objects with this name or number only.")

    def __init__(self, session: Session, **values: Any):
        super().__init__(session=session, **values)
        session.address.bind(self, "run", "part", "kind", "order", "word")

    @property
    def app(self) -> AppState:
        return self.session.app

    @property
    def atlas(self) -> Atlas | None:
        """With the run asked for where it knows objects, else the current one, else the newest that does."""
        runs = runs_of_objects(self.app)
        wanted = (self.run, current.id if (current := self.app.run()) else None)
        chosen = next((run for number in wanted for run in runs if run.id == number), runs[-1] if runs else None)
        return None if chosen is None else atlas_of(self.app, chosen.id)

    @property
    def objects(self) -> Objects | None:
        atlas = self.atlas
        return None if atlas is None else objects_of(self.app, atlas)

    def name_object(self, number: int, word: str) -> None:
        """Gives all segments of an object a term."""
        name_object(self.session, self.atlas, number, word)

    def name_segment(self, image: int, number: int, word: str) -> None:
        name_segment(self.session, self.atlas, image, number, word)


def runs_of_objects(app: AppState) -> list[Run]:
    """Those whose segments are still there, oldest first."""
    return app.kept("runs of objects", lambda: [
        run for run in app.workspace.runs.all()
        if LABELS in arrays_of(run) and objects_of(app, atlas_of(app, run.id)) is not None])


def next_step(app: AppState) -> tuple[str, str, str]:
    """(what is missing on the way to objects, words for the button that leads on, where it leads)."""
    if not len(app.columns):
        return "Add images of dives or albums first.", "Go to Library", "/library"
    cut = any(app.features(name).level == "segment" for name in app.workspace.features.names())
    first = "The images are cut into segments already. " if cut else "Images are cut into segments first, by itself. "
    return (f"{first}Cluster with the question \"Objects and scenes\": it finds what kinds of things there are, and "
            "what scenes they make up.", "Cluster objects and scenes", "/library?cluster=mcm")
