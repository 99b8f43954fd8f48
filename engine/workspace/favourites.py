"""A person's keys: one digit or capital letter, one term."""

from sqlalchemy import Connection, delete, insert, select

from engine.problems import fail
from engine.workspace.catalogue import Catalogue
from engine.workspace.schema import favourite

KEYS = "1234567890ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class Favourites:
    def __init__(self, catalogue: Catalogue):
        self._catalogue = catalogue

    def of(self, person_id: int) -> dict[str, int]:
        """{key: term id}, in the order of the keyboard."""
        rows = self._catalogue.all(select(favourite).where(favourite.c.person_id == person_id))
        found = {row.key: row.term_id for row in rows}
        return {key: found[key] for key in KEYS if key in found}

    def choose(self, person_id: int, key: str, term_id: int | None) -> None:
        """Puts a term on a key, in place of what lay there; None frees the key."""
        if key not in KEYS or len(key) != 1:
            raise fail("favourite", f"'{key}' is no digit key and no capital letter", "choose one of 0 to 9 and A to Z")

        def put(connection: Connection) -> None:
            mine = favourite.c.person_id == person_id
            connection.execute(delete(favourite).where(mine & (favourite.c.key == key)))
            if term_id is not None:
                connection.execute(delete(favourite).where(mine & (favourite.c.term_id == term_id)))
                connection.execute(insert(favourite).values(person_id=person_id, key=key, term_id=term_id))

        self._catalogue.write(put)
