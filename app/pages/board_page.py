"""What pages have in common that are one board: view model and board are kept in step."""

from collections.abc import Callable, Collection, Mapping
from typing import Any

from app.components.in_order import TellingInOrder
from app.state.review_views import found_terms

Told = Mapping[str, Any]
Act = Callable[[Any, Told], Any]


class BoardPage:
    """`acts` take the model and what was told; what one changes is drawn once, at its end, and not at all after the
    `silent` ones, after which the board shows what it should already. The board follows what is in `follows`, too."""

    def __init__(self, model: Any, board: TellingInOrder, content: Callable[[Any], dict[str, Any]],
                 acts: Mapping[str, Act], follows: Collection[str], silent: Collection[str] = ()):
        self.model, self.board = model, board
        self._content, self._acts, self._silent = content, acts, silent
        self._acting = False
        board.content = content(model)
        board.on_told = self.act
        model.param.watch(lambda *_: self.draw(), list(follows))
        model.session.param.watch(lambda *_: self.draw(), ["version", "person"])

    def draw(self) -> None:
        if not self._acting:
            self.board.content = self._content(self.model)

    def act(self, told: Told) -> dict[str, Any]:
        """Does what a person asked for; what the board shows then. Mistakes become the message line. `find` asks for
        terms only; they come with the letters typed, for the script drops what answers older ones."""
        if told["act"] == "find":
            return {"hits": {"text": told["text"], "terms": found_terms(self.model.session, told["text"])}}
        self._acting = True
        try:
            with self.model.session.attempt():
                self._acts[told["act"]](self.model, told)
        finally:
            self._acting = False
        return {} if told["act"] in self._silent else {"content": self._content(self.model)}
