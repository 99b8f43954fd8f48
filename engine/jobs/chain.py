"""Run several jobs one after the other as one job with one progress bar.

A finished step is not repeated: its result is part of the chain's checkpoint. The current step keeps its own checkpoint
in a subfolder, so an interrupted chain resumes inside the step.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benthoscope.engine.jobs.context import JobContext
from benthoscope.engine.jobs.kinds import kind_named
from benthoscope.engine.problems import BenthoscopeError, Problem, fail
from benthoscope.engine.progress import Cancelled, Progress, StepRate, format_duration, seconds_left
from benthoscope.engine.workspace import Workspace

TOTAL = 100.0  # the progress of a chain is in per cent
TYPICAL_SECONDS = 20.0  # a step without a known total fills half of its part of the bar in this time
FIELDS = {"kind": str, "title": str, "parameters": Mapping, "share": int | float}  # of a step in a request
REMEDY = "then retry this job: it resumes at this step"


@dataclass(frozen=True)
class ChainStep:
    """One job of a chain. `share` is its part of the progress bar relative to the other steps. `check` may raise if the
    chain cannot continue with the result."""

    kind: str
    title: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    share: float = 1.0
    check: Callable[[Mapping[str, Any]], None] = lambda result: None


def chain(job: JobContext, workspace: Workspace, *, steps: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Run the steps in order; each is a dict with the fields of ChainStep. Returns the result of the last step with
    {"steps": results of all}."""
    results = run_chain(job, workspace, [parsed_step(step) for step in steps])
    return {**results[-1], "steps": results}


def run_chain(job: JobContext, workspace: Workspace, steps: Sequence[ChainStep]) -> list[dict[str, Any]]:
    """Run the unfinished steps and return the results of all."""
    if not steps:
        raise fail("chain", "there are no steps", "give at least one")
    job.steady = False  # steps progress at different speeds, so one rate for all would mislead
    results: list[dict[str, Any]] = list((job.load_checkpoint() or {}).get("results", []))
    for number in range(len(results), len(steps)):
        context = StepContext(job, steps, number, results)
        results.append(_step_result(context, workspace, steps[number]))
        job.save_checkpoint({"results": results})
        context.clear()
    job.progress(TOTAL, TOTAL, "")
    return results


class StepContext(JobContext):
    """The context of one step. It reports to the chain's progress bar, follows its cancellation, and has its own
    checkpoint folder."""

    def __init__(self, parent: JobContext, steps: Sequence[ChainStep], number: int, results: Sequence[Any]):
        folder = parent.folder / f"step-{number + 1}"
        folder.mkdir(exist_ok=True)
        super().__init__(parent.job, folder)
        self._parent, self._results = parent, results
        total = sum(step.share for step in steps)
        self._began, self._step_share = sum(step.share for step in steps[:number]) / total, steps[number].share / total
        self._started, self._furthest = time.monotonic(), 0.0
        self._step_pace = StepRate()
        self._step_figures = {"steps_done": number, "step_kind": steps[number].kind}
        self.heading = f"Step {number + 1} of {len(steps)}, {steps[number].title}"
        self.on_step(Progress(0, None, ""))

    def on_step(self, progress: Progress) -> None:
        progress = self._with_figures(progress)
        self._step_pace.note(progress.done)
        share = self._began + self._step_share * self._share(progress)
        self._parent.on_step(
            Progress(TOTAL * share, TOTAL, self._message(progress), {**progress.figures, **self._step_figures})
        )

    def check(self) -> None:
        self._parent.check()

    def cancel(self) -> None:
        self._parent.cancel()

    @property
    def interrupted(self) -> bool:
        return self._parent.interrupted

    def interrupt(self) -> None:
        self._parent.interrupt()

    def log(self, line: str) -> None:
        self._parent.log(line)

    def save_checkpoint(self, arrays: Mapping[str, Any]) -> None:
        """Save the step's state, then the chain's, so that a chain that makes progress does not count as failing after
        many restarts."""
        super().save_checkpoint(arrays)
        self._parent.save_checkpoint({"results": list(self._results)})

    def _share(self, progress: Progress) -> float:
        """Return the completed fraction of the step, 0 to 1. Without a total, it approaches 1 without reaching it. If
        stages count from zero again, the bar does not move back."""
        share = 1 - 0.5 ** ((time.monotonic() - self._started) / TYPICAL_SECONDS)
        if progress.total:
            share = min(progress.done / progress.total, 1.0)
        self._furthest = max(self._furthest, share)
        return self._furthest

    def _message(self, progress: Progress) -> str:
        remaining_time = format_duration(seconds_left(progress.done, progress.total, self._step_pace.rate))
        details = ", ".join(
            text for text in (progress.message, f"{remaining_time} left" if remaining_time else "") if text
        )
        return f"{self.heading}: {details}" if details else self.heading


def _step_result(context: StepContext, workspace: Workspace, step: ChainStep) -> dict[str, Any]:
    """Run the step's function. Errors name the step and say how to continue."""
    context.log(context.heading)
    try:
        result = dict(kind_named(step.kind).function()(context, workspace, **step.parameters) or {})
        step.check(result)
        return result
    except Cancelled:
        raise
    except BenthoscopeError as error:
        where, description, remedy = error.problem.where, error.problem.what, error.problem.remedy
        raise BenthoscopeError(
            Problem(f"{context.heading}: {where}", description, ", ".join(filter(None, (remedy, REMEDY))))
        ) from error
    except Exception as error:
        description = (
            "not enough memory" if isinstance(error, MemoryError) else f"{type(error).__name__}: {_line(error)}"
        )
        raise BenthoscopeError(Problem(context.heading, description, f"see the job's log, {REMEDY}")) from error


def _line(error: Exception) -> str:
    return (str(error).strip().splitlines() or ["no message"])[0]


def parsed_step(step: Mapping[str, Any]) -> ChainStep:
    """Return the step of a dict with the fields of ChainStep. Raises BadInput for other fields or values of other
    types."""
    unknown_keys = set(step) - FIELDS.keys()
    if unknown_keys or "kind" not in step:
        raise fail(
            "chain",
            f"a step with {', '.join(sorted(step)) or 'no keys'}",
            "each step needs a kind and may have title, parameters and share",
        )
    for name, value in step.items():
        if not isinstance(value, FIELDS[name]) or isinstance(value, bool):
            raise fail(
                "chain",
                f"the {name} of a step has a wrong type",
                "use texts for kind and title, an object for parameters and a number for share",
            )
    if not step.get("share", 1) > 0:
        raise fail("chain", f"the share of a step must be greater than 0 (got {step['share']})")
    return ChainStep(**{"title": kind_named(step["kind"]).title, **step})
