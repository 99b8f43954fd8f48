"""View model of the Review page: label a cluster, extend a label to similar images, check bulk labels."""

from collections.abc import Callable
from typing import Any

import numpy as np
import param

from benthoscope.app.data.clusters.clustered_images import Atlas, arrays_of, cluster_name, cluster_word
from benthoscope.app.data.clusters.run_view_model import RunViewModel
from benthoscope.app.data.labels import current_terms, images_text, undone_text
from benthoscope.app.data.suggestions import suggestions
from benthoscope.app.pages.review import auditing
from benthoscope.app.pages.review.levels import LevelPlace, switch_level
from benthoscope.app.pages.review.steps import Growing, growing
from benthoscope.app.session.cache import FEATURES, IMAGES, LABELS, RUNS
from benthoscope.app.session.commands import Ids, OptionalId
from benthoscope.app.session.session import Session
from benthoscope.engine.labelling.cluster_edits import Arrangement, arrangement, move, nearest_to
from benthoscope.engine.labelling.page_choice.page_layout import extremes_first
from benthoscope.engine.labelling.speed import LabellingPace, PaceCounter
from benthoscope.engine.labelling.suggestions import Suggestions
from benthoscope.engine.problems import fail
from benthoscope.engine.workspace import Run
from benthoscope.engine.workspace.labels.events import Event
from benthoscope.engine.workspace.labels.vocabularies import Term

MODES = ("cluster", "grow", "check", "verify", "single")
ON_TABLE = 60  # images of a cluster on one page
SORTED = 4_000  # members sorted by difference; a random sample of this size for larger clusters
MOST_GROWN = 100_000


class Review(RunViewModel):
    """`step` grows with every command; the board is redrawn when it changes."""

    cluster = param.Integer(default=None, allow_None=True, doc="The shown cluster; None is the next one to label.")
    term = param.Integer(default=None, allow_None=True, doc="Id of the chosen term, which Enter applies.")
    page = param.Integer(default=0, bounds=(0, None), doc="Page of the cluster.")
    mode: param.Selector[str] = param.Selector(default="cluster", objects=list(MODES), doc="The current task.")
    lasso = param.Boolean(default=False, doc="Whether the cluster is shown as a plot with a lasso.")
    audit = param.List(default=[], item_type=int, doc="Label events to check, from the address; one or several.")
    step = param.Integer(default=0, doc="Grows with every command.")

    def __init__(self, session: Session, **values: Any):
        super().__init__(session=session, **values)
        session.address.bind(self, "run", "cluster", "page", "term", "audit")
        self.growing: Growing | None = None
        self.checking: auditing.AuditPage | None = None
        self.verifying: Any = None  # a verification.Verifying
        self.one_by_one: Any = None  # a single_image.OneByOne
        self.last_event = session.app.workspace.labels.last_number()
        self._pace_counters: dict[int, PaceCounter] = {}  # by person
        self.level_places: dict[int, LevelPlace] = {}  # where this person was at each level, by run

    def reviewed_run(self) -> Run:
        run = self.atlas.run
        if run is None:
            raise fail("run", "there is no clustering to review", "cluster the images first, in Library")
        return run

    def name_of(self, cluster: int) -> str:
        return cluster_name(self.app, self.reviewed_run(), cluster)

    def noun(self) -> str:
        """The word for a cluster of the run: cluster or topic."""
        return cluster_word(self.reviewed_run()).lower()

    def person_id(self) -> int:
        return self.session.require_person().id

    # --- content

    def arrangement(self) -> Arrangement:
        """The clusters of the run with the cluster edits of people applied."""
        run, edits = self.reviewed_run(), self._edits()
        return self.app.cached(
            ("arrangement", run.id, self.edit_numbers()),
            lambda: arrangement(run.id, np.asarray(run.array("image_ids")), np.asarray(run.array("labels")), edits),
            RUNS,
        )

    def edit_numbers(self) -> tuple[int, ...]:
        """Numbers of the cluster edits of the run, part of the keys of cached values."""
        return tuple(event.number for event in self._edits())

    def _edits(self) -> list[Event]:
        run_id = self.reviewed_run().id
        effective, _ = self.app.workspace.labels.effective()
        return [event for event in effective if event.kind == "arrange" and event.run_id == run_id]

    def pace(self, person_id: int) -> LabellingPace:
        """How fast a person labels, counted on from the last call."""
        counter = self._pace_counters.setdefault(person_id, PaceCounter(person_id))
        return counter.update(*self.app.workspace.labels.effective())

    def labelled(self) -> dict[str, np.ndarray]:
        """Current labels: {images, terms}."""
        images, terms = current_terms(self.app)
        return {"images": images, "terms": terms}

    def suggestions(self) -> Suggestions | None:
        return suggestions(self.app)

    def terms(self) -> list[Term]:
        return self.app.cached("terms in order", self.app.workspace.vocabularies.all_terms, LABELS)

    def chosen_term(self) -> Term | None:
        return next((term for term in self.terms() if term.id == self.term), None)

    def open_share(self) -> dict[int, float]:
        """{cluster: share of its images without a label}."""
        arranged = self.arrangement()
        unlabelled = ~np.isin(arranged.images, self.labelled()["images"])
        sizes, open_ = (np.bincount(arranged.clusters, weights) for weights in (None, unlabelled))
        return {int(cluster): float(open_[cluster] / sizes[cluster]) for cluster in np.flatnonzero(sizes)}

    def current_cluster(self) -> int:
        """The shown cluster: the chosen one, or the one with most unlabelled images."""
        sizes = self.arrangement().sizes()
        return self.cluster if self.cluster in sizes else max(sizes, key=self._urgency())

    def _urgency(self) -> Callable[[int], tuple[bool, bool, float]]:
        """The order of clusters to label: by their unlabelled images. Images without a cluster come last: they do not
        belong together."""
        shares, sizes, outside = self.open_share(), self.arrangement().sizes(), self.reviewed_run().without_cluster
        return lambda cluster: (shares[cluster] > 0, cluster != outside, shares[cluster] * sizes[cluster])

    def members(self) -> np.ndarray:
        """Images of the shown cluster, the most different first, labelled ones last."""
        cluster = self.current_cluster()
        return self.app.cached(
            ("in order", self.reviewed_run().id, cluster),
            lambda: self._ordered(cluster),
            (IMAGES, LABELS, RUNS, FEATURES),
        )

    def table(self) -> np.ndarray:
        """The images on the page."""
        page = self.shown_page()
        return self.members()[page * ON_TABLE : (page + 1) * ON_TABLE]

    def pages(self) -> int:
        """Number of pages of the cluster."""
        return -(-len(self.members()) // ON_TABLE)

    def shown_page(self) -> int:
        """The page, or the last one if the cluster has fewer: an address may be older than the cluster."""
        return min(self.page, max(self.pages() - 1, 0))

    # --- commands on a cluster

    def name_cluster(self, exceptions: Ids = ()) -> None:
        """Label every unlabelled image of the cluster with the chosen term, except `exceptions`; then start a check."""
        person_id, term, left_out = self.person_id(), self.chosen_or_fail(), np.array(sorted(set(exceptions)), np.int64)
        self.cluster = self.current_cluster()  # stays in view until its check is done
        members = np.sort(self.members())
        unlabelled = np.setdiff1d(members, self.labelled()["images"])
        chosen = np.setdiff1d(unlabelled if len(unlabelled) else members, left_out)
        rule = {"cluster": self.cluster, "exceptions": len(left_out)}
        conflict_text = self.conflict_warning(members)
        number = self.app.workspace.labels.label(
            person_id, chosen, term.id, why="review", run_id=self.reviewed_run().id, rule=rule
        )
        self.notify(f'Labelled {images_text(len(chosen))} "{term.name}"{conflict_text}')
        auditing.begin(self, [number])

    def name_images(self, images: Ids) -> None:
        """Label single images with the chosen term: the exceptions of a page."""
        ids, term = sorted(set(images)), self.chosen_or_fail()
        self.cluster = self.current_cluster()  # stays in view, although it has fewer unlabelled images now
        conflict_text = self.conflict_warning(np.array(ids, np.int64))
        self.app.workspace.labels.label(
            self.person_id(),
            ids,
            term.id,
            why="manual",
            run_id=self.reviewed_run().id,
            rule={"cluster": self.current_cluster()},
        )
        self.notify(f'Labelled {images_text(len(ids))} "{term.name}"{conflict_text}')
        self.moved()

    def conflict_warning(self, images: np.ndarray) -> str:
        """A warning if others labelled some of these images since the last command of this person, else ''."""
        events = self.app.workspace.labels.changed_by_others(self.person_id(), self.last_event, images)
        names = {person.id: person.name for person in self.app.workspace.people.all()}
        names_of_others = sorted({names[event.person_id] for event in events if event.kind == "label"})
        return f"; {' and '.join(names_of_others)} also labelled some of them: see Labels" if names_of_others else ""

    def turn_page(self, by: int) -> None:
        """Turn the pages of the cluster, within its first and last page. The cluster is stored with the page, so that
        both are in the address."""
        page = min(max(self.shown_page() + by, 0), max(self.pages() - 1, 0))
        self.param.update(cluster=self.current_cluster(), page=page)

    def next_cluster(self) -> None:
        """Show the other cluster with most unlabelled images."""
        current, shares = self.current_cluster(), self.open_share()
        waiting = [cluster for cluster in shares if cluster != current and shares[cluster] > 0]
        cluster = max(waiting, key=self._urgency(), default=current)
        self.param.update(mode="cluster", page=0, cluster=cluster)
        self.step += 1

    def switch_level(self, direction: str) -> None:
        """Continue with the clusters of the next coarser or finer level. Labels belong to images and stay."""
        switch_level(self, direction)

    # --- extending a label

    def begin_growing(self, seed: OptionalId = None) -> None:
        """Rank unlabelled images by the model's probability of the chosen term. If the model does not know the term,
        rank them by similarity to the seed image or to the shown cluster."""
        term = self.chosen_or_fail()
        ranking, probability = self._ranked(term.id, seed)
        if not len(ranking):
            raise fail("extend", "every image has a label", "there is nothing to add")
        self.growing = growing(term.id, ranking[:MOST_GROWN], probability[:MOST_GROWN])
        self.moved("grow")

    def answer(self, belongs: bool, without: Ids = ()) -> None:
        """Record whether all images of the page belong, except the images in `without`."""
        self.growing = self._growing().without(list(without)).answered(belongs)
        self.moved("grow")

    def take_back_answer(self) -> None:
        self.growing = self._growing().back()
        self.moved("grow")

    def move_cut(self, pages: int) -> None:
        self.growing = self._growing().moved(pages)
        self.moved("grow")

    def accept_grown(self) -> None:
        """Label the images before the cut, then start a check."""
        state = self._growing()
        if state.into is not None:
            self._take_into_cluster(state.into, state.accepted_images())
        elif state.term_id is not None:
            self._label_extension(state, state.term_id)

    def _label_extension(self, state: Growing, term_id: int) -> None:
        images = state.accepted_images()
        rule = {**state.search.to_dict(), "cut": state.pages_taken, "moved": state.cut is not None}
        number = self.app.workspace.labels.label(
            self.person_id(), images, term_id, why="review", run_id=self.reviewed_run().id, rule=rule
        )
        self.growing = None
        self.notify(f'Labelled {images_text(len(images))} "{self._term_named(term_id).name}"')
        auditing.begin(self, [number])

    # --- checking

    def after_check(self) -> None:
        """Train the model on the new labels and show the next cluster, after a check."""
        self.audit = []
        self._learn()
        self.next_cluster()

    def leave(self) -> None:
        """Return to the clusters; labels stay."""
        self.checking = self.growing = self.verifying = self.one_by_one = None
        self.audit = []
        self.moved("cluster")

    # --- undo and choice of the label

    def undo(self) -> None:
        number = self.app.workspace.labels.undo_last(self.person_id())
        self.notify(undone_text(self.app, number), undo=False)
        self._stay_or_leave_check()

    def redo(self) -> None:
        number = self.app.workspace.labels.redo_last(self.person_id())
        self.notify(undone_text(self.app, number, again=True), undo=False)
        self._stay_or_leave_check()

    def press(self, key: str) -> None:
        """Choose the favourite on a key; an unassigned key is assigned the chosen term."""
        favourites, person_id = self.app.workspace.favourites, self.person_id()
        term_id = favourites.of(person_id).get(key)
        if term_id is None:
            term_id = self.chosen_or_fail().id
            favourites.choose(person_id, key, term_id)
        self.term = term_id
        self.step += 1

    def choose_term(self, term: int) -> None:
        self.term = self._term_named(term).id
        self.step += 1

    def suggested(self, cluster: int) -> tuple[Term, float] | None:
        """The most frequent label, or else suggestion, of the members, and its share."""
        members, labels = self.arrangement().members(cluster), self.labelled()
        terms_in_cluster = labels["terms"][np.isin(labels["images"], members)]
        if not len(terms_in_cluster) and (suggestions := self.suggestions()) is not None:
            terms_in_cluster = suggestions.best()[0][np.isin(suggestions.image_ids, members)]
        terms, counts = np.unique(terms_in_cluster, return_counts=True)
        best = next((term for term in self.terms() if len(terms) and term.id == terms[counts.argmax()]), None)
        return None if best is None else (best, float(counts.max() / counts.sum()))

    def choose_suggested(self) -> None:
        best = self.suggested(self.current_cluster())
        if best is None:
            raise fail("suggestion", f"there is none for this {self.noun()} yet", "press l and choose a label")
        self.choose_term(best[0].id)

    # --- inside

    def _stay_or_leave_check(self) -> None:
        """Leave a check, because its labels may have been undone."""
        self.checking = None
        self.moved("cluster" if self.mode == "check" else self.mode)

    def _ordered(self, cluster: int) -> np.ndarray:
        members = self.arrangement().members(cluster)
        if len(members) > SORTED:
            members = np.random.default_rng(cluster).permutation(members)
        first, remaining = members[:SORTED], members[SORTED:]
        ordered = np.concatenate([first[extremes_first(self.rows_of(first))], remaining])
        done = np.isin(ordered, self.labelled()["images"])
        return np.concatenate([ordered[~done], ordered[done]])

    def rows_of(self, images: np.ndarray) -> np.ndarray:
        """Features of the images."""
        feature_set = self.app.features(self.reviewed_run().features)
        ids = self.app.cached(
            ("order of ids", feature_set.name),
            lambda: np.argsort(np.asarray(feature_set.image_ids)),
            (IMAGES, FEATURES),
        )
        positions = ids[np.searchsorted(feature_set.image_ids, images, sorter=ids)]
        return np.asarray(feature_set.X[np.sort(positions)])[np.argsort(np.argsort(positions))]

    def _ranked(self, term_id: int, seed: int | None) -> tuple[np.ndarray, np.ndarray]:
        suggestions, done = self.suggestions(), self.labelled()["images"]
        if seed is None and suggestions is not None and term_id in suggestions.terms:
            P = np.asarray(suggestions.probabilities[:, int(np.flatnonzero(suggestions.terms == term_id)[0])])
            free = np.flatnonzero(~np.isin(suggestions.image_ids, done))
            order = free[np.argsort(-P[free], kind="stable")]
            return np.asarray(suggestions.image_ids)[order], P[order]
        return self._by_likeness(seed, done)

    def _take_into_cluster(self, cluster: int, images: np.ndarray) -> None:
        if len(images):
            move(self.app.workspace.labels, self.person_id(), self.arrangement(), np.sort(images), cluster)
        self.growing = None
        self.notify(f"Moved {images_text(len(images))} to {self.noun()} {cluster}")
        self.param.update(cluster=cluster, page=0)
        self.moved("cluster")

    def _by_likeness(self, seed: int | None, done: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Images by similarity, all with probability 0.5, because only their order is known."""
        images = self.arrangement().images
        rows = self.rows_of(images)
        if seed is not None:
            order = nearest_to(rows, int(np.searchsorted(images, seed)))
        else:
            centre = rows[np.isin(images, self.arrangement().members(self.current_cluster()))].mean(0)
            order = np.argsort(((rows - centre) ** 2).sum(1), kind="stable")
        order = order[~np.isin(images[order], done)]
        return images[order], np.full(len(order), 0.5)

    def _learn(self) -> None:
        """Queue the training of the model on the new labels, unless it is queued already."""
        waiting = any(job.kind == "learn" and job.state == "queued" for job in self.app.queue.unfinished())
        if len(np.unique(self.labelled()["terms"])) > 1 and not waiting:
            self.app.queue.add("learn", {"run": self.reviewed_run().id})

    def _growing(self) -> Growing:
        if self.growing is None:
            raise fail("extend", "no label is being extended", "press x first")
        return self.growing

    def chosen_or_fail(self) -> Term:
        term = self.chosen_term()
        if term is None:
            raise fail("label", "no label is chosen", "press l and type a label")
        return term

    def _term_named(self, term_id: int) -> Term:
        return self.app.workspace.vocabularies.term(term_id)

    def notify(self, text: str, *, undo: bool = True) -> None:
        self.session.changed(LABELS)
        self.session.notify(text, undo=self.undo if undo else None)

    def moved(self, mode: str | None = None) -> None:
        self.last_event = self.app.workspace.labels.last_number()
        self.param.update(mode=mode or self.mode, step=self.step + 1)


def knows_images(atlas: Atlas) -> bool:
    return atlas.run is not None and {"image_ids", "labels"} <= arrays_of(atlas.run)
