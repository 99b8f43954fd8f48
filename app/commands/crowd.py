"""`benthoscope crowd`: ask many people which images belong together, and cluster what they say."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.commands.terminal import JsonOption, WorkspaceOption, opened, run_job, show
from engine.problems import fail

if TYPE_CHECKING:
    import numpy as np

    from engine.workspace import Workspace

commands = typer.Typer(invoke_without_command=True, no_args_is_help=False, rich_markup_mode="rich")
CampaignName = Annotated[str, typer.Argument(help="Name or number of the campaign.", metavar="CAMPAIGN")]


@commands.callback()
def crowd(context: typer.Context, workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """Ask many people which images belong together. Without a word more: list the campaigns.

    A campaign shows each person a few images at a time, behind a link. Make one, open it, send the link while
    `benthoscope serve` runs, and cluster the answers as they come.

    Examples:

        benthoscope crowd create "sponges" --selection "hard ones" --size 12

        benthoscope crowd open sponges --address http://vessel:8642

        benthoscope crowd cluster sponges

        benthoscope crowd read answers.csv --method nmf --clusters 6
    """
    if context.invoked_subcommand:
        return
    with opened(workspace) as found:
        listed = [_facts(found, campaign) for campaign in found.crowd.all()]
    show(listed, as_json, _table)


@commands.command()
def create(
    name: Annotated[str, typer.Argument(help="Name of the campaign.")],
    selection: Annotated[str | None, typer.Option(help="Ask about the images of this saved selection.")] = None,
    collection: Annotated[str | None, typer.Option(help="Ask about images of this collection.")] = None,
    count: Annotated[int, typer.Option(help="Of those, this many at random; 0 for all.")] = 300,
    size: Annotated[int, typer.Option(help="Images in a task.")] = 12,
    views: Annotated[int, typer.Option(help="Tasks each image is in.")] = 6,
    repeats: Annotated[int, typer.Option(help="People each task is done by.")] = 3,
    title: Annotated[str, typer.Option(help="What people see at the top.")] = "",
    instructions: Annotated[str, typer.Option(help="What people are asked to do; by default, to group by likeness.")]
    = "",
    most: Annotated[int, typer.Option(help="Tasks one person does at most; 0: as many as they like.")] = 0,
    gold: Annotated[Path | None, typer.Option(help="CSV of known pairs: columns first, second (numbers of images), "
                                                   "same (1 or 0). Who misses them is asked no further.")] = None,
    days: Annotated[float, typer.Option(help="Days the link is good for.")] = 30,
    seed: Annotated[int, typer.Option(help="The same seed draws the same tasks.")] = 0,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a campaign of tasks; nobody can join before it is opened."""
    import numpy as np

    from engine.workspace.crowd_asking import ask
    from engine.workspace.crowd_records import Settings

    rng = np.random.default_rng(seed)
    with opened(workspace) as found:
        images = _images(found, selection, collection, count, rng)
        words = {"instructions": instructions} if instructions else {}
        settings = Settings(size=size, views=views, repeats=repeats, title=title, most_tasks=most,
                            gold=_gold(gold, images), **words)
        made = ask(found.crowd, name, images, settings, rng, days=days)
        told = _facts(found, made)
    show(told, as_json, lambda told: f"Made {told['name']}: {told['tasks']} tasks of {size} images, "
         f"{told['wanted']} answers wanted\nNext: benthoscope crowd open {told['id']}")


@commands.command("open")
def open_(
    campaign: CampaignName,
    address: Annotated[str, typer.Option(help="Where people reach the server: what `benthoscope serve` printed, "
                                              "without the token. With it the link is shown as a QR code too.")] = "",
    renew: Annotated[bool, typer.Option("--renew", help="Make a new link; the old one leads nowhere.")] = False,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Open a campaign, or open it again after a pause, and show its link."""
    with opened(workspace) as found:
        held = found.crowd.named(campaign)
        held = found.crowd.renew_link(held.id) if renew else held
        held = found.crowd.change(held.id, "open")
    link = f"{address.split('?')[0].rstrip('/')}/crowd/{held.link}"
    show({"campaign": held.name, "link": link}, as_json, lambda told: _link_text(told["link"], bool(address)))


@commands.command()
def pause(campaign: CampaignName, workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """Give out no more tasks for now; answers under way are still taken."""
    _change(campaign, "paused", workspace, as_json)


@commands.command()
def close(campaign: CampaignName, workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """End a campaign for good."""
    _change(campaign, "closed", workspace, as_json)


@commands.command()
def cluster(
    campaign: CampaignName,
    method: Annotated[str, typer.Option(help="bayes finds the number of clusters and what each worker goes by; nmf "
                                             "(factorisation) needs the number.")] = "bayes",
    clusters: Annotated[int | None, typer.Option(help="Number of clusters, where it is known.")] = None,
    more: Annotated[int, typer.Option(help="Add this many tasks on what is least sure.")] = 0,
    name: Annotated[str | None, typer.Option(help="Name of the run.")] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same clusters.")] = 0,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Cluster the images by what people said; the result is a run like any other."""
    parameters = {"campaign": campaign, "method": method, "clusters": clusters, "more": more, "name": name,
                  "seed": seed}
    with opened(workspace) as found:
        result = run_job(found, "crowd", parameters, as_json=as_json)
    show(result, as_json, lambda told: f"Run {told['run']} {told['name']}: {told['clusters']} clusters of "
         f"{told['images']:,} images, from {told['judgements']:,} judgements by {told['workers']} people")


@commands.command()
def steer(
    campaign: CampaignName,
    features: Annotated[str, typer.Option(help="Description of the images, as for `benthoscope cluster`.")] = "deep",
    model: Annotated[str, typer.Option(help="Model, as for `benthoscope cluster`.")] = "gmc",
    name: Annotated[str | None, typer.Option(help="Name of the run.")] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same clusters.")] = 0,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Cluster all images along what people tell apart in those they were asked about."""
    from app.state.crowd_views import newest_run

    with opened(workspace) as found:
        asked = found.crowd.named(campaign)
        said = newest_run(found, asked)
        if said is None:
            raise fail(f"crowd campaign {asked.name}", "its answers have not been clustered",
                       f"run benthoscope crowd cluster {asked.id} first")
        result = run_job(found, "cluster", {"model": model, "features": features, "name": name, "seed": seed,
                                            "crowd": str(said.id)}, as_json=as_json)
    show(result, as_json, lambda told: f"Run {told['run']} {told['name']}: {told['clusters']} clusters of "
         f"{told['images']:,} images; they keep {told['crowd']['together']:.0%} of what people put together and "
         f"{told['crowd']['apart']:.0%} of what they kept apart")


@commands.command()
def workers(campaign: CampaignName, workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """List the people of a campaign: answers, known pairs they got right, quality in the newest run."""
    from app.state.crowd_views import newest_run, worker_rows

    with opened(workspace) as found:
        asked = found.crowd.named(campaign)
        rows = worker_rows(found, asked, newest_run(found, asked))
    show(rows, as_json, _workers_table)


@commands.command()
def answers(
    campaign: CampaignName,
    to: Annotated[Path, typer.Argument(help="CSV file to write.", metavar="FILE")],
    pairs: Annotated[bool, typer.Option("--pairs", help="A row for each pair instead of each image.")] = False,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write what people said as CSV: task, worker, item, group; items are numbers of images."""
    from engine.exchange.judgements import write_answers, write_pairs
    from engine.jobs.crowd import collected
    from engine.workspace.files import replacing

    with opened(workspace) as found:
        held = found.crowd.named(campaign)
        names = [str(number) for number in held.images]
        said = found.crowd.answers(held.id)
        people = [worker.nickname for worker in found.crowd.workers(held.id)]
        numbers = [str(number) for number in range(len(people))]
        parts = write_pairs(collected(found, held).judgements, names, numbers) if pairs else write_answers(
            said, names, people)
        with replacing(to) as file:
            for part in parts:
                file.write(part)
    show({"file": str(to), "answers": len(said)}, as_json, lambda told: f"{told['answers']:,} answers in {to}")


@commands.command()
def pages(
    campaign: CampaignName,
    to: Annotated[Path, typer.Argument(help="Folder for the pages.", metavar="FOLDER")],
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write each task as one HTML file with its images inside, for a crowd platform outside."""
    from app.static_tasks import write_pages

    with opened(workspace) as found:
        count = write_pages(found, found.crowd.named(campaign), to)
    show({"folder": str(to), "pages": count}, as_json, lambda told: f"{told['pages']} pages in {to}")


@commands.command()
def read(
    file: Annotated[Path, typer.Argument(help="CSV with task, worker, item, group; or first, second, worker, same.")],
    method: Annotated[str, typer.Option(help="bayes or nmf.")] = "bayes",
    clusters: Annotated[int | None, typer.Option(help="Number of clusters, where it is known.")] = None,
    weight: Annotated[float, typer.Option(
        help="How much each judgement counts: 0.3 for answers of yes or no, of which few decisions make many "
             "pairs.")] = 1.0,
    seed: Annotated[int, typer.Option(help="The same seed gives the same clusters.")] = 0,
    as_json: JsonOption = False,
) -> None:
    """Cluster answers from elsewhere, without any workspace: prints every item with its cluster."""
    from engine.crowd import BayesianCrowdClustering, FactorizationCrowdClustering
    from engine.exchange.judgements import read_judgements
    from engine.exchange.tables import read_table

    if method == "nmf" and clusters is None:
        raise fail("method nmf", "does not find the number of clusters", "say how many with --clusters")
    try:
        table = read_table(file.read_bytes(), source=file.name)
    except OSError as error:
        raise fail(str(file), f"cannot be read ({error.strerror})", "check the path") from error
    found = read_judgements(table, source=file.name)
    model = (FactorizationCrowdClustering(clusters, random_state=seed) if method == "nmf" else
             BayesianCrowdClustering(n_clusters=clusters, judgement_weight=weight, random_state=seed))
    labels = model.fit_predict(found.judgements).tolist()
    for problem in found.problems:
        typer.echo(f"Note: {problem}", err=True)
    rows = [{"item": item, "cluster": label} for item, label in zip(found.items, labels, strict=True)]
    show(rows, as_json, lambda rows: "\n".join(["item,cluster", *(f"{row['item']},{row['cluster']}" for row in rows)]))


def _change(campaign: str, state: str, workspace: Path | None, as_json: bool) -> None:
    with opened(workspace) as found:
        held = found.crowd.change(found.crowd.named(campaign).id, state)
    show({"campaign": held.name, "state": held.state}, as_json, lambda told: f"{told['campaign']} is {told['state']}")


def _images(found: "Workspace", selection: str | None, collection: str | None, count: int,
            rng: "np.random.Generator") -> "np.ndarray":
    if selection and collection:
        raise fail("images", "a selection and a collection", "name one of them")
    if selection:
        ids = found.selections.named(selection).images
    else:
        within = found.library.collection_named(collection).id if collection else None
        ids = found.library.columns("id", collection_id=within)["id"]
    return rng.permutation(ids)[:count] if count and count < len(ids) else rng.permutation(ids)


def _gold(path: Path | None, images: "np.ndarray") -> tuple:
    from engine.exchange.judgements import read_judgements
    from engine.exchange.tables import read_table
    from engine.workspace.crowd_records import GoldPair

    if path is None:
        return ()
    table = read_table(path.read_bytes(), source=path.name)
    found = read_judgements(table, source=path.name, items=[str(number) for number in images])
    if len(found.items) > len(images):
        raise fail(path.name, f"names '{found.items[len(images)]}', which is not among the images asked about",
                   "use the numbers of images in the campaign")
    pairs = zip(found.judgements.first, found.judgements.second, found.judgements.same, strict=True)
    return tuple(GoldPair(int(a), int(b), bool(same)) for a, b, same in pairs)


def _facts(found: "Workspace", campaign: Any) -> dict[str, Any]:
    return {"id": campaign.id, "name": campaign.name, "state": campaign.state, "images": len(campaign.images),
            "expires_at": campaign.expires_at, **vars(found.crowd.standing(campaign.id))}


def _link_text(link: str, whole: bool) -> str:
    import io

    import segno

    if not whole:
        return f"Open. Send people the server's address followed by {link}"
    drawn = io.StringIO()
    segno.make(link).terminal(drawn, compact=True)
    return f"Open: {link}\n{drawn.getvalue()}"


def _table(listed: list[dict[str, Any]]) -> Any:
    from rich.markup import escape
    from rich.table import Table

    if not listed:
        return "No campaigns yet. Make one: benthoscope crowd create NAME"
    table = Table("Nr", "Campaign", "State", "Images", "Tasks", "Answers", "People", box=None, header_style="bold")
    for row in listed:
        table.add_row(str(row["id"]), escape(row["name"]), row["state"], str(row["images"]), str(row["tasks"]),
                      f"{row['answered']} of {row['wanted']}", str(row["workers"]))
    return table


def _workers_table(rows: list[dict[str, Any]]) -> Any:
    from rich.markup import escape
    from rich.table import Table

    table = Table("Nr", "Nickname", "State", "Answers", "Known pairs", "Quality", "School", box=None,
                  header_style="bold")
    for row in rows:
        quality = "" if row["quality"] is None else f"{row['quality']:.2f}"
        school = "" if row["school"] is None else str(row["school"] + 1)
        table.add_row(str(row["number"]), escape(row["nickname"]), row["state"], str(row["answers"]),
                      f"{row['gold_right']}/{row['gold_asked']}", quality, school)
    return table
