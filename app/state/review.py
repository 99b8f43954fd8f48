"""Review: a cluster gets its name by one key, exceptions by a click; lists are grown page by page; acts are checked."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import param

from app.state.app_state import AppState
from app.state.atlas import Atlas, arrays_of, atlas_of
from app.state.reviewing import PAGE, Checking, Growing, checking, growing
from app.state.session import Session
from app.state.terms import current_terms
from engine.labelling.arrangement import Arrangement, arrangement, move, nearest_to
from engine.labelling.audit import record_audit
from engine.labelling.ordering import extremes_first
from engine.labelling.suggestion_store import Suggestions, SuggestionStore
from engine.problems import fail
from engine.workspace.events import standing
from engine.workspace.vocabularies import Term

MODES = ("cluster", "grow", "check", "verify", "single")
ON_TABLE = 60      # images of a cluster on one page
SORTED = 4_000     # members that are put in order; of more a sample shows what there is
MOST_GROWN = 100_000


class Review(param.Parameterized):
    """`step` grows with every act; what is drawn depends on it."""

    session = param.ClassSelector(class_=Session, constant=True, doc="The tab.")
    run = param.Integer(default=None, allow_None=True, doc="Number of the run; None is the current one.")
    cluster = param.Integer(default=None, allow_None=True, doc="The cluster on the table; None is the next to do.")
    term = param.Integer(default=None, allow_None=True, doc="Id of the term that Enter gives.")
    page = param.Integer(default=0, bounds=(0, None), doc="Page of the cluster.")
    mode = param.Selector(default="cluster", objects=list(MODES), doc="What is being done.")
    lasso = param.Boolean(default=False, doc="Whether the cluster is shown as a plane to draw a lasso on.")
    step = param.Integer(default=0, doc="Grows with every act.")

    def __init__(self, session: Session, **values: Any):
        super().__init__(session=session, **values)
        session.address.bind(self, "run", "cluster", "term")
        self.growing: Growing | None = None
        self.checking: Checking | None = None
        self.verifying: Any = None   # of app.state.verifying
        self.one_by_one: Any = None  # of app.state.one_by_one
        self.seen = session.app.workspace.labels.last_number()

    @property
    def app(self) -> AppState:
        return self.session.app

    @property
    def atlas(self) -> Atlas:
        return atlas_of(self.app, self.run)

    def who(self) -> int:
        return self.session.who_or_fail().id

    # --- what there is

    def arrangement(self) -> Arrangement:
        """The clusters of the run as people have arranged them since."""
        atlas = self.atlas
        if atlas.run is None:
            raise fail("run", "there is none to review", "cluster the images first, in Library")
        return self.app.kept(("arrangement", atlas.run.id), lambda: arrangement(
            atlas.run.id, np.asarray(atlas.run.array("image_ids")), np.asarray(atlas.run.array("labels")),
            standing(self.app.workspace.labels.events())))

    def labelled(self) -> dict[str, np.ndarray]:
        """{images, terms} that hold."""
        images, terms = current_terms(self.app)
        return {"images": images, "terms": terms}

    def suggestions(self) -> Suggestions | None:
        return self.app.kept("suggestions", SuggestionStore(self.app.workspace.folder).get)

    def terms(self) -> list[Term]:
        return self.app.kept("terms in order", self.app.workspace.vocabularies.all_terms)

    def chosen_term(self) -> Term | None:
        return next((term for term in self.terms() if term.id == self.term), None)

    def open_share(self) -> dict[int, float]:
        """{cluster: share of its images without a label}."""
        now = self.arrangement()
        unlabelled = ~np.isin(now.images, self.labelled()["images"])
        sizes, open_ = (np.bincount(now.clusters, weights) for weights in (None, unlabelled))
        return {int(cluster): float(open_[cluster] / sizes[cluster]) for cluster in np.flatnonzero(sizes)}

    def current_cluster(self) -> int:
        """The cluster on the table: the one chosen, or the largest with images left."""
        shares, sizes = self.open_share(), self.arrangement().sizes()
        if self.cluster in sizes:
            return self.cluster
        return max(sizes, key=lambda cluster: (shares[cluster] > 0, shares[cluster] * sizes[cluster]))

    def members(self) -> np.ndarray:
        """Images of the cluster on the table, extremes first; labelled ones last."""
        cluster = self.current_cluster()
        return self.app.kept(("in order", self.atlas.run.id, cluster), lambda: self._ordered(cluster))

    def table(self) -> np.ndarray:
        """The images on the page."""
        return self.members()[self.page * ON_TABLE : (self.page + 1) * ON_TABLE]

    # --- acts on a cluster

    def name_cluster(self, exceptions: Iterable[int] = (), instead: int | None = None) -> None:
        """Gives the chosen term to all images of the cluster that have none, but for the exceptions; these get the
        term `instead`, or stay open. Then a part of the act is checked."""
        who, term, left_out = self.who(), self.chosen_or_fail(), np.array(sorted(set(exceptions)), np.int64)
        self.cluster = self.current_cluster()  # stays on the table until its check is done
        members = np.sort(self.members())
        unlabelled = np.setdiff1d(members, self.labelled()["images"])
        chosen = np.setdiff1d(unlabelled if len(unlabelled) else members, left_out)
        rule = {"cluster": self.cluster, "exceptions": len(left_out)}
        log = self.app.workspace.labels
        others = self.said_meanwhile(members)
        number = log.label(who, chosen, term.id, why="review", run_id=self.atlas.run.id, rule=rule)
        if instead is not None and len(left_out):
            log.label(who, left_out, instead, why="review", run_id=self.atlas.run.id, rule=rule)
        self.told(f"Named {len(chosen):,} images {term.name}{others}")
        self._check(number, chosen, np.setdiff1d(self.table(), left_out))

    def name_images(self, images: Iterable[int]) -> None:
        """Names single images at once with the chosen term: the exceptions of a page."""
        ids, term = sorted(set(images)), self.chosen_or_fail()
        others = self.said_meanwhile(np.array(ids, np.int64))
        self.app.workspace.labels.label(self.who(), ids, term.id, why="manual", run_id=self.atlas.run.id,
                                        rule={"cluster": self.current_cluster()})
        self.told(f"Named {len(ids):,} images {term.name}{others}")
        self.moved()

    def said_meanwhile(self, images: np.ndarray) -> str:
        """A warning where others spoke of these images since this person last looked; nothing of it is lost."""
        events = self.app.workspace.labels.changed_by_others(self.who(), self.seen, images)
        names = {person.id: person.name for person in self.app.workspace.people.all()}
        who = sorted({names[event.person_id] for event in events if event.kind == "label"})
        return f"; {' and '.join(who)} named some of them meanwhile, see Labels" if who else ""

    def turn_page(self, by: int) -> None:
        """Forward or back within the cluster; at its ends it stays."""
        last = max(-(-len(self.members()) // ON_TABLE) - 1, 0)
        self.page = min(max(self.page + by, 0), last)

    def next_cluster(self) -> None:
        """The cluster with most images left, other than this one."""
        here, shares, sizes = self.current_cluster(), self.open_share(), self.arrangement().sizes()
        waiting = [cluster for cluster in sizes if cluster != here and shares[cluster] > 0]
        self.param.update(mode="cluster", page=0, cluster=max(
            waiting, key=lambda cluster: shares[cluster] * sizes[cluster], default=here))
        self.step += 1

    # --- growing

    def begin_growing(self, seed: int | None = None) -> None:
        """Ranks what has no label by the model's probability of the term; before it knows the term, by likeness to
        the seed image or to the cluster on the table."""
        term = self.chosen_or_fail()
        ranking, probability = self._ranked(term.id, seed)
        if not len(ranking):
            raise fail("grow", "every image has its label", "there is nothing to add")
        self.growing = growing(term.id, ranking[:MOST_GROWN], probability[:MOST_GROWN])
        self.moved("grow")

    def answer(self, belongs: bool, taken_out: Iterable[int] = ()) -> None:
        """Do all of the page belong? Images clicked away do not count against it."""
        state = self._growing()
        self.growing = state.without(list(taken_out)).answered(belongs)
        self.moved("grow")

    def take_back_answer(self) -> None:
        self.growing = self._growing().back()
        self.moved("grow")

    def move_cut(self, pages: int) -> None:
        self.growing = self._growing().moved(pages)
        self.moved("grow")

    def accept_grown(self) -> None:
        """Labels what lies before the cut; then a part of it is checked."""
        state = self._growing()
        images = state.taken()
        if state.into is not None:
            self._take_into_cluster(state.into, images)
            return
        rule = {**state.search.told(), "cut": state.pages_taken, "moved": state.cut is not None}
        number = self.app.workspace.labels.label(self.who(), images, state.term_id, why="review",
                                                 run_id=self.atlas.run.id, rule=rule)
        seen = [state.ranking[answer.page * PAGE : (answer.page + 1) * PAGE] for answer in state.search.answers]
        self.growing = None
        self.told(f"Named {len(images):,} images {self._term_named(state.term_id).name}")
        self._check(number, np.sort(images), np.concatenate(seen) if seen else np.empty(0, np.int64))

    # --- checking

    def finish_check(self, wrong: Iterable[int] = ()) -> None:
        """Stores what the check found; wrong labels are taken away, to be given anew."""
        state, who = self.checking, self.who()
        if state is None:
            raise fail("check", "nothing is being checked", "name a cluster first")
        mistaken, log = sorted(set(wrong)), self.app.workspace.labels
        found = record_audit(log, who, state.event, np.sort(state.images), len(mistaken))
        if mistaken:
            log.clear(who, mistaken, why="audit")
        self.checking = None
        self.told(str(found).capitalize())
        self._learn()
        self.next_cluster()

    def leave(self) -> None:
        """Back to the clusters; what was labelled stays."""
        self.checking = self.growing = self.verifying = self.one_by_one = None
        self.moved("cluster")

    # --- keys and words

    def undo(self) -> None:
        number = self.app.workspace.labels.undo_last(self.who())
        self.told(f"Took back act {number}" if number else "There is nothing to take back", undo=False)
        self._stay_or_leave_check()

    def redo(self) -> None:
        number = self.app.workspace.labels.redo_last(self.who())
        self.told(f"Brought back act {number}" if number else "There is nothing to bring back", undo=False)
        self._stay_or_leave_check()

    def press(self, key: str) -> None:
        """The favourite on a key is chosen; on a free key the chosen term is put."""
        favourites, who = self.app.workspace.favourites, self.who()
        found = favourites.of(who).get(key)
        if found is None:
            found = self.chosen_or_fail().id
            favourites.choose(who, key, found)
        self.term = found
        self.step += 1

    def choose_term(self, term_id: int) -> None:
        self.term = self._term_named(term_id).id
        self.step += 1

    def suggested(self, cluster: int) -> tuple[Term, float] | None:
        """The term most members have by label or by suggestion, and the share of them."""
        members, held = self.arrangement().members(cluster), self.labelled()
        mine = held["terms"][np.isin(held["images"], members)]
        if not len(mine) and (found := self.suggestions()) is not None:
            mine = found.best()[0][np.isin(found.image_ids, members)]
        terms, counts = np.unique(mine, return_counts=True)
        best = next((term for term in self.terms() if len(terms) and term.id == terms[counts.argmax()]), None)
        return None if best is None else (best, float(counts.max() / counts.sum()))

    def choose_suggested(self) -> None:
        found = self.suggested(self.current_cluster())
        if found is None:
            raise fail("suggestion", "there is none for this cluster yet", "choose a term with l")
        self.choose_term(found[0].id)

    # --- inside

    def _stay_or_leave_check(self) -> None:
        """What was being checked may be gone."""
        self.checking = None
        self.moved("cluster" if self.mode == "check" else self.mode)

    def _ordered(self, cluster: int) -> np.ndarray:
        members = self.arrangement().members(cluster)
        if len(members) > SORTED:
            members = np.random.default_rng(cluster).permutation(members)
        first, rest = members[:SORTED], members[SORTED:]
        ordered = np.concatenate([first[extremes_first(self.rows_of(first))], rest])
        done = np.isin(ordered, self.labelled()["images"])
        return np.concatenate([ordered[~done], ordered[done]])

    def rows_of(self, images: np.ndarray) -> np.ndarray:
        """The descriptors of images that have one."""
        found = self.app.features(self.atlas.run.features)
        ids = self.app.kept(("order of ids", found.name), lambda: np.argsort(np.asarray(found.image_ids)))
        place = ids[np.searchsorted(found.image_ids, images, sorter=ids)]
        return np.asarray(found.X[np.sort(place)])[np.argsort(np.argsort(place))]

    def _ranked(self, term_id: int, seed: int | None) -> tuple[np.ndarray, np.ndarray]:
        found, done = self.suggestions(), self.labelled()["images"]
        if seed is None and found is not None and term_id in found.terms:
            P = np.asarray(found.probabilities[:, int(np.flatnonzero(found.terms == term_id)[0])])
            free = np.flatnonzero(~np.isin(found.image_ids, done))
            order = free[np.argsort(-P[free], kind="stable")]
            return np.asarray(found.image_ids)[order], P[order]
        return self._by_likeness(seed, done)

    def _take_into_cluster(self, cluster: int, images: np.ndarray) -> None:
        if len(images):
            move(self.app.workspace.labels, self.who(), self.arrangement(), np.sort(images), cluster)
        self.growing = None
        self.told(f"Took {len(images):,} images into cluster {cluster}")
        self.param.update(cluster=cluster, page=0)
        self.moved("cluster")

    def _by_likeness(self, seed: int | None, done: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Probabilities are made of ranks, falling slowly: nothing is known but the order."""
        images = self.arrangement().images
        rows = self.rows_of(images)
        if seed is not None:
            order = nearest_to(rows, int(np.searchsorted(images, seed)))
        else:
            centre = rows[np.isin(images, self.arrangement().members(self.current_cluster()))].mean(0)
            order = np.argsort(((rows - centre) ** 2).sum(1), kind="stable")
        order = order[~np.isin(images[order], done)]
        return images[order], np.full(len(order), 0.5)

    def _check(self, number: int, images: np.ndarray, seen: np.ndarray) -> None:
        self.checking = checking(number, images, seen)
        self.moved("check")

    def _learn(self) -> None:
        """Has the model learn from what was just said, unless it is about to."""
        waiting = any(job.kind == "learn" and job.state == "queued" for job in self.app.queue.unfinished())
        if len(np.unique(self.labelled()["terms"])) > 1 and not waiting:
            self.app.queue.add("learn", {"run": self.atlas.run.id})

    def _growing(self) -> Growing:
        if self.growing is None:
            raise fail("grow", "no list is being grown", "press x first")
        return self.growing

    def chosen_or_fail(self) -> Term:
        if self.chosen_term() is None:
            raise fail("label", "no term is chosen", "press l and type its first letters")
        return self.chosen_term()

    def _term_named(self, term_id: int) -> Term:
        return self.app.workspace.vocabularies.term(term_id)

    def told(self, text: str, *, undo: bool = True) -> None:
        self.session.changed(images=False)
        self.session.tell(text, undo=self.undo if undo else None)

    def moved(self, mode: str | None = None) -> None:
        self.seen = self.app.workspace.labels.last_number()
        self.param.update(mode=mode or self.mode, step=self.step + 1)


def knows_images(atlas: Atlas) -> bool:
    return atlas.run is not None and {"image_ids", "labels"} <= arrays_of(atlas.run)
