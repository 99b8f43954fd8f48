"""Who labels: a name is enough, for on a ship nobody wants another password."""

from dataclasses import dataclass

from sqlalchemy import insert, select

from engine.problems import fail
from engine.workspace.catalogue import Catalogue
from engine.workspace.records import now
from engine.workspace.schema import person


@dataclass(frozen=True)
class Person:
    id: int
    name: str


class People:
    def __init__(self, catalogue: Catalogue):
        self._catalogue = catalogue

    def named(self, name: str) -> Person:
        """The person of this name, made where it is new."""
        name = " ".join(name.split())
        if not name:
            raise fail("person", "has no name", "give one")

        def find_or_make(connection) -> int:
            found = connection.execute(select(person.c.id).where(person.c.name == name)).scalar()
            new = insert(person).values(name=name, created_at=now())
            return found or connection.execute(new).inserted_primary_key[0]

        return Person(self._catalogue.write(find_or_make), name)

    def all(self) -> list[Person]:
        return [Person(row.id, row.name) for row in self._catalogue.all(select(person).order_by(person.c.name))]
