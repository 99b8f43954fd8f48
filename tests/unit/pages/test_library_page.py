"""The library's view models: dives, adding images, forms with their costs."""

import numpy as np
import pytest
from PIL import Image

from app.state.app_state import AppState
from app.state.clustering_form import QUESTIONS, VARIANTS, clustering, widths_of
from app.state.folders import listing
from app.state.home import HomeView
from app.state.import_dialog import ImportDialog
from app.state.job_form import JobForm
from app.state.library import LibraryView, tracks
from app.state.recipes import describing, forgetting
from app.state.session import Session
from engine.jobs import run_now
from engine.jobs.models import MODELS
from engine.problems import BadInput
from engine.workspace import Workspace
from engine.workspace.vocabularies import NewTerm

TRACK = "filename,latitude,longitude,depth,time\n"


@pytest.fixture
def folder(tmp_path):
    """Two dives of three images with a table beside them, and a file that is no image."""
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
    found = LibraryView(imported).content()
    groups = {group["name"]: group for group in found["collections"][0]["groups"]}
    assert {name: group["images"] for name, group in groups.items()} == {"north": 3, "south": 3}
    assert groups["south"]["depth"] == (23.0, 25.0)
    assert found["tracks"][str(groups["north"]["id"])][0] == [-14.0, -14.01, -14.02]
    assert found["problem_count"] == 1 and "broken.jpg" in found["problems"][0]["where"]


def test_the_share_labelled_is_that_of_each_dive(imported):
    workspace = imported.workspace
    vocabulary = workspace.vocabularies.add("own", [NewTerm(("Kelp",))])
    term, person = workspace.vocabularies.terms(vocabulary.id)[0], workspace.people.named("Ada")
    north = next(group for group in workspace.library.groups() if group.name == "north")
    workspace.labels.label(person.id, workspace.library.columns("id", group_id=north.id)["id"][:2], term.id)
    imported.changed(images=False)
    groups = LibraryView(imported).content()["collections"][0]["groups"]
    assert {group["name"]: group["labelled"] for group in groups} == {"north": 2, "south": 0}


def test_a_long_track_is_thinned_but_keeps_its_ends(imported):
    columns = imported.app.columns
    latitude = np.linspace(-14, -13, 5000)
    many = type(columns)(np.arange(5000), np.ones(5000, int), np.arange(5000.0), latitude, latitude + 135, latitude,
                         latitude, np.zeros((5000, 32), np.uint8))
    imported.app._kept["columns"] = (-imported.app._images_version, many)
    thinned = tracks(imported.app)["1"]
    assert len(thinned[0]) <= 160 and (thinned[0][0], thinned[0][-1]) == (-14, -13)


def test_adding_images_shows_what_was_found_before_anything_happens(session, folder):
    dialog = ImportDialog(session)
    dialog.open(str(folder))
    assert [name for name, _ in dialog.shown["folder"]["folders"]] == ["north", "south"]
    dialog.look(str(folder)).join()
    found = dialog.shown["preview"]
    assert (found["images"], found["group_count"], dialog.shown["busy"]) == (7, 2, "")
    assert {column["name"]: column["meaning"] for column in found["sources"][0]["columns"]}["depth"] == "depth"
    assert session.workspace.library.count_images() == 0


def test_a_column_taken_for_the_wrong_thing_is_put_right(session, folder):
    dialog = ImportDialog(session)
    dialog.open(str(folder))
    dialog.look(str(folder)).join()
    assert dialog.shown["preview"]["rows"][0]["depth"] == 20.0
    dialog.mean("depth", "altitude")
    assert (dialog.shown["preview"]["rows"][0]["depth"], dialog.shown["preview"]["rows"][0]["altitude"]) == (None, 20.0)
    dialog.level(0)
    assert dialog.shown["preview"]["group_count"] == 1


def test_the_import_is_queued_as_it_was_shown(session, folder):
    dialog = ImportDialog(session)
    dialog.open(str(folder))
    assert not dialog.start()
    dialog.look(str(folder)).join()
    dialog.call("Leg 1", "campaign")
    assert dialog.start("Leg 2", "campaign") and dialog.shown == {}
    job = session.app.queue.unfinished()[0]
    assert (job.kind, job.parameters["collection"]) == ("import", "Leg 2")


def test_a_folder_that_is_not_there_is_told_in_the_dialog(session, tmp_path):
    dialog = ImportDialog(session)
    dialog.open(str(tmp_path / "nowhere"))
    assert "cannot be looked into" in dialog.shown["error"]
    dialog.look(str(tmp_path / "nowhere")).join()
    assert "nowhere" in dialog.shown["error"] and dialog.shown["busy"] == ""


def test_a_listing_counts_images_and_hides_hidden_folders(folder):
    (folder / ".cache").mkdir()
    found = listing(folder / "north")
    assert (found.images, found.folders) == (4, ()) and found.parents[-1][0] == "north"
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


def queued(session):
    jobs = session.app.queue.unfinished()
    return [(job.kind, job.parameters.get("kinds") or job.parameters["model"]) for job in jobs]


@pytest.mark.parametrize(("model", "kinds"), [("gmc", ["{image}"]), ("mcm", ["{image}", "segments"]),
                                              ("scm", ["segments"]), ("gmc-segments", ["segments"])])
def test_what_a_question_needs_is_described_first(imported, model, kinds):
    form = JobForm(imported)
    form.open(clustering(imported.app, [], model))
    image = form.shown["values"]["features"]
    wanted = [kind.format(image=image) for kind in kinds]
    assert form.shown["values"]["model"] == model
    assert f"{' and '.join(wanted)} described first" in form.shown["cost"].lower()
    assert form.start(form.shown["values"])
    assert queued(imported) == [("features", wanted), ("cluster", model)]


def test_every_model_can_be_asked_for_and_says_what_it_is_for():
    offered = dict(QUESTIONS) | dict(VARIANTS)
    assert set(offered) == {*MODELS, ""}
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
        (0.02, "try 0.02", 0.1), (0.1, "try 0.1", 0.1)]


@pytest.mark.parametrize(("name", "value", "told"), [
    ("width", "wide", "is no number"), ("width", "", "is empty"), ("width", "-1", "out of range"),
    ("width", "nan", "out of range"), ("model", "gmm", "choose one of"), ("sweep", "0.1, x", "no list of numbers"),
    ("sweep", "0", "not above 0"), ("max_clusters", "0", "out of range")])
def test_a_wrong_value_is_told_beside_the_form_and_nothing_is_queued(described, name, value, told):
    form = JobForm(described)
    form.open(clustering(described.app, []))
    assert not form.start({**form.shown["values"], name: value})
    assert told in form.shown["error"] and described.app.queue.unfinished() == []


@pytest.fixture
def cut(described):
    ids = described.workspace.library.columns("id")["id"]
    with described.workspace.features.writer("segments", width=3, level="segment", extractor={}) as rows:
        rows.append(ids, np.zeros((2 * len(ids), 3)), np.full(len(ids), 2))
    described.changed()
    return described


def test_with_both_descriptions_objects_and_scenes_are_asked_for_and_nothing_is_described_again(cut):
    form = JobForm(cut)
    form.open(clustering(cut.app, []))
    assert form.shown["values"]["model"] == "mcm" and "12 segments of 3 numbers" in form.shown["cost"]
    assert form.start(form.shown["values"])
    [job] = cut.app.queue.unfinished()
    assert {name: job.parameters[name] for name in ("model", "features", "segments", "width", "segment_width")} == {
        "model": "mcm", "features": "deep", "segments": "segments", "width": 0.05, "segment_width": None}


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
    assert imported.workspace.library.count_images() == 0 and "out of the workspace" in imported.message.text


def test_widths_are_read_however_people_separate_them():
    assert widths_of("0.02; 0.05,0.1, ") == [0.02, 0.05, 0.1] and widths_of("") == []
