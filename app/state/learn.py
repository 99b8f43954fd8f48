"""Learn: what to label next and why, suggestions accepted or refused by key, and how far they can be trusted."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import param

from app.state.app_state import AppState
from app.state.session import Session
from app.state.suggested import suggestions
from app.state.terms import all_terms, current_terms, open_conflicts
from engine.jobs.learn import material_of
from engine.labelling.accepting import accept_sure, suggestion_acts
from engine.labelling.alike import alike
from engine.labelling.cover_report import evidence, next_to_label
from engine.labelling.material import Material, said
from engine.labelling.queues import QUEUES, Candidates, by_disagreement, doubted
from engine.labelling.sorting import laid_out, likeness, page_to_sort
from engine.labelling.suggestion_store import Suggestions, SuggestionStore
from engine.problems import fail
from engine.workspace.labels import Act
from engine.workspace.vocabularies import Term

BATCH = 24       # images of a batch: what fits on a screen large enough to judge
SORTED = 120     # images of a page to be sorted: small ones, for alike ones lie together
GROUPED = 8_000  # images looked at for new kinds: grouping more would take seconds
CANDIDATES = 20_000  # unlabelled images looked at for a batch; of more a random part
NOTHING = np.empty(0, np.int64)
WHY = {
    "sure": "Suggestions the model is sure of, one term at a time: click what is wrong, Enter accepts the rest",
    "sort": "Doubtful images, alike ones together: point at what is wrong and press its key, or hold it and sweep",
    "groups": "Images alike and unlike all that is known: click what does not belong, Enter gives the chosen term",
    "varied": "Images near a boundary, from different clusters and unlike each other: what teaches most",
    "margin": "Images nearest to a boundary between two terms",
    "outliers": "Images least like anything known: new kinds show here",
    "doubted": "Labels the model does not believe: possible slips",
    "disputed": "Images people call differently, then those the model and their cluster would: what you say settles it",
    "cover": "Images whose labels narrow the estimates of cover most, drawn at random within clusters",
    "random": "Drawn at random: labels from which cover and accuracy can be read off",
}


@dataclass(frozen=True)
class Table:
    """The images of a batch in the order shown, and the suggestions they came with: both stay as they are until the
    batch ends, whatever is learnt or said meanwhile."""

    number: int            # of all tables of this tab
    of: tuple[str, int]    # queue and batch
    found: Suggestions
    places: np.ndarray     # rows of `found`
    labelled: frozenset[int]  # ids of those that had a label when they were put here

    @property
    def ids(self) -> np.ndarray:
        return self.found.image_ids[self.places]


class Learn(param.Parameterized):
    """`step` grows with every act; what is drawn depends on it."""

    session = param.ClassSelector(class_=Session, constant=True, doc="The tab.")
    queue = param.Selector(default="sure", objects=list(WHY), doc="How the batch is chosen.")
    wanted = param.Number(default=0.95, bounds=(0.5, 0.999), doc="Share of accepted suggestions that should be right.")
    term = param.Integer(default=None, allow_None=True, doc="Id of the term given to clicked images.")
    batch = param.Integer(default=0, bounds=(0, None), doc="Number of the batch: the next one skips this one.")
    columns = param.Integer(default=12, bounds=(1, 60), doc="Images side by side on a page to be sorted.")
    step = param.Integer(default=0, doc="Grows with every act.")

    def __init__(self, session: Session, **values: Any):
        super().__init__(session=session, **values)
        self._table: Table | None = None
        self._touched = False  # whether anything was said of the table yet, be it in the browser alone
        self._passed = NOTHING  # ids of images that were passed over in this queue
        session.address.bind(self, "queue", "term")

    @property
    def app(self) -> AppState:
        return self.session.app

    def who(self) -> int:
        return self.session.who_or_fail().id

    # --- what there is

    def suggestions(self) -> Suggestions | None:
        return suggestions(self.app)

    def found(self) -> Suggestions:
        found = self.suggestions()
        if found is None:
            raise fail("learning", "nothing was learnt yet", "label images of two terms, then press r")
        return found

    def current(self) -> tuple[np.ndarray, np.ndarray]:
        return current_terms(self.app)

    def terms(self) -> Mapping[int, Term]:
        return all_terms(self.app)

    def learnt_from(self) -> list[dict[str, Any]]:
        """The facts of every learning, oldest first."""
        return self.app.kept("learning history", SuggestionStore(self.app.workspace.folder).history)

    def learning(self) -> bool:
        return any(job.kind == "learn" for job in self.app.queue.unfinished())

    def table(self) -> Table:
        """What is shown. It is laid anew for another batch and, as long as nothing was said of it, once more was
        learnt."""
        held, found = self._table, self.found()
        learnt_more = held is not None and held.found.facts != found.facts
        if held is None or held.of != (self.queue, self.batch) or (learnt_more and not self._touched):
            if held is None or held.of[0] != self.queue:
                self._passed = NOTHING
            places = self._chosen()
            number = held.number + 1 if held else 1
            self._table = Table(number, (self.queue, self.batch), found, places,
                                frozenset(self.labels_of(found.image_ids[places])))
            self._touched = False
            self._lay_out()
        return self._table

    def labels_of(self, ids: np.ndarray) -> dict[int, int]:
        """{image: term} of those that have a label; the labelled may be millions, so they are looked up."""
        images, terms = self.current()
        at = np.searchsorted(images, ids)
        there = at < len(images)
        there[there] = images[at[there]] == ids[there]
        return dict(zip(ids[there].tolist(), terms[at[there]].tolist(), strict=True))

    def named_since(self) -> set[int]:
        """Ids of images of the table that got their label while they lay there."""
        table = self.table()
        return self.labels_of(table.ids).keys() - table.labelled

    def possible(self) -> float:
        """How many terms an image may have, on average over images without a label, if the share wanted of such sets
        shall hold the true one."""
        return self.app.kept(("possible", self.wanted), self._possible)

    # --- acts

    def learn(self) -> None:
        """Has the model learn from all labels, unless it is about to."""
        if not self.learning():
            self.app.queue.add("learn")
        self.step += 1

    def hold(self) -> None:
        """Keeps the table as it is: somebody has begun to say something of it."""
        self._touched = True

    def arrange(self, columns: int) -> None:
        """So many images lie side by side."""
        self.columns = columns
        self._lay_out()

    def accept(self, otherwise: Mapping[int, int | None], number: int | None = None) -> None:
        """What is on the table gets its suggestions, but for images that were named meanwhile or that somebody called
        otherwise: these get that term, or where it is None the suggestion is refused. With `number` only if it is
        still the table of that number: one that has just changed was not looked at."""
        table, who = self.table(), self.who()
        if number not in (None, table.number):
            raise fail("accept", "more was learnt and other images are shown now", "look at these, then press it again")
        found, places, ids = table.found, table.places, table.ids
        rule = {"queue": self.queue, "batch": self.batch}
        out = np.isin(ids, list(otherwise))
        as_suggested, disputed = ~out & ~np.isin(ids, list(self.named_since())), self._in_conflict(ids)
        settled = suggestion_acts(found, places[as_suggested & disputed], rule)
        acts = [*suggestion_acts(found, places[as_suggested & ~disputed], rule),
                *(replace(act, why="resolved") for act in settled)]
        given = {int(image): otherwise[int(image)] for image in ids[out]}
        why = "resolved" if self.queue == "disputed" else "manual"
        acts += [Act("label", _ids_of(given, term), why, term, found.facts["run"], rule)
                 for term in sorted({term for term in given.values() if term is not None})]
        acts += self._refusals(found, places[out][[given[int(image)] is None for image in ids[out]]], rule)
        self.app.workspace.labels.act_together(who, acts)
        self._said(f"Accepted {int(as_suggested.sum())} suggestions, corrected {int(out.sum())}")
        self.next_batch()

    def give_term(self, images: list[int], key: str = "") -> None:
        """Gives the chosen term, or the one on a key, to images, each looked at by itself."""
        if key:
            self.press(key)
        if self.term is None:
            raise fail("label", "no term is chosen", "press l and type its first letters")
        if not images:
            raise fail("label", "no image is clicked", "click the images first")
        why = "resolved" if self.queue == "disputed" else "manual"
        self.app.workspace.labels.label(self.who(), images, self.term, why=why, rule={"queue": self.queue})
        self._touched = True
        self._said(f"Named {len(images)} {'image' if len(images) == 1 else 'images'} {self.terms()[self.term].name}")
        if self.queue == "groups":
            self.next_batch()
        self.step += 1

    def press(self, key: str) -> None:
        """The favourite on a key is chosen; on a free key the chosen term is put."""
        favourites, who = self.app.workspace.favourites, self.who()
        found = favourites.of(who).get(key)
        if found is None and self.term is None:
            raise fail("favourite", f"nothing lies on key {key}", "choose a term with l, then press it again")
        if found is None:
            favourites.choose(who, key, self.term)
        self.term = found or self.term

    def steer(self) -> None:
        """Has the images clustered again, so that no cluster holds two terms; a run of its own."""
        self.app.queue.add("steer", {})
        self.app.jobs.look()
        self.session.tell("Clustering again, steered by the labels; the new run will be in Runs", kind="info")

    def accept_sure(self) -> None:
        """Accepts everything above the threshold, unseen."""
        done = accept_sure(self.app.workspace.labels, self.who(), self.found(), self.wanted)
        told = "No suggestion is sure enough yet" if done.threshold is None else (
            f"Accepted {done.images:,} suggestions with a confidence of {done.threshold:.2f} or more")
        self._said(told)
        self.next_batch()

    def next_batch(self) -> None:
        """The next images; what was said meanwhile is learnt."""
        self.batch += 1
        if len(np.unique(self.current()[1])) > 1:
            self.learn()
        self.step += 1

    def skip(self) -> None:
        """Leaves what is on the table as it is and shows other images."""
        self._passed = np.union1d(self._passed, self.table().ids)
        self.batch += 1
        self.step += 1

    def undo(self) -> None:
        number = self.app.workspace.labels.undo_last(self.who())
        self._said(f"Took back act {number}" if number else "There is nothing to take back", undo=False)
        self.step += 1

    def choose_term(self, term_id: int) -> None:
        self.term = self.app.workspace.vocabularies.term(term_id).id

    # --- inside

    def _possible(self) -> float:
        found = self.found()
        free = np.flatnonzero(~np.asarray(found.labelled))
        some = free[:: max(len(free) // GROUPED, 1)]
        return float(found.sets(some, 1 - self.wanted).sum(1).mean()) if len(some) else 1.0

    def _chosen(self) -> np.ndarray:
        found = self.found()
        images, terms = self.current()
        if self.queue == "doubted":
            return self._doubted(found, images, terms)
        if self.queue == "disputed":
            return self._disputed(found, images, terms)
        rng = np.random.default_rng(self.batch)
        free = np.sort(rng.permutation(self._free(found, images))[:CANDIDATES])
        if not len(free):
            return free
        if self.queue in OWN_QUEUES:
            return OWN_QUEUES[self.queue](self, found, free)
        among = Candidates(np.asarray(found.probabilities[free]), np.asarray(found.probabilities[free]),
                           np.asarray(found.clusters[free]), np.asarray(found.familiarity[free]))
        return free[QUEUES[self.queue](among, BATCH, rng)]

    def _free(self, found: Suggestions, images: np.ndarray) -> np.ndarray:
        """Places of what has no label and was not passed over; all without a label once nothing else is left."""
        open_ = ~np.isin(found.image_ids, images)
        fresh = open_ & ~np.isin(found.image_ids, self._passed)
        if not fresh.any():
            self._passed = NOTHING
        return np.flatnonzero(fresh if fresh.any() else open_)

    def _to_sort(self, found: Suggestions, free: np.ndarray) -> np.ndarray:
        """Doubtful images of few kinds."""
        P = np.asarray(found.probabilities[free], np.float64)
        return free[page_to_sort(self._material(found).data.rows[free], P, SORTED)]

    def _lay_out(self) -> None:
        """What is to be sorted is laid so that neighbours are alike."""
        if self._table and self._table.of[0] == "sort":
            places = np.sort(self._table.places)
            P = np.asarray(self._table.found.probabilities[places], np.float64)
            near = likeness(self._material(self._table.found).data.rows[places], P)
            self._table = replace(self._table, places=places[laid_out(near, self.columns)])

    def _new_kind(self, found: Suggestions, free: np.ndarray) -> np.ndarray:
        """The group of alike images that is least like anything labelled; the next batch shows the next."""
        rows, clusters = self._material(found).data.rows[free], np.asarray(found.clusters[free])
        some = np.random.default_rng(0).permutation(len(free))[:GROUPED]
        groups = alike(rows[some], clusters[some], np.random.default_rng(0))
        known = np.asarray(found.labelled)
        novelty = groups.novelty_from(self._material(found).data.rows[known][:GROUPED]) if known.any() else np.ones(
            groups.count)
        order = np.argsort(-groups.worth(novelty[groups.of], np.ones(len(some), bool)), kind="stable")
        return free[some[groups.members(int(order[self.batch % len(order)]))]][:BATCH]

    def _for_cover(self, found: Suggestions, free: np.ndarray) -> np.ndarray:
        """What Neyman's allocation over clusters asks for."""
        material, log = self._material(found), self.app.workspace.labels
        history = log.events()
        seen = evidence(history, material, said(history, material, log.current()))
        wanted = next_to_label(material, seen, BATCH, np.random.default_rng(self.batch))
        return np.flatnonzero(np.isin(found.image_ids, wanted))

    def _material(self, found: Suggestions) -> Material:
        return material_of(self.app.workspace, run=found.facts["run"])[1]

    def _refusals(self, found: Suggestions, places: np.ndarray, rule: Mapping[str, Any]) -> list[Act]:
        best = found.best()[0]
        return [Act("refuse", np.sort(found.image_ids[places[best[places] == term]]), "suggestion", int(term),
                    found.facts["run"], rule) for term in np.unique(best[places])]

    def _of_one_term(self, found: Suggestions, free: np.ndarray) -> np.ndarray:
        """The surest suggestions of the term that has most of them left; terms take turns."""
        best, sure = (each[free] for each in found.best())
        terms, counts = np.unique(best, return_counts=True)
        if not len(terms):
            return free
        term = terms[np.argsort(-counts, kind="stable")][self.batch % len(terms)]
        mine = np.flatnonzero(best == term)
        return free[mine[np.argsort(-sure[mine], kind="stable")[:BATCH]]]

    def _doubted(self, found: Suggestions, images: np.ndarray, terms: np.ndarray) -> np.ndarray:
        """Held-out labels only: of the others the model was told the answer."""
        held = np.asarray(found.held_places)
        worst = doubted(np.asarray(found.held_probabilities), np.asarray(found.held_y), len(held))
        still = np.isin(found.image_ids[held[worst]], images)
        return held[worst[still]][self.batch * BATCH : (self.batch + 1) * BATCH]

    def _disputed(self, found: Suggestions, images: np.ndarray, terms: np.ndarray) -> np.ndarray:
        """What people call differently; then what the model and the labels of its cluster do."""
        of_people = np.flatnonzero(self._in_conflict(found.image_ids) & ~np.isin(found.image_ids, self._passed))
        if len(of_people):
            return of_people[:BATCH]
        known = np.isin(images, found.image_ids) & np.isin(terms, found.terms)
        free = self._free(found, images)
        clusters, P = np.asarray(found.clusters), np.asarray(found.probabilities[free], np.float64)
        labelled = clusters[np.searchsorted(found.image_ids, images[known])]
        return free[by_disagreement(P, clusters[free], labelled, np.searchsorted(found.terms, terms[known]), BATCH)]

    def _in_conflict(self, ids: np.ndarray) -> np.ndarray:
        """Which images people call differently (n,) bool."""
        return np.isin(ids, [conflict.image for conflict in open_conflicts(self.app)])

    def _said(self, text: str, *, undo: bool = True) -> None:
        self.session.changed(images=False)
        self.session.tell(text, undo=self.undo if undo else None)


def _ids_of(given: Mapping[int, int | None], term: int) -> np.ndarray:
    return np.array(sorted(image for image, said_ in given.items() if said_ == term), np.int64)


OWN_QUEUES: Mapping[str, Callable[[Learn, Suggestions, np.ndarray], np.ndarray]] = {
    "sure": Learn._of_one_term, "sort": Learn._to_sort, "groups": Learn._new_kind, "cover": Learn._for_cover}
