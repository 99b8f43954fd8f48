"""Checks of bulk labels in Review: pages of random images that can be answered only after each was in view."""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from benthoscope.app.session.app_state import AppState
from benthoscope.app.session.cache import LABELS
from benthoscope.app.session.session import Session
from benthoscope.engine.labelling.audits.bulk_audit import (
    audit_frame,
    audit_so_far,
    bulk_acts,
    checked_draws,
    next_page,
    store_page,
    withdraw_audit,
)
from benthoscope.engine.labelling.audits.sample import WANTED, Audit, advice, sequential_audit
from benthoscope.engine.labelling.audits.sequential_bound import FIRST_SHOWN
from benthoscope.engine.labelling.audits.viewing import Viewing, describe, typical_time
from benthoscope.engine.problems import fail
from benthoscope.engine.workspace.labels.sampling import Draw, SamplingFrame

EVERY_ACT = 0  # in the address: all bulk labels together
clock = time.monotonic


@dataclass(frozen=True)
class AuditPage:
    """A page of an audit: its open draws in order, the result of earlier pages, which images were in view and which
    are marked as wrong."""

    frame: SamplingFrame
    draws: tuple[Draw, ...]
    before: Audit
    seconds_before: tuple[float, ...]
    viewing: Viewing
    wrong: frozenset[int] = frozenset()
    target: float = WANTED

    @property
    def event_numbers(self) -> tuple[int, ...]:
        return tuple(self.frame.rule["acts"])

    @property
    def images(self) -> np.ndarray:
        return np.array([draw.image_id for draw in self.draws], np.int64)

    @property
    def of(self) -> int:
        return self.frame.size

    def so_far(self) -> Audit:
        """The result if the audit ended with the images seen so far, in the order of the draws."""
        ids = self.images.tolist()
        viewed = set(self.viewing.viewed(ids))
        first = next((at for at, image in enumerate(ids) if image not in viewed), len(ids))
        times = [*self.seconds_before, *self.viewing.times(ids[:first])]
        wrong = self.before.wrong + sum(image in self.wrong for image in ids[:first])
        return sequential_audit(self.before.checked + first, wrong, self.of, times)


class CheckedReview(Protocol):
    """Interface of the Review model that a check needs. The model starts checks, so it cannot be imported here."""

    session: Session
    checking: AuditPage | None
    audit: list[int]

    @property
    def app(self) -> AppState: ...
    def person_id(self) -> int: ...
    def moved(self, mode: str | None = None) -> None: ...
    def after_check(self) -> None: ...


def begin(review: CheckedReview, event_numbers: Iterable[int]) -> None:
    """Show a page of random images of these label events; images left open earlier come first."""
    workspace, person_id = review.app.workspace, review.person_id()
    frame = audit_frame(workspace, sorted(event_numbers), person_id)
    draws = checked_draws(workspace, frame)
    page = tuple(next_page(workspace, frame, WANTED))
    if not page:
        raise fail("check", "every image with these labels has been checked", "see the result in Labels, History")
    seconds = tuple(draw.answers[0].seconds or 0.0 for draw in draws)
    viewing = Viewing(clock(), review.app.audit_seconds)
    review.checking = AuditPage(frame, page, audit_so_far(frame, draws), seconds, viewing)
    review.moved("check")


def begin_pooled(review: CheckedReview) -> None:
    """Check all bulk labels together; every page takes images from all of them in proportion to their sizes."""
    event_numbers = bulk_acts(review.app.workspace)
    if not event_numbers:
        raise fail("check", "there are no bulk labels", "label a cluster first")
    begin(review, event_numbers)


def begin_asked(review: CheckedReview) -> None:
    """Start the check in the address: of these label events, or of all bulk labels for 0."""
    if review.audit == [EVERY_ACT]:
        begin_pooled(review)
    else:
        begin(review, review.audit)


def record_viewing(review: CheckedReview, seconds: Mapping[int, float], wrong: Iterable[int] = ()) -> None:
    """Record how long images were in view, as reported by the browser, and which are marked as wrong."""
    page = review.checking
    if page is not None:
        ids = page.images.tolist()
        viewing = page.viewing.reported(seconds, ids, clock())
        review.checking = replace(page, viewing=viewing, wrong=frozenset(wrong) & frozenset(ids))


def finish(review: CheckedReview, wrong: Iterable[int] = (), seconds: Mapping[int, float] | None = None) -> None:
    """Store the answers of the page once every image was in view, and remove wrong labels. More images follow until
    the target is reached, or until correcting the labels costs less than checking them."""
    if review.checking is None:
        raise fail("check", "no check is open", "label a cluster first")
    person_id = review.person_id()
    record_viewing(review, seconds or {}, wrong)
    page = review.checking
    problem = page.viewing.problem(page.images.tolist(), clock())
    if problem:
        raise fail("check", problem, "look at every image, then press Enter")
    audit = store_page(
        review.app.workspace,
        page.frame,
        person_id,
        page.draws,
        page.wrong,
        page.viewing.times(page.images.tolist()),
        page.target,
    )
    review.checking = None
    next_step = advice(audit, page.target)
    review.session.changed(LABELS)
    review.session.notify(sentence(audit, next_step, page.target), undo=lambda: take_back(review))
    if next_step == "more":
        begin(review, page.event_numbers)
    else:
        review.after_check()


def sentence(audit: Audit, next_step: str, target: float) -> str:
    """The result as a sentence, with the next step."""
    text = str(audit).capitalize()
    if audit.wrong and next_step == "enough":
        return f"{text}; after correction at most {100 * audit.at_most_after:.2g} % are wrong"
    if next_step == "more":
        return f"{text}; check a few more to reach {100 * target:g} %"
    return f"{text}; correct these labels instead: press z to undo them" if next_step == "correct" else text


def withdraw(review: CheckedReview, number: int) -> None:
    """Withdraw an audit and show the same images again."""
    event_numbers = withdraw_audit(review.app.workspace, review.person_id(), number)
    review.session.changed(LABELS)
    review.session.notify("The check is withdrawn; the same images are shown again")
    begin(review, event_numbers)


def take_back(review: CheckedReview) -> None:
    """Withdraws this person's newest audit."""
    person_id = review.person_id()
    own_audits = [
        event.number
        for event in review.app.workspace.labels.effective()[0]
        if event.kind == "audit" and event.person_id == person_id
    ]
    if not own_audits:
        raise fail("check", "you have no check to withdraw", "check a bulk label first")
    withdraw(review, own_audits[-1])


def content(page: AuditPage | None) -> dict[str, Any] | None:
    """Content of an audit for the board: its size, and the bound once enough images were seen."""
    if page is None:
        return None
    audit = page.so_far()
    shown = audit.checked >= min(FIRST_SHOWN, page.of)
    seconds = [*page.seconds_before, *page.viewing.times(page.images.tolist())]
    complete = audit.checked == page.before.checked + len(page.draws)
    return {
        "size": len(page.draws),
        "of": page.of,
        "wanted": page.target,
        "acts": len(page.event_numbers),
        "min_seconds": page.viewing.min_seconds,
        "page": page.draws[0].id,
        "checked": audit.checked,
        "total": page.before.checked + len(page.draws),
        "wrong": audit.wrong,
        "bound": f"at most {100 * audit.at_most:.2g} % wrong at 95 %" if shown else "",
        "advice": advice(audit, page.target) if shown else "more",
        "viewing": describe(audit.checked, sum(seconds), typical_time(seconds) if complete else None),
    }
