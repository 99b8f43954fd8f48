"""Importers: values and problems in all kinds of metadata files."""

import json
import math
from datetime import UTC, datetime

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from benthoscope.engine.exchange.image_import.sources import BIIGLE, IFDO, SPREADSHEET, TRACK, read_source
from benthoscope.engine.exchange.metadata import ifdo
from benthoscope.engine.exchange.metadata import tables as biigle
from benthoscope.engine.exchange.metadata import tables as imos
from benthoscope.engine.exchange.metadata import tables as spreadsheet
from benthoscope.engine.exchange.metadata.columns import corrected, guessed
from benthoscope.engine.exchange.parsing import values
from benthoscope.engine.exchange.parsing import values as moments
from benthoscope.engine.exchange.parsing.tables import read_table
from benthoscope.engine.problems import BadInput

NOON = datetime(2019, 5, 13, 12, 0, tzinfo=UTC).timestamp()


# --- numbers, angles, moments


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("25", 25.0),
        (" -33.5 ", -33.5),
        ("1e3", 1000.0),
        ("2,5", 2.5),
        (".5", 0.5),
        ("", None),
        ("NaN", None),
        ("n/a", None),
        ("-", None),
        (7, 7.0),
        (2.5, 2.5),
        (math.nan, None),
    ],
)
def test_numbers_are_read_in_common_notations(written, read):
    assert values.number(written) == read


@pytest.mark.parametrize(
    "written",
    [
        "inf",
        "-Infinity",
        "1e999",
        "0x10",
        "1_000",
        "1,234,5",
        "=1+1",
        "ten",
        "١٢",
        "9" * 400,
        True,
        [],
        {},
        math.inf,
        10**400,
    ],
)
def test_invalid_numbers_give_a_clear_error(written):
    with pytest.raises(ValueError, match="number"):
        values.number(written)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("33°30'36\"S", -33.51),
        ("33 30.6 S", -33.51),
        ("S33.51", -33.51),
        ("-33.51", -33.51),
        ("33,51", 33.51),
        ("33° 30′ 36″ N", 33.51),
        ("-33 30 36", -33.51),
        ("33d30m36s S", -33.51),
    ],
)
def test_latitudes_are_read_in_every_notation(written, read):
    assert values.latitude(written) == pytest.approx(read, abs=1e-12)


@pytest.mark.parametrize("written", ["95", "-90.1", "151.2", "33°75'S", "33°30'36\"W", "north"])
def test_a_latitude_that_is_not_on_earth_is_rejected(written):
    with pytest.raises(ValueError, match=r"Earth|angle|number"):
        values.latitude(written)


def test_longitudes_counted_all_the_way_round_are_brought_to_half_circles():
    assert values.longitude("190") == -170 and values.longitude("151.2W") == -151.2 and values.longitude("180") == 180


@pytest.mark.parametrize("degrees", [0.0, 0.5, 33.51, 89.999999, 90.0])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_latitude_survives_being_written_in_minutes_and_seconds(degrees, sign):
    complete, remaining = divmod(degrees * 60, 1)
    written = f"{int(complete) // 60}°{int(complete) % 60}'{remaining * 60:.9f}\"{'N' if sign > 0 else 'S'}"
    assert values.latitude(written) == pytest.approx(sign * degrees, abs=1e-9)


def test_a_depth_may_be_counted_downwards_or_upwards():
    assert values.depth("25.3") == values.depth("-25.3") == 25.3
    with pytest.raises(ValueError, match="not possible"):
        values.depth("99999")


@pytest.mark.parametrize(
    "written",
    [
        "2019-05-13 12:00:00",
        "2019-05-13T12:00:00Z",
        "2019-05-13T22:00:00+10:00",
        "20190513T120000Z",
        "20190513_120000",
        "20190513120000",
        "2019:05:13 12:00:00",
        "2019/05/13 12:00",
        "13/05/2019 12:00:00",
        "13.05.2019 12:00",
        "13-05-2019 12:00:00.000",
        "13/5/2019 12:00 pm",
        "2019-05-13 12:00:00 UTC",
        "1557748800",
        "1557748800000",
        "2019-05-13 12:00:00.000000",
    ],
)
def test_times_are_read_in_common_notations(written):
    assert moments.moment(written) == NOON


@pytest.mark.parametrize(
    "written",
    [
        "13 May",
        "2019-02-30",
        "0000-00-00",
        "2019-13-01",
        "12:00",
        "9" * 30,
        "1850-01-01",
        "2019-05-13 25:00",
        "12",
        "now",
        "x" * 500,
    ],
)
def test_invalid_times_give_a_clear_error(written):
    with pytest.raises(ValueError, match=r"not a time|cannot be right"):
        moments.moment(written)


def test_a_format_the_source_announces_is_followed():
    assert moments.moment("12h00 on 13.05.19", form="%Hh%M on %d.%m.%y") == NOON


@given(st.datetimes(datetime(1971, 1, 1), datetime(2099, 1, 1)))
def test_every_iso_moment_is_read_back(moment):
    expected = moment.replace(tzinfo=UTC).timestamp()
    assert moments.moment(moment.isoformat()) == pytest.approx(expected, abs=1e-6)
    assert moments.moment(moment.isoformat(" ")) == pytest.approx(expected, abs=1e-6)


@given(st.text(max_size=60))
def test_any_text_gives_a_time_none_or_a_clear_error(text):
    for read in (moments.moment, values.number, values.latitude, values.longitude, values.depth):
        try:
            table_read = read(text)
        except ValueError as error:
            assert str(error) and "\n" not in str(error)
        else:
            assert table_read is None or math.isfinite(table_read)


def test_the_order_of_day_and_month_is_found_from_dates():
    assert moments.is_day_first(["03/04/2019", "13/04/2019"]) is True
    assert moments.is_day_first(["03/04/2019", "03/14/2019"]) is False
    assert moments.is_day_first(["03/04/2019"]) is None
    assert moments.is_day_first(["2019-04-03"]) is True


@pytest.mark.parametrize(
    ("name", "moment", "sure"),
    [
        ("PR_20190513_120000_000_LC16.tif", NOON, True),
        ("PR_20190513_120000_500_FC16.jpg", NOON + 0.5, True),
        ("SO268-1_21-1_GMR_CAM-23_20190513_120000.jpg", NOON, False),
        ("IMG_20190513-120000.jpg", NOON, False),
        ("IMG_1234.jpg", None, False),
        ("20191399_999999.jpg", None, False),
    ],
)
def test_times_are_read_from_file_names(name, moment, sure):
    assert moments.moment_in_name(name) == (moment, sure)


# --- IMOS tracks

NAMES = "year,month,day,hour,minute,second,latitude,longitude,depth,roll,pitch,heading,altitude,leftimage,rightimage"
PAIR = "PR_20110526_042555_415_LC16.png,PR_20110526_042555_415_RM16.png"
TRIGGERED = datetime(2011, 5, 26, 4, 25, 55, 415000, tzinfo=UTC).timestamp()


def track(*rows, head="", names=NAMES + ",label"):
    return "\n".join([*([head] if head else []), names, *rows]).encode()


ROW = f"2011,5,26,4,25,55.415,-33.5,151.2,25.3,0.01,0.02,1.5,2.1,{PAIR},7"


def test_a_track_gives_time_place_depth_and_altitude_of_each_pair():
    (record,) = imos.read_track(track(ROW), source="t.csv").records
    assert (record.image, record.paired_image) == tuple(PAIR.split(","))
    assert record.taken_at == pytest.approx(TRIGGERED)
    assert (record.latitude, record.longitude, record.depth, record.altitude) == (-33.5, 151.2, 25.3, 2.1)
    assert record.details == {"roll": 0.01, "pitch": 0.02, "heading": 1.5, "cluster_label": 7}


def test_the_time_in_the_track_is_that_in_the_image_name():
    (record,) = imos.read_track(track(ROW), source="t.csv").records
    assert record.taken_at == pytest.approx(moments.moment_in_name(record.image)[0])


def test_text_and_blank_lines_above_the_header_of_a_track_are_passed_over():
    head = "AUV Sirius, campaign Tasmania\nvehicle, camera, notes\n\n ,,"
    reading = imos.read_track(track("", ROW, "", ",,,", head=head), source="t.csv")
    assert len(reading.records) == 1 and reading.problems == ()


@pytest.mark.parametrize("label", ["0", "9999", ""])
def test_labels_that_mean_no_label_are_left_out(label):
    (record,) = imos.read_track(track(ROW[:-1] + label), source="t.csv").records
    assert "cluster_label" not in record.details


def test_an_older_track_has_no_label_column():
    (record,) = imos.read_track(track(ROW[:-2], names=NAMES), source="t.csv").records
    assert record.altitude == 2.1


def test_the_columns_of_a_track_are_found_by_name_in_any_order():
    names, cells = (NAMES + ",label").split(","), ROW.split(",")
    order = [0, *range(len(names) - 1, 0, -1)]  # `year` marks the header
    turned = track(",".join(cells[at] for at in order), names=",".join(names[at] for at in order))
    assert imos.read_track(turned, source="t.csv").records == imos.read_track(track(ROW), source="t.csv").records


def test_a_second_of_sixty_belongs_to_the_next_minute():
    (record,) = imos.read_track(track(ROW.replace("55.415", "60.0")), source="t.csv").records
    assert record.taken_at == datetime(2011, 5, 26, 4, 26, tzinfo=UTC).timestamp()


def test_swapped_coordinates_are_listed_and_the_other_rows_kept():
    reading = imos.read_track(track(ROW, ROW.replace("-33.5,151.2", "151.2,-33.5")), source="t.csv")
    assert [record.latitude for record in reading.records] == [-33.5, None]
    (problem,) = reading.problems
    assert str(problem) == (
        "t.csv line 3: latitude '151.2' is not on Earth; use decimal degrees between -90 and 90; "
        "are latitude and longitude swapped?"
    )


def test_measures_that_are_missing_are_no_problem():
    reading = imos.read_track(track(ROW.replace("25.3", "NaN").replace("2.1", "")), source="t.csv")
    assert (reading.records[0].depth, reading.records[0].altitude, reading.problems) == (None, None, ())


def test_a_file_that_is_not_a_track_gives_the_required_columns():
    with pytest.raises(BadInput, match=r"t\.csv: is not an AUV track; it needs the columns day, latitude, leftimage"):
        imos.read_track(b"year,month\n2011,5\n", source="t.csv")


# --- BIIGLE


def test_the_example_of_the_manual_is_read():
    data = (
        b"filename,taken_at,lng,lat,gps_altitude,distance_to_ground,area,yaw\n"
        b"image_1.jpg,2016-12-19 12:27:00,52.220,28.123,-1500,10,2.6,180\n"
    )
    (record,) = biigle.read_biigle(data, source="m.csv").records
    assert (record.latitude, record.longitude, record.depth, record.altitude) == (28.123, 52.22, 1500, 10)
    assert record.taken_at == datetime(2016, 12, 19, 12, 27, tzinfo=UTC).timestamp()
    assert record.details == {"area": 2.6, "heading": 180}


def test_of_two_columns_with_one_meaning_the_last_holds():
    data = b"file,taken_at,lat,lon,latitude,lng,SUB_distance,SUB_distance\na.jpg,,1,2,3,4,5,6\n"
    (record,) = biigle.read_biigle(data, source="m.csv").records
    assert (record.latitude, record.longitude, record.altitude) == (3, 4, 6)
    assert record.details == {}


def test_a_latitude_without_a_longitude_is_no_position():
    (record,) = biigle.read_biigle(b"file,taken_at,lat,lng\na.jpg,,1,\n", source="m.csv").records
    assert record.latitude is None


def test_a_height_above_the_sea_is_not_a_depth():
    (record,) = biigle.read_biigle(b"file,gps_altitude\na.jpg,30\n", source="m.csv").records
    assert record.depth is None and record.details == {"elevation": 30}


# --- any table


def table(text, **options):
    return spreadsheet.read_spreadsheet(text.encode(), source="m.csv", **options)


@pytest.mark.parametrize(
    "header",
    [
        "filename,latitude,longitude,depth,time",
        "Image Name,Lat,Lon,Depth (m),Timestamp",
        "image_filename,LATITUDE,LONGITUDE,depth_sensor,time",
        "point.media.key,point.pose.lat,point.pose.lon,point.pose.dep,point.pose.timestamp",
        "FileName,decimalLatitude,decimalLongitude,Depth [m],DateTime (UTC)",
        "Photo,lat_dd,long_dd,vehicle depth,date time",
        "image,GPS Latitude,GPS Longitude,depth_m,taken_at",
    ],
)
def test_the_meaning_of_columns_is_guessed_from_how_people_name_them(header):
    (record,) = table(f"{header}\na.jpg,-33.5,151.2,20,2019-05-13 12:00:00\n").records
    assert (record.image, record.latitude, record.longitude) == ("a.jpg", -33.5, 151.2)
    assert (record.depth, record.taken_at, record.details) == (20, NOON, {})


def test_the_table_of_the_national_portal_is_read_with_the_depth_of_the_camera():
    data = (
        "campaign_code,dive_code,image_filename,longitude,latitude,image_width,depth_sensor,altitude_sensor,depth,"
        "sea_water_temperature,time,cluster_tag\n"
        "PS201502,r20150210_1,PR_1.tif,148.03,-43.1,2.5,30.5,2.0,32.5,14.1,20190513T120000Z,3\n"
    )
    (record,) = table(data).records
    assert (record.collection, record.group, record.depth, record.altitude) == ("PS201502", "r20150210_1", 30.5, 2.0)
    assert record.taken_at == NOON
    assert record.details == {"image_width": 2.5, "depth": 32.5, "sea_water_temperature": 14.1, "cluster_tag": 3}


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_delimiter_encoding_and_newlines_do_not_matter(delimiter, encoding, newline):
    lines = ["file,lat,lon,remark", "a.jpg,1.5,2.5,Größe", "b.jpg,3.5,4.5,ü"]
    data = newline.join(line.replace(",", delimiter) for line in lines).encode(encoding)
    records = spreadsheet.read_spreadsheet(data, source="m.csv").records
    assert [record.latitude for record in records] == [1.5, 3.5]
    assert [record.details["remark"] for record in records] == ["Größe", "ü"]


def test_decimal_commas_under_semicolons_are_read():
    (record,) = table(
        "Datei;Breite;Länge;Tiefe\na.jpg;-33,5;151,2;20,5\n",
        corrections={"breite": "latitude", "Länge": "longitude", "Tiefe": "depth"},
    ).records
    assert (record.image, record.latitude, record.longitude, record.depth) == ("a.jpg", -33.5, 151.2, 20.5)


def test_a_table_without_header_is_understood_by_what_its_cells_hold():
    reading = table("a.jpg,1,2\nb.jpg,3,4\n", corrections={"column 2": "latitude", "column 3": "longitude"})
    assert [(record.image, record.latitude) for record in reading.records] == [("a.jpg", 1), ("b.jpg", 3)]


def test_corrections_override_guesses_and_unknown_columns_are_errors():
    header = ("file", "depth", "temp")
    assert corrected(guessed(header), header, {"depth": "altitude"}) == {"file": "image", "depth": "altitude"}
    assert corrected(guessed(header), header, {"temp": "depth"}) == {"file": "image", "temp": "depth"}
    with pytest.raises(BadInput, match="no 'dept'; did you mean 'depth'"):
        corrected({}, header, {"dept": "depth"})
    with pytest.raises(BadInput, match="no 'depht'; did you mean 'depth'"):
        corrected({}, header, {"depth": "depht"})


def test_unknown_columns_are_kept_and_dropped_ones_are_not():
    (record,) = table("file,site,code,secret\na.jpg,Reef,007,x\n", corrections={"secret": "drop"}).records
    assert record.details == {"site": "Reef", "code": "007"}


def test_date_and_time_in_two_columns_belong_together():
    (record,) = table("file,date,time\na.jpg,13/05/2019,12:00:00\n").records
    assert record.taken_at == NOON


def test_month_first_dates_are_recognised_from_the_whole_column():
    first, second = table("file,date\na.jpg,05/13/2019 12:00\nb.jpg,03/04/2019\n").records
    assert first.taken_at == NOON
    assert second.taken_at == datetime(2019, 3, 4, tzinfo=UTC).timestamp()


def test_ambiguous_dates_are_reported():
    reading = table("file,date\na.jpg,03/04/2019\n")
    assert reading.records[0].taken_at == datetime(2019, 4, 3, tzinfo=UTC).timestamp()
    assert "has dates with an unclear order of day and month; they were read as day/month/year" in str(
        reading.problems[0]
    )


@pytest.mark.parametrize(
    "path", ["C:\\data\\dive1\\a.jpg", "/data/dive1/a.jpg", "./data/dive1/a.jpg", "data//dive1/a.jpg"]
)
def test_paths_are_cleaned(path):
    assert table(f"file,lat,lon\n{path},1,2\n").records[0].image.endswith("data/dive1/a.jpg")


def test_rows_without_an_image_are_listed():
    reading = table("file,lat,lon\n,1,2\na.jpg,1,2\n")
    assert len(reading.records) == 1
    assert str(reading.problems[0]) == "m.csv line 2: has no image; fill in the file name"


def test_many_problems_of_one_kind_become_a_count():
    reading = table("file,lat,lon\n" + "a.jpg,95,2\n" * 5_000)
    assert len(reading.problems) == 101
    assert "4,900 more like this" in str(reading.problems[-1])


def test_a_table_without_an_image_column_gives_the_remedy():
    with pytest.raises(BadInput, match="cannot find the column of the images; give it: --mapping COLUMN=image"):
        table("a,b\n1,2\n")


def test_a_fix_of_zero_zero_is_not_a_position():
    assert table("file,lat,lon\na.jpg,0,0\n").records[0].latitude is None


# --- iFDO


def document(items, **header):
    return {"image-set-header": {"image-set-name": "s", "image-set-license": "CC0", **header}, "image-set-items": items}


WRITERS = {
    "json": json.dumps,
    "yaml": yaml.safe_dump,
    "yaml with braces": lambda d: yaml.safe_dump(d, default_flow_style=True),
}


@pytest.mark.parametrize("write", WRITERS)
def test_items_override_the_header(write):
    data = WRITERS[write](
        document(
            {
                "a.jpg": {"image-latitude": -33.5, "image-altitude-meters": -25.3, "image-uuid": "u"},
                "b.jpg": [{"image-datetime": "2019-05-13 12:00:01.000000", "image-hash-sha256": "A" * 64}],
            },
            **{
                "image-latitude": 1.5,
                "image-longitude": 151.2,
                "image-datetime": "2019-05-13 12:00:00.000000",
                "image-event": {"name": "dive 7"},
                "image-project": {"name": "SO268"},
                "image-meters-above-ground": 2,
            },
        )
    ).encode()
    reading = ifdo.read_ifdo(data, source="s.json")
    first, second = reading.records
    assert (first.latitude, first.longitude, first.depth, first.altitude, first.taken_at) == (
        -33.5,
        151.2,
        25.3,
        2,
        NOON,
    )
    assert (first.group, first.collection, first.details) == ("dive 7", "SO268", {"image-uuid": "u"})
    assert (second.latitude, second.taken_at, second.sha256) == (1.5, NOON + 1, "a" * 64)
    assert reading.problems == () and reading.details["image-set-name"] == "s"


def test_times_are_not_converted_by_yaml():
    data = (
        b"image-set-header: {}\nimage-set-items:\n  a.jpg:\n    image-datetime: 2019-05-13 12:00:00\n    x: 12:30:45\n"
    )
    (record,) = ifdo.read_ifdo(data, source="s.yaml").records
    assert record.taken_at == NOON and record.details == {"x": "12:30:45"}


@pytest.mark.parametrize("name", ["image-altitude", "image-altitude-meters"])
def test_heights_are_read_under_both_spellings(name):
    (record,) = ifdo.read_ifdo(json.dumps(document({"a.jpg": {name: -20}})).encode(), source="s").records
    assert record.depth == 20


def test_an_announced_format_of_times_is_followed():
    items = {"a.jpg": {"image-datetime": "13.05.2019 12:00", "image-datetime-format": "%d.%m.%Y %H:%M"}}
    assert ifdo.read_ifdo(json.dumps(document(items)).encode(), source="s").records[0].taken_at == NOON


def test_videos_and_remaining_labels_are_reported():
    items = {"v.mp4": [{"image-latitude": 1}, {"image-latitude": 2}], "a.jpg": {"image-annotations": [{"shape": "x"}]}}
    reading = ifdo.read_ifdo(json.dumps(document(items)).encode(), source="s.json")
    assert "has 2 times, like a video" in str(reading.problems[0])
    assert reading.losses == ("s.json: labels of 1 images stay in the file",)


def test_problems_of_one_item_are_listed_and_other_items_are_kept():
    items = {
        "a.jpg": {"image-latitude": 95, "image-longitude": 1, "image-altitude-meters": -20},
        "b.jpg": "?",
        "c.jpg": {},
    }
    reading = ifdo.read_ifdo(json.dumps(document(items)).encode(), source="s.json")
    assert [(record.image, record.depth) for record in reading.records] == [("a.jpg", 20), ("c.jpg", None)]
    assert [str(problem) for problem in reading.problems] == [
        "s.json item 'a.jpg': image-latitude: latitude '95' is not on Earth; give a plain number",
        "s.json item 'b.jpg': is not an object; check the file",
    ]


def test_a_document_that_is_not_ifdo_gives_the_required_keys():
    with pytest.raises(BadInput, match="is not an iFDO file; it needs the keys image-set-header and image-set-items"):
        ifdo.read_ifdo(b'{"type": "FeatureCollection"}', source="s.json")


def test_values_that_databases_cannot_store_are_removed():
    data = b'{"image-set-header": {"image-event": {"name": "a\\u0000b\\ud800"}, "x": 1e999}, "image-set-items":'
    data += b'{"a.jpg": {"y": NaN, "z": [Infinity], "v": 1e999, "w": "\\ud83d\\ude00"}}}'
    reading = ifdo.read_ifdo(data, source="s.json")
    assert reading.records[0].group == "ab?" and reading.records[0].details == {"z": [None], "w": "😀"}
    assert "x" not in reading.details


# --- which kind it is


@pytest.mark.parametrize(
    ("name", "data", "kind"),
    [
        ("a.csv", track(ROW, head="notes"), TRACK),
        ("a.csv", b"filename,taken_at,lng,lat\na.jpg,,1,2\n", BIIGLE),
        ("a.csv", b"filename,lng,lat\na.jpg,1,2\n", SPREADSHEET),
        ("a.txt", b"photo\tsite\na.jpg\tReef\n", SPREADSHEET),
        ("a.json", json.dumps(document({})).encode(), IFDO),
        ("a.yaml", yaml.safe_dump(document({})).encode(), IFDO),
    ],
)
def test_the_kind_of_a_file_is_recognised_by_its_content(name, data, kind):
    assert read_source(data, name=name).kind == kind


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("readme.txt", b"These are our dives.\nHave fun, and care.\n"),
        ("ctd.csv", b"time,temperature\n1,2\n"),
        ("map.json", b'{"type": "FeatureCollection", "features": []}'),
        ("settings.yaml", b"threads: 4\n"),
    ],
)
def test_files_about_something_else_are_left_alone(name, data):
    assert read_source(data, name=name) is None


def test_only_image_values_are_read_from_a_table_of_points():
    points = "".join(f"a.jpg,-33.5,151.2,{at},{at},sand\n" for at in range(50))
    source = read_source(f"file,lat,lon,x,y,class\n{points}".encode(), name="points.csv")
    assert source.reading.records[0].latitude == -33.5
    assert all(not record.details for record in source.reading.records)
    assert "50 rows about 1 images; their points or labels stay in the file" in source.reading.losses[0]


# --- whatever the bytes are

CELLS = st.one_of(
    st.text(max_size=12), st.floats().map(str), st.sampled_from(["a.jpg", "-33.5", "", '"', "=1", "2019-05-13"])
)


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=600), st.sampled_from(["a.csv", "a.tsv", "a.json", "a.yaml"]))
def test_any_bytes_give_records_none_or_a_clear_error(data, name):
    check_source(data, name)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.lists(CELLS, max_size=8), max_size=8),
    st.sampled_from([",", ";", "\t"]),
    st.sampled_from(["utf-8", "utf-16", "utf-8-sig"]),
)
def test_any_table_gives_records_none_or_a_clear_error(rows, delimiter, encoding):
    header = delimiter.join(["file", "lat", "lon", "depth", "taken_at", "date", "year"])
    text = "\n".join([header, *(delimiter.join(row) for row in rows)])
    check_source(text.encode(encoding, errors="replace"), "a.csv")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=10,
)
FIELD = st.sampled_from([*ifdo.READ_ELSEWHERE, "image-uuid"])


@settings(max_examples=200, deadline=None)
@given(
    st.dictionaries(FIELD, JSON, max_size=6) | JSON,
    st.dictionaries(st.text(max_size=9), st.dictionaries(FIELD, JSON) | JSON),
)
def test_any_ifdo_file_gives_records_or_a_clear_error(header, items):
    check_source(json.dumps({"image-set-header": header, "image-set-items": items}).encode(), "a.json")


def check_source(data, name):
    try:
        source = read_source(data, name=name)
    except BadInput as error:
        assert error.problem.where.startswith(name) and "\n" not in str(error)
        return
    for record in source.reading.records if source else ():
        assert record.image
        for measure in (record.taken_at, record.latitude, record.longitude, record.depth, record.altitude):
            assert measure is None or math.isfinite(measure)
        assert (record.latitude is None) == (record.longitude is None)
        json.dumps(record.details, allow_nan=False, ensure_ascii=False).encode()
        f"{record.image}{record.group}{record.collection}".encode()


@given(st.lists(st.tuples(st.floats(-90, 90), st.floats(-180, 180), st.floats(0, 6000)), min_size=1, max_size=20))
@settings(deadline=None)
def test_written_tables_are_read_back_unchanged(rows):
    lines = [f"{number}.jpg,{lat!r},{lon!r},{depth!r}" for number, (lat, lon, depth) in enumerate(rows)]
    reading = table("\n".join(["file,lat,lon,depth", *lines]))
    assert [record.depth for record in reading.records] == [depth for _, _, depth in rows]
    for record, (lat, lon, _) in zip(reading.records, rows, strict=True):
        assert (record.latitude, record.longitude) == ((None, None) if lat == 0 and lon == 0 else (lat, lon))
    assert reading.problems == ()


def test_line_numbers_are_those_an_editor_shows():
    text = 'file,remark,lat,lon\na.jpg,"two\nlines",1,2\nb.jpg,,95,2\n'
    assert table(text).problems[0].where == "m.csv line 4"


def test_a_table_records_how_it_was_read():
    table_read = read_table("a;b\n1;2\n".encode("utf-16"), source="m.csv")
    assert (table_read.delimiter, table_read.encoding, table_read.header) == (";", "utf-16", ("a", "b"))
