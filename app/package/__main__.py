"""The program `benthoscope`, also `python -m benthoscope`."""

import atexit
import gc
import json
import os
import sys

from benthoscope.engine.matrix_kernels import set_kernels
from benthoscope.engine.optional_dependencies import EXTRAS, missing_dependency
from benthoscope.engine.problems import Problem

NEW_OBJECTS = 10_000  # between two searches for garbage; with the default of 700 there are many while modules load
USAGE_ERROR = 2  # exit code, as for every mistake in the input
COMPUTING = {
    "cluster",
    "demo",
    "doctor",
    "features",
    "learn",
    "predict",
    "serve",
    "start",
    "topics",
}  # these may take 1 s


def main() -> None:
    """Run a command. Where a library of an extra is missing, print how to install it, without a traceback."""
    gc.set_threshold(NEW_OBJECTS, *gc.get_threshold()[1:])
    atexit.register(gc.freeze)  # Python would search all objects for garbage at the end: a fifth of a short command
    set_kernels(os.environ, measure=any(command in COMPUTING for command in sys.argv[1:2]))
    try:
        from benthoscope.app import cli

        cli.main()
    except ModuleNotFoundError as error:
        module = (error.name or "").partition(".")[0]
        if module not in EXTRAS:
            raise
        _print_error(missing_dependency(module).problem)
        sys.exit(USAGE_ERROR)


def _print_error(problem: Problem) -> None:
    """As the commands print it; they cannot be imported here."""
    if "--json" in sys.argv:
        print(json.dumps({"error": vars(problem)}))
    else:
        print(f"Error: {problem}", file=sys.stderr)


if __name__ == "__main__":
    main()
