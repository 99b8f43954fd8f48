"""The query of the browser's address, synchronised with view models, so that every view has a link."""

import weakref
from collections.abc import Mapping
from typing import Any

import param

SEPARATOR = ","  # of lists


class Address(param.Parameterized):
    """`query` is the query of the address. Values equal to a parameter's default are left out."""

    query = param.Dict(default={}, doc="Names and texts, as in ?run=3&cluster=12.")
    _writing = False

    def bind(self, model: param.Parameterized, *names: str, **renamed: str) -> None:
        """Synchronise these parameters of the model with the address. `cluster="number"` gives the parameter `number`
        the name `cluster` in the address. Values in the address are applied immediately."""
        for word, name in {**{name: name for name in names}, **renamed}.items():
            self._bind_one(model, word, name)

    def _bind_one(self, model: param.Parameterized, word: str, name: str) -> None:
        default = getattr(model, name)
        model_reference = weakref.ref(model)

        def read(*_: Any) -> None:
            known = model_reference()
            if known is not None and not self._writing:
                text = self.query.get(word)
                value = default if text is None else parsed(known.param[name], text, default)
                if encode_value(value) != encode_value(getattr(known, name)):
                    _set_or_reset(known, name, value, default)

        def write(*_: Any) -> None:
            value = getattr(model, name)
            text = None if encode_value(value) == encode_value(default) else encode_value(value)
            if self.query.get(word) != text:
                self._writing = True  # of several values set together, the others are not in the address yet
                try:
                    self.query = with_word(self.query, word, text)
                finally:
                    self._writing = False

        self.param.watch(read, "query")
        model.param.watch(write, name)
        read()


def _set_or_reset(model: param.Parameterized, name: str, value: Any, default: Any) -> None:
    """Values that the parameter refuses, such as a page below 0, become the default."""
    try:
        model.param.update(**{name: value})
    except (ValueError, TypeError):
        model.param.update(**{name: default})


def with_word(query: Mapping[str, str], word: str, text: str | None) -> dict[str, str]:
    """The query with this word set, or without it if `text` is None."""
    remaining = {name: value for name, value in query.items() if name != word}
    return remaining if text is None else {**remaining, word: text}


def encode_value(value: Any) -> str:
    """Encode a value for the address."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, list | tuple):
        return SEPARATOR.join(encode_value(item) for item in value)
    return str(value)


def parsed(parameter: param.Parameter, text: str, default: Any) -> Any:
    """Decode a text of the address for a parameter; the default if it is not valid."""
    try:
        value = _parsed(parameter, text)
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
        convert = parameter.item_type if isinstance(parameter.item_type, type) else str
        return [convert(item) for item in text.split(SEPARATOR) if item]
    if isinstance(parameter, param.Selector):
        return next((value for value in parameter.objects if encode_value(value) == text), text)
    return text
