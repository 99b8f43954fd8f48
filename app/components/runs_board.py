"""Runs as they are drawn: list, live curves, one run, a comparison, sweeps."""

import param

from app.components.dialogs import ActingComponent


class RunsBoard(ActingComponent):
    _module = "runs"
    _styles = ("parts", "runs")

    content = param.Dict(default={}, doc="What app.state.runs says.")
