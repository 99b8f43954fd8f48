"""Labels: the words, what people agree on, everything that was ever said, and files in and out."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import param

from app.state.app_state import AppState
from app.state.exporting import exporting
from app.state.importing_labels import importing
from app.state.job_form import JobForm
from app.state.session import Session
from engine.labelling.vocabulary_file import add_catami, read_vocabulary
from engine.problems import BadInput, fail
from engine.workspace.term_links import TermLink
from engine.workspace.vocabularies import NewTerm, Term, Vocabulary

PARTS = ("words", "people", "history", "cover", "files")
EXAMPLES = 4  # images that show what a term means


class Labels(param.Parameterized):
    """`step` grows with every act; what is drawn depends on it."""

    session = param.ClassSelector(class_=Session, constant=True, doc="The tab.")
    part = param.Selector(default="words", objects=list(PARTS), doc="What is shown.")
    vocabulary = param.Integer(default=None, allow_None=True, doc="Id of the vocabulary; None is the first.")
    target = param.Integer(default=None, allow_None=True, doc="Id of the vocabulary its terms are linked to.")
    before = param.Integer(default=None, allow_None=True, doc="History before this act; None is the newest.")
    image = param.Integer(default=None, allow_None=True, doc="History of this image alone.")
    people = param.List(default=[], item_type=int, doc="Ids of the two people compared.")
    selection = param.Integer(default=None, allow_None=True, doc="Number of the saved selection to be exported.")
    level = param.Integer(default=None, allow_None=True, bounds=(1, None), doc="Level of the terms of cover.")
    step = param.Integer(default=0, doc="Grows with every act.")

    def __init__(self, session: Session, **values: Any):
        super().__init__(session=session, **values)
        self.form = JobForm(session)
        session.address.bind(self, "part", "vocabulary", "image", "selection", "level")

    @property
    def app(self) -> AppState:
        return self.session.app

    def who(self) -> int:
        return self.session.who_or_fail().id

    # --- words

    def chosen(self) -> Vocabulary | None:
        found = self.app.workspace.vocabularies.all()
        return next((words for words in found if words.id == self.vocabulary), found[0] if found else None)

    def add_vocabulary(self, name: str) -> None:
        made = self.app.workspace.vocabularies.add(name.strip(), [])
        self.vocabulary = made.id
        self._said(f"Added the vocabulary {made.name}")

    def add_catami(self) -> None:
        made = add_catami(self.app.workspace)
        self.vocabulary = made.id
        self._said("Added CATAMI 1.4")

    def read_table(self, name: str, text: str) -> None:
        """A vocabulary from a table a person chose; its terms join those of the same name."""
        terms, problems = read_vocabulary(text.encode(), source=name)
        if not terms:
            raise BadInput(problems[0])
        made = self.app.workspace.vocabularies.add(name.rpartition(".")[0] or name, terms)
        self.vocabulary = made.id
        more = f"; {len(problems)} lines were no use, the first: {problems[0]}" if problems else ""
        self._said(f"Read {len(terms):,} terms into {made.name}{more}")

    def add_term(self, name: str, parent: int | None) -> None:
        words = self.chosen()
        if words is None:
            raise fail("term", "there is no vocabulary yet", "add one first")
        above = self._term(parent).path if parent is not None else ()
        path = (*above, name.strip())
        if any(term.path == path for term in self.app.workspace.vocabularies.terms(words.id)):
            raise fail("term", f"there is a '{name}' beside it already", "choose another name")
        self.app.workspace.vocabularies.add(words.name, [NewTerm(path)])
        self._said(f"Added {' > '.join(path)}")

    def change_term(self, term_id: int, values: Mapping[str, Any]) -> None:
        """name, code, colour, notes, synonyms (separated by |); what is not given stays."""
        given = {name: values[name] for name in ("name", "code", "colour") if values.get(name)}
        if "notes" in values:
            given["notes"] = values["notes"].strip() or None
        if "synonyms" in values:
            given["synonyms"] = [word.strip() for word in values["synonyms"].split("|") if word.strip()] or None
        changed = self.app.workspace.vocabularies.change(term_id, **given)
        self._said(f"Changed {changed.name}")

    def remove_term(self, term_id: int) -> None:
        name = self._term(term_id).name
        self.app.workspace.vocabularies.remove(term_id)
        self._said(f"Removed {name}")

    def choose_examples(self, term_id: int) -> None:
        """Images that show what the term means: labelled ones, those somebody looked at alone before others."""
        images = self._best_of(term_id)
        if not len(images):
            raise fail("examples", "no image has this label yet", "label some first")
        self.app.workspace.vocabularies.change(term_id, examples=images.tolist())
        self._said(f"Chose {len(images)} examples of {self._term(term_id).name}")

    def choose_key(self, term_id: int, key: str | None) -> None:
        """Puts a term on a key of this person, or takes it off."""
        favourites, who = self.app.workspace.favourites, self.who()
        for held, term in favourites.of(who).items():
            if term == term_id and held != key:
                favourites.choose(who, held, None)
        if key:
            favourites.choose(who, key, term_id)
        self._said(f"{self._term(term_id).name} is on key {key}" if key else f"{self._term(term_id).name} has no key")

    def link(self, term_id: int, target_id: int, relation: str) -> None:
        """Says what a term is called in the other vocabulary."""
        self.app.workspace.term_links.add([TermLink(term_id, target_id, relation)])
        self._said(f"{self._term(term_id).name} is {relation} {self._term(target_id).name}")

    # --- people, history

    def resolve(self, image: int, term_id: int) -> None:
        """Settles a conflict: this term holds, and what others said stays in the history."""
        self.app.workspace.labels.label(self.who(), [image], term_id, why="resolved")
        self._said(f"Image {image} is {self._term(term_id).name}", undo=True)

    def undo(self, number: int) -> None:
        self.app.workspace.labels.undo(self.who(), number)
        self._said(f"Took back act {number}", undo=True)

    def revert(self, number: int) -> None:
        """Brings all labels back to what they were right after an act."""
        self.app.workspace.labels.revert(self.who(), number)
        self._said(f"Labels are as they were after act {number}", undo=True)

    # --- files

    def export(self, selection: int | None = None) -> None:
        self.form.open(exporting(self.session, selection))
        self.form.change(self.form.shown["values"])

    def import_files(self, tokens: Sequence[str]) -> None:
        self.form.open(importing(self.session, tokens))

    # --- inside

    def _best_of(self, term_id: int) -> np.ndarray:
        log = self.app.workspace.labels
        images, numbers = log.current()
        terms = log.terms_of(numbers)
        mine = terms == term_id
        alone = {event.number for event in log.events() if event.count == 1}
        order = np.argsort([number not in alone for number in numbers[mine].tolist()], kind="stable")
        return np.sort(images[mine][order][:EXAMPLES])

    def _term(self, term_id: int) -> Term:
        return self.app.workspace.vocabularies.term(term_id)

    def _said(self, text: str, *, undo: bool = False) -> None:
        self.session.changed(images=False)
        self.session.tell(text, undo=self._undo_last if undo else None)
        self.step += 1

    def _undo_last(self) -> None:
        self.app.workspace.labels.undo_last(self.who())
        self.step += 1
