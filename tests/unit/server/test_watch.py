"""Changes of a workspace reach the tabs of a server, whichever process makes them."""

import time

import numpy as np
import pytest

from benthoscope.app.data.jobs import job_list
from benthoscope.app.session.app_state import AppState
from benthoscope.app.session.watch import ChangeWatch
from benthoscope.engine.jobs import JobQueue
from benthoscope.engine.workspace import NewImage, Workspace
from benthoscope.engine.workspace.crowd.campaigns import ask
from benthoscope.engine.workspace.crowd.records import CampaignSettings
from benthoscope.engine.workspace.labels.vocabularies import NewTerm
from tests import example_jobs  # noqa: F401  registers its kinds


@pytest.fixture
def folder(tmp_path):
    """A workspace with twenty images, a term and an open campaign."""
    (tmp_path / "images").mkdir()
    with Workspace.create(tmp_path / "reef") as workspace:
        add_images(workspace, "r1", range(20))
        workspace.people.named("Ann")
        workspace.vocabularies.add("habitats", [NewTerm(("sand",))])
        settings, rng = CampaignSettings(size=5), np.random.default_rng(0)
        campaign = ask(workspace.crowd, "which", list(range(1, 21)), settings, rng, practice=False)
        workspace.crowd.change(campaign.id, "open")
    return tmp_path / "reef"


def add_images(workspace, dive, numbers):
    root = workspace.library.register_root(workspace.folder.parent / "images")
    group = workspace.library.group(workspace.library.collection("PS2015").id, dive)
    images = [NewImage(root.id, f"{n}.jpg", group.id, 10, 1, f"{n:064x}", 64, 48) for n in numbers]
    workspace.library.store_images(images)


def label(workspace):
    workspace.labels.label(workspace.people.named("Ann").id, [1, 2], workspace.vocabularies.all_terms()[0].id)


def answer(workspace):
    campaign = workspace.crowd.named("which")
    worker, _ = workspace.crowd.join(campaign, "Bob")
    task = workspace.crowd.next_task(campaign, worker)
    workspace.crowd.submit(campaign, worker, task.task, "word-1234", [0] * len(task.shown))


CHANGES = {
    "images": lambda workspace: add_images(workspace, "r2", [30]),
    "labels": label,
    "other": lambda workspace: workspace.crowd.change(workspace.crowd.named("which").id, "paused"),
    "answers": answer,
}


@pytest.mark.parametrize("aspect", CHANGES)
def test_a_change_of_another_process_is_announced_once_with_its_aspect(folder, aspect):
    announced = []
    with Workspace.open(folder) as here, Workspace.open(folder) as elsewhere:
        watch = ChangeWatch(here.catalogue, announced.append)
        watch.compare()
        watch.compare()
        assert announced == []
        CHANGES[aspect](elsewhere)
        watch.compare()
        watch.compare()
    assert announced == [[aspect]]


def test_a_new_name_of_a_person_or_term_is_a_change_of_labels(folder):
    announced = []
    with Workspace.open(folder) as here, Workspace.open(folder) as elsewhere:
        watch = ChangeWatch(here.catalogue, announced.append)
        watch.compare()
        elsewhere.people.named("Bob")
        watch.compare()
        elsewhere.vocabularies.add("reefs", [NewTerm(("coral",))])
        watch.compare()
    assert announced == [["labels"], ["labels"]]


def test_a_change_of_this_process_is_announced_only_where_it_is_made(folder):
    with Workspace.open(folder) as workspace:
        app = AppState(workspace)
        app._changes.compare()
        label(workspace)
        version = app.changed("labels")
        app._changes.compare()
        assert app.version == version


def test_tabs_learn_of_labels_and_answers_of_another_process(folder):
    with Workspace.open(folder) as workspace, Workspace.open(folder) as elsewhere:
        app, answers = AppState(workspace), []
        app.on_answers.add(lambda: answers.append(app.version))
        app.watch()
        before = app.version
        answer(elsewhere)
        label(elsewhere)
        end = time.monotonic() + 20
        while (app.version == before or not answers) and time.monotonic() < end:
            time.sleep(0.05)
        app.close()
        assert app.version > before and answers


def test_the_list_of_jobs_is_announced_when_it_differs(folder):
    with Workspace.open(folder) as workspace, Workspace.open(folder) as elsewhere:
        app, lists = AppState(workspace), []
        app.on_jobs.add(lambda: lists.append([(job["id"], job["state"]) for job in job_list(app)]))
        app.jobs.refresh()
        queue = JobQueue(elsewhere)
        job = queue.add("count", {"steps": 1})
        app.jobs.refresh()
        app.jobs.refresh()
        queue.cancel(job.id)
        app.jobs.refresh()
    assert lists == [[(job.id, "queued")], [(job.id, "cancelled")]]
