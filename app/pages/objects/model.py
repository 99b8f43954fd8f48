"""The Objects page without its widgets: which run of objects is shown, and in which way."""

from typing import Any

import param

from benthoscope.app.data.clusters.clustered_images import Atlas, arrays_of, atlas_of
from benthoscope.app.data.exemplars import SEGMENT_KINDS
from benthoscope.app.data.naming import name_object, name_segment
from benthoscope.app.data.objects import Objects, objects_of
from benthoscope.app.data.segments import SEGMENT_LABELS
from benthoscope.app.session.app_state import AppState
from benthoscope.app.session.cache import FEATURES, IMAGES, RUNS
from benthoscope.app.session.session import Session
from benthoscope.app.session.view_model import ViewModel
from benthoscope.engine.workspace import Run

PARTS = {
    "cards": "Objects",
    "together": "Seen together",
    "dives": "In dives",
    "scenes": "In image clusters",
    "points": "Labelled points",
}
ORDERS = {
    "size": "Most segments",
    "images": "Most images",
    "number": "Number",
    "unnamed": "Least labelled",
    "name": "Label",
}


class ObjectGallery(ViewModel):
    run = param.Integer(
        default=None, allow_None=True, doc="Id of the run; None is the current or newest one that has objects."
    )
    part: param.Selector[str] = param.Selector(default="cards", objects=list(PARTS), doc="What is shown.")
    kind: param.Selector[str] = param.Selector(
        default="typical", objects=list(SEGMENT_KINDS), doc="Which example segments are shown."
    )
    order: param.Selector[str] = param.Selector(default="size", objects=list(ORDERS), doc="The order of the cards.")
    word = param.String(default="", doc="Show only objects with this label or number.")

    def __init__(self, session: Session, **values: Any):
        super().__init__(session=session, **values)
        session.address.bind(self, "run", "part", "kind", "order", "word")

    @property
    def atlas(self) -> Atlas | None:
        """The clustered images of the chosen run if it has objects, else of the current run, else of the newest run
        that has objects."""
        runs, current = runs_of_objects(self.app), self.app.run()
        # all levels of a clustering share its objects
        usual = self.app.cached(
            "usual levels", lambda: {run.id: run.clustering for run in self.app.workspace.runs.all(levels=True)}, RUNS
        )
        run_ids = (usual.get(self.run), current.clustering if current else None)
        chosen = next((run for number in run_ids for run in runs if run.id == number), runs[-1] if runs else None)
        return None if chosen is None else atlas_of(self.app, chosen.id)

    def required_atlas(self) -> Atlas:
        atlas = self.atlas
        assert atlas is not None  # asked only where there are objects
        return atlas

    @property
    def objects(self) -> Objects | None:
        atlas = self.atlas
        return None if atlas is None else objects_of(self.app, atlas)

    def name_object(self, number: int, word: str) -> None:
        """Label all segments of an object."""
        name_object(self.session, self.required_atlas(), number, word)

    def name_segment(self, image: int, number: int, word: str) -> None:
        name_segment(self.session, self.required_atlas(), image, number, word)


def runs_of_objects(app: AppState) -> list[Run]:
    """Runs of objects whose segments still exist, oldest first."""
    return app.cached(
        "runs of objects",
        lambda: [
            run
            for run in app.workspace.runs.all()
            if SEGMENT_LABELS in arrays_of(run) and objects_of(app, atlas_of(app, run.id)) is not None
        ],
        (IMAGES, RUNS, FEATURES),
    )


def next_step(app: AppState) -> tuple[str, str, str]:
    """(what is missing to find objects, text of the button, its address)."""
    if not len(app.columns):
        return "Add images of dives or albums first.", "Go to Library", "/library"
    cut = any(app.features(name).level == "segment" for name in app.workspace.features.names())
    first = "The images are divided into segments already. " if cut else "The images are divided into segments first. "
    return (
        f'{first}Cluster with the question "Objects and scenes" to find the kinds of objects and the scenes they '
        "appear in.",
        "Cluster objects and scenes",
        "/library?cluster=mcm",
    )
