"""`benthoscope sample`, as a person or a script calls it."""

import json
from types import SimpleNamespace

import pytest
import typer
from typer.testing import CliRunner

from benthoscope import sample_data
from benthoscope.app.commands.sample import ImageRate, sample
from benthoscope.engine.problems import BadInput
from benthoscope.sample_data import read_truth

SMALL = ("--dives", "2", "--images", "8", "--size", "96x72", "--workers", "1")


def run(*words):
    app = typer.Typer()
    app.command()(sample)
    return CliRunner().invoke(app, [str(word) for word in words])


def test_a_campaign_is_made_where_one_asks(tmp_path):
    result = run(tmp_path / "dives", *SMALL)
    assert result.exit_code == 0
    assert "8 images in 2 dives" in " ".join(result.output.split())
    assert len(read_truth(tmp_path / "dives").images) == 8


def test_albums_are_made_where_one_asks(tmp_path):
    run(tmp_path / "photos", "--flavour", "albums", "--albums", 3, "--images", 9, "--size", "96x72", "--workers", 1)
    assert {image.group for image in read_truth(tmp_path / "photos").images} == {
        "2018-03 Lisbon",
        "2019-02 Dolomites",
        "2019-12 Tasmania",
    }


def test_without_a_folder_the_flavour_names_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run(*SMALL)
    assert (tmp_path / "sample-campaign" / "sample.json").is_file()


def test_json_is_for_scripts(tmp_path):
    content = json.loads(run(tmp_path / "c", *SMALL, "--json").stdout)
    assert {name: content[name] for name in ("folder", "flavour", "dives", "images")} == {
        "folder": str(tmp_path / "c"),
        "flavour": "campaign",
        "dives": 2,
        "images": 8,
    }


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("--flavour", "albms"), "did you mean 'albums'?"),
        (("--size", "big"), "write them as 320x240"),
        (("--images", "3", "--dives", "5"), "3 images cannot fill 5 dives"),
        (("--seed", "-1"), "must be 0 or more"),
    ],
)
def test_what_cannot_be_is_said_in_one_line(tmp_path, words, hint):
    error = run(tmp_path / "c", *words).exception
    assert isinstance(error, BadInput)
    assert hint in str(error)
    assert "\n" not in str(error)


def test_a_folder_in_use_is_named_with_the_way_out(tmp_path):
    (tmp_path / "thesis.txt").write_text("years of work")
    error = run(tmp_path, *SMALL).exception
    assert str(error) == f"{tmp_path}: is not empty; choose another folder, or add --overwrite to replace its sample"


def test_ctrl_c_keeps_what_is_done_and_says_so(tmp_path, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(sample_data, "make_campaign", interrupted)
    result = run(tmp_path / "c", *SMALL)
    assert result.exit_code == 130
    assert "run the same command to resume" in result.output


def test_the_pace_of_a_resumed_sample_does_not_count_what_was_there(monkeypatch):
    clock = iter((10.0, 12.0))
    own_time = SimpleNamespace(perf_counter=lambda: next(clock))  # all other modules keep the real clock
    monkeypatch.setattr("benthoscope.app.commands.sample.time", own_time)
    pace = ImageRate()
    pace(5000)
    assert pace(5400) == "200 images/s"
