"""Which image and which term a label from outside means."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath

from engine.exchange.label_records import LabelRecord
from engine.exchange.rows import cleaned
from engine.labelling.term_search import search
from engine.problems import fail
from engine.workspace.vocabularies import NewTerm, Term

NEAREST = 3   # terms offered for one that is unknown
LONGEST = 60  # letters of a name that nearest ones are looked for by


class Unclear(Exception):
    """Several images or terms may be meant; the message names some."""


@dataclass(frozen=True)
class Known:
    """An image of the catalogue, as far as it helps to find it."""

    id: int
    path: str
    sha256: str
    group: str
    collection: str


class Images:
    """Images found by path, content, file name, and file name without its ending, in this order."""

    def __init__(self, known: Sequence[Known]):
        self._known = known

    def meant_by(self, record: LabelRecord) -> list[int]:
        """The ids of the images a record means: several only of copies of one content. Empty where none is known;
        Unclear where it is not clear which."""
        found = self._candidates(record)
        if record.sha256:
            found = _preferred(found, lambda one: one.sha256 == record.sha256.lower())
        if record.group:
            found = _preferred(found, lambda one: one.group == record.group)
        if record.collection:
            found = _preferred(found, lambda one: one.collection == record.collection)
        if len({one.sha256 for one in found}) > 1:
            raise Unclear(record.image)
        return [one.id for one in found]

    def _candidates(self, record: LabelRecord) -> Sequence[Known]:
        spellings = (record.image, cleaned(record.image))  # a backslash may part folders, or stand in a name
        exact = next((found for name in spellings if (found := self._by_path.get(name))), None)
        if exact:
            return exact
        same = self._by_content.get(record.sha256.lower(), ()) if record.sha256 else ()
        if same:
            return _preferred(same, lambda one: _file(one.path) == _file(record.image))
        keys = ((self._by_file, _file), (self._by_stem, _stem), (self._by_stem, _file))
        return next((_nearest(found, name) for index, key in keys for name in spellings
                     if (found := index.get(key(name)))), ())

    @cached_property
    def _by_path(self) -> Mapping[str, list[Known]]:
        return _grouped(self._known, lambda one: one.path)

    @cached_property
    def _by_content(self) -> Mapping[str, list[Known]]:
        return _grouped(self._known, lambda one: one.sha256)

    @cached_property
    def _by_file(self) -> Mapping[str, list[Known]]:
        return _grouped(self._known, lambda one: _file(one.path))

    @cached_property
    def _by_stem(self) -> Mapping[str, list[Known]]:
        return _grouped(self._known, lambda one: _stem(one.path))


class Terms:
    """Terms found by path, code, name, the end of the path, and synonym, in this order, each once asked for."""

    def __init__(self, vocabularies: Mapping[str, Sequence[Term]], only: str | None = None):
        self._vocabularies = {only: vocabularies[only]} if only else dict(vocabularies)
        self._answers: dict[tuple, Term | None] = {}

    def meant_by(self, record: LabelRecord) -> Term | None:
        """None where no term is meant; Unclear where several might be."""
        key = (record.vocabulary, record.path, record.code)
        if key not in self._answers:
            self._answers[key] = self._found(record)
        return self._answers[key]

    def nearest(self, record: LabelRecord) -> list[Term]:
        """Those a person who wrote this may have meant."""
        terms = self._pool(record)
        name = record.path[-1][:LONGEST]
        return search(terms, name, NEAREST) or search(terms, name.split(" ")[0], NEAREST)

    def _found(self, record: LabelRecord) -> Term | None:
        pool, path = self._pool(record), _folded(record.path)
        spoken = path if len(path) > 1 else _folded(record.path[0].split(": "))
        tests: Iterable[Callable[[Term], bool]] = (
            lambda term: term.path == record.path,
            lambda term: _folded(term.path) == path,
            lambda term: bool(record.code) and term.code == record.code and _folded(term.path)[-1] == path[-1],
            lambda term: _folded(term.path)[-len(path):] == path,
            lambda term: _folded(term.path)[-len(spoken):] == spoken,
            lambda term: bool(record.code) and (term.code or "").casefold() == record.code.casefold(),
            lambda term: len(path) == 1 and path[0] in _folded(term.details.get("synonyms", ())))
        for test in tests:
            found = [term for term in pool if test(term)]
            if len(found) > 1:
                raise Unclear(", ".join(" > ".join(term.path) for term in found[:NEAREST]))
            if found:
                return found[0]
        return None

    def _pool(self, record: LabelRecord) -> list[Term]:
        own = self._vocabularies.get(record.vocabulary)
        return list(own) if own is not None else [term for terms in self._vocabularies.values() for term in terms]


def new_terms(records: Iterable[LabelRecord], known: Mapping[str, Sequence[Term]], vocabulary: str | None
              ) -> dict[str, list[NewTerm]]:
    """Vocabulary name: the terms to be added, with all of their parents, so that every record finds its own. They go to
    `vocabulary`, or to the one the record names."""
    terms = Terms(known, vocabulary if vocabulary in known else None)
    codes: dict[str, dict[tuple[str, ...], str | None]] = defaultdict(dict)
    for record in {(record.vocabulary, record.path): record for record in records}.values():
        name = vocabulary or record.vocabulary
        if (name in known or name is None) and not _is_unknown(record, terms):
            continue
        if name is None:
            raise fail("--add-terms", f"'{' > '.join(record.path)}' belongs to no vocabulary", "say --vocabulary NAME")
        codes[name][record.path] = record.code if record.code != record.path[-1] else None
    return {name: _with_parents(paths) for name, paths in codes.items()}


def _is_unknown(record: LabelRecord, terms: Terms) -> bool:
    try:
        return terms.meant_by(record) is None
    except Unclear:
        return False


def _with_parents(codes: Mapping[tuple[str, ...], str | None]) -> list[NewTerm]:
    paths = {path[:depth] for path in codes for depth in range(1, len(path) + 1)}
    return [NewTerm(path, codes.get(path)) for path in sorted(paths, key=lambda path: (len(path), path))]


def _preferred(known: Sequence[Known], test: Callable[[Known], bool]) -> Sequence[Known]:
    """Those that pass the test, or all where none does."""
    return [one for one in known if test(one)] or known


def _nearest(known: Sequence[Known], name: str) -> Sequence[Known]:
    """Those whose last folders are most like those of the name."""
    if len(known) < 2:
        return known
    folders = name.lower().split("/")[-2::-1]
    alike = {one.id: _shared(one.path.lower().split("/")[-2::-1], folders) for one in known}
    best = max(alike.values())
    return [one for one in known if alike[one.id] == best]


def _shared(one: Sequence[str], other: Sequence[str]) -> int:
    """How many leading names are the same."""
    pairs = zip(one, other, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def _grouped(known: Iterable[Known], key: Callable[[Known], Hashable]) -> Mapping:
    found = defaultdict(list)
    for one in known:
        found[key(one)].append(one)
    return dict(found)


def _file(path: str) -> str:
    return PurePosixPath(path).name.lower()


def _stem(path: str) -> str:
    return PurePosixPath(path).stem.lower()


def _folded(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(name.strip().casefold() for name in names)
