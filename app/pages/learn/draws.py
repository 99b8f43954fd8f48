"""Random draws on the pages of Learn: mixed with the other images, answered with the page, used to measure accuracy."""

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from benthoscope.app.session.app_state import AppState
from benthoscope.engine.labelling.accuracy.repeats import repeats_due, repeats_for_page
from benthoscope.engine.labelling.accuracy.stream import draw_for_page, stream_size
from benthoscope.engine.labelling.suggestions import Suggestions
from benthoscope.engine.workspace.labels.log import Act
from benthoscope.engine.workspace.labels.sampling import Draw, DrawAnswer


def draws_for(app: AppState, person_id: int | None, suggestions: Suggestions, tiles: int, page: int) -> dict[int, Draw]:
    """{image: draw} for a page of `tiles` images; empty without a person."""
    if person_id is None:
        return {}
    draws = draw_for_page(app.workspace, person_id, suggestions, stream_size(tiles), page)
    return {draw.image_id: draw for draw in draws}


def repeats_for(
    app: AppState, person_id: int | None, suggestions: Suggestions, tiles: int, page: int, others: Collection[int]
) -> dict[int, Draw]:
    """{image: draw} of the person's own labels to show again on a page of `tiles` images; `others` are on it too."""
    if person_id is None:
        return {}
    due = repeats_due(tiles, page)
    draws = repeats_for_page(app.workspace, person_id, suggestions, due, page=page, without=others)
    return {draw.image_id: draw for draw in draws}


def page_of_draws(
    app: AppState, person_id: int | None, suggestions: Suggestions, count: int, page: int
) -> dict[int, Draw]:
    """{image: draw} for a page of random images only; empty without a person."""
    if person_id is None or not count:
        return {}
    return {draw.image_id: draw for draw in draw_for_page(app.workspace, person_id, suggestions, count, page)}


def mixed(rows: np.ndarray, drawn_rows: np.ndarray, tiles: int, rng: np.random.Generator) -> np.ndarray:
    """Rows of a page: drawn rows in random places, rows of the queue in their order."""
    chosen = rows[~np.isin(rows, drawn_rows)][: max(tiles - len(drawn_rows), 0)]
    page = np.empty(len(chosen) + len(drawn_rows), np.int64)
    positions = np.sort(rng.permutation(len(page))[: len(drawn_rows)])
    page[positions] = rng.permutation(drawn_rows)
    page[np.setdiff1d(np.arange(len(page)), positions)] = chosen
    return page


def acts_of_draws(
    terms: Mapping[int, int],
    draws: Mapping[int, Draw],
    run_id: int | None,
    rule: Mapping[str, object],
    disputed: np.ndarray,
) -> list[Act]:
    """Label events for drawn images, one for each term and reason; each image was looked at singly."""
    new_events = []
    for why, images in (
        ("resolved", [image for image in terms if image in disputed]),
        ("manual", [image for image in terms if image not in disputed]),
    ):
        for term in sorted({terms[image] for image in images}):
            ids = np.array(sorted(image for image in images if terms[image] == term), np.int64)
            draw_rule = {**rule, "draws": [draws[int(image)].id for image in ids]}
            new_events.append(Act("label", ids, why, term, run_id, draw_rule))
    return new_events


def store_answers(
    app: AppState, person_id: int, draws: Mapping[int, Draw], new_events: Sequence[Act], numbers: Sequence[int]
) -> None:
    """Record answers of the draws that these events label, and of those whose suggestions were all rejected."""
    answers = []
    for new_event, number in zip(new_events, numbers, strict=True):
        for image in new_event.images.tolist():
            if image in draws and new_event.kind == "label":
                answers.append(_answer(draws[image], "answered", new_event.term_id, person_id, number))
            elif image in draws and new_event.kind == "refuse":
                answers.append(_answer(draws[image], "cannot tell", None, person_id, number))
    app.workspace.sampling.record_answers(answers)


def _answer(draw: Draw, state: str, term_id: int | None, person_id: int, event: int) -> DrawAnswer:
    return DrawAnswer(draw.id, state, term_id, person_id, None, draw.guess is None, event, 0.0)
