"""The form of a job: its parameters with explanations and defaults, its cost, and the dialog that shows it."""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import param

from benthoscope.app.components.base import CommandComponent
from benthoscope.app.session.commands import CommandTable
from benthoscope.app.session.required import required
from benthoscope.app.session.session import Session
from benthoscope.engine.parameters import ParameterHelp
from benthoscope.engine.problems import BenthoscopeError, fail

Values = Mapping[str, Any]


@dataclass(frozen=True)
class FormField:
    """One parameter. `kind` is choice, one (a choice with descriptions), several, number, integer, text or switch.
    Fields with `more` are shown on request."""

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
    look: str = ""  # address of a preview image; the form's collection is added as a parameter


def parameter_field(
    about: ParameterHelp, name: str, label: str, kind: str, default: Any = None, *, remark: str = "", **look: Any
) -> FormField:
    """The field of a parameter with its help and bounds from a catalogue. `remark` is added to the help; `look` is the
    step, and whether the field is under More."""
    help_text = f"{about.text} {remark}".strip()
    return FormField(name, label, help_text, kind, default, minimum=about.minimum, maximum=about.maximum, **look)


@dataclass(frozen=True)
class Recipe:
    """A form: its fields, a line with its cost, and the jobs (kind, parameters, title) it queues. A form with `run_now`
    queues nothing: the function runs immediately and returns the message."""

    title: str
    intro: str
    action: str
    fields: tuple[FormField, ...]
    cost: Callable[[Values], str]
    jobs: Callable[[Values], Sequence[tuple[str, dict[str, Any], str]]] = lambda values: ()
    run_now: Callable[[Values], str] | None = None


def _wrong_field(recipe: Recipe, error: BenthoscopeError) -> str:
    """The name of the field that the error is about; "" if it is about none."""
    return next((field.name for field in recipe.fields if field.label == error.problem.where), "")


class JobForm(param.Parameterized):
    """View model of a form. `shown` is the content of the dialog, empty while it is closed."""

    session = required(Session)
    shown = param.Dict(default={})
    queued = param.List(default=[], doc="Ids of the jobs that the form queued last.")

    def __init__(self, session: Session):
        super().__init__(session=session)
        self._recipe: Recipe | None = None
        self._one_act = threading.RLock()  # callbacks of one tab may run in parallel

    def open(self, recipe: Recipe) -> None:
        self._recipe = recipe
        values = {field.name: field.default for field in recipe.fields}
        self.shown = {
            "title": recipe.title,
            "intro": recipe.intro,
            "action": recipe.action,
            "error": "",
            "wrong": "",
            "fields": [asdict(field) for field in recipe.fields],
            "values": values,
            "cost": recipe.cost(values),
        }

    def close(self) -> None:
        with self._one_act:
            self.shown = {}

    def change(self, values: Values) -> None:
        """Show the cost with these values, or what is wrong with one of them."""
        with self._one_act:
            self._checked(values)

    def start(self, values: Values) -> bool:
        """Queue the jobs and close the form; returns whether it did. A second click finds the form closed."""
        with self._one_act:
            recipe, checked = self._recipe, self._checked(values)
            return recipe is not None and checked is not None and self._done(recipe, checked)

    def _done(self, recipe: Recipe, checked: dict[str, Any]) -> bool:
        with self.session.attempt():
            line = recipe.run_now(checked) if recipe.run_now else self._queued(recipe.jobs(checked))
            self.close()
            self.session.notify(line, kind="success" if recipe.run_now else "info")
            return True
        return False

    def _checked(self, values: Values) -> dict[str, Any] | None:
        """The converted values; None if one is wrong or the form is closed."""
        recipe = self._recipe
        if recipe is None or not self.shown:
            return None
        try:
            checked = {field.name: checked_value(field, values.get(field.name)) for field in recipe.fields}
            cost = recipe.cost(checked)
        except BenthoscopeError as error:
            wrong = _wrong_field(recipe, error)
            self.shown = {**self.shown, "values": dict(values), "error": str(error), "wrong": wrong}
            return None
        self.shown = {**self.shown, "values": checked, "error": "", "wrong": "", "cost": cost}
        return checked

    def _queued(self, jobs: Sequence[tuple[str, dict[str, Any], str]]) -> str:
        for at, (kind, parameters, _) in enumerate(jobs):
            self.session.app.queue.check(kind, parameters, after=[earlier for earlier, *_ in jobs[:at]])
        queue = self.session.app.queue
        self.queued = [queue.add(kind, parameters, title=title).id for kind, parameters, title in jobs]
        self.session.app.jobs.refresh()
        others_text = f" and {len(jobs) - 1} more" if len(jobs) > 1 else ""
        return f"{jobs[0][2]}{others_text}: started in the background"


def checked_value(field: FormField, value: Any) -> Any:
    """Convert a value from the browser to the type of the field. Raises BadInput with the field's label."""
    if field.kind == "switch":
        return bool(value)
    if field.kind == "several":
        chosen = [word for word in value or [] if word in dict(field.choices)]
        if not chosen:
            raise fail(field.label, "nothing is chosen", "choose at least one")
        return chosen
    if field.kind in ("choice", "one") and value not in dict(field.choices):
        named = ", ".join(words.partition(": ")[0] for _, words in field.choices)
        raise fail(field.label, f"there is no choice '{value}'", f"choose one of {named}")
    return _number(field, value) if field.kind in ("number", "integer") else value


def _number(field: FormField, value: Any) -> float | int | None:
    if value in (None, ""):
        if field.default is None:
            return None
        raise fail(field.label, "is empty", "enter a number")
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise fail(field.label, f"'{value}' is not a number", "enter a number") from None
    low, high = field.minimum, field.maximum
    if number != number or (low is not None and number < low) or (high is not None and number > high):
        span = f"from {low:g} to {high:g}" if high is not None else f"of at least {low:g}"
        raise fail(field.label, f"{value} is out of range", f"enter a number {span}")
    if field.kind == "integer" and not number.is_integer():
        raise fail(field.label, f"{value} is not a whole number", "enter a number without a fraction")
    return int(number) if field.kind == "integer" else number


class FormDialog(CommandComponent):
    """The dialog of a form, open while `shown` is not empty: title, intro, fields, values, cost, error, action."""

    _module = "shared/form_dialog"
    _styles = ("parts", "dialog")

    shown = param.Dict(default={})


FORM_COMMANDS = CommandTable({"change": JobForm.change, "start": JobForm.start, "close": JobForm.close})


def form_dialog(form: JobForm) -> FormDialog:
    return FormDialog(form.session.handler(FORM_COMMANDS, form), shown=form.param.shown)
