"""What can go wrong for a person: one text, shown on the terminal, in an answer of the server, on a page."""

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches


@dataclass(frozen=True)
class Problem:
    """`where` names the file, line or argument, `what` the trouble, `remedy` what the person can do about it."""

    where: str
    what: str
    remedy: str = ""

    def __str__(self) -> str:
        told = f"{self.where}: {self.what}"
        return f"{told}; {self.remedy}" if self.remedy else told


class BenthoscopeError(Exception):
    """A mistake in what we were given, as against one in our code: shown as one line, without a traceback."""

    def __init__(self, problem: Problem):
        super().__init__(str(problem))
        self.problem = problem

    def __reduce__(self):  # crosses process pools
        return type(self), (self.problem,)


class BadInput(BenthoscopeError, ValueError):
    """An argument, array or file whose content cannot be used. A ValueError, as scikit-learn's users expect."""


def fail(where: str, what: str, remedy: str = "") -> "BadInput":
    """The error for `raise fail("groups", "99 entries for 100 rows", "give one dive number per row")`."""
    return BadInput(Problem(where, what, remedy))


def unknown(where: str, word: str, known: Iterable[str]) -> "BadInput":
    """The error for a word from outside that names nothing we know; it offers the nearest known one."""
    names = sorted(known)
    near = get_close_matches(word, names, n=1)
    remedy = f"did you mean '{near[0]}'?" if near else f"choose one of {', '.join(names) or 'none: there are none yet'}"
    return fail(where, f"no '{word}'", remedy)
