"""The job that imports labels from files into the label log, as events of the importing person that keep the original
author."""

from collections.abc import Callable, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from benthoscope.engine.exchange.labels.formats import LabelSource, read_labels
from benthoscope.engine.exchange.labels.matching import Terms, new_terms
from benthoscope.engine.exchange.parsing.tables import MAX_BYTES
from benthoscope.engine.jobs.context import ProgressReporter
from benthoscope.engine.jobs.labels.label_import import SHOWN, ImportCounts, acts_of, images_of, problems_of, understood
from benthoscope.engine.problems import Problem, fail, unknown
from benthoscope.engine.term_path import joined
from benthoscope.engine.workspace import Workspace
from benthoscope.engine.workspace.labels.vocabularies import Term

WHERE = "import labels"


def import_labels(
    job: ProgressReporter,
    workspace: Workspace,
    *,
    files: Sequence[str],
    person: str,
    vocabulary: str | None = None,
    add_terms: bool = False,
    collection: str | None = None,
    dive: str | None = None,
    mapping: Mapping[str, str] | None = None,
    replace: bool = False,
    dry_run: bool = False,
) -> dict[str, Any]:
    """Import the labels of files. If an error is raised, no labels are stored.

    Terms are searched in `vocabulary`, else in the vocabulary that the file names, else in all. With `add_terms`,
    unknown terms are added to that vocabulary. Images with a label keep it unless `replace` is set. A dry run only
    reports what would happen.
    """
    sources = read_sources(files, mapping, job.progress)
    records = [(source.name, record) for source in sources for record in source.reading.records]
    lists, added = _class_lists(workspace, sources, vocabulary, add_terms, dry_run)
    if vocabulary is not None and vocabulary not in lists:
        if not add_terms:
            raise unknown("vocabulary", vocabulary, lists)
        lists[vocabulary] = []  # the files contain no label that could be added
    tally = ImportCounts()
    meant = understood(records, images_of(workspace, collection, dive), Terms(lists, vocabulary), tally, job.on_step)
    events = acts_of(workspace, meant, tally, replace=replace)
    before = workspace.labels.last_number()
    job.progress(0, None, f"Storing {tally.stored + tally.annotations:,} labels")
    numbers = [] if dry_run else workspace.labels.append_events(workspace.people.named(person).id, events)
    problems = [problem for source in sources for problem in source.reading.problems] + problems_of(tally)
    if not dry_run:
        workspace.library.note_problems(f"{WHERE} {', '.join(files)}", problems)
    return _summary(sources, tally, problems, added) | {"events": len(numbers), "before": before, "dry_run": dry_run}


def read_sources(
    files: Sequence[str], mapping: Mapping[str, str] | None = None, progress: Callable[..., None] = lambda *_: None
) -> list[LabelSource]:
    """Read the labels of the files."""
    return [source for path in files for source in _read(Path(path), mapping, progress)]


def _read(path: Path, mapping: Mapping[str, str] | None, progress: Callable[..., None]) -> list[LabelSource]:
    progress(0, None, f"Reading {path.name}")
    try:
        if path.stat().st_size > MAX_BYTES:
            raise fail(str(path), f"is larger than {MAX_BYTES >> 20} MB", "split it")
        data = path.read_bytes()
    except OSError as error:
        raise fail(str(path), f"cannot be read ({error.strerror})", "check the name and the permissions") from error
    return read_labels(data, name=path.name, mapping=mapping)


def _class_lists(
    workspace: Workspace, sources: Sequence[LabelSource], vocabulary: str | None, add_terms: bool, dry_run: bool
) -> tuple[dict[str, list[Term]], list[str]]:
    """Return (terms of each vocabulary including new ones, the paths of new terms). In a dry run, new terms have
    negative numbers."""
    known = {words.name: workspace.vocabularies.terms(words.id) for words in workspace.vocabularies.all()}
    versions = {
        name: version_and_terms[0]
        for source in sources
        for name, version_and_terms in source.reading.vocabularies.items()
    }
    terms_of_version = {
        name: list(version_and_terms[1])
        for source in sources
        for name, version_and_terms in source.reading.vocabularies.items()
    }
    records = [record for source in sources for record in source.reading.records] if add_terms else []
    for name, terms in new_terms(records, known, vocabulary).items():
        terms_of_version.setdefault(name, []).extend(terms)
    fresh = {
        name: [term for term in terms if term.path not in {old.path for old in known.get(name, ())}]
        for name, terms in terms_of_version.items()
    }
    numbers = count(-1, -1)
    for name, terms in fresh.items():
        if dry_run:
            known[name] = [*known.get(name, ()), *(Term(**vars(term), id=next(numbers)) for term in terms)]
        else:
            stored = workspace.vocabularies.add(name, terms, versions.get(name, ""))
            known[name] = workspace.vocabularies.terms(stored.id)
    return known, [f"{name}: {joined(term.path)}" for name, terms in fresh.items() for term in terms]


def _summary(
    sources: Sequence[LabelSource], tally: ImportCounts, problems: Sequence[Problem], added: Sequence[str]
) -> dict[str, Any]:
    losses = [line for source in sources for line in source.reading.losses]
    losses += (
        [f"{tally.several:,} additional classes of images with several classes: the first class of each image is used"]
        if tally.several
        else []
    )
    losses += (
        ["times are rounded to days and confidences to hundredths, because exact values would create too many events"]
        if tally.coarse
        else []
    )
    return {
        "files": [
            {"file": source.name, "kind": source.title, "labels": len(source.reading.records)} for source in sources
        ],
        "labels": tally.stored,
        "parts": tally.annotations,
        "unconfirmed": dict(tally.unconfirmed),
        "already_there": tally.there,
        "kept": tally.conflicting,
        "replaced": tally.replaced,
        "added_terms": list(added),
        "unknown_terms": [
            {"label": joined(path), "labels": count, "nearest": [joined(term.path) for term in tally.nearest[path]]}
            for path, count in tally.unknown_terms.most_common()
        ],
        "unknown_images": {"count": len(tally.unknown_images), "examples": list(tally.unknown_images)[:SHOWN]},
        "unclear_images": {"count": len(tally.unclear_images), "examples": list(tally.unclear_images)[:SHOWN]},
        "losses": losses,
        "problems": [str(problem) for problem in problems],
    }
