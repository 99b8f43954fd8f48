"""Review: clusters get their names by the keyboard, and every bulk act a stated bound of its errors."""

from collections.abc import Callable, Mapping

from app.components.notices import empty
from app.components.review_board import ReviewBoard
from app.pages.board_page import BoardPage, Told
from app.state import one_by_one, rearranging, verifying
from app.state.review import Review, knows_images
from app.state.review_views import content
from app.state.session import Session

KEYS = [["Enter", "Name the cluster, or end the check"], ["l", "Choose a term by its first letters"],
        ["0–9 A–Z", "Choose your favourite; a free key takes the chosen term"],
        ["a", "Take the suggested name"],
        ["n", "Next cluster"], ["← →", "Pages of the cluster"], ["x", "Extend: rank all other images for the term"],
        ["f j", "All of the page belong, or not"], ["b", "Take the last answer back"],
        ["e", "Name the clicked images with the chosen term"], ["i", "Invert what is clicked"],
        ["s", "Split the clicked images off, or the cluster in two"], ["w", "Split the cluster by the model"],
        ["p", "The cluster as a plane, for a lasso"], ["m", "Move the clicked images, or merge the cluster"],
        ["d", "Mark the cluster as a duplicate"], ["c", "Begin a cluster with the clicked image"],
        ["o", "Name images one by one"], ["v", "Verify labels of others"],
        ["z y", "Undo, redo"], ["Esc", "Leave what you are in"]]


def view(session: Session):
    review = Review(session)
    if not knows_images(review.atlas):
        return empty("Nothing to review yet", "Review names clusters, so cluster the images first.",
                     ("Go to Library", "/library"))
    session.keys = KEYS
    return ReviewPage(review).layout


class ReviewPage(BoardPage):
    def __init__(self, review: Review):
        super().__init__(review, ReviewBoard(sizing_mode="stretch_both"), content, ACTS,
                         ["step", "run", "cluster", "term", "page", "lasso"], SILENT)
        self.layout = self.board


def _turn(review: Review, told: Told) -> None:
    review.turn_page(int(told["by"]))


def _open(review: Review, told: Told) -> None:
    review.param.update(cluster=int(told["cluster"]), page=0)
    review.leave()


SILENT = frozenset({"said"})  # acts after which the board shows what it should already
ACTS: Mapping[str, Callable[[Review, Told], None]] = {
    "name": lambda review, told: review.name_cluster(map(int, told.get("exceptions", ()))),
    "images": lambda review, told: review.name_images(map(int, told["images"])),
    "split": lambda review, told: rearranging.split_cluster(review, map(int, told.get("images", ()))),
    "model": lambda review, told: rearranging.split_by_model(review),
    "merge": lambda review, told: rearranging.merge_cluster(review, int(told["into"])),
    "duplicate": lambda review, told: rearranging.duplicate_cluster(review, int(told["into"])),
    "move": lambda review, told: rearranging.move_images(review, map(int, told["images"]), int(told["into"])),
    "found": lambda review, told: rearranging.found_cluster(review, int(told["image"])),
    "lasso": lambda review, told: review.param.update(lasso=bool(told["on"])),
    "verify": lambda review, told: verifying.begin(review),
    "confirm": lambda review, told: verifying.confirm(review, map(int, told.get("wrong", ()))),
    "otherwise": lambda review, told: verifying.name_otherwise(review, map(int, told["images"])),
    "single": lambda review, told: one_by_one.begin(review),
    "more": lambda review, told: one_by_one.hand_out(review),
    "said": lambda review, told: one_by_one.said(review, [(int(image), int(term)) for image, term in told["pairs"]]),
    "next": lambda review, told: review.next_cluster(),
    "page": _turn, "open": _open,
    "grow": lambda review, told: review.begin_growing(int(told["seed"]) if told.get("seed") else None),
    "answer": lambda review, told: review.answer(bool(told["belongs"]), map(int, told.get("without", ()))),
    "back": lambda review, told: review.take_back_answer(),
    "cut": lambda review, told: review.move_cut(int(told["pages"])),
    "accept": lambda review, told: review.accept_grown(),
    "check": lambda review, told: review.finish_check(map(int, told.get("wrong", ()))),
    "leave": lambda review, told: review.leave(),
    "undo": lambda review, told: review.undo(),
    "redo": lambda review, told: review.redo(),
    "press": lambda review, told: review.press(str(told["key"])),
    "suggested": lambda review, told: review.choose_suggested(),
    "choose": lambda review, told: review.choose_term(int(told["term"])),
}
