"""`benthoscope learn` and `benthoscope cover`: what labels teach, and what they say of the campaign."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.commands.terminal import JsonOption, WorkspaceOption, opened, run_job, show
from engine.problems import fail

if TYPE_CHECKING:
    from engine.labelling.cover_report import CoverRow
    from engine.workspace import Workspace

PersonOption = Annotated[str, typer.Option("--person", metavar="NAME", envvar="BENTHOSCOPE_PERSON",
                                           help="Who does this; every act is kept with a name.")]


def learn(
    features: Annotated[str | None, typer.Option(help="Feature set; by default that of the current run.")] = None,
    run: Annotated[int | None, typer.Option(help="Number of the run whose clusters help; by default the "
                                                 "current one.")] = None,
    accept: Annotated[float | None, typer.Option(
        metavar="SHARE", help="Also accept suggestions, as many as keep the share of right ones above this.")] = None,
    error: Annotated[float, typer.Option(
        metavar="SHARE", help="Of the sets of possible terms, how many may miss the true one.")] = 0.05,
    csv: Annotated[Path | None, typer.Option(
        help="Write every unlabelled image with its suggestion, its confidence and its set to this file.")] = None,
    person: PersonOption = "",
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Learn from all labels and suggest the rest.

    Tells how often the best suggestion is right, measured on labels held back, how many images could be accepted
    unseen, and how many terms an image may have at the error chosen. Accepting is one act for each term: take them
    back with `benthoscope labels undo` or `labels revert`.

    Examples:

        benthoscope learn

        benthoscope learn --accept 0.95 --person Ann

        benthoscope learn --error 0.1 --csv suggestions.csv
    """
    with opened(workspace) as found:
        told = dict(run_job(found, "learn", {"features": features, "run": run}, as_json=as_json))
        told["curve"] = _curve(found)
        told["sets"] = sets_of_terms(found, error, csv)
        if accept is not None:
            told["accepted"] = accepted(found, accept, person)
    show(told, as_json, _learn_text)


def sets_of_terms(workspace: "Workspace", error: float, csv: Path | None) -> dict[str, float]:
    """How many terms the unlabelled images may have, if the sets miss the true one in a share `error` at most."""
    from engine.labelling.suggestion_store import SuggestionStore
    from engine.labelling.suggestions_file import as_csv

    found = SuggestionStore(workspace.folder).get()
    free = (~found.labelled).nonzero()[0]
    sets = found.sets(free, error)
    sizes = sets.sum(1)
    if csv:
        names = {term.id: " > ".join(term.path) for term in workspace.vocabularies.all_terms()}
        written(csv, as_csv(found, free, sets, workspace.library.locate(found.image_ids[free]), names))
    return {"error": error, "images": len(free), "mean_size": float(sizes.mean()) if len(free) else 0.0,
            "single": float((sizes == 1).mean()) if len(free) else 0.0}


def accepted(workspace: "Workspace", wanted: float, person: str) -> dict[str, Any]:
    """Accepts what is sure enough of what nobody has labelled yet."""
    from engine.labelling.accepting import accept_sure
    from engine.labelling.suggestion_store import SuggestionStore

    if not person.strip():
        raise fail("--person", "nobody was named", "say who accepts, or set BENTHOSCOPE_PERSON")
    found = SuggestionStore(workspace.folder).get()
    return vars(accept_sure(workspace.labels, workspace.people.named(person).id, found, wanted))


def cover(
    level: Annotated[int | None, typer.Option(help="Roll terms up to this level of their tree; 1 is the top.")] = None,
    csv: Annotated[Path | None, typer.Option(help="Write the table, with method and counts, to this file.")] = None,
    propose: Annotated[int | None, typer.Option(
        metavar="N", help="Instead list N images whose labels would narrow the intervals most.")] = None,
    confidence: Annotated[float, typer.Option(help="Confidence of the intervals.")] = 0.95,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Estimate the cover of every habitat per dive, with confidence intervals.

    Labels of images that nobody picked for what they show are a sample; clusters are its strata, and the model's
    suggestions sharpen it where they have proved right. Bulk labels count as they are.

    Examples:

        benthoscope cover --propose 50

        benthoscope cover --level 2 --csv cover.csv
    """
    import numpy as np

    from engine.jobs.learn import material_of
    from engine.labelling.cover_report import as_csv, evidence, next_to_label
    from engine.labelling.material import said

    with opened(workspace) as found:
        images = material_of(found)[1]
        history = found.labels.events()
        seen = evidence(history, images, said(history, images, found.labels.current()))
        if propose:
            ids = next_to_label(images, seen, propose, np.random.default_rng(0))
            paths = found.library.locate(ids)
            show([{"id": int(number), "path": str(paths[int(number)])} for number in ids], as_json,
                 lambda listed: "\n".join(image["path"] for image in listed))
            return
        rows, names = _estimated(found, images, seen, level, confidence)
        if csv:
            written(csv, as_csv(rows, *names))
    show([_plain(row, *names) for row in rows], as_json, _cover_table)


def _estimated(workspace: "Workspace", images, seen, level: int | None, confidence: float):
    """(rows, (names of groups, names of terms))."""
    from dataclasses import replace

    from engine.labelling.cover_report import EVERYWHERE, cover
    from engine.labelling.suggestion_store import SuggestionStore
    from engine.labelling.trees import TermTree

    tree = TermTree.of(workspace.vocabularies.all_terms())
    suggestions = SuggestionStore(workspace.folder).get() if level is None else None
    if level is not None:
        given = seen.terms > 0
        rolled = seen.terms.copy()
        rolled[given] = tree.rolled_up(seen.terms[given], level)
        seen = replace(seen, terms=rolled)
    groups = {group.id: group.name for group in workspace.library.groups()} | {EVERYWHERE: "all"}
    terms = {term.id: " > ".join(term.path) for term in tree.terms}
    return cover(images, seen, suggestions, confidence=confidence), (groups, terms)


def written(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise fail(str(path), f"cannot be written ({error.strerror})", "choose another place") from error


def _curve(workspace: "Workspace") -> list[dict[str, float]]:
    """A few points of accuracy against coverage."""
    from engine.labelling.suggestion_store import SuggestionStore

    curve = SuggestionStore(workspace.folder).get().curve()
    picked = [int(share * (len(curve.coverage) - 1)) for share in (0.1, 0.25, 0.5, 0.75, 1.0)]
    return [{"threshold": float(curve.thresholds[at]), "coverage": float(curve.coverage[at]),
             "accuracy": float(curve.accuracy[at]), "at_least": float(curve.at_least[at])} for at in picked]


def _plain(row: "CoverRow", groups: dict[int, str], terms: dict[int, str]) -> dict[str, Any]:
    return {"group": groups[row.group_id], "term": terms[row.term_id], **vars(row.share)}


def _learn_text(told: dict[str, Any]) -> Any:
    from rich.console import Group
    from rich.table import Table

    table = Table("Confidence of", "Images decided", "Right", "At least", box=None, header_style="bold")
    for at in told["curve"]:
        table.add_row(f"{at['threshold']:.2f}", f"{100 * at['coverage']:.0f} %", f"{100 * at['accuracy']:.1f} %",
                      f"{100 * at['at_least']:.1f} %")
    lines = [f"Learnt {told['terms']} terms from {told['labels']:,} labels; the best suggestion is right for about "
             f"{100 * told['accuracy']:.0f} % of all images"]
    sets = told["sets"]
    if sets["images"]:
        lines.append(f"Sets that miss the true term for {100 * sets['error']:.0f} % at most hold "
                     f"{sets['mean_size']:.1f} terms on average; for {100 * sets['single']:.0f} % of the images one")
    if "accepted" in told:
        sure = told["accepted"]["threshold"]
        lines.append("No suggestion is sure enough yet; label more" if sure is None else
                     f"Accepted {told['accepted']['images']:,} suggestions with a confidence of {sure:.2f} or more")
    return Group(*lines, table)


def _cover_table(rows: list[dict[str, Any]]) -> Any:
    from rich.table import Table

    table = Table("Dive or album", "Term", "Cover", "95 % interval", "Labelled", "How", box=None, header_style="bold")
    for row in rows:
        table.add_row(row["group"], row["term"], f"{100 * row['estimate']:.1f} %",
                      f"{100 * row['low']:.1f} to {100 * row['high']:.1f}", f"{row['labelled']:,} of {row['of']:,}",
                      row["method"])
    return table
