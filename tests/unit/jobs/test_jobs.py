"""Jobs are queued, reported, cancelled and resumed; errors are one line."""

import threading
import time
from itertools import pairwise

import pytest
from typer.testing import CliRunner

import tests.example_jobs  # noqa: F401  (registers the kinds used here)
from benthoscope.app.cli import app
from benthoscope.engine.jobs import JobQueue, JobRunner, kinds, run_now, runner
from benthoscope.engine.jobs.context import JobContext
from benthoscope.engine.problems import BadInput
from benthoscope.engine.progress import Progress, StepRate, format_duration, seconds_left
from benthoscope.engine.workspace import Workspace


@pytest.fixture
def queue(workspace):
    return JobQueue(workspace)


def until(condition, seconds=20.0):
    """Waits; jobs run on their own threads."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def test_a_job_runs_to_its_end_and_keeps_its_result(workspace, queue):
    job = run_now(workspace, "count", {"steps": 5})
    assert (job.state, job.result, job.done, job.total) == ("done", {"total": 10.0}, 5, 5)
    assert not job.error
    assert "done" in queue.log(job.id)
    assert sorted(path.name for path in queue.folder(job.id).iterdir()) == ["lock", "log.txt"]


def test_the_runner_takes_the_highest_priority_first_and_heavy_jobs_one_at_a_time(workspace, queue):
    jobs = [queue.add("count", {"steps": 3, "pause": 0.05}, priority=priority) for priority in (0, 5, 1)]
    with JobRunner(workspace):
        until(lambda: all(queue.get(job.id).finished for job in jobs))
    ended = [queue.get(job.id) for job in jobs]
    by_start = sorted(ended, key=lambda job: job.started_at)
    assert [job.priority for job in by_start] == [5, 1, 0]
    assert all(later.started_at >= earlier.finished_at - 1e-3 for earlier, later in pairwise(by_start))


def test_light_jobs_do_not_wait_for_a_heavy_one(workspace, queue):
    heavy = queue.add("count", {"steps": 1000, "pause": 0.05})
    light = queue.add("count-lightly", {"steps": 2})
    with JobRunner(workspace):
        until(lambda: queue.get(light.id).state == "done")
        assert queue.get(heavy.id).state == "running"
        queue.cancel(heavy.id)
        until(lambda: queue.get(heavy.id).finished)


def test_two_runners_on_one_workspace_run_every_job_once(workspace, queue, tmp_path):
    paths = [tmp_path / f"{number}.txt" for number in range(6)]
    jobs = [queue.add("count-lightly", {"steps": 20, "path": str(path)}) for path in paths]
    with JobRunner(workspace), JobRunner(workspace):
        until(lambda: all(queue.get(job.id).finished for job in jobs))
    assert all(path.read_text().split() == [str(n) for n in range(20)] for path in paths)


def test_a_running_job_is_cancelled_within_a_second_and_can_be_taken_up_again(workspace, queue):
    job = queue.add("count", {"steps": 60, "pause": 0.05})
    with JobRunner(workspace):
        until(lambda: queue.get(job.id).done > 2)
        queue.cancel(job.id)
        until(lambda: queue.get(job.id).state == "cancelled")
        came_to = queue.get(job.id).done
        queue.retry(job.id)
        until(lambda: queue.get(job.id).state == "done")
    assert queue.get(job.id).result == {"total": sum(range(60))}
    assert 2 < came_to < 60


def test_a_waiting_job_is_cancelled_at_once(queue):
    job = queue.add("count", {"steps": 5})
    assert queue.cancel(job.id).state == "cancelled"


def test_closing_the_process_queues_its_jobs_for_later(workspace, queue):
    job = queue.add("count", {"steps": 40, "pause": 0.05})
    runner = JobRunner(workspace).start()
    until(lambda: queue.get(job.id).done > 2)
    runner.stop()
    assert queue.get(job.id).state == "queued"
    with JobRunner(workspace):
        until(lambda: queue.get(job.id).state == "done")
    assert queue.get(job.id).result == {"total": sum(range(40))}


def test_a_heavy_job_started_by_a_command_waits_for_the_running_one(workspace, queue):
    first = queue.add("count", {"steps": 1000, "pause": 0.05})
    with JobRunner(workspace):
        until(lambda: queue.get(first.id).state == "running")
        messages = []
        second = threading.Thread(
            target=run_now,
            args=(workspace, "count", {"steps": 1}),
            kwargs={"watch": lambda job: messages.append(job.message)},
        )
        second.start()
        until(lambda: "waiting for another job to end" in messages)
        queue.cancel(first.id)
        second.join(20)
    assert queue.all()[0].state == "done"


def test_a_watcher_can_stop_the_job_by_raising(workspace, queue):
    def interrupt(job):
        if job.done > 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_now(workspace, "count", {"steps": 1000, "pause": 0.05}, watch=interrupt)
    assert queue.all()[0].state == "cancelled"


def test_the_same_command_resumes_a_stopped_job_that_has_a_checkpoint(workspace, queue):
    steps = {"steps": 1000, "pause": 0.02}

    class Stop(Exception):
        pass

    def watch(job):
        if job.done >= 3:
            raise Stop

    with pytest.raises(Stop):
        run_now(workspace, "count", steps, watch=watch)
    stopped = queue.all()[0]
    assert stopped.state == "cancelled"
    assert queue.requeue_stopped("count", {**steps, "steps": 999}) is None
    assert queue.requeue_stopped("count-lightly", steps) is None
    assert queue.requeue_stopped("count", steps).id == stopped.id and queue.get(stopped.id).state == "queued"
    assert queue.requeue_stopped("count", steps).id == stopped.id  # also one that waits because its process died
    (queue.folder(stopped.id) / "checkpoint.json").unlink()
    assert queue.requeue_stopped("count", steps) is None
    run_now(workspace, "count", {"steps": 2})
    assert queue.requeue_stopped("count", {"steps": 2}) is None  # it ended


@pytest.mark.parametrize(
    "kind, line",
    [
        ("input", "dive 3: has no images; import some"),
        ("memory", "Make trouble: not enough memory; close other programs, or use a smaller feature set"),
        ("bug", "Make trouble: KeyError: 'kelpp'; the job's log has the details"),
    ],
)
def test_a_failure_shows_one_line_and_keeps_the_traceback(workspace, kind, line):
    job = run_now(workspace, "trouble", {"kind": kind})
    assert (job.state, job.error) == ("failed", line)
    assert "Traceback" in job.traceback


def test_a_job_whose_process_always_dies_is_given_up(workspace, queue):
    job = queue.add("count", {"steps": 5})
    for _ in range(10):
        queue.claim(job.id).release()  # as the system does for a process that dies
        queue.requeue_orphans()
    assert queue.get(job.id).state == "failed"
    assert "its process died" in queue.get(job.id).error


def test_an_unknown_kind_gives_the_most_similar_name(queue):
    with pytest.raises(BadInput, match="did you mean 'import'"):
        queue.add("imprt")


def test_every_kind_that_is_registered_exists():
    assert [kind.name for kind in kinds() if not callable(kind.function())] == []


def test_an_older_checkpoint_stays_until_the_newer_one_is_complete(workspace, queue, monkeypatch):
    from benthoscope.engine.jobs import context as module

    job = module.JobContext(queue.add("count", {"steps": 1}), queue.folder(1))
    job.save_checkpoint({"next": 1})

    def torn(folder, pieces):
        folder.mkdir()
        raise OSError("disk full")

    monkeypatch.setattr(module, "save_parts", torn)
    with pytest.raises(OSError, match="disk full"):
        job.save_checkpoint({"next": 2})
    assert job.load_checkpoint() == {"next": 1}


def test_figures_stay_while_the_result_of_a_fit_is_stored(queue):
    context = JobContext(queue.add("count", {"steps": 1}), queue.folder(1))
    fit = {"trace": [[1, 0.5, 2]]}
    context.on_step(Progress(1, 2, "fit", fit))
    context.progress(2, 2, "exemplars")
    message, figures = (context.snapshot()[1][name] for name in ("message", "figures"))
    assert (message, figures) == ("exemplars", fit)


def test_the_rate_is_that_of_this_attempt_and_the_time_left_follows_from_it():
    moments = iter([0.0, 1.0, 2.0])
    pace = StepRate(lambda: next(moments))
    for done in (5_000, 5_010, 5_020):  # an earlier attempt did the first 5,000
        pace.note(done)
    assert pace.rate == 10
    assert seconds_left(5_020, 5_620, pace.rate) == 60
    assert seconds_left(1, None, 10) is None
    assert [format_duration(s) for s in (None, 12.2, 600, 7_200 * 2)] == ["", "12 s", "10 min", "4.0 h"]


def test_a_job_that_is_done_shows_the_whole_bar(workspace, queue):
    job = run_now(workspace, "odd")  # its last progress report says 0 of 1
    assert job.state == "done" and job.done == job.total == 1
    assert queue.all()[0].done == 1
    result = CliRunner().invoke(app, ["jobs", "--workspace", str(workspace.folder)])
    assert "100 %" in result.stdout and " 0 %" not in result.stdout


def test_changes_wake_all_who_wait_for_the_jobs_of_a_folder(queue, workspace, tmp_path):
    with Workspace.open(workspace.folder) as same, Workspace.create(tmp_path / "other") as other:
        ours, others = threading.Event(), threading.Event()
        with JobQueue(same).changes.wake(ours), JobQueue(other).changes.wake(others):
            for change in (
                lambda: queue.add("count", {"steps": 1}),
                lambda: queue.cancel(1),
                lambda: queue.retry(1),
                lambda: queue.finish(1, "failed"),
            ):
                ours.clear()
                change()
                assert ours.is_set() and not others.is_set()
        ours.clear()
        queue.retry(1)
        assert not ours.is_set()


def test_the_room_of_a_job_that_ended_is_used_at_once(workspace, queue, monkeypatch):
    monkeypatch.setattr(runner, "LOOK", 600.0)
    with JobRunner(workspace):
        jobs = [queue.add("count", {"steps": 1}) for _ in range(5)]
        until(lambda: all(queue.get(job.id).finished for job in jobs))
    assert [queue.get(job.id).state for job in jobs] == ["done"] * 5
