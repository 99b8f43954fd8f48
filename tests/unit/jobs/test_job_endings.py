"""However a job ends, its record says so: a full disk, an odd result or a lost process never leave it "running"."""

import json
import threading
import time

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import text

import tests.example_jobs  # noqa: F401  (registers the kinds used here)
from benthoscope.app.api import common as failures
from benthoscope.app.api import jobs
from benthoscope.app.session.app_state import AppState
from benthoscope.engine.jobs import JobQueue, JobRunner, run_now, runner
from benthoscope.engine.problems import BadInput
from benthoscope.engine.workspace import Workspace
from benthoscope.engine.workspace.database.writer import CatalogueError


@pytest.fixture
def queue(workspace):
    return JobQueue(workspace)


@pytest.fixture
def reef(tmp_path):
    with Workspace.create(tmp_path / "sqlite-reef") as made:
        yield made


def until(condition, seconds=20.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def limit_pages(workspace, pages):
    """As a full disk: the catalogue may not grow beyond so many pages; None takes as many as there are."""

    def limit(connection):
        most = pages or connection.execute(text("PRAGMA page_count")).scalar()
        connection.execute(text(f"PRAGMA max_page_count = {most}"))

    workspace.catalogue.write(limit)


def test_a_job_whose_last_write_fails_ends_once_there_is_room_again(reef, monkeypatch):
    monkeypatch.setattr(runner, "FIRST_PAUSE", 0.05)
    queue = JobQueue(reef)
    job = queue.add("odd", {"size": 400_000})
    limit_pages(reef, None)
    with JobRunner(reef):
        until(lambda: "could not be stored" in queue.log(job.id))
        assert queue.get(job.id).state == "running"
        limit_pages(reef, 2**30)
        until(lambda: queue.get(job.id).state == "done")
    assert len(queue.get(job.id).result["padding"]) == 400_000
    assert queue.claim(queue.retry(job.id).id), "the claim is free again"


def test_a_command_says_that_the_end_could_not_be_stored_and_its_job_can_be_retried(reef, monkeypatch):
    monkeypatch.setattr(runner, "PATIENCE", 0.2)
    monkeypatch.setattr(runner, "FIRST_PAUSE", 0.05)
    queue = JobQueue(reef)
    queue.folder(1)
    limit_pages(reef, None)
    with pytest.raises(CatalogueError, match="benthoscope jobs retry 1"):
        run_now(reef, "odd", {"size": 400_000})
    limit_pages(reef, 2**30)
    assert queue.get(1).state == "running"
    assert queue.retry(1).state == "queued"
    assert run_now(reef, "odd", resume=1).state == "done"


def test_a_running_job_without_a_process_can_be_cancelled_and_retried(queue):
    cancelled, retried = queue.add("count", {"steps": 3}), queue.add("count", {"steps": 3})
    for job in (cancelled, retried):
        queue.claim(job.id).release()
    assert queue.cancel(cancelled.id).state == "cancelled"
    assert queue.retry(retried.id).state == "queued"


def test_a_running_job_with_a_living_process_cannot_be_retried(queue):
    job = queue.add("count", {"steps": 3})
    claim = queue.claim(job.id)
    with pytest.raises(BadInput, match="not finished"):
        queue.retry(job.id)
    assert queue.cancel(job.id).state == "running"
    claim.release()


def test_a_runner_takes_up_a_job_that_lost_its_process_while_it_runs(workspace, queue, monkeypatch):
    monkeypatch.setattr(runner, "ORPHANS", 1)
    with JobRunner(workspace):
        job = queue.add("count-lightly", {"steps": 200, "pause": 0.01})
        until(lambda: queue.get(job.id).state == "running")
        with queue._catalogue.reading():  # a look at the queue does not disturb a job that lives
            time.sleep(0.6)
        assert queue.get(job.id).attempts == 1
        until(lambda: queue.get(job.id).finished)
    other = queue.add("count-lightly", {"steps": 2})
    queue.claim(other.id).release()
    assert queue.get(other.id).state == "running"
    with JobRunner(workspace):
        until(lambda: queue.get(other.id).state == "done")


def test_an_unusual_result_is_stored_in_a_readable_form(workspace, queue):
    job = run_now(workspace, "odd")
    assert job.state == "done", job.traceback
    assert job.result["text"] == "half \\ud800 and \\0"
    assert (job.result["share"], job.result["count"]) == (None, 3)


def test_a_log_that_cannot_be_written_does_not_stop_the_job(workspace, queue, monkeypatch):
    job = queue.add("count", {"steps": 3})
    (queue.folder(job.id) / "log.txt").mkdir()
    assert run_now(workspace, "count", resume=job.id).state == "done"


def test_parameters_that_cannot_be_stored_are_rejected(queue):
    for wrong in ("half \ud800", "\0", float("nan")):
        with pytest.raises(BadInput, match="cannot be stored"):
            queue.add("count", {"steps": wrong})


def test_asking_for_a_job_never_breaks_the_server(reef):
    queue = JobQueue(reef)
    job = queue.add("count", {"steps": 3})
    odd = {"result": json.dumps({"share": float("nan"), "text": "\ud800"}), "error": "x"}
    reef.catalogue.execute(text("update job set result = :result, error = :error, done = 9e999, state = 'failed'"), odd)
    damaged = queue.add("count", {"steps": 3})
    reef.catalogue.execute(text("update job set result = '{' where id = :id"), {"id": damaged.id})
    app = FastAPI()
    failures.add_failures(app)
    app.include_router(jobs.router)
    app.state.app = AppState(reef)
    client = TestClient(app, raise_server_exceptions=False)
    answers = {number: client.get(f"/jobs/{number}") for number in (job.id, damaged.id, 0, -1, 2**63, 10**30)}
    assert {number: answer.status_code for number, answer in answers.items() if answer.status_code >= 500} == {}
    assert answers[job.id].json()["result"]["share"] is None
    for name in ("cancel", "retry"):
        assert client.post(f"/jobs/{2**63}/{name}").status_code < 500


def test_a_watcher_survives_progress_that_cannot_be_stored(workspace, queue, monkeypatch):
    job = queue.add("count", {"steps": 1000, "pause": 0.02})
    failing, note = threading.Event(), JobQueue.note

    def sometimes(self, number, **values):
        if not failing.is_set():
            failing.set()
            raise TypeError("not to be stored")
        note(self, number, **values)

    monkeypatch.setattr(JobQueue, "note", sometimes)
    with JobRunner(workspace):
        until(failing.is_set)
        queue.cancel(job.id)
        until(lambda: queue.get(job.id).state == "cancelled")
