"""Parts a descriptor is made of, as words and settings that JSON holds, and back."""

from dataclasses import asdict
from typing import Any


def spelled(choice: Any, kinds: dict[str, type]) -> dict[str, Any]:
    """A dataclass by its word among `kinds` and its settings."""
    word = next(word for word, kind in kinds.items() if isinstance(choice, kind))
    return {"kind": word, **asdict(choice)}


def named(told: dict[str, Any], kinds: dict[str, type]) -> Any:
    """The part that `spelled` wrote."""
    settings = dict(told)
    return kinds[settings.pop("kind")](**settings)
