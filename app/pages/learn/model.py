"""View model of the Learn page: batches of images to label next, and suggestions to accept or reject."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import param

from benthoscope.app.data.labels import all_terms, current_terms, images_text, open_conflicts, undone_text
from benthoscope.app.data.naming import press_favourite
from benthoscope.app.data.suggestions import answered_draws, suggestions
from benthoscope.app.data.topics import topics_of
from benthoscope.app.pages.learn.draws import acts_of_draws, draws_for, mixed, page_of_draws, repeats_for, store_answers
from benthoscope.app.pages.learn.final_check import answer_page, images_to_check, latest_version
from benthoscope.app.pages.learn.queues import CHECK, FINAL, LAID_OUT, QUEUE_NAMES, SORT, TOPICS, TYPICAL
from benthoscope.app.pages.learn.typical import choose_if_needed, images_without_model, stored_page
from benthoscope.app.session.app_state import AppState
from benthoscope.app.session.cache import IMAGES, LABELS
from benthoscope.app.session.required import required
from benthoscope.app.session.session import Session
from benthoscope.engine.jobs.labels.learn import material_of
from benthoscope.engine.labelling.accepting import Acceptable, accept_sure, acceptable, refuse_stale, suggestion_acts
from benthoscope.engine.labelling.accuracy.label_errors import QUEUE as ERRORS
from benthoscope.engine.labelling.accuracy.label_errors import SlipShare, slip_share, suspicious_rows
from benthoscope.engine.labelling.accuracy.stream import EVERY
from benthoscope.engine.labelling.measured_accuracy import AnsweredDraws
from benthoscope.engine.labelling.memory.memory_folder import existing_memory
from benthoscope.engine.labelling.memory.memory_in_use import (
    MemoryUse,
    can_learn,
    create_missing_terms,
    use_memory,
)
from benthoscope.engine.labelling.page_choice.next_page import FIRST_PAGE, GROUPS, SORTED, shown_facts
from benthoscope.engine.labelling.page_choice.page_layout import laid_out, likeness, page_to_sort
from benthoscope.engine.labelling.page_choice.queues import QUEUES, Candidates, by_disagreement, similar_groups
from benthoscope.engine.labelling.page_choice.topic_queue import topic_margins
from benthoscope.engine.labelling.stopping.final_check import deliver, start
from benthoscope.engine.labelling.suggestions import ModelAge, Suggestions, SuggestionStore, model_age
from benthoscope.engine.labelling.training_data import CORRECTED, LearningData
from benthoscope.engine.problems import BenthoscopeError, fail
from benthoscope.engine.workspace.labels.log import Act
from benthoscope.engine.workspace.labels.sampling import Draw
from benthoscope.engine.workspace.labels.vocabularies import Term

BATCH = 24  # images of a batch: these fit on a screen and are large enough to judge
FEWEST = 20  # labels for a first model; with fewer ones, typical images are shown first
GROUPED = 8_000  # images searched for new groups: more would take seconds
CANDIDATES = 20_000  # unlabelled images considered for a batch: a random sample of this size if there are more
FIRST = 1e-6  # added to the probability of a term that has to come first
NOTHING = np.empty(0, np.int64)


@dataclass(frozen=True)
class Batch:
    """The images of a page in the order shown, with their suggestions and the random draws among them. They stay the
    same until the page ends, even if the model is updated or other images are labelled."""

    number: int  # counts the batches of this tab
    of: tuple[str, int]  # queue and batch
    suggestions: Suggestions
    rows: np.ndarray  # rows of `suggestions`
    since: int  # newest label event when the batch was made
    person: int | None  # for whom the random images were drawn
    draws: Mapping[int, Draw] = field(default_factory=dict)  # random draws by image
    repeats: Mapping[int, Draw] = field(default_factory=dict)  # labels of the person shown again, by image
    frozen: Mapping[int, int] = field(default_factory=dict)  # terms of the version in a final check, by image
    given: Mapping[int, tuple[int, ...]] = field(default_factory=dict)  # labels to check, the current one first
    was_stale: bool = False  # whether the suggestions were out of date when the batch was made

    @property
    def ids(self) -> np.ndarray:
        return self.suggestions.image_ids[self.rows]

    @property
    def without_model(self) -> bool:
        return not len(self.suggestions.terms)

    @property
    def drawn(self) -> dict[int, Draw]:
        """Random draws and repeats: their answers are stored, and a label they have is not shown."""
        return {**self.draws, **self.repeats}

    @cached_property
    def probabilities(self) -> np.ndarray:
        """(n, K) probabilities of the terms. A labelled image has those of a model that did not see its label. In a
        final check the frozen term comes first, and labels to check come first."""
        P = self.suggestions.unseen_rows(self.rows).astype(np.float64)
        for row, image in enumerate(self.ids.tolist()):
            first_terms = (self.frozen[image],) if image in self.frozen else self.given.get(image, ())
            for term in reversed(first_terms):
                P[row, self.suggestions.terms == term] = P[row].max() + FIRST
        return P

    def best_terms(self) -> dict[int, int]:
        """{image: its suggestion}."""
        if not len(self.suggestions.terms):
            return {}
        best = self.suggestions.terms[self.probabilities.argmax(1)]
        return dict(zip(self.ids.tolist(), best.tolist(), strict=True))


class Learn(param.Parameterized):
    """`step` grows with every command; the board is redrawn when it changes."""

    session = required(Session, doc="The tab.")
    queue: param.Selector[str] = param.Selector(
        default="sure", objects=list(QUEUE_NAMES), doc="How the images of a page are chosen."
    )
    precision = param.Number(
        default=0.95, bounds=(0.5, 0.999), doc="Share of accepted suggestions that should be right."
    )
    term = param.Integer(default=None, allow_None=True, doc="Id of the chosen term.")
    batch = param.Integer(default=0, bounds=(0, None), doc="Number of the batch within the queue.")
    columns = param.Integer(
        default=12, bounds=(1, 60), doc="Columns of a page on which similar images are side by side."
    )
    step = param.Integer(default=0, doc="Grows with every command.")

    def __init__(self, session: Session, **values: Any):
        super().__init__(session=session, **values)
        self._table: Batch | None = None
        self._touched = False  # whether the person has started to answer the batch, even if only in the browser
        self._passed = NOTHING  # ids of images that were skipped in this queue
        self._skipped_group = False
        session.address.bind(self, "queue", "term")
        if "queue" not in session.address.query and self.suggestions() is None and not self.can_train():
            self.queue = TYPICAL

    @property
    def app(self) -> AppState:
        return self.session.app

    def person_id(self) -> int:
        return self.session.require_person().id

    # --- content

    def suggestions(self) -> Suggestions | None:
        return suggestions(self.app)

    def require_suggestions(self) -> Suggestions:
        suggestions = self.suggestions()
        if suggestions is None:
            raise fail("learning", "there is no model yet", "use two different labels, then press r")
        return suggestions

    def page_suggestions(self) -> Suggestions:
        """The suggestions of the model. Before there is one, the typical images without suggestions."""
        if self.queue == TYPICAL and self.suggestions() is None:
            return images_without_model(self.app) or self.require_suggestions()
        return self.require_suggestions()

    def current(self) -> tuple[np.ndarray, np.ndarray]:
        return current_terms(self.app)

    def terms(self) -> Mapping[int, Term]:
        return all_terms(self.app)

    def next_best(self) -> dict[str, Any] | None:
        """{queue, reason} of the page with the highest predicted gain per minute; None if there is none. After a group
        was skipped because it was too mixed, no other group is offered."""
        suggestions = self.suggestions()
        if suggestions is not None:
            best = suggestions.facts.get("next")
            return best and (best["without_groups"] if self._skipped_group else shown_facts(best))
        return None if self.can_train() else FIRST_PAGE.facts()

    def learnt_from(self) -> list[dict[str, Any]]:
        """Facts about every training of the model, oldest first."""
        return self.app.cached("learning history", SuggestionStore(self.app.workspace.folder).history, LABELS)

    def learning(self) -> bool:
        return any(job.kind == "learn" for job in self.app.queue.unfinished())

    def table(self) -> Batch:
        """The shown batch.

        It is replaced for another batch number or person, after a training if the person has not started to answer, and
        when its suggestions are out of date. A person who began to answer before entering a name keeps the batch,
        which has no random images."""
        current, suggestions, person = self._table, self.page_suggestions(), self._person_id()
        if (
            current is None
            or current.of != (self.queue, self.batch)
            or self._is_for_another(current, person)
            or self._renewed(current, suggestions)
            or self._filled(current, suggestions)
        ):
            if current is None or current.of[0] != self.queue:
                self._passed = NOTHING
            made = self._new_table(current.number + 1 if current else 1, suggestions, person)
            is_stale = not made.without_model and model_age(suggestions, self.app.workspace.labels).stale
            self._table = replace(made, was_stale=is_stale)
            self._touched = False
            self._lay_out()
        assert self._table is not None  # a missing batch was made above
        return self._table

    def _is_for_another(self, current: Batch, person: int | None) -> bool:
        return current.person != person and not (current.person is None and self._touched)

    def _renewed(self, current: Batch, suggestions: Suggestions) -> bool:
        newer = current.suggestions.facts != suggestions.facts
        if current.without_model:
            return newer and not self._touched
        return newer and (not self._touched or model_age(current.suggestions, self.app.workspace.labels).stale)

    def _filled(self, current: Batch, suggestions: Suggestions) -> bool:
        """Whether typical images were chosen since an empty batch was made."""
        if self.queue != TYPICAL or len(current.rows) or current.without_model:
            return False
        return len(self._typical(suggestions, NOTHING)) > 0

    def _new_table(self, number: int, suggestions: Suggestions, person: int | None) -> Batch:
        if self.queue == CHECK:
            return self._page_of_draws(number, suggestions, person)
        if self.queue == FINAL:
            return self._page_of_final_check(number, suggestions, person)
        if not len(suggestions.terms):
            return self._page_without_model(number, suggestions, person)
        chosen = self._chosen()
        tiles = min(SORTED if self.queue in LAID_OUT else BATCH, -(-len(chosen) * EVERY // (EVERY - 1)))
        draws = draws_for(self.app, person, suggestions, tiles, number) if len(chosen) else {}
        on_page = {*draws, *suggestions.image_ids[chosen].tolist()}
        repeats = repeats_for(self.app, person, suggestions, tiles, number, on_page)
        drawn = {**draws, **repeats}
        drawn_rows = np.flatnonzero(np.isin(suggestions.image_ids, list(drawn)))
        if len(drawn_rows):
            rng = np.random.default_rng([number, *(draw.id for draw in drawn.values())])
            chosen = mixed(chosen, drawn_rows, tiles, rng)
        newest_event = self.app.workspace.labels.last_number()
        given = self._given_terms(suggestions.image_ids[chosen]) if self.queue == ERRORS else {}
        return Batch(
            number, (self.queue, self.batch), suggestions, chosen, newest_event, person, draws, repeats, given=given
        )

    def _page_without_model(self, number: int, images: Suggestions, person: int | None) -> Batch:
        """Typical images that have no label and were not skipped. Without a model, no random images are drawn: there is
        no suggestion that they could measure."""
        is_open = ~np.isin(images.image_ids, self.current()[0]) & ~np.isin(images.image_ids, self._passed)
        newest_event = self.app.workspace.labels.last_number()
        return Batch(number, (self.queue, self.batch), images, np.flatnonzero(is_open), newest_event, person)

    def _page_of_draws(self, number: int, suggestions: Suggestions, person: int | None) -> Batch:
        """A batch of random images only; empty if every image has a label."""
        free = len(suggestions.image_ids) - int(np.isin(suggestions.image_ids, self.current()[0]).sum())
        draws = page_of_draws(self.app, person, suggestions, min(BATCH, free), number)
        places = np.flatnonzero(np.isin(suggestions.image_ids, list(draws)))
        return Batch(
            number,
            (self.queue, self.batch),
            suggestions,
            np.random.default_rng(number).permutation(places),
            self.app.workspace.labels.last_number(),
            person,
            draws,
        )

    def _page_of_final_check(self, number: int, suggestions: Suggestions, person: int | None) -> Batch:
        """A batch of images that the final check has drawn; empty before it is started and after the proof."""
        draws, frozen = images_to_check(self.app, person)
        rows = np.flatnonzero(np.isin(suggestions.image_ids, list(draws)))
        newest_event = self.app.workspace.labels.last_number()
        order = np.random.default_rng(number).permutation(rows)
        return Batch(number, (self.queue, self.batch), suggestions, order, newest_event, person, draws, {}, frozen)

    def _person_id(self) -> int | None:
        person = self.session.current_person()
        return person.id if person else None

    def age(self) -> ModelAge:
        """Which labels the model has not been trained on."""
        return self.app.cached(
            "age of the model",
            lambda: model_age(self.require_suggestions(), self.app.workspace.labels),
            (IMAGES, LABELS),
        )

    def out_of_date(self) -> bool:
        """Whether the model misses too many labels to accept its suggestions. Labels given on the page itself do not
        count, even new ones: the person saw its other images at the same time."""
        age, table = self.age(), self.table()
        if table.was_stale or not age.stale:
            return age.stale
        images, terms = self.current()
        numbers = self.app.workspace.labels.current()[1]
        elsewhere = (numbers > table.since) & ~np.isin(images, table.ids)
        unknown = np.setdiff1d(terms[elsewhere], table.suggestions.terms)
        return replace(age, changed=age.changed - len(self.named_since()), new_terms=len(unknown)).stale

    def answered(self) -> AnsweredDraws:
        """Random draws with their answers, from which all figures about suggestions are computed."""
        return answered_draws(self.app)

    def labels_of(self, ids: np.ndarray) -> dict[int, int]:
        """{image: term} of the labelled images among `ids`; looked up, because millions may be labelled."""
        images, terms = self.current()
        at = np.searchsorted(images, ids)
        there = at < len(images)
        there[there] = images[at[there]] == ids[there]
        return dict(zip(ids[there].tolist(), terms[at[there]].tolist(), strict=True))

    def named_since(self) -> set[int]:
        """Ids of the images of the batch that were labelled since it was made."""
        table = self.table()
        images, numbers = self.app.workspace.labels.current()
        return set(np.intersect1d(images[numbers > table.since], table.ids).tolist())

    def possible(self) -> float | None:
        """Mean size of the prediction sets of unlabelled images, at the wanted share of sets that contain the true
        term; None before enough random images were answered."""
        return self.app.cached(("possible", round(self.precision, 6)), self._possible, (IMAGES, LABELS))

    def acceptable(self) -> Acceptable:
        """Suggestions that random images prove to be right often enough, or what is missing for a proof."""
        return self.app.cached(
            ("acceptable", round(self.precision, 6)),
            lambda: acceptable(self.require_suggestions(), self.current()[0], self.precision, self.answered()),
            (IMAGES, LABELS),
        )

    # --- commands

    def choose_queue(self, name: str) -> None:
        """Show another queue. Random images are drawn for a person, so the name is asked for first."""
        if name in (CHECK, FINAL):
            self.person_id()
        self.param.update(queue=name, batch=0)
        self.choose_typical()

    def can_train(self) -> bool:
        """Whether there are enough labels for a first model that is worth looking at."""
        labelled = len(self.current()[0])
        return labelled >= FEWEST and self.app.cached(
            "can learn", lambda: can_learn(self.app.workspace), (IMAGES, LABELS)
        )

    def choose_typical(self) -> None:
        """Queue the choice of typical images if the queue that shows them has none."""
        if self.queue == TYPICAL:
            choose_if_needed(self.app, self.current()[0], passed=self._passed, seed=self.batch)

    def learn(self) -> None:
        """Queue the training of the model on all labels, unless it is queued or running."""
        if not self.learning():
            self.app.queue.add("learn")
        self.step += 1

    def hold(self) -> None:
        """Keep the batch, because the person has started to answer it."""
        self._touched = True

    def arrange(self, columns: int) -> None:
        """Lay out the batch in this number of columns."""
        self.columns = columns
        self._lay_out()

    def accept(self, otherwise: Mapping[int, int | None], number: int | None = None) -> None:
        """Accept the suggestions of the batch, except for images labelled meanwhile and those in `otherwise`.

        Those get the given term, or have their suggestion rejected if it is None. Raises if `number` is not the number
        of the shown batch: the person has not seen the images of a batch that has just changed."""
        table = self.table()
        self._touched = True  # set before the name is asked for, so that the same images are accepted afterwards
        person_id = self.person_id()
        if number not in (None, table.number):
            raise fail(
                "accept", "the model was updated and other images are shown", "look at these, then press Enter again"
            )
        if self.queue == FINAL:
            self._accept_check(table, otherwise, person_id)
            return
        if table.without_model:
            self._end_first_page(table)
            return
        self._refuse_stale(table)
        corrected = sum(image in otherwise for image in table.ids.tolist())
        accepted = len(table.ids) - corrected - len(self.named_since() - set(otherwise))
        events = self._acts_of_page(table, otherwise)
        numbers = self.app.workspace.labels.append_events(person_id, events)
        store_answers(self.app, person_id, table.drawn, events, numbers)
        self._notify(f"Accepted {accepted} {'suggestion' if accepted == 1 else 'suggestions'}, corrected {corrected}")
        self.next_batch()

    def _end_first_page(self, table: Batch) -> None:
        """Train the first model on the labels of the page, and sort uncertain images next."""
        if not can_learn(self.app.workspace):
            raise fail("learning", "a model needs two different labels", "label more images, or press n for others")
        labelled = len(self.labels_of(table.ids))
        self.session.notify(f"Training a model on the labels of this page: {images_text(labelled)}", kind="info")
        self.learn()
        self._table = replace(table, of=("", 0))  # the page is over: choosing its queue again shows other images
        self.param.update(queue=SORT, batch=0)

    def _accept_check(self, table: Batch, otherwise: Mapping[int, int | None], person_id: int) -> None:
        """Answer a page of the final check: the frozen terms, except for those in `otherwise`."""
        named_images = self.named_since()
        open_images = [image for image in table.frozen if image not in named_images]
        terms = {image: otherwise.get(image, table.frozen[image]) for image in open_images}
        answer_page(self.app, person_id, terms)
        corrected = sum(terms[image] != table.frozen[image] for image in open_images)
        self._notify(f"Checked {images_text(len(open_images))}, corrected {corrected}")
        self.next_batch()

    def start_check(self) -> None:
        """Freeze all labels and suggestions as a version, and show the first images of its check."""
        person_id, suggestions = self.person_id(), self.require_suggestions()
        refuse_stale(suggestions, self.app.workspace.labels)
        version = start(self.app.workspace, person_id, suggestions, self.answered())
        self._notify(f"Froze the labels of {images_text(len(version.image_ids))}", undo=False)
        self.param.update(queue=FINAL, batch=self.batch + 1)
        self.step += 1

    def deliver(self) -> None:
        """Label the remaining images as in the version that was proven."""
        version = latest_version(self.app)
        if version is None:
            raise fail("final check", "none was started", "start one")
        count = deliver(self.app.workspace, self.person_id(), version)
        self._notify(f"Labelled the remaining {images_text(count)}")
        self.next_batch()

    def _acts_of_page(self, table: Batch, otherwise: Mapping[int, int | None]) -> list[Act]:
        """Label events of a batch: accepted suggestions, labels of random draws, corrections and rejections."""
        suggestions, rows, ids = table.suggestions, table.rows, table.ids
        rule, run = {"queue": self.queue, "batch": self.batch}, table.suggestions.facts["run"]
        out, disputed = np.isin(ids, list(otherwise)), self._in_conflict(ids)
        included = ~out & ~np.isin(ids, list(self.named_since()))
        drawn = table.drawn
        is_drawn = np.isin(ids, list(drawn))
        best = table.best_terms()
        is_given = np.isin(ids, list(table.given))
        given_terms = {int(image): otherwise[int(image)] for image in ids[out & ~is_given]}
        checked = {image: otherwise.get(image, best[image]) for image in ids[is_given & (out | included)].tolist()}
        included &= ~is_given
        answered_draws = ids[is_drawn & (out | included) & ~is_given]
        answers = {image: given_terms.get(image, best[image]) for image in answered_draws.tolist()}
        by_draw = {image: term for image, term in answers.items() if term is not None}
        why = "resolved" if self.queue == "disputed" else "manual"
        other_terms = {image: term for image, term in given_terms.items() if term is not None and image not in drawn}
        return [
            *self._answers_to_given(table, checked, rule),
            *suggestion_acts(suggestions, rows[included & disputed & ~is_drawn], {**rule, "settled": True}, "resolved"),
            *suggestion_acts(suggestions, rows[included & ~disputed & ~is_drawn], rule),
            *acts_of_draws(by_draw, drawn, run, rule, ids[disputed]),
            *(
                Act("label", _ids_of(other_terms, term), why, term, run, rule)
                for term in sorted(set(other_terms.values()))
            ),
            *self._refusals(table, [image for image, term in given_terms.items() if term is None], rule),
        ]

    def _refuse_stale(self, table: Batch) -> None:
        """Raise if the model misses too many labels to accept its suggestions, and train it again."""
        if not self.out_of_date():
            return
        try:
            refuse_stale(table.suggestions, self.app.workspace.labels)
        except BenthoscopeError:
            self.learn()
            raise

    def give_term(self, images: list[int], key: str = "") -> None:
        """Label images, each looked at singly, with the chosen term or the one on a key."""
        if key:
            self.press(key)
        if self.term is None:
            raise fail("label", "no label is chosen", "press l and type its first letters")
        if not images:
            raise fail("label", "no image is clicked", "click the images first")
        why, person_id, draws = (
            "resolved" if self.queue == "disputed" else "manual",
            self.person_id(),
            self.table().drawn,
        )
        given, rule = self.table().given, {"queue": self.queue}
        checked = {image: self.term for image in images if image in given}
        others = np.setdiff1d(images, list(checked))
        new_events = [
            *self._answers_to_given(self.table(), checked, rule),
            *([Act("label", others, why, self.term, None, rule)] if len(others) else []),
        ]
        numbers = self.app.workspace.labels.append_events(person_id, new_events)
        store_answers(self.app, person_id, draws, new_events, numbers)
        self._touched = True
        self._notify(f'Labelled {images_text(len(images))} "{self.terms()[self.term].name}"')
        if self.queue == GROUPS:
            self.next_batch()
        self.step += 1

    def press(self, key: str) -> None:
        """Choose the favourite on a key; an unassigned key is assigned the chosen term."""
        self.term = press_favourite(self.app.workspace, self.person_id(), key, self.term)

    def steer(self) -> None:
        """Queue a new run that uses the labels as constraints: no cluster contains two labels."""
        self.app.queue.add("steer", {})
        self.app.jobs.refresh()
        self.session.notify("Clustering again with the labels as constraints. Runs will list the result", kind="info")

    def use_memory(self, name: str) -> None:
        """Use a memory of an earlier campaign for the suggestions, and train the model."""
        memory = use_memory(self.app.workspace, existing_memory(name))
        self._learn_with(f'Using the memory "{memory.name}"')

    def stop_memory(self) -> None:
        """Turn the memory off, and train the model without it; without own labels, there is no model then."""
        MemoryUse(self.app.workspace.folder).stop()
        if not can_learn(self.app.workspace):
            SuggestionStore(self.app.workspace.folder).remove()
        self._learn_with("The memory is turned off")

    def create_memory_terms(self) -> None:
        """Create the labels of the memory that the vocabularies lack, and train the model."""
        memory = MemoryUse(self.app.workspace.folder).get()
        if memory is None:
            raise fail("memory", "none is in use", "choose one first")
        created = create_missing_terms(self.app.workspace, memory.terms)
        self._learn_with(f"Created {len(created):,} {'label' if len(created) == 1 else 'labels'}")

    def save_memory(self, name: str) -> None:
        """Queue the job that stores the labels as a memory for later campaigns."""
        self.app.queue.add("remember", {"name": name})
        self.app.jobs.refresh()
        self.session.notify(f'Storing the labels as the memory "{name}". Jobs shows the progress', kind="info")
        self.step += 1

    def _learn_with(self, text: str) -> None:
        self._notify(text, undo=False)
        if can_learn(self.app.workspace):
            self.learn()
        self.step += 1

    def accept_sure(self) -> None:
        """Accept suggestions without showing them, as far as random images prove that enough of them are right."""
        done = accept_sure(
            self.app.workspace.labels, self.person_id(), self.require_suggestions(), self.precision, self.answered()
        )
        if done.need is not None:
            self._notify(f"No suggestion was accepted. {done.need.text}")
            return
        self._notify(
            f"Accepted {done.images:,} suggestions: at least {100 * self.precision:.0f} % are right (95 % confidence)"
        )
        self.next_batch()

    def next_batch(self) -> None:
        """Show the next batch and train the model on the new labels."""
        self.batch += 1
        if can_learn(self.app.workspace):
            self.learn()
        self.choose_typical()
        self.step += 1

    def skip(self) -> None:
        """Skip the batch and show other images."""
        self._passed = np.union1d(self._passed, self.table().ids)
        self._skipped_group = self._skipped_group or self.queue == GROUPS
        self.batch += 1
        self.choose_typical()
        self.step += 1

    def undo(self) -> None:
        number = self.app.workspace.labels.undo_last(self.person_id())
        self._notify(undone_text(self.app, number), undo=False)
        self.step += 1

    def choose_term(self, term_id: int) -> None:
        self.term = self.app.workspace.vocabularies.term(term_id).id

    # --- inside

    def _possible(self) -> float | None:
        suggestions = self.require_suggestions()
        free = np.flatnonzero(~np.asarray(suggestions.labelled))
        some = free[:: max(len(free) // GROUPED, 1)]
        sets = suggestions.sets(some, 1 - self.precision)
        return None if sets is None else float(sets.sum(1).mean()) if len(some) else 1.0

    def _chosen(self) -> np.ndarray:
        suggestions = self.require_suggestions()
        images, terms = self.current()
        if self.queue == ERRORS:
            return self._doubted(suggestions)
        if self.queue == "disputed":
            return self._disputed(suggestions, images, terms)
        rng = np.random.default_rng(self.batch)
        free = np.sort(rng.permutation(self._free(suggestions, images))[:CANDIDATES])
        if not len(free):
            return free
        if self.queue in OWN_QUEUES:
            return OWN_QUEUES[self.queue](self, suggestions, free)
        among = Candidates(
            np.asarray(suggestions.probabilities[free]),
            np.asarray(suggestions.probabilities[free]),
            np.asarray(suggestions.clusters[free]),
            np.asarray(suggestions.familiarity[free]),
        )
        return free[QUEUES[self.queue](among, BATCH, rng)]

    def _free(self, suggestions: Suggestions, images: np.ndarray) -> np.ndarray:
        """Rows of unlabelled images that were not skipped, or all unlabelled ones if only skipped ones are left."""
        open_ = ~np.isin(suggestions.image_ids, images)
        fresh = open_ & ~np.isin(suggestions.image_ids, self._passed)
        if not fresh.any():
            self._passed = NOTHING
        return np.flatnonzero(fresh if fresh.any() else open_)

    def _between_topics(self, suggestions: Suggestions, free: np.ndarray) -> np.ndarray:
        """Images whose topics fit two labels equally well; empty without a run of topics."""
        topics = topics_of(self.app, None)
        if topics is None:
            return free[:0]
        images, terms = self.current()
        known = np.isin(images, topics.ids)
        at = topics.row_of[topics.atlas.columns.positions(images[known])]
        free = free[np.isin(suggestions.image_ids[free], topics.ids)]
        rows = topics.row_of[topics.atlas.columns.positions(np.asarray(suggestions.image_ids)[free])]
        worth = topic_margins(topics.weights[at], terms[known], topics.weights[rows])
        return free[np.argsort(-worth, kind="stable")[:BATCH]]

    def _typical(self, suggestions: Suggestions, free: np.ndarray) -> np.ndarray:
        """Typical images without a label that were not skipped; empty while others are being chosen."""
        page = stored_page(self.app)
        if page is None:
            return free[:0]
        ids = np.setdiff1d(page.image_ids, np.union1d(self.current()[0], self._passed))
        return np.flatnonzero(np.isin(suggestions.image_ids, ids))

    def _to_sort(self, suggestions: Suggestions, free: np.ndarray) -> np.ndarray:
        """Uncertain images of few kinds."""
        P = np.asarray(suggestions.probabilities[free], np.float64)
        return free[page_to_sort(self._material(suggestions).data.appearance[free], P, SORTED)]

    def _lay_out(self) -> None:
        """Arrange a large batch so that similar images are neighbours."""
        if self._table and self._table.of[0] in LAID_OUT and len(self._table.rows):
            rows = np.sort(self._table.rows)
            P = self._table.suggestions.unseen_rows(rows).astype(np.float64)
            near = likeness(self._appearance(self._table)[rows], P)
            self._table = replace(self._table, rows=rows[laid_out(near, self.columns)])

    def _appearance(self, table: Batch) -> np.ndarray:
        """(N, D) rows of the images in the order of the suggestions; typical images without a model have theirs."""
        page = stored_page(self.app) if table.without_model else None
        return self._material(table.suggestions).data.appearance if page is None else page.rows

    def _new_kind(self, suggestions: Suggestions, free: np.ndarray) -> np.ndarray:
        """The group of similar images that is least like anything labelled; the next batch shows the next group."""
        rows, clusters = self._material(suggestions).data.appearance[free], np.asarray(suggestions.clusters[free])
        some = np.random.default_rng(0).permutation(len(free))[:GROUPED]
        groups = similar_groups(rows[some], clusters[some], np.random.default_rng(0))
        known = np.asarray(suggestions.labelled)
        novelty = (
            groups.novelty_from(self._material(suggestions).data.appearance[known][:GROUPED])
            if known.any()
            else np.ones(groups.count)
        )
        order = np.argsort(-groups.worth(novelty[groups.of], np.ones(len(some), bool)), kind="stable")
        return free[some[groups.members(int(order[self.batch % len(order)]))]][:BATCH]

    def _material(self, suggestions: Suggestions) -> LearningData:
        return material_of(self.app.workspace, run=suggestions.facts["run"])[1]

    def _refusals(self, table: Batch, images: list[int], rule: Mapping[str, Any]) -> list[Act]:
        best, run = table.best_terms(), table.suggestions.facts["run"]
        refused = {image: best[image] for image in images}
        return [
            Act("refuse", _ids_of(refused, term), "suggestion", term, run, rule)
            for term in sorted(set(refused.values()))
        ]

    def _of_one_term(self, suggestions: Suggestions, free: np.ndarray) -> np.ndarray:
        """The most confident suggestions of the term with most suggestions; terms take turns."""
        best, sure = (each[free] for each in suggestions.best())
        terms, counts = np.unique(best, return_counts=True)
        if not len(terms):
            return free
        term = terms[np.argsort(-counts, kind="stable")][self.batch % len(terms)]
        of_term = np.flatnonzero(best == term)
        return free[of_term[np.argsort(-sure[of_term], kind="stable")[:BATCH]]]

    def suspicious(self) -> np.ndarray:
        """Rows of the suggestions whose label is probably wrong, least believed first."""
        return self.app.cached("suspicious labels", self._suspicious, (IMAGES, LABELS))

    def _suspicious(self) -> np.ndarray:
        suggestions = self.require_suggestions()
        return suspicious_rows(suggestions, *self.current(), self.app.workspace.labels.effective()[0])

    def slip_share(self) -> SlipShare:
        """How many of the suspicious labels were wrong so far."""
        log = self.app.workspace.labels
        return slip_share(log.effective()[0], log.current()[1], len(self.suspicious()))

    def _doubted(self, suggestions: Suggestions) -> np.ndarray:
        """Images that people labelled differently, then labels the model disagrees with."""
        in_conflict = np.flatnonzero(self._in_conflict(suggestions.image_ids))
        suspects = self.suspicious()
        listed = np.concatenate([in_conflict, suspects[~np.isin(suspects, in_conflict)]])
        fresh = listed[~np.isin(suggestions.image_ids[listed], self._passed)]
        if not len(fresh):
            self._passed = NOTHING
        return (fresh if len(fresh) else listed)[:BATCH]

    def _given_terms(self, ids: np.ndarray) -> dict[int, tuple[int, ...]]:
        """{image: its label and then the labels that others gave it} of the labelled images among `ids`."""
        of_people = {conflict.image: conflict.opinions for conflict in open_conflicts(self.app)}
        return {
            image: tuple(dict.fromkeys((term, *(other for _, other, _ in of_people.get(image, ())))))
            for image, term in self.labels_of(ids).items()
        }

    def _answers_to_given(self, table: Batch, checked: Mapping[int, int | None], rule: Mapping[str, Any]) -> list[Act]:
        """Events that confirm or correct labels that were listed as suspicious, and that settle conflicts. None removes
        a label."""
        disputed = set(np.array(list(checked), np.int64)[self._in_conflict(np.array(list(checked), np.int64))].tolist())
        groups: dict[tuple[bool, bool, int | None], list[int]] = {}
        for image, term in checked.items():
            groups.setdefault((image in disputed, term != table.given[image][0], term), []).append(image)
        return [
            Act(
                "clear" if term is None else "label",
                np.array(sorted(images), np.int64),
                "resolved" if settles else "manual",
                term,
                None,
                {**rule, **({"settled": True} if settles else {CORRECTED: corrects})},
            )
            for (settles, corrects, term), images in groups.items()
        ]

    def _disputed(self, suggestions: Suggestions, images: np.ndarray, terms: np.ndarray) -> np.ndarray:
        """Images that people labelled differently, then those for which model and cluster labels differ."""
        of_people = np.flatnonzero(
            self._in_conflict(suggestions.image_ids) & ~np.isin(suggestions.image_ids, self._passed)
        )
        if len(of_people):
            return of_people[:BATCH]
        known = np.isin(images, suggestions.image_ids) & np.isin(terms, suggestions.terms)
        free = self._free(suggestions, images)
        clusters, P = np.asarray(suggestions.clusters), np.asarray(suggestions.probabilities[free], np.float64)
        labelled = clusters[np.searchsorted(suggestions.image_ids, images[known])]
        return free[
            by_disagreement(P, clusters[free], labelled, np.searchsorted(suggestions.terms, terms[known]), BATCH)
        ]

    def _in_conflict(self, ids: np.ndarray) -> np.ndarray:
        """(n,) bool: images that people labelled differently."""
        return np.isin(ids, [conflict.image for conflict in open_conflicts(self.app)])

    def _notify(self, text: str, *, undo: bool = True) -> None:
        self.session.changed(LABELS)
        self.session.notify(text, undo=self.undo if undo else None)


def _ids_of(term_of_image: Mapping[int, int] | Mapping[int, int | None], term: int) -> np.ndarray:
    return np.array(sorted(image for image, term_id in term_of_image.items() if term_id == term), np.int64)


OWN_QUEUES: Mapping[str, Callable[[Learn, Suggestions, np.ndarray], np.ndarray]] = {
    "sure": Learn._of_one_term,
    SORT: Learn._to_sort,
    TYPICAL: Learn._typical,
    GROUPS: Learn._new_kind,
    TOPICS: Learn._between_topics,
}
