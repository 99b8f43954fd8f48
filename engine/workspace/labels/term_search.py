"""Type-ahead: what somebody means who has typed a few letters of a term."""

from collections.abc import Collection, Sequence
from difflib import SequenceMatcher

from engine.workspace.vocabularies import Term

CLOSE = 0.7  # likeness of two words from which one may be a slip of the other


def search(terms: Sequence[Term], typed: str, limit: int = 12, favourites: Collection[int] = ()) -> list[Term]:
    """The best matches first: the whole name or code, its beginning, the beginning of a word, of a synonym, of words
    of the path; where nothing matches, words alike. Favourites come before others that match as well."""
    words = typed.casefold().split()
    if not words:
        return [term for term in terms if term.id in favourites][:limit]
    ranked = [(rank, term) for term in terms if (rank := _rank(term, " ".join(words), words)) is not None]
    if not ranked:
        ranked = [(10 - alike, term) for term in terms if (alike := _likeness(term, words)) >= CLOSE]
    order = sorted(ranked, key=lambda pair: (pair[0], pair[1].id not in favourites, len(pair[1].path), pair[1].path))
    return [term for _, term in order[:limit]]


def _rank(term: Term, phrase: str, words: Sequence[str]) -> int | None:
    """Smaller is better, None is no match."""
    name, synonyms = term.name.casefold(), [word.casefold() for word in term.details.get("synonyms", ())]
    code = (term.code or "").casefold()
    tests = (phrase in (name, code), name.startswith(phrase), phrase in synonyms, _begin_words(words, name),
             any(_begin_words(words, synonym) for synonym in synonyms), len(phrase) > 2 and code.startswith(phrase),
             _begin_words(words, " ".join(term.path).casefold()), all(word in name for word in words))
    return next((rank for rank, holds in enumerate(tests) if holds), None)


def _begin_words(words: Sequence[str], text: str) -> bool:
    """Whether every typed word begins a word of the text."""
    parts = text.replace("/", " ").replace("-", " ").replace("(", " ").split()
    return all(any(part.startswith(word) for part in parts) for word in words)


def _likeness(term: Term, words: Sequence[str]) -> float:
    candidates = [*term.name.casefold().split(), *(word.casefold() for word in term.details.get("synonyms", ()))]
    return min(max(SequenceMatcher(None, word, part).ratio() for part in candidates) for word in words)
