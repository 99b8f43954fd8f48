"""From a folder of images to clusters in one step: the job, the command and the server's address for it."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from benthoscope.app.cli import app
from benthoscope.engine.features import available
from benthoscope.engine.jobs import JobQueue, JobRunner, run_now
from benthoscope.engine.problems import BadInput
from benthoscope.engine.workspace import Workspace
from tests.unit.jobs.test_jobs import until

WORD = available("deep")[0]
COLOURS = ((200, 60, 40), (30, 120, 60), (20, 40, 160))


@pytest.fixture
def folder(tmp_path) -> Path:
    """Two dives of 18 images, each mostly of one of three colours."""
    rng = np.random.default_rng(0)
    for number in range(36):
        path = tmp_path / "images" / f"dive{number % 2}" / f"{number:03}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        noise = rng.normal(0, 12, (48, 64, 3))
        Image.fromarray(np.clip(np.array(COLOURS[number % 3]) + noise, 0, 255).astype(np.uint8)).save(path)
    return tmp_path / "images"


@pytest.fixture
def reef(tmp_path):
    with Workspace.create(tmp_path / "reef") as made:
        yield made


def test_one_job_leads_from_a_folder_to_clusters_with_levels(reef, folder):
    messages = []
    job = run_now(reef, "start", {"folder": str(folder)}, watch=messages.append)
    assert job.state == "done", job.traceback
    assert (job.result["images"], job.result["new"], job.done, job.total) == (36, 36, 100, 100)
    assert reef.library.count_images() == 36 and WORD in reef.features
    run = reef.runs.current()
    assert run.id == job.result["run"] and run.summary["clusters"] == job.result["clusters"]
    assert set(reef.runs.levels(run)) == {"coarser", "usual", "finer"}
    assert [each.done for each in messages] == sorted(each.done for each in messages)


@pytest.mark.parametrize(
    "parameters, line",
    [
        ({"width": -1}, "width: must be a number greater than 0 .got -1."),
        ({"seed": -4}, "seed: must be between 0"),
        ({"seed": 2**32}, "seed: must be between 0"),
    ],
)
def test_parameters_of_later_steps_are_checked_before_the_job_is_queued(reef, folder, parameters, line):
    with pytest.raises(BadInput, match=line):
        JobQueue(reef).add("start", {"folder": str(folder), **parameters})
    assert JobQueue(reef).all() == []


def test_a_failing_step_is_named_and_the_retry_repeats_nothing(reef, folder, monkeypatch):
    import benthoscope.engine.jobs.describe.describe_images as describing

    def broken(*_, **__):
        raise RuntimeError("no network")

    with monkeypatch.context() as patch:
        patch.setattr(describing, "features", broken)
        job = run_now(reef, "start", {"folder": str(folder)})
    assert job.state == "failed"
    assert "Step 2 of 3, describe images: RuntimeError: no network" in job.error and "retry this job" in job.error
    JobQueue(reef).retry(job.id)
    shutil.rmtree(folder / "dive1")  # a second import would notice that these images are gone
    again = run_now(reef, "start", resume=job.id)
    assert again.state == "done", again.traceback
    assert again.result["images"] == 36


def test_a_folder_without_images_fails_at_the_first_step(reef, tmp_path):
    (tmp_path / "empty").mkdir()
    job = run_now(reef, "start", {"folder": str(tmp_path / "empty")})
    assert job.state == "failed" and "Step 1 of 3, import images" in job.error and "no images" in job.error


def test_cancelling_stops_the_whole_chain(reef, folder):
    queue = JobQueue(reef)
    job = queue.add("start", {"folder": str(folder)})
    with JobRunner(reef):
        until(lambda: queue.get(job.id).state == "running" and queue.get(job.id).message)
        queue.cancel(job.id)
        until(lambda: queue.get(job.id).finished)
    assert queue.get(job.id).state == "cancelled"
    assert all("stopped early" in run.name for run in reef.runs.all())  # the state of an interrupted clustering remains


def test_the_command_creates_a_workspace_and_resumes_a_stopped_job(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    import benthoscope.engine.jobs.cluster.cluster_images as clustering

    def broken(*_, **__):
        raise RuntimeError("power cut")

    with monkeypatch.context() as patch:
        patch.setattr(clustering, "cluster", broken)
        assert CliRunner().invoke(app, ["start", "images", "--json"]).exit_code != 0
    shown = CliRunner().invoke(app, ["start", "images", "--json"])
    assert shown.exit_code == 0, shown.output
    content = json.loads(shown.stdout)
    assert content["images"] == content["new"] == 36 and Path(content["workspace"]).name == "images.benthos"
    with Workspace.open(tmp_path / "images.benthos") as made:
        assert [job.kind for job in JobQueue(made).all()] == ["start"]  # resumed, not started a second time
        assert len(made.runs.all()) == 1
    again = json.loads(CliRunner().invoke(app, ["start", "images", "--json"]).stdout)  # more images: a second run
    assert again["new"] == 0 and again["run"] != content["run"]


def test_the_command_describes_its_options_as_import_and_cluster_do():
    import typer

    commands = typer.main.get_command(app).commands
    options = {name: {each.name: each for each in commands[name].params} for name in ("start", "import", "cluster")}
    for option in ("collection", "kind", "group_level"):
        assert vars(options["start"][option])["help"] == vars(options["import"][option])["help"]
    assert options["start"]["seed"].help == options["cluster"]["seed"].help


def test_the_command_rejects_paths_that_are_not_folders(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shown = CliRunner().invoke(app, ["start", "nowhere"])
    assert "is not a folder" in str(shown.exception) and list(tmp_path.iterdir()) == []
