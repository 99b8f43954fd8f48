"""The final check on the page Learn: its images, their answers, and what is proven."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from benthoscope.app.session.app_state import AppState
from benthoscope.app.session.cache import IMAGES, LABELS
from benthoscope.engine.labelling.measured_accuracy import AnsweredDraws
from benthoscope.engine.labelling.stopping import final_check
from benthoscope.engine.labelling.stopping.versions import LabelVersion, VersionStore
from benthoscope.engine.labelling.suggestions import Suggestions
from benthoscope.engine.workspace.labels.sampling import Draw


def latest_version(app: AppState) -> LabelVersion | None:
    return VersionStore(app.workspace.folder).latest()


def images_to_check(app: AppState, person_id: int | None) -> tuple[dict[int, Draw], dict[int, int]]:
    """({image: draw}, {image: term of the version}) of the next page; empty without a person, and after the proof."""
    version = latest_version(app)
    if version is None or person_id is None or final_check.result(app.workspace, version).proven:
        return {}, {}
    draws = {draw.image_id: draw for draw in final_check.page(app.workspace, person_id, version)}
    images = np.array(sorted(draws), np.int64)
    return draws, dict(zip(images.tolist(), version.terms_of(images).tolist(), strict=True))


def answer_page(app: AppState, person_id: int, terms: Mapping[int, int | None]) -> None:
    """Store the answers to a page; None means that nobody can tell."""
    version = latest_version(app)
    if version is not None and terms:
        final_check.answer(app.workspace, person_id, version, terms)


def state(app: AppState, person_id: int | None, suggestions: Suggestions, answered: AnsweredDraws) -> dict[str, Any]:
    """The forecast, whether a check can start, and the result of the latest one."""
    return app.cached(
        ("final check", person_id), lambda: _state(app, person_id, suggestions, answered), (IMAGES, LABELS)
    )


def _state(app: AppState, person_id: int | None, suggestions: Suggestions, answered: AnsweredDraws) -> dict[str, Any]:
    expected = final_check.forecast(app.workspace, person_id or 0, suggestions, answered)
    version = latest_version(app)
    checked = final_check.result(app.workspace, version) if version else None
    free = np.setdiff1d(version.unseen, app.workspace.labels.current()[0]) if version else ()
    return {
        "forecast": str(expected),
        "ready": expected.ready,
        "possible": expected.allowed >= 1 and (version is None or final_check.improved(version, expected)),
        "result": str(checked) if checked else "",
        "proven": checked.proven if checked else False,
        "remaining": len(free) if checked and checked.proven else 0,
    }
