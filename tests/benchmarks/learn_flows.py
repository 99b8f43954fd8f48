"""Ways to label a set with the pages Learn and Review: a simulated expert uses their view models, as the browser
does."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from benthoscope.app.pages.learn.model import Learn
from benthoscope.app.pages.learn.typical import images_without_model
from benthoscope.app.pages.review.model import Review
from benthoscope.app.session.app_state import AppState
from benthoscope.app.session.session import Session
from benthoscope.engine.jobs import run_now
from tests.benchmarks.experts import Expert, Point
from tests.benchmarks.known_sets import KnownSet
from tests.benchmarks.known_workspace import KnownWorkspace, known_workspace

PERSON = "Ann"
FIRST = 20  # random labels, where a flow starts with them
IN_VIEW = 24  # images of a cluster on the first screen
PAGES = 120  # at most
WIDE = 6  # columns of a page of large tiles


@dataclass(frozen=True)
class LearnPages:
    """The page Learn of one tab, the page Review of another one, and the expert who uses them."""

    expert: Expert
    place: KnownWorkspace
    learn: Learn
    review: Review
    rng: np.random.Generator

    @classmethod
    def opened(cls, place: KnownWorkspace, expert: Expert, rng: np.random.Generator) -> "LearnPages":
        app = AppState(place.workspace)
        learn, review = Session(app, "learn", person=PERSON), Session(app, "review", person=PERSON)
        return cls(expert, place, Learn(learn), Review(review), rng)

    def point(self) -> Point:
        """Return the state: images without a label have the model's suggestion."""
        final, suggestions = np.full(len(self.place.ids), -1), self.learn.suggestions()
        if suggestions is not None:
            final[self.place.rows_of(suggestions.image_ids)] = self.place.classes_of(suggestions.best()[0])
        images, terms = self.learn.current()
        final[self.place.rows_of(images)] = self.place.classes_of(terms)
        return self.expert.point(final)

    def train(self) -> None:
        self._run("learn")

    def use_page(self, queue: str) -> bool:
        """Work through the next page of a queue as its keys allow, and train the model. Returns whether there was
        one."""
        if self.learn.queue != queue:
            self.learn.choose_queue(queue)
        if queue == "typical" and not len(self.learn.table().rows if self.learn.suggestions() else self._first_rows()):
            self._run("typical images", seed=self.learn.batch)
        table = self.learn.table()
        if not len(table.rows):
            return False
        if queue == "groups":
            self._name_group()
        else:
            self._sort()
        self.train()
        return True

    def name_at_random(self, count: int) -> None:
        """Label random images one by one, without a model."""
        for row in self.rng.permutation(len(self.place.ids))[:count]:
            self.expert.name(row)
            self.review.choose_term(int(self.place.terms[self.expert.labels[row]]))
            self.review.name_images([int(self.place.ids[row])])
        self.learn.session.changed("labels")

    def name_clusters(self) -> None:
        """Name every cluster of the run that looks pure at a glance, and skip the check of its labels."""
        sizes = self.review.arrangement().sizes()
        for cluster in sorted(sizes, key=lambda number: -sizes[number]):
            self.review.cluster = cluster
            named = self.expert.names_group(self.place.rows_of(self.review.table()[:IN_VIEW]))
            if named >= 0:
                self.review.choose_term(int(self.place.terms[named]))
                self.review.name_cluster()
                self.expert.skip()
                self.review.leave()
        self.learn.session.changed("labels")

    def _first_rows(self) -> np.ndarray:
        return np.empty(0) if images_without_model(self.learn.app) is None else self.learn.table().rows

    def _sort(self) -> None:
        table, columns = self.learn.table(), self.learn.columns if len(self.learn.table().rows) > IN_VIEW else WIDE
        best, rows = table.best_terms(), self.place.rows_of(table.ids)
        shown = np.full(len(rows), -1)
        if best:
            shown = self.place.classes_of(np.array([best[image] for image in table.ids.tolist()]))
        for kind, tiles in self.expert.sorted_page(rows, shown, columns):
            self.learn.choose_term(int(self.place.terms[kind]))
            self.learn.give_term(self.place.ids[tiles].tolist())
        self.learn.accept({}, table.number)

    def _name_group(self) -> None:
        rows = self.place.rows_of(self.learn.table().ids)
        named = self.expert.names_group(rows)
        if named < 0:
            self.learn.skip()
            return
        wrong = self.expert.marked_in_group(rows, named)
        self.learn.choose_term(int(self.place.terms[named]))
        self.learn.give_term(self.place.ids[np.setdiff1d(rows, wrong)].tolist())

    def _run(self, kind: str, **parameters: int) -> None:
        assert run_now(self.place.workspace, kind, parameters).state == "done"
        self.learn.session.changed("labels")


def typical_then_sort(known: KnownSet, expert: Expert, rng: np.random.Generator) -> Iterator[Point]:
    """Label one page of typical images, then pages of uncertain images."""
    with known_workspace(known) as place:
        pages = LearnPages.opened(place, expert, rng)
        yield from _worked(pages, ["typical"])


def random_then_sort(known: KnownSet, expert: Expert, rng: np.random.Generator) -> Iterator[Point]:
    """Label twenty random images, then pages of uncertain images."""
    with known_workspace(known) as place:
        pages = LearnPages.opened(place, expert, rng)
        pages.name_at_random(FIRST)
        pages.train()
        yield from _worked(pages, [])


def clusters_then_sort(known: KnownSet, expert: Expert, rng: np.random.Generator) -> Iterator[Point]:
    """Name the clusters that look pure, and twenty random images; then groups and pages of uncertain images in turn."""
    with known_workspace(known) as place:
        pages = LearnPages.opened(place, expert, rng)
        pages.name_clusters()
        pages.name_at_random(FIRST)
        pages.train()
        yield from _worked(pages, ["groups", "sort"] * 3)


def next_best(known: KnownSet, expert: Expert, rng: np.random.Generator) -> Iterator[Point]:
    """Follow "Next best" from the first page on."""
    with known_workspace(known) as place:
        pages = LearnPages.opened(place, expert, rng)
        for _ in range(PAGES):
            best = pages.learn.next_best()
            if best is None or not pages.use_page(best["queue"]):
                break
            yield pages.point()


def _worked(pages: LearnPages, queues: list[str]) -> Iterator[Point]:
    """Use one page of each of these queues, then pages of the queue "sort"."""
    for queue in [*queues, *["sort"] * PAGES]:
        yield pages.point()
        if not pages.use_page(queue) and queue == "sort":
            break
    yield pages.point()
