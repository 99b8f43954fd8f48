"""The Topics page: cards of topics, topics along dives, images by their mixture of topics, and the fit."""

import panel as pn
import param

from benthoscope.app.components.base import CommandComponent
from benthoscope.app.components.forms import JobForm, form_dialog
from benthoscope.app.data.naming import name_segment
from benthoscope.app.pages.base import Background, Page
from benthoscope.app.pages.topics.content import Values, content
from benthoscope.app.pages.topics.forms import adding, finding
from benthoscope.app.pages.topics.model import TopicsView
from benthoscope.app.session.commands import CommandTable
from benthoscope.app.session.session import Session
from benthoscope.engine.jobs.cluster.topic_regions import Region


class TopicsBoard(CommandComponent):
    """Sends the commands in `COMMANDS`, and `start` and `add` for the forms. `finished` tells that a job is done."""

    _module = "pages/topics/page"
    _styles = ("parts", "explore", "objects", "runs", "plots", "term_field", "topics")

    content = param.Dict(default={}, doc="Content of the page; empty until it is computed.")


KEYS = [
    ["1 to 4", "Open a part of this page"],
    ["f", "Find a topic by its name or number"],
    ["Enter", "Open a patch's image"],
    ["s", "Show or hide the topics over an image"],
    ["Shift", "Hold it and drag over an image: find images with the topics of this region"],
]


def view(session: Session) -> pn.viewable.Viewable:
    session.keys = KEYS
    page = TopicsPage(TopicsView(session), JobForm(session))
    return pn.Column(page.board, form_dialog(page.form), sizing_mode="stretch_width")


class TopicsPage(Page):
    """Connects the board with the view model. Drawing reads features and masks, so a thread does it."""

    def __init__(self, model: TopicsView, form: JobForm):
        super().__init__(model, COMMANDS, self)
        self.form = form
        self.board = TopicsBoard(self.run_command, sizing_mode="stretch_width")
        self.background = Background(pn.state.curdoc)
        model.param.watch(
            lambda *_: self.draw(),
            ["run", "part", "kind", "order", "word", "dive", "mixture", "like", "region", "shown"],
        )
        model.session.param.watch(lambda *_: self.draw(), "version")
        form.param.watch(lambda *_: self.draw(), "queued")
        self.draw()

    def draw(self) -> None:
        self.background.soon("topics", lambda: {**content(self.model), "started": self.form.queued}, self._show)

    def _show(self, content: Values) -> None:
        self.board.content = content

    def start(self) -> None:
        """Open the form that finds topics."""
        with self.model.session.attempt():
            self.form.open(finding(self.model.app))

    def finished(self, number: int) -> None:
        """Show the run of a job that this page started. Jobs of others do not change what is shown."""
        if number not in list(self.form.queued):
            return
        job = self.model.app.queue.get(number)
        if job.state == "done" and job.result and "run" in job.result:
            self.form.queued = []
            self.model.run = int(job.result["run"])

    def add(self) -> None:
        """Open the form that adds images."""
        with self.model.session.attempt():
            self.form.open(adding(self.model.app, self.model.required_topics()))


def _show_part(page: TopicsPage, name: str) -> None:
    page.model.part = name


def _show_kind(page: TopicsPage, name: str) -> None:
    page.model.kind = name


def _set_order(page: TopicsPage, name: str) -> None:
    page.model.order = name


def _set_word(page: TopicsPage, word: str) -> None:
    page.model.word = word


def _finished(page: TopicsPage, job: int) -> None:
    page.finished(job)


def _show_run(page: TopicsPage, run: int) -> None:
    page.model.run = run


def _show_dive(page: TopicsPage, dive: int) -> None:
    page.model.dive = dive


def _find_mixture(page: TopicsPage, text: str) -> None:
    page.model.find_mixture(text)


def _find_like(page: TopicsPage, image: int) -> None:
    page.model.find_like(image)


def _find_region(page: TopicsPage, image: int, left: float, top: float, width: float, height: float) -> None:
    page.model.find_region(Region(image, left, top, width, height))


def _show_more(page: TopicsPage) -> None:
    page.model.show_more()


def _name_topic(page: TopicsPage, topic: int, name: str) -> None:
    page.model.name_topic(topic, name)


def _name_segment(page: TopicsPage, id_: int, number: int, word: str) -> None:
    name_segment(page.model.session, page.model.required_topics().atlas, id_, number, word)


COMMANDS = CommandTable(
    {
        "start": TopicsPage.start,
        "add": TopicsPage.add,
        "part": _show_part,
        "kind": _show_kind,
        "order": _set_order,
        "word": _set_word,
        "run": _show_run,
        "finished": _finished,
        "dive": _show_dive,
        "mixture": _find_mixture,
        "like": _find_like,
        "region": _find_region,
        "more": _show_more,
        "name": _name_topic,
        "segment": _name_segment,
    }
)
