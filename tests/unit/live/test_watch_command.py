"""The commands `watch` and `simulate-dive`."""

import csv
import json

import pytest
from typer.testing import CliRunner

from benthoscope.app.cli import app
from benthoscope.engine.jobs.live.simulation import images_of_folder, images_of_workspace, replay
from benthoscope.engine.problems import BadInput
from benthoscope.engine.workspace import Workspace
from tests.live_dives import write_image, write_images


def run(*words: str) -> str:
    result = CliRunner().invoke(app, [*words], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_a_simulated_dive_is_watched_and_finished_from_the_command_line(tmp_path):
    write_images(tmp_path / "source", 12, kinds=(0, 1))
    Workspace.create(tmp_path / "sea").close()
    camera, place = str(tmp_path / "camera"), ("--workspace", str(tmp_path / "sea"))
    run("simulate-dive", camera, "--rate", "500", "--from", str(tmp_path / "source"))
    settings = ("--features", "colour", "--first-images", "12", "--epoch", "12", "--dimensions", "4")
    result = json.loads(run("watch", camera, "--dive", "north", "--finish", *settings, *place, "--json"))
    assert (result["name"], result["images"], result["clusters"]) == ("north", 12, 2)
    (dive,) = json.loads(run("watch", "--list", *place, "--json"))
    assert (dive["state"], dive["images"], dive["run"]) == ("finished", 12, result["run"])
    assert "north" in run("watch", "--list", *place)
    with Workspace.open(tmp_path / "sea") as workspace:
        assert len(images_of_workspace(workspace, "north")) == 12
        with pytest.raises(BadInput, match="there is no 'south'"):
            images_of_workspace(workspace, "south")


def test_a_replay_repeats_images_under_new_names_and_with_other_content(tmp_path):
    write_images(tmp_path / "source", 2)
    images = images_of_folder(tmp_path / "source")
    assert replay(images, tmp_path / "camera", rate=1000, count=5) == 5
    files = sorted((tmp_path / "camera").glob("*.png"))
    assert len(files) == 5 and len({path.read_bytes() for path in files}) == 5
    with (tmp_path / "camera" / "positions.csv").open() as file:
        assert sorted(row["image"] for row in csv.DictReader(file)) == [path.name for path in files]
    for rate in (0, -1):
        with pytest.raises(BadInput, match="greater than 0"):
            replay(images, tmp_path / "camera", rate=rate)


def test_the_name_of_a_copy_never_replaces_another_image(tmp_path):
    for name in ("a.png", "a_1.png"):
        write_image(tmp_path / "source", len(name), 0, name=name)
    images = images_of_folder(tmp_path / "source")
    assert replay(images, tmp_path / "camera", rate=1000, count=6) == 6
    files = sorted((tmp_path / "camera").glob("*.png"))
    assert len(files) == 6 and (tmp_path / "camera" / "a_1.png").read_bytes() == images[1].path.read_bytes()


def test_a_replay_of_an_image_that_is_gone_ends_with_one_clear_line(tmp_path):
    images = images_of_folder(write_images(tmp_path / "source", 1)[0].parent)
    images[0].path.unlink()
    with pytest.raises(BadInput, match=r"image_0000\.png: cannot be copied to .*camera \(No such file"):
        replay(images, tmp_path / "camera", rate=1000)


def test_the_sample_campaign_is_replayed_in_time_order_with_positions():
    from benthoscope.sample_data import campaign_path

    images = images_of_folder(campaign_path())
    stamps = [image.path.name[3:18] for image in images]
    assert stamps == sorted(stamps) and len(images) == 240
    assert all(image.record.latitude is not None for image in images)
