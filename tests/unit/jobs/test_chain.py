"""Jobs in a row: one bar, one cancellation, and a resumption that repeats no finished step."""

import pytest

import tests.example_jobs  # noqa: F401  (registers the kinds used here)
from benthoscope.app.session.watch import JobWatch
from benthoscope.engine.jobs import JobQueue, JobRunner, run_now
from benthoscope.engine.problems import BadInput
from tests.unit.jobs.test_jobs import until

COUNT, LIGHT = "count", "count-lightly"


@pytest.fixture
def queue(workspace):
    return JobQueue(workspace)


def step(job_kind, share=1, **parameters):
    return {"kind": job_kind, "title": f"do {job_kind}", "parameters": parameters, "share": share}


def numbers(path):
    return path.read_text().split()


def test_a_chain_runs_its_steps_in_order_and_keeps_their_results(workspace, queue, tmp_path):
    path = tmp_path / "numbers.txt"
    steps = [step(COUNT, steps=3, path=str(path)), step(LIGHT, steps=2, path=str(path))]
    job = run_now(workspace, "chain", {"steps": steps})
    assert job.state == "done", job.traceback
    assert job.result == {"total": 1.0, "steps": [{"total": 3.0}, {"total": 1.0}]}
    assert numbers(path) == ["0", "1", "2", "0", "1"]
    assert sorted(position.name for position in queue.folder(job.id).iterdir()) == ["lock", "log.txt"]


def test_one_bar_grows_over_all_steps_and_names_the_step(workspace):
    shares = []
    steps = [step(COUNT, 3, steps=8, pause=0.15), step(LIGHT, 1, steps=8, pause=0.15)]
    job = run_now(workspace, "chain", {"steps": steps}, watch=shares.append)
    done = [each.done for each in shares if each.total]
    assert done == sorted(done) and job.done == job.total == 100
    first = [each.done for each in shares if "Step 1 of 2, do count" in each.message]
    second = [each.done for each in shares if "Step 2 of 2, do count-lightly" in each.message]
    assert first and second
    assert max(first) <= 75 <= min(second)  # the first step has three of four parts of the bar
    assert all(each.rate is None for each in shares)  # per cent of unlike steps have no common pace


def test_a_watch_reports_each_finished_step_of_a_running_chain(workspace, queue, tmp_path):
    reported = []
    watch = JobWatch(queue, lambda job: reported.append((job.state, job.steps_done)))
    watch.refresh()
    steps = [step(COUNT, steps=4, pause=0.3), step(LIGHT, steps=1000, pause=0.02)]
    job = queue.add("chain", {"steps": steps})
    with JobRunner(workspace):
        until(lambda: queue.get(job.id).step_kind == COUNT)
        watch.refresh()
        until(lambda: queue.get(job.id).step_kind == LIGHT)
        watch.refresh()
        watch.refresh()
        assert reported == [("running", 1)]
        queue.cancel(job.id)
        until(lambda: queue.get(job.id).finished)
    watch.refresh()
    assert reported == [("running", 1), ("cancelled", 0)]
    assert queue.get(job.id).step_kind is None


def test_a_failing_step_is_named_and_the_chain_resumes_there(workspace, queue, tmp_path):
    path = tmp_path / "numbers.txt"
    job = run_now(workspace, "chain", {"steps": [step(COUNT, steps=3, path=str(path)), step("trouble", kind="input")]})
    assert job.state == "failed"
    assert job.error == (
        "Step 2 of 2, do trouble: dive 3: has no images; import some, then retry this job: it resumes at this step"
    )
    queue.retry(job.id)
    again = run_now(workspace, "chain", resume=job.id)
    assert again.state == "failed" and numbers(path) == ["0", "1", "2"]


def test_a_bug_in_a_step_is_named_too_and_keeps_its_traceback(workspace):
    job = run_now(workspace, "chain", {"steps": [step("trouble", kind="bug")]})
    assert "Step 1 of 1, do trouble: KeyError: 'kelpp'" in job.error and "Traceback" in job.traceback


def test_cancelling_the_chain_stops_the_step_and_begins_no_other(workspace, queue, tmp_path):
    path = tmp_path / "numbers.txt"
    steps = [step(COUNT, steps=1000, pause=0.02), step(LIGHT, steps=1, path=str(path))]
    job = queue.add("chain", {"steps": steps})
    with JobRunner(workspace):
        until(lambda: queue.get(job.id).done > 0)
        queue.cancel(job.id)
        until(lambda: queue.get(job.id).finished)
    assert queue.get(job.id).state == "cancelled" and not path.exists()


def test_an_interrupted_chain_resumes_inside_its_step(workspace, queue, tmp_path):
    first, second = tmp_path / "first.txt", tmp_path / "second.txt"
    steps = [step(COUNT, steps=2, path=str(first)), step(LIGHT, steps=60, pause=0.03, path=str(second))]
    job = queue.add("chain", {"steps": steps})
    runner = JobRunner(workspace).start()
    until(lambda: second.exists() and len(numbers(second)) > 3)
    runner.stop()
    assert queue.get(job.id).state == "queued"
    with JobRunner(workspace):
        until(lambda: queue.get(job.id).finished)
    assert numbers(first) == ["0", "1"]
    assert numbers(second) == [str(number) for number in range(60)]
    assert queue.get(job.id).result["steps"][1] == {"total": float(sum(range(60)))}


@pytest.mark.parametrize(
    "steps, line",
    [
        ([{"title": "no kind"}], "each step needs a kind"),
        ([], "no steps"),
        ([{"kind": "cuont"}], "did you mean 'count'"),
        ([{"kind": "count", "parameters": 5}], "parameters of a step has a wrong type"),
        ([{"kind": ["count"]}], "kind of a step has a wrong type"),
        ([{"kind": "count", "tilte": "a"}], "a step with kind, tilte"),
        ([{"kind": "count", "share": 0}], "share of a step must be greater than 0"),
    ],
)
def test_steps_that_cannot_be_run_are_rejected(workspace, steps, line):
    with pytest.raises(BadInput, match=line):
        JobQueue(workspace).add("chain", {"steps": steps})
    assert JobQueue(workspace).unfinished() == []
