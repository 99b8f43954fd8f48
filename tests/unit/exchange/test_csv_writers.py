"""Every CSV file of the program goes through one writer, which no spreadsheet takes for formulas."""

import ast
import csv
import hashlib
import io
from pathlib import Path

import numpy as np
import pytest
from fastapi.testclient import TestClient

from benthoscope.app.pages.labels.cover import table as cover_table
from benthoscope.app.server.application import ServerSettings, create_app
from benthoscope.app.session.app_state import AppState
from benthoscope.engine.exchange.labels import biigle as biigle_labels
from benthoscope.engine.exchange.labels import imos as imos_labels
from benthoscope.engine.exchange.labels import squidle
from benthoscope.engine.exchange.labels.formats import FORMATS
from benthoscope.engine.exchange.parsing.csv_output import csv_chunks, csv_text, is_formula
from benthoscope.engine.exchange.parsing.tables import read_table
from benthoscope.engine.jobs.cluster.compare_runs import write_assignments
from benthoscope.engine.jobs.labels.export_collect import Wanted, chosen_images, gathered
from benthoscope.engine.labelling.suggestions import as_csv
from benthoscope.engine.labelling.vocabulary_file import read_vocabulary, write_vocabulary
from benthoscope.engine.workspace import NewCluster, NewImage, NewRun, Workspace
from benthoscope.engine.workspace.labels.parts import part_act
from benthoscope.engine.workspace.labels.vocabularies import NewTerm

ROOT = Path(__file__).parents[3]
EXACT = {"squidle": squidle.EXACT, "biigle": biigle_labels.EXACT, "imos": ("leftimage", "rightimage")}


@pytest.fixture
def hostile(tmp_path):
    """A labelled, clustered workspace in which every name begins like a formula."""
    (tmp_path / "files").mkdir()
    with Workspace.create(tmp_path / "reef") as made:
        root = made.library.register_root(tmp_path / "files")
        dive = made.library.group(made.library.collection("@campaign").id, "=dive()")
        made.library.store_images(
            [
                NewImage(
                    root.id,
                    f"{sign}image{number}.jpg",
                    dive.id,
                    1,
                    1,
                    hashlib.sha256(sign.encode()).hexdigest(),
                    8,
                    8,
                    taken_at=1e9 + number,
                    latitude=-12.5,
                    longitude=-120.25,
                    depth=3.0,
                )
                for number, sign in enumerate("=+-@")
            ]
        )
        ids = made.library.columns("id")["id"]
        words = made.vocabularies.add("=words", [NewTerm(("+plus",), "=code", details={"notes": "@note"})])
        [term] = made.vocabularies.terms(words.id)
        made.labels.label(made.people.named("@Ann").id, ids, term.id)
        made.runs.add(
            NewRun("first", "gmc", "deep", {}, {}, {"clusters": 1, "images": 4}),
            {"image_ids": ids, "labels": np.zeros(4, np.int32), "probability": np.ones(4, np.float32)},
            [NewCluster(0, 4)],
        )
        made.labels.append_events(
            made.people.named("@Ann").id, [part_act(term.id, "box", [(int(ids[0]), (1, 1, 5, 5))], why="manual")]
        )
        with made.features.writer("deep", width=3, extractor={}) as features:
            features.append(ids, np.random.default_rng(0).standard_normal((4, 3)))
        yield made


def risky(data: str, exact=()) -> list[str]:
    """The cells of a table that a spreadsheet would run, except in the exact columns."""
    rows = list(csv.reader(io.StringIO(data, newline="")))
    names = {at for row in rows for at, cell in enumerate(row) if cell.lower() in exact}
    return [cell for row in rows for at, cell in enumerate(row) if at not in names and is_formula(cell)]


def test_only_the_writer_itself_writes_csv():
    guilty = []  # sample_data is independent of the engine, and all cells it writes are its own
    for path in (file for folder in ("app", "engine") for file in (ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
                continue
            value, name = node.func.value, node.func.attr
            writes = isinstance(value, ast.Name) and value.id == "csv" and name in ("writer", "DictWriter")
            joins = isinstance(value, ast.Constant) and value.value in (",", ";", "\t") and name == "join"
            saves = name in ("to_csv", "savetxt")
            if writes or joins or saves:
                guilty.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert [position.rpartition(":")[0] for position in guilty] == ["engine/exchange/parsing/csv_output.py"], guilty


def test_the_writer_guards_text_and_leaves_numbers_alone():
    cells = [
        "=1+1",
        "+x",
        "-x",
        "@x",
        "\tx",
        -12.5,
        "-12.5",
        "+3e4",
        np.float32(-0.5),
        np.int64(-7),
        None,
        Path("-a"),
        "",
    ]
    rows = list(csv.reader(io.StringIO(csv_text(["cell", "next"], [(cell, 1) for cell in cells]), newline="")))
    assert [row[0] for row in rows[1:]] == [
        "'=1+1",
        "'+x",
        "'-x",
        "'@x",
        "'\tx",
        "-12.5",
        "-12.5",
        "+3e4",
        "-0.5",
        "-7",
        "",
        "'-a",
        "",
    ]


def test_exact_columns_stay_as_they_are():
    data = b"".join(csv_chunks(("name", "note"), [("=a.jpg", "=b")], exact=("name",)))
    assert data == b"name,note\r\n=a.jpg,'=b\r\n"


def test_images_of_a_selection(hostile):
    client = TestClient(create_app(hostile, ServerSettings(token="", run_jobs=False)), base_url="http://127.0.0.1")
    address = client.app.state.app.arrays.put(hostile.library.columns("id")["id"].astype("<i8"))
    text = client.get(f"{address}/images.csv?run=1").text
    assert not risky(text)
    first = next(csv.DictReader(io.StringIO(text)))
    assert (first["path"], first["group"], first["label"]) == ("'=image0.jpg", "'=dive()", "'+plus")
    assert (first["latitude"], first["longitude"]) == ("-12.5", "-120.25")


def test_assignments_of_a_run(hostile, tmp_path):
    assert write_assignments(hostile, hostile.runs.current(), tmp_path / "run.csv") == 4
    text = (tmp_path / "run.csv").read_text(encoding="utf-8")
    assert not risky(text) and "'=image0.jpg,'=dive(),0,1.0000" in text


def test_cover(hostile):
    text = cover_table(AppState(hostile), None)
    assert not risky(text) and "'=dive()" in text and "'+plus" in text


def test_vocabularies_are_read_back_unchanged(hostile):
    terms = hostile.vocabularies.all_terms()
    text = write_vocabulary(list(terms))
    assert not risky(text) and "'+plus,'=code" in text
    [term], problems = read_vocabulary(text.encode(), source="words.csv")
    assert (term.path, term.code, term.details["notes"], problems) == (("+plus",), "=code", "@note", [])


def test_suggestions():
    class Two:
        terms, image_ids = np.array([1, 2]), np.array([7])
        probabilities = np.array([[0.75, 0.25]])

        def best(self):
            return np.array([1]), np.array([0.75])

    text = as_csv(Two(), np.array([0]), np.array([[True, True]]), {7: Path("-a.jpg")}, {1: "=x", 2: "@y"})
    assert text.splitlines()[1] == "'-a.jpg,'=x,0.7500,2,'=x|@y"


@pytest.mark.parametrize("name", FORMATS)
def test_exports(hostile, name):
    written = FORMATS[name].write(gathered(hostile, Wanted(chosen_images(hostile))))
    tables = [file for file in written.files if file.name.endswith(".csv")]
    for file in tables:
        assert not risky(b"".join(file.chunks).decode(), EXACT.get(name, ())), file.name
    if name in EXACT and tables:  # values that must stay exact are reported
        assert any("formulas" in str(vars(loss)) for loss in written.losses)


def test_the_legend_of_a_track_is_read_back_unchanged(hostile):
    written = imos_labels.write_tracks(gathered(hostile, Wanted(chosen_images(hostile))))
    table = read_table(b"".join(written.files[0].chunks), source="track.csv")
    [first, *_] = imos_labels.read_track_labels(table, source="track.csv").records
    assert (first.path, first.vocabulary, first.code, first.group, first.collection) == (
        ("+plus",),
        "=words",
        "=code",
        "=dive()",
        "@campaign",
    )
