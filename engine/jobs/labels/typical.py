"""The job that chooses typical images, the first page of Learn."""

from typing import Any

import numpy as np

from benthoscope.engine.jobs.context import JobContext
from benthoscope.engine.jobs.labels.learn import material_key, material_of
from benthoscope.engine.labelling.page_choice.next_page import FIRST_PAGE, shown_facts
from benthoscope.engine.labelling.page_choice.typical_images import page_size, typical_rows
from benthoscope.engine.labelling.page_choice.typical_page import TypicalPage, TypicalStore
from benthoscope.engine.labelling.suggestions import SuggestionStore
from benthoscope.engine.labelling.training_data import chosen_features
from benthoscope.engine.problems import BadInput
from benthoscope.engine.workspace import Workspace


def choose_typical(job: JobContext, workspace: Workspace, *, seed: int = 0) -> dict[str, int]:
    """Choose images that are typical of the others, which Learn shows first. Another seed chooses other images."""
    job.progress(0, None, "reading images")
    return {"images": len(store_typical(workspace, seed).image_ids)}


def store_typical(workspace: Workspace, seed: int = 0) -> TypicalPage:
    """Choose a page of typical images among those without a label, and store it."""
    _, material = material_of(workspace)
    is_labelled = np.isin(material.image_ids, workspace.labels.current()[0])
    rows = typical_rows(
        material.data.appearance, page_size(len(material.image_ids)), is_labelled, np.random.default_rng(seed)
    )
    page = TypicalPage(material.image_ids[rows], np.asarray(material.data.appearance[rows]), typical_stamp(workspace))
    TypicalStore(workspace.folder).put(page)
    return page


def stored_typical(workspace: Workspace) -> TypicalPage | None:
    """Return the stored page, if it was chosen from the present features and run."""
    return TypicalStore(workspace.folder).get(typical_stamp(workspace))


def typical_stamp(workspace: Workspace) -> tuple[str | None, str, int | None]:
    """Return what the choice of typical images depends on: the name and the hash of the features, and the run."""
    _, name, stamp, run, *_ = material_key(workspace)
    return name, stamp, run


def next_to_label(workspace: Workspace) -> dict[str, Any]:
    """Return the queue of Learn with the highest predicted gain per minute, the reason, and ids of typical images
    without a label. The queue is empty if all images have a label, or if the model is of an older version."""
    suggestions, page = SuggestionStore(workspace.folder).get(), stored_typical(workspace)
    best = FIRST_PAGE.facts() if suggestions is None else suggestions.facts.get("next") or {"queue": "", "reason": ""}
    typical = [] if page is None else np.setdiff1d(page.image_ids, workspace.labels.current()[0]).tolist()
    return {**shown_facts(best), "typical": typical}


def can_choose_typical(workspace: Workspace) -> bool:
    """Return whether there are features of whole images to choose from."""
    try:
        return len(chosen_features(workspace)[0].image_ids) > 0
    except BadInput:
        return False
