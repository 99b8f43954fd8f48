"""The Review page: label clusters with the keyboard, with an upper bound for the errors of every bulk label."""

import param

from benthoscope.app.components.base import OrderedCommandComponent
from benthoscope.app.components.notices import empty
from benthoscope.app.data.clusters.clustering_levels import compute_levels
from benthoscope.app.pages.base import BoardPage
from benthoscope.app.pages.review import auditing, cluster_edits, single_image, verification
from benthoscope.app.pages.review.content import content
from benthoscope.app.pages.review.model import Review, knows_images
from benthoscope.app.session.commands import CommandTable, Ids, Seconds
from benthoscope.app.session.session import Session


class ReviewBoard(OrderedCommandComponent):
    """Sends the commands in `COMMANDS`."""

    _module = "pages/review/page"
    _styles = ("parts", "term_field", "review", "plots")

    changes = param.Dict(default={}, doc="Entries of the content that changed since it was last sent.")
    content = param.Dict(default={}, doc="What `content.content` returns.")


KEYS = [
    ["Enter", "Label the cluster, or finish the check"],
    ["l", "Find or create a label"],
    ["0–9 A–Z", "Choose a favourite, or assign the chosen label to the key"],
    ["a", "Choose the suggested label"],
    ["n", "Next cluster"],
    ["< >", "Coarser or finer clusters"],
    ["← →", "Pages of the cluster"],
    ["+ -", "Larger or smaller tiles"],
    ["x", "Extend the chosen label to similar images"],
    ["f j", "All images of the page belong, or not"],
    ["b", "Undo the last answer"],
    ["e", "Apply the chosen label to the clicked images"],
    ["i", "Invert the clicks"],
    ["s", "Split off the clicked images, or split the cluster in two"],
    ["w", "Split the cluster automatically"],
    ["p", "Show the cluster as a plot with a lasso"],
    ["m", "Move the clicked images, or merge the cluster"],
    ["d", "Mark the cluster as a duplicate"],
    ["c", "Create a cluster from the clicked image"],
    ["o", "Label images one by one"],
    ["v", "Verify labels of others"],
    ["g", "Check random images of all bulk labels"],
    ["z y", "Undo, redo"],
    ["Esc", "Cancel"],
]


def view(session: Session):
    review = Review(session)
    if not knows_images(review.atlas):
        return empty(
            "No clusters yet",
            "On this page you label clusters. Cluster the images first.",
            ("Go to Library", "/library"),
        )
    session.keys = KEYS
    session.undo_of_page = review.undo
    page = ReviewPage(review)
    if review.audit:  # the address starts a check
        with session.attempt():
            auditing.begin_asked(review)
    return page.layout


class ReviewPage(BoardPage):
    def __init__(self, review: Review):
        super().__init__(
            review,
            ReviewBoard(sizing_mode="stretch_both"),
            content,
            COMMANDS,
            ["step", "run", "cluster", "term", "page", "lasso"],
            SILENT,
        )
        self.layout = self.board


def _open(review: Review, cluster: int) -> None:
    review.param.update(cluster=cluster, page=0)
    review.leave()


def _finish_check(review: Review, wrong: Ids = (), seconds: Seconds = ()) -> None:
    auditing.finish(review, wrong, dict(seconds))


def _record_viewing(review: Review, wrong: Ids = (), seconds: Seconds = ()) -> None:
    auditing.record_viewing(review, dict(seconds), wrong)


def _lasso(review: Review, on: bool) -> None:
    review.lasso = on


def _compute_levels(review: Review) -> None:
    compute_levels(review.session, review.reviewed_run())


SILENT = frozenset({"said"})  # commands after which the board shows what it should already
COMMANDS = CommandTable(
    {
        "name": Review.name_cluster,
        "images": Review.name_images,
        "split": cluster_edits.split_cluster,
        "model": cluster_edits.split_by_model,
        "merge": cluster_edits.merge_cluster,
        "duplicate": cluster_edits.duplicate_cluster,
        "move": cluster_edits.move_images,
        "found": cluster_edits.found_cluster,
        "lasso": _lasso,
        "verify": verification.begin,
        "confirm": verification.confirm,
        "otherwise": verification.name_otherwise,
        "single": single_image.begin,
        "more": single_image.hand_out,
        "said": single_image.record_labels,
        "level": Review.switch_level,
        "compute_levels": _compute_levels,
        "next": Review.next_cluster,
        "page": Review.turn_page,
        "open": _open,
        "grow": Review.begin_growing,
        "answer": Review.answer,
        "back": Review.take_back_answer,
        "cut": Review.move_cut,
        "accept": Review.accept_grown,
        "check": _finish_check,
        "looked": _record_viewing,
        "audit": auditing.begin_pooled,
        "withdraw": auditing.take_back,
        "leave": Review.leave,
        "undo": Review.undo,
        "redo": Review.redo,
        "press": Review.press,
        "suggested": Review.choose_suggested,
        "choose": Review.choose_term,
    }
)
