"""The page with the highest predicted gain per minute."""

from dataclasses import replace

import numpy as np
import pytest

from benthoscope.app.pages.learn.content import content
from benthoscope.app.pages.learn.model import Learn
from benthoscope.app.session.app_state import AppState
from benthoscope.app.session.session import Session
from benthoscope.engine.jobs import run_now
from benthoscope.engine.labelling.page_choice.next_page import EVIDENCE, Unlabelled, next_pages
from benthoscope.engine.labelling.suggestions import SuggestionStore
from tests.reef_workspace import copied

KINDS = 5


def images(top, *, labelled=100, answered=EVIDENCE, known=KINDS, seed=0):
    """600 images of five kinds, the largest probability of each is `top` (600,) or a number. The first `known` kinds
    have labels."""
    rng = np.random.default_rng(seed)
    of = rng.integers(0, KINDS, 600)
    top = np.broadcast_to(top, 600)
    P = np.repeat(((1 - top) / (KINDS - 1))[:, None], KINDS, 1)
    P[np.arange(600), of] = top
    X = 8 * np.eye(KINDS)[of] + rng.standard_normal((600, KINDS))
    return Unlabelled(P, X, X[(of < known) & (np.arange(600) % 4 == 0)], labelled, answered)


def best(unlabelled):
    return next_pages(unlabelled, np.random.default_rng(0))[0]


def test_images_of_doubtful_kinds_are_sorted():
    assert best(images(np.where(np.arange(600) % 2, 0.3, 0.95))).queue == "sort"


def test_groups_are_offered_where_a_kind_has_no_label_yet():
    sure = np.full(600, 0.9)  # the model is sure about the new kind, too
    assert best(images(sure, known=KINDS, labelled=1_000)).queue == "sort"
    assert best(images(sure, known=KINDS - 1, labelled=1_000)).queue == "groups"


def test_few_wrong_labels_are_checked_on_random_images_until_they_are_measured():
    offer = best(images(0.99, answered=10))
    assert offer.queue == "check" and f"{EVIDENCE - 10} random images are missing" in offer.reason
    assert best(images(0.99)).queue != "check"


def test_the_same_page_gains_less_the_more_images_have_a_label():
    early, late = (best(images(0.3, labelled=count)) for count in (20, 2_000))
    assert early.per_minute > 1.5 * late.per_minute


def test_nothing_is_offered_when_all_images_have_a_label():
    empty = Unlabelled(np.empty((0, 3)), np.empty((0, 2)), np.empty((0, 2)), 50, 0)
    assert not next_pages(empty, np.random.default_rng(0))


@pytest.mark.parametrize("labelled, queue", [(0, "typical"), (80, "")])
def test_learn_shows_the_next_best_page_and_the_person_may_choose_another(labelled, queue, reef_templates, tmp_path):
    with copied(reef_templates(labelled), tmp_path) as workspace:
        learn = Learn(Session(AppState(workspace), "learn", person="Ann"))
        shown = content(learn)
        assert shown["best"]["queue"] in ([queue] if queue else shown["queues"]) and shown["best"]["reason"]
        learn.choose_queue("outliers")
        assert learn.queue == "outliers" and content(learn)["best"] == shown["best"]
        if labelled:
            run_now(workspace, "learn")
            stored = SuggestionStore(workspace.folder).get().facts["next"]
            assert {name: stored[name] for name in ("queue", "reason")} == shown["best"]


def test_after_a_skipped_group_no_other_group_is_offered(reef_templates, tmp_path):
    with copied(reef_templates(80), tmp_path) as workspace:
        learn = Learn(Session(AppState(workspace), "learn", person="Ann"))
        sort = {"queue": "sort", "reason": "Uncertain images"}
        facts = {**learn.suggestions().facts, "next": {"queue": "groups", "reason": "New", "without_groups": sort}}
        SuggestionStore(workspace.folder).put(replace(learn.suggestions(), facts=facts))
        learn.session.changed("labels")
        assert learn.next_best() == {"queue": "groups", "reason": "New"}
        learn.choose_queue("groups")
        learn.skip()
        assert learn.next_best() == sort
