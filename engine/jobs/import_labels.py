"""Takes labels from files into the log: as acts of the person who imports them, which say whose word they were."""

from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from engine.exchange.label_matching import Terms, new_terms
from engine.exchange.label_sources import LabelSource, read_labels
from engine.exchange.tables import MAX_BYTES
from engine.jobs.coming_in import SHOWN, Tally, acts_of, images_of, problems_of, understood
from engine.jobs.context import JobContext
from engine.problems import Problem, fail, unknown
from engine.workspace import Workspace
from engine.workspace.vocabularies import Term

WHERE = "import labels"


def import_labels(
    job: JobContext, workspace: Workspace, *, files: Sequence[str], person: str, vocabulary: str | None = None,
    add_terms: bool = False, collection: str | None = None, dive: str | None = None,
    mapping: Mapping[str, str] | None = None, replace: bool = False, dry_run: bool = False,
) -> dict[str, Any]:
    """Imports the labels in files; all of them are stored or, when something raises, none.

    Terms are looked for in `vocabulary`, else where the file says, else in all; with `add_terms` unknown ones are added
    to that vocabulary. An image that has a label keeps it unless `replace`. A dry run only tells what would come of it.
    """
    sources = [source for path in files for source in _read(Path(path), mapping, job)]
    records = [(source.name, record) for source in sources for record in source.reading.records]
    lists, added = _class_lists(workspace, sources, vocabulary, add_terms, dry_run)
    if vocabulary is not None and vocabulary not in lists:
        raise unknown("vocabulary", vocabulary, lists)
    tally = Tally()
    meant = understood(records, images_of(workspace, collection, dive), Terms(lists, vocabulary), tally, job.on_step)
    acts = acts_of(workspace, meant, tally, replace=replace)
    before = workspace.labels.last_number()
    job.progress(0, None, f"Storing {tally.stored + tally.parts:,} labels")
    numbers = [] if dry_run else workspace.labels.act_together(workspace.people.named(person).id, acts)
    problems = [problem for source in sources for problem in source.reading.problems] + problems_of(tally)
    if not dry_run:
        workspace.library.note_problems(f"{WHERE} {', '.join(files)}", problems)
    return _told(sources, tally, problems, added) | {"events": len(numbers), "before": before, "dry_run": dry_run}


def _read(path: Path, mapping: Mapping[str, str] | None, job: JobContext) -> list[LabelSource]:
    job.progress(0, None, f"Reading {path.name}")
    try:
        if path.stat().st_size > MAX_BYTES:
            raise fail(str(path), f"has more than {MAX_BYTES >> 20} MB", "split it")
        data = path.read_bytes()
    except OSError as error:
        raise fail(str(path), f"cannot be read ({error.strerror})", "check the name and the rights") from error
    return read_labels(data, name=path.name, mapping=mapping)


def _class_lists(workspace: Workspace, sources: Sequence[LabelSource], vocabulary: str | None, add_terms: bool,
                 dry_run: bool) -> tuple[dict[str, list[Term]], list[str]]:
    """(terms of every vocabulary, with those the files bring and those to be added; the paths of what is new). In a dry
    run new terms have numbers below zero."""
    known = {words.name: workspace.vocabularies.terms(words.id) for words in workspace.vocabularies.all()}
    versions = {name: told[0] for source in sources for name, told in source.reading.vocabularies.items()}
    wanted = {name: list(told[1]) for source in sources for name, told in source.reading.vocabularies.items()}
    records = [record for source in sources for record in source.reading.records] if add_terms else []
    for name, terms in new_terms(records, known, vocabulary).items():
        wanted.setdefault(name, []).extend(terms)
    fresh = {name: [term for term in terms if term.path not in {old.path for old in known.get(name, ())}]
             for name, terms in wanted.items()}
    numbers = count(-1, -1)
    for name, terms in fresh.items():
        if dry_run:
            known[name] = [*known.get(name, ()), *(Term(**vars(term), id=next(numbers)) for term in terms)]
        else:
            stored = workspace.vocabularies.add(name, terms, versions.get(name, ""))
            known[name] = workspace.vocabularies.terms(stored.id)
    return known, [f"{name}: {' > '.join(term.path)}" for name, terms in fresh.items() for term in terms]


def _told(sources: Sequence[LabelSource], tally: Tally, problems: Sequence[Problem], added: Sequence[str]
          ) -> dict[str, Any]:
    losses = [line for source in sources for line in source.reading.losses]
    losses += [f"{tally.several:,} further classes of images that have one: the first of each image is used"
               ] if tally.several else []
    losses += ["moments are kept to the day and confidences to the hundredth: to the second they would be too many acts"
               ] if tally.coarse else []
    return {
        "files": [{"file": source.name, "kind": source.title, "labels": len(source.reading.records)}
                  for source in sources],
        "labels": tally.stored, "parts": tally.parts, "already_there": tally.there, "kept": tally.kept,
        "replaced": tally.replaced, "added_terms": list(added),
        "unknown_terms": [{"label": " > ".join(path), "labels": count,
                           "nearest": [" > ".join(term.path) for term in tally.nearest[path]]}
                          for path, count in tally.unknown_terms.most_common()],
        "unknown_images": {"count": len(tally.unknown_images), "examples": list(tally.unknown_images)[:SHOWN]},
        "unclear_images": {"count": len(tally.unclear_images), "examples": list(tally.unclear_images)[:SHOWN]},
        "losses": losses, "problems": [str(problem) for problem in problems],
    }
