"""`benthoscope crowd`: ask many people which images belong together, and cluster their answers."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from benthoscope.app.commands.labelling.learn import PersonOption
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
    writing,
)
from benthoscope.engine.problems import BenthoscopeError, fail

if TYPE_CHECKING:
    import numpy as np

    from benthoscope.engine.crowd.estimator import CrowdEstimator
    from benthoscope.engine.workspace import Workspace

commands = command_group()
CampaignName = Annotated[str, typer.Argument(help="Name or number of the campaign.", metavar="CAMPAIGN")]


@commands.callback()
def crowd(context: typer.Context, workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """Ask many people which images belong together. Without a subcommand, list the crowd campaigns.

    A campaign is a link to tasks. In each task a person groups a few images. Create a campaign, open it, send the link
    to people while `benthoscope serve` runs, and cluster the answers at any time.

    Examples:

        benthoscope crowd create "sponges" --selection "hard ones" --task-size 12

        benthoscope crowd open sponges --address http://vessel:8642

        benthoscope crowd cluster sponges

        benthoscope crowd read answers.csv --method nmf --clusters 6
    """
    if context.invoked_subcommand:
        pass_on(context, workspace, as_json)
        return
    with open_workspace(workspace) as opened_workspace:
        listed = [_facts(opened_workspace, campaign) for campaign in opened_workspace.crowd.all()]
    show(listed, as_json, _table)


@commands.command(
    cls=accepting_old_options(
        {
            "--count": "--images",
            "--gold": "--known-pairs",
            "--most": "--max-tasks",
            "--repeats": "--people-per-task",
            "--size": "--task-size",
            "--views": "--tasks-per-image",
        }
    )
)
def create(
    name: Annotated[str, typer.Argument(help="Name of the campaign.")],
    selection: Annotated[str | None, typer.Option(help="Use the images of this saved selection.")] = None,
    collection: Annotated[str | None, typer.Option(help="Use the images of this campaign or set of albums.")] = None,
    images: Annotated[int, typer.Option(help="Number of images to draw at random; 0 for all.")] = 300,
    task_size: Annotated[int, typer.Option(help="Number of images in a task.")] = 12,
    tasks_per_image: Annotated[int, typer.Option(help="Number of tasks that contain an image.")] = 6,
    people_per_task: Annotated[int, typer.Option(help="Number of people who do the same task.")] = 3,
    title: Annotated[str, typer.Option(help="Title of the page that people see.")] = "",
    instructions: Annotated[
        str, typer.Option(help="Instructions for the people (default: group similar images).")
    ] = "",
    max_tasks: Annotated[int, typer.Option(help="Maximum number of tasks per person; 0 for no limit.")] = 0,
    known_pairs: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="CSV file of known pairs with the columns first, second (numbers of images) and same (1 or 0). "
            "Workers who miss too many of them receive no more tasks.",
        ),
    ] = None,
    days: Annotated[float, typer.Option(help="Number of days for which the link is valid.")] = 30,
    seed: Annotated[int, typer.Option(help="Seed of the random numbers: the same seed draws the same tasks.")] = 0,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Create a campaign of tasks. People can join after `crowd open`."""
    import numpy as np

    from benthoscope.engine.workspace.crowd.campaigns import ask
    from benthoscope.engine.workspace.crowd.records import CampaignSettings

    rng = np.random.default_rng(seed)
    with open_workspace(workspace) as opened_workspace:
        ids = _images(opened_workspace, selection, collection, images, rng)
        settings = CampaignSettings(
            size=task_size,
            views=tasks_per_image,
            repeats=people_per_task,
            title=title,
            most_tasks=max_tasks,
            gold=_known_pairs(known_pairs, ids),
        )
        if instructions:
            settings = replace(settings, instructions=instructions)
        created = ask(opened_workspace.crowd, name, ids, settings, rng, days=days)
        facts = _facts(opened_workspace, created)
    show(
        facts,
        as_json,
        lambda facts: (
            f"Created {facts['name']}: {facts['tasks']} tasks of {task_size} images, "
            f"{facts['wanted']} answers needed\nNext: benthoscope crowd open {facts['id']}"
        ),
    )


@commands.command("open")
def open_(
    campaign: CampaignName,
    address: Annotated[
        str,
        typer.Option(
            help="Address of the server, as `benthoscope serve` printed it, without the token. With it, the link is "
            "also shown as a QR code.",
        ),
    ] = "",
    renew: Annotated[bool, typer.Option("--renew", help="Create a new link and revoke the old one.")] = False,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Open a campaign, also after a pause, and print its link."""
    with open_workspace(workspace) as opened_workspace:
        stored = opened_workspace.crowd.named(campaign)
        stored = opened_workspace.crowd.renew_link(stored.id) if renew else stored
        stored = opened_workspace.crowd.change(stored.id, "open")
    link = f"{address.split('?')[0].rstrip('/')}/crowd/{stored.link}"
    show({"campaign": stored.name, "link": link}, as_json, lambda facts: _link_text(facts["link"], bool(address)))


@commands.command()
def pause(campaign: CampaignName, workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """Stop giving out tasks. Answers to tasks that people have already are still accepted."""
    _change(campaign, "paused", workspace, as_json)


@commands.command()
def close(campaign: CampaignName, workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """End a campaign permanently."""
    _change(campaign, "closed", workspace, as_json)


@commands.command(cls=accepting_old_options({"--more": "--extra-tasks"}))
def cluster(
    campaign: CampaignName,
    method: Annotated[
        str,
        typer.Option(
            help="bayes chooses the number of clusters and models the criteria of each worker; nmf (matrix "
            "factorisation) needs --clusters.",
        ),
    ] = "bayes",
    clusters: Annotated[int | None, typer.Option(help="Number of clusters, if you know it.")] = None,
    extra_tasks: Annotated[
        int, typer.Option(help="Add this many tasks with the images whose clusters are least certain.")
    ] = 0,
    name: Annotated[str | None, typer.Option(help="Name of the run.")] = None,
    seed: SeedOption = 0,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Cluster the images by the answers. The result is a run like any other."""
    parameters = {
        "campaign": campaign,
        "method": method,
        "clusters": clusters,
        "more": extra_tasks,
        "name": name,
        "seed": seed,
    }
    with open_workspace(workspace) as opened_workspace:
        result = run_job(opened_workspace, "crowd", parameters, as_json=as_json)
    show(
        result,
        as_json,
        lambda facts: (
            f"Run {facts['run']} {facts['name']}: {facts['clusters']} clusters of "
            f"{facts['images']:,} images, from {facts['judgements']:,} judgements by {facts['workers']} people"
        ),
    )


@commands.command()
def recluster(
    campaign: CampaignName,
    features: Annotated[str, typer.Option(help="Feature set, as for `benthoscope cluster`.")] = "deep",
    model: Annotated[str, typer.Option(help="Model, as for `benthoscope cluster`.")] = "gmc",
    name: Annotated[str | None, typer.Option(help="Name of the run.")] = None,
    seed: SeedOption = 0,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Cluster all images with the answers about some of them as constraints."""
    from benthoscope.engine.labelling.crowd_adoption import newest_crowd_run

    with open_workspace(workspace) as opened_workspace:
        stored = opened_workspace.crowd.named(campaign)
        crowd_run = newest_crowd_run(opened_workspace, stored)
        if crowd_run is None:
            raise _not_clustered(stored)
        result = run_job(
            opened_workspace,
            "cluster",
            {"model": model, "features": features, "name": name, "seed": seed, "crowd": str(crowd_run.id)},
            as_json=as_json,
        )
    show(
        result,
        as_json,
        lambda facts: (
            f"Run {facts['run']} {facts['name']}: {facts['clusters']} clusters of "
            f"{facts['images']:,} images; they agree with {facts['crowd']['together']:.0%} of the pairs that people "
            f"put together and {facts['crowd']['apart']:.0%} of the pairs that they separated"
        ),
    )


commands.command("steer", hidden=True, help="The old name of `benthoscope crowd recluster`.")(recluster)


@commands.command()
def adopt(
    campaign: CampaignName,
    label: Annotated[
        list[str],
        typer.Option(help="CLUSTER=TERM: number of a cluster and the term of its images; may be repeated."),
    ],
    person: PersonOption = "",
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Label the images of crowd clusters that people agree on. New terms are created.

    Clusters are numbered from 0, as in `benthoscope runs show`.

    Examples:

        benthoscope crowd adopt sponges --label "0=Cup sponge" --label "3=Biota > Sponges" --person Ann
    """
    from benthoscope.app.commands.labelling.people_and_terms import person_id_of
    from benthoscope.engine.labelling.crowd_adoption import adopt_clusters, newest_crowd_run

    with open_workspace(workspace) as opened_workspace:
        asked = opened_workspace.crowd.named(campaign)
        run = newest_crowd_run(opened_workspace, asked)
        if run is None:
            raise _not_clustered(asked)
        labels = dict(map(_cluster_and_term, label))
        events = adopt_clusters(opened_workspace, person_id_of(opened_workspace, person), run, labels)
    show(
        {"run": run.id, "events": events, "labels": labels},
        as_json,
        lambda result: (
            f"Labelled the images of {counted(len(result['events']), 'cluster')}; undo with `benthoscope labels undo`"
        ),
    )


def _cluster_and_term(text: str) -> tuple[int, str]:
    number, equals, term = text.partition("=")
    if not (number.strip().isdecimal() and equals and term.strip()):
        raise fail("--label", f"'{text}' is not CLUSTER=TERM", 'write it as "0=Cup sponge"')
    return int(number), term


def _not_clustered(campaign: Any) -> BenthoscopeError:
    return fail(
        f"crowd campaign {campaign.name}",
        "its answers have not been clustered",
        f"run benthoscope crowd cluster {campaign.id} first",
    )


@commands.command()
def workers(campaign: CampaignName, workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """List the workers of a campaign: answers, correct known pairs, quality in the newest run."""
    from benthoscope.app.pages.crowd.content import worker_rows
    from benthoscope.engine.labelling.crowd_adoption import newest_crowd_run

    with open_workspace(workspace) as opened_workspace:
        stored = opened_workspace.crowd.named(campaign)
        rows = worker_rows(opened_workspace, stored, newest_crowd_run(opened_workspace, stored))
    show(rows, as_json, _workers_table)


@commands.command()
def answers(
    campaign: CampaignName,
    to: Annotated[Path, typer.Argument(help="CSV file to write.", metavar="FILE")],
    pairs: Annotated[bool, typer.Option("--pairs", help="Write one row per pair instead of one per image.")] = False,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write the answers to a CSV file: task, worker, item, group. Items are numbers of images."""
    from benthoscope.engine.exchange.crowd_answers import write_answers, write_pairs
    from benthoscope.engine.jobs.crowd import collected
    from benthoscope.engine.workspace.storage.files import replacing

    with open_workspace(workspace) as opened_workspace:
        stored = opened_workspace.crowd.named(campaign)
        names = [str(number) for number in stored.images]
        answer_rows = opened_workspace.crowd.answers(stored.id)
        people = [worker.nickname for worker in opened_workspace.crowd.workers(stored.id)]
        numbers = [str(number) for number in range(len(people))]
        chunks = (
            write_pairs(collected(opened_workspace, stored).judgements, names, numbers)
            if pairs
            else write_answers(answer_rows, names, people)
        )
        with writing(to), replacing(to) as file:
            for chunk in chunks:
                file.write(chunk)
    show({"file": str(to), "answers": len(answer_rows)}, as_json, lambda facts: f"{facts['answers']:,} answers in {to}")


@commands.command()
def pages(
    campaign: CampaignName,
    to: Annotated[Path, typer.Argument(help="Folder for the pages.", metavar="FOLDER")],
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write each task as an HTML file that contains its images, for an external crowd platform."""
    from benthoscope.app.pages.crowd.offline_tasks import write_pages

    with open_workspace(workspace) as opened_workspace, writing(to):
        count = write_pages(opened_workspace, opened_workspace.crowd.named(campaign), to)
    show({"folder": str(to), "pages": count}, as_json, lambda facts: f"{facts['pages']} pages in {to}")


@commands.command()
def read(
    file: Annotated[
        Path, typer.Argument(help="CSV file with task, worker, item, group; or with first, second, worker, same.")
    ],
    method: Annotated[str, typer.Option(help="bayes or nmf.")] = "bayes",
    clusters: Annotated[int | None, typer.Option(help="Number of clusters, if you know it.")] = None,
    weight: Annotated[
        float,
        typer.Option(
            help="Weight of a judgement. Use 0.3 for answers of yes or no, where one decision makes many pairs."
        ),
    ] = 1.0,
    seed: SeedOption = 0,
    as_json: JsonOption = False,
) -> None:
    """Cluster answers from a file, without a workspace. Prints every item with its cluster."""
    from benthoscope.engine.crowd import BayesianCrowdClustering, FactorizationCrowdClustering
    from benthoscope.engine.exchange.crowd_answers import read_judgements
    from benthoscope.engine.exchange.parsing.tables import read_table

    model: CrowdEstimator
    if method != "nmf":
        model = BayesianCrowdClustering(n_clusters=clusters, judgement_weight=weight, random_state=seed)
    elif clusters is not None:
        model = FactorizationCrowdClustering(clusters, random_state=seed)
    else:
        raise fail("method nmf", "needs the number of clusters", "add --clusters N")
    judgements_read = read_judgements(read_table(read_file(file), source=file.name), source=file.name)
    labels = model.fit_predict(judgements_read.judgements).tolist()
    for problem in judgements_read.problems:
        typer.echo(f"Note: {problem}", err=True)
    rows = [{"item": item, "cluster": label} for item, label in zip(judgements_read.items, labels, strict=True)]
    show(rows, as_json, lambda rows: "\n".join(["item,cluster", *(f"{row['item']},{row['cluster']}" for row in rows)]))


def _change(campaign: str, state: str, workspace: Path | None, as_json: bool) -> None:
    with open_workspace(workspace) as opened_workspace:
        stored = opened_workspace.crowd.change(opened_workspace.crowd.named(campaign).id, state)
    show(
        {"campaign": stored.name, "state": stored.state},
        as_json,
        lambda facts: f"{facts['campaign']} is {facts['state']}",
    )


def _images(
    workspace: "Workspace", selection: str | None, collection: str | None, count: int, rng: "np.random.Generator"
) -> "np.ndarray":
    if selection and collection:
        raise fail("images", "both a selection and a collection are given", "leave one of them out")
    if selection:
        ids = workspace.selections.named(selection).images
    else:
        within = workspace.library.collection_named(collection).id if collection else None
        ids = workspace.library.columns("id", collection_id=within)["id"]
    return rng.permutation(ids)[:count] if count and count < len(ids) else rng.permutation(ids)


def _known_pairs(path: Path | None, images: "np.ndarray") -> tuple:
    from benthoscope.engine.exchange.crowd_answers import read_judgements
    from benthoscope.engine.exchange.parsing.tables import read_table
    from benthoscope.engine.workspace.crowd.records import GoldPair

    if path is None:
        return ()
    table = read_table(read_file(path), source=path.name)
    pairs_read = read_judgements(table, source=path.name, items=[str(number) for number in images])
    if len(pairs_read.items) > len(images):
        raise fail(
            path.name,
            f"names '{pairs_read.items[len(images)]}', which is not an image of the campaign",
            "use the numbers of images in the campaign",
        )
    pairs = zip(pairs_read.judgements.first, pairs_read.judgements.second, pairs_read.judgements.same, strict=True)
    return tuple(GoldPair(int(a), int(b), bool(same)) for a, b, same in pairs)


def _facts(workspace: "Workspace", campaign: Any) -> dict[str, Any]:
    return {
        "id": campaign.id,
        "name": campaign.name,
        "state": campaign.state,
        "images": len(campaign.images),
        "expires_at": campaign.expires_at,
        **vars(workspace.crowd.standing(campaign.id)),
    }


def _link_text(link: str, is_complete: bool) -> str:
    import io

    import segno

    if not is_complete:
        return f"Open. Send people the address of the server followed by {link}"
    buffer = io.StringIO()
    segno.make(link).terminal(buffer, compact=True)
    return f"Open: {link}\n{buffer.getvalue()}"


def _table(listed: list[dict[str, Any]]) -> Any:
    if not listed:
        return "No campaigns yet.\nNext: benthoscope crowd create NAME"
    rows = [
        (
            str(row["id"]),
            row["name"],
            row["state"],
            str(row["images"]),
            str(row["tasks"]),
            f"{row['answered']} of {row['wanted']}",
            str(row["workers"]),
        )
        for row in listed
    ]
    return text_table(("Number", "Campaign", "State", "Images", "Tasks", "Answers", "People"), rows)


def _workers_table(rows: list[dict[str, Any]]) -> Any:
    headings = ("Number", "Nickname", "State", "Answers", "Known pairs", "Quality", "School of thought")
    cells = [
        (
            str(row["number"]),
            row["nickname"],
            row["state"],
            str(row["answers"]),
            f"{row['gold_right']}/{row['gold_asked']}",
            "" if row["quality"] is None else f"{row['quality']:.2f}",
            "" if row["school"] is None else str(row["school"] + 1),
        )
        for row in rows
    ]
    return text_table(headings, cells)
