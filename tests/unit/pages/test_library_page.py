"""The library's view models: dives, adding images, forms with their costs."""

import numpy as np
import pytest
from PIL import Image

from benthoscope.app.components.forms import JobForm
from benthoscope.app.components.import_dialog import ImportDialog, listing
from benthoscope.app.data.colours import group_colours
from benthoscope.app.pages.home import HomeView
from benthoscope.app.pages.library.cluster_form import QUESTIONS, VARIANTS, clustering, widths_of
from benthoscope.app.pages.library.describe_form import describing, forgetting
from benthoscope.app.pages.library.model import LibraryView, collection_rows, dive_rows, silent_columns
from benthoscope.app.session.app_state import AppState
from benthoscope.app.session.cache import LABELS
from benthoscope.app.session.session import Session
from benthoscope.engine.jobs import durations, run_now
from benthoscope.engine.jobs.cluster.inputs import supported
from benthoscope.engine.jobs.cluster.model_catalog import ENTRIES
from benthoscope.engine.problems import BadInput
from benthoscope.engine.streaming import MemoryBoundedVDP, round_work
from benthoscope.engine.workspace import Workspace
from benthoscope.engine.workspace.labels.vocabularies import NewTerm
from benthoscope.plots.colours import distinct

TRACK = "filename,latitude,longitude,depth,time\n"


@pytest.fixture
def folder(tmp_path):
    """Two dives of three images with a table beside them, and a file that is not an image."""
    rows = []
    for dive in ("north", "south"):
        (tmp_path / "survey" / dive).mkdir(parents=True)
        for number in range(3):
            name = f"{dive}{number}.png"
            pixels = np.random.default_rng(len(rows)).integers(0, 255, (30, 40, 3), np.uint8)
            Image.fromarray(pixels).save(tmp_path / "survey" / dive / name)
            at = len(rows)
            rows.append(f"{name},{-14 - at / 100},121.{at},{20 + at},2015-02-12T10:0{at}:00")
    (tmp_path / "survey" / "track.csv").write_text(TRACK + "\n".join(rows))
    (tmp_path / "survey" / "north" / "broken.jpg").write_bytes(b"no image")
    return tmp_path / "survey"


@pytest.fixture
def session(tmp_path):
    with Workspace.create(tmp_path / "reef") as workspace:
        app = AppState(workspace)
        yield Session(app)
        app.close()


@pytest.fixture
def imported(session, folder):
    job = run_now(session.workspace, "import", {"folder": str(folder), "collection": "Survey"})
    assert job.state == "done", job.error
    session.changed()
    return session


def test_an_empty_workspace_is_told_as_such_and_home_names_the_first_step(session):
    assert LibraryView(session).content()["collections"] == []
    assert [step["state"] for step in HomeView(session).content()["steps"]][:2] == ["next", "later"]


def test_dives_show_counts_depths_tracks_and_problems(imported):
    content = LibraryView(imported).content()
    groups = {group["name"]: group for group in content["collections"][0]["groups"]}
    assert {name: group["images"] for name, group in groups.items()} == {"north": 3, "south": 3}
    assert groups["south"]["depth"] == (23.0, 25.0)
    assert content["map"]["dives"] == 2 and content["map"]["middle"][0] == pytest.approx(-14.025)
    assert content["problem_count"] == 1 and "broken.jpg" in content["problems"][0]["where"]


def test_the_share_labelled_is_that_of_each_dive(imported):
    workspace = imported.workspace
    vocabulary = workspace.vocabularies.add("own", [NewTerm(("Kelp",))])
    term, person = workspace.vocabularies.terms(vocabulary.id)[0], workspace.people.named("Ada")
    north = next(group for group in workspace.library.groups() if group.name == "north")
    workspace.labels.label(person.id, workspace.library.columns("id", group_id=north.id)["id"][:2], term.id)
    imported.changed(LABELS)
    groups = LibraryView(imported).content()["collections"][0]["groups"]
    assert {group["name"]: group["labelled"] for group in groups} == {"north": 2, "south": 0}


def test_adding_images_shows_what_was_found_before_anything_happens(session, folder):
    dialog = ImportDialog(session)
    dialog.open(str(folder))
    assert [name for name, _ in dialog.shown["folder"]["folders"]] == ["north", "south"]
    dialog.start_scan(str(folder)).join()
    preview = dialog.shown["preview"]
    assert (preview["images"], preview["group_count"], dialog.shown["busy"]) == (7, 2, "")
    assert {column["name"]: column["meaning"] for column in preview["sources"][0]["columns"]}["depth"] == "depth"
    assert session.workspace.library.count_images() == 0


def test_a_column_taken_for_the_wrong_thing_is_put_right(session, folder):
    dialog = ImportDialog(session)
    dialog.open(str(folder))
    dialog.start_scan(str(folder)).join()
    assert dialog.shown["preview"]["rows"][0]["depth"] == 20.0
    dialog.mean("depth", "altitude")
    assert (dialog.shown["preview"]["rows"][0]["depth"], dialog.shown["preview"]["rows"][0]["altitude"]) == (None, 20.0)
    dialog.level(0)
    assert dialog.shown["preview"]["group_count"] == 1


def test_navigation_files_are_joined_as_set_in_the_dialog(session, folder, tmp_path):
    track = tmp_path / "track.gpx"
    points = "".join(f'<trkpt lat="{at}" lon="{at}"><time>2019-05-13T12:00:{at:02}Z</time></trkpt>' for at in (1, 31))
    track.write_text(f"<gpx>{points}</gpx>")
    dialog = ImportDialog(session)
    dialog.open(str(folder))
    dialog.start_scan(str(folder)).join()
    assert dialog.shown["preview"]["navigation"] == {"clock_offset": "", "max_gap": "60", "files": [], "lines": []}
    dialog.join("-36000", "30", str(track))
    navigation = dialog.shown["preview"]["navigation"]
    assert (navigation["clock_offset"], navigation["max_gap"]) == ("-36000", "30")
    assert (
        navigation["files"][0]["fixes"] == 2
        and navigation["files"][0]["first"] == "2019-05-13 12:00:01"
        and navigation["lines"]
    )
    for wrong in (("soon", "30", ""), ("", "-5", ""), ("", "", str(tmp_path / "nowhere.csv"))):
        dialog.join(*wrong)
        assert dialog.shown["error"]
    assert dialog.start()
    parameters = session.app.queue.unfinished()[0].parameters
    assert (parameters["clock_offset"], parameters["max_gap"]) == (-36000, 30)
    assert parameters["navigation"] == [str(track)]


def test_links_out_of_the_folder_are_followed_when_asked_for(session, folder, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    Image.new("RGB", (9, 9)).save(outside / "more.jpg")
    (folder / "link").symlink_to(outside)
    dialog = ImportDialog(session)
    dialog.open(str(folder))
    dialog.start_scan(str(folder)).join()
    assert (dialog.shown["preview"]["images"], dialog.shown["preview"]["skipped_links"]) == (7, 1)
    dialog.follow().join()
    assert (dialog.shown["preview"]["images"], dialog.shown["preview"]["skipped_links"]) == (8, 0)
    assert dialog.start() and session.app.queue.unfinished()[0].parameters["follow_links"] is True


def test_the_import_is_queued_as_it_was_shown(session, folder):
    dialog = ImportDialog(session)
    dialog.open(str(folder))
    assert not dialog.start()
    dialog.start_scan(str(folder)).join()
    dialog.call("Leg 1", "campaign")
    assert dialog.start("Leg 2", "campaign") and dialog.shown == {}
    job = session.app.queue.unfinished()[0]
    assert (job.kind, job.parameters["collection"]) == ("import", "Leg 2")


def test_a_folder_that_is_not_there_is_told_in_the_dialog(session, tmp_path):
    dialog = ImportDialog(session)
    dialog.open(str(tmp_path / "nowhere"))
    assert "cannot be opened" in dialog.shown["error"]
    dialog.start_scan(str(tmp_path / "nowhere")).join()
    assert "nowhere" in dialog.shown["error"] and dialog.shown["busy"] == ""


def test_a_listing_counts_images_and_hides_hidden_folders(folder):
    (folder / ".cache").mkdir()
    listed = listing(folder / "north")
    assert (listed.images, listed.folders) == (4, ()) and listed.parents[-1][0] == "north"
    assert ".cache" not in dict(listing(folder).folders)


def test_describing_tells_its_cost_and_queues_the_job(imported):
    form = JobForm(imported)
    form.open(describing(imported.app, ["Survey"]))
    assert "6 images" in form.shown["cost"]
    assert form.start({**form.shown["values"], "kinds": ["colour"], "dimension": "8"})
    job = imported.app.queue.unfinished()[0]
    assert (job.kind, job.parameters["kinds"], job.parameters["dimension"]) == ("features", ["colour"], 8)


def test_clicking_twice_queues_once_and_a_late_change_does_not_open_the_form_again(imported):
    form = JobForm(imported)
    form.open(describing(imported.app, []))
    values = {**form.shown["values"], "kinds": ["colour"]}
    assert form.start(values) and not form.start(values)
    form.change(values)
    assert form.shown == {} and len(imported.app.queue.unfinished()) == 1


def test_there_is_nothing_to_cluster_without_images(session):
    with pytest.raises(BadInput, match="no images yet"):
        clustering(session.app, [])


@pytest.mark.parametrize(
    ("model", "kinds"),
    [
        ("gmc", ["{image}"]),
        ("mcm", ["{image}", "segments"]),
        ("scm", ["segments"]),
        ("gmc-segments", ["segments"]),
        ("mbtm-segments", ["segments"]),
    ],
)
def test_what_a_question_needs_is_described_first(imported, model, kinds):
    form = JobForm(imported)
    form.open(clustering(imported.app, [], model))
    image = form.shown["values"]["features"]
    expected = [kind.format(image=image) for kind in kinds]
    assert form.shown["values"]["model"] == model
    assert f"{' and '.join(expected)} features are computed first" in form.shown["cost"].lower()
    assert form.start(form.shown["values"])
    [job] = imported.app.queue.unfinished()
    describe, cluster = job.parameters["steps"]
    assert job.kind == "chain" and (describe["kind"], describe["parameters"]["kinds"]) == ("features", expected)
    assert (cluster["kind"], cluster["parameters"]["model"]) == ("cluster", model)


def test_every_model_can_be_asked_for_and_says_what_it_is_for():
    offered = dict(QUESTIONS) | dict(VARIANTS)
    assert set(offered) == {*ENTRIES, ""}
    assert all(": " in words for word, words in offered.items() if word)


@pytest.fixture
def described(imported):
    ids = imported.workspace.library.columns("id")["id"]
    with imported.workspace.features.writer("deep", width=4, extractor={}) as rows:
        rows.append(ids, np.random.default_rng(0).normal(size=(len(ids), 4)))
    imported.changed()
    return imported


def test_a_sweep_is_one_job_a_width_scored_on_images_kept_aside(described):
    form = JobForm(described)
    form.open(clustering(described.app, ["Survey"]))
    assert form.start({**form.shown["values"], "sweep": "0.02, 0.1", "name": "try"})
    jobs = described.app.queue.unfinished()
    assert [(job.parameters["width"], job.parameters["name"], job.parameters["hold_out"]) for job in jobs] == [
        (0.02, "try 0.02", 0.1),
        (0.1, "try 0.1", 0.1),
    ]


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("width", "wide", "is not a number"),
        ("width", "", "is empty"),
        ("width", "-1", "out of range"),
        ("width", "nan", "out of range"),
        ("model", "gmm", "choose one of"),
        ("sweep", "0.1, x", "not a list of numbers"),
        ("sweep", "0", "must be greater than 0"),
        ("max_clusters", "0", "out of range"),
        ("max_clusters", "2.5", "not a whole number"),
    ],
)
def test_a_wrong_value_is_told_beside_the_form_and_nothing_is_queued(described, name, value, told):
    form = JobForm(described)
    form.open(clustering(described.app, []))
    assert not form.start({**form.shown["values"], name: value})
    assert told in form.shown["error"] and described.app.queue.unfinished() == []


def test_the_time_of_a_stream_is_a_number_only_after_one_was_measured(described, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    form = JobForm(described)
    form.open(clustering(described.app, []))
    stream = {**form.shown["values"], "variant": "mbvdp"}
    form.change(stream)
    assert form.shown["cost"].startswith("Time: not known yet") and "MB for what it remembers" in form.shown["cost"]
    work = round_work(MemoryBoundedVDP(observation="diagonal"), supported(6), 6)
    durations.record("cluster in rounds", "mbvdp", work, 600.0)
    form.change(stream)
    assert form.shown["cost"].startswith("Time: 6 to 17 min, for 6 images")


@pytest.fixture
def cut(described):
    ids = described.workspace.library.columns("id")["id"]
    with described.workspace.features.writer("segments", width=3, level="segment", extractor={}) as rows:
        rows.append(ids, np.zeros((2 * len(ids), 3)), np.full(len(ids), 2))
    described.changed()
    return described


def test_kinds_of_images_are_preselected_even_where_segments_are_described(cut):
    """They measure better than objects and scenes on the sample campaign."""
    form = JobForm(cut)
    form.open(clustering(cut.app, []))
    assert form.shown["values"]["model"] == "gmc"


def test_with_both_descriptions_nothing_is_described_again(cut):
    form = JobForm(cut)
    form.open(clustering(cut.app, [], "mcm"))
    assert form.shown["values"]["model"] == "mcm" and "12 segments with 3 feature dimensions" in form.shown["cost"]
    assert form.start(form.shown["values"])
    [job] = cut.app.queue.unfinished()
    assert {name: job.parameters[name] for name in ("model", "features", "segments", "width", "segment_width")} == {
        "model": "mcm",
        "features": "deep",
        "segments": "segments",
        "width": 0.05,
        "segment_width": None,
    }


def test_a_sweep_over_segments_alone_goes_through_widths_of_objects_and_is_not_scored(cut):
    form = JobForm(cut)
    form.open(clustering(cut.app, [], "scm"))
    assert form.start({**form.shown["values"], "sweep": "0.5, 1"})
    jobs = cut.app.queue.unfinished()
    assert [(job.parameters["segment_width"], job.parameters["hold_out"]) for job in jobs] == [(0.5, 0), (1, 0)]


def test_images_cannot_be_kept_aside_from_models_of_segments(cut):
    form = JobForm(cut)
    form.open(clustering(cut.app, [], "mcm"))
    assert not form.start({**form.shown["values"], "hold_out": 0.1}) and "cannot be scored" in form.shown["error"]


def test_a_model_of_borders_gets_the_parameters_it_has(described):
    form = JobForm(described)
    form.open(clustering(described.app, []))
    assert form.start({**form.shown["values"], "variant": "rim", "max_clusters": "7"})
    [job] = described.app.queue.unfinished()
    assert (job.parameters["model"], job.parameters["parameters"]) == ("rim", {"n_clusters": 7})


def test_every_parameter_says_what_it_means(described):
    recipes = describing(described.app, []), clustering(described.app, [])
    assert [field.name for recipe in recipes for field in recipe.fields if len(field.help.split()) < 3] == []


def test_a_collection_is_forgotten_only_after_the_question(imported):
    form = JobForm(imported)
    form.open(forgetting(imported, "Survey"))
    assert "6 images" in form.shown["intro"] and imported.workspace.library.count_images() == 6
    assert form.start({})
    assert imported.workspace.library.count_images() == 0 and "from the workspace" in imported.message.text


def test_widths_are_read_however_people_separate_them():
    assert widths_of("0.02; 0.05,0.1, ") == [0.02, 0.05, 0.1] and widths_of("") == []


def test_the_shape_that_measures_better_is_preselected_for_images_and_left_to_the_model_for_segments(cut):
    for model, expected in (("gmc", "diagonal"), ("mcm", None)):
        form = JobForm(cut)
        form.open(clustering(cut.app, [], model))
        assert form.start(form.shown["values"])
        assert cut.app.queue.unfinished()[-1].parameters["parameters"].get("observation") == expected


def test_a_form_names_the_field_that_its_error_is_about(described):
    form = JobForm(described)
    form.open(describing(described.app, ["Reef"]))
    form.change({**form.shown["values"], "seed": "-4"})
    assert form.shown["error"] and form.shown["wrong"] == "seed"
    form.change({**form.shown["values"], "seed": "4"})
    assert form.shown["error"] == form.shown["wrong"] == ""


def test_the_tables_of_the_library_sum_up_dives_and_leave_out_what_says_nothing(imported):
    collections = LibraryView(imported).content()["collections"]
    colours = group_colours(imported.app)
    dives, [collection] = dive_rows(collections, colours), collection_rows(collections)
    assert [dive["colour"] for dive in dives] == distinct(2), "the table is the legend of the map"
    assert collection["groups"] == len(dives) and collection["images"] == sum(dive["images"] for dive in dives)
    assert "collection" in silent_columns(dives)
    assert "collection" not in silent_columns([*dives, {**dives[0], "collection": "another"}])
