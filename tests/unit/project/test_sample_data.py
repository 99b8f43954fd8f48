"""Samples: what stands in their folders, and that they are never half there."""

import csv
import hashlib
import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from PIL import ExifTags, Image

from benthoscope import sample_data
from benthoscope.sample_data import FolderInUse, UnusableSettings, make_albums, make_campaign, read_truth
from benthoscope.sample_data.dives import MASK, POINTS, plan
from benthoscope.sample_data.photographs.holidays import plan as plan_albums
from benthoscope.sample_data.photographs.scenes import SCENES
from benthoscope.sample_data.seafloor.habitats import HABITATS
from benthoscope.sample_data.seafloor.things import LABELS, Thing
from benthoscope.sample_data.survey import Strip, take
from benthoscope.sample_data.writing import Batch

pytestmark = pytest.mark.thorough

SMALL = {"dives": 3, "images": 36, "size": (96, 72), "workers": 1}


class Stop(Exception):
    pass


def stop_after(images):
    def on_step(done, total):
        if done >= images:
            raise Stop

    return on_step


def content(folder):
    """Every file of a folder by its path, as a digest."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in Path(folder).rglob("*")
        if path.is_file() and path.suffix != ".npz"
    }  # a zip tells the time


@pytest.fixture(scope="module")
def campaign(tmp_path_factory):
    return make_campaign(tmp_path_factory.mktemp("sample") / "campaign", **SMALL)


@pytest.fixture(scope="module")
def albums(tmp_path_factory):
    return make_albums(tmp_path_factory.mktemp("sample") / "albums", albums=6, images=60, size=(96, 72), workers=1)


@pytest.fixture(scope="module")
def dives():
    return plan(8, 2000, np.random.default_rng(4))


def test_what_is_public_exists():
    assert all(hasattr(sample_data, name) for name in sample_data.__all__)


def test_the_same_settings_give_the_same_files(campaign, tmp_path):
    make_campaign(tmp_path / "again", **SMALL)
    assert content(tmp_path / "again") == content(campaign.folder)


def test_several_processes_give_the_files_of_one(campaign, tmp_path):
    make_campaign(tmp_path / "two", **{**SMALL, "workers": 2})
    assert content(tmp_path / "two") == content(campaign.folder)


def test_another_seed_gives_other_images(campaign, tmp_path):
    other = make_campaign(tmp_path / "other", **SMALL, seed=1)
    assert not set(content(other.folder).values()) & {
        digest for path, digest in content(campaign.folder).items() if path.endswith(".jpg")
    }


def test_images_and_folders_carry_the_names_of_the_facility(campaign):
    for image in campaign.images:
        assert re.fullmatch(r"r\d{8}_\d{6}_\w+/PR_\d{8}_\d{6}_\d{3}_LC16\.jpg", image.image)
        assert (campaign.folder / image.image).is_file()


def track_rows(text):
    """Rows of a track file by column name: whatever stands before the header is skipped, blank rows too."""
    lines = [line for line in csv.reader(text.splitlines()) if line]
    start = next(n for n, line in enumerate(lines) if line[0] == "year")
    return [dict(zip(lines[start], line, strict=True)) for line in lines[start + 1 :]]


def test_track_files_follow_both_habits_and_name_every_image(campaign):
    tracks = {path.parent.parent.name: track_rows(path.read_text()) for path in campaign.folder.rglob("*_latlong.csv")}
    assert {len(rows[0]) for rows in tracks.values()} == {17, 18}
    named = {f"{dive}/{Path(row['leftimage']).stem}.jpg" for dive, rows in tracks.items() for row in rows}
    assert named == {image.image for image in campaign.images}


def test_the_time_in_a_track_is_the_time_in_the_image_name(campaign):
    for path in campaign.folder.rglob("*_latlong.csv"):
        for row in track_rows(path.read_text()):
            names = [int(row[name]) for name in ("year", "month", "day", "hour", "minute")]
            seconds = datetime(*names, tzinfo=UTC).timestamp() + float(row["second"])
            named = datetime.strptime(Path(row["leftimage"]).stem, "PR_%Y%m%d_%H%M%S_%f_LC16").replace(tzinfo=UTC)
            assert seconds == pytest.approx(named.timestamp(), abs=5e-4)


def test_columns_of_a_track_stand_where_readers_count_them(campaign):
    header = next(
        line
        for path in campaign.folder.rglob("*_latlong.csv")
        for line in path.read_text().splitlines()
        if line.startswith("year")
    ).split(",")
    assert (header[5], header[8], header[14], header[15]) == ("second", "depth", "altitude", "leftimage")


def test_vehicles_fly_two_metres_over_a_floor_off_the_coast(dives):
    frames = [frame for dive in dives for frame in dive.frames]
    assert 1.9 < np.mean([frame.altitude for frame in frames]) < 2.1
    assert all(1.4 <= frame.altitude <= 3.0 and 1 < frame.depth < 100 for frame in frames)
    assert all(-44 < frame.latitude < -42 and 147.9 < frame.longitude < 148.3 for frame in frames)


def test_positions_of_neighbours_are_as_far_apart_as_the_vehicle_can_go(dives):
    for before, after in pairwise(dives[0].frames):
        moved = np.hypot(after.north - before.north, after.east - before.east)
        north = (after.latitude - before.latitude) * 111_320
        assert moved < 1.5 * 0.5 * (after.when - before.when).total_seconds() + 0.5
        assert north == pytest.approx(after.north - before.north, abs=1e-3)


def test_neighbours_along_a_track_share_their_habitat(dives):
    for dive in dives:
        changes = sum(a.habitat != b.habitat for a, b in pairwise(dive.frames))
        assert changes < 0.25 * len(dive.frames)


def test_every_habitat_occurs_and_none_in_every_dive(dives):
    present = [{frame.habitat for frame in dive.frames} for dive in dives]
    assert set().union(*present) == {habitat.name for habitat in HABITATS}
    assert not set.intersection(*present)
    assert all(len(names) < len(HABITATS) / 2 for names in present)


def test_kelp_and_sea_grass_grow_in_shallower_water_than_sponges(dives):
    depth = {
        name: np.mean([f.depth for dive in dives for f in dive.frames if f.habitat == name])
        for name in ("kelp", "sea-grass", "sponge garden")
    }
    assert depth["sea-grass"] < depth["kelp"] < depth["sponge garden"]


def test_a_few_frames_fail_in_every_way(dives):
    bad = [frame.quality for dive in dives for frame in dive.frames if frame.quality != "good"]
    assert len(bad) == 40
    assert set(bad) == {"black", "blurred", "over-exposed", "mid-water"}


def test_frames_that_show_no_sea_floor_have_no_label(dives):
    for frame in (frame for dive in dives for frame in dive.frames):
        assert (frame.label == "") == (frame.quality in ("black", "mid-water"))


def test_fifty_points_are_labelled_in_images_without_a_mask(campaign):
    counted = {image.image for image in campaign.images if image.truth == "points"}
    assert counted == {point.image for point in campaign.points}
    assert not counted & set(campaign.masked)
    assert len(campaign.points) == 50 * len(counted) > 0
    assert all(0 <= point.row < 72 and 0 <= point.column < 96 for point in campaign.points)


def test_a_point_is_labelled_as_the_pixel_it_lies_on():
    dive = plan(1, 1, np.random.default_rng(8))[0]
    frame = replace(dive.frames[0], habitat="sponge garden", quality="good")  # many things side by side
    label_by_point = {}
    for truth in (MASK, POINTS):
        strip = Strip(dive.folder, 0, dive.water, (replace(frame, truth=truth),))
        (label_by_point[truth],) = take(0, (96, 72), Batch("one", 1, strip)).arrays.values()
    rows, columns, things = label_by_point[POINTS].T
    assert len(set(things.tolist())) > 2
    assert (label_by_point[MASK][rows, columns] == things).all()


def test_masks_are_read_one_by_one_and_hold_known_classes(campaign):
    assert campaign.masked
    for image in campaign.masked:
        mask = campaign.mask(image)
        assert mask.shape == (72, 96)
        assert set(np.unique(mask)) <= set(campaign.classes)


def test_every_class_has_a_name():
    assert set(LABELS) == set(Thing)
    assert len(set(LABELS.values())) == len(Thing)


def test_truth_is_read_back_as_it_was_given(campaign):
    assert read_truth(campaign.folder) == campaign
    assert set(campaign.labels.values()) <= {habitat.name for habitat in HABITATS}


def test_a_folder_without_truth_is_said_to_have_none(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_truth(tmp_path)


def test_progress_reaches_all_images(tmp_path):
    counts = []
    make_campaign(tmp_path / "c", **SMALL, on_step=lambda done, total: counts.append((done, total)))
    assert counts[0] == (0, 36)
    assert counts[-1] == (36, 36)
    assert counts == sorted(counts)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_stopped_sample_is_completed_and_equals_an_unstopped_one(campaign, tmp_path, workers):
    settings = {**SMALL, "workers": workers}
    with pytest.raises(Stop):
        make_campaign(tmp_path / "c", **settings, on_step=stop_after(10))
    shown_content = json.loads((tmp_path / "c" / "sample.json").read_text())
    assert not shown_content["complete"]
    counts = []
    make_campaign(tmp_path / "c", **settings, on_step=lambda done, total: counts.append(done))
    assert counts[0] >= 10  # finished work is not repeated
    assert content(tmp_path / "c") == content(campaign.folder)


def test_files_left_unfinished_by_a_killed_process_are_cleared_away(campaign, tmp_path):
    with pytest.raises(Stop):
        make_campaign(tmp_path / "c", **SMALL, on_step=stop_after(10))
    (tmp_path / "c" / ".torn.jpg.part").write_bytes(b"half")
    make_campaign(tmp_path / "c", **SMALL)
    assert content(tmp_path / "c") == content(campaign.folder)


def test_a_complete_sample_is_not_made_again(tmp_path):
    first = make_campaign(tmp_path / "c", **SMALL)
    assert make_campaign(tmp_path / "c", **SMALL, on_step=stop_after(0)) == first


def test_a_folder_with_other_things_is_refused_and_left_alone(tmp_path):
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(FolderInUse, match="not empty"):
        make_campaign(tmp_path, **SMALL)
    assert content(tmp_path).keys() == {"thesis.txt"}


def test_a_sample_with_other_settings_is_refused_and_left_alone(campaign):
    before = content(campaign.folder)
    with pytest.raises(FolderInUse, match="other settings"):
        make_campaign(campaign.folder, **{**SMALL, "images": 37})
    assert content(campaign.folder) == before


def test_force_replaces_the_sample_and_nothing_else(tmp_path):
    first = make_campaign(tmp_path, **SMALL)
    (tmp_path / "notes.txt").write_text("mine")
    second = make_campaign(tmp_path, **{**SMALL, "images": 12}, force=True)
    assert len(second.images) == 12
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert not any((tmp_path / image.image).exists() for image in first.images if image not in second.images)


def test_a_forged_recipe_cannot_make_force_delete_elsewhere(tmp_path):
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "data.txt").write_text("keep")
    forged = {"recipe": {}, "folders": ["../precious", "..", ".", ""], "complete": True}
    (tmp_path / "sample").mkdir()
    (tmp_path / "sample" / "sample.json").write_text(json.dumps(forged))
    make_campaign(tmp_path / "sample", **SMALL, force=True)
    assert (tmp_path / "precious" / "data.txt").read_text() == "keep"


@pytest.mark.parametrize("wrong", [{"dives": 0}, {"dives": 7, "images": 6}, {"size": (10, 10)}, {"seed": -1}])
def test_settings_that_cannot_be_met_are_refused_before_anything_is_written(tmp_path, wrong):
    with pytest.raises(UnusableSettings):
        make_campaign(tmp_path / "c", **{**SMALL, **wrong})
    assert not (tmp_path / "c").exists()


def test_albums_show_every_scene_and_differ(albums):
    shown = {group: {i.label for i in albums.images if i.group == group} for group in {i.group for i in albums.images}}
    assert len(shown) == 6
    assert set().union(*shown.values()) == {scene.name for scene in SCENES}
    assert not set.intersection(*shown.values())


def test_a_photo_tells_when_and_where_it_was_taken(albums):
    planned = {
        f"{album.folder}/{photo.file}": photo
        for album in plan_albums(6, 60, np.random.default_rng([0, 3]))
        for photo in album.photos
    }
    for image in albums.images:
        with Image.open(albums.folder / image.image) as opened:
            tags = opened.getexif()
        photo = planned[image.image]
        assert tags.get_ifd(ExifTags.IFD.Exif)[ExifTags.Base.DateTimeOriginal] == f"{photo.when:%Y:%m:%d %H:%M:%S}"
        assert position(tags.get_ifd(ExifTags.IFD.GPSInfo)) == pytest.approx(photo.position, abs=1e-6)


def position(gps):
    """Degrees north and east, None without a fix."""
    if not gps:
        return None
    axes = ((gps[2], gps[1], "S"), (gps[4], gps[3], "W"))
    return tuple(float(d + m / 60 + s / 3600) * (-1 if ref == minus else 1) for (d, m, s), ref, minus in axes)


def test_photos_of_a_place_are_taken_at_fitting_hours(albums):
    for image in albums.images:
        hour = int(Path(image.image).stem[-6:-4])
        assert (hour >= 20) == (image.label == "city at night")
