"""What the browser's address says after the `?`, kept in step with view models, so that every view has a link."""

import weakref
from collections.abc import Mapping
from typing import Any

import param

SEPARATOR = ","  # of lists


class Address(param.Parameterized):
    """`query` is what the address shows. Values equal to a parameter's default are left out of it."""

    query = param.Dict(default={}, doc="Names and texts, as in ?run=3&cluster=12.")
    _writing = False

    def bind(self, model: param.Parameterized, *names: str, **renamed: str) -> None:
        """Keeps these parameters of the model and the address in step; `cluster="number"` gives the parameter `number`
        the name `cluster` in the address. What the address says already is taken over at once."""
        for word, name in {**{name: name for name in names}, **renamed}.items():
            self._bind_one(model, word, name)

    def _bind_one(self, model: param.Parameterized, word: str, name: str) -> None:
        default = getattr(model, name)
        held = weakref.ref(model)

        def read(*_: Any) -> None:
            known = held()
            if known is not None and not self._writing:
                text = self.query.get(word)
                value = default if text is None else parsed(known.param[name], text, default)
                if told(value) != told(getattr(known, name)):
                    known.param.update(**{name: value})

        def write(*_: Any) -> None:
            value = getattr(model, name)
            text = None if told(value) == told(default) else told(value)
            if self.query.get(word) != text:
                self._writing = True  # of several values set at once the others are not in the address yet
                try:
                    self.query = with_word(self.query, word, text)
                finally:
                    self._writing = False

        self.param.watch(read, "query")
        model.param.watch(write, name)
        read()


def with_word(query: Mapping[str, str], word: str, text: str | None) -> dict[str, str]:
    """The query with this word set, or taken out."""
    rest = {name: value for name, value in query.items() if name != word}
    return rest if text is None else {**rest, word: text}


def told(value: Any) -> str:
    """A value as it stands in the address."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, list | tuple):
        return SEPARATOR.join(told(part) for part in value)
    return str(value)


def parsed(parameter: param.Parameter, text: str, default: Any) -> Any:
    """The value a text in the address means for a parameter; the default where it means none."""
    try:
        value = _parsed(parameter, text)
        parameter._validate(value)
    except (ValueError, TypeError):
        return default
    return value


def _parsed(parameter: param.Parameter, text: str) -> Any:
    if text == "" and parameter.allow_None:
        return None
    if isinstance(parameter, param.Boolean):
        return text == "1"
    if isinstance(parameter, param.Integer):
        return int(text)
    if isinstance(parameter, param.Number):
        return float(text)
    if isinstance(parameter, param.List):
        return [(parameter.item_type or str)(part) for part in text.split(SEPARATOR) if part]
    if isinstance(parameter, param.Selector):
        return next((value for value in parameter.objects if told(value) == text), text)
    return text
