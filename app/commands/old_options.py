"""Old spellings of options: commands accept them, but their help shows only the new ones."""

from collections.abc import Mapping, Sequence
from typing import Any

from typer.core import TyperCommand


def accepting_old_options(
    new_spellings: Mapping[str, str], base: type[TyperCommand] = TyperCommand
) -> type[TyperCommand]:
    """A subclass of `base` that reads each old option in `new_spellings` as the new one."""

    def parse_args(self: TyperCommand, ctx: Any, args: list[str]) -> list[str]:
        return base.parse_args(self, ctx, with_new_spellings(args, new_spellings))

    return type("CommandWithOldOptions", (base,), {"parse_args": parse_args, "old_options": dict(new_spellings)})


def with_new_spellings(words: Sequence[str], new_spellings: Mapping[str, str]) -> list[str]:
    """The words of a command line, with new spellings for old options up to `--`, which ends the options."""
    end = words.index("--") if "--" in words else len(words)
    return [_new_spelling(word, new_spellings) for word in words[:end]] + list(words[end:])


def _new_spelling(word: str, new_spellings: Mapping[str, str]) -> str:
    option, equals, value = word.partition("=")
    return f"{new_spellings.get(option, option)}{equals}{value}"
