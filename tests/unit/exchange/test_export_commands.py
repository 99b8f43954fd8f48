"""The commands export and import-labels, as a person or a script would call them."""

import json

import pytest
from typer.testing import CliRunner

from benthoscope.app.cli import app
from benthoscope.engine.problems import BenthoscopeError
from benthoscope.engine.workspace import Workspace
from tests.unit.exchange.outgoing_reef import labelled, made


@pytest.fixture
def reef(tmp_path):
    with made(tmp_path) as workspace:
        labelled(workspace)
    return tmp_path


def run(*words):
    result = CliRunner().invoke(app, [str(word) for word in words])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_an_export_prints_what_is_not_included(reef):
    shown = run("export", "squidle", reef / "out", "-w", reef / "reef").stdout
    assert "Wrote 17 labels of 16 images" in shown.replace("\n", " ")
    assert "16 hashes of images" in shown
    assert (reef / "out" / "export-report.json").exists()


def test_a_field_of_the_header_is_given_as_name_and_value(reef):
    content = json.loads(
        run("export", "ifdo", reef / "out", "-w", reef / "reef", "--field", "image-license=CC BY 4.0", "--json").stdout
    )
    header = json.loads((reef / "out" / content["files"][0]).read_bytes())["image-set-header"]
    assert header["image-license"] == {"name": "CC BY 4.0"}
    with pytest.raises(BenthoscopeError, match="--field"):
        run("export", "ifdo", reef / "out", "-w", reef / "reef", "--field", "image-license")


def test_labels_are_imported_and_what_is_unknown_is_shown(reef):
    (reef / "l.csv").write_text("image,label\nd1/plain.jpg,Spongs\nd1/-7.jpg,Sponges\n")
    shown = run("import-labels", reef / "l.csv", "-w", reef / "reef", "--dry-run").stdout
    assert "would be imported" in shown and "did you mean Biota > Sponges" in shown.replace("\n", " ")
    content = json.loads(run("import-labels", reef / "l.csv", "-w", reef / "reef", "--person", "Cy", "--json").stdout)
    assert content["labels"] == 1
    with Workspace.open(reef / "reef") as workspace:
        assert "Cy" in {person.name for person in workspace.people.all()}


def test_an_unknown_format_offers_the_nearest(reef):
    with pytest.raises(BenthoscopeError, match="did you mean 'squidle'"):
        run("export", "squidel", reef / "out", "-w", reef / "reef")
