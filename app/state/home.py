"""The way from a folder of images to named clusters, how far this workspace has come, and a look at its images."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import param

from app.state.library import labelled_by_group
from app.state.session import Session

PICTURES = 36  # in the strip at the top


@dataclass(frozen=True)
class Step:
    """`state`: done, next or later."""

    title: str
    about: str
    href: str
    state: str


class HomeView(param.Parameterized):
    session = param.ClassSelector(class_=Session, constant=True)

    def __init__(self, session: Session):
        super().__init__(session=session)

    def content(self) -> dict[str, Any]:
        app = self.session.app
        run, sets, columns = app.run(), app.workspace.features.names(), app.columns
        labelled = sum(labelled_by_group(app).values())
        told = (
            ("Add images", f"{len(columns):,} images" if len(columns) else "Folders of dives or albums, with their "
             "tracks and tables", "/library", len(columns) > 0),
            ("Describe them", ", ".join(sets) if sets else "Numbers by which images can be compared", "/library",
             bool(sets)),
            ("Cluster", f"{run.summary.get('clusters', '?')} clusters in {run.name}" if run else
             "Groups of images that look alike, shared by all dives", "/library", run is not None),
            ("Look around", "Clusters, map and gallery over one selection", "/explore", labelled > 0),
            ("Name them", f"{labelled:,} images labelled" if labelled else "Whole clusters at a key stroke, with a "
             "stated error bound", "/review", len(columns) > 0 and labelled >= len(columns)),
        )
        return {"workspace": app.workspace.name, "pictures": pictures(columns.hashes),
                "steps": [asdict(step) for step in in_turn(told)]}


def in_turn(told: tuple[tuple[str, str, str, bool], ...]) -> list[Step]:
    """The first step not done is the next one."""
    following = next((at for at, step in enumerate(told) if not step[3]), len(told))
    return [Step(title, about, href, "done" if at < following else "next" if at == following else "later")
            for at, (title, about, href, _) in enumerate(told)]


def pictures(hashes: np.ndarray) -> list[str]:
    """Addresses of thumbnails from all over the workspace, evenly."""
    at = np.unique(np.linspace(0, len(hashes) - 1, min(PICTURES, len(hashes))).astype(int)) if len(hashes) else []
    return [f"/thumbnails/{hashes[number].tobytes().hex()}/320.jpg" for number in at]
