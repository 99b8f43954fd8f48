"""Joint segmentation of images: the job, the command, known masks, and input that cannot be used."""

import json

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from benthoscope.app.cli import app
from benthoscope.app.pages.topics.content import content
from benthoscope.app.pages.topics.model import TopicsView
from benthoscope.app.session.app_state import AppState
from benthoscope.app.session.session import Session
from benthoscope.engine.jobs import run_now
from benthoscope.engine.jobs.cluster.fit_request import Trace
from benthoscope.engine.jobs.cluster.topic_maps import compare_with_masks, topic_maps
from benthoscope.engine.jobs.cluster.topic_summary import has_topics
from benthoscope.engine.metrics import v_measure
from benthoscope.engine.problems import BadInput
from benthoscope.engine.progress import Cancelled
from benthoscope.engine.streaming import MemoryBoundedTopicModel
from benthoscope.engine.workspace import NewRun, Workspace

COLOURS = np.array([[200, 180, 120], [40, 110, 60], [60, 70, 160]])  # sand, grass, water
JOB = {"model": "mbtm-segments", "segments": "colour-segments"}


def scene(rng):
    """An image of two of three kinds of ground with an oblique border, and the kind of each pixel from 1."""
    first, second = rng.choice(3, 2, replace=False)
    row, column = np.mgrid[:60, :80]
    kinds = np.where(column - 40 + rng.uniform(-1, 1) * (row - 30) > rng.uniform(-15, 15), first, second)
    image = COLOURS[kinds] + rng.normal(0, 8, (60, 80, 3))
    return np.clip(image, 0, 255).astype(np.uint8), kinds + 1


def write_dive(folder, name, count, rng):
    """Write the images of a dive and their known masks."""
    for kind in ("images", "masks"):
        (folder / kind / name).mkdir(parents=True)
    for number in range(count):
        image, kinds = scene(rng)
        Image.fromarray(image).save(folder / "images" / name / f"{number:02d}.png")
        Image.fromarray(kinds.astype(np.uint8)).save(folder / "masks" / name / f"{number:02d}.png")


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """A workspace of 24 images, and the folder of their known masks."""
    folder, rng = tmp_path_factory.mktemp("scenes"), np.random.default_rng(0)
    write_dive(folder, "dive", 24, rng)
    with Workspace.create(folder / "reef") as made:
        assert run_now(made, "import", {"folder": str(folder / "images")}).state == "done"
        assert run_now(made, "features", {"kinds": ["colour-segments"]}).state == "done"
        job = run_now(made, "cluster", JOB)
        assert job.state == "done", job.error
        yield made, folder / "masks"


def command(workspace, *words):
    result = CliRunner().invoke(app, [*words, "--workspace", str(workspace.folder), "--json"], catch_exceptions=False)
    return json.loads(result.stdout)


def test_the_same_topic_is_the_same_kind_of_ground_in_every_image(template):
    workspace, masks = template
    [run] = workspace.runs.all()
    arrays = run.arrays()
    assert has_topics(run) and run.name == "mbtm-segments colour-segments 0.5"
    np.testing.assert_allclose(arrays["image_weights"].sum(1), 1, atol=1e-5)
    assert len(list(topic_maps(workspace, run))) == 24
    scores = compare_with_masks(workspace, run, masks)
    assert scores.images == 24 and scores.pixels == 24 * 60 * 80
    assert scores.accuracy > 0.95 and set(scores.overlap) == {1, 2, 3}
    again = MemoryBoundedTopicModel.from_arrays(
        {name.removeprefix("model_"): array for name, array in arrays.items() if name.startswith("model_")},
        arrays["model"],
    )
    features = workspace.features.open("colour-segments")
    labels = again.segment_documents(np.asarray(features.X), features.image_of_row).labels
    np.testing.assert_array_equal(labels, arrays["segment_labels"])


def test_a_smaller_memory_and_one_image_a_round_find_the_same_kinds(template):
    workspace, masks = template
    epoch = workspace.features.open("colour-segments").sidecar.rows // 24
    job = run_now(workspace, "cluster", {**JOB, "parameters": {"max_clumps": 60, "max_groups": 6, "epoch": epoch}})
    assert job.state == "done", job.error
    run = workspace.runs.get(job.result["run"])
    assert run.provenance["parameters"]["epoch"] == epoch
    assert compare_with_masks(workspace, run, masks).accuracy > 0.9
    workspace.runs.delete(run.id)


def test_the_command_segments_compares_and_writes_maps(template, tmp_path):
    workspace, masks = template
    result = command(workspace, "segment", "--run", "1", "--masks", str(masks), "--output", str(tmp_path / "maps"))
    assert result["images"] == 24 and result["files"] == 24 and result["scores"]["accuracy"] > 0.95
    assert sum(topic["share"] for topic in result["topics"]) == pytest.approx(1, abs=1e-3)
    with Image.open(tmp_path / "maps" / "dive" / "03.png") as image:
        topics = np.asarray(image)
        assert image.mode == "P"
    [stored] = [each for each in topic_maps(workspace, workspace.runs.get(1)) if each.path.endswith("03.png")]
    np.testing.assert_array_equal(topics, stored.topics)
    made = command(workspace, "segment", "--segments", "colour-segments", "--max-topics", "2", "--name", "two")
    assert len(made["topics"]) == 2 and "limit of 2" in made["limits"][0] and "--max-topics" in made["limits"][0]
    workspace.runs.delete(made["run"])


@pytest.mark.parametrize("seed", range(6))
def test_a_bounded_memory_comes_close_to_all_segments_at_once(template, seed):
    """The tolerances of AT19 for images in random orders, with the protocol of the source: rounds of five images, 125
    clumps, 30 % of groups."""
    workspace, _ = template
    features = workspace.features.open("colour-segments")
    columns = workspace.library.columns("id", "path")
    path_of = dict(zip(columns["id"].tolist(), columns["path"].tolist(), strict=True))
    # the images are imported and described in any order
    number = np.argsort([path_of[image] for image in features.image_ids.tolist()]).argsort()[features.image_of_row]
    documents = np.random.default_rng(seed).permutation(24)[number]
    order = np.argsort(documents, kind="stable")
    rows, documents = np.asarray(features.X, float)[order], documents[order]
    N, epoch = len(rows), 5 * len(rows) // 24
    batch = MemoryBoundedTopicModel(memory=10**6, epoch=N).partial_fit(rows, groups=documents)
    for groups in (None, 7):
        bounded = MemoryBoundedTopicModel(max_clumps=125, max_groups=groups, epoch=epoch, horizon=N)
        bounded.partial_fit(rows, groups=documents)
        assert bounded.memory_["units"] <= 125 and bounded.memory_["groups"] <= (groups or 24)
        gap = batch.lower_bound_ - bounded.lower_bound_
        if groups is None:
            assert 1 - gap / abs(batch.lower_bound_) >= 0.96 and gap / N <= 0.15
        labels = bounded.segment_documents(rows, documents).labels
        assert v_measure(batch.segment_documents(rows, documents).labels, labels) > 0.7


def test_the_page_topics_shows_a_joint_segmentation(template):
    workspace, _ = template
    view = TopicsView(Session(AppState(workspace), "topics", person="Ann"), run=1)
    shown = content(view)
    assert shown["model"] == "mbtm-segments" and "segments in 24 images" in shown["told"]
    assert dict(shown["parts"])["fit"] == "Fit" and len(shown["shown"]["cards"]) == len(shown["names"])
    assert all(card["crops"] for card in shown["shown"]["cards"] if card["largest_in"])
    view.part = "fit"
    fit = content(view)["shown"]
    assert fit["joint"] and fit["vocabulary"] == len(shown["names"])


@pytest.fixture
def two_dives(tmp_path):
    """A segmentation of one dive whose largest topic has a name, and a second dive that was only imported."""
    rng = np.random.default_rng(1)
    write_dive(tmp_path, "first", 12, rng)
    with Workspace.create(tmp_path / "reef") as made:
        assert run_now(made, "import", {"folder": str(tmp_path / "images")}).state == "done"
        segmented = command(made, "segment", "--segments", "colour-segments", "--name", "grounds")
        largest = max(segmented["topics"], key=lambda topic: topic["share"])["topic"]
        made.runs.rename_cluster(segmented["run"], largest, "sand", "segment")
        write_dive(tmp_path, "second", 8, rng)
        assert run_now(made, "import", {"folder": str(tmp_path / "images")}).state == "done"
        yield made, tmp_path / "masks"


def test_a_segmentation_takes_the_images_of_a_new_dive(two_dives):
    workspace, masks = two_dives
    [old] = workspace.runs.all()
    view = TopicsView(Session(AppState(workspace), "topics", person="Ann"), run=old.id)
    assert content(view)["addable"] == {"images": 8, "problem": ""}
    result = command(workspace, "segment", "--add")
    run = workspace.runs.get(result["run"])
    assert run.id != old.id and run.name == "grounds, 20 images" and result["images"] == 20
    assert result["added"]["images"] == 8 and result["added"]["groups"] == {"second": 8}
    assert compare_with_masks(workspace, run, masks).accuracy > 0.95
    names = workspace.runs.cluster_names(run.id, "segment")
    [(before, _)], [(now, name)] = workspace.runs.cluster_names(old.id, "segment").items(), names.items()
    labels = np.asarray(run.array("segment_labels"))
    old_labels = np.asarray(old.array("segment_labels"))
    assert name == "sand" and (labels[: len(old_labels)][old_labels == before] == now).mean() > 0.95
    assert (labels >= 0).all() and len(labels) == run.summary["segments"]
    [text] = content(TopicsView(Session(AppState(workspace), "topics", person="Ann"), run=run.id))["added"]
    assert text.startswith("Added 8 images of second. Topics: ")
    with pytest.raises(BadInput, match="has all described images already"):
        command(workspace, "segment", "--add")


def test_an_extended_segmentation_is_that_of_the_whole_stream(two_dives):
    """Added images are further rounds of the same stream: the same rows in the same rounds give the same topics."""
    workspace, _ = two_dives
    [old] = workspace.runs.all()
    run = workspace.runs.get(command(workspace, "segment", "--add")["run"])
    features = workspace.features.open("colour-segments")
    rows, documents = np.asarray(features.X, float), features.image_of_row
    first = int(old.summary["segments"])
    epoch = old.provenance["parameters"]["epoch"]
    stream = MemoryBoundedTopicModel(epoch=epoch, **old.parameters)
    stream.fit(rows[:first], groups=documents[:first])
    stream.partial_fit(rows[first:], groups=documents[first:])
    np.testing.assert_array_equal(stream.segment_documents(rows, documents).labels, run.array("segment_labels"))


def test_a_segmentation_without_its_memory_cannot_take_images(two_dives):
    workspace, _ = two_dives
    [old] = workspace.runs.all()
    arrays = {name: np.asarray(value) for name, value in old.arrays().items() if not name.startswith("memory")}
    arrays["model"] = old.arrays()["model"]
    new = NewRun("early", old.model, old.features, old.parameters, old.provenance, old.summary)
    workspace.runs.add(new, arrays)
    with pytest.raises(BadInput, match="without the memory of its topics"):
        command(workspace, "segment", "--add")


@pytest.mark.parametrize("count", [1, 2])
def test_one_image_or_two_are_segmented(template, tmp_path, count):
    workspace, _ = template
    features = workspace.features.open("colour-segments")
    ids = np.asarray(features.image_ids)[:count]
    with workspace.features.writer("few", width=5, level="segment", extractor={}) as out:
        counts = np.diff(features.offsets)[:count]
        out.append(ids, features.X[: counts.sum()], counts)
    job = run_now(workspace, "cluster", {**JOB, "segments": "few"})
    assert job.state == "done", job.error
    assert job.result["images"] == count
    workspace.runs.delete(job.result["run"])


def test_frames_of_one_colour_have_one_topic(tmp_path):
    (tmp_path / "images").mkdir()
    for number in range(3):
        Image.new("RGB", (80, 60), (90, 120, 130)).save(tmp_path / "images" / f"{number}.png")
    (tmp_path / "images" / "broken.jpg").write_bytes(b"\xff\xd8\xff no image")
    with Workspace.create(tmp_path / "reef") as made:
        run_now(made, "import", {"folder": str(tmp_path / "images")})
        result = command(made, "segment", "--segments", "colour-segments")
        assert result["images"] == 3 and len(result["topics"]) == 1
        assert any("broken.jpg" in problem.where for problem in made.library.problems())


def test_values_that_are_not_numbers_are_refused_with_the_image():
    rows = np.random.default_rng(0).normal(size=(20, 5))
    rows[7, 2] = np.nan
    with pytest.raises(BadInput, match="row 7"):
        MemoryBoundedTopicModel(epoch=10).fit(rows, groups=np.repeat([0, 1], 10))


def test_a_cancelled_segmentation_stores_the_topics_so_far(template, monkeypatch):
    workspace, _ = template

    def cancel_after_a_round(self, progress):
        if progress.figures.get("iteration") == 1:
            raise Cancelled

    monkeypatch.setattr(Trace, "on_step", cancel_after_a_round)
    assert run_now(workspace, "cluster", {**JOB, "name": "half"}).state == "cancelled"
    [run] = [run for run in workspace.runs.all() if run.name == "half (stopped early)"]
    assert run.summary["partial"] and len(run.provenance["bounds"]) == 1
    labels = run.array("segment_labels")
    assert len(labels) == workspace.features.open("colour-segments").sidecar.rows and (labels >= 0).all()
    workspace.runs.delete(run.id)


@pytest.mark.parametrize(
    "write, text",
    [
        (lambda folder: None, "neither a folder nor"),
        (lambda folder: (folder / "known" / "dive").mkdir(parents=True), "no pixel with a known class"),
        (lambda folder: _written(folder / "known" / "dive" / "00.png", b"no image"), "not a readable mask"),
        (lambda folder: _colour(folder / "known" / "dive" / "00.png"), "is a colour image"),
    ],
)
def test_unusable_masks_are_named(template, tmp_path, write, text):
    workspace, _ = template
    write(tmp_path)
    with pytest.raises(BadInput, match=text):
        compare_with_masks(workspace, workspace.runs.get(1), tmp_path / "known")


def test_an_archive_of_masks_is_read_and_a_damaged_one_is_named(template, tmp_path):
    workspace, _ = template
    np.savez(tmp_path / "known.npz", **{"dive/00.jpg": np.ones((30, 40), np.uint8)})
    scores = compare_with_masks(workspace, workspace.runs.get(1), tmp_path / "known.npz")
    assert scores.images == 1 and scores.pixels == 1200
    (tmp_path / "known.npz").write_bytes(b"PK no archive")
    with pytest.raises(BadInput, match="not a readable"):
        compare_with_masks(workspace, workspace.runs.get(1), tmp_path / "known.npz")
    np.savez(tmp_path / "flat.npz", **{"dive/00": np.ones(9)})
    with pytest.raises(BadInput, match="array of whole numbers"):
        compare_with_masks(workspace, workspace.runs.get(1), tmp_path / "flat.npz")


def test_a_descriptor_of_whole_images_is_refused(template):
    workspace, _ = template
    result = CliRunner().invoke(app, ["segment", "--segments", "mean", "--workspace", str(workspace.folder)])
    assert "describes whole images" in str(result.exception)


def _written(path, data):
    path.parent.mkdir(parents=True)
    path.write_bytes(data)


def _colour(path):
    path.parent.mkdir(parents=True)
    Image.new("RGB", (8, 6)).save(path)
