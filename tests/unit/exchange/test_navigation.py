"""Positions and depths by time: recognised files, and the values of images."""

import io
from datetime import UTC, datetime

import h5py
import numpy as np
import pytest
from PIL import Image
from scipy.io import netcdf_file
from typer.testing import CliRunner

from benthoscope.app.cli import app
from benthoscope.engine.exchange.image_import.import_plan import ImportOptions
from benthoscope.engine.exchange.image_import.sources import read_source
from benthoscope.engine.exchange.navigation.gpx import read_gpx
from benthoscope.engine.exchange.navigation.netcdf import read_netcdf
from benthoscope.engine.exchange.navigation.tracks import MATCHED, NO_FIX, NO_TIME, Navigation, Series, Track
from benthoscope.engine.exchange.records import ImageRecord
from benthoscope.engine.jobs import JobQueue, run_now
from benthoscope.engine.jobs.library.import_preview import ImportPreview
from benthoscope.engine.problems import BadInput
from benthoscope.engine.workspace import Workspace

NOON = datetime(2019, 5, 13, 12, tzinfo=UTC).timestamp()
CSV = b"time,lat,lon,depth\n2019-05-13T12:00:00Z,-33,151,10\n2019-05-13T12:00:10Z,-34,152,20\n"


def track(name="nav.csv", **values):
    times = NOON + np.arange(len(next(iter(values.values())))) * 10.0
    return Track.of(name, "track", times, values)


def joined(taken_at, *tracks, path="a.jpg", **settings):
    return Navigation(tracks, **settings).joined(ImageRecord(path, taken_at=taken_at), path)


# --- interpolation


def test_a_value_between_two_fixes_is_interpolated_and_none_is_extrapolated():
    series = Series.of(np.array([20.0, 0.0, 10.0]), np.array([4.0, 0.0, 1.0]))
    fix = series.at(np.array([-1.0, 0.0, 5.0, 10.0, 15.0, 20.0, 21.0]), max_gap=60)
    np.testing.assert_allclose(fix, [np.nan, 0, 0.5, 1, 2.5, 4, np.nan])


def test_fixes_that_are_too_far_apart_give_nothing_but_at_the_fix_itself():
    series = Series.of(np.array([0.0, 100.0]), np.array([0.0, 10.0]))
    np.testing.assert_allclose(series.at(np.array([0.0, 50.0, 100.0]), max_gap=99.9), [0, np.nan, 10])
    np.testing.assert_allclose(series.at(np.array([50.0]), max_gap=100.0), [5])


def test_longitude_and_heading_go_the_short_way_round():
    joined_record, _ = joined(NOON + 5, track(latitude=[0.5, 0.5], longitude=[179.0, -179.0], heading=[350.0, 10.0]))
    assert abs(joined_record.longitude) == pytest.approx(180)
    assert joined_record.details["heading"] == pytest.approx(0)


def test_half_positions_and_fixes_at_zero_zero_are_not_used():
    joined_record, outcome = joined(
        NOON + 5, track(latitude=[0.0, 1.0, 2.0], longitude=[0.0, np.nan, 3.0], depth=[1, 2, 3])
    )
    assert outcome == MATCHED and (joined_record.latitude, joined_record.longitude, joined_record.depth) == (
        None,
        None,
        1.5,
    )


def test_metadata_override_navigation():
    known = ImageRecord("a.jpg", taken_at=NOON + 5, latitude=1.0, longitude=2.0)
    joined_record, _ = Navigation((track(latitude=[5.0, 5.0], longitude=[6.0, 6.0], depth=[7.0, 7.0]),)).joined(
        known, "a.jpg"
    )
    assert (joined_record.latitude, joined_record.longitude, joined_record.depth) == (1.0, 2.0, 7.0)
    assert joined_record.details["navigation"] == {"file": "nav.csv", "fields": ["depth"]}


@pytest.mark.parametrize(
    ("taken_at", "outcome"), [(NOON + 5, MATCHED), (NOON - 1, NO_FIX), (NOON + 11, NO_FIX), (None, NO_TIME)]
)
def test_images_without_a_fix_and_without_a_time_are_counted_separately(taken_at, outcome):
    assert joined(taken_at, track(depth=[1.0, 2.0]))[1] == outcome


def test_of_two_tracks_the_one_in_the_folder_of_the_image_is_used():
    tracks = track("dive1/nav.csv", depth=[1.0, 1.0]), track("dive2/nav.csv", depth=[2.0, 2.0])
    assert joined(NOON + 5, *tracks, path="dive2/images/a.jpg")[0].depth == 2
    assert joined(NOON + 5, *tracks, path="dive1/a.jpg")[0].depth == 1


# --- tables


def test_a_table_of_positions_by_time_is_recognised_and_its_bad_rows_are_problems():
    source = read_source(CSV + b"2019-05-13T12:00:20Z,-99,151,10\nnonsense,-33,151,5\n", name="nav.csv")
    assert source.track.fixes == 3 and source.track.span == (NOON, NOON + 20)
    assert len(source.reading.problems) == 2


@pytest.mark.parametrize(
    "text",
    [
        b"time,temperature\n2019-05-13T12:00:00Z,5\n",
        b"lat,lon\n1,2\n3,4\n",
        b"time,lat,lon\n2019-05-13T12:00:00Z,1,2\n",
    ],
)
def test_tables_without_times_places_or_two_fixes_are_no_navigation(text):
    assert read_source(text, name="a.csv") is None


def test_dates_in_parts_and_heights_below_the_sea_are_understood():
    text = b"year,month,day,hour,minute,second,elevation\n2019,5,13,12,0,0,-10\n2019,5,13,12,0,10,-20\n"
    assert joined(NOON + 5, read_source(text, name="nav.csv").track)[0].depth == 15


# --- GPX

GPX = b"""<?xml version="1.0"?><gpx xmlns="http://www.topografix.com/GPX/1/1"><trk><trkseg>
<trkpt lat="-33" lon="151"><ele>-5</ele><time>2019-05-13T12:00:00Z</time></trkpt>
<trkpt lat="-34" lon="152"><ele>-7</ele><time>2019-05-13T12:00:10Z</time></trkpt>
<trkpt lat="-35" lon="153"></trkpt></trkseg></trk></gpx>"""


def test_a_gpx_track_gives_positions_and_points_without_a_time_are_listed():
    gps_track = read_gpx(GPX, source="a.gpx")
    assert gps_track.fixes == 2 and "has no time" in gps_track.problems[0].what
    record, _ = joined(NOON + 5, gps_track)
    assert (record.latitude, record.longitude, record.depth) == (-33.5, 151.5, 6)


BOMB = (
    b'<?xml version="1.0"?><!DOCTYPE gpx [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">'
    b'<!ENTITY c SYSTEM "file:///etc/passwd">]><gpx><name>&b;&c;</name></gpx>'
)


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (BOMB, "has a document type or entities"),
        (b"<gpx><trk>", "is not valid XML"),
        (b"<a>" * 100, "is nested more than 60 deep"),
        (b"\x89PNG\r\n", "is not valid XML"),
        (b"", "is not valid XML"),
    ],
)
def test_unsound_or_hostile_gpx_is_rejected(data, told):
    with pytest.raises(BadInput, match=told):
        read_gpx(data, source="a.gpx")


# --- NetCDF


def imos(depths=(10.0, 20.0, 999999.0), flags=(1, 1, 1)):
    """A file as IMOS publishes them: NetCDF 4, days since 1950, fill values and quality flags."""
    out = io.BytesIO()
    with h5py.File(out, "w") as file:
        seconds = NOON + np.array([0.0, 10.0, 20.0])
        days = seconds / 86_400 - datetime(1950, 1, 1, tzinfo=UTC).timestamp() / 86_400
        file["TIME"] = days
        file["TIME"].attrs["units"] = "days since 1950-01-01T00:00:00Z"
        file["LATITUDE"], file["LONGITUDE"] = [-33.0, -34.0, -35.0], [151.0, 152.0, 153.0]
        file["DEPTH"] = np.array(depths, np.float32)
        file["DEPTH"].attrs["_FillValue"] = np.float32(999999.0)
        file["DEPTH_quality_control"] = np.array(flags, np.int8)
        file["TEMP"] = np.array([100, 200, 300], np.int16)
        file["TEMP"].attrs["scale_factor"], file["TEMP"].attrs["add_offset"] = 0.1, 1.0
    return out.getvalue()


def test_an_imos_file_gives_position_depth_and_temperature():
    record, _ = joined(NOON + 5, read_netcdf(imos(), source="a.nc"))
    assert record.latitude == pytest.approx(-33.5, abs=1e-3) and record.depth == pytest.approx(15, abs=1e-2)
    assert record.details["sea_water_temperature"] == pytest.approx(16, abs=1e-2)


def test_fill_values_and_values_marked_bad_are_not_used():
    fixed = read_netcdf(imos(), source="a.nc")
    assert joined(NOON + 15, fixed)[0].depth is None
    marked = read_netcdf(imos(depths=(10.0, 5_000.0, 30.0), flags=(1, 4, 1)), source="a.nc")
    assert joined(NOON + 10, marked)[0].depth == pytest.approx(20, abs=1e-2), "between the good neighbours"


def test_a_classic_netcdf_file_with_depths_as_negative_heights_is_read(tmp_path):
    with netcdf_file(tmp_path / "a.nc", "w") as file:
        file.createDimension("time", 2)
        for name, values, attributes in (
            ("time", [0, 10], {"units": "seconds since 2019-05-13 12:00:00 UTC"}),
            ("depth", [-4, -6], {"positive": "up"}),
        ):
            variable = file.createVariable(name, "f8", ("time",))
            variable[:] = values
            for key, value in attributes.items():
                setattr(variable, key, value)
    assert joined(NOON + 5, read_netcdf((tmp_path / "a.nc").read_bytes(), source="a.nc"))[0].depth == pytest.approx(5)


@pytest.mark.parametrize("data", [b"", b"text", b"CDF\x01garbage", b"\x89HDF\r\n\x1a\n" + bytes(200), imos()[:900]])
def test_damaged_netcdf_files_are_rejected_in_one_line(data):
    with pytest.raises(BadInput, match="NetCDF"):
        read_netcdf(data, source="a.nc")


def test_a_grid_without_times_is_no_navigation():
    out = io.BytesIO()
    with h5py.File(out, "w") as file:
        file["lat"], file["lon"], file["depth"] = np.arange(3.0), np.arange(4.0), np.zeros((3, 4))
    assert read_netcdf(out.getvalue(), source="grid.nc") is None


# --- the import


@pytest.fixture
def dive(tmp_path):
    """Images taken at 22:00:00, :05 and :30 by a camera whose clock shows UTC+10, and their navigation."""
    folder = tmp_path / "dive"
    folder.mkdir()
    for number, second in enumerate((0, 5, 30)):
        exif = Image.Exif()
        exif.get_ifd(0x8769)[0x9003] = f"2019:05:13 22:00:{second:02}"
        Image.fromarray(np.full((20, 30, 3), 60 * number, np.uint8)).save(folder / f"{number}.jpg", exif=exif)
    (tmp_path / "nav.csv").write_bytes(CSV)
    return folder


@pytest.fixture
def reef(tmp_path):
    with Workspace.create(tmp_path / "reef") as workspace:
        yield workspace


def bring_in(reef, folder, **parameters):
    job = run_now(reef, "import", {"folder": str(folder), "workers": 1, **parameters})
    assert job.state == "done", job.error
    return job.result


def depths(reef):
    images = reef.library.images(reef.library.columns("id")["id"].tolist())
    return {image.path: image.depth for image in images}


def test_an_import_joins_navigation_by_the_corrected_clock_and_says_what_was_matched(reef, dive, tmp_path):
    navigation = bring_in(reef, dive, navigation=[str(tmp_path / "nav.csv")], clock_offset=-36_000.0)["navigation"]
    assert (navigation["matched"], navigation["without_fix"], navigation["examples"]) == (2, 1, ["2.jpg"])
    assert depths(reef) == {"0.jpg": 10, "1.jpg": 15, "2.jpg": None}
    taken_at_by_path = {image.path: image.taken_at for image in reef.library.images([1, 2, 3])}
    assert taken_at_by_path["1.jpg"] == NOON + 5, "the corrected time is stored"
    assert any("2.jpg" in problem.where and "--clock-offset" in problem.remedy for problem in reef.library.problems())
    assert "not matched with navigation: 2.jpg" in JobQueue(reef).log(1)


def test_a_second_import_with_another_offset_corrects_times_and_places(reef, dive, tmp_path):
    files = {"navigation": [str(tmp_path / "nav.csv")]}
    assert bring_in(reef, dive, **files)["navigation"]["matched"] == 0
    assert bring_in(reef, dive, **files, clock_offset=-36_005.0)["navigation"]["matched"] == 1
    assert depths(reef) == {"0.jpg": None, "1.jpg": 10, "2.jpg": None}
    assert bring_in(reef, dive, **files, clock_offset=-36_000.0)["updated"] == 3
    assert depths(reef) == {"0.jpg": 10, "1.jpg": 15, "2.jpg": None}
    assert bring_in(reef, dive, **files)["updated"] == 0, "without an offset the stored one stays"


def test_navigation_beside_the_images_is_found_automatically(reef, dive):
    for path, content in (("nav.csv", CSV), ("ship.gpx", GPX), ("hydro.nc", imos())):
        (dive / path).write_bytes(content)
    navigation = bring_in(reef, dive, clock_offset=-36_000.0)["navigation"]
    assert [track["kind"] for track in navigation["files"]] == ["NetCDF track", "navigation table", "GPX track"]
    assert navigation["matched"] == 2


def test_matches_by_an_unchecked_clock_are_reported(reef, dive, tmp_path):
    late = CSV.replace(b"T12:", b"T22:")
    (tmp_path / "nav.csv").write_bytes(late)
    navigation = bring_in(reef, dive, navigation=[str(tmp_path / "nav.csv")])["navigation"]
    assert (navigation["matched"], navigation["by_camera_clock"]) == (2, 2)


def test_times_from_metadata_are_not_shifted_by_the_clock_offset(reef, dive, tmp_path):
    (dive / "times.csv").write_text("filename,datetime\n0.jpg,2019-05-13 12:00:05\n")
    bring_in(reef, dive, navigation=[str(tmp_path / "nav.csv")], clock_offset=-36_000.0)
    assert depths(reef)["0.jpg"] == 15


def test_a_preview_counts_the_images_whose_times_are_known(dive, tmp_path):
    (dive / "times.csv").write_text("filename,datetime\n0.jpg,2019-05-13 12:00:05\n1.jpg,2019-05-13 15:00:00\n")
    preview = ImportPreview.of(dive, ImportOptions(max_gap=30), navigation=[str(tmp_path / "nav.csv")])
    navigation = preview.navigation
    assert (navigation.matched, navigation.without_fix, navigation.without_time, navigation.examples) == (
        1,
        1,
        1,
        ("1.jpg",),
    )
    assert preview.with_navigation(None, 5).navigation.matched == 0
    assert preview.parameters["navigation"] == [str(tmp_path / "nav.csv")]


def test_the_command_line_reports_the_join(reef, dive, tmp_path):
    words = [
        "import",
        str(dive),
        "-w",
        str(tmp_path / "reef"),
        "--navigation",
        str(tmp_path / "nav.csv"),
        "--clock-offset",
        "-36000",
        "--max-gap",
        "20",
    ]
    shown = CliRunner().invoke(app, words)
    assert shown.exit_code == 0, shown.output
    assert "2 images were matched by time (fixes at most 20 s apart, camera clock -36000 s)" in shown.output
    assert "No fix close in time: 1 image" in shown.output


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        ({"max_gap": 0.0}, "max gap"),
        ({"navigation": ["nowhere.csv"]}, "does not exist"),
        ({"clock_offset": "late"}, "clock_offset: 'late' is not a number"),
    ],
)
def test_wrong_settings_are_rejected_before_anything_is_queued(reef, dive, parameters, told):
    with pytest.raises(BadInput, match=told):
        run_now(reef, "import", {"folder": str(dive), **parameters})
    assert JobQueue(reef).all() == []


def test_a_named_navigation_file_without_positions_is_rejected(reef, dive, tmp_path):
    (tmp_path / "words.csv").write_text("a,b\n1,2\n")
    with pytest.raises(BadInput, match="contains no positions or depths by time"):
        run_now(reef, "import", {"folder": str(dive), "navigation": [str(tmp_path / "words.csv")]})
