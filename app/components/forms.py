"""A job before it starts: its parameters with their meaning, sensible defaults, and what it will cost."""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import param

from app.state.session import Session
from engine.problems import BenthoscopeError, fail

Values = Mapping[str, Any]


@dataclass(frozen=True)
class Field:
    """One parameter. `kind`: choice, one (a choice told at length), several, number, integer, text or switch; `more`
    ones are shown on request."""

    name: str
    label: str
    help: str
    kind: str
    default: Any
    choices: tuple[tuple[str, str], ...] = ()  # (value, words)
    minimum: float | None = None
    maximum: float | None = None
    step: float | None = None
    more: bool = False
    look: str = ""  # the address of a picture of what it would do; it is told the form's collection


@dataclass(frozen=True)
class Recipe:
    """A form: what is asked, what it costs (one line), and the jobs (kind, parameters, title) it queues. An `act` is
    done at once instead; it gives the line that tells so."""

    title: str
    intro: str
    action: str
    fields: tuple[Field, ...]
    cost: Callable[[Values], str]
    jobs: Callable[[Values], Sequence[tuple[str, dict[str, Any], str]]] = lambda values: ()
    act: Callable[[Values], str] | None = None


class JobForm(param.Parameterized):
    """`shown` is what the dialog draws; empty while it is closed."""

    session = param.ClassSelector(class_=Session, constant=True)
    shown = param.Dict(default={})

    def __init__(self, session: Session):
        super().__init__(session=session)
        self._recipe: Recipe | None = None
        self._one_act = threading.RLock()  # callbacks of one tab may run side by side

    def open(self, recipe: Recipe) -> None:
        self._recipe = recipe
        values = {field.name: field.default for field in recipe.fields}
        self.shown = {"title": recipe.title, "intro": recipe.intro, "action": recipe.action, "error": "",
                      "fields": [asdict(field) for field in recipe.fields], "values": values,
                      "cost": recipe.cost(values)}

    def close(self) -> None:
        with self._one_act:
            self.shown = {}

    def change(self, values: Values) -> None:
        """Shows what the job would cost now, or what is wrong with a value."""
        with self._one_act:
            self._checked(values)

    def start(self, values: Values) -> bool:
        """Queues the jobs and closes; whether it could. A second click finds the form closed."""
        with self._one_act:
            checked = self._checked(values)
            return checked is not None and self._done(self._recipe, checked)

    def _done(self, recipe: Recipe, checked: dict[str, Any]) -> bool:
        with self.session.attempt():
            line = recipe.act(checked) if recipe.act else self._queued(recipe.jobs(checked))
            self.close()
            self.session.tell(line, kind="success" if recipe.act else "info")
            return True
        return False

    def _checked(self, values: Values) -> dict[str, Any] | None:
        """The values as the job takes them; None where one is wrong, or the form is closed."""
        recipe = self._recipe
        if recipe is None or not self.shown:
            return None
        try:
            checked = {field.name: checked_value(field, values.get(field.name)) for field in recipe.fields}
            cost = recipe.cost(checked)
        except BenthoscopeError as error:
            self.shown = {**self.shown, "values": dict(values), "error": str(error)}
            return None
        self.shown = {**self.shown, "values": checked, "error": "", "cost": cost}
        return checked

    def _queued(self, jobs: Sequence[tuple[str, dict[str, Any], str]]) -> str:
        for kind, parameters, title in jobs:
            self.session.app.queue.add(kind, parameters, title=title)
        self.session.app.jobs.look()
        more = f" and {len(jobs) - 1} more" if len(jobs) > 1 else ""
        return f"{jobs[0][2]}{more}: started in the background"


def checked_value(field: Field, value: Any) -> Any:
    """What a browser sent, as the value the job takes; BadInput names the field."""
    if field.kind == "switch":
        return bool(value)
    if field.kind == "several":
        chosen = [word for word in value or [] if word in dict(field.choices)]
        if not chosen:
            raise fail(field.label, "nothing chosen", "choose at least one")
        return chosen
    if field.kind in ("choice", "one") and value not in dict(field.choices):
        named = ", ".join(words.partition(": ")[0] for _, words in field.choices)
        raise fail(field.label, f"no '{value}'", f"choose one of {named}")
    return _number(field, value) if field.kind in ("number", "integer") else value


def _number(field: Field, value: Any) -> float | int | None:
    if value in (None, ""):
        if field.default is None:
            return None
        raise fail(field.label, "is empty", "give a number")
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise fail(field.label, f"'{value}' is no number", "give a number") from None
    low, high = field.minimum, field.maximum
    if number != number or (low is not None and number < low) or (high is not None and number > high):
        span = f"from {low:g} to {high:g}" if high is not None else f"of at least {low:g}"
        raise fail(field.label, f"{value} is out of range", f"give a number {span}")
    return int(number) if field.kind == "integer" else number
