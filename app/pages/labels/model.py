"""View model of the Labels page: vocabularies, agreement, history, cover, imports and exports."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import param

from benthoscope.app.components.forms import JobForm
from benthoscope.app.data.labels import undone_text
from benthoscope.app.pages.labels.export_form import exporting
from benthoscope.app.pages.labels.import_form import importing
from benthoscope.app.session.cache import LABELS
from benthoscope.app.session.session import Session
from benthoscope.app.session.view_model import ViewModel
from benthoscope.engine.labelling.audits.bulk_audit import withdraw_audit
from benthoscope.engine.labelling.people.disagreements import adopt, keep
from benthoscope.engine.labelling.terms import OWN_VOCABULARY
from benthoscope.engine.labelling.vocabulary_file import add_catami, read_vocabulary
from benthoscope.engine.problems import BadInput, fail
from benthoscope.engine.term_path import joined
from benthoscope.engine.workspace.labels.vocabularies import NewTerm, Term, TermLink, Vocabulary

PARTS = ("words", "import", "people", "training", "history", "cover", "export")
OLD_PARTS = {"files": "export"}  # names in addresses of earlier versions
EXAMPLES = 4  # images that show what a term means


class Labels(ViewModel):
    """`step` grows with every command; the board is redrawn when it changes."""

    part: param.Selector[str] = param.Selector(default="words", objects=[*PARTS, *OLD_PARTS], doc="What is shown.")
    vocabulary = param.Integer(default=None, allow_None=True, doc="Id of the vocabulary; None is the first.")
    target = param.Integer(default=None, allow_None=True, doc="Id of the vocabulary that terms are linked to.")
    image = param.Integer(default=None, allow_None=True, doc="Id of the image whose history is shown; None means all.")
    confusion = param.List(default=[], item_type=int, doc="Ids of the own label and the consensus that are compared.")
    people = param.List(default=[], item_type=int, doc="Ids of the two people compared.")
    selection = param.Integer(default=None, allow_None=True, doc="Id of the saved selection to export.")
    run = param.Integer(default=None, allow_None=True, doc="Id of the run whose clusters are exported.")
    level = param.Integer(default=None, allow_None=True, bounds=(1, None), doc="Level of the terms of cover.")
    together = param.Boolean(default=False, doc="Whether all intervals of cover are simultaneous.")
    step = param.Integer(default=0, doc="Grows with every command.")

    def __init__(self, session: Session, **values: Any):
        super().__init__(session=session, **values)
        self.form = JobForm(session)
        self.param.watch(lambda _: self._rename_part(), "part")
        session.address.bind(self, "part", "vocabulary", "image", "selection", "run", "level", "together")

    def person_id(self) -> int:
        return self.session.require_person().id

    def _rename_part(self) -> None:
        if self.part in OLD_PARTS:
            self.part = OLD_PARTS[self.part]

    # --- words

    def chosen(self) -> Vocabulary | None:
        vocabularies = self.app.workspace.vocabularies.all()
        return next(
            (words for words in vocabularies if words.id == self.vocabulary), vocabularies[0] if vocabularies else None
        )

    def add_vocabulary(self, name: str) -> None:
        made = self.app.workspace.vocabularies.add(name.strip(), [])
        self.vocabulary = made.id
        self._notify(f"Added the vocabulary {made.name}")

    def add_catami(self) -> None:
        made = add_catami(self.app.workspace)
        self.vocabulary = made.id
        self._notify("Added CATAMI 1.4")

    def read_table(self, name: str, text: str) -> None:
        """Read a vocabulary from a table; terms are added to a vocabulary of the same name."""
        terms, problems = read_vocabulary(text.encode(), source=name)
        if not terms:
            raise BadInput(problems[0])
        made = self.app.workspace.vocabularies.add(name.rpartition(".")[0] or name, terms)
        self.vocabulary = made.id
        problem_text = f"; {len(problems)} lines could not be read, the first: {problems[0]}" if problems else ""
        self._notify(f"Read {len(terms):,} terms into {made.name}{problem_text}")

    def add_term(self, name: str, parent: int | None) -> None:
        words = self.chosen() or self.app.workspace.vocabularies.add(OWN_VOCABULARY, [])
        above = self._term(parent).path if parent is not None else ()
        path = (*above, name.strip())
        if any(term.path == path for term in self.app.workspace.vocabularies.terms(words.id)):
            raise fail("term", f"'{name}' exists already at this place", "choose another name")
        self.app.workspace.vocabularies.add(words.name, [NewTerm(path)])
        self._notify(f"Added {joined(path)}")

    def change_term(self, term_id: int, values: Mapping[str, Any]) -> None:
        """Change name, code, colour, notes or synonyms (separated by |); other values stay."""
        changes = {name: values[name] for name in ("name", "code", "colour") if values.get(name)}
        if "notes" in values:
            changes["notes"] = values["notes"].strip() or None
        if "synonyms" in values:
            changes["synonyms"] = [word.strip() for word in values["synonyms"].split("|") if word.strip()] or None
        changed = self.app.workspace.vocabularies.change(term_id, **changes)
        self._notify(f"Changed {changed.name}")

    def remove_term(self, term_id: int) -> None:
        name = self._term(term_id).name
        self.app.workspace.vocabularies.remove(term_id)
        self._notify(f"Removed {name}")

    def choose_examples(self, term_id: int) -> None:
        """Choose example images of a term: labelled images, first those that were labelled singly."""
        images = self._best_of(term_id)
        if not len(images):
            raise fail("examples", "no image has this label yet", "label some images first")
        self.app.workspace.vocabularies.change(term_id, examples=images.tolist())
        self._notify(f"Chose {len(images)} examples of {self._term(term_id).name}")

    def choose_key(self, term_id: int, key: str | None) -> None:
        """Assign a term to a key of this person, or remove it from its key."""
        favourites, person_id = self.app.workspace.favourites, self.person_id()
        for used_key, term in favourites.of(person_id).items():
            if term == term_id and used_key != key:
                favourites.choose(person_id, used_key, None)
        if key:
            favourites.choose(person_id, key, term_id)
        name = self._term(term_id).name
        self._notify(f"Key {key} now applies {name}" if key else f"{name} has no key now")

    def link(self, term_id: int, target_id: int, relation: str) -> None:
        """Link a term to a term of another vocabulary."""
        self.app.workspace.term_links.add([TermLink(term_id, target_id, relation)])
        self._notify(f"{self._term(term_id).name} is {relation} {self._term(target_id).name}")

    # --- people, history

    def resolve(self, image: int, term_id: int) -> None:
        """Resolve a conflict with this term; the other labels stay in the history."""
        self.app.workspace.labels.label(self.person_id(), [image], term_id, why="resolved")
        self._notify(f'Labelled image {image} "{self._term(term_id).name}"', undo=True)

    def adopt(self, image: int) -> None:
        """Give an image the consensus as the label of this person."""
        adopt(self.app.workspace, self.person_id(), [image])
        self._notify(f"Changed your label of image {image} to the consensus", undo=True)

    def keep(self, image: int) -> None:
        """Keep the person's own label of an image, and list it no more."""
        keep(self.app.workspace, self.person_id(), [image])
        self._notify(f"Kept your label of image {image}", undo=True)

    def undo(self, number: int) -> None:
        self.app.workspace.labels.undo(self.person_id(), number)
        self._notify(undone_text(self.app, number), undo=True)

    def withdraw_audit(self, number: int) -> None:
        """Withdraw an audit; its images can be checked again."""
        withdraw_audit(self.app.workspace, self.person_id(), number)
        self._notify(f"Withdrew check {number}. The same images can be checked again")

    def revert(self, number: int) -> None:
        """Restore all labels as they were after an event."""
        self.app.workspace.labels.revert(self.person_id(), number)
        self._notify(f"Restored all labels as they were after entry {number}", undo=True)

    # --- files

    def export(self, selection: int | None = None) -> None:
        self.form.open(exporting(self.session, selection, self.run))
        self.form.change(self.form.shown["values"])

    def import_files(self, tokens: Sequence[str]) -> None:
        self.person_id()  # the preview already needs the name that the labels are stored under
        self.form.open(importing(self.session, tokens))

    # --- inside

    def _best_of(self, term_id: int) -> np.ndarray:
        log = self.app.workspace.labels
        images, numbers = log.current()
        terms = log.terms_of(numbers)
        of_term = terms == term_id
        alone = {event.number for event in log.events() if event.count == 1}
        order = np.argsort([number not in alone for number in numbers[of_term].tolist()], kind="stable")
        return np.sort(images[of_term][order][:EXAMPLES])

    def _term(self, term_id: int) -> Term:
        return self.app.workspace.vocabularies.term(term_id)

    def _notify(self, text: str, *, undo: bool = False) -> None:
        self.session.changed(LABELS)
        self.session.notify(text, undo=self._undo_last if undo else None)
        self.step += 1

    def _undo_last(self) -> None:
        self.app.workspace.labels.undo_last(self.person_id())
        self.step += 1
