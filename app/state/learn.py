"""Learn: what to label next and why, suggestions accepted or refused by key, and how far they can be trusted."""

from typing import Any

import numpy as np
import param

from app.state.app_state import AppState
from app.state.session import Session
from engine.labelling.accepting import accept_sure, acceptable, suggestion_acts
from engine.labelling.queues import QUEUES, Candidates, doubted
from engine.labelling.suggestion_store import Suggestions, SuggestionStore
from engine.problems import fail
from engine.workspace.vocabularies import Term

BATCH = 24       # images of a batch: what fits on a screen large enough to judge
CANDIDATES = 20_000  # unlabelled images looked at for a batch; of more a random part
WHY = {
    "sure": "Suggestions the model is sure of, one term at a time: click what is wrong, Enter accepts the rest",
    "varied": "Images near a boundary, from different clusters and unlike each other: what teaches most",
    "margin": "Images nearest to a boundary between two terms",
    "outliers": "Images least like anything known: new kinds show here",
    "doubted": "Labels the model does not believe: possible slips",
    "random": "Drawn at random: the only labels from which cover and accuracy can be read off",
}


class Learn(param.Parameterized):
    """`step` grows with every act; what is drawn depends on it."""

    session = param.ClassSelector(class_=Session, constant=True, doc="The tab.")
    queue = param.Selector(default="sure", objects=list(WHY), doc="How the batch is chosen.")
    wanted = param.Number(default=0.95, bounds=(0.5, 0.999), doc="Share of accepted suggestions that should be right.")
    term = param.Integer(default=None, allow_None=True, doc="Id of the term given to clicked images.")
    batch = param.Integer(default=0, bounds=(0, None), doc="Number of the batch: the next one skips this one.")
    step = param.Integer(default=0, doc="Grows with every act.")

    def __init__(self, session: Session, **values: Any):
        super().__init__(session=session, **values)
        session.address.bind(self, "queue", "term")

    @property
    def app(self) -> AppState:
        return self.session.app

    def who(self) -> int:
        found = self.session.who()
        if found is None:
            raise fail("person", "nobody has said who works here", "give your name at the top right")
        return found.id

    # --- what there is

    def suggestions(self) -> Suggestions | None:
        return self.app.kept("suggestions", SuggestionStore(self.app.workspace.folder).get)

    def found(self) -> Suggestions:
        found = self.suggestions()
        if found is None:
            raise fail("learning", "nothing was learnt yet", "label images of two terms, then press r")
        return found

    def current(self) -> tuple[np.ndarray, np.ndarray]:
        return self.app.kept("current terms of learn", self.app.workspace.labels.current_terms)

    def terms(self) -> dict[int, Term]:
        return self.app.kept("terms by id", lambda: {
            term.id: term for term in self.app.workspace.vocabularies.all_terms()})

    def learnt_from(self) -> list[dict[str, Any]]:
        """The facts of every learning, oldest first."""
        return self.app.kept("learning history", SuggestionStore(self.app.workspace.folder).history)

    def learning(self) -> bool:
        return any(job.kind == "learn" for job in self.app.queue.unfinished())

    def places(self) -> np.ndarray:
        """Rows of the suggestions that are in the batch."""
        return self.app.kept(("batch", self.queue, self.batch, self.wanted), self._chosen)

    # --- acts

    def learn(self) -> None:
        """Has the model learn from all labels, unless it is about to."""
        if not self.learning():
            self.app.queue.add("learn")
        self.step += 1

    def accept(self, wrong: list[int]) -> None:
        """The batch gets its suggestions, but for images clicked away: for these the suggestion is refused."""
        found, who, places = self.found(), self.who(), self.places()
        out = np.isin(found.image_ids[places], wrong)
        log, rule = self.app.workspace.labels, {"queue": self.queue, "batch": self.batch}
        if (~out).any():
            log.act_together(who, suggestion_acts(found, places[~out], rule))
        best = found.best()[0]
        for term in np.unique(best[places[out]]):
            refused = places[out][best[places[out]] == term]
            log.refuse(who, np.sort(found.image_ids[refused]), int(term), run_id=found.facts["run"], rule=rule)
        self._said(f"Accepted {int((~out).sum())} suggestions, refused {int(out.sum())}")
        self.next_batch()

    def give_term(self, images: list[int]) -> None:
        """Gives the chosen term to images, each looked at by itself."""
        if self.term is None:
            raise fail("label", "no term is chosen", "press l and type its first letters")
        if not images:
            raise fail("label", "no image is clicked", "click the images first")
        self.app.workspace.labels.label(self.who(), images, self.term, why="manual", rule={"queue": self.queue})
        self._said(f"Named {len(images)} images {self.terms()[self.term].name}")
        self.step += 1

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

    def undo(self) -> None:
        number = self.app.workspace.labels.undo_last(self.who())
        self._said(f"Took back act {number}" if number else "There is nothing to take back", undo=False)
        self.step += 1

    def choose_term(self, term_id: int) -> None:
        self.term = self.app.workspace.vocabularies.term(term_id).id

    # --- inside

    def _chosen(self) -> np.ndarray:
        found = self.found()
        images, terms = self.current()
        if self.queue == "doubted":
            return self._doubted(found, images, terms)
        free = np.flatnonzero(~np.isin(found.image_ids, images))
        rng = np.random.default_rng(self.batch)
        free = np.sort(rng.permutation(free)[:CANDIDATES])
        if self.queue == "sure":
            return self._of_one_term(found, free)
        among = Candidates(np.asarray(found.probabilities[free]), np.asarray(found.probabilities[free]),
                           np.asarray(found.clusters[free]), np.asarray(found.familiarity[free]))
        return free[QUEUES[self.queue](among, BATCH, rng)] if len(free) else free

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

    def _said(self, text: str, *, undo: bool = True) -> None:
        self.session.changed(images=False)
        self.session.tell(text, undo=self.undo if undo else None)


def content(learn: Learn) -> dict[str, Any]:
    """Everything the board shows."""
    found = learn.suggestions()
    shown = {"queue": learn.queue, "queues": WHY, "learning": learn.learning(), "learnt": found is not None,
             "version": learn.app.images_version, "wanted": learn.wanted, "term": _term(learn), "batch": learn.batch,
             "labelled": len(learn.current()[0]), "left": len(learn.app.columns) - len(learn.current()[0])}
    if found is None:
        return {**shown, "images": []}
    ready, threshold = acceptable(found, learn.current()[0], learn.wanted)
    return {**shown, "images": _tiles(learn, found), "ready": len(ready), "threshold": threshold,
            "curve": _curve(found), "reliability": _reliability(found), "history": _history(learn),
            "accuracy": float(found.facts["accuracy"])}


def _tiles(learn: Learn, found: Suggestions) -> list[dict[str, Any]]:
    best, sure = found.best()
    images, terms = learn.current()
    said = dict(zip(images.tolist(), terms.tolist(), strict=True)) if len(images) <= 200_000 else {}
    names = learn.terms()
    return [{"id": int(found.image_ids[place]), "term": names[int(best[place])].name,
             "colour": names[int(best[place])].colour or "", "sure": round(float(sure[place]), 3),
             "label": names[said[int(found.image_ids[place])]].name if int(found.image_ids[place]) in said else ""}
            for place in learn.places()]


def _curve(found: Suggestions, most: int = 60) -> list[list[float]]:
    """[coverage, accuracy, at least, threshold] at some points."""
    curve = found.curve()
    picked = np.unique(np.linspace(0, len(curve.coverage) - 1, most).astype(int))
    return np.round(np.stack([curve.coverage, curve.accuracy, curve.at_least, curve.thresholds], 1)[picked], 4).tolist()


def _reliability(found: Suggestions) -> list[list[float]]:
    """[confidence, share right, weight] of every range."""
    told = found.reliability()
    return np.round(np.stack([told.confidence, told.right, told.weight], 1), 4).tolist()


def _history(learn: Learn) -> list[list[float]]:
    """[labels, accuracy] of every learning."""
    return [[facts["labels"], round(facts["accuracy"], 4)] for facts in learn.learnt_from()]


def _term(learn: Learn) -> dict[str, Any] | None:
    found = learn.terms().get(learn.term)
    return None if found is None else {"id": found.id, "name": found.name, "colour": found.colour or ""}
