"""`benthoscope labels`: counts, speed, audits and conflicts of labels; undo, redo, history."""

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from benthoscope.app.commands.labelling.final_check import final_check
from benthoscope.app.commands.labelling.learn import PersonOption
from benthoscope.app.commands.labelling.people_and_terms import find_term, person_id_of
from benthoscope.app.commands.labelling.several_people import agreement, disagreements, double
from benthoscope.app.commands.old_options import accepting_old_options
from benthoscope.app.commands.terminal import (
    JsonOption,
    SeedOption,
    WorkspaceOption,
    command_group,
    counted,
    open_workspace,
    pass_on,
    read_file,
    run_job,
    show,
    text_table,
)
from benthoscope.engine.problems import fail
from benthoscope.engine.term_path import joined

if TYPE_CHECKING:
    from benthoscope.engine.workspace import Workspace

commands = command_group()


@commands.callback()
def labels(context: typer.Context, workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """Show labels: counts per term, speed of each person, audits, conflicts. Undo and redo labels.

    Examples:

        benthoscope labels

        benthoscope labels undo --person Ann

        benthoscope labels history 1234
    """
    if context.invoked_subcommand:
        pass_on(context, workspace, as_json)
        return
    with open_workspace(workspace) as opened_workspace:
        summary = summarise(opened_workspace)
    show(summary, as_json, _summary_text)


@commands.command()
def suspicious(
    limit: Annotated[int, typer.Option(min=1, metavar="COUNT", help="List at most this many labels.")] = 20,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """List labels that are probably wrong, least believed first.

    Repair them on the page Learn, under Suspicious labels. Each probability comes from a model that was not trained on
    the label. How many of the labels are really wrong is stated after 20 answers on that page.
    """
    from benthoscope.engine.labelling.accuracy.label_errors import suspicious_labels

    with open_workspace(workspace) as opened_workspace:
        result = suspicious_labels(opened_workspace)
    show({**result, "total": len(result["labels"]), "labels": result["labels"][:limit]}, as_json, _suspicious_text)


@commands.command("next")
def next_page(workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """Show which page of Learn to label next, and choose typical images if there are none.

    Without a model these are the first images to label. --json lists their numbers.
    """
    from benthoscope.engine.jobs.labels.typical import next_to_label, stored_typical

    with open_workspace(workspace) as opened_workspace:
        if stored_typical(opened_workspace) is None:
            run_job(opened_workspace, "typical images", {}, as_json=as_json)
        result = next_to_label(opened_workspace)
    show(result, as_json, _next_text)


def _next_text(result: dict[str, Any]) -> str:
    if not result["queue"]:
        return "No page is better than others"
    return f"Next best: {result['queue']}. {result['reason']}. Typical images without a label: {len(result['typical'])}"


def _suspicious_text(result: dict[str, Any]) -> Any:
    from rich.console import Group

    rows = [
        (
            str(entry["image"]),
            entry["term"],
            f"{entry['probability']:.2f}",
            f"{entry['guess']} ({entry['guess_probability']:.2f})",
        )
        for entry in result["labels"]
    ]
    table = text_table(("Image", "Label", "Probability", "The model's guess"), rows)
    count = counted(result["total"], "suspicious label")
    return Group(*filter(None, (count, table if result["labels"] else None, result["text"])))


@commands.command("set", cls=accepting_old_options({"--create": "--add-terms"}))
def set_(
    term: Annotated[str, typer.Argument(help="Name, path (Biota > Sponges) or code of the term.")],
    cluster: Annotated[int | None, typer.Option(help="Label all images of this cluster.")] = None,
    run: Annotated[
        str | None,
        typer.Option(
            help="With --cluster: number or name of the run, or of one of its levels (default: the current run)."
        ),
    ] = None,
    image: Annotated[list[int] | None, typer.Option(help="Id of an image. May be repeated.")] = None,
    add_terms: Annotated[bool, typer.Option("--add-terms", help="Add the term if no vocabulary contains it.")] = False,
    person: PersonOption = "",
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Label images, or a whole cluster, with a term."""
    with open_workspace(workspace) as opened_workspace:
        person_id = person_id_of(opened_workspace, person)
        chosen = find_term(opened_workspace, term, create=add_terms)
        clustering = None
        if cluster is not None:
            clustering = opened_workspace.runs.named(run) if run else opened_workspace.runs.current()
        ids = _cluster_images(clustering, cluster) if cluster is not None else (image or [])
        number = opened_workspace.labels.label(
            person_id,
            ids,
            chosen.id,
            why="bulk" if len(ids) > 1 else "manual",
            run_id=clustering.id if clustering else None,
            rule={} if cluster is None else {"cluster": cluster},
        )
    show(
        {"event": number, "images": len(ids), "term": list(chosen.path)},
        as_json,
        lambda result: (
            f"Labelled {counted(result['images'], 'image')} {chosen.name}; undo with `benthoscope labels undo`"
        ),
    )


@commands.command()
def undo(person: PersonOption = "", workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """Undo the last change by a person, even from an earlier session."""
    _undo_or_redo(person, workspace, as_json, redo=False)


@commands.command()
def redo(person: PersonOption = "", workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """Redo the change that was undone last."""
    _undo_or_redo(person, workspace, as_json, redo=True)


def _undo_or_redo(person: str, workspace: Path | None, as_json: bool, *, redo: bool) -> None:
    with open_workspace(workspace) as opened_workspace:
        log, person_id = opened_workspace.labels, person_id_of(opened_workspace, person)
        event = _event_facts(opened_workspace, log.redo_last(person_id) if redo else log.undo_last(person_id))
    verb, done = ("redo", "Redone") if redo else ("undo", "Undone")
    show(event, as_json, lambda event: f"{done}: {event['what']}" if event else f"There is nothing to {verb}")


@commands.command()
def revert(
    event: Annotated[int, typer.Argument(help="Number of an event; 0 is the empty label log.")],
    person: PersonOption = "",
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Restore all labels to their state right after an event. This can be undone."""
    with open_workspace(workspace) as opened_workspace:
        number = opened_workspace.labels.revert(person_id_of(opened_workspace, person), event)
        count = opened_workspace.labels.event(number).count
    show(
        {"event": number, "images": count},
        as_json,
        lambda result: f"Restored the labels of {result['images']:,} images to their state after event {event}",
    )


@commands.command("withdraw-audit")
def withdraw_audit(
    event: Annotated[int, typer.Argument(help="Number of the audit; `labels` and the page Labels show it.")],
    person: PersonOption = "",
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Withdraw an audit of bulk labels. The same images must then be checked again."""
    from benthoscope.engine.labelling.audits import bulk_audit

    with open_workspace(workspace) as opened_workspace:
        event_numbers = bulk_audit.withdraw_audit(opened_workspace, person_id_of(opened_workspace, person), event)
    show(
        {"event": event, "acts": list(event_numbers)},
        as_json,
        lambda result: f"Withdrew audit {event}. Check the same images again in Review",
    )


commands.command("final-check")(final_check)
commands.command()(double)
commands.command()(agreement)
commands.command()(disagreements)


@commands.command()
def slips(person: PersonOption = "", workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """Show how many labels of a person were not confirmed when Learn showed them again."""
    from benthoscope.engine.labelling.accuracy.repeats import slip_facts

    with open_workspace(workspace) as opened_workspace:
        facts = slip_facts(opened_workspace, person_id_of(opened_workspace, person))
    show(facts, as_json, lambda facts: facts["text"])


@commands.command()
def history(
    image: Annotated[int, typer.Argument(help="Id of an image.")],
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show all label events of an image, with person and time."""
    with open_workspace(workspace) as opened_workspace:
        events = [_event_facts(opened_workspace, event.number) for event in opened_workspace.labels.history(image)]
    show(
        events,
        as_json,
        lambda events: (
            "\n".join(f"{event['at']}  {event['who']}  {event['what']}" for event in events)
            or f"Image {image} has no label events"
        ),
    )


@commands.command()
def verify(
    term: Annotated[str, typer.Argument(help="Name, path or code of the term; without it the terms are counted.")] = "",
    correct: Annotated[list[int] | None, typer.Option(help="Id of a correct image; may be repeated.")] = None,
    wrong: Annotated[list[int] | None, typer.Option(help="Id of an image with a wrong label; may be repeated.")] = None,
    person: PersonOption = "",
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Verify labels of others: list those that you have not verified, confirm or reject them.

    Examples:

        benthoscope labels verify --person Ann

        benthoscope labels verify Kelp --person Ann

        benthoscope labels verify Kelp --correct 12 --correct 15 --wrong 31 --person Ann
    """
    from benthoscope.engine.labelling.verification import unverified, verify_labels

    if (correct or wrong) and not term:
        raise fail("term", "is missing", "name the term that you verify")
    with open_workspace(workspace) as opened_workspace:
        person_id = person_id_of(opened_workspace, person)
        chosen = find_term(opened_workspace, term) if term else None
        if chosen and (correct or wrong):
            result = verify_labels(opened_workspace.labels, person_id, chosen.id, correct or (), wrong or ())
            facts: dict[str, Any] = {
                "term": list(chosen.path),
                "confirmed": result.confirmed,
                "rejected": result.rejected,
                "events": list(result.events),
            }
        else:
            images, terms = unverified(opened_workspace.labels, person_id)
            paths = {each.id: each.path for each in opened_workspace.vocabularies.all_terms()}
            listed = [chosen.id] if chosen else sorted(set(terms.tolist()), key=lambda number: paths[number])
            facts = {
                "unverified": [
                    {"term": list(paths[number]), "images": images[terms == number].tolist()} for number in listed
                ]
            }
    show(facts, as_json, _verified_text if "events" in facts else _unverified_text)


def _verified_text(result: dict[str, Any]) -> str:
    return (
        f"Confirmed {result['confirmed']:,} and rejected {result['rejected']:,} labels {joined(result['term'])}; "
        "undo with `benthoscope labels undo`"
    )


def _unverified_text(result: dict[str, Any]) -> str:
    if not result["unverified"]:
        return "There are no labels by others that you have not verified."
    if len(result["unverified"]) == 1:
        [entry] = result["unverified"]
        return f"{joined(entry['term'])}, unverified images: {', '.join(map(str, entry['images'])) or 'none'}"
    return "\n".join(
        f"{joined(entry['term'])}: {len(entry['images']):,} unverified images" for entry in result["unverified"]
    )


@commands.command()
def recluster(
    run: Annotated[int | None, typer.Option(help="Number of the run to start from (default: the current one).")] = None,
    name: Annotated[str | None, typer.Option(help="Name of the new run.")] = None,
    seed: SeedOption = 0,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Cluster again with the labels as constraints: no cluster of the new run contains images of two terms."""
    with open_workspace(workspace) as opened_workspace:
        result = run_job(opened_workspace, "steer", {"run": run, "name": name, "seed": seed}, as_json=as_json)
    show(
        result,
        as_json,
        lambda result: (
            f"Run {result['run']} '{result['name']}': {result['clusters']} clusters; "
            f"{result['mixed_before']} contained several terms before, {result['named']} contain one now"
        ),
    )


@commands.command()
def vocabulary(
    file: Annotated[
        Path | None, typer.Argument(help="CSV file with a column path, or with columns name and parent.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="Name of the vocabulary (default: the name of the file).")] = None,
    catami: Annotated[bool, typer.Option("--catami", help="Add CATAMI 1.4, which is included in the program.")] = False,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the vocabularies, add CATAMI, or read your own vocabulary from a CSV file."""
    with open_workspace(workspace) as opened_workspace:
        problems = _read_vocabulary(opened_workspace, file, name) if file else []
        if catami:
            from benthoscope.engine.labelling.vocabulary_file import add_catami

            add_catami(opened_workspace)
        listed = [
            {"name": words.name, "version": words.version, "terms": len(opened_workspace.vocabularies.terms(words.id))}
            for words in opened_workspace.vocabularies.all()
        ]
    show({"vocabularies": listed, "problems": [vars(problem) for problem in problems]}, as_json, _vocabulary_text)


def summarise(workspace: "Workspace") -> dict[str, Any]:
    """The values that `labels` prints."""
    import numpy as np

    from benthoscope.engine.labelling.agreement import conflicts, fleiss_kappa, opinions, votes
    from benthoscope.engine.labelling.audits.bulk_audit import pooled_statement
    from benthoscope.engine.labelling.audits.sample import audits
    from benthoscope.engine.labelling.speed import pace
    from benthoscope.engine.workspace.labels.events import standing

    events = standing(workspace.labels.events())
    ids, terms = workspace.labels.current_terms()
    names = {term.id: joined(term.path) for term in workspace.vocabularies.all_terms()}
    table = votes(opinions(events))[2]
    used, counts = np.unique(terms, return_counts=True)
    bulk = pooled_statement(workspace)
    return {
        "images": workspace.library.count_images(),
        "labelled": len(ids),
        "terms": {names[term]: count for term, count in zip(used.tolist(), counts.tolist(), strict=True)},
        "people": [{"name": person.name, **_pace(pace(events, person.id))} for person in workspace.people.all()],
        "audits": [{"event": number, "told": str(audit), **vars(audit)} for number, audit in audits(events).items()],
        "bulk_labels": None if bulk is None else bulk.to_dict(),
        "conflicts": len(conflicts(events)),
        "seen_by_several": len(table),
        "fleiss_kappa": fleiss_kappa(table) if len(table) else None,
    }


def _pace(pace) -> dict[str, Any]:
    return {"images": pace.images, "acts": pace.events, "hours": pace.seconds / 3600, "per_hour": pace.per_hour}


def _cluster_images(run, cluster: int):
    if run is None:
        raise fail("runs", "there is none", "create one with `benthoscope cluster`")
    return run.array("image_ids")[run.array("labels") == cluster]


def _read_vocabulary(workspace: "Workspace", file: Path, name: str | None):
    from benthoscope.engine.labelling.vocabulary_file import read_vocabulary

    terms, problems = read_vocabulary(read_file(file), source=file.name)
    workspace.vocabularies.add(name or file.stem, terms)
    return problems


def _event_facts(workspace: "Workspace", number: int | None) -> dict[str, Any]:
    """The values that `labels history` prints about an event; empty without a number."""
    if number is None:
        return {}
    event = workspace.labels.event(number)
    person_name = {person.id: person.name for person in workspace.people.all()}[event.person_id]
    names = {term.id: term.name for term in workspace.vocabularies.all_terms()}
    term = f" {names[event.term_id]}" if event.term_id else ""
    description = f"event {number}: {event.kind}{term} of {event.count:,} images ({event.why})"
    at = datetime.fromtimestamp(event.at).astimezone().isoformat(sep=" ", timespec="seconds")
    return {
        "event": number,
        "who": person_name,
        "at": at,
        "what": description,
        "kind": event.kind,
        "why": event.why,
        "images": event.count,
    }


def _summary_text(summary: dict[str, Any]) -> Any:
    from rich.console import Group

    lines = [f"{summary['labelled']:,} of {summary['images']:,} images labelled"]
    lines += [
        f"{person['name']}: {person['images']:,} labels in {person['acts']:,} events, "
        f"{person['per_hour']:,.0f} labels/hour"
        for person in summary["people"]
        if person["acts"]
    ]
    lines += [f"Event {audit['event']}: {audit['told']}" for audit in summary["audits"]]
    lines += [summary["bulk_labels"]["told"]] if summary["bulk_labels"] else []
    if summary["seen_by_several"]:
        lines.append(
            f"{summary['seen_by_several']:,} images labelled by several people, Fleiss' kappa "
            f"{summary['fleiss_kappa']:.2f}; {summary['conflicts']:,} conflicts"
        )
    counts = sorted(summary["terms"].items(), key=lambda pair: -pair[1])
    table = text_table(("Term", "Images"), [(name, f"{count:,}") for name, count in counts])
    return Group(*lines, table) if summary["terms"] else Group(*lines)


def _vocabulary_text(result: dict[str, Any]) -> str:
    lines = [
        f"{words['name']} {words['version']}: {words['terms']} terms".replace(" :", ":")
        for words in result["vocabularies"]
    ]
    lines += [f"{problem['where']}: {problem['what']}; {problem['remedy']}" for problem in result["problems"]]
    return "\n".join(lines) or "No vocabulary yet. Add one with --catami or from a CSV file"
