"""The page Labels without a browser: words, agreement, history, files."""

import csv
import io
import json
import zipfile

import numpy as np
import pytest
from fastapi.testclient import TestClient

from benthoscope.app.data.figures import FigureChoice, figure
from benthoscope.app.pages.labels.export_form import exports
from benthoscope.app.pages.labels.model import Labels
from benthoscope.app.pages.labels.page import LabelsPage
from benthoscope.app.server.application import ServerSettings, create_app
from benthoscope.app.session.app_state import AppState
from benthoscope.app.session.session import Session
from benthoscope.engine.jobs import run_now
from benthoscope.engine.labelling.accuracy.random_draws import answer, ask_for, next_page
from benthoscope.engine.workspace import Workspace
from benthoscope.engine.workspace.labels.vocabularies import NewTerm, TermLink
from benthoscope.plots import data_table
from tests.unit.exchange.outgoing_reef import labelled, made


@pytest.fixture
def reef(tmp_path):
    with made(tmp_path) as workspace:
        yield labelled(workspace)


@pytest.fixture
def labels(reef):
    app = AppState(reef)
    yield Labels(Session(app, "labels", person="Ann de Vries"))
    app.close()


@pytest.fixture
def page(labels):
    return LabelsPage(labels)


def shown(page):
    return page.board.content


def entries(page):
    """The entries of the history that the browser has: one page of the table."""
    return [json.loads(row) for row in page.history.table._data["row"]]


def more(page):
    """Whether an older page follows."""
    table = page.history.table
    return len(table.value) > table.page * table.page_size


def term(page, path):
    return next(candidate for candidate in shown(page)["terms"] if candidate["path"] == path)


def send_command(page, verb, **more):
    page.board._handle_msg({"act": verb, **more, "nth": page.board.heard + 1})
    return page.model.session.message


def test_counts_stand_at_every_level_of_the_tree(page):
    rows = shown(page)["terms"]
    assert rows[0]["depth"] == 1
    biota = term(page, "Biota")
    assert biota["all"] == sum(row["own"] for row in rows if row["path"].startswith("Biota")) > biota["own"]


def test_a_term_is_added_described_put_on_a_key_and_taken_out(page):
    parent = term(page, "Biota")["id"]
    send_command(page, "add", name="Kelp", parent=parent)
    kelp = term(page, "Biota > Kelp")
    send_command(
        page,
        "change",
        term=kelp["id"],
        values={
            "name": "Giant kelp",
            "colour": "#336600",
            "notes": "holdfast visible",
            "synonyms": "Macrocystis | bladder kelp",
            "code": "5436",
        },
    )
    send_command(page, "key", term=kelp["id"], key="4")
    kelp = term(page, "Biota > Giant kelp")
    assert kelp["notes"] == "holdfast visible" and kelp["synonyms"] == "Macrocystis|bladder kelp"
    assert kelp["colour"] == "#336600" and kelp["key"] == "4" and kelp["code"] == "5436"
    send_command(page, "key", term=kelp["id"], key="")
    assert term(page, "Biota > Giant kelp")["key"] == ""
    send_command(page, "remove", term=kelp["id"])
    assert "Biota > Giant kelp" not in {row["path"] for row in shown(page)["terms"]}


def test_a_term_with_labels_stays_and_a_name_is_not_given_twice(page):
    used = next(row for row in shown(page)["terms"] if row["own"])
    assert "rename it instead" in send_command(page, "remove", term=used["id"]).text
    assert "already" in send_command(page, "add", name="Biota", parent=None).text


def test_a_vocabulary_is_read_from_a_table_and_saved_as_one(page, reef):
    text = "path,colour,notes\nGround > Sand,#ddcc99,rippled\nGround > Mud,,\n"
    assert "Read 3 terms" in send_command(page, "table", name="mine.csv", text=text).text
    assert {row["path"] for row in shown(page)["terms"]} == {"Ground", "Ground > Sand", "Ground > Mud"}
    assert send_command(page, "table", name="bad.csv", text="apples\n1\n").kind == "error"
    with TestClient(create_app(reef, ServerSettings(token="", run_jobs=False)), base_url="http://127.0.0.1") as client:
        back = client.get(f"/api/v1/vocabularies/{shown(page)['vocabulary']}.csv").text
    assert [row["path"] for row in csv.DictReader(io.StringIO(back))] == ["Ground", "Ground > Sand", "Ground > Mud"]


def test_examples_of_a_term_are_labelled_images(page, labels, reef):
    sponges = next(row for row in shown(page)["terms"] if row["own"] >= 2)
    send_command(page, "examples", term=sponges["id"])
    chosen = next(row for row in shown(page)["terms"] if row["id"] == sponges["id"])["examples"]
    images, terms = reef.labels.current_terms()
    assert 0 < len(chosen) <= 4 and set(chosen) <= set(images[terms == sponges["id"]].tolist())


def test_terms_are_linked_to_another_vocabulary(page, reef):
    reef.vocabularies.add("House", [NewTerm(("Animals",))])
    page.model.session.changed("labels")
    words = {words["name"]: words["id"] for words in shown(page)["vocabularies"]}
    send_command(page, "vocabulary", id=words["CATAMI"])
    send_command(page, "target", id=words["House"])
    animals = shown(page)["targets"][0][0]
    send_command(page, "link", term=term(page, "Biota")["id"], target=animals, relation="broader")
    assert shown(page)["links"] == {str(term(page, "Biota")["id"]): [animals, "broader"]}


def test_agreement_tells_who_differs_and_a_click_settles_it(page, reef):
    ids, terms = reef.labels.current_terms()
    other = int(np.setdiff1d(terms, terms[:1])[0])
    bo = reef.people.named("Bo").id
    reef.labels.label(bo, ids[1:3], int(terms[1]), why="verification")
    reef.labels.label(bo, ids[:1], other, why="verification")
    page.model.session.changed("labels")
    send_command(page, "part", name="people")
    content = shown(page)
    assert (
        content["several"] == 3
        and content["pairs"][0]["images"] == 3
        and content["conflict_count"] == len(content["conflicts"])
    )
    pair = tuple(content["confusion"]["ids"])
    rows = data_table(figure(page.model.app, "confusion", FigureChoice(pair=pair)))
    assert rows["Images"].sum() == 3
    open_ = content["conflicts"][0]
    send_command(page, "resolve", image=open_["image"], term=open_["said"][0]["term"])
    assert shown(page)["conflict_count"] == content["conflict_count"] - 1
    page.model.session.undo()
    assert shown(page)["conflict_count"] == content["conflict_count"]


def test_history_is_paged_and_goes_back_to_any_moment(page, reef):
    ids = reef.library.columns("id")["id"]
    for image in ids.tolist() * 7:
        reef.labels.label(page.model.person_id(), [image], term(page, "Biota")["id"])
    send_command(page, "part", name="history")
    first = entries(page)
    assert len(first) == 100 and first[0]["number"] > first[-1]["number"] and more(page)
    page.history.table.page = 2
    assert entries(page)[0]["number"] == first[-1]["number"] - 1 and not more(page)
    then = reef.labels.current(until=2)
    send_command(page, "revert", number=2)
    assert [entry.tolist() for entry in reef.labels.current_terms()] == [
        then[0].tolist(),
        reef.labels.terms_of(then[1]).tolist(),
    ]
    page.history.table.page = 1
    assert "restored the labels as of entry 2" in entries(page)[0]["what"]
    send_command(page, "undo", number=entries(page)[0]["number"])
    assert entries(page)[1]["undone"]


def test_the_history_of_an_image_tells_of_its_parts(page, reef):
    image = int(reef.library.columns("id")["id"][0])
    send_command(page, "image", id=image)
    send_command(page, "part", name="history")
    send_command(page, "image", id=image)
    words = [entry["what"] for entry in entries(page)]
    assert "labelled 1 point Sponges" in words and "labelled 1 box Macroalgae" in words
    with TestClient(create_app(reef, ServerSettings(token="", run_jobs=False)), base_url="http://127.0.0.1") as client:
        content = client.get(f"/api/v1/images/{image}/history").json()
    assert [entry["number"] for entry in content] == sorted(entry["number"] for entry in content)
    assert {"shape": "point", "numbers": [10.0, 20.5]} in [piece for entry in content for piece in entry["parts"]]


def test_an_export_says_before_it_begins_what_is_left_behind_and_is_fetched_afterwards(page, reef):
    send_command(page, "part", name="files")
    send_command(page, "export")
    form = page.model.form
    values = {**form.shown["values"], "format": "squidle"}
    form.change(values)
    assert "17 labels of 16 images" in form.shown["cost"] and "16 hashes of images" in form.shown["cost"]
    assert form.start(values)
    [job] = page.model.app.queue.unfinished()
    done = run_now(reef, job.kind, resume=job.id)
    assert done.state == "done", done.error
    page.model.session.changed("labels")
    [made_] = shown(page)["exports"]
    assert made_["format"] == "squidle" and made_["losses"]
    with TestClient(create_app(reef, ServerSettings(token="", run_jobs=False)), base_url="http://127.0.0.1") as client:
        answer = client.get(f"/api/v1/exports/{made_['id']}/file")
        listed = client.get("/api/v1/exports").json()
        assert client.get("/api/v1/exports/999/file").status_code == 404
    assert listed[0]["id"] == made_["id"]
    assert set(made_["files"]) <= set(_files(answer, made_))


def _files(answer, made_):
    """{name: bytes} of what was fetched: one file, or an archive of several."""
    if len(made_["files"]) == 1:
        return {made_["files"][0]: answer.content}
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_an_export_of_several_files_comes_as_an_archive_with_its_report(page, reef):
    send_command(page, "export")
    form = page.model.form
    form.start({**form.shown["values"], "format": "ifdo"})
    [job] = page.model.app.queue.unfinished()
    run_now(reef, job.kind, resume=job.id)
    [made_] = exports(page.model.app)
    with TestClient(create_app(reef, ServerSettings(token="", run_jobs=False)), base_url="http://127.0.0.1") as client:
        files = _files(client.get(f"/api/v1/exports/{made_['id']}/file"), made_)
    assert set(files) == {*made_["files"], "export-report.json"}


def test_labels_go_out_at_a_coarser_level_and_in_other_words(reef, tmp_path):
    words = reef.vocabularies.add("House", [NewTerm(("Animals",))])
    animals = reef.vocabularies.terms(words.id)[0].id
    catami = {
        candidate.name: candidate.id for candidate in reef.vocabularies.terms(reef.vocabularies.named("CATAMI").id)
    }
    reef.term_links.add([TermLink(catami["Sponges"], animals, "same")])
    coarse = run_now(reef, "export", {"format": "csv", "output": str(tmp_path / "coarse"), "level": 1})
    assert coarse.state == "done", coarse.error
    named = {row["label"] for row in _rows(tmp_path / "coarse")} - {""}
    assert all(" > " not in name for name in named) and named
    other = run_now(reef, "export", {"format": "csv", "output": str(tmp_path / "other"), "vocabulary": "House"})
    assert {row["label"] for row in _rows(tmp_path / "other")} <= {"", "Animals"}
    count_by_key = {loss["what"]: loss["count"] for loss in other.result["losses"]}
    assert count_by_key["labels without a translation"] > 0 and count_by_key["labels with a coarser term"] > 0


def _rows(folder):
    path = folder / "labels.csv"
    return list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8-sig"))))


def test_a_file_of_labels_is_looked_at_before_it_is_taken_in(page, reef):
    images = reef.library.images(reef.library.columns("id")["id"][-2:])
    text = "image,label\n" + "".join(f"{image.path},Sponges\n" for image in images) + "nowhere.jpg,Sponges\n"
    with TestClient(create_app(reef, ServerSettings(token="", run_jobs=False)), base_url="http://127.0.0.1") as client:
        token = client.put("/api/v1/label-files/ours%20..%20x.csv", content=text.encode()).json()["token"]
    before = reef.labels.last_number()
    send_command(page, "import", tokens=[token])
    form = page.model.form
    form.change(form.shown["values"])
    assert "2 labels of images" in form.shown["cost"] and "1 images" in form.shown["cost"]
    assert reef.labels.last_number() == before
    assert form.start(form.shown["values"])
    [job] = page.model.app.queue.unfinished()
    assert run_now(reef, job.kind, resume=job.id).state == "done"
    assert reef.labels.events()[-1].why == "import" and reef.labels.last_number() == before + 1


@pytest.mark.parametrize("token", ["../workspace.json", "nothing/here.csv", "/etc/hostname"])
def test_a_token_leads_nowhere_else(page, token):
    assert send_command(page, "import", tokens=[token]).kind == "error"


def test_a_selection_named_in_the_address_opens_the_export_of_it(reef):
    ids = reef.library.columns("id")["id"][:3]
    session = Session(AppState(reef), "labels", person="Ann de Vries")
    saved = reef.selections.save(session.current_person().id, "three", ids, {})
    labels = Labels(session, part="files")
    labels.export(saved.id)
    assert labels.form.shown["values"]["scope"] == f"selection:{saved.id}" and "3 images" in labels.form.shown["cost"]


def test_cover_shows_what_is_known_until_images_are_drawn_at_random(reef):
    page = LabelsPage(Labels(Session(AppState(reef), "labels", person="Ann de Vries"), part="cover"))
    content = shown(page)
    assert content["groups"][0]["name"] == "All dives" and len(content["groups"]) == 1 + len(reef.library.groups())
    assert not content["random"] and content["sizes"] == [50, 100, 200, 400]
    assert all(row["estimate"] is None for group in content["groups"] for row in group["rows"])
    assert "o images were drawn at random" in content["groups"][0]["remark"]
    send_command(page, "level", level=1)
    assert {row["path"] for row in shown(page)["groups"][0]["rows"]} <= {"Biota", "Bedforms"} | {
        term_row.path[0] for term_row in reef.vocabularies.all_terms()
    }


def test_cover_from_random_images_is_told_by_dive_and_fetched_as_a_table(reef):
    ann = reef.people.named("Ann de Vries").id
    terms = [term.id for term in reef.vocabularies.all_terms()]
    ask_for(reef, ann, 1000)
    while len(page := next_page(reef, ann, 50).draws):
        answer(reef, ann, {draw.image_id: terms[draw.image_id % 2] for draw in page})
    page = LabelsPage(Labels(Session(AppState(reef), "labels", person="Ann de Vries"), part="cover"))
    content = shown(page)
    shares = [row["estimate"] for row in content["groups"][0]["rows"]]
    assert content["random"] and shares == sorted(shares, reverse=True) and sum(shares) == pytest.approx(1, abs=1e-3)
    assert all(row["low"] <= row["estimate"] <= row["high"] for group in content["groups"] for row in group["rows"])
    send_command(page, "together", on=True)
    assert "all intervals together" in shown(page)["intervals"]
    with TestClient(create_app(reef, ServerSettings(token="", run_jobs=False)), base_url="http://127.0.0.1") as client:
        rows = list(csv.DictReader(io.StringIO(client.get("/api/v1/cover.csv?level=1").text)))
    assert rows[0]["group"] == "All dives" and {"share", "low", "high", "method", "labelled", "draws"} <= set(rows[0])


def test_a_first_term_needs_no_vocabulary(tmp_path):
    with Workspace.create(tmp_path / "new") as workspace:
        labels = Labels(Session(AppState(workspace), "labels"))
        labels.add_term("Sand", None)
        labels.add_term("Kelp", None)
        [words] = workspace.vocabularies.all()
        assert [term.path for term in workspace.vocabularies.terms(words.id)] == [("Sand",), ("Kelp",)]
