"""Vocabularies (trees of terms, several per workspace), links between their terms, and keyboard shortcuts of a
person."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from benthoscope.engine.problems import fail, unknown
from benthoscope.engine.term_path import joined
from benthoscope.engine.workspace.database.catalogue import Catalogue
from benthoscope.engine.workspace.database.schema import favourite, term, term_link, vocabulary
from benthoscope.engine.workspace.records import current_time, inserted_id

COLOUR = re.compile(r"#[0-9a-fA-F]{6}")


@dataclass(frozen=True)
class NewTerm:
    """A term by its path from the root: ("Biota", "Sponges")."""

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
        rows = self._catalogue.all(select(vocabulary).order_by(vocabulary.c.name))
        return [Vocabulary(row.id, row.name, row.version) for row in rows]

    def named(self, name: str) -> Vocabulary:
        for candidate in self.all():
            if candidate.name == name:
                return candidate
        raise unknown("vocabulary", name, [known.name for known in self.all()])

    def add(self, name: str, terms: Sequence[NewTerm], version: str = "") -> Vocabulary:
        """Store a vocabulary with these terms. Existing terms keep their ids, so labels stay valid."""
        if not name.strip():
            raise fail("vocabulary", "has no name", "give it a name")
        known = {existing.name for existing in self.all()}

        def store(connection: Connection) -> None:
            if name not in known:
                connection.execute(insert(vocabulary).values(name=name, version=version, created_at=current_time()))
            number = connection.execute(select(vocabulary.c.id).where(vocabulary.c.name == name)).scalar_one()
            _add_terms(connection, number, terms)

        self._catalogue.write(store)
        return self.named(name)

    def terms(self, vocabulary_id: int) -> list[Term]:
        """Return all terms, parents before children."""
        with self._catalogue.reading() as connection:
            return list(_terms(connection, vocabulary_id).values())

    def all_terms(self) -> list[Term]:
        """Return the terms of all vocabularies, one after the other."""
        return [entry for words in self.all() for entry in self.terms(words.id)]

    def term(self, term_id: int) -> Term:
        for candidate in self.all_terms():
            if candidate.id == term_id:
                return candidate
        raise fail("term", f"there is no term {term_id}", "choose one of a vocabulary")

    def change(
        self,
        term_id: int,
        *,
        name: str | None = None,
        code: str | None = None,
        colour: str | None = None,
        **details: Any,
    ) -> Term:
        """Rename or describe a term. In `details` (notes, synonyms, examples), None removes an entry. Labels with the
        term stay."""
        old = self.term(term_id)
        if name is not None and not name.strip():
            raise fail("term", "has no name", "give it a name")
        if colour is not None and not COLOUR.fullmatch(colour):
            raise fail("colour", f"'{colour}' is not a colour", "write it as #rrggbb")
        merged = {key: value for key, value in {**old.details, **details}.items() if value is not None}
        values = {"name": name and name.strip(), "code": code, "colour": colour}
        changes = {key: value for key, value in values.items() if value is not None}
        try:
            self._catalogue.execute(update(term).where(term.c.id == term_id).values(**changes, details=merged))
        except IntegrityError as error:
            raise fail("term", f"there is already a '{name}' beside it", "choose another name") from error
        return self.term(term_id)

    def remove(self, term_id: int) -> None:
        """Remove a term that was never used for a label and has no terms below it."""
        removed = self.term(term_id)
        try:
            self._catalogue.execute(delete(term).where(term.c.id == term_id))
        except IntegrityError as error:
            raise fail(f"term {removed.name}", "has labels or terms below it", "rename it instead") from error


def _terms(connection: Connection, vocabulary_id: int) -> dict[tuple[str, ...], Term]:
    # in order of creation, so parents come first
    query = select(term).where(term.c.vocabulary_id == vocabulary_id).order_by(term.c.id)
    paths: dict[int | None, tuple[str, ...]] = {None: ()}
    by_path = {}
    for row in connection.execute(query):
        paths[row.id] = path = (*paths[row.parent_id], row.name)
        by_path[path] = Term(path, row.code, row.colour, row.details, row.id, row.parent_id)
    return by_path


def _add_terms(connection: Connection, vocabulary_id: int, terms: Sequence[NewTerm]) -> None:
    known = {path: existing.id for path, existing in _terms(connection, vocabulary_id).items()}
    for new in sorted(terms, key=lambda new: len(new.path)):
        if not new.path or not all(name.strip() for name in new.path):
            raise fail("term", f"{joined(new.path)!r} has an empty name", "give each level a name")
        if new.path in known:
            continue
        parent = known.get(new.path[:-1])
        if parent is None and len(new.path) > 1:
            raise fail(f"term {joined(new.path)}", "its parent is not in the vocabulary", "add the parent as well")
        values = {
            "vocabulary_id": vocabulary_id,
            "parent_id": parent,
            "name": new.path[-1],
            "code": new.code,
            "colour": new.colour,
            "details": dict(new.details),
        }
        known[new.path] = inserted_id(connection.execute(insert(term).values(**values)))


RELATIONS = {"same": "same", "broader": "narrower", "narrower": "broader"}  # each with its inverse


@dataclass(frozen=True)
class TermLink:
    """A link between terms. `relation` describes the target relative to the source: the same, broader, or narrower."""

    source_id: int
    target_id: int
    relation: str = "same"

    def __post_init__(self):
        if self.relation not in RELATIONS:
            raise unknown("relation of terms", self.relation, RELATIONS)

    def turned(self) -> "TermLink":
        return TermLink(self.target_id, self.source_id, RELATIONS[self.relation])


class TermLinks:
    def __init__(self, catalogue: Catalogue):
        self._catalogue = catalogue

    def add(self, links: Iterable[TermLink]) -> None:
        """Store links. A pair that is already linked gets the new relation."""
        new_links = list(links)

        def store(connection: Connection) -> None:
            for link in new_links:
                for pair in (link, link.turned()):
                    same = (term_link.c.source_id == pair.source_id) & (term_link.c.target_id == pair.target_id)
                    connection.execute(delete(term_link).where(same))
                connection.execute(insert(term_link).values(**vars(link)))

        self._catalogue.write(store)

    def between(self, source_vocabulary: int, target_vocabulary: int) -> list[TermLink]:
        """Return the links from one vocabulary to the other, in whichever direction they were stored."""
        stored = self._stored(source_vocabulary, target_vocabulary)
        return stored + [link.turned() for link in self._stored(target_vocabulary, source_vocabulary)]

    def _stored(self, source_vocabulary: int, target_vocabulary: int) -> list[TermLink]:
        source, target = term.alias(), term.alias()
        query = (
            select(term_link)
            .join(source, source.c.id == term_link.c.source_id)
            .join(target, target.c.id == term_link.c.target_id)
            .where(source.c.vocabulary_id == source_vocabulary, target.c.vocabulary_id == target_vocabulary)
            .order_by(term_link.c.id)
        )
        return [TermLink(row.source_id, row.target_id, row.relation) for row in self._catalogue.all(query)]


KEYS = "1234567890ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class Favourites:
    def __init__(self, catalogue: Catalogue):
        self._catalogue = catalogue

    def of(self, person_id: int) -> dict[str, int]:
        """Return {key: term id}, in the order of the keyboard."""
        rows = self._catalogue.all(select(favourite).where(favourite.c.person_id == person_id))
        by_key = {row.key: row.term_id for row in rows}
        return {key: by_key[key] for key in KEYS if key in by_key}

    def choose(self, person_id: int, key: str, term_id: int | None) -> None:
        """Assign a term to a key and replace the previous one; None clears the key."""
        if key not in KEYS or len(key) != 1:
            raise fail(
                "favourite", f"'{key}' is neither a digit nor a capital letter", "choose one of 0 to 9 and A to Z"
            )

        def put(connection: Connection) -> None:
            of_person = favourite.c.person_id == person_id
            connection.execute(delete(favourite).where(of_person & (favourite.c.key == key)))
            if term_id is not None:
                connection.execute(delete(favourite).where(of_person & (favourite.c.term_id == term_id)))
                connection.execute(insert(favourite).values(person_id=person_id, key=key, term_id=term_id))

        self._catalogue.write(put)
