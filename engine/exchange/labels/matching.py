"""Find the image and the term of an imported label."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath

from benthoscope.engine.exchange.labels.records import LabelRecord
from benthoscope.engine.exchange.metadata.columns import cleaned
from benthoscope.engine.problems import fail
from benthoscope.engine.term_path import joined
from benthoscope.engine.workspace.labels.term_search import search
from benthoscope.engine.workspace.labels.vocabularies import NewTerm, Term

NEAREST = 3  # known terms suggested for an unknown one
LONGEST = 60  # letters of a name used to find similar names


class Unclear(Exception):
    """Several images or terms match; the message lists some."""


@dataclass(frozen=True)
class Known:
    """The properties of a catalogue image that are used for matching."""

    id: int
    path: str
    sha256: str
    group: str
    collection: str


class ImageMatcher:
    """Finds images by path, content, file name, and file name without its ending, in this order."""

    def __init__(self, known: Sequence[Known]):
        self._known = known

    def meant_by(self, record: LabelRecord) -> list[int]:
        """Return the ids of the images that match a record; several only for copies of the same content. Empty without
        a match. Raises Unclear if different images match."""
        candidates = self._candidates(record)
        if record.sha256:
            content = record.sha256.lower()
            candidates = _preferred(candidates, lambda image: image.sha256 == content)
        if record.group:
            candidates = _preferred(candidates, lambda image: image.group == record.group)
        if record.collection:
            candidates = _preferred(candidates, lambda image: image.collection == record.collection)
        if len({image.sha256 for image in candidates}) > 1:
            raise Unclear(record.image)
        return [image.id for image in candidates]

    def _candidates(self, record: LabelRecord) -> Sequence[Known]:
        spellings = (record.image, cleaned(record.image))  # a backslash may separate folders or be part of a name
        exact = next((matches for name in spellings if (matches := self._by_path.get(name))), None)
        if exact:
            return exact
        same = self._by_content.get(record.sha256.lower(), ()) if record.sha256 else ()
        if same:
            return _preferred(same, lambda image: _file(image.path) == _file(record.image))
        keys = ((self._by_file, _file), (self._by_stem, _stem), (self._by_stem, _file))
        return next(
            (_nearest(matches, name) for index, key in keys for name in spellings if (matches := index.get(key(name)))),
            (),
        )

    @cached_property
    def _by_path(self) -> Mapping[str, list[Known]]:
        return _grouped(self._known, lambda image: image.path)

    @cached_property
    def _by_content(self) -> Mapping[str, list[Known]]:
        return _grouped(self._known, lambda image: image.sha256)

    @cached_property
    def _by_file(self) -> Mapping[str, list[Known]]:
        return _grouped(self._known, lambda image: _file(image.path))

    @cached_property
    def _by_stem(self) -> Mapping[str, list[Known]]:
        return _grouped(self._known, lambda image: _stem(image.path))


class Terms:
    """Finds terms by path, code, name, the end of the path, and synonym, in this order. Results are cached."""

    def __init__(self, vocabularies: Mapping[str, Sequence[Term]], only: str | None = None):
        self._vocabularies = {only: vocabularies[only]} if only else dict(vocabularies)
        self._answers: dict[tuple, Term | None] = {}

    def meant_by(self, record: LabelRecord) -> Term | None:
        """Return the matching term or None. Raises Unclear if several terms match."""
        key = (record.vocabulary, record.path, record.code)
        if key not in self._answers:
            self._answers[key] = self._match(record)
        return self._answers[key]

    def nearest(self, record: LabelRecord) -> list[Term]:
        """Return known terms with a similar name."""
        terms = self._pool(record)
        name = record.path[-1][:LONGEST]
        return search(terms, name, NEAREST) or search(terms, name.split(" ")[0], NEAREST)

    def _match(self, record: LabelRecord) -> Term | None:
        pool, path, code = self._pool(record), _folded(record.path), record.code or ""
        spoken = path if len(path) > 1 else _folded(record.path[0].split(": "))
        tests: Iterable[Callable[[Term], bool]] = (
            lambda term: term.path == record.path,
            lambda term: _folded(term.path) == path,
            lambda term: bool(code) and term.code == code and _folded(term.path)[-1] == path[-1],
            lambda term: _folded(term.path)[-len(path) :] == path,
            lambda term: _folded(term.path)[-len(spoken) :] == spoken,
            lambda term: bool(code) and (term.code or "").casefold() == code.casefold(),
            lambda term: len(path) == 1 and path[0] in _folded(term.details.get("synonyms", ())),
        )
        for test in tests:
            matches = [term for term in pool if test(term)]
            if len(matches) > 1:
                raise Unclear(", ".join(joined(term.path) for term in matches[:NEAREST]))
            if matches:
                return matches[0]
        return None

    def _pool(self, record: LabelRecord) -> list[Term]:
        of_vocabulary = self._vocabularies.get(record.vocabulary) if record.vocabulary is not None else None
        return (
            list(of_vocabulary)
            if of_vocabulary is not None
            else [term for terms in self._vocabularies.values() for term in terms]
        )


def new_terms(
    records: Iterable[LabelRecord], known: Mapping[str, Sequence[Term]], vocabulary: str | None
) -> dict[str, list[NewTerm]]:
    """Return {vocabulary name: terms to add, with all their parents}, so that each record has its term. Terms are added
    to `vocabulary`, or to the one that the record names."""
    terms = Terms(known, vocabulary if vocabulary in known else None)
    codes: dict[str, dict[tuple[str, ...], str | None]] = defaultdict(dict)
    for record in {(record.vocabulary, record.path): record for record in records}.values():
        name = vocabulary or record.vocabulary
        if (name in known or name is None) and not _is_unknown(record, terms):
            continue
        if name is None:
            raise fail(
                "--add-terms", f"'{joined(record.path)}' belongs to no vocabulary", "choose one with --vocabulary NAME"
            )
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
    """Return those that pass the test, or all if none does."""
    return [image for image in known if test(image)] or known


def _nearest(known: Sequence[Known], name: str) -> Sequence[Known]:
    """Return those whose last folders agree most with those of the name."""
    if len(known) < 2:
        return known
    folders = name.lower().split("/")[-2::-1]
    likeness = {image.id: _shared(image.path.lower().split("/")[-2::-1], folders) for image in known}
    best = max(likeness.values())
    return [image for image in known if likeness[image.id] == best]


def _shared(first: Sequence[str], second: Sequence[str]) -> int:
    """Return the number of equal leading names."""
    pairs = zip(first, second, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(first), len(second)))


def _grouped(known: Iterable[Known], key: Callable[[Known], Hashable]) -> Mapping:
    groups = defaultdict(list)
    for entry in known:
        groups[key(entry)].append(entry)
    return dict(groups)


def _file(path: str) -> str:
    return PurePosixPath(path).name.lower()


def _stem(path: str) -> str:
    return PurePosixPath(path).stem.lower()


def _folded(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(name.strip().casefold() for name in names)
