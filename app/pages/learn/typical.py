"""Typical images on the Learn page: the first page to label, chosen by a job."""

import numpy as np

from benthoscope.app.session.app_state import AppState
from benthoscope.app.session.cache import FEATURES, IMAGES, LABELS, RUNS
from benthoscope.engine.jobs.labels.typical import can_choose_typical, stored_typical
from benthoscope.engine.labelling.page_choice.typical_page import TypicalPage, without_suggestions
from benthoscope.engine.labelling.suggestions import Suggestions

KIND = "typical images"  # of the job
USED_UP = 0.5  # share of labelled images from which a stored page is replaced


def stored_page(app: AppState) -> TypicalPage | None:
    """The stored typical images that are still in the workspace."""
    return app.cached("typical images", lambda: _stored(app), (IMAGES, LABELS, FEATURES, RUNS))


def _stored(app: AppState) -> TypicalPage | None:
    page = stored_typical(app.workspace) if can_choose_typical(app.workspace) else None
    if page is None:
        return None
    present = np.isin(page.image_ids, app.columns.ids)
    return TypicalPage(page.image_ids[present], page.rows[present], page.stamp)


def images_without_model(app: AppState) -> Suggestions | None:
    """The typical images before there is a model; None before they are chosen."""

    def make() -> Suggestions | None:
        page = stored_page(app)
        return None if page is None else without_suggestions(page)

    return app.cached("typical images without a model", make, (IMAGES, LABELS, FEATURES, RUNS))


def is_choosing(app: AppState) -> bool:
    return any(job.kind == KIND for job in app.queue.unfinished())


def choose_if_needed(app: AppState, labelled: np.ndarray, *, passed: np.ndarray, seed: int = 0) -> None:
    """Queue the choice of typical images, unless enough stored ones were neither labelled nor skipped."""
    if is_choosing(app) or not can_choose_typical(app.workspace):
        return
    page = stored_page(app)
    used = 1.0 if page is None or not len(page.image_ids) else _share_of(page.image_ids, labelled, passed)
    if used >= USED_UP:
        app.queue.add(KIND, {"seed": seed})


def _share_of(ids: np.ndarray, labelled: np.ndarray, passed: np.ndarray) -> float:
    return float((np.isin(ids, labelled) | np.isin(ids, passed)).mean())
