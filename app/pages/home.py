"""The Home page: the steps from a folder of images to labelled clusters, and how far this workspace is."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import panel as pn
import param

from benthoscope.app.components.base import CommandComponent
from benthoscope.app.components.import_dialog import ImportDialog, import_dialog
from benthoscope.app.data.group_words import group_words
from benthoscope.app.data.labels import labelled_by_group
from benthoscope.app.pages.registry import PAGES
from benthoscope.app.session.commands import CommandTable
from benthoscope.app.session.required import required
from benthoscope.app.session.session import Session, first_visits

PICTURES = 36  # images in the strip at the top
JOB_KINDS = {"Add images": ("import",), "Describe": ("features",), "Cluster": ("cluster", "steer")}


@dataclass(frozen=True)
class Step:
    """One step. `state` is done, next or later; `job_kinds` are the kinds of jobs that carry it out."""

    title: str
    about: str
    href: str
    state: str
    job_kinds: tuple[str, ...] = ()


class HomeView(param.Parameterized):
    session = required(Session)

    def __init__(self, session: Session):
        super().__init__(session=session)

    def content(self) -> dict[str, Any]:
        app = self.session.app
        run, sets, columns = app.run(), app.workspace.features.names(), app.columns
        words = group_words(app)
        labelled = sum(labelled_by_group(app).values())
        looked = run is not None and ("explore" in first_visits(app) or labelled > 0)
        steps = (
            (
                "Add images",
                f"{len(columns):,} images"
                if len(columns)
                else "Folders of dives or albums, with navigation files and tables",
                "/library",
                len(columns) > 0,
            ),
            ("Describe", ", ".join(sets) if sets else "Compute image features", "/library", bool(sets)),
            (
                "Cluster",
                f"{run.summary.get('clusters', '?')} clusters in {run.name}"
                if run
                else f"Find groups of similar images in all {words.plural}",
                "/library",
                run is not None,
            ),
            ("Explore", "Browse clusters on a map, plot and gallery", "/explore", looked),
            (
                "Label",
                f"{labelled:,} images labelled"
                if labelled
                else "Sort one page of typical images; a model then suggests labels for the rest",
                "/learn",
                len(columns) > 0 and labelled >= len(columns),
            ),
        )
        return {
            "workspace": app.workspace.name,
            "pictures": pictures(columns.hashes),
            "steps": [asdict(step) for step in in_turn(steps)],
            "empty": not len(columns),
        }


def in_turn(steps: tuple[tuple[str, str, str, bool], ...]) -> list[Step]:
    """The steps with their states. The first step that is not done is the next one."""
    following = next((at for at, step in enumerate(steps) if not step[3]), len(steps))
    return [
        Step(
            title,
            about,
            href,
            "done" if at < following else "next" if at == following else "later",
            JOB_KINDS.get(title, ()),
        )
        for at, (title, about, href, _) in enumerate(steps)
    ]


def pictures(hashes: np.ndarray) -> list[str]:
    """Addresses of thumbnails of images evenly spaced over the workspace."""
    at: np.ndarray | list[int] = (
        np.unique(np.linspace(0, len(hashes) - 1, min(PICTURES, len(hashes))).astype(int)) if len(hashes) else []
    )
    return [f"/thumbnails/{hashes[number].tobytes().hex()}/320.jpg" for number in at]


class HomeBoard(CommandComponent):
    """Its one command is `choose`: choose a folder to be imported, described and clustered."""

    _module = "pages/home/page"
    _styles = ("parts", "home")

    content = param.Dict(default={}, doc="Content of HomeView.")


def _choose(starting: ImportDialog) -> None:
    starting.open()


COMMANDS = CommandTable({"choose": _choose})


def view(session: Session) -> pn.viewable.Viewable:
    home, starting = HomeView(session), ImportDialog(session, "start")
    on_message = session.handler(COMMANDS, starting)
    board = HomeBoard(on_message, content=_reachable(home.content()), sizing_mode="stretch_width")
    session.param.watch(lambda _: board.param.update(content=_reachable(home.content())), "version")
    return pn.Column(board, import_dialog(starting), sizing_mode="stretch_width")


def _reachable(content: dict) -> dict:
    """The content without links to pages that do not exist."""
    known = {f"/{page.slug}" for page in PAGES}
    steps = [step for step in content["steps"] if step["href"] in known]
    return {**content, "steps": steps}
