"""The final check: when to offer it, which images it shows, and what their answers prove.

It tests the claim "at most 5 % of all labels are wrong" on a frozen version. Every image counts: labels given by
looking (with the slips of the people), labels given in bulk, and suggestions for the remaining images.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benthoscope.engine.labelling.accuracy.repeats import SlipRecord, slip_record
from benthoscope.engine.labelling.cover.estimate import clopper_pearson
from benthoscope.engine.labelling.measured_accuracy import WINDOW, AnsweredDraws
from benthoscope.engine.labelling.stopping.betting import BettingTest, draw_weights
from benthoscope.engine.labelling.stopping.versions import LabelVersion, VersionStore
from benthoscope.engine.labelling.suggestions import Suggestions
from benthoscope.engine.problems import fail
from benthoscope.engine.workspace import Workspace
from benthoscope.engine.workspace.labels.events import accepted_on_page
from benthoscope.engine.workspace.labels.log import Act
from benthoscope.engine.workspace.labels.sampling import Draw, DrawAnswer, Parent, SamplingFrame
from benthoscope.engine.workspace.records import current_time

PURPOSE = "stop"
TARGET = 0.05  # fraction of wrong labels in the claim
ALPHA = 0.05
ALPHA_WITH_SLIPS = 0.04  # the remaining 1 % is spent on the limit for slips
SLIP_CONFIDENCE = 0.98  # two-sided, so that the upper limit holds with 99 %
ATTEMPTS = (0.6, 0.24, 0.1, 0.04)  # shares of alpha for the first versions; later ones share the rest
REPEATS_NEEDED = 100  # before slips can be part of the claim
OFFERED_BELOW = 0.8  # fraction of the allowed number; with more wrong labels expected, the check would often fail
IMPROVED = 0.5  # fraction of the expected wrong labels of the last version, below which a new check makes sense
PAGE = 30  # images of a page
OVERLOOKED = 0.1  # assumed fraction of wrong suggestions that a person leaves on a page; only forecasts rest on it
PRICE = (130, 260)  # usual number of images in a check, whatever the size of the campaign


@dataclass(frozen=True)
class WrongForecast:
    """Expected number of wrong labels among `images`, of which nobody looked at `unseen`. It is not checked yet.
    `allowed` is the number of wrong unseen labels in the claim."""

    images: int
    unseen: int
    expected_wrong: float
    allowed: float
    target: float

    @property
    def share(self) -> float:
        return self.expected_wrong / self.images if self.images else 0.0

    @property
    def ready(self) -> bool:
        """Return whether a final check is likely to succeed."""
        return self.allowed >= 1 and self.expected_wrong <= OFFERED_BELOW * self.allowed

    def __str__(self) -> str:
        about = (
            f"About {100 * self.share:.1f} % of all labels are wrong if labelling stops now (a forecast, not checked)"
        )
        if self.allowed < 1:
            return f"{about}. Too few images without a look for a claim: {self.unseen:,}"
        if not self.ready:
            return f"{about}. A final check makes sense below {100 * OFFERED_BELOW * self.allowed / self.images:.1f} %"
        if self.unseen <= PRICE[0]:
            return f"{about}. A final check needs at most {self.unseen:,} more images"
        return f"{about}. A final check needs about {PRICE[0]} to {min(PRICE[1], self.unseen)} more images"


@dataclass(frozen=True)
class CheckResult:
    """State of the final check of a version. `checked` answers are in, `wrong` of them differ from the version and were
    corrected; `open_draws` are waiting for an answer or for a second look. `left_out` bulk labels belong to images
    without features, which the check cannot draw."""

    version: int
    images: int
    unseen: int
    allowed: float
    target: float
    alpha: float
    checked: int
    wrong: int
    open_draws: int
    evidence: float
    needed_evidence: float
    proven: bool
    with_slips: bool
    slips: str
    left_out: int

    def __str__(self) -> str:
        counts = f"{self.checked:,} images checked, {self.wrong:,} corrected"
        if self.left_out:
            counts += f", {self.left_out:,} bulk labels of images without features not included"
        if not self.proven:
            share = max(min(self.evidence / self.needed_evidence, 0.99), 0.0)
            return f"Not proven yet: {counts}, {100 * share:.0f} % of the necessary evidence"
        level = f"{100 * (1 - ALPHA):.0f} % confidence"
        if self.with_slips:
            return f"At most {100 * self.target:.3g} % of all labels are wrong ({level}): {counts}"
        return (
            f"Wrong labels that nobody looked at make up at most {100 * self.target:.3g} % of all images ({level}): "
            f"{counts}. {self.slips}"
        )


def forecast(
    workspace: Workspace, person_id: int, suggestions: Suggestions, answered: AnsweredDraws, target: float = TARGET
) -> WrongForecast:
    """Return how many labels are expected to be wrong if labelling stops now."""
    version = _version_now(workspace, person_id, suggestions, answered, target)
    return WrongForecast(
        len(version.image_ids),
        int((~version.looked).sum()),
        float(version.forecast.sum()),
        float(version.facts["allowed"]),
        target,
    )


def improved(version: LabelVersion, forecast: WrongForecast) -> bool:
    """Return whether so many labels were corrected since a version was frozen that a new check makes sense. `forecast`
    is that of the present labels."""
    return forecast.expected_wrong < IMPROVED * float(np.sum(version.forecast))


def start(
    workspace: Workspace, person_id: int, suggestions: Suggestions, answered: AnsweredDraws, target: float = TARGET
) -> LabelVersion:
    """Freeze the labels as a version and open the frame from which the check draws."""
    version = _version_now(workspace, person_id, suggestions, answered, target)
    if version.facts["allowed"] < 1:
        raise fail(
            "final check", "fewer than one wrong label would be allowed", "label more images, or check all of them"
        )
    version = VersionStore(workspace.folder).add(version)
    workspace.sampling.open_frame(
        PURPOSE, _labels_of(version), version.unseen, person_id, rule={"version": version.number}
    )
    return version


def page(workspace: Workspace, person_id: int, version: LabelVersion, number: int | None = None) -> list[Draw]:
    """Return the next images of a check: answered ones that need another look, open draws, then new draws."""
    frame = _frame(workspace, version)
    draws = workspace.sampling.draws(frame_id=frame.id)
    again = [draw for draw in draws if _needs_another_look(draw, version)]
    if again:
        return again[:PAGE]
    drawn_images = np.array([draw.image_id for draw in draws], np.int64)
    waiting = sum(draw.is_open for draw in draws)
    free = np.setdiff1d(frame.images, drawn_images, assume_unique=True)
    if not waiting and not len(free):
        return []
    if waiting:
        return [draw for draw in draws if draw.is_open][:PAGE]
    weights = draw_weights(_forecast_of(version, free))
    return workspace.sampling.draw(
        frame,
        min(PAGE, len(free)),
        eligible=free,
        weights=weights,
        page=_pages(draws) + 1 if number is None else number,
        person_id=person_id,
    )


def answer(
    workspace: Workspace, person_id: int, version: LabelVersion, terms: Mapping[int, int | None], *, blind: bool = False
) -> list[int]:
    """Store the answers to drawn images and label them. None means "cannot tell", which counts as a wrong label."""
    draws = {draw.image_id: draw for draw in workspace.sampling.draws(frame_id=_frame(workspace, version).id)}
    unknown = sorted(set(terms) - set(draws))
    if unknown:
        raise fail("final check", f"image {unknown[0]} was not drawn", "answer the images of the check only")
    labels: dict[int, list[int]] = {}
    for image, term in sorted(terms.items()):
        if term is not None:
            labels.setdefault(term, []).append(image)
    rule = {"final_check": version.number}
    new = [Act("label", np.array(images, np.int64), "manual", term, rule=rule) for term, images in labels.items()]
    numbers = workspace.labels.append_events(person_id, new)
    event_of = {image: number for number, event in zip(numbers, new, strict=True) for image in event.images.tolist()}
    workspace.sampling.record_answers(
        [
            DrawAnswer.new(draws[image].id, term, person_id, blind=blind, event=event_of.get(image))
            for image, term in terms.items()
        ]
    )
    return numbers


def result(workspace: Workspace, version: LabelVersion) -> CheckResult:
    """Return what the answers prove so far. Answers count in the order of the draws, up to the first open one."""
    draws = workspace.sampling.draws(frame_id=_frame(workspace, version).id)
    test, alpha = _test(version, draws), float(version.facts["alpha"])
    return CheckResult(
        version.number,
        len(version.image_ids),
        len(version.unseen),
        float(version.facts["allowed"]),
        float(version.facts["target"]),
        alpha,
        test.draws,
        test.wrong,
        sum(draw.is_open or _needs_another_look(draw, version) for draw in draws),
        test.log_capital,
        float(-np.log(alpha)),
        test.holds(alpha),
        bool(version.facts["with_slips"]),
        str(version.facts["slips"]),
        int(version.facts["left_out"]),
    )


def deliver(workspace: Workspace, person_id: int, version: LabelVersion) -> int:
    """Give the images of a proven version that have no label yet the label of the version. Returns their number."""
    checked = result(workspace, version)
    if not checked.proven:
        raise fail("final check", "the claim is not proven", "answer more images of the check")
    labelled = workspace.labels.current()[0]
    free = np.setdiff1d(version.unseen, labelled, assume_unique=True)
    terms = version.terms_of(free)
    rule = {"final_check": version.number, "checked": checked.checked}
    workspace.labels.append_events(
        person_id,
        [Act("label", free[terms == term], "suggestion", int(term), rule=rule) for term in np.unique(terms)],
    )
    return len(free)


# --- inside


def _version_now(
    workspace: Workspace, person_id: int, suggestions: Suggestions, answered: AnsweredDraws, target: float
) -> LabelVersion:
    if not 0 < target < 0.5:
        raise fail("final check", f"a target of {target:g}", "give a fraction between 0 and 0.5")
    labelled_ids, given_terms = workspace.labels.current_terms()
    looked_ids = workspace.sampling.looked_at()
    image_ids = _with_others(suggestions, np.intersect1d(labelled_ids, looked_ids))
    terms, wrong = _suggested(suggestions, image_ids)
    labelled = np.isin(image_ids, labelled_ids)
    terms[labelled] = given_terms[np.isin(labelled_ids, image_ids)]
    wrong[labelled] = 1 - _probability_of(suggestions, image_ids[labelled], terms[labelled])
    wrong[np.isin(image_ids, _seen_on_pages(workspace))] *= OVERLOOKED
    looked = np.isin(image_ids, looked_ids)
    forecast = np.where(looked, 0.0, np.minimum(wrong * _correction(answered), 1.0))
    slips, attempts = slip_record(workspace, person_id), len(VersionStore(workspace.folder).numbers())
    with_slips = slips.repeats >= REPEATS_NEEDED
    facts: dict[str, Any] = {
        "person": person_id,
        "at": current_time(),
        "label_event": workspace.labels.last_number(),
        "target": target,
        "allowed": _allowed(len(image_ids), int(looked.sum()), target, slips if with_slips else None),
        "alpha": (ALPHA_WITH_SLIPS if with_slips else ALPHA) * _share_of_alpha(attempts),
        "with_slips": with_slips,
        "slips": str(slips),
        "left_out": int((~np.isin(labelled_ids, image_ids)).sum()),
    }
    return LabelVersion(image_ids, terms, looked, labelled, forecast, facts)


def _share_of_alpha(earlier_versions: int) -> float:
    """Return the share of the error probability for the next version. All shares sum to 1."""
    if earlier_versions < len(ATTEMPTS):
        return ATTEMPTS[earlier_versions]
    return (1 - sum(ATTEMPTS)) * 0.5 ** (earlier_versions - len(ATTEMPTS) + 1)


def _allowed(images: int, looked: int, target: float, slips: SlipRecord | None) -> float:
    """Return how many labels that nobody looked at may be wrong."""
    if slips is None:
        return float(np.floor(target * images))
    upper = clopper_pearson(np.array([slips.slips]), np.array([slips.repeats]), SLIP_CONFIDENCE)[1][0]
    return float(np.floor(target * images - upper * looked))


def _with_others(suggestions: Suggestions, images: np.ndarray) -> np.ndarray:
    """Return sorted ids of the images with suggestions and of these others."""
    new = images[~np.isin(images, suggestions.image_ids)]
    ids = np.asarray(suggestions.image_ids, np.int64)
    return ids if not len(new) and _is_sorted(ids) else np.union1d(ids, new).astype(np.int64)


def _is_sorted(ids: np.ndarray) -> bool:
    return bool((ids[1:] > ids[:-1]).all())


def _rows_of(suggestions: Suggestions, images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return which of the images have suggestions, and the rows of those. Ids are usually sorted; sorting a million
    after each label would take long."""
    ids = np.asarray(suggestions.image_ids)
    order = None if _is_sorted(ids) else np.argsort(ids)
    at = np.minimum(np.searchsorted(ids if order is None else ids[order], images), len(ids) - 1)
    rows = at if order is None else order[at]
    known = ids[rows] == images
    return known, rows[known]


def _suggested(suggestions: Suggestions, image_ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (term, probability that it is wrong) of the best suggestion; 0 and 1 for images without features."""
    best, confidence = suggestions.best()
    known, rows = _rows_of(suggestions, image_ids)
    terms, wrong = np.zeros(len(image_ids), np.int64), np.ones(len(image_ids))
    terms[known], wrong[known] = best[rows], 1 - confidence[rows]
    return terms, wrong


def _probability_of(suggestions: Suggestions, images: np.ndarray, terms: np.ndarray) -> np.ndarray:
    """Return the probability of given labels by models that did not see them; 0 for terms unknown to the model."""
    known, rows = _rows_of(suggestions, images)
    column = np.searchsorted(suggestions.terms, terms[known])
    has_column = column < len(suggestions.terms)
    has_column[has_column] = suggestions.terms[column[has_column]] == terms[known][has_column]
    P = suggestions.unseen_rows(rows)
    probability = np.zeros(len(images))
    probability[np.flatnonzero(known)[has_column]] = P[np.flatnonzero(has_column), column[has_column]]
    return probability


def _seen_on_pages(workspace: Workspace) -> np.ndarray:
    """Return images whose label is a suggestion that somebody accepted on a page. The wrong ones were corrected there,
    so few of the others are wrong. The check includes them all the same: people overlook wrong suggestions."""
    images, numbers = workspace.labels.current()
    pages = [event.number for event in workspace.labels.events() if accepted_on_page(event)]
    return images[np.isin(numbers, pages)]


def _correction(answered: AnsweredDraws) -> float:
    """Return by how much the latest random draws were wrong more often than their confidence predicted."""
    latest = answered.last(WINDOW)
    return float((1 + (~latest.right).sum()) / (1 + (1 - latest.confidence).sum()))


def _labels_of(version: LabelVersion) -> Parent:
    return Parent("labels", version.number)


def _frame(workspace: Workspace, version: LabelVersion) -> SamplingFrame:
    frame = workspace.sampling.latest_frame(PURPOSE, _labels_of(version))
    if frame is None:
        return workspace.sampling.open_frame(
            PURPOSE, _labels_of(version), version.unseen, int(version.facts["person"]), rule={"version": version.number}
        )
    return frame


def _forecast_of(version: LabelVersion, images: np.ndarray) -> np.ndarray:
    return np.asarray(version.forecast)[np.searchsorted(version.image_ids, images)]


def _pages(draws: Sequence[Draw]) -> int:
    return max((draw.page or 0 for draw in draws), default=0)


def _verdicts(draw: Draw) -> list[int | None]:
    return [answer.term_id for answer in draw.answers]


def _needs_another_look(draw: Draw, version: LabelVersion) -> bool:
    """Return whether an answer differs from the version and no second or third answer has settled it."""
    if draw.is_open:
        return False
    term = int(version.terms_of(np.array([draw.image_id]))[0])
    answers = _verdicts(draw)
    if answers[0] == term or len(answers) >= 3:
        return False
    return len(answers) == 1 or answers[0] != answers[1]


def _is_wrong(draw: Draw, version: LabelVersion) -> bool:
    """Return whether the settled answer differs from the version. Unsettled ones count as wrong until then."""
    return draw.term_id != int(version.terms_of(np.array([draw.image_id]))[0])


def _test(version: LabelVersion, draws: Sequence[Draw]) -> BettingTest:
    """Return the test after the answered draws, replayed in their order, page by page."""
    unseen = version.unseen
    test = BettingTest(_forecast_of(version, unseen), float(version.facts["allowed"]))
    page_number: int | None = None
    for draw in sorted(draws, key=lambda draw: draw.number):
        if draw.is_open:
            break
        if draw.page != page_number:
            page_number = draw.page
            weights = np.ones(len(unseen))
            weights[test.undrawn] = draw_weights(test.forecast[test.undrawn])
            test.start_page(weights)
        test.add(int(np.searchsorted(unseen, draw.image_id)), _is_wrong(draw, version))
    return test
