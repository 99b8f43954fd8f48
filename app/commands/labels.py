"""`benthoscope labels`: what is labelled, by whom, with which proof; undo, redo, history."""

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.commands.learn import PersonOption
from app.commands.terminal import JsonOption, WorkspaceOption, opened, run_job, show
from engine.problems import fail

if TYPE_CHECKING:
    from engine.workspace import Workspace

commands = typer.Typer(invoke_without_command=True, no_args_is_help=False, rich_markup_mode="rich")


@commands.callback()
def labels(context: typer.Context, workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """Show labels: counts per term, who labelled how fast, audits, conflicts; undo and redo them.

    Examples:

        benthoscope labels

        benthoscope labels undo --person Ann

        benthoscope labels history 1234
    """
    if context.invoked_subcommand:
        return
    with opened(workspace) as found:
        told = described(found)
    show(told, as_json, _text)


@commands.command("set")
def set_(
    term: Annotated[str, typer.Argument(help="Name, path (Biota > Sponges) or code of the term.")],
    cluster: Annotated[int | None, typer.Option(help="All images of this cluster of the current run.")] = None,
    image: Annotated[list[int] | None, typer.Option(help="Id of an image; may be repeated.")] = None,
    person: PersonOption = "",
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Label images, or a whole cluster, with a term."""
    with opened(workspace) as found:
        who, chosen = _who(found, person), _term(found, term)
        run = found.runs.current() if cluster is not None else None
        ids = _cluster_images(run, cluster) if cluster is not None else (image or [])
        number = found.labels.label(who, ids, chosen.id, why="bulk" if len(ids) > 1 else "manual",
                                    run_id=run.id if run else None,
                                    rule={} if cluster is None else {"cluster": cluster})
    show({"event": number, "images": len(ids), "term": list(chosen.path)}, as_json,
         lambda told: f"Labelled {told['images']:,} images {chosen.name}; undo with `benthoscope labels undo`")


@commands.command()
def undo(person: PersonOption = "", workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """Take back the last act of a person, of this session or any before."""
    with opened(workspace) as found:
        number = found.labels.undo_last(_who(found, person))
        told = _act(found, number)
    show(told, as_json, lambda told: f"Took back {told['what']}" if told else "There is nothing to take back")


@commands.command()
def redo(person: PersonOption = "", workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """Bring back the act taken back last."""
    with opened(workspace) as found:
        number = found.labels.redo_last(_who(found, person))
        told = _act(found, number)
    show(told, as_json, lambda told: f"Brought back {told['what']}" if told else "There is nothing to bring back")


@commands.command()
def revert(
    event: Annotated[int, typer.Argument(help="Number of an event, 0 for the very beginning.")],
    person: PersonOption = "", workspace: WorkspaceOption = None, as_json: JsonOption = False,
) -> None:
    """Bring all labels back to what they were right after an event; this too can be undone."""
    with opened(workspace) as found:
        number = found.labels.revert(_who(found, person), event)
        count = found.labels.event(number).count
    show({"event": number, "images": count}, as_json, lambda told: f"Labels of {told['images']:,} images are as they "
         f"were after event {event}")


@commands.command()
def history(
    image: Annotated[int, typer.Argument(help="Id of an image.")],
    workspace: WorkspaceOption = None, as_json: JsonOption = False,
) -> None:
    """Show everything that was ever said of an image, and by whom."""
    with opened(workspace) as found:
        told = [_act(found, event.number) for event in found.labels.history(image)]
    show(told, as_json, lambda told: "\n".join(f"{act['at']}  {act['who']}  {act['what']}" for act in told)
         or f"Nothing was ever said of image {image}")


@commands.command()
def recluster(
    run: Annotated[int | None, typer.Option(help="Number of the run to begin with; by default the current.")] = None,
    name: Annotated[str | None, typer.Option(help="Name of the new run.")] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same clusters on the same machine.")] = 0,
    workspace: WorkspaceOption = None, as_json: JsonOption = False,
) -> None:
    """Cluster again, steered by the labels: no cluster of the new run holds images of two terms."""
    with opened(workspace) as found:
        told = run_job(found, "steer", {"run": run, "name": name, "seed": seed}, as_json=as_json)
    show(told, as_json, lambda told: f"Run {told['run']} '{told['name']}': {told['clusters']} clusters; "
         f"{told['mixed_before']} held several terms before, {told['named']} hold one now")


@commands.command()
def vocabulary(
    file: Annotated[Path | None, typer.Argument(help="CSV file with a column path, or name and parent.")] = None,
    name: Annotated[str | None, typer.Option(help="Name of the vocabulary; by default that of the file.")] = None,
    catami: Annotated[bool, typer.Option("--catami", help="Add CATAMI 1.4, which comes with the program.")] = False,
    workspace: WorkspaceOption = None, as_json: JsonOption = False,
) -> None:
    """List the vocabularies, add CATAMI, or read an own tree of terms from a CSV file."""
    with opened(workspace) as found:
        problems = _read(found, file, name) if file else []
        if catami:
            from engine.labelling.vocabulary_file import add_catami

            add_catami(found)
        listed = [{"name": words.name, "version": words.version, "terms": len(found.vocabularies.terms(words.id))}
                  for words in found.vocabularies.all()]
    show({"vocabularies": listed, "problems": [vars(problem) for problem in problems]}, as_json, _vocabulary_text)


def described(workspace: "Workspace") -> dict[str, Any]:
    """What `labels` shows, as plain values."""
    import numpy as np

    from engine.labelling.agreement import conflicts, fleiss_kappa, opinions, votes
    from engine.labelling.audit import audits
    from engine.labelling.pace import pace
    from engine.workspace.events import standing

    events = standing(workspace.labels.events())
    ids, terms = workspace.labels.current_terms()
    names = {term.id: " > ".join(term.path) for term in workspace.vocabularies.all_terms()}
    table = votes(opinions(events))[2]
    used, counts = np.unique(terms, return_counts=True)
    return {
        "images": workspace.library.count_images(), "labelled": len(ids),
        "terms": {names[term]: count for term, count in zip(used.tolist(), counts.tolist(), strict=True)},
        "people": [{"name": person.name, **_pace(pace(events, person.id))} for person in workspace.people.all()],
        "audits": [{"event": number, "told": str(found), **vars(found)} for number, found in audits(events).items()],
        "conflicts": len(conflicts(events)), "seen_by_several": len(table),
        "fleiss_kappa": fleiss_kappa(table) if len(table) else None,
    }


def _pace(found) -> dict[str, Any]:
    return {"images": found.images, "acts": found.acts, "hours": found.seconds / 3600, "per_hour": found.per_hour}


def _who(workspace: "Workspace", person: str) -> int:
    if not person.strip():
        raise fail("--person", "nobody was named", "say who labels, or set BENTHOSCOPE_PERSON")
    return workspace.people.named(person).id


def _term(workspace: "Workspace", word: str):
    """The term meant by a name, a path or a code."""
    from engine.labelling.term_search import search
    from engine.problems import unknown

    terms = workspace.vocabularies.all_terms()
    path = tuple(part.strip() for part in word.split(" > "))
    exact = [term for term in terms if word in (term.code, term.name) or term.path == path]
    if len(exact) == 1:
        return exact[0]
    if exact:
        listed = "; ".join(" > ".join(term.path) for term in exact)
        raise fail("term", f"'{word}' may be {listed}", "give the whole path")
    near = search(terms, word, 1)
    raise unknown("term", word, [" > ".join(term.path) for term in near or terms])


def _cluster_images(run, cluster: int):
    if run is None:
        raise fail("runs", "there is none", "make one with `benthoscope cluster`")
    return run.array("image_ids")[run.array("labels") == cluster]


def _read(workspace: "Workspace", file: Path, name: str | None):
    from engine.labelling.vocabulary_file import read_vocabulary

    try:
        data = file.read_bytes()
    except OSError as error:
        raise fail(str(file), f"cannot be read ({error.strerror})", "check the path") from error
    terms, problems = read_vocabulary(data, source=file.name)
    workspace.vocabularies.add(name or file.stem, terms)
    return problems


def _act(workspace: "Workspace", number: int | None) -> dict[str, Any]:
    """An event in words."""
    if number is None:
        return {}
    event = workspace.labels.event(number)
    who = {person.id: person.name for person in workspace.people.all()}[event.person_id]
    names = {term.id: term.name for term in workspace.vocabularies.all_terms()}
    term = f" {names[event.term_id]}" if event.term_id else ""
    what = f"event {number}: {event.kind}{term} of {event.count:,} images ({event.why})"
    at = datetime.fromtimestamp(event.at).astimezone().isoformat(sep=" ", timespec="seconds")
    return {"event": number, "who": who, "at": at, "what": what, "kind": event.kind, "why": event.why,
            "images": event.count}


def _text(told: dict[str, Any]) -> Any:
    from rich.console import Group
    from rich.table import Table

    lines = [f"{told['labelled']:,} of {told['images']:,} images labelled"]
    lines += [f"{person['name']}: {person['images']:,} labels in {person['acts']:,} acts, "
              f"{person['per_hour']:,.0f} an hour" for person in told["people"] if person["acts"]]
    lines += [f"Event {audit['event']}: {audit['told']}" for audit in told["audits"]]
    if told["seen_by_several"]:
        lines.append(f"{told['seen_by_several']:,} images labelled by several people, Fleiss' kappa "
                     f"{told['fleiss_kappa']:.2f}; {told['conflicts']:,} conflicts")
    table = Table("Term", "Images", box=None, header_style="bold")
    for name, count in sorted(told["terms"].items(), key=lambda pair: -pair[1]):
        table.add_row(name, f"{count:,}")
    return Group(*lines, table) if told["terms"] else Group(*lines)


def _vocabulary_text(told: dict[str, Any]) -> str:
    lines = [f"{words['name']} {words['version']}: {words['terms']} terms".replace(" :", ":")
             for words in told["vocabularies"]]
    lines += [f"{problem['where']}: {problem['what']}; {problem['remedy']}" for problem in told["problems"]]
    return "\n".join(lines) or "No vocabulary yet; add one with --catami or from a CSV file"
