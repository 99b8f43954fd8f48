"""Each format follows its own rules, and its report lists the losses."""

import csv
import io
import json
import time
import zipfile
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benthoscope.engine.exchange.labels.biigle import read_label_tree, write_label_tree
from benthoscope.engine.exchange.labels.coco import box_of, corners, mask_of, runs
from benthoscope.engine.exchange.labels.export_model import (
    ExportAnnotation,
    ExportFile,
    ExportImage,
    ExportLabel,
    ExportTrack,
    Outgoing,
    Written,
)
from benthoscope.engine.exchange.labels.formats import FORMATS, ExportFormat, read_labels
from benthoscope.engine.exchange.labels.image_lists import escaped, unescaped
from benthoscope.engine.exchange.labels.imos import write_tracks
from benthoscope.engine.exchange.metadata.ifdo import read_ifdo
from benthoscope.engine.exchange.metadata.tables import read_track
from benthoscope.engine.exchange.parsing.csv_output import RESERVED, file_name, guarded, is_formula, unguarded, unlike
from benthoscope.engine.exchange.records import Complaints
from benthoscope.engine.features.masks import MaskFile, pack_mask
from benthoscope.engine.jobs import JobQueue, run_now
from benthoscope.engine.jobs.labels.export_collect import chosen_images
from benthoscope.engine.problems import BadInput
from benthoscope.engine.term_path import joined, parted
from benthoscope.engine.workspace import Image, NewImage
from benthoscope.engine.workspace.labels.vocabularies import NewTerm, Term
from tests.unit.exchange.ifdo_rules import SCHEMA
from tests.unit.exchange.outgoing_reef import NAMES, PLACES, everything, exported, labelled, made


@pytest.fixture(scope="module")
def reef(tmp_path_factory):
    with made(tmp_path_factory.mktemp("reef")) as workspace:
        yield labelled(workspace)


def written(reef, name, **options):
    """{file name: content} and {what is lost: how many}."""
    result = FORMATS[name].write(everything(reef, **options))
    return (
        {file.name: b"".join(file.chunks) for file in result.files},
        {loss.what: loss.count for loss in result.losses},
    )


def rows(data):
    return list(csv.DictReader(io.StringIO(data.decode("utf-8"), newline="")))


# --- iFDO


@pytest.fixture(scope="module")
def ifdo(reef):
    return [json.loads(data) for data in written(reef, "ifdo")[0].values()]


def test_ifdo_files_meet_the_rules_of_the_schema(ifdo):
    assert len(ifdo) == len(PLACES)
    for document in ifdo:
        jsonschema.Draft202012Validator(SCHEMA).validate(document)


@pytest.mark.parametrize(
    "breach",
    [
        lambda header, item: header.pop("image-abstract"),
        lambda header, item: item.update({"image-uuid": "0" * 36}),
        lambda header, item: item["image-annotations"][0].update(coordinates=[[1.0]]),
    ],
)
def test_the_rules_detect_a_violation(ifdo, breach):
    document = json.loads(json.dumps(ifdo[0]))
    item = next(item for item in document["image-set-items"].values() if "image-annotations" in item)
    breach(document["image-set-header"], item)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(SCHEMA).validate(document)


def test_ifdo_says_heights_and_areas_under_both_spellings_and_places_with_every_image(ifdo):
    for document in ifdo:
        assert document["image-set-header"]["image-acquisition"] == "photo"
        for item in document["image-set-items"].values():
            assert item["image-altitude-meters"] == item["image-altitude"] < 0
            assert item["image-area-square-meters"] == item["image-area-square-meter"] == 0.75
            assert {"image-latitude", "image-longitude", "image-datetime"} <= item.keys()


def test_an_ifdo_label_on_a_whole_image_has_one_empty_list_of_coordinates(ifdo):
    annotations = [
        annotation
        for document in ifdo
        for item in document["image-set-items"].values()
        for annotation in item.get("image-annotations", [])
        if annotation["shape"] == "whole-image"
    ]
    assert len(annotations) == 12
    assert all(annotation["coordinates"] == [[]] for annotation in annotations)


def test_our_importer_of_images_reads_the_exported_metadata_back(reef):
    pictures = {(picture.group, picture.name): picture.image for picture in everything(reef).pictures}
    for name, data in written(reef, "ifdo")[0].items():
        reading = read_ifdo(data, source=name)
        assert reading.problems == ()
        for record in reading.records:
            image = pictures.get((record.group, record.image))
            if image is None:
                continue  # a name with a backslash or a folder is read as a path
            assert record.taken_at == pytest.approx(image.taken_at, abs=1e-5)
            assert (record.latitude, record.depth, record.altitude, record.sha256) == (
                image.latitude,
                image.depth,
                image.altitude,
                image.sha256,
            )


def test_stated_fields_are_written_to_the_header_and_missing_ones_counted(reef):
    stated = {"image-license": "CC BY 4.0", "image-pi": "A. Diver", "image-creators": "A. Diver; B. Diver"}
    files, lost = written(reef, "ifdo", fields=stated)
    header = json.loads(next(iter(files.values())))["image-set-header"]
    assert header["image-license"] == {"name": "CC BY 4.0"}
    assert header["image-creators"] == [{"name": "A. Diver"}, {"name": "B. Diver"}]
    before = written(reef, "ifdo")[1]
    counted = "required iFDO header fields that nobody has stated"
    assert before[counted] - lost[counted] == 3 * len(PLACES)


def test_an_imported_ifdo_header_and_identifiers_are_exported_again(tmp_path):
    uuid = "12345678-1234-4234-8234-123456789abc"
    with made(tmp_path) as workspace:
        owner = workspace.library.collection_named(PLACES[0][0])
        header = {
            "image-set-uuid": uuid,
            "image-set-name": "Kelp",
            "image-pi": {"name": "A. Diver"},
            "image-set-ifdo-version": "v2.0.0",
            "image-latitude": "-43.5",
            "image-fauna-attraction": "none",
        }
        workspace.library.group(owner.id, PLACES[0][1], {"ifdo": header})
        [first] = workspace.library.images([1])
        changed = {name: getattr(first, name) for name in NewImage.__dataclass_fields__}
        workspace.library.store_images(
            [
                NewImage(
                    **{
                        **changed,
                        "details": {"image-uuid": uuid, "image-handle": "https://hdl.example/1", "image-entropy": 0.5},
                    }
                )
            ]
        )
        files, _ = written(workspace, "ifdo")
    document = next(
        file
        for file in map(json.loads, files.values())
        if file["image-set-header"]["image-event"]["name"] == PLACES[0][1]
    )
    stored_header = document["image-set-header"]
    assert (stored_header["image-set-uuid"], stored_header["image-set-name"], stored_header["image-pi"]) == (
        uuid,
        "Kelp",
        {"name": "A. Diver"},
    )
    assert (stored_header["image-set-ifdo-version"], stored_header["image-latitude"]) == ("v2.1.0", -43.5)
    item = document["image-set-items"][NAMES[0]]
    assert (item["image-uuid"], item["image-handle"], item["image-entropy"]) == (uuid, "https://hdl.example/1", 0.5)
    jsonschema.Draft202012Validator(SCHEMA).validate(document)


def test_an_image_keeps_its_identifier_from_export_to_export(reef):
    assert written(reef, "ifdo")[0] == written(reef, "ifdo")[0]


# --- the other formats


def test_the_confidence_of_a_bulk_label_is_that_of_the_cluster_unless_stated(reef):
    label_by_path = {picture.image.path: picture.label for picture in everything(reef).pictures}
    assert (label_by_path[f"d0/{NAMES[0]}"].status, label_by_path[f"d0/{NAMES[0]}"].confidence) == ("bulk", 0.5)
    assert (label_by_path[f"d0/{NAMES[2]}"].status, label_by_path[f"d0/{NAMES[2]}"].confidence) == ("verified", None)
    assert (label_by_path[f"d0/{NAMES[6]}"].status, label_by_path[f"d0/{NAMES[6]}"].confidence) == ("verified", 0.875)
    assert (label_by_path[f"d1/{NAMES[1]}"].status, label_by_path[f"d1/{NAMES[1]}"].confidence) == ("predicted", 0.6214)


def test_squidle_positions_are_shares_and_whole_frames_have_none(reef):
    exported_rows = rows(written(reef, "squidle")[0]["squidle.csv"])
    points = [row for row in exported_rows if row["point.x"]]
    assert all(0 <= float(row["point.x"]) <= 1 and 0 <= float(row["point.y"]) <= 1 for row in points)
    [point] = [row for row in points if not row["point.polygon"] and row["point.x"] == "0.03125"]
    assert float(point["point.y"]) == pytest.approx(20.5 / 240)
    assert len(exported_rows) - len(points) == 12
    predicted = [row for row in exported_rows if row["needs_review"] == "true"]
    assert {row["likelihood"] for row in predicted} == {"0.6214"}


def test_biigle_gets_a_file_for_each_dive_and_the_trees_it_needs(reef):
    files, lost = written(reef, "biigle")
    assert sorted(name.rpartition("_")[2] for name in files) == sorted(
        ["labels.csv", "labels.csv", "annotations.csv", "annotations.csv", "tree.zip"]
    )
    tree = next(data for name, data in files.items() if name.endswith(".zip"))
    with zipfile.ZipFile(io.BytesIO(tree)) as archive:
        assert sorted(archive.namelist()) == ["label_tree.json", "labels.csv"]
        assert json.loads(archive.read("label_tree.json"))["version"]["name"] == "1.4"
    shapes = {
        row["shape_name"]: json.loads(row["points"])
        for name, data in files.items()
        if name.endswith("annotations.csv")
        for row in rows(data)
    }
    assert {name: len(points) for name, points in shapes.items()} == {
        "Point": 2,
        "Rectangle": 8,
        "Polygon": 6,
        "Circle": 3,
        "LineString": 6,
    }
    assert lost["labels with a confidence"] > 0


def test_a_track_is_made_where_none_was_imported_and_our_reader_takes_it(reef):
    files, lost = written(reef, "imos")
    reading = read_track(next(iter(files.values())), source="track")
    assert reading.problems == ()
    assert len(reading.records) == len(NAMES)
    numbers = [record.details.get("cluster_label", 0) for record in reading.records]
    assert (
        sum(number > 0 for number in numbers)
        + sum(
            record.details.get("cluster_label", 0) > 0
            for record in read_track(list(files.values())[1], source="track").records
        )
        == 12
    )
    assert lost["labels of points, boxes and outlines"] == 6


TRACK = (
    b"Vehicle: Sirius, survey 12\r\nnote;with;marks\r\n\r\n"
    b"year,month,day,hour,minute,second,latitude,longitude,depth,north,altitude,leftimage,rightimage,label\r\n"
    b"\r\n2015,2,10,6,43,12.011,-43.10,148.03,12.9870,-59.7877,1.6856,plain.png,r.png,7\r\n"
    b"2015,2,10,6,43,13.011,-43.10,148.03,12.9870,-59.7877,1.6856,elsewhere.png,r.png,5\r\n"
)


def test_a_track_that_was_imported_keeps_its_columns_cells_and_preamble(tmp_path):
    with made(tmp_path) as workspace:
        labelled(workspace)
        folder = tmp_path / "files" / "d0" / "track_files"
        folder.mkdir(parents=True)
        (folder / "kelp_latlong.csv").write_bytes(TRACK)
        ids = workspace.library.columns("id", "path")
        plain = ids["id"][ids["path"].tolist().index("d0/plain.jpg")]
        [term] = [term.id for term in workspace.vocabularies.all_terms() if term.name == "Sponges"]
        workspace.labels.label(workspace.people.named("Ann").id, [plain], term)
        exported(workspace, tmp_path / "out", "imos", dive=PLACES[0][1])
        first = (tmp_path / "out" / "kelp_latlong.csv").read_bytes()
        (folder / "kelp_latlong.csv").write_bytes(first)
        exported(workspace, tmp_path / "again", "imos", dive=PLACES[0][1])
    assert (tmp_path / "again" / "kelp_latlong.csv").read_bytes() == first, "a second export adds nothing"
    table = list(csv.reader(io.StringIO(first.decode())))
    assert table[0] == ["Vehicle: Sirius", " survey 12"]
    start = next(at for at, cells in enumerate(table) if cells[:1] == ["year"])
    legend = {cells[0]: cells[1] for cells in table[:start] if len(cells) > 3}
    assert table[start][-1] == "label"
    assert table[start + 2][:-1] == TRACK.splitlines()[5].decode().split(",")[:-1]
    assert legend[f"label {table[start + 2][-1]}"] == "Biota > Sponges"
    assert table[start + 3][-1] == "0", "the number of an image we do not know meant something else"


def test_the_sample_campaigns_tracks_are_filled_in_place():
    folder = Path(__file__).parents[3] / "sample_data" / "campaign"
    [path] = (folder / "r20150211_063305_grass_bay_02").glob("track_files/*.csv")
    name = "PR_20150211_063305_039_LC16.jpg"
    export_label = ExportLabel(Term(("sea-grass",), id=4), "habitats", "Ann", 1.0, "manual", "verified", None)
    image = Image(1, name, 1, 5, 1, "0" * 64, 320, 240, id=9)
    group_key = ("campaign", "grass bay")
    outgoing = Outgoing(
        "reef",
        "x",
        (ExportImage(image, group_key[1], group_key[0], export_label),),
        {"habitats": [export_label.term]},
        tracks={group_key: [ExportTrack(path.name, path.read_bytes())]},
    )
    [file] = write_tracks(outgoing).files
    content = b"".join(file.chunks)
    reading = read_track(content, source="track")
    assert reading.problems == ()
    assert [record.image for record in reading.records if "cluster_label" in record.details] == [
        "PR_20150211_063305_039_LC16.png"
    ]
    assert content.startswith(b"Synthetic vehicle track,grass_bay_02\r\n")


def test_darwin_core_takes_organisms_and_lists_the_ground_as_lost(reef):
    files, lost = written(reef, "darwin-core")
    exported_rows = rows(files["occurrence.csv"])
    assert {row["scientificName"] for row in exported_rows} == {"Porifera", "Biota"}
    assert {row["identificationVerificationStatus"] for row in exported_rows} == {
        "ValidatedByHuman",
        "PredictedByMachine",
    }
    assert lost["labels of classes without a taxon"] == 3
    assert len(exported_rows) == 9 and len({row["occurrenceID"] for row in exported_rows}) == 9


def test_a_term_with_a_taxon_of_its_own_is_written_with_its_worms_number():
    term = Term(("corals", "staghorn"), details={"taxon": "Acropora", "aphia_id": 205469}, id=3)
    export_label = ExportLabel(term, "reef", "Ann", 1.0, "manual", "verified", None)
    image = Image(1, "a.jpg", 1, 5, 1, "0" * 64, 320, 240, id=9)
    result = FORMATS["darwin-core"].write(
        Outgoing("reef", "x", (ExportImage(image, "d", "c", export_label),), {"reef": [term]})
    )
    [row] = rows(b"".join(result.files[0].chunks))
    assert (row["scientificName"], row["scientificNameID"]) == ("Acropora", "urn:lsid:marinespecies.org:taxname:205469")


def test_coco_holds_boxes_and_outlines_and_counts_the_rest_as_lost(reef):
    files, lost = written(reef, "coco")
    document = json.loads(files["coco.json"])
    assert document["annotations"][0]["bbox"] == [5, 6, 70, 80.25]
    assert lost["labels of whole images"] == 12 and lost["points and lines"] == 3
    ids = {image["id"] for image in document["images"]}
    assert all(annotation["image_id"] in ids for annotation in document["annotations"])


def test_labels_of_whole_images_alone_are_rejected_by_coco_with_the_reason(tmp_path):
    with made(tmp_path) as workspace:
        words = workspace.vocabularies.add("habitats", [NewTerm(("sand",))])
        [term] = workspace.vocabularies.terms(words.id)
        workspace.labels.label(workspace.people.named("Ann").id, [1], term.id)
        job = run_now(workspace, "export", {"format": "coco", "output": str(tmp_path / "out")})
    assert job.state == "failed" and "none of these labels has a box" in job.error


def test_points_become_segments_for_coco_where_masks_are_known(tmp_path):
    with made(tmp_path) as workspace:
        labelled(workspace)
        mask = np.zeros((120, 160), np.int32)
        mask[:, 80:] = 1
        with workspace.features.writer("segments", width=2, extractor={}, level="segment") as out:
            out.append([1], np.zeros((2, 2), np.float32), counts=[2])
        MaskFile(workspace.features.open("segments").folder).append([1], [pack_mask(mask)])
        files, _ = written(workspace, "coco", segments="segments")
    annotations = json.loads(files["coco.json"])["annotations"]
    [segment] = [annotation for annotation in annotations if annotation["iscrowd"]]
    assert (segment["bbox"], segment["area"]) == ([0, 0, 160, 240], 160 * 240)
    inside = mask_of((*segment["segmentation"]["size"], *segment["segmentation"]["counts"]))
    assert inside[:, :160].all() and not inside[:, 160:].any()


def test_lists_name_every_labelled_image_once(reef):
    files, _ = written(reef, "lists")
    lines = [line for data in files.values() for line in data.decode().splitlines() if not line.startswith("#")]
    assert len(lines) == len(set(lines)) == 12


# --- reports and files


def test_every_loss_is_reported(reef):
    for name in FORMATS:
        _, lost = written(reef, name)
        assert ("labels of whole images" in lost) == (name == "coco")
        assert lost["earlier events: labels replaced, undone or removed"] == 2


def test_the_report_lies_beside_the_files(reef, tmp_path):
    files = exported(reef, tmp_path / "out", "csv", labelled=True)
    assert json.loads((tmp_path / "out" / "export-report.json").read_bytes()) == files
    assert files["rows"] == 18
    assert len(rows((tmp_path / "out" / "labels.csv").read_bytes())) == 13, "one image has a labelled line and no label"


@pytest.mark.parametrize(
    ("choice", "count"),
    [
        ({}, 16),
        ({"collection": "PS201502"}, 16),
        ({"dive": PLACES[1][1]}, 8),
        ({"selection": "mine"}, 3),
        ({"dive": PLACES[1][1], "selection": "mine"}, 1),
    ],
)
def test_exports_are_of_all_a_collection_a_dive_or_a_selection(reef, choice, count):
    reef.selections.save(reef.people.named("Ann").id, "mine", np.array([1, 2, 9]))
    assert len(chosen_images(reef, **choice)) == count


@pytest.mark.parametrize(
    "wrong", [{"collection": "PS2015"}, {"dive": "r2015"}, {"selection": "nine"}, {"until": 999}, {"format": "cvs"}]
)
def test_a_wrong_choice_gives_a_one_line_error(reef, tmp_path, wrong):
    before = JobQueue(reef).all()
    with pytest.raises(BadInput) as refused:
        run_now(reef, "export", {"format": "csv", "output": str(tmp_path / "out"), **wrong})
    assert len(str(refused.value).splitlines()) == 1
    assert not list((tmp_path / "out").glob("*")) and JobQueue(reef).all() == before


def test_an_export_that_fails_half_way_leaves_the_old_file(reef, tmp_path, monkeypatch):
    def broken():
        yield b"half"
        raise OSError(28, "No space left on device")

    half = ExportFormat("csv", "", lambda outgoing: Written((ExportFile("labels.csv", broken()),), 1, ()))
    monkeypatch.setitem(FORMATS, "csv", half)
    (tmp_path / "labels.csv").write_bytes(b"whole")
    job = run_now(reef, "export", {"format": "csv", "output": str(tmp_path)})
    assert job.state == "failed" and "No space left" in job.error
    assert [path.name for path in tmp_path.iterdir()] == ["labels.csv"]
    assert (tmp_path / "labels.csv").read_bytes() == b"whole"


def test_an_export_can_be_cancelled_between_two_pieces(reef, tmp_path, monkeypatch):
    def cancelled_meanwhile():
        yield b"first"
        queue = JobQueue(reef)
        queue.cancel(queue.all()[0].id)
        for _ in range(200):
            time.sleep(0.05)
            yield b"more"
        raise AssertionError("nobody stopped it")

    slow = ExportFormat("csv", "", lambda outgoing: Written((ExportFile("labels.csv", cancelled_meanwhile()),), 1, ()))
    monkeypatch.setitem(FORMATS, "csv", slow)
    job = run_now(reef, "export", {"format": "csv", "output": str(tmp_path / "out")})
    assert job.state == "cancelled"
    assert list((tmp_path / "out").iterdir()) == []


# --- small parts, for any text


TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=30)
NAME = TEXT.filter(lambda text: text.strip().strip("/").strip())  # a path needs a name


@given(TEXT)
def test_free_text_is_never_a_formula_and_is_read_back_unchanged(text):
    assert unguarded(guarded(text)) == text
    assert not is_formula(guarded(text))


@given(st.lists(NAME, min_size=1, max_size=5))
def test_any_class_path_is_split_into_its_names(names):
    assert parted(joined(names)) == tuple(names)


def test_names_of_catami_stay_as_other_programs_write_them():
    assert joined(("Physical", "Waves (>10 cm)")) == "Physical > Waves (>10 cm)"


@given(NAME)
def test_any_path_fits_on_one_line_of_a_list(path):
    line = escaped(path)
    assert unescaped(line) == path and not line.startswith("#") and "\n" not in line and "\r" not in line


@given(st.lists(TEXT, min_size=1, max_size=3))
def test_file_names_are_safe_on_every_system(words):
    name = file_name(*words)
    assert name and not set(name) & set('/\\:*?"<>|\n\0') and not name.startswith(".") and not RESERVED.match(name)


@given(st.lists(NAME, max_size=8))
def test_file_names_differ_by_more_than_case(names):
    lowered = [name.lower() for name in unlike(names)]
    assert len(set(lowered)) == len(lowered)


@given(st.integers(1, 9), st.integers(1, 9), st.data())
def test_a_mask_is_restored_from_its_runs(height, width, data):
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=height * width, max_size=height * width)))
    mask = mask.reshape(height, width)
    assert (mask_of(runs(mask)) == mask).all()


@given(*[st.integers(0, 500)] * 2, *[st.integers(1, 500)] * 2)
def test_a_box_is_restored_from_its_corners(left, top, width, height):
    assert box_of(corners((left, top, width, height))) == (left, top, width, height)


@st.composite
def outgoings(draw):
    """One labelled image with one labelled point, every text of it as bad as text gets."""
    path, position, person, vocabulary = draw(st.tuples(NAME, st.tuples(NAME, NAME), NAME, NAME))
    term = Term(tuple(draw(st.lists(NAME, min_size=1, max_size=3))), draw(st.none() | NAME), id=1)
    confidence = draw(st.none() | st.floats(0, 1).map(lambda share: round(share, 4)))
    export_label = ExportLabel(
        term, vocabulary, person, draw(st.integers(10**8, 4 * 10**9)), "manual", "bulk", confidence
    )
    point = ExportAnnotation(export_label, "point", (draw(st.integers(0, 319)), draw(st.integers(0, 239))))
    image = Image(1, path, 1, 5, 1, "ab" * 32, 320, 240, taken_at=1.5, id=7)
    return Outgoing("reef", "x", (ExportImage(image, *position, export_label, (point,)),), {vocabulary: [term]})


@settings(max_examples=60, deadline=None)
@given(outgoings())
def test_our_table_and_ifdo_preserve_any_text(outgoing):
    [picture] = outgoing.pictures
    label = picture.label
    for name in ("csv", "ifdo"):
        records = [
            record
            for file in FORMATS[name].write(outgoing).files
            for source in read_labels(b"".join(file.chunks), name=file.name)
            for record in source.reading.records
        ]
        assert len(records) == 2, name
        for record in records:
            assert record.path == label.term.path
            assert (record.vocabulary, record.who, record.confidence) == (label.vocabulary, label.who, label.confidence)
            assert record.at == label.at and record.sha256 == picture.image.sha256
        assert [record.numbers for record in records if record.shape] == [picture.annotations[0].numbers]


@given(
    st.lists(st.tuples(NAME, st.none() | NAME.map(str.strip)), min_size=1, max_size=6, unique_by=lambda item: item[0])
)
def test_a_label_tree_is_read_back_unchanged(names):
    terms = [
        Term(
            tuple(name for name, _ in names[:depth]),
            names[depth - 1][1],
            "#123456",
            id=depth,
            parent_id=depth - 1 or None,
        )
        for depth in range(1, len(names) + 1)
    ]
    with zipfile.ZipFile(io.BytesIO(write_label_tree("tree", "2", terms, "x"))) as archive:
        tree = read_label_tree(
            archive.read("label_tree.json"),
            archive.read("labels.csv"),
            source="tree.zip",
            complaints=Complaints("tree.zip"),
        )
    assert tree[:2] == ("tree", "2")
    assert [(term.path, term.code, term.colour) for term in tree[2]] == [
        (term.path, term.code, term.colour) for term in terms
    ]
