"""Discovery of objects in images of one object each, by the command line."""

import json

import numpy as np
import pytest
from fastapi.testclient import TestClient
from PIL import Image, ImageDraw
from typer.testing import CliRunner

from benthoscope.app.cli import app
from benthoscope.app.pages.runs.page import details
from benthoscope.app.server.application import ServerSettings, create_app
from benthoscope.app.session.app_state import AppState
from benthoscope.app.session.session import Session
from benthoscope.engine.jobs import run_now
from benthoscope.engine.jobs.cluster.discovered_objects import discovered_objects, recognition_text
from benthoscope.engine.metrics import confusion
from benthoscope.engine.workspace import Workspace
from benthoscope.engine.workspace.labels.vocabularies import NewTerm


def drawn(kind, rng):
    """A disc, a grid or a stripe at a random place on noise."""
    image = Image.new("L", (96, 96), 120)
    draw, at = ImageDraw.Draw(image), rng.integers(-6, 7, 2)
    if kind == 0:
        draw.ellipse((26 + at[0], 26 + at[1], 70 + at[0], 70 + at[1]), fill=230)
    elif kind == 1:
        for line in range(0, 96, 12):
            draw.line((line + at[0], 0, line + at[0], 96), fill=30, width=2)
            draw.line((0, line + at[1], 96, line + at[1]), fill=30, width=2)
    else:
        draw.polygon([(0, 40 + at[0]), (96, 60 + at[1]), (96, 76 + at[1]), (0, 56 + at[0])], fill=30)
    return Image.fromarray(np.clip(np.asarray(image) + rng.normal(0, 3, (96, 96)), 0, 255).astype(np.uint8))


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    """90 images of three kinds of objects; the name of a file begins with its kind."""
    folder, rng = tmp_path_factory.mktemp("objects"), np.random.default_rng(0)
    (folder / "images").mkdir()
    for number in range(90):
        drawn(number % 3, rng).save(folder / "images" / f"{number % 3}-{number:02d}.png")
    (folder / "images" / "broken.png").write_bytes(b"no image")
    with Workspace.create(folder / "objects") as made:
        assert run_now(made, "import", {"folder": str(folder / "images")}).state == "done"
        yield made


def command(workspace, *words):
    words = ["discover", *words, "--workspace", str(workspace.folder), "--json"]
    return json.loads(CliRunner().invoke(app, words, catch_exceptions=False).stdout)


def kinds_of(workspace, run):
    paths = {image.id: image.path for image in workspace.library.images(run.array("image_ids").tolist())}
    return np.array([int(paths[number][0]) for number in run.array("image_ids").tolist()])


def test_kinds_of_objects_are_discovered(workspace):
    result = command(workspace)
    assert result["images"] == 90 and sum(each["images"] for each in result["objects"]) == 90
    assert all(len(each["examples"]) == min(each["images"], 5) for each in result["objects"])
    assert result["recognition"] == {"tested": 0, "accuracy": None}
    run = workspace.runs.get(result["run"])
    assert run.model == "mbvdp" and run.features == "pyramid-kernel"
    joint = confusion(kinds_of(workspace, run), run.array("labels"))
    assert joint.max(0).sum() / 90 > 0.9  # kinds may be subdivided, but are not mixed


def test_objects_named_from_five_images_recognise_the_others(workspace):
    run = workspace.runs.get(command(workspace, "--width", "0.03", "--name", "named")["run"])
    person = workspace.people.named("Ada")
    shapes = workspace.vocabularies.add("shapes", [NewTerm((name,)) for name in ("disc", "grid", "stripe")])
    terms = sorted(workspace.vocabularies.terms(shapes.id), key=lambda term: term.name)
    kinds = kinds_of(workspace, run)
    for kind, term in enumerate(terms):
        workspace.labels.label(person.id, run.array("image_ids")[kinds == kind].tolist(), term.id)
    objects, recognition = discovered_objects(workspace, run)
    assert {each.name for each in objects} == {"disc", "grid", "stripe"}
    assert recognition.tested == 90 - sum(min(each.images, 5) for each in objects)
    assert recognition.accuracy > 0.9
    shown = command(workspace, "--run", "named")
    assert shown["recognition"]["accuracy"] == recognition.accuracy
    assert "get the right name" in recognition_text(shown["recognition"])
    application = create_app(workspace, ServerSettings(token=""))
    with TestClient(application, base_url="http://127.0.0.1") as client:
        answer = client.get(f"/api/v1/runs/{run.id}/recognition").json()
    assert answer["accuracy"] == recognition.accuracy and answer["text"] == recognition_text(shown["recognition"])
    assert [each["examples"] for each in answer["objects"]] == [each["examples"] for each in shown["objects"]]
    assert details(Session(AppState(workspace), "runs", person="Ann"), run)["has_names"]


def test_uniform_images_are_refused_with_a_remedy(tmp_path):
    (tmp_path / "images").mkdir()
    for number in range(3):
        Image.new("L", (64, 64), 60 * number).save(tmp_path / "images" / f"{number}.png")
    with Workspace.create(tmp_path / "flat") as made:
        run_now(made, "import", {"folder": str(tmp_path / "images")})
        result = CliRunner().invoke(app, ["discover", "--workspace", str(made.folder)])
        assert "0 patches with texture" in str(result.exception)


def test_one_image_and_features_of_segments_are_refused(workspace, tmp_path):
    (tmp_path / "images").mkdir()
    drawn(0, np.random.default_rng(0)).save(tmp_path / "images" / "0.png")
    with Workspace.create(tmp_path / "one") as made:
        run_now(made, "import", {"folder": str(tmp_path / "images")})
        result = CliRunner().invoke(app, ["discover", "--workspace", str(made.folder)])
        assert "use more training images" in str(result.exception)
    result = CliRunner().invoke(app, ["discover", "--features", "patches", "--workspace", str(workspace.folder)])
    assert "describes segments" in str(result.exception)
