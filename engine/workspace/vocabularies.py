"""The words of labels: trees of terms, several to a workspace."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from engine.problems import fail, unknown
from engine.workspace.catalogue import Catalogue
from engine.workspace.records import now
from engine.workspace.schema import term, vocabulary

COLOUR = re.compile(r"#[0-9a-fA-F]{6}")


@dataclass(frozen=True)
class NewTerm:
    """A term by its path from the root down: ("Biota", "Sponges")."""

    path: tuple[str, ...]
    code: str | None = None
    colour: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Term(NewTerm):
    id: int = 0
    parent_id: int | None = None

    @property
    def name(self) -> str:
        return self.path[-1]


@dataclass(frozen=True)
class Vocabulary:
    id: int
    name: str
    version: str


class Vocabularies:
    def __init__(self, catalogue: Catalogue):
        self._catalogue = catalogue

    def all(self) -> list[Vocabulary]:
        found = self._catalogue.all(select(vocabulary).order_by(vocabulary.c.name))
        return [Vocabulary(row.id, row.name, row.version) for row in found]

    def named(self, name: str) -> Vocabulary:
        for found in self.all():
            if found.name == name:
                return found
        raise unknown("vocabulary", name, [found.name for found in self.all()])

    def add(self, name: str, terms: Sequence[NewTerm], version: str = "") -> Vocabulary:
        """A vocabulary with these terms; those already there keep their ids, so labels stay valid."""
        if not name.strip():
            raise fail("vocabulary", "has no name", "give it one")
        known = {found.name for found in self.all()}

        def store(connection: Connection) -> None:
            if name not in known:
                connection.execute(insert(vocabulary).values(name=name, version=version, created_at=now()))
            number = connection.execute(select(vocabulary.c.id).where(vocabulary.c.name == name)).scalar_one()
            _add_terms(connection, number, terms)

        self._catalogue.write(store)
        return self.named(name)

    def terms(self, vocabulary_id: int) -> list[Term]:
        """All terms, parents before children."""
        with self._catalogue.reading() as connection:
            return list(_terms(connection, vocabulary_id).values())

    def all_terms(self) -> list[Term]:
        """Of all vocabularies, one after the other."""
        return [found for words in self.all() for found in self.terms(words.id)]

    def term(self, term_id: int) -> Term:
        for found in self.all_terms():
            if found.id == term_id:
                return found
        raise fail("term", f"no term {term_id}", "choose one of a vocabulary")

    def change(self, term_id: int, *, name: str | None = None, code: str | None = None, colour: str | None = None,
               **details: Any) -> Term:
        """Renames or describes a term; of `details` (notes, synonyms, examples) None takes an entry away. Labels made
        with the term stay."""
        old = self.term(term_id)
        if name is not None and not name.strip():
            raise fail("term", "has no name", "give it one")
        if colour is not None and not COLOUR.fullmatch(colour):
            raise fail("colour", f"'{colour}' is no colour", "write it as #rrggbb")
        merged = {key: value for key, value in {**old.details, **details}.items() if value is not None}
        values = {"name": name and name.strip(), "code": code, "colour": colour}
        given = {key: value for key, value in values.items() if value is not None}
        try:
            self._catalogue.execute(update(term).where(term.c.id == term_id).values(**given, details=merged))
        except IntegrityError as error:
            raise fail("term", f"there is a '{name}' beside it already", "choose another name") from error
        return self.term(term_id)

    def remove(self, term_id: int) -> None:
        """Takes out a term that nothing was ever labelled with and that has none below it."""
        found = self.term(term_id)
        try:
            self._catalogue.execute(delete(term).where(term.c.id == term_id))
        except IntegrityError as error:
            raise fail(f"term {found.name}", "has labels or terms below it", "rename it instead") from error


def _terms(connection: Connection, vocabulary_id: int) -> dict[tuple[str, ...], Term]:
    wanted = select(term).where(term.c.vocabulary_id == vocabulary_id).order_by(term.c.id)  # parents came first
    paths: dict[int | None, tuple[str, ...]] = {None: ()}
    found = {}
    for row in connection.execute(wanted):
        paths[row.id] = path = (*paths[row.parent_id], row.name)
        found[path] = Term(path, row.code, row.colour, row.details, row.id, row.parent_id)
    return found


def _add_terms(connection: Connection, vocabulary_id: int, terms: Sequence[NewTerm]) -> None:
    known = {path: found.id for path, found in _terms(connection, vocabulary_id).items()}
    for new in sorted(terms, key=lambda new: len(new.path)):
        if not new.path or not all(part.strip() for part in new.path):
            raise fail("term", f"{' > '.join(new.path)!r} has an empty name", "name every level")
        if new.path in known:
            continue
        parent = known.get(new.path[:-1])
        if parent is None and len(new.path) > 1:
            raise fail(f"term {' > '.join(new.path)}", "its parent is not in the vocabulary", "add the parent as well")
        values = {"vocabulary_id": vocabulary_id, "parent_id": parent, "name": new.path[-1], "code": new.code,
                  "colour": new.colour, "details": dict(new.details)}
        known[new.path] = connection.execute(insert(term).values(**values)).inserted_primary_key[0]
