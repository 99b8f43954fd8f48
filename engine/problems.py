"""Errors that users can fix, with one text for the terminal, the REST API and the pages."""

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches


def printable(text: str) -> str:
    """Return the text on one line, with characters that cannot be printed replaced by their codes.

    Control characters from a file could otherwise control the terminal that shows a message.
    """
    if text.isprintable():
        return text
    spaced = "".join(" " if letter.isspace() else letter for letter in text)
    return "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in spaced)


@dataclass(frozen=True)
class Problem:
    """A problem: `where` names the file, line or argument, `what` describes the problem, `remedy` says how to
    fix it."""

    where: str
    what: str
    remedy: str = ""

    def __post_init__(self) -> None:
        for name in ("where", "what", "remedy"):
            object.__setattr__(self, name, printable(getattr(self, name)))

    def __str__(self) -> str:
        text = f"{self.where}: {self.what}"
        return f"{text}; {self.remedy}" if self.remedy else text


class BenthoscopeError(Exception):
    """An error in the input, as opposed to one in our code. It is shown as one line without a traceback."""

    def __init__(self, problem: Problem):
        super().__init__(str(problem))
        self.problem = problem

    def __reduce__(self):  # for process pools
        return type(self), (self.problem,)


class BadInput(BenthoscopeError, ValueError):
    """An argument, array or file with unusable content. A ValueError, as users of scikit-learn expect."""


def fail(where: str, text: str, remedy: str = "") -> "BadInput":
    """Return an error, for `raise fail("groups", "99 entries for 100 rows", "give one dive number per row")`."""
    return BadInput(Problem(where, text, remedy))


def unknown(where: str, word: str, known: Iterable[str]) -> "BadInput":
    """Return an error for an unknown name. The remedy suggests the most similar known name."""
    names = sorted(known)
    near = get_close_matches(word, names, n=1)
    if not names:
        return fail(where, f"there is no '{word}'", "there are none yet")
    remedy = f"did you mean '{near[0]}'?" if near else f"choose one of {', '.join(names)}"
    return fail(where, f"there is no '{word}'", remedy)
