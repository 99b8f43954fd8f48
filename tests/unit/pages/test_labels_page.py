"""The page Labels without a browser: words, agreement, history, files."""

import csv
import io
import zipfile

import numpy as np
import pytest
from fastapi.testclient import TestClient

from app.pages.labels import LabelsPage
from app.server import ServerSettings, create_app
from app.state.app_state import AppState
from app.state.exporting import exports
from app.state.labels import Labels
from app.state.session import Session
from engine.jobs import run_now
from engine.workspace.term_links import TermLink
from engine.workspace.vocabularies import NewTerm
from tests.unit.outgoing_reef import labelled, made


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


def term(page, path):
    return next(found for found in shown(page)["terms"] if found["path"] == path)


def act(page, verb, **more):
    page.board._handle_msg({"act": verb, **more, "nth": page.board.heard + 1})
    return page.model.session.message


def test_counts_stand_at_every_level_of_the_tree(page):
    rows = shown(page)["terms"]
    assert rows[0]["depth"] == 1
    biota = term(page, "Biota")
    assert biota["all"] == sum(row["own"] for row in rows if row["path"].startswith("Biota")) > biota["own"]


def test_a_term_is_added_described_put_on_a_key_and_taken_out(page):
    parent = term(page, "Biota")["id"]
    act(page, "add", name="Kelp", parent=parent)
    kelp = term(page, "Biota > Kelp")
    act(page, "change", term=kelp["id"], values={"name": "Giant kelp", "colour": "#336600", "notes": "holdfast visible",
                                                 "synonyms": "Macrocystis | bladder kelp", "code": "5436"})
    act(page, "key", term=kelp["id"], key="4")
    kelp = term(page, "Biota > Giant kelp")
    assert kelp["notes"] == "holdfast visible" and kelp["synonyms"] == "Macrocystis|bladder kelp"
    assert kelp["colour"] == "#336600" and kelp["key"] == "4" and kelp["code"] == "5436"
    act(page, "key", term=kelp["id"], key="")
    assert term(page, "Biota > Giant kelp")["key"] == ""
    act(page, "remove", term=kelp["id"])
    assert "Biota > Giant kelp" not in {row["path"] for row in shown(page)["terms"]}


def test_a_term_with_labels_stays_and_a_name_is_not_given_twice(page):
    used = next(row for row in shown(page)["terms"] if row["own"])
    assert "rename it instead" in act(page, "remove", term=used["id"]).text
    assert "already" in act(page, "add", name="Biota", parent=None).text


def test_a_vocabulary_is_read_from_a_table_and_saved_as_one(page, reef):
    text = "path,colour,notes\nGround > Sand,#ddcc99,rippled\nGround > Mud,,\n"
    assert "Read 3 terms" in act(page, "table", name="mine.csv", text=text).text
    assert {row["path"] for row in shown(page)["terms"]} == {"Ground", "Ground > Sand", "Ground > Mud"}
    assert act(page, "table", name="bad.csv", text="apples\n1\n").kind == "error"
    with TestClient(create_app(reef, ServerSettings(token="", run_jobs=False)), base_url="http://127.0.0.1") as client:
        back = client.get(f"/api/v1/vocabularies/{shown(page)['vocabulary']}.csv").text
    assert [row["path"] for row in csv.DictReader(io.StringIO(back))] == ["Ground", "Ground > Sand", "Ground > Mud"]


def test_examples_of_a_term_are_labelled_images(page, labels, reef):
    sponges = next(row for row in shown(page)["terms"] if row["own"] >= 2)
    act(page, "examples", term=sponges["id"])
    chosen = next(row for row in shown(page)["terms"] if row["id"] == sponges["id"])["examples"]
    images, terms = reef.labels.current_terms()
    assert 0 < len(chosen) <= 4 and set(chosen) <= set(images[terms == sponges["id"]].tolist())


def test_terms_are_linked_to_another_vocabulary(page, reef):
    reef.vocabularies.add("House", [NewTerm(("Animals",))])
    page.model.session.changed(images=False)
    words = {words["name"]: words["id"] for words in shown(page)["vocabularies"]}
    act(page, "vocabulary", id=words["CATAMI"])
    act(page, "target", id=words["House"])
    animals = shown(page)["targets"][0][0]
    act(page, "link", term=term(page, "Biota")["id"], target=animals, relation="broader")
    assert shown(page)["links"] == {str(term(page, "Biota")["id"]): [animals, "broader"]}


def test_agreement_tells_who_differs_and_a_click_settles_it(page, reef):
    ids, terms = reef.labels.current_terms()
    other = int(np.setdiff1d(terms, terms[:1])[0])
    bo = reef.people.named("Bo").id
    reef.labels.label(bo, ids[1:3], int(terms[1]), why="verification")
    reef.labels.label(bo, ids[:1], other, why="verification")
    page.model.session.changed(images=False)
    act(page, "part", name="people")
    told = shown(page)
    assert told["several"] == 3 and told["pairs"][0]["images"] == 3 and told["conflict_count"] == len(told["conflicts"])
    assert sum(map(sum, told["confusion"]["counts"])) == 3
    open_ = told["conflicts"][0]
    act(page, "resolve", image=open_["image"], term=open_["said"][0]["term"])
    assert shown(page)["conflict_count"] == told["conflict_count"] - 1
    page.model.session.undo()
    assert shown(page)["conflict_count"] == told["conflict_count"]


def test_history_is_paged_and_goes_back_to_any_moment(page, reef):
    ids = reef.library.columns("id")["id"]
    for image in ids.tolist() * 7:
        reef.labels.label(page.model.who(), [image], term(page, "Biota")["id"])
    act(page, "part", name="history")
    first = shown(page)["acts"]
    assert len(first) == 100 and first[0]["number"] > first[-1]["number"] and shown(page)["more"]
    act(page, "older", before=first[-1]["number"])
    assert shown(page)["acts"][0]["number"] == first[-1]["number"] - 1 and not shown(page)["more"]
    then = reef.labels.current(until=2)
    act(page, "revert", number=2)
    assert [part.tolist() for part in reef.labels.current_terms()] == [
        then[0].tolist(), reef.labels.terms_of(then[1]).tolist()]
    act(page, "older", before=None)
    assert "brought back the labels of act 2" in shown(page)["acts"][0]["what"]
    act(page, "undo", number=shown(page)["acts"][0]["number"])
    assert shown(page)["acts"][1]["undone"]


def test_the_history_of_an_image_tells_of_its_parts(page, reef):
    image = int(reef.library.columns("id")["id"][0])
    act(page, "image", id=image)
    act(page, "part", name="history")
    act(page, "image", id=image)
    words = [one["what"] for one in shown(page)["acts"]]
    assert "marked 1 point as Sponges" in words and "marked 1 box as Macroalgae" in words
    with TestClient(create_app(reef, ServerSettings(token="", run_jobs=False)), base_url="http://127.0.0.1") as client:
        told = client.get(f"/api/v1/images/{image}/history").json()
    assert [one["number"] for one in told] == sorted(one["number"] for one in told)
    assert {"shape": "point", "numbers": [10.0, 20.5]} in [part for one in told for part in one["parts"]]


def test_an_export_says_before_it_begins_what_is_left_behind_and_is_fetched_afterwards(page, reef):
    act(page, "part", name="files")
    act(page, "export")
    form = page.model.form
    values = {**form.shown["values"], "format": "squidle"}
    form.change(values)
    assert "17 labels of 16 images" in form.shown["cost"] and "16 hashes of images" in form.shown["cost"]
    assert form.start(values)
    [job] = page.model.app.queue.unfinished()
    done = run_now(reef, job.kind, resume=job.id)
    assert done.state == "done", done.error
    page.model.session.changed(images=False)
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
    act(page, "export")
    form = page.model.form
    form.start({**form.shown["values"], "format": "ifdo"})
    [job] = page.model.app.queue.unfinished()
    run_now(reef, job.kind, resume=job.id)
    [made_] = exports(page.model.app)
    with TestClient(create_app(reef, ServerSettings(token="", run_jobs=False)), base_url="http://127.0.0.1") as client:
        kept = _files(client.get(f"/api/v1/exports/{made_['id']}/file"), made_)
    assert set(kept) == {*made_["files"], "export-report.json"}


def test_labels_go_out_at_a_coarser_level_and_in_other_words(reef, tmp_path):
    words = reef.vocabularies.add("House", [NewTerm(("Animals",))])
    animals = reef.vocabularies.terms(words.id)[0].id
    catami = {found.name: found.id for found in reef.vocabularies.terms(reef.vocabularies.named("CATAMI").id)}
    reef.term_links.add([TermLink(catami["Sponges"], animals, "same")])
    coarse = run_now(reef, "export", {"format": "csv", "output": str(tmp_path / "coarse"), "level": 1})
    assert coarse.state == "done", coarse.error
    named = {row["label"] for row in _rows(tmp_path / "coarse")} - {""}
    assert all(" > " not in name for name in named) and named
    other = run_now(reef, "export", {"format": "csv", "output": str(tmp_path / "other"), "vocabulary": "House"})
    assert {row["label"] for row in _rows(tmp_path / "other")} <= {"", "Animals"}
    told = {loss["what"]: loss["count"] for loss in other.result["losses"]}
    assert told["labels without a word in it"] > 0 and told["labels told more coarsely"] > 0


def _rows(folder):
    path = folder / "labels.csv"
    return list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8-sig"))))


def test_a_file_of_labels_is_looked_at_before_it_is_taken_in(page, reef):
    images = reef.library.images(reef.library.columns("id")["id"][-2:])
    text = "image,label\n" + "".join(f"{image.path},Sponges\n" for image in images) + "nowhere.jpg,Sponges\n"
    with TestClient(create_app(reef, ServerSettings(token="", run_jobs=False)), base_url="http://127.0.0.1") as client:
        token = client.put("/api/v1/label-files/ours%20..%20x.csv", content=text.encode()).json()["token"]
    before = reef.labels.last_number()
    act(page, "import", tokens=[token])
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
    assert act(page, "import", tokens=[token]).kind == "error"


def test_a_selection_named_in_the_address_opens_the_export_of_it(reef):
    ids = reef.library.columns("id")["id"][:3]
    session = Session(AppState(reef), "labels", person="Ann de Vries")
    saved = reef.selections.save(session.who().id, "three", ids, {})
    labels = Labels(session, part="files")
    labels.export(saved.id)
    assert labels.form.shown["values"]["scope"] == f"selection:{saved.id}" and "3 images" in labels.form.shown["cost"]


def test_cover_is_told_by_dive_and_fetched_as_a_table(reef):
    ids = reef.library.columns("id")["id"]
    rng = np.random.default_rng(0)
    with reef.features.writer("deep", width=3, extractor={}) as features:
        features.append(ids, rng.standard_normal((len(ids), 3)))
    page = LabelsPage(Labels(Session(AppState(reef), "labels", person="Ann de Vries"), part="cover"))
    told = shown(page)["groups"]
    assert told[0]["name"] == "All dives" and len(told) == 1 + len(reef.library.groups())
    shares = [row["estimate"] for row in told[0]["rows"]]
    assert shares == sorted(shares, reverse=True) and shares[0] > 0
    assert all(row["low"] <= row["estimate"] <= row["high"] for group in told for row in group["rows"])
    act(page, "level", level=1)
    assert {row["path"] for row in shown(page)["groups"][0]["rows"]} <= {"Biota", "Bedforms"} | {
        found.path[0] for found in reef.vocabularies.all_terms()}
    with TestClient(create_app(reef, ServerSettings(token="", run_jobs=False)), base_url="http://127.0.0.1") as client:
        rows = list(csv.DictReader(io.StringIO(client.get("/api/v1/cover.csv?level=1").text)))
    assert rows[0]["group"] == "All dives" and {"share", "low", "high", "method", "labelled"} <= set(rows[0])
