"""Before an import: the scan, the guess of the groups, and the matching of files."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benthoscope.engine.exchange.image_import.folder_scan import FoundFile, Survey, survey
from benthoscope.engine.exchange.image_import.import_plan import (
    Files,
    ImportOptions,
    described,
    group_of,
    guessed_level,
    make_plan,
)
from benthoscope.engine.exchange.records import ImageRecord
from benthoscope.engine.imaging import ImageFacts
from benthoscope.engine.problems import BadInput
from benthoscope.engine.progress import Cancelled


def tree(folder: Path, *paths: str) -> Path:
    for path in paths:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(b"x")
    return folder


# --- the walk


def test_images_are_found_at_every_depth_and_the_rest_is_counted(tmp_path):
    survey_files = survey(
        tree(tmp_path, "a.jpg", "b/c.TIF", "b/d/e.png", "b/track.csv", "b/notes.pdf", "b/film.mp4", "README")
    )
    assert [file.path for file in survey_files.images] == ["a.jpg", "b/c.TIF", "b/d/e.png"]
    assert [file.path for file in survey_files.metadata] == ["b/track.csv"]
    assert survey_files.ignored == {".pdf": 1, ".mp4": 1, "no ending": 1}
    assert survey_files.problems == ()


def test_hidden_files_workspaces_and_system_folders_are_passed_over(tmp_path):
    survey_files = survey(
        tree(tmp_path, "a.jpg", ".b.jpg", ".trash/c.jpg", "w.benthos/d.jpg", "__MACOSX/e.jpg", "@eaDir/f.jpg")
    )
    assert [file.path for file in survey_files.images] == ["a.jpg"]
    assert survey_files.ignored == {"hidden": 5}


def test_the_true_labels_of_a_sample_are_no_metadata(tmp_path):
    survey_files = survey(tree(tmp_path, "sample.json", "dive/a.jpg", "dive/track.csv", "truth/images.csv"))
    assert [file.path for file in survey_files.metadata] == ["dive/track.csv", "sample.json"]
    assert survey_files.ignored == {}
    own = survey(tree(tmp_path / "own", "a.jpg", "truth/images.csv"))  # a folder of this name elsewhere is imported
    assert [file.path for file in own.metadata] == ["truth/images.csv"]


def test_with_follow_links_a_link_to_a_folder_is_followed_and_loops_end(tmp_path):
    tree(tmp_path / "disk2", "dive/b.jpg")
    tree(tmp_path / "data", "a.jpg")
    (tmp_path / "data" / "more").symlink_to(tmp_path / "disk2")
    (tmp_path / "disk2" / "round").symlink_to(tmp_path / "data")
    survey_files = survey(tmp_path / "data", follow_links=True)
    assert [file.path for file in survey_files.images] == ["a.jpg", "more/dive/b.jpg"]
    assert "already scanned under another name" in survey_files.problems[0].what


def test_links_out_of_the_folder_are_skipped_and_listed(tmp_path):
    tree(tmp_path / "elsewhere", "b.jpg", "notes.csv")
    tree(tmp_path / "data", "a.jpg", "dive/c.jpg")
    (tmp_path / "data" / "disk").symlink_to("/")
    (tmp_path / "data" / "more").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "data" / "b.jpg").symlink_to(tmp_path / "elsewhere" / "b.jpg")
    (tmp_path / "data" / "notes.csv").symlink_to(tmp_path / "elsewhere" / "notes.csv")
    (tmp_path / "data" / "dive" / "up").symlink_to(tmp_path / "data")
    survey_files = survey(tmp_path / "data")
    assert [file.path for file in survey_files.images] == ["a.jpg", "dive/c.jpg"]
    assert survey_files.metadata == () and survey_files.skipped_links == 4
    skipped = [problem for problem in survey_files.problems if "leads out of the folder" in problem.what]
    assert {problem.where.rpartition("/")[2] for problem in skipped} == {"disk", "more", "b.jpg", "notes.csv"}
    assert all("--follow-links" in problem.remedy for problem in skipped)


def test_links_to_files_inside_the_folder_are_imported(tmp_path):
    tree(tmp_path, "originals/a.jpg")
    (tmp_path / "chosen").mkdir()
    (tmp_path / "chosen" / "a.jpg").symlink_to("../originals/a.jpg")
    assert [file.path for file in survey(tmp_path).images] == ["chosen/a.jpg", "originals/a.jpg"]


def test_of_very_many_skipped_links_the_first_are_listed_and_the_rest_counted(tmp_path):
    tree(tmp_path / "elsewhere", "b.jpg")
    tree(tmp_path / "data", "a.jpg")
    for number in range(130):
        (tmp_path / "data" / f"{number}.jpg").symlink_to(tmp_path / "elsewhere" / "b.jpg")
    survey_files = survey(tmp_path / "data")
    assert survey_files.skipped_links == 130 and len(survey_files.problems) == 101
    assert "30 more links" in survey_files.problems[-1].what


def test_empty_files_and_pipes_are_listed(tmp_path):
    (tmp_path / "a.jpg").touch()
    os.mkfifo(tmp_path / "b.jpg")
    assert [problem.what for problem in survey(tmp_path).problems] == [
        "the file is empty (0 bytes)",
        "is not a file but a pipe",
    ]


def test_a_missing_folder_gives_a_clear_error(tmp_path):
    with pytest.raises(BadInput, match="is not a folder; give the folder with the images"):
        survey(tmp_path / "nowhere")


def test_the_scan_reports_progress_and_can_be_stopped(tmp_path):
    tree(tmp_path, *(f"{number}/a.jpg" for number in range(5)))
    progress_counts = []
    survey(tmp_path, progress_counts.append)
    assert len(progress_counts) == 6 and "5 images so far" in progress_counts[-1].message


# --- groups


@pytest.mark.parametrize(
    ("paths", "level"),
    [
        (["a.jpg", "b.jpg"], 0),
        (["dive1/a.jpg", "dive2/b.jpg"], 1),
        (["PS2015/dive1/a.jpg", "PS2015/dive2/b.jpg"], 2),
        (["dive1/images/a.jpg", "dive2/images/b.jpg"], 1),
        (["dive1/jpg/left/a.jpg", "dive2/jpg/left/b.jpg"], 1),
        (["2019/Bali/a.jpg", "2019/Rome/b.jpg", "2020/Oslo/c.jpg"], 2),
        (["r20150210_065655_kelp/i20150210_065655_gtif/a.tif", "r20150211_015856_bay/i20150211_015856_gtif/b.tif"], 1),
        (["PS201502/r20150210_065655_kelp/i20150210_065655_gtif/a.tif"], 2),
        (["only_dive/a.jpg"], 1),
        (["only_dive/images/a.jpg"], 1),
        ([], 0),
    ],
)
def test_the_level_of_dives_or_albums_is_guessed(paths, level):
    assert guessed_level(paths) == level


def test_the_group_is_the_folders_down_to_the_level():
    assert group_of("2019/Rome/a.jpg", 1, "all") == "2019"
    assert group_of("2019/Rome/a.jpg", 2, "all") == "2019/Rome"
    assert group_of("2019/Rome/a.jpg", 5, "all") == "2019/Rome"
    assert group_of("2019/Rome/a.jpg", 0, "all") == group_of("a.jpg", 3, "all") == "all"


@given(st.lists(st.lists(st.sampled_from(["a", "b", "images"]), max_size=4), max_size=8))
def test_a_guessed_level_is_never_below_the_deepest_folder(folders):
    paths = ["/".join([*folder, "x.jpg"]) for folder in folders]
    assert 0 <= guessed_level(paths) <= max(map(len, folders), default=0)


# --- which file a record means

PATHS = [
    "dive1/i_gtif/PR_1.tif",
    "dive1/i_gtif/PR_2.tif",
    "dive2/i_gtif/PR_1.tif",
    "dive2/i_gtif/PR_3.tif",
    "dive2/i_gtif/PR_3.jpg",
]


@pytest.mark.parametrize(
    ("name", "group", "source", "meant"),
    [
        ("PR_2.tif", None, "m.csv", ["dive1/i_gtif/PR_2.tif"]),
        ("PR_2.png", None, "m.csv", ["dive1/i_gtif/PR_2.tif"]),  # tracks name .png, .tif is delivered
        ("pr_2.TIF", None, "m.csv", ["dive1/i_gtif/PR_2.tif"]),
        ("PR_2", None, "m.csv", ["dive1/i_gtif/PR_2.tif"]),
        ("PR_1.tif", None, "dive2/track_files/t.csv", ["dive2/i_gtif/PR_1.tif"]),
        ("PR_1.tif", "dive1", "m.csv", ["dive1/i_gtif/PR_1.tif"]),
        ("data/dive2/i_gtif/PR_1.tif", None, "m.csv", ["dive2/i_gtif/PR_1.tif"]),
        ("PR_3.jpg", None, "m.csv", ["dive2/i_gtif/PR_3.jpg"]),
        ("PR_3.png", None, "m.csv", ["dive2/i_gtif/PR_3.tif", "dive2/i_gtif/PR_3.jpg"]),
        ("PR_1.tif", None, "m.csv", None),  # two dives have one
        ("PR_9.tif", None, "m.csv", []),
    ],
)
def test_a_record_matches_its_file(name, group, source, meant):
    assert Files(PATHS).meant_by(name, group, source) == meant


def test_a_name_with_dots_is_not_cut_at_the_wrong_one():
    assert Files(["IMG.0042.jpg", "IMG.0043.jpg"]).meant_by("IMG.0042", None, "m.csv") == ["IMG.0042.jpg"]


# --- the plan


def planned(files, metadata=None, **options):
    """A plan from paths and the content of metadata files, without a disk."""
    metadata = metadata or {}
    survey_files = Survey(
        Path("reef"),
        "",
        tuple(FoundFile(path, 1, 1) for path in files),
        tuple(FoundFile(path, 1, 1) for path in metadata),
    )
    return make_plan(survey_files, lambda name: metadata[name].encode(), ImportOptions(**options))


def test_the_more_trusted_source_is_used_and_others_fill_missing_values():
    track = (
        "year,month,day,hour,minute,second,latitude,longitude,depth,altitude,leftimage\n"
        "2019,5,13,12,0,0,-33.5,151.2,25,2,a.png\n"
    )
    plan = planned(
        ["a.tif", "b.tif"], {"t_latlong.csv": track, "m.csv": "file,depth,site\na.tif,99,Reef\nb.tif,7,Bay\n"}
    )
    record = plan.records["a.tif"]
    assert (record.depth, record.latitude, record.details) == (25, -33.5, {"site": "Reef"})
    assert plan.records["b.tif"].depth == 7
    assert {name: len(paths) for name, paths in plan.spoken_of.items()} == {"t_latlong.csv": 1, "m.csv": 2}


def test_the_right_image_of_a_pair_gets_the_same_place():
    track = (
        "year,month,day,hour,minute,second,latitude,longitude,depth,leftimage,rightimage\n"
        "2019,5,13,12,0,0,-33.5,151.2,25,a_LC.png,a_RM.png\n"
    )
    plan = planned(["a_LC.tif", "a_RM.tif"], {"t.csv": track})
    assert plan.records["a_RM.tif"].depth == plan.records["a_LC.tif"].depth == 25


def test_a_dive_named_in_the_metadata_wins_over_the_folder_unless_a_level_was_chosen():
    table = {"m.csv": "file,dive,campaign\na.jpg,dive 7,PS2015\n"}
    assert planned(["x/a.jpg"], table).group_key_of("x/a.jpg") == ("PS2015", "dive 7")
    assert planned(["x/a.jpg"], table, group_level=1).group_key_of("x/a.jpg") == ("PS2015", "x")
    assert planned(["x/a.jpg"], table, collection="mine").group_key_of("x/a.jpg") == ("mine", "dive 7")
    assert planned(["x/a.jpg"]).group_key_of("x/a.jpg") == ("reef", "x")


@pytest.mark.parametrize(
    ("files", "metadata", "kind"),
    [
        (["a.jpg"], {}, "albums"),
        (["PR_20190513_120000_000_LC16.tif"], {}, "campaign"),
        (["a.jpg"], {"m.csv": "file,depth\na.jpg,20\n"}, "campaign"),
        (["a.jpg"], {"m.csv": "file,site\na.jpg,Rome\n"}, "albums"),
    ],
)
def test_dives_and_albums_are_distinguished(files, metadata, kind):
    assert planned(files, metadata).kind == kind
    assert planned(files, metadata, kind="albums").kind == "albums"


def test_a_table_about_other_images_is_named_and_a_track_of_other_images_is_a_problem():
    track = "year,month,day,hour,minute,second,latitude,longitude,leftimage\n2019,5,13,12,0,0,1,2,z.png\n"
    plan = planned(["a.jpg"], {"m.csv": "file,depth\nz.jpg,20\n", "t.csv": track})
    assert plan.unrelated == ("m.csv", "t.csv") and plan.sources == ()
    assert [str(problem) for problem in plan.problems] == [
        "t.csv: is an IMOS AUV track file without any of the images in this folder; "
        "check that it belongs to this folder"
    ]


def test_file_names_that_occur_in_several_albums_are_reported():
    plan = planned(["x/a.jpg", "y/a.jpg"], {"m.csv": "file,depth\na.jpg,20\n"})
    assert plan.problems[0].what == "1 rows have an image name that occurs several times"
    assert plan.records == {}


def test_a_mapping_corrects_the_guess():
    plan = planned(["a.jpg"], {"m.csv": "file,Tiefe,depth\na.jpg,20,3\n"}, mapping={"Tiefe": "depth"})
    assert plan.records["a.jpg"].depth == 20


@pytest.mark.parametrize(
    ("mapping", "told"),
    [
        ({"Tief": "depth"}, "no 'Tief'; did you mean 'Tiefe'"),
        ({"Tiefe": "deepness"}, "mapping: there is no 'deepness'"),
    ],
)
def test_a_mapping_that_cannot_be_applied_gives_a_clear_error(mapping, told):
    with pytest.raises(BadInput, match=told):
        planned(["a.jpg"], {"m.csv": "file,Tiefe\na.jpg,20\n"}, mapping=mapping)


@pytest.mark.parametrize(
    ("options", "told"), [({"group_level": -1}, "group level"), ({"kind": "campain"}, "did you mean 'campaign'")]
)
def test_impossible_options_are_rejected(options, told):
    with pytest.raises(BadInput, match=told):
        planned(["a.jpg"], **options)


def test_an_unreadable_metadata_file_is_listed_and_the_import_continues():
    plan = planned(["a.jpg"], {"bad.json": '{"image-set-header": {', "m.csv": "file,depth\na.jpg,20\n"})
    assert plan.records["a.jpg"].depth == 20
    assert plan.problems[0].where.startswith("bad.json line 1")


def test_reading_a_long_table_can_be_stopped():
    rows = "".join(f"{number}.jpg,20\n" for number in range(30_000))
    messages = []

    def stop_after_a_while(progress):
        messages.append(progress.message)
        if len(messages) == 9:
            raise Cancelled

    survey_files = Survey(Path("reef"), "", (FoundFile("1.jpg", 1, 1),), (FoundFile("m.csv", 1, 1),))
    with pytest.raises(Cancelled):
        make_plan(
            survey_files, lambda name: ("file,depth\n" + rows).encode(), ImportOptions(), on_step=stop_after_a_while
        )
    assert messages[1] == "Reading m.csv: 5,000 rows so far"


# --- what is known of an image from all sides

FACTS = ImageFacts(100, 80, "JPEG", latitude=1.0, longitude=2.0, elevation=-9.0, heading=90.0)


def test_metadata_override_exif_and_exif_fills_missing_values():
    description = described(ImageRecord("a.jpg", depth=20.0), FACTS, "a.jpg")
    assert (description.depth, description.latitude, description.longitude) == (20.0, 1.0, 2.0)
    assert description.details == {"heading": 90.0, "format": "JPEG"}


def test_half_a_position_is_never_completed_from_another_source():
    description = described(ImageRecord("a.jpg", latitude=50.0), FACTS, "a.jpg")
    assert (description.latitude, description.longitude) == (1.0, 2.0)


def test_a_trigger_time_in_the_name_overrides_the_clock_of_the_camera():
    from datetime import UTC, datetime

    facts = ImageFacts(1, 1, "JPEG", taken_at=datetime(2000, 1, 1, tzinfo=UTC))
    name = "PR_20190513_120000_000_LC16.jpg"
    assert described(None, facts, name).taken_at == datetime(2019, 5, 13, 12, tzinfo=UTC).timestamp()
    other = described(None, facts, "IMG_20190513_120000.jpg")
    assert other.taken_at == datetime(2000, 1, 1, tzinfo=UTC).timestamp() and other.details["clock"] == "of the camera"
