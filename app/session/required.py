"""Parameters that always have a value, with the type of that value for type checkers."""

from typing import TypeVar, cast

import param

T = TypeVar("T")


def required(class_: type[T], doc: str = "") -> T:
    """A constant parameter that must be given to the constructor. `param` itself declares such parameters as optional,
    so every use of them would need a check for None."""
    return cast(T, param.ClassSelector(class_=class_, constant=True, doc=doc))
