"""The job that describes images, on small pictures and a workspace of its own."""

from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from benthoscope.engine.features import load
from benthoscope.engine.features.compression import PrincipalAxes
from benthoscope.engine.features.registry import DESCRIPTORS
from benthoscope.engine.imaging import read_image
from benthoscope.engine.jobs import JobQueue, run_now
from benthoscope.engine.jobs.describe import describe_images as module
from benthoscope.engine.jobs.describe import describing
from benthoscope.engine.jobs.describe.feature_sets import folder_of, masks_of
from benthoscope.engine.problems import BadInput
from benthoscope.engine.workspace import Workspace
from benthoscope.engine.workspace.records import NewImage


@pytest.fixture
def workspace(tmp_path):
    with Workspace.create(tmp_path / "reef") as made:
        yield made


def picture(number):
    """Stripes, checks or spots, each in its own colour, which every descriptor distinguishes."""
    rng = np.random.default_rng(number)
    y, x = np.mgrid[:48, :64]
    shape = [np.sin(x * 0.8), np.sign(np.sin(x * 0.6) * np.sin(y * 0.6)), np.sin(y * 0.4)][number % 3]
    plane = shape[:, :, None] * [[[50, 40, 20], [20, 50, 40], [40, 20, 50]][number % 3]] + 120
    return np.clip(plane + rng.normal(0, 12, (48, 64, 3)), 0, 255).astype(np.uint8)


def add(workspace, tmp_path, numbers, dive="dive", content=None):
    """Writes pictures and puts them into the catalogue; gives their ids."""
    folder = tmp_path / "images"
    folder.mkdir(exist_ok=True)
    root = workspace.library.register_root(folder)
    group = workspace.library.group(workspace.library.collection("campaign").id, dive)
    new = []
    for number in numbers:
        path = folder / f"{dive}-{number:04d}.png"
        Image.fromarray(picture(number)).save(path) if content is None else path.write_bytes(content)
        new_image = (root.id, path.name, group.id, path.stat().st_size, 1, f"{dive}{number}", 64, 48)
        new.append(NewImage(*new_image, altitude=2.0))
    return workspace.library.store_images(new)


@pytest.fixture
def read(monkeypatch):
    """The paths of the files that are read."""
    paths, data = [], describing.read_bytes
    monkeypatch.setattr(describing, "read_bytes", lambda path: paths.append(path) or data(path))
    return paths


def run(workspace, **parameters):
    job = run_now(workspace, "features", {"workers": 2, **parameters})
    assert job.state == "done", job.traceback or job.error
    return job.result


def failure(workspace, **parameters):
    """Why it cannot be done, told before it was queued or found out by the job."""
    try:
        job = run_now(workspace, "features", {"workers": 2, **parameters})
    except BadInput as error:
        return str(error)
    assert job.state == "failed"
    return job.error


def test_whole_images_and_segments_are_described_in_one_pass(workspace, tmp_path, read):
    ids = add(workspace, tmp_path, range(20))
    result = run(workspace, kinds=["colour", "segments"])
    assert sorted(read) == sorted(workspace.library.locate(ids).values())
    rows = [(sets["name"], sets["images"], sets["added"]) for sets in result["sets"]]
    assert rows == [("colour", 20, 20), ("segments", 20, 20)]
    colour, segments = workspace.features.open("colour"), workspace.features.open("segments")
    assert colour.image_ids.tolist() == segments.image_ids.tolist() == ids
    assert colour.X.shape == (20, 19) and segments.X.shape[1] == 15
    assert np.isfinite(colour.X).all() and np.isfinite(segments.X).all()


def test_stored_rows_equal_the_result_of_the_stored_descriptor(workspace, tmp_path):
    ids = add(workspace, tmp_path, range(12))
    run(workspace, kinds=["colour", "segments"])
    for name in ("colour", "segments"):
        feature_set = workspace.features.open(name)
        descriptor = load(folder_of(workspace, feature_set.sidecar) / "descriptor", cache=tmp_path)
        for number in (0, 5, 11):
            path = workspace.library.locate([ids[number]])[ids[number]]
            out = descriptor.describe(read_image(path, longest=descriptor.longest))
            assert feature_set.rows_of(number) == pytest.approx(np.atleast_2d(getattr(out, "vectors", out)), abs=2e-3)


def test_masks_map_pixels_to_rows(workspace, tmp_path):
    ids = add(workspace, tmp_path, range(6))
    run(workspace, kinds=["segments"])
    feature_set, masks = workspace.features.open("segments"), masks_of(workspace, "segments")
    for position, image in enumerate(ids):
        assert masks[image].shape == (48, 64) and masks.png(image).startswith(b"\x89PNG")
        assert masks[image].max() + 1 == len(feature_set.rows_of(position))


def test_new_images_cost_only_themselves_and_old_rows_stay(workspace, tmp_path, monkeypatch, read):
    add(workspace, tmp_path, range(15))
    run(workspace, kinds=["colour", "segments"])
    before = {name: workspace.features.open(name).X.copy() for name in ("colour", "segments")}
    new = add(workspace, tmp_path, range(100, 104))
    read.clear()
    monkeypatch.setattr(module, "_base", lambda *_: pytest.fail("nothing may be learned again"))
    result = run(workspace, kinds=["colour", "segments"])
    assert len(read) == 4 and all(sets["added"] == 4 for sets in result["sets"])
    for name, old in before.items():
        feature_set = workspace.features.open(name)
        assert (feature_set.X[: len(old)] == old).all() and feature_set.image_ids[-4:].tolist() == new
    assert new[0] in masks_of(workspace, "segments")


def test_running_again_without_new_images_changes_nothing(workspace, tmp_path):
    add(workspace, tmp_path, range(8))
    run(workspace, kinds=["mean"])
    sidecar = workspace.features.open("mean").sidecar
    assert run(workspace, kinds=["mean"])["sets"][0]["added"] == 0
    assert workspace.features.open("mean").sidecar == sidecar


def test_only_the_sets_that_lack_an_image_get_it(workspace, tmp_path):
    add(workspace, tmp_path, range(8))
    run(workspace, kinds=["mean"])
    result = run(workspace, kinds=["mean", "colour"])
    assert {sets["name"]: sets["added"] for sets in result["sets"]} == {"mean": 0, "colour": 8}


def test_bad_images_are_skipped_and_listed_and_the_rest_is_described(workspace, tmp_path):
    good = add(workspace, tmp_path, range(8))
    add(workspace, tmp_path, [50], content=b"no image at all")
    add(workspace, tmp_path, [51], content=b"")
    gone = add(workspace, tmp_path, [52])
    next(iter(workspace.library.locate(gone).values())).unlink()
    result = run(workspace, kinds=["colour", "mean"])
    assert workspace.features.open("colour").image_ids.tolist() == good
    assert result["skipped"] == 3 and all(sets["problems"] == 3 for sets in result["sets"])
    listed = [str(problem) for problem in workspace.library.problems("features colour")]
    assert len(listed) == 3 and any("dive-0050.png: not a readable image" in line for line in listed)


def test_a_bad_image_that_was_repaired_is_described_the_next_time(workspace, tmp_path):
    add(workspace, tmp_path, range(5))
    (bad,) = add(workspace, tmp_path, [50], content=b"broken")
    run(workspace, kinds=["mean"])
    Image.fromarray(picture(50)).save(workspace.library.locate([bad])[bad])
    assert run(workspace, kinds=["mean"])["sets"][0]["added"] == 1
    assert workspace.library.problems("features mean") == []


def test_if_no_image_can_be_read_there_is_a_clear_error_and_no_set(workspace, tmp_path):
    add(workspace, tmp_path, range(3), content=b"broken")
    for kind in ("colour", "mean"):
        assert "no image could be described; see `benthoscope problems`" in failure(workspace, kinds=[kind])
        assert kind not in workspace.features
        assert len(workspace.library.problems(f"features {kind}")) == 3


def test_an_empty_workspace_names_the_first_step(workspace):
    assert "there are no images; import some first with `benthoscope import FOLDER`" in failure(
        workspace, kinds=["mean"]
    )


def test_an_unknown_kind_gives_the_most_similar_one(workspace, tmp_path):
    add(workspace, tmp_path, range(3))
    assert "did you mean 'segments'" in failure(workspace, kinds=["segmets"])


def test_a_set_with_other_parameters_is_not_extended(workspace, tmp_path):
    add(workspace, tmp_path, range(9))
    run(workspace, kinds=["colour"], dimension=4)
    assert "was computed with different settings: parameters; give the new set another --name" in failure(
        workspace, kinds=["colour"]
    )
    assert run(workspace, kinds=["colour"], name="colour-8", dimension=8)["sets"][0]["width"] == 8
    assert run(workspace, kinds=["colour"], again=True)["sets"][0]["added"] == 9
    assert workspace.features.open("colour").X.shape == (9, 8)  # nine images span eight dimensions


def test_a_cancelled_job_is_resumed_by_the_same_command(workspace, tmp_path, monkeypatch, read):
    add(workspace, tmp_path, range(40))
    monkeypatch.setattr(module, "BATCH", 8)
    reached = []

    def stop(run, extra, message, own_values=module.DescriptionRun.report):
        if message == "describing images" and run.done >= 30:
            reached.append(run.done)
            run.job.cancel()
        own_values(run, extra, message)

    with monkeypatch.context() as patch:
        patch.setattr(module.DescriptionRun, "report", stop)
        job = run_now(workspace, "features", {"kinds": ["colour"], "learn_from": 10, "workers": 1})
    assert job.state == "cancelled" and reached and "colour" not in workspace.features
    read.clear()
    run(workspace, kinds=["colour"], learn_from=10)
    assert 0 < len(read) <= 18  # all but three or four batches of eight and the ten learned from
    feature_set = workspace.features.open("colour")
    assert len(feature_set.image_ids) == 40 and len(set(feature_set.image_ids.tolist())) == 40
    with Workspace.create(tmp_path / "other") as other:
        add(other, tmp_path, range(40))
        run(other, kinds=["colour"], learn_from=10)
        assert np.abs(other.features.open("colour").X - feature_set.X).max() < 1e-5


def test_the_same_seed_gives_the_same_rows_whatever_the_number_of_workers(workspace, tmp_path):
    add(workspace, tmp_path, range(30))
    run(workspace, kinds=["segments"], name="one", workers=1, seed=3)
    run(workspace, kinds=["segments"], name="three", workers=3, seed=3)
    assert (workspace.features.open("one").X == workspace.features.open("three").X).all()


def test_a_trained_descriptor_can_be_used_in_another_workspace(workspace, tmp_path):
    add(workspace, tmp_path, range(10))
    run(workspace, kinds=["colour"])
    feature_set = workspace.features.open("colour")
    learned = folder_of(workspace, feature_set.sidecar) / "descriptor"
    with Workspace.create(tmp_path / "other") as other:
        add(other, tmp_path, range(4))
        run(other, kinds=["colour"], like=str(learned))
        assert np.abs(other.features.open("colour").X - feature_set.X[:4]).max() < 1e-5


def test_another_kind_of_descriptor_and_misspelt_parameters_are_rejected(workspace, tmp_path):
    add(workspace, tmp_path, range(4))
    run(workspace, kinds=["mean"])
    learned = folder_of(workspace, workspace.features.open("mean").sidecar) / "descriptor"
    assert "contains the descriptor mean-colour" in failure(workspace, kinds=["colour"], like=str(learned))
    assert "did you mean 'kinds'" in failure(workspace, kind=["mean"])


def test_a_collection_can_be_described_alone(workspace, tmp_path):
    add(workspace, tmp_path, range(4))
    assert run(workspace, kinds=["mean"], collection="campaign")["sets"][0]["added"] == 4
    assert "did you mean 'campaign'" in failure(workspace, kinds=["mean"], collection="campain")


def test_the_water_is_learned_dive_by_dive_kept_and_used_for_later_images(workspace, tmp_path):
    add(workspace, tmp_path, range(12), dive="blue")
    add(workspace, tmp_path, range(4), dive="short")
    result = run(workspace, kinds=["mean"], water=True)
    assert result["sets"][0]["name"] == "mean-water" and result["sets"][0]["images"] == 16
    assert len(result["notes"]) == 1 and "4 images to learn from" in result["notes"][0]
    run(workspace, kinds=["mean"])
    plain, corrected = workspace.features.open("mean").X, workspace.features.open("mean-water").X
    assert np.abs(corrected[:12].mean(0)[1:]).max() < np.abs(plain[:12].mean(0)[1:]).max()  # greyer on average
    assert corrected[12:] == pytest.approx(plain[12:], abs=1e-4)
    (model,) = (workspace.folder / "water").iterdir()
    learned = (model / "parts.json").stat().st_mtime_ns
    add(workspace, tmp_path, [30], dive="blue")
    assert run(workspace, kinds=["mean"], water=True)["sets"][0]["added"] == 1
    assert (model / "parts.json").stat().st_mtime_ns == learned


def test_without_the_deep_weights_colour_and_texture_are_used_with_a_note(workspace, tmp_path, monkeypatch):
    from benthoscope.engine.features.networks import efficientnet

    monkeypatch.setattr(efficientnet, "PACKAGE", "a_package_nobody_has")
    add(workspace, tmp_path, range(6))
    result = run(workspace)
    assert result["sets"][0]["name"] == "colour"
    assert "is not installed, so the colour and texture summary is used" in result["notes"][0]


def test_the_sidecar_records_how_to_compute_the_set(workspace, tmp_path):
    add(workspace, tmp_path, range(6))
    run(workspace, kinds=["colour"], dimension=3)
    extractor = workspace.features.open("colour").sidecar.extractor
    assert (
        extractor["word"] == "colour" and extractor["descriptor"] == "colour-texture" and extractor["learned_from"] == 6
    )
    assert extractor["parameters"]["projection"]["dimension"] == 3 and extractor["water"] is False


def test_a_finished_job_leaves_no_temporary_files(workspace, tmp_path):
    add(workspace, tmp_path, range(6))
    run(workspace, kinds=["colour", "mean"])
    assert list((workspace.folder / "describing").iterdir()) == []
    assert JobQueue(workspace).all()[0].done == 6


def test_a_set_of_an_earlier_version_without_further_columns_is_extended(workspace, tmp_path, monkeypatch):
    recipe = DESCRIPTORS["colour"]
    add(workspace, tmp_path, range(6))
    run(workspace, kinds=["colour"], dimension=2)
    monkeypatch.setitem(DESCRIPTORS, "colour", replace(recipe, reduce=lambda d: PrincipalAxes(d, further=3)))
    new = add(workspace, tmp_path, range(6, 9))
    assert run(workspace, kinds=["colour"], dimension=2)["sets"][0]["added"] == 3
    old = workspace.features.open("colour")
    assert old.sidecar.further == 0 and old.learning_rows().shape == (9, 2)
    run(workspace, kinds=["colour"], dimension=2, again=True)
    again = workspace.features.open("colour")
    assert (again.X.shape, again.learning_rows().shape) == ((9, 2), (9, 5))
    assert again.learning_rows()[again.image_ids.tolist().index(new[0])].any()
