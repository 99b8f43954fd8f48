"""Help texts: one a page, and some of their own, in assets/help."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

from engine.problems import unknown

FOLDER = files("assets") / "help"


@dataclass(frozen=True)
class Topic:
    word: str
    title: str
    text: str  # Markdown, without its title


def topics(first: Sequence[str] = ()) -> list[Topic]:
    """All help texts: those of the words `first` in that order, the others after them by title."""
    found = [_topic(path.name, path.read_text(encoding="utf-8")) for path in FOLDER.iterdir()
             if path.name.endswith(".md")]
    place = {word: at for at, word in enumerate(first)}
    return sorted(found, key=lambda one: (place.get(one.word, len(place)), one.title))


def topic(word: str) -> Topic:
    found = {one.word: one for one in topics()}
    if word not in found:
        raise unknown("help", word, found)
    return found[word]


def _topic(name: str, text: str) -> Topic:
    title, _, rest = text.partition("\n")
    return Topic(name.removesuffix(".md"), title.lstrip("# ").strip(), rest.strip())
