"""`benthoscope import`, as a person or a script would call it."""

import json

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from benthoscope.app.cli import app, main
from benthoscope.engine.workspace import Workspace


@pytest.fixture
def dataset(tmp_path, monkeypatch):
    """A folder with a workspace, two albums and a table about their images; commands run in it."""
    for number, name in enumerate(("Rome/a.jpg", "Rome/b.jpg", "Oslo/c.jpg")):
        (tmp_path / "trips" / name).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.full((20, 30, 3), 40 * number, np.uint8)).save(tmp_path / "trips" / name)
    (tmp_path / "trips" / "Oslo" / "broken.jpg").write_bytes(b"\xff\xd8\xff\xe0")
    (tmp_path / "trips" / "notes.csv").write_text("Bild;Breite;Laenge;Tiefe\na.jpg;41,9;12,5;7,5\nb.jpg;95;12,5;8\n")
    Workspace.create(tmp_path / "holidays").close()
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BENTHOSCOPE_WORKSPACE", raising=False)
    return tmp_path


def call(*words):
    done = CliRunner().invoke(app, ["import", *map(str, words)])
    assert done.exit_code == 0, done.output or done.exception
    return done.stdout


def failing(capsys, monkeypatch, *words):
    """The line and the exit code of a command that fails, as the shell sees them."""
    monkeypatch.setattr("sys.argv", ["benthoscope", "import", *map(str, words)])
    with pytest.raises(SystemExit) as ended:
        main()
    return capsys.readouterr().err, ended.value.code


def test_a_dry_run_shows_what_columns_were_taken_for_and_imports_nothing(dataset):
    shown = call("trips", "--dry-run")
    assert "3 images" not in shown and "4 images" in shown  # broken.jpg is only found out when it is read
    assert "notes.csv: table, matches 2 images" in shown.replace("\n", " ")
    assert "Tiefe" in shown and "Rome" in shown and "Nothing was imported" in shown
    with Workspace.open("holidays") as workspace:
        assert workspace.library.count_images() == 0


def test_a_dry_run_for_scripts_shows_groups_columns_and_rows(dataset):
    options = ["--mapping", "Breite=latitude", "--mapping", "laenge=longitude", "--mapping", "Tiefe=depth"]
    content = json.loads(call("trips", "--dry-run", "--json", *options))
    assert {group["name"]: group["images"] for group in content["groups"]} == {"Rome": 2, "Oslo": 2}
    assert {column["name"]: column["meaning"] for column in content["metadata"][0]["columns"]} == {
        "Bild": "image",
        "Breite": "latitude",
        "Laenge": "longitude",
        "Tiefe": "depth",
    }
    first = content["rows"][0]
    assert (first["path"], first["latitude"], first["longitude"], first["depth"]) == ("Rome/a.jpg", 41.9, 12.5, 7.5)
    assert content["problems"][0]["where"] == "notes.csv line 3" and "depth" in content["fields"]


def test_an_import_tells_what_came_of_it_and_what_to_do_next(dataset):
    shown = call("trips")
    assert "4 images: 3 new" in shown and "Rome" in shown and "1 files cannot be used" in shown
    assert "benthoscope problems" in shown and "Next: benthoscope features" in shown
    assert "3 unchanged" in call("trips")


def test_an_import_for_scripts_gives_counts(dataset):
    result = json.loads(call("trips", "--json", "--collection", "2019", "--kind", "albums", "--group-level", "0"))
    assert (result["images"], result["new"], result["bad"]) == (4, 3, 1)
    assert result["groups"] == [{"collection": "2019", "group": "2019", "images": 4}]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["nowhere"], "nowhere: is not a folder; give the folder with the images"),
        (["trips", "--mapping", "Tiefe"], "--mapping: 'Tiefe' is not COLUMN=FIELD; write it like Tiefe=depth"),
        (["trips", "--mapping", "Tief=depth"], "mapping: there is no 'Tief'; did you mean 'Tiefe'?"),
        (["trips", "--mapping", "Tiefe=dept"], "mapping: there is no 'dept'; did you mean 'depth'?"),
        (["trips", "--kind", "album"], "kind of collection: there is no 'album'; did you mean 'albums'?"),
        (["trips", "--metadata", "gone.csv"], "gone.csv: does not exist"),
    ],
)
@pytest.mark.parametrize("dry", [True, False], ids=["dry run", "import"])
def test_a_mistake_is_told_in_one_line(dataset, capsys, monkeypatch, words, told, dry):
    line, code = failing(capsys, monkeypatch, *words, *(["--dry-run"] if dry else []))
    assert code == 2 and told in line and len(line.strip().splitlines()) == 1
