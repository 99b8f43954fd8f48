"""The demonstration: made once, opened again in no time, its work in ordinary jobs."""

import numpy as np
import pytest
from PIL import Image

from benthoscope.app.commands.demo import demo_workspace, forget_demo, queue_steps, steps
from benthoscope.engine.jobs import JobQueue, run_now
from benthoscope.engine.problems import BadInput
from benthoscope.engine.workspace import NewRun


@pytest.fixture
def campaign(tmp_path):
    for dive in ("north", "south"):
        (tmp_path / "campaign" / dive).mkdir(parents=True)
        for number in range(2):
            Image.fromarray(np.full((30, 40, 3), 60 * number, np.uint8)).save(
                tmp_path / "campaign" / dive / f"{dive}{number}.png"
            )
    return tmp_path / "campaign"


def test_the_first_start_copies_the_images_and_queues_the_three_steps_in_order(tmp_path, campaign):
    with demo_workspace(tmp_path / "demo", campaign) as workspace:
        assert queue_steps(workspace, tmp_path / "demo" / "images") == ["import", "features", "cluster"]
        assert [job.kind for job in JobQueue(workspace).unfinished()] == ["import", "features", "cluster"]
        assert len(list((tmp_path / "demo" / "images").rglob("*.png"))) == 4


def test_a_second_start_queues_nothing_twice_and_takes_up_what_is_missing(tmp_path, campaign):
    with demo_workspace(tmp_path / "demo", campaign) as workspace:
        queue_steps(workspace, tmp_path / "demo" / "images")
    with demo_workspace(tmp_path / "demo", campaign) as workspace:
        assert queue_steps(workspace, tmp_path / "demo" / "images") == []
        for job in JobQueue(workspace).unfinished():
            JobQueue(workspace).cancel(job.id)
        step = steps(tmp_path / "demo" / "images")[0]
        assert run_now(workspace, step.kind, step.parameters).state == "done"
        assert queue_steps(workspace, tmp_path / "demo" / "images") == ["features", "cluster"]


def test_a_demo_whose_runs_a_person_deleted_is_left_alone(tmp_path, campaign):
    with demo_workspace(tmp_path / "demo", campaign) as workspace:
        run = workspace.runs.add(NewRun("mine", "gmc", "deep", {}, {}, {}), {"labels": np.zeros(1)})
        workspace.runs.delete(run.id)
        assert "cluster" not in queue_steps(workspace, tmp_path / "demo" / "images")


def test_a_copy_that_was_interrupted_is_made_again(tmp_path, campaign):
    (tmp_path / "demo" / "images.copying").mkdir(parents=True)
    (tmp_path / "demo" / "images.copying" / "half.png").write_bytes(b"")
    with demo_workspace(tmp_path / "demo", campaign):
        assert not list((tmp_path / "demo").rglob("half.png"))


def test_starting_afresh_throws_away_the_demo_and_nothing_else(tmp_path, campaign):
    demo_workspace(tmp_path / "demo", campaign).close()
    (tmp_path / "demo" / "notes.txt").write_text("mine")
    forget_demo(tmp_path / "demo")
    assert sorted(path.name for path in (tmp_path / "demo").iterdir() if path.suffix != ".lock") == ["notes.txt"]


def test_without_the_sample_the_error_says_how_to_make_one(tmp_path):
    with pytest.raises(BadInput, match="benthoscope sample"):
        demo_workspace(tmp_path / "demo", tmp_path / "nowhere")
