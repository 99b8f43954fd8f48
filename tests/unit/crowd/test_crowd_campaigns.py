"""Crowd campaigns: assignment of tasks, accepted and rejected answers; on both databases."""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from benthoscope.engine.problems import BadInput
from benthoscope.engine.workspace.crowd import store as crowd_module
from benthoscope.engine.workspace.crowd.records import CampaignSettings, GoldPair, NewTask
from benthoscope.engine.workspace.crowd.store import Refused

SMALL = CampaignSettings(size=3, views=1, repeats=2)


def opened(workspace, settings=SMALL, tasks=((0, 1, 2), (3, 4, 5)), practice=()):
    campaign = workspace.crowd.create("which", np.arange(100, 110), settings)
    new = [NewTask(items, settings.repeats) for items in tasks] + [NewTask(items, 0, "practice") for items in practice]
    workspace.crowd.add_tasks(campaign.id, new)
    return workspace.crowd.change(campaign.id, "open")


def joined(workspace, campaign):
    return workspace.crowd.join(campaign)[0]


def answered(workspace, campaign, worker, groups=(0, 0, 1), submission="word-1234"):
    task = workspace.crowd.next_task(campaign, worker)
    return workspace.crowd.submit(campaign, worker, task.task, submission, list(groups)), task


def test_each_task_is_done_by_as_many_different_people_as_asked(workspace):
    campaign = opened(workspace)
    for _ in range(4):
        worker = joined(workspace, campaign)
        answered(workspace, campaign, worker)
    assert workspace.crowd.next_task(campaign, joined(workspace, campaign)) is None
    tasks = [(answer.task, answer.worker) for answer in workspace.crowd.answers(campaign.id)]
    assert sorted(task for task, _ in tasks) == [1, 1, 2, 2] and len(set(tasks)) == 4
    standing = workspace.crowd.standing(campaign.id)
    assert (standing.wanted, standing.answered, standing.under_way, standing.workers) == (4, 4, 0, 5)


def test_nobody_gets_a_task_twice_and_a_reload_gives_the_same_one(workspace):
    campaign = opened(workspace)
    worker = joined(workspace, campaign)
    first = workspace.crowd.next_task(campaign, worker)
    assert workspace.crowd.next_task(campaign, worker) == first
    answered(workspace, campaign, worker)
    second = workspace.crowd.next_task(campaign, worker)
    assert second.task != first.task
    answered(workspace, campaign, worker)
    assert workspace.crowd.next_task(campaign, worker) is None


def test_simultaneous_people_never_get_more_tasks_than_needed(workspace):
    campaign = opened(workspace, tasks=[(0, 1, 2)])
    workers = [joined(workspace, campaign) for _ in range(12)]
    with ThreadPoolExecutor(12) as pool:
        next_tasks = list(pool.map(lambda worker: workspace.crowd.next_task(campaign, worker), workers))
    assert sum(task is not None for task in next_tasks) == 2


def test_the_same_answer_sent_again_is_stored_once_and_another_one_rejected(workspace):
    campaign = opened(workspace)
    worker = joined(workspace, campaign)
    receipt, task = answered(workspace, campaign, worker)
    assert (receipt.done, receipt.again) == (1, False)
    again = workspace.crowd.submit(campaign, worker, task.task, "word-1234", [0, 0, 1])
    assert (again.done, again.again) == (1, True)
    for groups, submission in (([0, 1, 1], "word-1234"), ([0, 0, 1], "word-5678")):
        with pytest.raises(Refused, match="second one for this task"):
            workspace.crowd.submit(campaign, worker, task.task, submission, groups)
    assert len(workspace.crowd.answers(campaign.id)) == 1


def test_one_answer_sent_from_many_threads_at_once_is_stored_once(workspace):
    campaign = opened(workspace)
    worker = joined(workspace, campaign)
    task = workspace.crowd.next_task(campaign, worker)
    gate = threading.Barrier(8)

    def send(_):
        gate.wait(10)
        return workspace.crowd.submit(campaign, worker, task.task, "word-1234", [0, 0, 1])

    with ThreadPoolExecutor(8) as pool:
        receipts = list(pool.map(send, range(8)))
    assert sum(not receipt.again for receipt in receipts) == 1
    assert len(workspace.crowd.answers(campaign.id)) == 1


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        ([0, 0], "2 groups for 3 pictures"),
        ([0, 0, 99], "no group"),
        ([0, 0, -1], "no group"),
        ([0, True, 1], "no group"),
        ([None, None, None], "is empty"),
        ([0, 0, "1"], "no group"),
    ],
)
def test_groups_that_make_no_sense_are_rejected(workspace, groups, words):
    campaign = opened(workspace)
    worker = joined(workspace, campaign)
    task = workspace.crowd.next_task(campaign, worker)
    with pytest.raises(Refused, match=words):
        workspace.crowd.submit(campaign, worker, task.task, "word-1234", groups)
    assert not workspace.crowd.answers(campaign.id)


def test_answers_to_tasks_of_others_or_unknown_tasks_are_rejected(workspace):
    campaign = opened(workspace)
    merged, other = joined(workspace, campaign), joined(workspace, campaign)
    task = workspace.crowd.next_task(campaign, merged)
    for worker, number in ((other, task.task), (merged, 99)):
        with pytest.raises(Refused, match="not given"):
            workspace.crowd.submit(campaign, worker, number, "word-1234", [0, 0, 1])


def test_a_practice_task_comes_first_and_does_not_count(workspace):
    campaign = opened(workspace, practice=[(6, 7, 8)])
    worker = joined(workspace, campaign)
    receipt, task = answered(workspace, campaign, worker)
    assert task.kind == "practice" and receipt.done == 0
    assert workspace.crowd.next_task(campaign, worker).kind == "task"
    assert not workspace.crowd.answers(campaign.id) and len(workspace.crowd.answers(campaign.id, "practice")) == 1


def test_an_unanswered_task_is_given_to_somebody_else_and_a_late_answer_is_accepted(workspace, monkeypatch):
    campaign = opened(workspace, replace(SMALL, repeats=1), tasks=[(0, 1, 2)])
    slow, quick = joined(workspace, campaign), joined(workspace, campaign)
    late = workspace.crowd.next_task(campaign, slow)
    assert workspace.crowd.next_task(campaign, quick) is None
    later = crowd_module.current_time() + 3600
    monkeypatch.setattr(crowd_module, "current_time", lambda: later)
    assert workspace.crowd.next_task(campaign, quick).task == late.task
    workspace.crowd.submit(campaign, slow, late.task, "word-1234", [0, 0, 1])
    workspace.crowd.submit(campaign, quick, late.task, "word-1234", [0, 0, 0])
    assert [answer.worker for answer in workspace.crowd.answers(campaign.id)] == [0, 1]


def test_workers_who_miss_known_pairs_receive_no_more_tasks(workspace):
    gold = tuple(GoldPair(a, b, True) for a, b in ((0, 1), (1, 2), (3, 4), (4, 5)))
    campaign = opened(workspace, replace(SMALL, gold=gold))
    bad, good = joined(workspace, campaign), joined(workspace, campaign)
    for _ in range(2):
        receipt, _ = answered(workspace, campaign, bad, (0, 1, 2))
        assert not answered(workspace, campaign, good, (0, 0, 0))[0].stopped
    assert receipt.stopped and workspace.crowd.next_task(campaign, bad) is None
    assert [worker.state for worker in workspace.crowd.workers(campaign.id)] == ["stopped", "working"]


def test_the_number_of_tasks_per_person_is_limited(workspace):
    campaign = opened(workspace, replace(SMALL, most_tasks=1))
    worker = joined(workspace, campaign)
    answered(workspace, campaign, worker)
    assert workspace.crowd.next_task(campaign, worker) is None


def test_a_link_works_only_while_it_is_valid(workspace, monkeypatch):
    campaign = workspace.crowd.create("which", np.arange(5), SMALL, days=1)
    with pytest.raises(Refused, match="leads nowhere"):
        workspace.crowd.by_link(campaign.link)
    workspace.crowd.change(campaign.id, "open")
    assert workspace.crowd.by_link(campaign.link).id == campaign.id
    renewed = workspace.crowd.renew_link(campaign.id, days=1)
    assert renewed.link != campaign.link and len(renewed.link) >= 32
    with pytest.raises(Refused, match="leads nowhere"):
        workspace.crowd.by_link(campaign.link)
    later = crowd_module.current_time() + 2 * 86_400
    monkeypatch.setattr(crowd_module, "current_time", lambda: later)
    with pytest.raises(Refused, match="has expired"):
        workspace.crowd.by_link(renewed.link)


def test_a_paused_campaign_accepts_assigned_tasks_and_a_closed_one_accepts_nothing(workspace):
    campaign = opened(workspace)
    worker = joined(workspace, campaign)
    task = workspace.crowd.next_task(campaign, worker)
    paused = workspace.crowd.change(campaign.id, "paused")
    with pytest.raises(Refused, match="is paused"):
        workspace.crowd.next_task(paused, worker)
    with pytest.raises(Refused, match="is paused"):
        workspace.crowd.join(paused)
    workspace.crowd.submit(paused, worker, task.task, "word-1234", [0, 0, 1])
    closed = workspace.crowd.change(campaign.id, "closed")
    with pytest.raises(Refused, match="after the campaign was closed"):
        workspace.crowd.submit(closed, worker, task.task, "word-1234", [0, 0, 1])
    with pytest.raises(BadInput, match="is closed"):
        workspace.crowd.change(campaign.id, "open")


def test_secrets_are_hashed_and_do_not_work_in_another_campaign(workspace):
    fit = opened(workspace)
    other = workspace.crowd.create("other", np.arange(5), SMALL)
    worker, secret = workspace.crowd.join(fit)
    assert workspace.crowd.worker(fit, secret) == worker
    for campaign, word in ((other, secret), (fit, "guess"), (fit, "")):
        with pytest.raises(Refused, match="not known here"):
            workspace.crowd.worker(campaign, word)
    with workspace.catalogue.reading() as connection:
        scalar = connection.exec_driver_sql("select secret from crowd_worker").scalar()
    assert secret not in scalar


def test_the_key_of_a_task_opens_its_images_and_no_others(workspace):
    campaign = opened(workspace)
    task = workspace.crowd.next_task(campaign, joined(workspace, campaign))
    images = {workspace.crowd.shown_image(campaign, task.key, position) for position in range(3)}
    assert images == {100 + item for item in task.shown}
    for key, position in ((task.key, 3), (task.key, -1), ("guess", 0)):
        with pytest.raises(Refused):
            workspace.crowd.shown_image(campaign, key, position)


@pytest.mark.parametrize("change", [{"size": 1}, {"repeats": 0}, {"title": "x" * 5000}, {"minutes": 0}])
def test_settings_out_of_bounds_are_rejected(change):
    with pytest.raises(BadInput):
        CampaignSettings(**change)


def test_a_campaign_needs_a_name_of_its_own_and_enough_images(workspace):
    workspace.crowd.create("which", np.arange(5), SMALL)
    for name, images, words in (
        ("which", np.arange(5), "already one called 'which'"),
        (" ", np.arange(5), "no name"),
        ("b", [1, 1, 1], "1 different images"),
    ):
        with pytest.raises(BadInput, match=words):
            workspace.crowd.create(name, images, SMALL)
    with pytest.raises(BadInput, match="not in the campaign"):
        workspace.crowd.add_tasks(workspace.crowd.named("which").id, [NewTask((0, 99), 1)])


def test_settings_and_images_are_read_back_unchanged(workspace):
    settings = replace(SMALL, title="Ü <b>", gold=(GoldPair(0, 1, True),))
    made = workspace.crowd.create("which", np.array([7, 5, 6]), settings)
    value = workspace.crowd.get(made.id)
    assert value.settings == settings and value.images.tolist() == [7, 5, 6]
