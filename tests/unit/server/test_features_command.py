"""`benthoscope features` as people type it."""

import json

import numpy as np
import pytest
import typer
from PIL import Image
from typer.testing import CliRunner

from benthoscope.app.commands.features import DescriptorCommand, features
from benthoscope.engine.features import DESCRIPTORS
from benthoscope.engine.problems import BenthoscopeError
from benthoscope.engine.workspace import Workspace
from benthoscope.engine.workspace.records import NewImage

app = typer.Typer(rich_markup_mode="rich")
app.command(cls=DescriptorCommand)(features)


@pytest.fixture
def folder(tmp_path):
    """A workspace with one dive of twelve pictures and a broken one."""
    (tmp_path / "images").mkdir()
    rng = np.random.default_rng(0)
    for number in range(12):
        picture = np.clip(rng.normal(100, 30, (48, 64, 3)) * [0.5, 1, 0.9], 0, 255).astype(np.uint8)
        Image.fromarray(picture).save(tmp_path / "images" / f"{number:02d}.png")
    (tmp_path / "images" / "broken.png").write_bytes(b"broken")
    with Workspace.create(tmp_path / "reef") as made:
        root = made.library.register_root(tmp_path / "images")
        group = made.library.group(made.library.collection("campaign").id, "dive")
        made.library.store_images(
            [
                NewImage(root.id, path.name, group.id, 1, 1, path.name, 64, 48, altitude=2.0)
                for path in sorted((tmp_path / "images").iterdir())
            ]
        )
    return tmp_path / "reef.benthos"


def run_features(folder, *words):
    return CliRunner().invoke(app, [*words, "--workspace", str(folder)], catch_exceptions=True)


def test_the_sets_made_and_the_images_skipped_are_told(folder):
    result = run_features(folder, "--descriptor", "mean,colour")
    assert result.exit_code == 0, result.output
    assert "mean" in result.output and "colour" in result.output and "1 images skipped" in result.output
    assert "broken.png" in result.output and "Next: benthoscope cluster --features mean" in result.output


def test_scripts_get_json(folder):
    content = json.loads(run_features(folder, "--descriptor", "mean", "--json").stdout)
    assert content["sets"][0]["name"] == "mean" and content["sets"][0]["added"] == 12 and content["skipped"] == 1


def test_the_water_correction_is_shown_before_and_after(folder, tmp_path):
    file = tmp_path / "pairs.png"
    result = run_features(folder, "--water", "--preview", str(file))
    assert result.exit_code == 0 and "lighting and tint are corrected" in result.output
    with Image.open(file) as pairs:
        before, after = np.array_split(np.asarray(pairs).astype(float), 2, axis=1)
    assert np.ptp(after.mean((0, 1))) < 0.6 * np.ptp(before.mean((0, 1)))  # the colour cast is gone
    with Workspace.open(folder) as workspace:
        assert workspace.features.names() == []


def test_the_help_explains_every_kind_and_shows_examples():
    help_text = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "200"}).output
    assert all(f"{word}: " in help_text for word in DESCRIPTORS) and "Examples" in help_text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--descriptor", ","], "--descriptor: names no descriptor; write it like deep,segments"),
        (["--preview", "a.png"], "needs --water; add --water"),
        (["--normalise", "1,2/3"], "write it like 0.485"),
        (["--normalise", "0,0,0/0,1,1"], "write it like 0.485"),
        (["--water", "--preview", "a.txt"], "is not the name of an image file"),
        (["--descriptor", "depe"], "did you mean 'deep'"),
        (["--descriptor", "onnx"], "give one with --onnx FILE"),
        (["--onnx", "gone.onnx"], "gone.onnx: there is no such file"),
        (["--descriptor", "mean", "--reuse-from", "nowhere"], "not a readable descriptor"),
        (["--descriptor", "mean,colour", "--name", "mine"], "one name for 2 feature sets"),
    ],
)
def test_a_mistake_is_answered_with_one_line_that_says_what_to_do(folder, words, message):
    result = run_features(folder, *words)
    assert isinstance(result.exception, BenthoscopeError), result.output
    assert message in str(result.exception) and "\n" not in str(result.exception)
