"""What the terms of one vocabulary are called in another."""

from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import Connection, delete, insert, select

from engine.problems import unknown
from engine.workspace.catalogue import Catalogue
from engine.workspace.schema import term, term_link

RELATIONS = {"same": "same", "broader": "narrower", "narrower": "broader"}  # each with what it is seen from the target


@dataclass(frozen=True)
class TermLink:
    """`relation` says what the target is to the source: the same, broader, or narrower."""

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
        """Stores links; a pair linked before gets the new relation."""
        wanted = list(links)

        def store(connection: Connection) -> None:
            for link in wanted:
                for pair in (link, link.turned()):
                    same = (term_link.c.source_id == pair.source_id) & (term_link.c.target_id == pair.target_id)
                    connection.execute(delete(term_link).where(same))
                connection.execute(insert(term_link).values(**vars(link)))

        self._catalogue.write(store)

    def between(self, source_vocabulary: int, target_vocabulary: int) -> list[TermLink]:
        """The links from one vocabulary to the other, whichever way they were stored."""
        found = self._stored(source_vocabulary, target_vocabulary)
        return found + [link.turned() for link in self._stored(target_vocabulary, source_vocabulary)]

    def _stored(self, source_vocabulary: int, target_vocabulary: int) -> list[TermLink]:
        source, target = term.alias(), term.alias()
        wanted = select(term_link).join(source, source.c.id == term_link.c.source_id).join(
            target, target.c.id == term_link.c.target_id).where(
            source.c.vocabulary_id == source_vocabulary, target.c.vocabulary_id == target_vocabulary).order_by(
            term_link.c.id)
        return [TermLink(row.source_id, row.target_id, row.relation) for row in self._catalogue.all(wanted)]
