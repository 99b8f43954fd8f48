"""Labels from other programs: found images, found terms, and what is said about the rest."""

import io
import json
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.exchange.label_matching import Images, Known, Terms, Unclear
from engine.exchange.label_records import LabelRecord
from engine.exchange.label_sources import read_labels
from engine.exchange.outgoing import BULK, PREDICTED
from engine.jobs import coming_in, run_now
from engine.problems import BadInput
from engine.workspace.parts import standing_parts
from engine.workspace.vocabularies import NewTerm, Term
from tests.unit.outgoing_reef import PLACES, imported, made

TERMS = (NewTerm(("Biota",)), NewTerm(("Biota", "Sponges"), "10000000", details={"synonyms": ["porifera"]}),
         NewTerm(("Biota", "Sea pens")), NewTerm(("Physical",)), NewTerm(("Physical", "Sand"), "82001014"))


@pytest.fixture
def reef(tmp_path):
    with made(tmp_path) as workspace:
        workspace.vocabularies.add("CATAMI", TERMS)
        yield workspace


def file(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def current(workspace):
    """{path of the image: name of its class}"""
    names = {term.id: term.name for term in workspace.vocabularies.all_terms()}
    ids, terms = workspace.labels.current_terms()
    paths = [image.path for image in workspace.library.images(ids.tolist())]
    return {path: names[term] for path, term in zip(paths, terms.tolist(), strict=True)}


def points(workspace):
    return [(part.image, part.shape, part.numbers) for part in standing_parts(workspace.labels.events())]


def records(content, name="labels.csv", **more):
    [source] = read_labels(content.encode() if isinstance(content, str) else content, name=name, **more)
    return list(source.reading.records)


# --- what is read


def test_coralnet_points_are_read_with_their_robots_and_confidence():
    found = records("Name,Row,Column,Label code,Annotator,Date annotated,Machine suggestion 1,Machine confidence 1\n"
                    "a.jpg,12,34,Porit,robot,2023-01-02 03:04:05+00:00,Porit,87\n"
                    "a.jpg,0,319,CCA,ann,,Porit,60\na.jpg,5,6,,,,,\n")
    assert [(one.path, one.numbers, one.status, one.confidence) for one in found] == [
        (("Porit",), (34, 12), PREDICTED, 0.87), (("CCA",), (319, 0), None, None)]
    assert found[0].at == 1672628645


CPC = ('"C:\\codes.txt","C:\\Pictures\\reef one\\plain.jpg",4800,3600,12000,9000\n0,3600\n4800,3600\n4800,0\n0,0\n3\n'
       '2400,900\n15,3585\n100,100\n"1","SPON","Notes",""\n"2","SAND","Notes","a, b"\n"3","","Notes",""\n'
       + '" "\n' * 28)


def test_points_of_a_cpce_file_are_shares_of_the_image_whatever_their_unit():
    found = records(CPC, "plain.cpc")
    assert [(one.image, one.path, one.numbers) for one in found] == [
        ("C:/Pictures/reef one/plain.jpg", ("SPON",), (0.5, 0.25)),
        ("C:/Pictures/reef one/plain.jpg", ("SAND",), (1 / 320, 239 / 240))]


@pytest.mark.parametrize("end", [40, 100, 130, 150, CPC.index('"3"') + 3])
def test_a_cpce_file_that_was_cut_short_is_refused(end):
    with pytest.raises(BadInput, match="cut short"):
        read_labels(CPC[:end].encode(), name="plain.cpc")


def test_a_label_in_any_table_is_found_by_the_names_of_its_columns_or_by_what_a_person_says():
    assert [(one.image, one.path) for one in records("photo;habitat\na.jpg;Biota > Sponges\nb.jpg;\n")] == [
        ("a.jpg", ("Biota", "Sponges"))]
    [one] = records("Bild,Was,Ort\na.jpg,Sand,x\n", mapping={"Bild": "image", "Was": "label"})
    assert (one.image, one.path) == ("a.jpg", ("Sand",))


def test_a_table_without_labels_says_how_to_name_the_columns():
    with pytest.raises(BadInput, match="--mapping COLUMN=label"):
        read_labels(b"image,depth\na.jpg,5\n", name="x.csv")


def test_a_predicted_annotation_of_squidle_stays_one():
    [one] = records("point.media.key,label.name,label.lineage_names,likelihood,needs_review,point.x,point.y\n"
                    "PR_1,Sponges,Biota > Sponges,0.4,true,,\n")
    assert (one.image, one.path, one.status, one.confidence, one.shape) == (
        "PR_1", ("Biota", "Sponges"), PREDICTED, 0.4, None)


def test_a_zipped_report_of_several_files_is_read_whole_and_a_label_tree_as_a_vocabulary():
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        for name in ("ann.csv", "bo.csv"):
            archive.writestr(name, "filename,label_name,label_hierarchy\na.jpg,Sponges,Biota > Sponges\n")
    assert [source.name for source in read_labels(held.getvalue(), name="r.zip")] == ["r.zip/ann.csv", "r.zip/bo.csv"]


def test_a_zip_that_unpacks_to_more_than_memory_is_refused(monkeypatch):
    monkeypatch.setattr("engine.exchange.label_sources.MAX_BYTES", 1 << 20)
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.csv", b"0" * (3 << 20))
    with pytest.raises(BadInput, match="unpacks to more than"):
        read_labels(held.getvalue(), name="r.zip")


def test_crowds_of_coco_and_the_largest_of_several_rings_are_taken():
    document = {"images": [{"id": 1, "file_name": "a.jpg"}], "categories": [{"id": 5, "name": "crab"}],
                "annotations": [
                    {"image_id": 1, "category_id": 5, "segmentation": [[0, 0, 1, 0, 1, 1], [0, 0, 9, 0, 9, 9, 0, 9]]},
                    {"image_id": 1, "category_id": 5, "segmentation": {"size": [2, 3], "counts": [1, 2, 3]}},
                    {"image_id": 1, "category_id": 5, "bbox": [1, 2, 3, 4]},
                    {"image_id": 2, "category_id": 5, "bbox": [1, 2, 3, 4]},
                    {"image_id": 1, "category_id": 5, "segmentation": {"size": [2, 3], "counts": [1]}}]}
    [source] = read_labels(json.dumps(document).encode(), name="coco.json")
    assert [(one.shape, one.numbers) for one in source.reading.records] == [
        ("outline", (0, 0, 9, 0, 9, 9, 0, 9)), ("mask", (2, 3, 1, 2, 3)), ("box", (1, 2, 3, 4))]
    assert len(source.reading.problems) == 2


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=400), st.sampled_from(["a.csv", "a.json", "a.cpc", "a.txt", "a.yaml", "a.zip"]))
def test_any_bytes_are_labels_or_one_clear_refusal(data, name):
    try:
        read_labels(data, name=name)
    except BadInput as error:
        assert len(str(error).splitlines()) == 1


HEADS = ("image,label,vocabulary,status,why,shape,numbers,confidence,at", "Name,Row,Column,Label",
         "point.media.key,label.name,point.x,point.y,point.polygon,likelihood,tag_names",
         "filename,label_name,label_hierarchy,shape_name,points,created_at",
         "basisOfRecord,scientificName,associatedMedia,occurrenceStatus,identificationRemarks",
         "year,month,day,latitude,longitude,leftimage,label")
CELL = st.sampled_from(["", "a.jpg", "1", "-3.5", "[1,2]", "[[1", "nan", "point", "Polygon", "x > ", " > ", "1e999"])


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(HEADS), st.lists(st.lists(CELL, min_size=3, max_size=9), min_size=1, max_size=4))
def test_any_cells_under_known_columns_are_read_or_complained_of(head, rows):
    lines = [head, *(",".join(f'"{cell}"' for cell in row) for row in rows)]
    for source in read_labels("\n".join(lines).encode(), name="x.csv"):
        assert all(one.image and one.path and all(map(str.strip, one.path)) for one in source.reading.records)
        assert all(one.confidence is None or 0 <= one.confidence <= 1 for one in source.reading.records)


# --- which image, which term


def known(number, path, group="dive 1", sha256=None):
    return Known(number, path, sha256 or f"{number:064d}", group, "reef")


IMAGES = Images([known(1, "d1/PR_1.tif"), known(2, "d2/PR_1.tif", "dive 2"), known(3, "d2/PR_2.png", "dive 2"),
                 known(4, "copy/PR_2b.png", "dive 2", f"{3:064d}")])


@pytest.mark.parametrize(("record", "ids"), [
    (LabelRecord("d1/PR_1.tif", ("x",)), [1]),
    (LabelRecord("/mnt/disk/d2/PR_1.tif", ("x",)), [2]), (LabelRecord("E:\\data\\d2\\pr_1.TIF", ("x",)), [2]),
    (LabelRecord("PR_1.png", ("x",), group="dive 2"), [2]), (LabelRecord("PR_2", ("x",)), [3]),
    (LabelRecord("renamed.png", ("x",), sha256=f"{1:064d}"), [1]),
    (LabelRecord("renamed.png", ("x",), sha256=f"{3:064d}"), [3, 4]), (LabelRecord("nowhere.png", ("x",)), [])])
def test_images_are_found_by_path_name_stem_dive_or_content(record, ids):
    assert IMAGES.meant_by(record) == ids


def test_a_name_of_two_images_is_not_guessed():
    with pytest.raises(Unclear):
        IMAGES.meant_by(LabelRecord("PR_1.tif", ("x",)))


def terms(*paths, start=1, code=None):
    return [Term(path, code, id=number) for number, path in enumerate(paths, start)]


WORDS = Terms({"CATAMI": [*terms(("Biota",), ("Biota", "Sponges"), ("Biota", "Worms", "Tube")),
                          Term(("Biota", "Crabs"), "CRAB", details={"synonyms": ["brachyura"]}, id=9)],
               "other": terms(("Sponges",), ("sand",), start=20)})


@pytest.mark.parametrize(("record", "number"), [
    (LabelRecord("a", ("Biota", "Sponges")), 2), (LabelRecord("a", ("biota ", "sponges")), 2),
    (LabelRecord("a", ("Worms", "Tube")), 3), (LabelRecord("a", ("Worms: Tube",)), 3), (LabelRecord("a", ("TUBE",)), 3),
    (LabelRecord("a", ("crab",), code="crab"), 9), (LabelRecord("a", ("Brachyura",)), 9),
    (LabelRecord("a", ("Sponges",), vocabulary="other"), 20), (LabelRecord("a", ("Sponges",), vocabulary="CATAMI"), 2),
    (LabelRecord("a", ("Physical", "sand")), None), (LabelRecord("a", ("kelp",)), None)])
def test_terms_are_found_by_path_its_end_code_or_synonym_and_never_against_their_parents(record, number):
    found = WORDS.meant_by(record)
    assert (found and found.id) == number


# --- what is stored


def test_imported_labels_are_acts_of_the_importer_that_say_whose_word_they_are(reef, tmp_path):
    path = file(tmp_path, "l.csv", "image,label,vocabulary,status,why,who,at,confidence\n"
                "d0/plain.jpg,Biota > Sponges,CATAMI,bulk,bulk,Cy,2020-01-02T03:04:05Z,0.25\n")
    told = imported(reef, [path])
    [event] = reef.labels.events()
    assert (told["labels"], told["events"], told["before"]) == (1, 1, 0)
    assert (event.why, event.confidence) == ("import", 0.25)
    assert {person.id: person.name for person in reef.people.all()}[event.person_id] == "Bo"
    assert event.rule == {"source": "l.csv", "by": "Cy", "at": 1577934245.0, "why": "bulk", "status": BULK}


def test_an_image_keeps_the_label_it_has_unless_the_files_are_to_win(reef, tmp_path):
    sand = next(term for term in reef.vocabularies.all_terms() if term.name == "Sand")
    ids = reef.library.columns("id", "path")
    plain = int(ids["id"][ids["path"].tolist().index("d0/plain.jpg")])
    reef.labels.label(reef.people.named("Ann").id, [plain], sand.id)
    path = file(tmp_path, "l.csv", "image,label\nd0/plain.jpg,Sponges\nd1/plain.jpg,Sponges\n")
    told = imported(reef, [path])
    assert (told["labels"], told["kept"], current(reef)["d0/plain.jpg"]) == (1, 1, "Sand")
    told = imported(reef, [path], replace=True)
    assert (told["labels"], told["replaced"], told["already_there"]) == (1, 1, 1)
    assert current(reef)["d0/plain.jpg"] == "Sponges"
    assert reef.labels.history(plain)[0].term_id == sand.id, "the old label is still in the log"
    reef.labels.revert(reef.people.named("Ann").id, told["before"])
    assert current(reef)["d0/plain.jpg"] == "Sand"


def test_unknown_terms_are_listed_with_the_nearest_and_nothing_is_invented(reef, tmp_path):
    path = file(tmp_path, "l.csv", "image,label\nd0/plain.jpg,Spongs\nd1/plain.jpg,Spongs\n")
    told = imported(reef, [path])
    assert told["unknown_terms"] == [{"label": "Spongs", "labels": 2, "nearest": ["Biota > Sponges"]}]
    assert "did you mean Biota > Sponges" in told["problems"][0]
    assert current(reef) == {} and len(reef.vocabularies.all_terms()) == len(TERMS)
    assert any("Spongs" in problem.where for problem in reef.library.problems())


def test_unknown_terms_are_added_with_their_parents_when_asked_for(reef, tmp_path):
    path = file(tmp_path, "l.csv", "image,label\nd0/plain.jpg,Biota > Fishes > Sharks\nd1/plain.jpg,Sponges\n")
    told = imported(reef, [path], vocabulary="CATAMI", add_terms=True)
    assert told["added_terms"] == ["CATAMI: Biota > Fishes", "CATAMI: Biota > Fishes > Sharks"]
    assert current(reef) == {"d0/plain.jpg": "Sharks", "d1/plain.jpg": "Sponges"}


def test_adding_terms_without_saying_where_is_refused(reef, tmp_path):
    path = file(tmp_path, "l.csv", "image,label\nd0/plain.jpg,Sharks\n")
    job = run_now(reef, "import labels", {"files": [str(path)], "person": "Bo", "add_terms": True})
    assert job.state == "failed" and "--vocabulary NAME" in job.error


def test_a_dry_run_tells_the_same_and_changes_nothing(reef, tmp_path):
    path = file(tmp_path, "l.csv", "image,label\nd0/plain.jpg,Sharks\nd1/plain.jpg,Sponges\nnowhere.jpg,Sand\n")
    wishes = {"vocabulary": "new words", "add_terms": True}
    dry = imported(reef, [path], dry_run=True, **wishes)
    assert reef.labels.events() == [] and len(reef.vocabularies.all()) == 1
    wet = imported(reef, [path], **wishes)
    for told in (dry, wet):
        assert (told["labels"], len(told["added_terms"]), told["unknown_images"]["count"]) == (2, 3, 1)


def test_points_become_labels_of_parts_and_leave_the_image_unlabelled(reef, tmp_path):
    coralnet = file(tmp_path, "points.csv", "Name,Row,Column,Label\nd0/plain.jpg,5,6,Sponges\nd0/plain.jpg,7,8,Sand\n")
    told = imported(reef, [coralnet, file(tmp_path, "plain.cpc", CPC)], dive=PLACES[0][1])
    assert told["parts"] == 3 and current(reef) == {}
    assert {(shape, numbers) for _, shape, numbers in points(reef)} == {
        ("point", (6, 5)), ("point", (8, 7)), ("point", (1.0, 239.0))}
    assert [found["label"] for found in told["unknown_terms"]] == ["SPON"]


def test_of_several_classes_for_an_image_the_first_holds_and_the_others_are_told(reef, tmp_path):
    path = file(tmp_path, "report.csv", "filename,label_name,label_hierarchy\nd0/plain.jpg,Sponges,Biota > Sponges\n"
                "d0/plain.jpg,Sand,Physical > Sand\n")
    told = imported(reef, [path])
    assert current(reef) == {"d0/plain.jpg": "Sponges"}
    assert "1 further classes" in told["losses"][0]


def test_names_of_two_images_are_told_and_a_dive_makes_them_clear(reef, tmp_path):
    path = file(tmp_path, "l.csv", "image,label\nplain.jpg,Sand\n")
    told = imported(reef, [path])
    assert told["unclear_images"] == {"count": 1, "examples": ["plain.jpg"]} and "--dive" in told["problems"][0]
    imported(reef, [path], dive=PLACES[1][1])
    assert current(reef) == {"d1/plain.jpg": "Sand"}


def test_too_many_moments_are_cut_to_days_and_that_is_told(reef, tmp_path, monkeypatch):
    monkeypatch.setattr(coming_in, "MOST_ACTS", 3)
    paths = reef.library.columns("path")["path"].tolist()
    rows = [f'"{path}",Sand,CATAMI,verified,manual,2020-01-02T03:04:{at:02}Z' for at, path in enumerate(paths)
            if '"' not in path]
    path = file(tmp_path, "l.csv", "\n".join(["image,label,vocabulary,status,why,at", *rows]))
    told = imported(reef, [path])
    assert told["labels"] == len(rows) and told["events"] == 1
    assert "kept to the day" in told["losses"][-1]


def test_a_broken_file_among_good_ones_stores_nothing(reef, tmp_path):
    good = file(tmp_path, "l.csv", "image,label\nd0/plain.jpg,Sand\n")
    job = run_now(reef, "import labels", {"files": [str(good), str(file(tmp_path, "bad.json", "{"))], "person": "Bo"})
    assert job.state == "failed" and "bad.json" in job.error
    assert reef.labels.events() == []


def test_the_truth_of_the_sample_campaign_is_a_table_of_labels_and_one_of_points():
    truth = Path(__file__).parents[2] / "sample_data" / "campaign" / "truth"
    assert len(records((truth / "images.csv").read_bytes())) > 200
    found = records((truth / "points.csv").read_bytes())
    assert {one.shape for one in found} == {"point"} and len(found) > 2000
