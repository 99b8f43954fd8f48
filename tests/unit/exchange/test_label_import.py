"""Labels from other programs: matching of images and terms, and reported problems."""

import io
import json
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benthoscope.engine.exchange.labels.export_model import BULK, PREDICTED
from benthoscope.engine.exchange.labels.formats import read_labels
from benthoscope.engine.exchange.labels.matching import ImageMatcher, Known, Terms, Unclear
from benthoscope.engine.exchange.labels.records import LabelRecord
from benthoscope.engine.jobs import run_now
from benthoscope.engine.jobs.labels import label_import as coming_in
from benthoscope.engine.problems import BadInput
from benthoscope.engine.workspace.labels.parts import standing_parts
from benthoscope.engine.workspace.labels.vocabularies import NewTerm, Term
from tests.unit.exchange.outgoing_reef import PLACES, imported, made

TERMS = (
    NewTerm(("Biota",)),
    NewTerm(("Biota", "Sponges"), "10000000", details={"synonyms": ["porifera"]}),
    NewTerm(("Biota", "Sea pens")),
    NewTerm(("Physical",)),
    NewTerm(("Physical", "Sand"), "82001014"),
)


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
    return [
        (standing_part.image, standing_part.shape, standing_part.numbers)
        for standing_part in standing_parts(workspace.labels.events())
    ]


def records(content, name="labels.csv", **extra):
    [source] = read_labels(content.encode() if isinstance(content, str) else content, name=name, **extra)
    return list(source.reading.records)


# --- what is read


def test_coralnet_points_are_read_with_their_robots_and_confidence():
    image_records = records(
        "Name,Row,Column,Label code,Annotator,Date annotated,Machine suggestion 1,Machine confidence 1\n"
        "a.jpg,12,34,Porit,robot,2023-01-02 03:04:05+00:00,Porit,87\n"
        "a.jpg,0,319,CCA,ann,,Porit,60\na.jpg,5,6,,,,,\n"
    )
    assert [(record.path, record.numbers, record.status, record.confidence) for record in image_records] == [
        (("Porit",), (34, 12), PREDICTED, 0.87),
        (("CCA",), (319, 0), None, None),
    ]
    assert image_records[0].at == 1672628645


CPC = (
    '"C:\\codes.txt","C:\\Pictures\\reef one\\plain.jpg",4800,3600,12000,9000\n0,3600\n4800,3600\n4800,0\n0,0\n3\n'
    '2400,900\n15,3585\n100,100\n"1","SPON","Notes",""\n"2","SAND","Notes","a, b"\n"3","","Notes",""\n' + '" "\n' * 28
)


def test_points_of_a_cpce_file_are_shares_of_the_image_whatever_their_unit():
    image_records = records(CPC, "plain.cpc")
    assert [(record.image, record.path, record.numbers) for record in image_records] == [
        ("C:/Pictures/reef one/plain.jpg", ("SPON",), (0.5, 0.25)),
        ("C:/Pictures/reef one/plain.jpg", ("SAND",), (1 / 320, 239 / 240)),
    ]


@pytest.mark.parametrize("end", [40, 100, 130, 150, CPC.index('"3"') + 3])
def test_a_cpce_file_that_was_cut_short_is_rejected(end):
    with pytest.raises(BadInput, match="truncated"):
        read_labels(CPC[:end].encode(), name="plain.cpc")


def test_labels_in_any_table_are_found_by_column_names_or_a_mapping():
    assert [(record.image, record.path) for record in records("photo;habitat\na.jpg;Biota > Sponges\nb.jpg;\n")] == [
        ("a.jpg", ("Biota", "Sponges"))
    ]
    [first] = records("Bild,Was,Ort\na.jpg,Sand,x\n", mapping={"Bild": "image", "Was": "label"})
    assert (first.image, first.path) == ("a.jpg", ("Sand",))


def test_a_table_without_labels_says_how_to_name_the_columns():
    with pytest.raises(BadInput, match="--mapping COLUMN=label"):
        read_labels(b"image,depth\na.jpg,5\n", name="x.csv")


def test_a_predicted_annotation_of_squidle_stays_one():
    [first] = records(
        "point.media.key,label.name,label.lineage_names,likelihood,needs_review,point.x,point.y\n"
        "PR_1,Sponges,Biota > Sponges,0.4,true,,\n"
    )
    assert (first.image, first.path, first.status, first.confidence, first.shape) == (
        "PR_1",
        ("Biota", "Sponges"),
        PREDICTED,
        0.4,
        None,
    )


def test_a_zipped_report_of_several_files_is_read_whole_and_a_label_tree_as_a_vocabulary():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in ("ann.csv", "bo.csv"):
            archive.writestr(name, "filename,label_name,label_hierarchy\na.jpg,Sponges,Biota > Sponges\n")
    assert [source.name for source in read_labels(buffer.getvalue(), name="r.zip")] == ["r.zip/ann.csv", "r.zip/bo.csv"]


def test_a_zip_that_unpacks_to_more_than_memory_is_rejected(monkeypatch):
    monkeypatch.setattr("benthoscope.engine.exchange.labels.formats.MAX_BYTES", 1 << 20)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.csv", b"0" * (3 << 20))
    with pytest.raises(BadInput, match="unpacks to more than"):
        read_labels(buffer.getvalue(), name="r.zip")


def test_crowds_of_coco_and_the_largest_of_several_rings_are_taken():
    document = {
        "images": [{"id": 1, "file_name": "a.jpg"}],
        "categories": [{"id": 5, "name": "crab"}],
        "annotations": [
            {"image_id": 1, "category_id": 5, "segmentation": [[0, 0, 1, 0, 1, 1], [0, 0, 9, 0, 9, 9, 0, 9]]},
            {"image_id": 1, "category_id": 5, "segmentation": {"size": [2, 3], "counts": [1, 2, 3]}},
            {"image_id": 1, "category_id": 5, "bbox": [1, 2, 3, 4]},
            {"image_id": 2, "category_id": 5, "bbox": [1, 2, 3, 4]},
            {"image_id": 1, "category_id": 5, "segmentation": {"size": [2, 3], "counts": [1]}},
        ],
    }
    [source] = read_labels(json.dumps(document).encode(), name="coco.json")
    assert [(record.shape, record.numbers) for record in source.reading.records] == [
        ("outline", (0, 0, 9, 0, 9, 9, 0, 9)),
        ("mask", (2, 3, 1, 2, 3)),
        ("box", (1, 2, 3, 4)),
    ]
    assert len(source.reading.problems) == 2


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=400), st.sampled_from(["a.csv", "a.json", "a.cpc", "a.txt", "a.yaml", "a.zip"]))
def test_any_bytes_give_labels_or_a_clear_error(data, name):
    try:
        read_labels(data, name=name)
    except BadInput as error:
        assert len(str(error).splitlines()) == 1


HEADS = (
    "image,label,vocabulary,status,why,shape,numbers,confidence,at",
    "Name,Row,Column,Label",
    "point.media.key,label.name,point.x,point.y,point.polygon,likelihood,tag_names",
    "filename,label_name,label_hierarchy,shape_name,points,created_at",
    "basisOfRecord,scientificName,associatedMedia,occurrenceStatus,identificationRemarks",
    "year,month,day,latitude,longitude,leftimage,label",
)
CELL = st.sampled_from(["", "a.jpg", "1", "-3.5", "[1,2]", "[[1", "nan", "point", "Polygon", "x > ", " > ", "1e999"])


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(HEADS), st.lists(st.lists(CELL, min_size=3, max_size=9), min_size=1, max_size=4))
def test_any_cells_under_known_columns_are_read_or_reported(head, rows):
    lines = [head, *(",".join(f'"{cell}"' for cell in row) for row in rows)]
    for source in read_labels("\n".join(lines).encode(), name="x.csv"):
        assert all(
            record.image and record.path and all(map(str.strip, record.path)) for record in source.reading.records
        )
        assert all(record.confidence is None or 0 <= record.confidence <= 1 for record in source.reading.records)


# --- which image, which term


def known(number, path, group="dive 1", sha256=None):
    return Known(number, path, sha256 or f"{number:064d}", group, "reef")


IMAGES = ImageMatcher(
    [
        known(1, "d1/PR_1.tif"),
        known(2, "d2/PR_1.tif", "dive 2"),
        known(3, "d2/PR_2.png", "dive 2"),
        known(4, "copy/PR_2b.png", "dive 2", f"{3:064d}"),
    ]
)


@pytest.mark.parametrize(
    ("record", "ids"),
    [
        (LabelRecord("d1/PR_1.tif", ("x",)), [1]),
        (LabelRecord("/mnt/disk/d2/PR_1.tif", ("x",)), [2]),
        (LabelRecord("E:\\data\\d2\\pr_1.TIF", ("x",)), [2]),
        (LabelRecord("PR_1.png", ("x",), group="dive 2"), [2]),
        (LabelRecord("PR_2", ("x",)), [3]),
        (LabelRecord("renamed.png", ("x",), sha256=f"{1:064d}"), [1]),
        (LabelRecord("renamed.png", ("x",), sha256=f"{3:064d}"), [3, 4]),
        (LabelRecord("nowhere.png", ("x",)), []),
    ],
)
def test_images_are_found_by_path_name_stem_dive_or_content(record, ids):
    assert IMAGES.meant_by(record) == ids


def test_a_name_of_two_images_is_not_guessed():
    with pytest.raises(Unclear):
        IMAGES.meant_by(LabelRecord("PR_1.tif", ("x",)))


def terms(*paths, start=1, code=None):
    return [Term(path, code, id=number) for number, path in enumerate(paths, start)]


WORDS = Terms(
    {
        "CATAMI": [
            *terms(("Biota",), ("Biota", "Sponges"), ("Biota", "Worms", "Tube")),
            Term(("Biota", "Crabs"), "CRAB", details={"synonyms": ["brachyura"]}, id=9),
        ],
        "other": terms(("Sponges",), ("sand",), start=20),
    }
)


@pytest.mark.parametrize(
    ("record", "number"),
    [
        (LabelRecord("a", ("Biota", "Sponges")), 2),
        (LabelRecord("a", ("biota ", "sponges")), 2),
        (LabelRecord("a", ("Worms", "Tube")), 3),
        (LabelRecord("a", ("Worms: Tube",)), 3),
        (LabelRecord("a", ("TUBE",)), 3),
        (LabelRecord("a", ("crab",), code="crab"), 9),
        (LabelRecord("a", ("Brachyura",)), 9),
        (LabelRecord("a", ("Sponges",), vocabulary="other"), 20),
        (LabelRecord("a", ("Sponges",), vocabulary="CATAMI"), 2),
        (LabelRecord("a", ("Physical", "sand")), None),
        (LabelRecord("a", ("kelp",)), None),
    ],
)
def test_terms_are_found_by_path_its_end_code_or_synonym_and_never_against_their_parents(record, number):
    matches = WORDS.meant_by(record)
    assert (matches and matches.id) == number


# --- what is stored


def test_imported_labels_are_events_of_the_importer_and_keep_their_author(reef, tmp_path):
    path = file(
        tmp_path,
        "l.csv",
        "image,label,vocabulary,status,why,who,at,confidence\n"
        "d0/plain.jpg,Biota > Sponges,CATAMI,bulk,bulk,Cy,2020-01-02T03:04:05Z,0.25\n",
    )
    import_result = imported(reef, [path])
    [event] = reef.labels.events()
    assert (import_result["labels"], import_result["events"], import_result["before"]) == (1, 1, 0)
    assert (event.why, event.confidence) == ("import", 0.25)
    assert {person.id: person.name for person in reef.people.all()}[event.person_id] == "Bo"
    assert event.rule == {"source": "l.csv", "by": "Cy", "at": 1577934245.0, "why": "bulk", "status": BULK}


def test_an_image_keeps_its_label_unless_replace_is_set(reef, tmp_path):
    sand = next(term for term in reef.vocabularies.all_terms() if term.name == "Sand")
    ids = reef.library.columns("id", "path")
    plain = int(ids["id"][ids["path"].tolist().index("d0/plain.jpg")])
    reef.labels.label(reef.people.named("Ann").id, [plain], sand.id)
    path = file(tmp_path, "l.csv", "image,label\nd0/plain.jpg,Sponges\nd1/plain.jpg,Sponges\n")
    import_result = imported(reef, [path])
    assert (import_result["labels"], import_result["kept"], current(reef)["d0/plain.jpg"]) == (1, 1, "Sand")
    import_result = imported(reef, [path], replace=True)
    assert (import_result["labels"], import_result["replaced"], import_result["already_there"]) == (1, 1, 1)
    assert current(reef)["d0/plain.jpg"] == "Sponges"
    assert reef.labels.history(plain)[0].term_id == sand.id, "the old label is still in the log"
    reef.labels.revert(reef.people.named("Ann").id, import_result["before"])
    assert current(reef)["d0/plain.jpg"] == "Sand"


def test_unknown_terms_are_listed_with_similar_ones_and_not_created(reef, tmp_path):
    path = file(tmp_path, "l.csv", "image,label\nd0/plain.jpg,Spongs\nd1/plain.jpg,Spongs\n")
    import_result = imported(reef, [path])
    assert import_result["unknown_terms"] == [{"label": "Spongs", "labels": 2, "nearest": ["Biota > Sponges"]}]
    assert "did you mean Biota > Sponges" in import_result["problems"][0]
    assert current(reef) == {} and len(reef.vocabularies.all_terms()) == len(TERMS)
    assert any("Spongs" in problem.where for problem in reef.library.problems())


def test_unknown_terms_are_added_with_their_parents_when_asked_for(reef, tmp_path):
    path = file(tmp_path, "l.csv", "image,label\nd0/plain.jpg,Biota > Fishes > Sharks\nd1/plain.jpg,Sponges\n")
    import_result = imported(reef, [path], vocabulary="CATAMI", add_terms=True)
    assert import_result["added_terms"] == ["CATAMI: Biota > Fishes", "CATAMI: Biota > Fishes > Sharks"]
    assert current(reef) == {"d0/plain.jpg": "Sharks", "d1/plain.jpg": "Sponges"}


def test_adding_terms_without_saying_where_is_rejected(reef, tmp_path):
    path = file(tmp_path, "l.csv", "image,label\nd0/plain.jpg,Sharks\n")
    job = run_now(reef, "import labels", {"files": [str(path)], "person": "Bo", "add_terms": True})
    assert job.state == "failed" and "--vocabulary NAME" in job.error


def test_a_dry_run_reports_the_same_and_changes_nothing(reef, tmp_path):
    path = file(tmp_path, "l.csv", "image,label\nd0/plain.jpg,Sharks\nd1/plain.jpg,Sponges\nnowhere.jpg,Sand\n")
    options = {"vocabulary": "new words", "add_terms": True}
    dry = imported(reef, [path], dry_run=True, **options)
    assert reef.labels.events() == [] and len(reef.vocabularies.all()) == 1
    wet = imported(reef, [path], **options)
    for report in (dry, wet):
        assert (report["labels"], len(report["added_terms"]), report["unknown_images"]["count"]) == (2, 3, 1)


def test_points_become_labels_of_parts_and_leave_the_image_unlabelled(reef, tmp_path):
    coralnet = file(tmp_path, "points.csv", "Name,Row,Column,Label\nd0/plain.jpg,5,6,Sponges\nd0/plain.jpg,7,8,Sand\n")
    import_result = imported(reef, [coralnet, file(tmp_path, "plain.cpc", CPC)], dive=PLACES[0][1])
    assert import_result["parts"] == 3 and current(reef) == {}
    assert {(shape, numbers) for _, shape, numbers in points(reef)} == {
        ("point", (6, 5)),
        ("point", (8, 7)),
        ("point", (1.0, 239.0)),
    }
    assert [unknown_term["label"] for unknown_term in import_result["unknown_terms"]] == ["SPON"]


def test_the_first_of_several_classes_of_an_image_is_used_and_the_others_reported(reef, tmp_path):
    path = file(
        tmp_path,
        "report.csv",
        "filename,label_name,label_hierarchy\nd0/plain.jpg,Sponges,Biota > Sponges\n"
        "d0/plain.jpg,Sand,Physical > Sand\n",
    )
    import_result = imported(reef, [path])
    assert current(reef) == {"d0/plain.jpg": "Sponges"}
    assert "1 additional classes" in import_result["losses"][0]


def test_ambiguous_image_names_are_reported_and_a_dive_resolves_them(reef, tmp_path):
    path = file(tmp_path, "l.csv", "image,label\nplain.jpg,Sand\n")
    import_result = imported(reef, [path])
    assert (
        import_result["unclear_images"] == {"count": 1, "examples": ["plain.jpg"]}
        and "--dive" in import_result["problems"][0]
    )
    imported(reef, [path], dive=PLACES[1][1])
    assert current(reef) == {"d1/plain.jpg": "Sand"}


def test_too_many_times_are_rounded_to_days_and_reported(reef, tmp_path, monkeypatch):
    monkeypatch.setattr(coming_in, "MOST_ACTS", 3)
    paths = reef.library.columns("path")["path"].tolist()
    rows = [
        f'"{path}",Sand,CATAMI,verified,manual,2020-01-02T03:04:{at:02}Z'
        for at, path in enumerate(paths)
        if '"' not in path
    ]
    path = file(tmp_path, "l.csv", "\n".join(["image,label,vocabulary,status,why,at", *rows]))
    import_result = imported(reef, [path])
    assert import_result["labels"] == len(rows) and import_result["events"] == 1
    assert "rounded to days" in import_result["losses"][-1]


def test_a_broken_file_among_good_ones_stores_nothing(reef, tmp_path):
    good = file(tmp_path, "l.csv", "image,label\nd0/plain.jpg,Sand\n")
    job = run_now(reef, "import labels", {"files": [str(good), str(file(tmp_path, "bad.json", "{"))], "person": "Bo"})
    assert job.state == "failed" and "bad.json" in job.error
    assert reef.labels.events() == []


def test_the_truth_of_the_sample_campaign_is_a_table_of_labels_and_one_of_points():
    truth = Path(__file__).parents[3] / "sample_data" / "campaign" / "truth"
    assert len(records((truth / "images.csv").read_bytes())) > 200
    image_records = records((truth / "points.csv").read_bytes())
    assert {record.shape for record in image_records} == {"point"} and len(image_records) > 2000


def ifdo_labels(*names):
    """An iFDO file with one label of each image."""
    annotations = {"image-annotations": [{"shape": "whole-image", "labels": [{"label": "1", "annotator": "1"}]}]}
    header = {
        "image-set-name": "s",
        "image-annotation-labels": [{"id": "1", "name": "Sand"}],
        "image-annotation-creators": [{"id": "1", "name": "Ann"}],
    }
    return json.dumps({"image-set-header": header, "image-set-items": dict.fromkeys(names, annotations)})


LIBRARY = [
    Known(number, path, f"{number:064}", "d", "c")
    for number, path in enumerate(["d1/a.jpg", "d2/a.jpg", "d2\\a.jpg", "\\b.jpg", "\\", "d1/c.jpg"])
]


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("d1/a.jpg", "d1/a.jpg"),
        ("d1\\a.jpg", "d1/a.jpg"),
        (".\\d1\\a.jpg", "d1/a.jpg"),
        ("d2/a.jpg", "d2/a.jpg"),
        ("C:\\data\\d1\\a.jpg", "d1/a.jpg"),
        ("/data/d1/a.jpg", "d1/a.jpg"),
        ("c.jpg", "d1/c.jpg"),
        ("d2\\a.jpg", "d2\\a.jpg"),
        ("\\b.jpg", "\\b.jpg"),
        ("\\", "\\"),
    ],
)
@pytest.mark.parametrize("read", ["ifdo", "table"])
def test_images_are_found_by_names_with_either_separator(name, path, read):
    """A backslash separates folders unless an image has exactly this name."""
    text = ifdo_labels(name) if read == "ifdo" else f"image,label\n{name},Sand\n"
    [record] = records(text, "a.json" if read == "ifdo" else "a.csv")
    [number] = ImageMatcher(LIBRARY).meant_by(record)
    assert LIBRARY[number].path == path


def test_an_ifdo_item_without_a_name_is_a_problem():
    [source] = read_labels(ifdo_labels("a.jpg", " ", "./").encode(), name="a.json")
    assert [record.image for record in source.reading.records] == ["a.jpg"]
    assert [problem.what for problem in source.reading.problems] == ["has no image"] * 2
