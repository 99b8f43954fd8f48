"""Find terms by the first letters of their names: type-ahead in the interface, and near matches in imported files."""

from collections.abc import Collection, Sequence
from difflib import SequenceMatcher

from benthoscope.engine.workspace.labels.vocabularies import Term

CLOSE = 0.7  # similarity of two words above which one may be a typing error of the other


def search(terms: Sequence[Term], typed: str, limit: int = 12, favourites: Collection[int] = ()) -> list[Term]:
    """Return the best matches first: the complete name or code, its beginning, the beginning of a word, of a synonym,
    of words of the path; without a match, similar words. Favourites come first among equal matches."""
    words = typed.casefold().split()
    if not words:
        return [term for term in terms if term.id in favourites][:limit]
    ranked: list[tuple[float, Term]] = [
        (rank, term) for term in terms if (rank := _rank(term, " ".join(words), words)) is not None
    ]
    if not ranked:
        ranked = [(10 - score, term) for term in terms if (score := _likeness(term, words)) >= CLOSE]
    order = sorted(ranked, key=lambda pair: (pair[0], pair[1].id not in favourites, len(pair[1].path), pair[1].path))
    return [term for _, term in order[:limit]]


def matches(term: Term, typed: str) -> bool:
    """Return whether the typed words are beginnings of words of the term, its code, synonyms or path. Otherwise the
    term is only similar."""
    words = typed.casefold().split()
    return not words or _rank(term, " ".join(words), words) is not None


def _rank(term: Term, phrase: str, words: Sequence[str]) -> int | None:
    """Return the rank of a match (smaller is better); None without a match."""
    name, synonyms = term.name.casefold(), [word.casefold() for word in term.details.get("synonyms", ())]
    code = (term.code or "").casefold()
    tests = (
        phrase in (name, code),
        name.startswith(phrase),
        phrase in synonyms,
        _begin_words(words, name),
        any(_begin_words(words, synonym) for synonym in synonyms),
        len(phrase) > 2 and code.startswith(phrase),
        _begin_words(words, " ".join(term.path).casefold()),
        all(word in name for word in words),
    )
    return next((rank for rank, holds in enumerate(tests) if holds), None)


def _begin_words(words: Sequence[str], text: str) -> bool:
    """Return whether each typed word is the beginning of a word of the text."""
    words_of_text = text.replace("/", " ").replace("-", " ").replace("(", " ").split()
    return all(any(word_of_text.startswith(word) for word_of_text in words_of_text) for word in words)


def _likeness(term: Term, words: Sequence[str]) -> float:
    candidates = [*term.name.casefold().split(), *(word.casefold() for word in term.details.get("synonyms", ()))]
    return min(max(SequenceMatcher(None, word, candidate).ratio() for candidate in candidates) for word in words)
