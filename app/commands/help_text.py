"""The help of commands as flowing paragraphs, so that it fills the terminal at any width."""

import inspect
from collections.abc import Callable
from typing import Any

import typer


def flow_help(app: typer.Typer) -> None:
    """Set the help of all commands and groups of `app` to their docstrings without the line breaks of the source.

    Typer prints the line breaks inside a paragraph as they are.
    """
    for command in app.registered_commands:
        command.help = _help_of(command.help, command.callback)
    for group in app.registered_groups:
        if group.typer_instance is not None:
            flow_help(group.typer_instance)
    if app.registered_callback is not None:
        app.registered_callback.help = _help_of(app.registered_callback.help, app.registered_callback.callback)


def flowing(text: str) -> str:
    """`text` with each paragraph on one line. An indented paragraph is an example and keeps its lines."""
    paragraphs = inspect.cleandoc(text).split("\n\n")
    return "\n\n".join(each if each.startswith(" ") else " ".join(each.split()) for each in paragraphs)


def _help_of(explicit: Any, function: Callable[..., Any] | None) -> str:
    """The explicit help, else the docstring of the function."""
    return flowing(explicit if isinstance(explicit, str) else inspect.getdoc(function) or "")
