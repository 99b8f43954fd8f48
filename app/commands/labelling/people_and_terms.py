"""People and terms as commands name them."""

from typing import TYPE_CHECKING

from benthoscope.engine.problems import fail
from benthoscope.engine.term_path import joined, parted

if TYPE_CHECKING:
    from benthoscope.engine.workspace import Workspace


def check_person(person: str) -> None:
    """Raise if no name was given."""
    if not person.strip():
        raise fail("--person", "is missing", "give your name with --person NAME, or set BENTHOSCOPE_PERSON")


def person_id_of(workspace: "Workspace", person: str) -> int:
    check_person(person)
    return workspace.people.named(person).id


def find_term(workspace: "Workspace", word: str, *, create: bool = False):
    """The term with this name, path or code; with `create` a new one if no vocabulary contains it."""
    from benthoscope.engine.labelling.terms import find_or_create_term
    from benthoscope.engine.problems import unknown
    from benthoscope.engine.workspace.labels.term_search import search

    terms = workspace.vocabularies.all_terms()
    path = tuple(name.strip() for name in parted(word))
    exact = [term for term in terms if word in (term.code, term.name) or term.path == path]
    if len(exact) == 1:
        return exact[0]
    if exact:
        listed = "; ".join(joined(term.path) for term in exact)
        raise fail("term", f"'{word}' is ambiguous: {listed}", "give the whole path")
    if create:
        return find_or_create_term(workspace.vocabularies, word)
    near = search(terms, word, 1)
    raise unknown("term", word, [joined(term.path) for term in near or terms])
