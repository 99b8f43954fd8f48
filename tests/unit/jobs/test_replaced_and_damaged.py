"""An image replaced in place and a damaged row are noticed, marked, and described again, exactly these."""

import json
import os
import shutil

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from benthoscope.app.cli import app
from benthoscope.app.commands import doctor
from benthoscope.app.commands.doctor import Finding, examine
from benthoscope.app.data.clusters.clustered_images import NONE, atlas_of
from benthoscope.app.pages.library.model import feature_sets
from benthoscope.app.session.app_state import AppState
from benthoscope.engine.jobs import run_now
from benthoscope.engine.jobs.cluster.inputs import chosen_rows
from benthoscope.engine.jobs.describe import describing
from benthoscope.engine.jobs.describe.feature_sets import masks_of
from benthoscope.engine.labelling.suggestions import SuggestionStore
from benthoscope.engine.problems import BadInput
from benthoscope.engine.workspace import Workspace
from benthoscope.engine.workspace.storage import npy_append as growing
from tests.unit.jobs.test_features_job import picture

RUN = CliRunner()
PRODUCTS = Finding("Matrix products", "ok", "not measured")
KINDS = ["colour", "segments"]


@pytest.fixture(autouse=True)
def without_products(monkeypatch):
    """Doctor measures matrix products in a new process, which these tests do not need."""
    monkeypatch.setattr(doctor, "products", lambda: PRODUCTS)


def write(folder, number, content):
    Image.fromarray(picture(content)).save(folder / f"{number:02d}.png")


def done(workspace, kind, **parameters):
    job = run_now(workspace, kind, parameters)
    assert job.state == "done", job.traceback or job.error
    return job.result


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """Twelve images and a workspace that describes them, made once."""
    data_folder = tmp_path_factory.mktemp("original")
    folder = data_folder / "images" / "dive"
    folder.mkdir(parents=True)
    for number in range(12):
        write(folder, number, number)
    with Workspace.create(data_folder / "reef") as made:
        done(made, "import", folder=str(folder), workers=1)
        done(made, "features", kinds=KINDS, workers=1)
    return data_folder


@pytest.fixture
def images(original, tmp_path):
    shutil.copytree(original / "images", tmp_path / "images")
    return tmp_path / "images" / "dive"


@pytest.fixture
def reef(original, images, tmp_path):
    shutil.copytree(original / "reef.benthos", tmp_path / "reef.benthos")
    with Workspace.open(tmp_path / "reef") as made:
        made.library.move_root(made.library.roots()[0].id, images, {})
        yield made


@pytest.fixture
def read(monkeypatch):
    paths, data = [], describing.read_bytes
    monkeypatch.setattr(describing, "read_bytes", lambda path: paths.append(path.name) or data(path))
    return paths


def rows(workspace, name="colour"):
    feature_set = workspace.features.open(name)
    return {int(image): np.array(feature_set.rows_of(at)) for at, image in enumerate(feature_set.image_ids)}


def replace_images(workspace, images, numbers):
    for number in numbers:
        write(images, number, number + 50)
    done(workspace, "import", folder=str(images))
    return [
        int(image.id)
        for image in workspace.library.images(workspace.library.columns("id")["id"])
        if int(image.path.rsplit("/")[-1][:2]) in numbers
    ]


def flip(path, offset=8):
    with path.open("r+b") as file:
        file.seek(offset)
        byte = file.read(1)
        file.seek(offset)
        file.write(bytes([byte[0] ^ 255]))


def states(workspace):
    return {finding.name: finding for finding in examine(workspace)}


# --- replaced images


def test_exactly_the_replaced_images_are_described_again(reef, images, read):
    before, order = rows(reef), reef.features.open("colour").image_ids.tolist()
    changed = replace_images(reef, images, [3, 7])
    assert sorted(reef.stale_images(reef.features.open("colour")).tolist()) == sorted(changed)
    result = done(reef, "features", kinds=KINDS, workers=1)
    assert sorted(read) == ["03.png", "07.png"]
    assert [(sets["renewed"], sets["repaired"], sets["added"]) for sets in result["sets"]] == [(2, 0, 0), (2, 0, 0)]
    after = rows(reef)
    assert {image for image in before if not np.array_equal(before[image], after[image])} == set(changed)
    assert reef.features.open("colour").image_ids.tolist() == order
    assert all(not len(reef.stale_images(reef.features.open(name))) for name in KINDS)
    for name in KINDS:
        assert reef.features.open(name).damaged_blocks() == [] and not len(reef.features.open(name).damaged())
    segments, masks = reef.features.open("segments"), masks_of(reef, "segments")
    for position, image in enumerate(segments.image_ids):
        assert masks[image].max() + 1 == len(segments.rows_of(position))
    assert done(reef, "features", kinds=KINDS, workers=1)["sets"][0]["renewed"] == 0


def test_a_file_of_the_same_size_and_time_is_found_when_contents_are_compared(reef, images):
    path = images / "03.png"
    status, data = path.stat(), bytearray(path.read_bytes())
    Image.fromarray(picture(3)[:, ::-1]).save(path)
    path.write_bytes(path.read_bytes()[: len(data)].ljust(len(data), b"\0"))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert done(reef, "import", folder=str(images))["changed"] == 0
    assert done(reef, "import", folder=str(images), check_content=True)["changed"] == 1
    assert len(reef.library.replaced_images()) == 1


def test_an_image_that_is_only_read_again_does_not_count_as_replaced(reef, images):
    os.utime(images / "03.png")
    result = done(reef, "import", folder=str(images))
    assert (result["changed"], reef.library.replaced_images()) == (0, {})


def test_nothing_is_computed_from_old_content_and_old_rows_are_marked(reef, images):
    done(reef, "cluster", features="colour", model="vdp")
    state = AppState(reef)
    assert (atlas_of(state, None).labels >= 0).all()
    changed = replace_images(reef, images, [5])
    state.changed()
    assert not np.isin(changed, chosen_rows(reef, "colour").image_ids).any()
    positions = state.columns.positions(np.array(changed))
    assert atlas_of(state, None).labels[positions].tolist() == [NONE]
    assert (atlas_of(state, None).labels >= 0).sum() == 11
    assert [feature_set["stale"] for feature_set in feature_sets(state)] == [1, 1]
    assert "replaced" in RUN.invoke(app, ["status", "-w", str(reef.folder)]).stdout
    assert "--repair" in str([str(problem) for problem in reef.library.problems()])
    done(reef, "features", repair=True, workers=1)
    reef.runs.choose(done(reef, "cluster", features="colour", model="vdp")["run"])
    state.changed()
    assert (atlas_of(state, None).labels >= 0).all()


def test_rows_of_the_released_version_count_as_old_once_their_image_is_replaced(reef, images, read):
    """That version kept neither checksums nor contents, and no copy of the sidecar."""
    for name in KINDS:
        folder = reef.features.open(name).folder
        for stem in ("checks.npy", "contents.npy", "sidecar.json"):
            (folder / stem).unlink()
        path = reef.folder / "features" / f"{name}.json"
        content = json.loads(path.read_text())
        del content["generation"]
        path.write_text(json.dumps(content))
    assert rows(reef) and (reef.features.open("colour").folder / "checks.npy").exists()
    assert (reef.features.open("colour").folder / "sidecar.json").exists()
    replace_images(reef, images, [2])
    done(reef, "features", kinds=KINDS, workers=1)
    assert read == ["02.png"]


def test_a_replaced_image_that_cannot_be_read_leaves_the_set(reef, images):
    changed = replace_images(reef, images, [4])
    (images / "04.png").unlink()
    result = done(reef, "features", kinds=["colour"], workers=1)
    assert result["skipped"] == 1
    assert changed[0] not in reef.features.open("colour").image_ids


def test_work_left_by_a_stopped_job_is_not_used_for_an_image_replaced_since(reef, images, monkeypatch, read):
    add = [write(images, number, number) for number in (20, 21)]
    assert len(add) == 2
    done(reef, "import", folder=str(images))
    monkeypatch.setattr(
        "benthoscope.engine.jobs.describe.describe_images.publish",
        lambda *_: (_ for _ in ()).throw(
            BadInput(__import__("benthoscope.engine.problems").problems.Problem("x", "stopped"))
        ),
    )
    assert run_now(reef, "features", {"kinds": ["colour"], "workers": 1}).state == "failed"
    monkeypatch.undo()
    write(images, 20, 99)
    done(reef, "import", folder=str(images))
    done(reef, "features", kinds=["colour"], workers=1)
    assert not len(reef.stale_images(reef.features.open("colour")))
    fresh = {tuple(row[0]) for row in rows(reef).values()}
    done(reef, "features", kinds=["colour"], workers=1, again=True)
    assert len(fresh) == 14


# --- damaged rows


@pytest.mark.parametrize("name", KINDS)
def test_a_damaged_row_is_rejected_and_exactly_its_image_is_described_again(reef, read, name):
    before, feature_set = rows(reef, name), reef.features.open(name)
    row, sums = int(feature_set.offsets[4]), feature_set.sidecar.data_hash
    flip(feature_set.path, growing.HEADER + 4 * feature_set.sidecar.width * row + 5)
    with pytest.raises(BadInput, match=r"rows of 1 images are damaged.*features --repair"):
        _ = reef.features.open(name).X
    if name == "colour":
        assert run_now(reef, "cluster", {"features": name, "model": "vdp"}).state == "failed"
    result = done(reef, "features", repair=True, workers=1)
    assert read == ["04.png"]
    assert [(sets["name"], sets["repaired"]) for sets in result["sets"]] == [(name, 1)]
    after = rows(reef, name)
    assert all(after[image] == pytest.approx(before[image], abs=1e-5) for image in before)
    assert list(after) == list(before) and sums


def test_the_usual_command_repairs_as_well(reef, read):
    flip(reef.features.open("colour").path, growing.HEADER + 3)
    assert done(reef, "features", kinds=["colour"], workers=1)["sets"][0]["repaired"] == 1
    assert read == ["00.png"]


@pytest.mark.parametrize("file", ["rows.npy", "image_ids.npy", "offsets.npy", "checks.npy"])
@pytest.mark.parametrize("fault", ["cut", "removed", "flipped"])
def test_whatever_file_of_a_set_is_damaged_it_can_be_repaired(reef, file, fault):
    before = rows(reef, "segments")
    path = reef.features.open("segments").folder / file
    if fault == "cut":
        os.truncate(path, path.stat().st_size * 2 // 3)
    elif fault == "removed":
        path.unlink()
    else:
        flip(path, growing.HEADER + 40)
    finding = states(reef)["Features"]
    assert file == "checks.npy" or (finding.state == "bad" and "--repair" in finding.remedy)
    done(reef, "features", repair=True, workers=1)
    done(reef, "features", kinds=["segments"], workers=1)  # where the ids were lost, the images are simply lacking
    assert states(reef)["Features"].state == "ok"
    after = rows(reef, "segments")
    assert after.keys() == before.keys()
    assert all(after[image] == pytest.approx(before[image], abs=1e-5) for image in before)


@pytest.mark.parametrize("more", [(), ("--descriptor", "colour")])  # the set of the kind itself may be the damaged one
def test_a_half_written_sidecar_is_restored_by_the_command_that_doctor_prints(reef, more):
    path, before = reef.folder / "features" / "colour.json", rows(reef)
    path.write_text(path.read_text()[:40])
    assert "colour" not in reef.features.names()
    finding = states(reef)["Features"]
    assert finding.state == "bad"
    assert RUN.invoke(app, ["status", "-w", str(reef.folder)]).exit_code == 0
    assert RUN.invoke(app, [*finding.remedy.split()[1:], *more]).exit_code == 0
    assert states(reef)["Features"].state == "ok"
    assert all(np.array_equal(before[image], row) for image, row in rows(reef).items())


def test_a_deleted_feature_folder_is_made_again_by_the_command_that_doctor_prints(reef):
    shutil.rmtree(reef.features.open("colour").folder)
    finding = states(reef)["Features"]
    assert finding.state == "bad" and "--descriptor colour --overwrite" in finding.remedy
    assert RUN.invoke(app, finding.remedy.split()[1:]).exit_code == 0
    assert states(reef)["Features"].state == "ok"


def test_doctor_finds_damaged_runs_and_its_remedy_works(reef):
    for _ in range(4):
        done(reef, "cluster", features="colour", model="vdp")
    gone, cut, flipped, sound = reef.runs.all()
    shutil.rmtree(gone.folder)
    os.truncate(cut.folder / "labels.npy", 100)
    flip(flipped.folder / "labels.npy", 130)
    finding = states(reef)["Runs"]
    assert finding.state == "bad" and all(f"run {run.id}:" in finding.found for run in (gone, cut, flipped))
    assert f"run {sound.id}:" not in finding.found
    for number in (gone.id, cut.id, flipped.id):
        assert f"runs delete {number} --workspace" in finding.remedy
        assert RUN.invoke(app, ["runs", "delete", str(number), "--workspace", str(reef.folder)]).exit_code == 0
    assert states(reef)["Runs"].state == "ok"


def test_doctor_finds_damaged_levels_of_runs_and_its_remedy_works(reef):
    usual = reef.runs.get(done(reef, "cluster", features="colour", model="vdp")["run"])
    levels = reef.runs.levels(usual)
    shutil.rmtree(levels["coarser"].folder)
    os.truncate(levels["finer"].folder / "labels.npy", 100)
    finding = states(reef)["Runs"]
    assert finding.state == "bad" and all(f"run {levels[level].id}:" in finding.found for level in ("coarser", "finer"))
    assert finding.remedy.startswith("restore a backup, or benthoscope runs levels")
    assert RUN.invoke(app, finding.remedy.partition(" or ")[2].split()[1:]).exit_code == 0
    assert states(reef)["Runs"].state == "ok" and set(reef.runs.levels(usual)) == {"coarser", "usual", "finer"}


def test_a_lost_current_run_does_not_break_the_pages(reef):
    for _ in range(2):
        done(reef, "cluster", features="colour", model="vdp")
    first, second = reef.runs.all()
    shutil.rmtree(second.folder)
    assert reef.runs.current().id == first.id
    with pytest.raises(BadInput, match="benthoscope doctor"):
        second.array("labels")


@pytest.mark.parametrize("fault", ["pointer", "array", "index"])
def test_a_damaged_learned_model_is_found_and_not_used(reef, fault):
    folder = reef.folder / "learning"
    folder.mkdir(exist_ok=True)
    from benthoscope.engine.workspace.storage.files import save_parts

    save_parts(folder / "abc", {"terms": np.arange(3), "facts": {}})
    (folder / "current.json").write_text('"abc"')
    if fault == "pointer":
        (folder / "current.json").write_text('"ab')
    elif fault == "array":
        os.truncate(folder / "abc" / "terms.npy", 130)
    else:
        (folder / "abc" / "parts.json").write_text("{")
    assert SuggestionStore(reef.folder).get() is None
    finding = states(reef)["Learned model"]
    assert finding.state == "bad" and finding.remedy.startswith("benthoscope learn --workspace")


# --- doctor


@pytest.mark.parametrize("fault", ["no catalogue", "empty catalogue", "no catalogue at all", "damaged json", "garbage"])
def test_doctor_never_ends_in_a_traceback(reef, tmp_path, fault):
    reef.close()
    catalogue = reef.folder / "catalogue.sqlite"
    if fault == "no catalogue":
        catalogue.unlink()
    elif fault == "empty catalogue":
        os.truncate(catalogue, 0)
    elif fault == "no catalogue at all":
        catalogue.unlink()
        catalogue.mkdir()
    elif fault == "damaged json":
        (reef.folder / "workspace.json").write_text("{")
    else:
        data = bytearray(catalogue.read_bytes())
        data[4096:] = os.urandom(len(data) - 4096)
        catalogue.write_bytes(data)
    shown = RUN.invoke(app, ["doctor", "--json", "-w", str(reef.folder)])
    assert shown.exit_code == 2 and isinstance(shown.exception, SystemExit | None), shown.exception
    bad = [finding for finding in json.loads(shown.stdout) if finding["state"] == "bad"]
    assert bad and all(finding["remedy"] for finding in bad)


def test_doctor_reports_files_that_changed_since_their_import(reef, images):
    write(images, 3, 60)
    finding = states(reef)["Images"]
    assert finding.state == "note" and "1 image file changed" in finding.found
    assert RUN.invoke(app, finding.remedy.partition(": ")[2].split()[1:]).exit_code == 0
    assert states(reef)["Images"].state == "ok"
    assert "--repair" in states(reef)["Features"].remedy


def test_the_alarm_of_an_empty_catalogue_is_shown(reef):
    reef.library.remove_collection(reef.library.collections()[0].name)
    assert states(reef)["Images"].state == "bad"
    assert "no images" in RUN.invoke(app, ["status", "-w", str(reef.folder)]).stdout
