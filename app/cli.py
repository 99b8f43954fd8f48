"""`benthoscope`: the commands meet here. Nothing heavy is imported before a command needs it."""

import sys

import typer

from app.commands import (
    cluster,
    crowd,
    export,
    features,
    import_images,
    jobs,
    labels,
    labels_in,
    learn,
    machine,
    problems,
    runs,
    sample,
    serve,
    workspaces,
)
from app.commands.terminal import ERROR, in_debug, told, wants_json
from engine.problems import BenthoscopeError

app = typer.Typer(
    name="benthoscope", no_args_is_help=True, rich_markup_mode="rich", pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Browse, cluster and name far more seafloor or album images than you have hours for.",
)

app.command()(serve.serve)
app.command()(serve.demo)
app.command()(workspaces.init)
app.command("import")(import_images.import_images)
app.command()(sample.sample)
app.command()(workspaces.status)
app.command()(problems.problems)
app.command()(workspaces.relink)
app.command()(features.features)
app.command()(cluster.cluster)
app.add_typer(crowd.commands, name="crowd")
app.command()(export.export)
app.command("import-labels")(labels_in.import_labels)
app.add_typer(runs.commands, name="runs")
app.add_typer(labels.commands, name="labels")
app.command()(learn.learn)
app.command()(learn.cover)
app.add_typer(jobs.commands, name="jobs")
app.command()(machine.doctor)
app.command()(machine.version)


def main() -> None:
    """Errors in the input end in one line and exit code 2; mistakes in our code keep their traceback."""
    try:
        app()
    except BenthoscopeError as error:
        if in_debug():
            raise
        told(error.problem, wants_json())
        sys.exit(ERROR)
