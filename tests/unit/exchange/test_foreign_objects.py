"""Objects and boxes of EcoTaxa, FathomNet and VIAME: parts of images, with the status their program gave them."""

import gzip
import io
import json
import sqlite3
import wave
import zipfile
import zlib

import numpy as np
import pytest
from PIL import Image

from benthoscope.engine.exchange.image_import.sources import read_source
from benthoscope.engine.exchange.labels.formats import read_labels
from benthoscope.engine.labelling.agreement import opinions
from benthoscope.engine.labelling.training_data import labelled_rows
from benthoscope.engine.problems import BadInput
from benthoscope.engine.workspace.labels.events import standing
from benthoscope.engine.workspace.labels.parts import standing_parts
from benthoscope.engine.workspace.labels.vocabularies import NewTerm
from tests.unit.exchange.outgoing_reef import everything, exported, imported, made

HEADER = [
    "img_file_name",
    "object_id",
    "object_lat",
    "object_lon",
    "object_date",
    "object_time",
    "object_depth_min",
    "object_annotation_category",
    "object_annotation_status",
    "object_annotation_person_name",
    "object_annotation_date",
    "object_annotation_time",
    "object_area",
]
TYPES = ["[t]", "[t]", "[f]", "[f]", "[t]", "[t]", "[f]", "[t]", "[t]", "[t]", "[t]", "[t]", "[f]"]
HERE = {"image": "d0/plain.jpg"}
BOX = ["object_bx", "object_by", "object_width", "object_height"]


def row(category="Calanidae<Calanoida", status="predicted", image="plain.jpg", number=1, box=()):
    return [
        image,
        f"o{number}",
        "-33.5",
        "151.5",
        "20190513",
        "93000",
        "12",
        category,
        status,
        "Ann Lee",
        "20200102",
        "030405",
        "99",
        *map(str, box),
    ]


def ecotaxa(*rows, boxes=False):
    header = [*HEADER, *(BOX if boxes else [])], [*TYPES, *(["[f]"] * 4 if boxes else [])]
    return "\n".join("\t".join(cells) for cells in (*header, *rows)).encode()


def labels(content, name="ecotaxa_export.tsv", **extra):
    [source] = read_labels(content if isinstance(content, bytes) else content.encode(), name=name, **extra)
    return source


@pytest.fixture
def reef(tmp_path):
    with made(tmp_path) as workspace:
        workspace.vocabularies.add(
            "plankton", [NewTerm(("Calanoida",)), NewTerm(("Calanoida", "Calanidae")), NewTerm(("fish",))]
        )
        yield workspace


def file(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def image_id(reef, path):
    return next(
        image.id for image in reef.library.images(reef.library.columns("id")["id"].tolist()) if image.path == path
    )


# --- EcoTaxa


def test_objects_with_a_box_become_parts_and_keep_their_status():
    source = labels(
        ecotaxa(
            row(box=(1, 2, 30, 40)),
            row(status="validated", number=2, box=(5, 6, 7, 8)),
            row(status="dubious", number=3, box=(5, 6, 7, 9)),
            boxes=True,
        )
    )
    records = source.reading.records
    assert source.title == "EcoTaxa objects" and len(records) == 3
    assert [(record.shape, record.numbers) for record in records] == [
        ("box", (1, 2, 30, 40)),
        ("box", (5, 6, 7, 8)),
        ("box", (5, 6, 7, 9)),
    ]
    assert [record.status for record in records] == ["predicted", "verified", "dubious"]
    assert records[0].path == ("Calanoida", "Calanidae") and records[0].who == "Ann Lee"
    assert records[0].at == 1577934245, "2020-01-02 03:04:05 UTC"


def test_objects_without_a_box_never_become_labels_of_whole_images():
    reading = labels(ecotaxa(row(), row(number=2), row(category="", number=3))).reading
    assert reading.records == ()
    assert "2 objects have no box" in reading.losses[1] and "1 objects without a class" in reading.losses[0]
    assert "--mapping img_file_name=image" in reading.losses[1]


def test_an_option_states_that_each_image_shows_one_object():
    mapping = {"img_file_name": "image", "object_annotation_category": "label"}
    [record] = labels(ecotaxa(row()), mapping=mapping).reading.records
    assert (record.shape, record.status, record.path) == (None, "predicted", ("Calanoida", "Calanidae"))


def test_the_type_row_is_ignored_and_leading_zeros_of_times_are_restored():
    source = read_source(ecotaxa(row(), row(image="other.jpg", number=2)), name="ecotaxa_export.tsv")
    assert [record.image for record in source.reading.records] == ["plain.jpg", "other.jpg"]
    first = source.reading.records[0]
    assert (first.latitude, first.longitude, first.depth) == (-33.5, 151.5, 12)
    assert first.taken_at == 1557739800, "2019-05-13 09:30:00 UTC"
    assert not any(name.startswith("object_") for name in first.details)
    assert source.reading.problems == () and "their classes stay in the file" in source.reading.losses[0]


def test_imported_predictions_are_listed_and_are_not_opinions(reef, tmp_path):
    inside, outside = row(**HERE, box=(1, 2, 30, 40)), row(**HERE, number=2, box=(99_999, 2, 3, 4))
    path = file(tmp_path, "ecotaxa.tsv", ecotaxa(inside, outside, boxes=True))
    import_result = imported(reef, [path])
    assert (import_result["labels"], import_result["parts"], import_result["unconfirmed"]) == (0, 1, {"predicted": 1})
    assert any("outside the image" in problem for problem in import_result["problems"])
    [piece] = [
        standing_part
        for standing_part in standing_parts(reef.labels.events())
        if standing_part.event.rule.get("status")
    ]
    assert piece.event.rule["status"] == "predicted" and piece.event.rule["by"] == "Ann Lee"


def test_a_file_without_labels_gives_the_reason_even_if_its_vocabulary_is_new(reef, tmp_path):
    before = [words.name for words in reef.vocabularies.all()]
    import_result = imported(
        reef, [file(tmp_path, "e.tsv", ecotaxa(row(**HERE)))], vocabulary="Plankton", add_terms=True
    )
    assert import_result["labels"] == 0 and any("1 objects have no box" in line for line in import_result["losses"])
    assert [words.name for words in reef.vocabularies.all()] == before


def test_a_predicted_label_of_an_image_stays_a_prediction(reef, tmp_path):
    mapping = {"img_file_name": "image", "object_annotation_category": "label"}
    before = len(opinions(standing(reef.labels.events())).images)
    import_result = imported(reef, [file(tmp_path, "e.tsv", ecotaxa(row(**HERE)))], mapping=mapping, replace=True)
    assert import_result["labels"] == 1 and import_result["unconfirmed"] == {"predicted": 1}
    assert len(opinions(standing(reef.labels.events())).images) == before
    [picture] = [each for each in everything(reef).pictures if each.image.path == HERE["image"]]
    assert picture.label.status == "predicted"


def test_training_data_exclude_imported_predictions(reef, tmp_path):
    class Everywhere:
        @staticmethod
        def rows_of(images):
            return np.asarray(images)

    mapping = {"img_file_name": "image", "object_annotation_category": "label"}
    before = labelled_rows(reef.labels.events(), Everywhere, reef.labels.current())
    imported(reef, [file(tmp_path, "e.tsv", ecotaxa(row(**HERE)))], mapping=mapping, replace=True)
    after = labelled_rows(reef.labels.events(), Everywhere, reef.labels.current())
    assert set(after.rows.tolist()) == set(before.rows.tolist()) - {image_id(reef, HERE["image"])}


def test_a_dubious_status_survives_export_and_import(reef, tmp_path):
    mapping = {"img_file_name": "image", "object_annotation_category": "label"}
    imported(reef, [file(tmp_path, "e.tsv", ecotaxa(row(status="dubious", **HERE)))], mapping=mapping, replace=True)
    exported(reef, tmp_path / "out", "csv")
    [source] = read_labels((tmp_path / "out" / "labels.csv").read_bytes(), name="labels.csv")
    assert "dubious" in {record.status for record in source.reading.records}


# --- FathomNet

IMAGES = [
    {
        "uuid": "1",
        "url": "https://fathomnet.org/static/m3/plain.jpg?x=1",
        "timestamp": "2019-05-13T12:00:00Z",
        "latitude": 36.5,
        "longitude": -122.0,
        "depthMeters": 900.5,
        "altitude": 2.5,
        "temperatureCelsius": 4.1,
        "boundingBoxes": [
            {
                "concept": "fish",
                "x": 1,
                "y": 2,
                "width": 30,
                "height": 40,
                "observer": "kbarnard",
                "verified": True,
                "verifier": "lundsten",
                "verificationTimestamp": "2021-01-01T00:00:00Z",
            },
            {"concept": "fish", "x": 5, "y": 6, "width": 7, "height": 8, "observer": "model"},
            {"concept": "fish", "x": 5, "y": 6, "width": 0, "height": 8},
            {"concept": "fish", "x": 5, "y": 6, "width": 7, "height": 9, "rejected": True},
        ],
    }
]


@pytest.mark.parametrize("document", [IMAGES, {"content": IMAGES}, IMAGES[0]])
def test_boxes_of_fathomnet_are_parts_and_only_verified_ones_are_confirmed(document):
    source = labels(json.dumps(document), "fathomnet.json")
    records = source.reading.records
    assert source.title == "FathomNet boxes" and [record.image for record in records] == ["plain.jpg", "plain.jpg"]
    assert [(record.numbers, record.status, record.who) for record in records] == [
        ((1, 2, 30, 40), "verified", "lundsten"),
        ((5, 6, 7, 8), "dubious", "model"),
    ]
    assert "1 boxes that a reviewer rejected" in source.reading.losses[0]
    assert "needs x, y, width and height" in source.reading.problems[0].what


@pytest.mark.parametrize("url", ["", "http://[", "https://fathomnet.org/"])
def test_images_of_fathomnet_without_a_file_name_are_passed_over(url):
    assert read_source(json.dumps([{"url": url, "boundingBoxes": []}]).encode(), name="f.json") is None


def test_images_of_fathomnet_have_time_position_and_depth():
    source = read_source(json.dumps(IMAGES).encode(), name="fathomnet.json")
    [record] = source.reading.records
    assert (record.image, record.depth, record.altitude) == ("plain.jpg", 900.5, 2.5)
    assert record.taken_at == 1557748800 and record.details["sea_water_temperature"] == 4.1
    assert "4 boxes stay in the file" in source.reading.losses[0]


def test_a_table_of_boxes_does_not_label_whole_images():
    [record] = labels("concept,image,x,y,width,height\nfish,plain.jpg,1,2,30,40\n", "boxes.csv").reading.records
    assert (record.shape, record.numbers, record.path) == ("box", (1, 2, 30, 40), ("fish",))


# --- VIAME

VIAME = """# 1: Detection or Track-id,2: Video or Image Identifier,3: Unique Frame,4-7: Img-bbox(TL_x,TL_y,BR_x,BR_y),\
8: Detection or Length Confidence,9: Target Length,10-11+: Repeated Species,Confidence Pairs
# metadata,fps: 1,"dataset_info: {""site"": ""2024""}"
0,plain.jpg,0,1,2,31,42,0.87,-1,fish,0.87,rock,0.22
1,plain.jpg,0,5,6,12,14,1,-1,fish,1,(poly) 5 6 12 6 12 14 5 14,(note) looks odd
2,plain.jpg,0,5,6,12,14,1,-1
"""


def test_detections_of_viame_are_parts_and_those_below_certainty_predictions():
    source = labels(VIAME, "detections.csv")
    records = source.reading.records
    assert source.title == "VIAME detections"
    assert [(record.shape, record.numbers, record.path, record.status, record.confidence) for record in records] == [
        ("box", (1, 2, 30, 40), ("fish",), "predicted", 0.87),
        ("outline", (5, 6, 12, 6, 12, 14, 5, 14), ("fish",), None, None),
    ]
    text = " ".join(source.reading.losses)
    assert "1 notes" in text and "1 detections without a class" in text and "1 detections with a confidence" in text


def test_detections_without_comments_are_recognised_too():
    assert len(labels("\n".join(VIAME.splitlines()[2:]), "d.csv").reading.records) == 2


def test_detections_are_stored_as_parts(reef, tmp_path):
    import_result = imported(reef, [file(tmp_path, "d.csv", VIAME.replace("plain.jpg", HERE["image"]))])
    assert (import_result["labels"], import_result["parts"], import_result["unconfirmed"]) == (0, 2, {"predicted": 1})


def test_an_import_of_images_says_that_detections_stay_in_the_file():
    source = read_source(VIAME.encode(), name="d.csv")
    assert [record.image for record in source.reading.records] == ["plain.jpg"]
    assert "3 detections stay in the file" in source.reading.losses[0]


def test_a_table_of_numbers_is_not_taken_for_detections():
    with pytest.raises(BadInput):
        labels("1,2,3,4,5,6,7,8,9,10\n1,2,3,4,5,6,7,8,9,10\n", "numbers.csv")


# --- binary files


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"PK\x03\x04" + bytes(range(256)) * 4, "Excel workbook"),
        (b"\xff\xd8\xff\xe0" + bytes(range(256)), "JPEG image"),
        (bytes(range(256)) * 20, "binary file"),
        (b"SQLite format 3\0" + bytes(100), "SQLite database"),
    ],
)
@pytest.mark.parametrize("name", ["a.csv", "a.json", "a.yaml"])
def test_binary_files_are_rejected_without_echoing_their_bytes(content, told, name):
    with pytest.raises(BadInput, match=told) as refused:
        read_source(content, name=name)
    assert str(refused.value).isprintable()


def small_binary_files():
    """(name, bytes) of the smallest files of several formats."""
    picture, zipped, database, waves = io.BytesIO(), io.BytesIO(), sqlite3.connect(":memory:"), io.BytesIO()
    Image.new("RGB", (1, 1)).save(picture, "PNG")
    bitmap = io.BytesIO()
    Image.new("RGB", (2, 2)).save(bitmap, "BMP")
    with zipfile.ZipFile(zipped, "w") as archive:
        archive.writestr("a.csv", "image,label\n")
    database.execute("CREATE TABLE a (b)")
    with wave.open(waves, "wb") as sound:
        sound.setparams((1, 1, 8000, 0, "NONE", ""))
        sound.writeframes(bytes(60))
    yield "PNG", picture.getvalue()
    yield "BMP", bitmap.getvalue()
    yield "ZIP", zipped.getvalue()
    yield "SQLite", database.serialize()
    yield "gzip", gzip.compress(b"image,label\n")
    yield "zlib", zlib.compress(bytes(range(200)), 9)
    yield "WAV", waves.getvalue()
    yield "numbers", np.arange(30, dtype=np.int32).tobytes()
    yield "measurements", np.linspace(0, 1, 40).tobytes()
    for size in (64, 100, 300, 5_000):
        yield f"{size} random bytes", np.random.default_rng(size).bytes(size)


@pytest.mark.parametrize("content", [pytest.param(data, id=name) for name, data in small_binary_files()])
@pytest.mark.parametrize("name", ["a.csv", "a.txt", "a.json", "a.yaml"])
def test_small_binary_files_are_rejected_in_one_clear_line(content, name):
    with pytest.raises(BadInput, match=r"a\.\w+: is not text but ") as refused:
        read_source(content, name=name)
    line = str(refused.value)
    assert line.isascii() and line.isprintable() and len(line) < 120 and "\\x" not in line


@pytest.mark.parametrize("size", range(1, 64, 3))
def test_a_few_random_bytes_are_rejected_in_one_line_too(size):
    with pytest.raises(BadInput) as refused:
        labels(np.random.default_rng(size).bytes(size), "a.csv")
    assert str(refused.value).isprintable()


@pytest.mark.parametrize(
    "text",
    [
        "image,label\na.jpg,sand\x01\n",
        "image,label\na.jpg,sand\x00\n",
        "image,label\na\x08.jpg,\x1f\x02\n",
        "image,label\na.jpg,\x01\x02\x03\x04\x05\x06\x07\x08\n",
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1252"])
def test_short_texts_with_stray_control_characters_are_read(text, encoding):
    [record] = read_source(text.encode(encoding), name="a.csv").reading.records
    assert record.image.startswith("a")


def test_a_text_in_an_8_bit_encoding_with_a_stray_control_character_is_read():
    text = "image,label\na.jpg,губка\x01\n"
    assert len(read_source(text.encode("cp1251"), name="a.csv").reading.records) == 1


def test_a_cpce_file_of_random_bytes_and_an_excel_workbook_are_no_labels():
    with pytest.raises(BadInput, match="binary file"):
        labels(bytes(range(256)) * 20, "a.cpc")
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>")
    with pytest.raises(BadInput, match="is an Excel workbook"):
        labels(packed.getvalue(), "a.xlsx")


def test_messages_contain_printable_characters_only():
    with pytest.raises(BadInput) as refused:
        labels("a\x1b[31m,b\x07\n1,2\n", "a.csv")
    assert str(refused.value).isprintable() and "\\x1b" in str(refused.value)
