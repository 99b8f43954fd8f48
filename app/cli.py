"""The command line of `benthoscope`. Commands import heavy libraries when they run, so that help appears at once."""

import sys
from contextlib import suppress
from typing import Annotated, Any, NoReturn

import typer

from benthoscope.app.commands import (
    backup,
    demo,
    doctor,
    features,
    import_images,
    jobs,
    plot,
    sample,
    serve,
    watch,
    workspaces,
)
from benthoscope.app.commands.clusters import cluster, discover, predict, runs, segment, topics
from benthoscope.app.commands.help_text import flow_help
from benthoscope.app.commands.labelling import cover, crowd, label_files, labels, learn, memory
from benthoscope.app.commands.old_options import accepting_old_options
from benthoscope.app.commands.terminal import (
    ERROR,
    in_debug,
    is_output_error,
    print_problem,
    silence_output,
    wants_json,
)
from benthoscope.engine.problems import BenthoscopeError, Problem

app = typer.Typer(
    name="benthoscope",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

app.command()(serve.serve)
app.command(cls=accepting_old_options({"--afresh": "--reset"}))(demo.demo)
app.command()(import_images.start)
app.command()(workspaces.init)
app.command("import")(import_images.import_images)
app.command(cls=accepting_old_options({"--force": "--overwrite"}))(sample.sample)
app.command()(workspaces.status)
app.command()(workspaces.problems)
app.command()(workspaces.relink)
app.command()(backup.backup)
app.command()(backup.restore)
app.command()(backup.check)
app.command(
    cls=accepting_old_options(
        {"--kind": "--descriptor", "--like": "--reuse-from", "--again": "--overwrite", "--dimension": "--dimensions"},
        features.DescriptorCommand,
    )
)(features.features)
app.command(cls=cluster.CatalogueCommand)(cluster.cluster)
app.command()(segment.segment)
app.command()(discover.discover)
app.command()(watch.watch)
app.command("simulate-dive")(watch.simulate_dive)
app.add_typer(crowd.commands, name="crowd")
app.command()(label_files.export)
app.command("import-labels")(label_files.import_labels)
app.add_typer(runs.commands, name="runs")
app.command()(topics.topics)
app.add_typer(labels.commands, name="labels")
app.command()(learn.learn)
app.add_typer(memory.commands, name="memory")
app.command(cls=accepting_old_options({"--propose": "--random", "--together": "--simultaneous"}))(cover.cover)
app.command(cls=predict.PredictCommand)(predict.predict)
app.command()(plot.plot)
app.add_typer(jobs.commands, name="jobs")
app.command()(doctor.doctor)
app.command()(doctor.version)


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=doctor.show_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Browse, cluster and label more seafloor or album images than you could ever label by hand."""


flow_help(app)


# Click's own class, or that of the copy that newer versions of Typer bring
USAGE_ERROR = next(
    kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException" and issubclass(kind, Exception)
)


def main() -> None:
    """Run a command. An error in the input prints one line and ends with code 2; one in our code keeps its traceback.

    With --json the line is JSON, also if the arguments themselves are wrong.
    """
    try:
        code = app(standalone_mode=False, prog_name="benthoscope")
    except BenthoscopeError as error:
        if in_debug():
            raise
        _end_with(error.problem)
    except USAGE_ERROR as error:
        _end_with_usage(error)
    except typer.Abort:
        _end_with(Problem("benthoscope", "was interrupted"))
    except OSError as error:
        if in_debug() or not is_output_error(error):
            raise
        silence_output()
        _end_with(
            Problem("standard output", "cannot be written, the device may be full", "write to another device"),
            as_json=False,
        )
    sys.exit(code if isinstance(code, int) else 0)


def _end_with(problem: Problem, *, as_json: bool | None = None) -> NoReturn:
    with suppress(OSError):  # if this cannot be written either, only the exit code is left
        print_problem(problem, wants_json() if as_json is None else as_json)
    sys.exit(ERROR)


def _end_with_usage(error: Any) -> NoReturn:
    """Print a mistake in the arguments that Typer detected; without --json in Typer's own format."""
    if not wants_json():
        error.show()
        sys.exit(error.exit_code)
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "benthoscope"
    _end_with(Problem(command, error.format_message(), f"see `{command} --help`"))
