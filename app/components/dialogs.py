"""Dialogs: a form for a job, and the adding of images. Both draw what their view model shows and report acts."""

from collections.abc import Callable, Mapping
from typing import Any

import param

from app.components.module import ModuleComponent
from app.state.import_dialog import ImportDialog
from app.state.job_form import JobForm

Acts = Mapping[str, Callable[..., Any]]


class ActingComponent(ModuleComponent):
    """A component whose module reports acts as messages {act, ...}; each leads to the function of that name."""

    __abstract = True

    def __init__(self, acts: Acts | None = None, **values: Any):
        super().__init__(**values)
        self._acts = dict(acts or {})

    def _handle_msg(self, told: dict[str, Any]) -> None:
        rest = dict(told)
        act = self._acts.get(rest.pop("act", ""))
        if act is not None:
            act(**rest)


class FormDialog(ActingComponent):
    """Open while `shown` says something: title, intro, fields, values, cost, error, action."""

    _module = "form_dialog"
    _styles = ("parts", "dialog")

    shown = param.Dict(default={})


class FolderDialog(ActingComponent):
    """Open while `shown` says something: folder, then preview."""

    _module = "import_dialog"
    _styles = ("parts", "dialog")

    shown = param.Dict(default={})


def form_dialog(form: JobForm) -> FormDialog:
    acts = {"change": form.change, "start": form.start, "close": form.close}
    return FormDialog(acts, shown=form.param.shown)


def import_dialog(model: ImportDialog) -> FolderDialog:
    names = ("browse", "look", "back", "mean", "level", "call", "start", "close")
    acts = {name: getattr(model, name) for name in names}
    return FolderDialog(acts, shown=model.param.shown)
