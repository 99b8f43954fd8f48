"""The commands, as a person or a script would call them."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from app.cli import app
from engine.jobs import JobQueue
from engine.workspace import NewImage, Workspace

HEAVY = ("numpy", "scipy", "sqlalchemy", "sklearn", "numba", "panel", "bokeh", "PIL", "onnxruntime", "dask", "fastapi")


def benthoscope(*words, cwd=None, **environment):
    """Runs the command in a process of its own."""
    command = [sys.executable, "-c", "from app.cli import main; main()", *words]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, timeout=120,
                          env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), **environment})


@pytest.fixture
def reef(tmp_path):
    """A workspace with three images of one dive."""
    images = tmp_path / "images"
    images.mkdir()
    with Workspace.create(tmp_path / "reef") as made:
        group = made.library.group(made.library.collection("PS201502").id, "r20150212")
        root = made.library.register_root(images)
        for name in ("a.jpg", "b.jpg", "c.jpg"):
            (images / name).write_bytes(name.encode() * 100)
        hashes = [hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(images.iterdir())]
        made.library.store_images([NewImage(root.id, name, group.id, 500, 1, sha, 320, 240, depth=20.0)
                                   for name, sha in zip(("a.jpg", "b.jpg", "c.jpg"), hashes, strict=True)])
    return tmp_path


def commands(command=None, path=()):
    """Every command there is, with its words."""
    command = command or get_command(app)
    for name, found in getattr(command, "commands", {}).items():
        yield (*path, name), found
        yield from commands(found, (*path, name))


@pytest.mark.parametrize("words", [" ".join(path) for path, _ in commands()])
def test_every_command_has_help_with_an_example_or_says_what_it_does(words):
    path = tuple(words.split())
    command = dict(commands())[path]
    assert command.help and len(command.help.split()) > 3
    if len(path) == 1:
        assert "benthoscope" in command.help, "show an example"
    for parameter in command.params:
        assert getattr(parameter, "help", None) or parameter.name == "help", f"{words}: {parameter.name} has no help"


def test_help_loads_nothing_heavy():
    code = ("import sys; from app.cli import app; from typer.testing import CliRunner; "
            "assert CliRunner().invoke(app, ['--help']).exit_code == 0; print(*sys.modules)")
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True,
                            cwd=Path(__file__).parents[2]).stdout.split()
    assert [name for name in HEAVY if name in loaded] == []


def test_a_new_workspace_says_what_to_do_next(tmp_path):
    made = benthoscope("init", "reef", cwd=tmp_path)
    assert made.returncode == 0 and "benthoscope import" in made.stdout
    shown = benthoscope("status", cwd=tmp_path)
    assert "0 images" in shown.stdout and "benthoscope import" in shown.stdout


def test_status_as_json_tells_dives_counts_and_depths(reef):
    told = json.loads(benthoscope("status", "--json", cwd=reef).stdout)
    assert told["images"] == 3
    assert told["collections"][0]["groups"][0]["depth"] == [20.0, 20.0]


def test_an_error_is_one_line_with_code_2_and_json_for_scripts(tmp_path):
    failed = benthoscope("status", cwd=tmp_path)
    assert (failed.returncode, failed.stdout, len(failed.stderr.splitlines())) == (2, "", 1)
    assert "benthoscope init NAME" in failed.stderr
    as_json = benthoscope("status", "--json", cwd=tmp_path)
    assert as_json.returncode == 2
    assert set(json.loads(as_json.stdout)["error"]) == {"where", "what", "remedy"}


def test_of_several_workspaces_one_has_to_be_named(reef):
    Workspace.create(reef / "other").close()
    failed = benthoscope("status", cwd=reef)
    assert failed.returncode == 2 and "other.benthos, reef.benthos" in failed.stderr
    assert benthoscope("status", cwd=reef, BENTHOSCOPE_WORKSPACE="reef").returncode == 0


def test_relink_finds_moved_and_renamed_images(reef):
    (reef / "images").rename(reef / "disk2")
    (reef / "disk2" / "b.jpg").rename(reef / "disk2" / "renamed.jpg")
    told = json.loads(benthoscope("relink", "disk2", "--json", cwd=reef).stdout)
    assert (told["found"], told["renamed"], told["missing"]) == (2, 1, 0)
    with Workspace.open(reef / "reef") as workspace:
        paths = workspace.library.locate(workspace.library.columns("id")["id"])
    assert sorted(path.name for path in paths.values()) == ["a.jpg", "c.jpg", "renamed.jpg"]
    assert all(path.exists() for path in paths.values())


def test_relink_to_a_folder_without_the_images_changes_nothing(reef):
    (reef / "empty").mkdir()
    failed = benthoscope("relink", "empty", cwd=reef)
    assert failed.returncode == 2 and "holds none of the 3 images" in failed.stderr
    with Workspace.open(reef / "reef") as workspace:
        assert workspace.library.roots()[0].path == str(reef / "images")


def test_relink_does_not_take_a_look_alike_for_the_image(reef):
    (reef / "disk2").mkdir()
    (reef / "disk2" / "a.jpg").write_bytes(b"x" * 500)  # name and size agree, content does not
    (reef / "disk2" / "b.jpg").write_bytes((reef / "images" / "b.jpg").read_bytes())
    told = json.loads(benthoscope("relink", "disk2", "--json", cwd=reef).stdout)
    assert (told["found"], told["missing"]) == (1, 2)


def test_jobs_are_listed_cancelled_and_their_log_read(reef):
    with Workspace.open(reef / "reef") as workspace:
        number = JobQueue(workspace).add("relink", {"folder": "nowhere"}).id
    assert json.loads(benthoscope("jobs", "--json", cwd=reef).stdout)[0]["state"] == "queued"
    assert benthoscope("jobs", "cancel", str(number), cwd=reef).returncode == 0
    assert json.loads(benthoscope("jobs", "--json", cwd=reef).stdout)[0]["state"] == "cancelled"
    failed = benthoscope("jobs", "retry", str(number), cwd=reef)
    assert failed.returncode == 2 and "no such folder" in failed.stderr
    assert "no such folder" in benthoscope("jobs", "log", str(number), cwd=reef).stdout


def test_doctor_reports_on_machine_and_workspace(reef):
    told = json.loads(benthoscope("doctor", "--json", cwd=reef).stdout)
    found = {finding["name"]: finding["state"] for finding in told}
    assert {"Python", "BLAS", "Cores", "Disk", "Catalogue", "Browser", "Workspace"} <= set(found)
    assert found["Catalogue"] == "ok"


def test_doctor_says_what_to_do_about_missing_images_and_damage(reef):
    (reef / "images").rename(reef / "disk2")
    with Workspace.open(reef / "reef") as workspace:
        with workspace.features.writer("deep", width=2, extractor={}) as features:
            features.append([1], [[0.5, 1.0]])
        with workspace.features.open("deep").path.open("r+b") as file:
            file.seek(-2, 2)
            file.write(b"\xff")
    shown = benthoscope("doctor", cwd=reef)
    assert shown.returncode == 2
    assert "benthoscope relink" in shown.stdout and "damaged: deep" in shown.stdout


def test_version_is_that_of_the_package():
    shown = CliRunner().invoke(app, ["version", "--json"])
    assert json.loads(shown.stdout)["version"].count(".") == 2
