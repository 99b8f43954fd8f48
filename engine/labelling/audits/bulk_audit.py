"""Audits of bulk labels: images drawn from a stored frame, answered page by page, and withdrawn without losing the
draws."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benthoscope.engine.labelling.audits.sample import (
    CONFIDENCE,
    Audit,
    audit_event,
    audit_of,
    more_to_check,
    sequential_audit,
)
from benthoscope.engine.labelling.audits.sequential_bound import pooled_upper
from benthoscope.engine.labelling.audits.viewing import describe, typical_time
from benthoscope.engine.problems import fail
from benthoscope.engine.workspace import Workspace
from benthoscope.engine.workspace.labels.events import Event, by_looking, standing
from benthoscope.engine.workspace.labels.sampling import Draw, DrawAnswer, Parent, SamplingFrame

POOLED = Parent("labels")
PAGE_LIMIT = 120  # images on one page of an audit; more do not fit on a screen


@dataclass(frozen=True)
class PooledStatement:
    """An upper bound for the number of wrong bulk labels.

    `audit` is the newest audit of all events together, or None if they were audited separately; the bound then combines
    these. `labels` are effective now. Of the `of` labels given before any correction, at most `upper` are wrong at 95
    %.
    """

    events: tuple[int, ...]
    labels: int
    of: int
    upper: int
    checked: int
    wrong: int
    audit: Audit | None
    text: str

    def to_dict(self) -> dict[str, Any]:
        """Return a dict for reports. `at_most` is the largest fraction of wrong labels at 95 %, 1.0 if nothing was
        checked."""
        seconds = self.audit.seconds if self.audit else None
        return {
            "labels": self.labels,
            "acts": len(self.events),
            "checked": self.checked,
            "wrong": self.wrong,
            "at_most": self.upper / self.of,
            "confidence": CONFIDENCE,
            "seconds": seconds,
            "told": self.text,
        }


def bulk_acts(workspace: Workspace) -> dict[int, np.ndarray]:
    """Return {event: images that still have its label} of events that labelled many images without an
    individual look."""
    images, numbers = workspace.labels.current()
    if not len(images):
        return {}
    events = {
        event.number for event in standing(workspace.labels.events()) if event.kind == "label" and not by_looking(event)
    }
    order = np.argsort(numbers, kind="stable")
    unique_numbers, starts = np.unique(numbers[order], return_index=True)
    image_groups = np.split(images[order], starts[1:])
    return {
        number: image_group
        for number, image_group in zip(unique_numbers.tolist(), image_groups, strict=True)
        if number in events
    }


def audit_frame(workspace: Workspace, event_numbers: Sequence[int], person_id: int) -> SamplingFrame:
    """Return the sampling frame of one or several events: the existing one, which keeps its draws, or a new one."""
    if not event_numbers:
        raise fail("audit", "there are no bulk labels to check", "label a cluster first")
    _check_acts(workspace, event_numbers)
    if len(event_numbers) == 1:
        parent, images = Parent("event", int(event_numbers[0])), _event(workspace, event_numbers[0]).images
        known = workspace.sampling.latest_frame("audit", parent)
    else:
        parent, images = POOLED, np.concatenate([_event(workspace, number).images for number in event_numbers])
        known = next(
            (
                frame
                for frame in reversed(workspace.sampling.frames("audit", POOLED))
                if frame.rule.get("acts") == sorted(map(int, event_numbers))
            ),
            None,
        )
    return known or workspace.sampling.open_frame(
        "audit", parent, np.unique(images), person_id, rule={"acts": sorted(map(int, event_numbers))}
    )


def checked_draws(workspace: Workspace, frame: SamplingFrame) -> list[Draw]:
    """Return the answered draws of a frame, in order."""
    return [draw for draw in workspace.sampling.draws(frame_id=frame.id) if not draw.is_open]


def unfinished_checks(workspace: Workspace) -> list[tuple[list[int], int]]:
    """Return (events, number of unanswered images) of each audit that was started but not finished. Cover needs these
    answers."""
    standing_acts = {event.number for event in standing(workspace.labels.events())}
    unfinished = []
    for frame in workspace.sampling.frames("audit"):
        waiting = len(workspace.sampling.open_draws("audit", frame_id=frame.id))
        event_numbers = [int(event_number) for event_number in frame.rule.get("acts", ())]
        if waiting and event_numbers and standing_acts.issuperset(event_numbers):
            unfinished.append((event_numbers, waiting))
    return unfinished


def audit_so_far(frame: SamplingFrame, draws: Sequence[Draw]) -> Audit:
    """Return the bound from the answered draws of a frame."""
    known = _all_known([draw.answers[0].seconds for draw in draws])
    return sequential_audit(len(draws), sum(is_wrong(draw) for draw in draws), frame.size, known)


def _all_known(seconds: Sequence[float | None]) -> list[float] | None:
    """Return the times, or None if one of them is missing."""
    known = [value for value in seconds if value is not None]
    return known if len(known) == len(seconds) else None


def is_wrong(draw: Draw) -> bool:
    """Return whether an audited label was called wrong in the audit, or later by somebody who looked at the image."""
    verdict = draw.answers[0].term_id
    return verdict is None or draw.term_id != verdict


def next_page(workspace: Workspace, frame: SamplingFrame, target: float) -> list[Draw]:
    """Return the images to check next: as many as needed to reach the target if all are correct. Open draws come
    first."""
    count = more_to_check(audit_so_far(frame, checked_draws(workspace, frame)), target)
    return workspace.sampling.draw(frame, min(max(count, 1), PAGE_LIMIT))


def store_page(
    workspace: Workspace,
    frame: SamplingFrame,
    person_id: int,
    page: Sequence[Draw],
    wrong: Collection[int],
    seconds: Sequence[float],
    target: float,
) -> Audit:
    """Answer a page of draws and store the audit so far. Wrong labels are removed and can be given again. Raises if
    somebody else answered the page in the meantime, because its images would count twice."""
    if not all(draw.is_open for draw in workspace.sampling.get_draws([draw.id for draw in page])):
        raise fail("audit", "somebody else has just checked some of these images", "close this check and open it again")
    before = checked_draws(workspace, frame)
    ids = np.array([draw.image_id for draw in page], np.int64)
    mistaken = np.sort(ids[np.isin(ids, list(wrong))])
    terms = _terms_of(workspace, frame, ids)
    spent = _all_known([draw.answers[0].seconds for draw in before])
    times = None if spent is None else [*spent, *seconds]
    count = sum(map(is_wrong, before)) + len(mistaken)
    audit = sequential_audit(len(before) + len(page), count, frame.size, times)
    event_numbers = frame.rule["acts"]
    everything = np.union1d(ids, [draw.image_id for draw in before]).astype(np.int64)
    rule = {
        **audit_event(int(event_numbers[0]) if len(event_numbers) == 1 else event_numbers, audit, frame.id),
        "target": target,
    }
    log = workspace.labels
    number = log.append("audit", person_id, everything, why="audit", rule=rule)
    workspace.sampling.record_answers(
        [
            DrawAnswer(
                draw.id,
                "answered",
                None if draw.image_id in mistaken else terms[draw.image_id],
                person_id,
                float(spent_),
                True,
                number,
                0.0,
            )
            for draw, spent_ in zip(page, seconds, strict=True)
        ]
    )
    if len(mistaken):
        log.append("clear", person_id, mistaken, why="audit", rule={"audit": number})
    return audit


def withdraw_audit(workspace: Workspace, person_id: int, number: int) -> tuple[int, ...]:
    """Undo an audit with all its pages: its draws become open again, and labels it removed are restored. Returns the
    events it was about; checking them again shows the same images."""
    event = _event(workspace, number)
    if event.kind != "audit":
        raise fail("audit", f"event {number} is a {event.kind}, not an audit", "choose an audit in the history")
    frame, log = event.rule.get("frame"), workspace.labels
    effective = standing(log.events())
    pages = [
        other
        for other in effective
        if other.kind == "audit"
        and (other.number == number or (frame is not None and other.rule.get("frame") == frame))
    ]
    if not pages:
        raise fail("audit", f"audit {number} is already withdrawn", "choose another one")
    numbers = {page.number for page in pages}
    cleared = [other.number for other in effective if other.kind == "clear" and other.rule.get("audit") in numbers]
    for taken_back in sorted([*numbers, *cleared], reverse=True):
        log.undo(person_id, taken_back)
    about = event.rule["about"]
    return (about,) if isinstance(about, int) else tuple(about)


def pooled_statement(workspace: Workspace) -> PooledStatement | None:
    """Return the bound for all bulk labels of a workspace; None if there are none. Only this bound may be exported as a
    property of the data set, because the bounds of single events hold at 95 % each, but not together."""
    event_numbers = bulk_acts(workspace)
    if not event_numbers:
        return None
    numbers, labels = tuple(sorted(event_numbers)), sum(map(len, event_numbers.values()))
    cells = _audited_groups(workspace, set(numbers))
    if not cells:
        of = sum(_event(workspace, number).count for number in numbers)
        return PooledStatement(numbers, labels, of, of, 0, 0, None, f"{_all_labels(labels, numbers)}: not checked yet")
    if len(cells) == 1 and cells[0][0] == set(numbers):
        return _from_one_audit(numbers, labels, cells[0][1])
    return _from_several_audits(workspace, numbers, labels, cells)


def unchecked_suggestions(workspace: Workspace) -> list[int]:
    """Return events of a former version that accepted suggestions without review and without proof by random images,
    and that nobody has audited since."""
    event_numbers = bulk_acts(workspace)
    audited = set().union(*(about for about, _ in _audited_groups(workspace, set(event_numbers))))
    unproven = {
        event.number
        for event in workspace.labels.events()
        if event.kind == "label" and event.why == "suggestion" and event.rule.get("proven") is False
    }
    return sorted((unproven & event_numbers.keys()) - audited)


def _audited_groups(workspace: Workspace, event_numbers: set[int]) -> list[tuple[set[int], Audit]]:
    """Return (events, their audit) for groups of events that were audited together. The newest audit of an event
    counts."""
    audited: list[tuple[set[int], Audit]] = []
    covered: set[int] = set()
    for event in reversed(standing(workspace.labels.events())):
        if event.kind == "audit":
            about = event.rule["about"]
            group = {about} if isinstance(about, int) else set(about)
            if group <= event_numbers and not group & covered:
                audited.append((group, audit_of(event)))
                covered |= group
    return audited


def _from_one_audit(event_numbers: tuple[int, ...], labels: int, audit: Audit) -> PooledStatement:
    upper = round(audit.at_most * audit.of)
    text = f"{_all_labels(labels, event_numbers)}: {audit}"
    return PooledStatement(event_numbers, labels, audit.of, upper, audit.checked, audit.wrong, audit, text)


def _from_several_audits(
    workspace: Workspace, event_numbers: tuple[int, ...], labels: int, cells: Sequence[tuple[set[int], Audit]]
) -> PooledStatement:
    """Combine separate audits. All labels of an event without an audit may be wrong."""
    audited = [audit for _, audit in cells]
    unaudited = set(event_numbers).difference(*(group for group, _ in cells))
    sizes = np.array(
        [*(audit.of for audit in audited), *(_event(workspace, number).count for number in sorted(unaudited))]
    )
    none = [0] * len(unaudited)
    checked = np.array([*(audit.checked for audit in audited), *none])
    wrong = np.array([*(audit.wrong for audit in audited), *none])
    upper, of = pooled_upper(sizes, checked, wrong), int(sizes.sum())
    seconds = _all_known([audit.seconds for audit in audited])
    viewing = describe(
        int(checked.sum()),
        None if seconds is None else sum(seconds),
        typical_time(audit.typical_seconds for audit in audited if audit.typical_seconds is not None),
    )
    n_audited = len(event_numbers) - len(unaudited)
    text = (
        f"{_all_labels(labels, event_numbers)}, {n_audited} of them checked in {len(cells)} checks: "
        f"{checked.sum()} images, {wrong.sum()} wrong, at most {100 * upper / of:.2g} % wrong at 95 % ({viewing})"
    )
    return PooledStatement(event_numbers, labels, of, upper, int(checked.sum()), int(wrong.sum()), None, text)


def _all_labels(labels: int, event_numbers: Sequence[int]) -> str:
    return f"All {labels:,} bulk labels of {len(event_numbers)} {'event' if len(event_numbers) == 1 else 'events'}"


def _check_acts(workspace: Workspace, event_numbers: Sequence[int]) -> None:
    effective = {event.number for event in standing(workspace.labels.events()) if event.kind == "label"}
    gone = [number for number in event_numbers if int(number) not in effective]
    if gone:
        raise fail(
            "audit", f"event {gone[0]} gives no labels, or they are undone", "choose another event in Labels, History"
        )


def _terms_of(workspace: Workspace, frame: SamplingFrame, images: np.ndarray) -> dict[int, int]:
    """Return {image: term} that the audited events gave. The newest event counts."""
    terms: dict[int, int] = {}
    for number in sorted(frame.rule["acts"]):
        event = _event(workspace, number)
        terms |= dict.fromkeys(images[np.isin(images, event.images)].tolist(), event.term_id)
    return terms


def _event(workspace: Workspace, number: int) -> Event:
    return workspace.labels.event(int(number))
