"""The watch of a dive: what is stored of each image, rounds, faults, and the run at the end."""

import contextlib
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pytest

from benthoscope.app.data.figures import FIGURES, FigureChoice
from benthoscope.app.data.live.state import live_state
from benthoscope.app.pages.live.content import live_content
from benthoscope.app.session.app_state import AppState
from benthoscope.engine.jobs import JobQueue
from benthoscope.engine.jobs.live import finishing, starting, storing, watch_dive
from benthoscope.engine.jobs.live.clusters import (
    edited_clusters,
    learned_clusters,
    merge_clusters,
    name_cluster,
    split_cluster,
    undo_edit,
)
from benthoscope.engine.jobs.live.learner import AXES, LEARNER
from benthoscope.engine.jobs.live.starting import add_file, begin_dive, change_settings, watch_job
from benthoscope.engine.jobs.runner import run_now
from benthoscope.engine.labelling.cluster_edits import current_arrangement
from benthoscope.engine.problems import BadInput, Problem
from benthoscope.engine.workspace import Workspace
from benthoscope.engine.workspace.labels.vocabularies import NewTerm
from benthoscope.engine.workspace.live_dives import LiveDiveStore, problem_source
from tests.live_dives import start, watch_to_the_end, write_image, write_images

TRAINING, FIRST = 24, 132  # images of two kinds; enough after the first ones to know how unusual a later one is


@pytest.fixture
def workspace(tmp_path):
    with Workspace.create(tmp_path / "sea") as made:
        yield made


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A finished dive of 148 images, in which a third kind of images appears after the first 132."""
    folder = tmp_path_factory.mktemp("finished")
    with Workspace.create(folder / "sea") as workspace:
        dive = start(workspace, folder / "camera")
        write_images(folder / "camera", TRAINING, kinds=(0, 1))
        first = watch_to_the_end_of_images(workspace, dive, TRAINING)
        write_images(folder / "camera", FIRST - TRAINING, first=TRAINING, kinds=(0, 1))
        watch_to_the_end_of_images(workspace, dive, FIRST)
        write_images(folder / "camera", 16, first=FIRST, kinds=(2, 2, 0, 1))
        job = watch_to_the_end(workspace, dive)
        assert first == "cancelled" and job.state == "done", job.error
        yield workspace, workspace.live.get(dive.id), job


def watch_to_the_end_of_images(workspace, dive, count) -> str:
    """Watch until this many images are learned, then cancel. Returns the state of the job."""
    queue = JobQueue(workspace)
    job = watch_job(queue, dive)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(run_now, workspace, job.kind, resume=job.id)
        try:
            until = time.monotonic() + 120
            while time.monotonic() < until and not running.done():
                last = workspace.live.last_round(dive.id)
                if last is not None and last.images >= count:
                    break
                time.sleep(0.05)
        finally:
            queue.cancel(job.id)
        return running.result().state


def test_every_image_is_in_the_library_and_has_a_cluster_and_a_score(finished):
    workspace, dive, _ = finished
    columns = workspace.live.columns(dive.id)
    assert len(columns["id"]) == workspace.library.count_images() == FIRST + 16
    assert (columns["cluster"] >= 0).all() and (columns["learned_in"] > 0).all()
    hashes = [image.sha256 for image in workspace.library.images(columns["image_id"])]
    assert not workspace.thumbnails.missing(hashes, 128)
    assert set(columns["image_id"].tolist()) == set(workspace.features.open("colour").image_ids.tolist())


def test_clusters_are_the_kinds_of_images(finished):
    workspace, dive, _ = finished
    learned = learned_clusters(workspace, dive)
    paths = {image.id: image.path for image in workspace.library.images(learned.image_ids)}
    numbers = [int(paths[number][-8:-4]) for number in learned.image_ids.tolist()]
    kinds = np.array([number % 2 if number < FIRST else (2, 2, 0, 1)[number % 4] for number in numbers])
    for kind in range(3):
        assert len(np.unique(learned.clusters[kinds == kind])) == 1
    assert len(np.unique(learned.clusters)) == 3


def test_a_new_kind_is_reported_as_novel_before_it_becomes_a_cluster(finished):
    workspace, dive, _ = finished
    columns = workspace.live.columns(dive.id)
    paths = {image.id: image.path for image in workspace.library.images(columns["image_id"])}
    novel = {int(paths[number][-8:-4]) for number in columns["image_id"][columns["novel"]].tolist()}
    first_of_its_kind = {FIRST + at for at in (0, 1, 4, 5, 8, 9)}
    assert len(novel & first_of_its_kind) >= 4
    events = [event for each in workspace.live.rounds(dive.id) for event in each.events]
    assert [cluster for kind, cluster, _ in events if kind in ("birth", "split")] == [0, 1, 2]


def test_cluster_numbers_are_kept_over_the_rounds(finished):
    workspace, dive, _ = finished
    numbers = [set(each.clusters) for each in workspace.live.rounds(dive.id)]
    assert all(earlier <= later for earlier, later in pairwise(numbers))


def test_the_run_has_all_images_and_the_live_numbers(finished):
    workspace, dive, job = finished
    run = workspace.runs.get(dive.run_id)
    assert job.result["run"] == run.id and run.model == "mbvdp" and run.summary["images"] == FIRST + 16
    learned = learned_clusters(workspace, dive)
    lasting = {cluster.number: cluster.summary["live_cluster"] for cluster in workspace.runs.clusters(run.id)}
    of_image = dict(zip(run.array("image_ids").tolist(), run.array("labels").tolist(), strict=True))
    assert [lasting[of_image[number]] for number in learned.image_ids.tolist()] == learned.clusters.tolist()


def test_only_a_round_after_images_without_a_cluster_looks_for_them(workspace, tmp_path, monkeypatch):
    dive, search, searches = start(workspace, tmp_path / "camera"), LiveDiveStore.without_cluster, []
    monkeypatch.setattr(
        LiveDiveStore, "without_cluster", lambda store, number: searches.append(1) or search(store, number)
    )
    write_images(tmp_path / "camera", 48)
    assert watch_to_the_end(workspace, dive).state == "done"
    assert (workspace.live.columns(dive.id)["cluster"] >= 0).all()
    assert len(workspace.live.rounds(dive.id)) == 4 and 1 <= len(searches) < 4


def test_the_course_of_the_run_has_the_scores_of_the_rounds(finished):
    workspace, dive, _ = finished
    scores = [[each.number, each.score, len(each.clusters)] for each in workspace.live.rounds(dive.id)]
    assert scores[0][1] is None and workspace.runs.get(dive.run_id).provenance["trace"] == scores[1:]


def test_a_finished_dive_cannot_be_watched_again(finished):
    workspace, dive, _ = finished
    with pytest.raises(BadInput, match="is finished"):
        JobQueue(workspace).add("live dive", {"dive": dive.id})
    with pytest.raises(BadInput, match="is finished"):
        add_file(dive, "a.jpg", b"x")


@pytest.mark.parametrize("lost", ["the end of the dive", "the last edit"])
def test_a_crash_after_the_run_was_stored_makes_no_second_run(workspace, tmp_path, monkeypatch, lost):
    dive = start(workspace, tmp_path / "camera")
    write_images(tmp_path / "camera", 24)
    watch_to_the_end_of_images(workspace, dive, 24)
    dive = workspace.live.get(dive.id)
    split_cluster(workspace, dive, workspace.people.named("Ann").id, "0")
    real, note, calls = finishing.split, LiveDiveStore.note, []

    def crash_at_the_second_part(*arguments):
        calls.append(arguments)
        if len(calls) == 2:
            raise OSError("the process ended")
        return real(*arguments)

    def crash_at_the_end(store, dive_id, **values):
        if "run_id" in values:
            raise OSError("the process ended")
        note(store, dive_id, **values)

    with monkeypatch.context() as patch:
        if lost == "the last edit":
            patch.setattr(finishing, "split", crash_at_the_second_part)
        else:
            patch.setattr(LiveDiveStore, "note", crash_at_the_end)
        assert watch_to_the_end(workspace, dive).state == "failed"
    assert workspace.live.get(dive.id).is_watching and len(workspace.runs.all()) == 1
    job = watch_to_the_end(workspace, dive)
    assert job.state == "done", job.error
    (run,) = workspace.runs.all()
    assert job.result["run"] == workspace.live.get(dive.id).run_id == run.id
    assert sorted(current_arrangement(workspace, run).sizes().values()) == sorted(
        edited_clusters(workspace, dive, learned_clusters(workspace, dive)).sizes().values()
    )
    assert len([event for event in workspace.labels.events() if event.kind == "arrange"]) == 2


def test_images_after_an_interrupted_finish_belong_to_the_only_run(workspace, tmp_path, monkeypatch):
    dive = start(workspace, tmp_path / "camera")
    write_images(tmp_path / "camera", 12)

    def crash(*arguments):
        raise OSError("the process ended")

    with monkeypatch.context() as patch:
        patch.setattr(finishing, "_apply_edits", crash)
        assert watch_to_the_end(workspace, dive).state == "failed"
    write_images(tmp_path / "camera", 6, first=12)
    assert watch_to_the_end(workspace, dive).state == "done"
    (run,) = workspace.runs.all()
    assert run.summary["images"] == 18


def test_images_of_a_network_with_further_columns_are_scored(workspace, tmp_path):
    dive = start(workspace, tmp_path / "camera", features="deep", first_images=40, epoch=40)
    write_images(tmp_path / "camera", 40)
    watch_to_the_end_of_images(workspace, dive, 40)
    write_images(tmp_path / "camera", 6, first=40)
    job = watch_to_the_end(workspace, dive)
    assert job.state == "done", job.error
    assert workspace.features.open("deep").sidecar.further
    columns = workspace.live.columns(dive.id)
    assert (columns["cluster"][40:] >= 0).all() and np.isnan(
        columns["percentile"][40:]
    ).all()  # too few to compare with
    learned = workspace.live.last_learned(dive.id, 100, after=1)
    assert len(learned) == 6 and all(image.outside > 0 for image in learned)


def test_a_dive_of_one_image_ends_with_one_cluster(workspace, tmp_path):
    dive = start(workspace, tmp_path / "camera")
    write_images(tmp_path / "camera", 1)
    job = watch_to_the_end(workspace, dive)
    assert job.state == "done", job.error
    assert job.result["images"] == 1 and job.result["clusters"] == 1


def test_a_dive_without_images_ends_without_a_run(workspace, tmp_path):
    job = watch_to_the_end(workspace, start(workspace, tmp_path / "camera"))
    assert job.state == "done" and job.result["run"] is None


def test_copies_are_left_out_and_listed(workspace, tmp_path):
    dive = start(workspace, tmp_path / "camera")
    paths = write_images(tmp_path / "camera", 3)
    (tmp_path / "camera" / "copy.png").write_bytes(paths[0].read_bytes())
    job = watch_to_the_end(workspace, dive)
    assert job.result["images"] == 3
    (problem,) = workspace.library.problems(problem_source(dive))
    assert "is a copy of" in problem.what and "left out" in problem.what


def test_a_watch_that_continues_lists_a_copy_once(workspace, tmp_path):
    dive = start(workspace, tmp_path / "camera")
    paths = write_images(tmp_path / "camera", 12)
    (tmp_path / "camera" / "copy.png").write_bytes(paths[0].read_bytes())
    watch_to_the_end_of_images(workspace, dive, 12)
    assert watch_to_the_end(workspace, dive).state == "done"
    assert len(workspace.library.problems(problem_source(dive))) == 1


def test_a_file_that_cannot_be_read_yet_is_not_read_again_without_a_pause(workspace, tmp_path, monkeypatch):
    dive, read, sleep, events = start(workspace, tmp_path / "camera"), storing.take_in, time.sleep, []

    def read_at_the_fourth_attempt(path):
        events.append("read")
        return read(path) if events.count("read") > 3 else Problem(path, "is half-written")

    def recorded_sleep(seconds):
        events.append("pause")
        sleep(seconds)

    monkeypatch.setattr(storing, "take_in", read_at_the_fourth_attempt)
    monkeypatch.setattr(watch_dive.time, "sleep", recorded_sleep)
    write_images(tmp_path / "camera", 1)
    assert watch_to_the_end(workspace, dive).state == "done"
    assert events.count("read") == 4 and ("read", "read") not in pairwise(events)


def test_a_jump_of_the_camera_clock_is_listed_and_does_no_harm(workspace, tmp_path):
    dive = start(workspace, tmp_path / "camera")
    for at, stamp in enumerate(("20150210_064312", "20150210_064314", "19700101_000000")):
        write_image(tmp_path / "camera", at, 0, name=f"PR_{stamp}_000_LC16.png")
    assert watch_to_the_end(workspace, dive).result["images"] == 3
    problems = [problem.what for problem in workspace.library.problems(problem_source(dive))]
    assert any("clock of the camera jumped" in what for what in problems)


def test_a_descriptor_that_changes_during_the_dive_is_refused_in_one_line(workspace, tmp_path):
    dive = start(workspace, tmp_path / "camera")
    write_images(tmp_path / "camera", 12)
    watch_to_the_end_of_images(workspace, dive, 12)
    assert run_now(workspace, "features", {"kinds": ["colour"], "again": True}).state == "done"
    write_images(tmp_path / "camera", 2, first=12)
    job = run_now(workspace, "live dive", {"dive": dive.id})
    assert job.state == "failed"
    assert job.error.startswith("features colour: were computed again or removed after this dive began")
    assert "finish this dive, which ends without a run, and start a new one" in job.error
    ended = watch_to_the_end(workspace, dive)
    assert ended.state == "done" and ended.result["run"] is None
    assert not workspace.live.get(dive.id).is_watching and workspace.live.count(dive.id) == 12


def test_an_image_without_finite_features_is_listed_and_not_learned(workspace, tmp_path, monkeypatch):
    from benthoscope.engine.jobs.live import descriptor

    dive = start(workspace, tmp_path / "camera")
    write_images(tmp_path / "camera", 12)
    watch_to_the_end_of_images(workspace, dive, 12)
    write_images(tmp_path / "camera", 2, first=12)
    real = descriptor.load

    class Broken:
        def __init__(self, inner):
            self.inner = inner
            self.longest = inner.longest

        def describe(self, image):
            row = self.inner.describe(image)
            return row * np.nan if self.count() == 1 else row

        def count(self):
            self.calls = getattr(self, "calls", 0) + 1
            return self.calls

    monkeypatch.setattr(descriptor, "load", lambda folder, cache: Broken(real(folder, cache=cache)))
    job = watch_to_the_end(workspace, dive)
    assert job.state == "done", job.error
    (problem,) = [text for _, text in workspace.live.problems(dive.id, 5)]
    assert "row 0 of its features" in problem
    assert job.result["images"] == 14 and workspace.live.last_round(dive.id).images == 13


def test_a_lost_learner_is_learned_again_with_the_same_numbers(workspace, tmp_path):
    dive = start(workspace, tmp_path / "camera")
    write_images(tmp_path / "camera", 24, kinds=(0, 1))
    watch_to_the_end_of_images(workspace, dive, 24)
    before = workspace.live.last_round(dive.id).clusters
    (workspace.live.working_folder(dive.id) / LEARNER).unlink()
    write_images(tmp_path / "camera", 12, first=24, kinds=(0, 1))
    assert watch_to_the_end(workspace, dive).state == "done"
    assert set(workspace.live.last_round(dive.id).clusters) == set(before)
    assert [each.number for each in workspace.live.rounds(dive.id)] == [1, 2, 3]


def test_damaged_axes_are_computed_again_with_the_rounds(workspace, tmp_path):
    dive = start(workspace, tmp_path / "camera")
    write_images(tmp_path / "camera", 24, kinds=(0, 1))
    watch_to_the_end_of_images(workspace, dive, 24)
    before = workspace.live.last_round(dive.id).clusters
    (workspace.live.working_folder(dive.id) / AXES).write_bytes(b"PK")
    job = watch_to_the_end(workspace, dive)
    assert job.state == "done", job.error
    assert job.result["clusters"] == len(before)


def test_positions_come_from_a_table_beside_the_images(workspace, tmp_path):
    dive = start(workspace, tmp_path / "camera")
    paths = write_images(tmp_path / "camera", 3)
    rows = [f"{path.name},2020-01-01T00:00:0{at},-43.{at},148.{at},30" for at, path in enumerate(paths)]
    (tmp_path / "camera" / "positions.csv").write_text("\n".join(["image,time,latitude,longitude,depth", *rows]))
    assert watch_to_the_end(workspace, dive).state == "done"
    columns = workspace.library.columns("latitude", "depth")
    np.testing.assert_allclose(columns["latitude"], [-43.0, -43.1, -43.2])
    assert (columns["depth"] == 30).all()


def test_positions_come_from_a_navigation_file_at_the_time_of_each_image(workspace, tmp_path):
    dive = start(workspace, tmp_path / "camera")
    for second in (0, 5, 10):
        write_image(tmp_path / "camera", second, 0, name=f"PR_20150210_0643{second:02}_000_LC16.png")
    fixes = ("time,lat,lon,depth", "2015-02-10T06:43:00Z,-43,148,10", "2015-02-10T06:43:10Z,-44,148,20")
    (tmp_path / "camera" / "nav.csv").write_text("\n".join(fixes) + "\n")
    assert watch_to_the_end(workspace, dive).state == "done"
    columns = workspace.library.columns("latitude", "depth")
    np.testing.assert_allclose(columns["latitude"], [-43.0, -43.5, -44.0], atol=1e-3)
    assert columns["depth"].tolist() == [10, 15, 20]


def test_settings_may_change_between_rounds_but_the_features_may_not(workspace, tmp_path):
    dive = start(workspace, tmp_path / "camera")
    assert change_settings(workspace, dive, {"memory": 50}).settings["memory"] == 50
    with pytest.raises(BadInput, match="cannot change while the dive goes on"):
        change_settings(workspace, dive, {"features": "deep"})
    for name, value in (("memory", 0), ("level", "0.1")):
        with pytest.raises(BadInput, match="greater than 0"):
            change_settings(workspace, dive, {name: value})


def test_an_unusable_seed_is_refused_before_the_dive_begins(workspace, tmp_path):
    for seed in (-1, 1.5, "one"):
        with pytest.raises(BadInput, match="seed: must be a whole number"):
            start(workspace, tmp_path / "camera", seed=seed)
    assert not workspace.live.all()


def test_a_budget_that_is_too_small_is_one_clear_line(workspace, tmp_path):
    dive = start(workspace, tmp_path / "camera", memory=1)
    write_images(tmp_path / "camera", 12)
    job = watch_to_the_end(workspace, dive)
    assert job.state == "failed" and "have no room for a single clump" in job.error


def test_the_same_folder_goes_on_with_the_same_dive(workspace, tmp_path):
    dive = start(workspace, tmp_path / "camera")
    assert begin_dive(workspace, tmp_path / "camera").id == dive.id
    with pytest.raises(BadInput, match="is already watched"):
        begin_dive(workspace, tmp_path / "camera", "another")
    with pytest.raises(BadInput, match="is not a folder"):
        begin_dive(workspace, tmp_path / "nowhere")


def test_uploaded_files_arrive_whole_and_may_be_sent_again(workspace, tmp_path):
    dive = start(workspace, tmp_path / "camera")
    content = write_image(tmp_path / "other", 1, 0).read_bytes()
    assert add_file(dive, "a.png", content) == add_file(dive, "a.png", content)
    assert (tmp_path / "camera" / "a.png").read_bytes() == content
    for name in ("../a.png", ".a.png", "a.exe", "b/a.png"):
        with pytest.raises(BadInput, match="file name"):
            add_file(dive, name, content)
    with pytest.raises(BadInput, match="exists already with other content"):
        add_file(dive, "a.png", content + b"x")
    assert [path.name for path in (tmp_path / "camera").iterdir()] == ["a.png"]


def test_of_two_files_with_one_name_sent_at_the_same_time_the_second_is_refused(workspace, tmp_path, monkeypatch):
    dive = start(workspace, tmp_path / "camera")
    meeting, write = threading.Barrier(2), starting._write

    def slow_write(target, content):
        with contextlib.suppress(threading.BrokenBarrierError):
            meeting.wait(0.2)
        write(target, content)

    def send(content):
        try:
            return add_file(dive, "a.png", content).name
        except BadInput as error:
            return str(error)

    monkeypatch.setattr(starting, "_write", slow_write)
    with ThreadPoolExecutor(2) as pool:
        results = sorted(pool.map(send, (b"first", b"second")))
    assert results[0] == "a.png" and "exists already with other content" in results[1]


# --- edits of people


def clusters_now(workspace, dive):
    return edited_clusters(workspace, dive, learned_clusters(workspace, dive))


def test_merge_split_and_name_change_the_view_and_can_be_undone(workspace, tmp_path):
    dive = start(workspace, tmp_path / "camera")
    write_images(tmp_path / "camera", 24, kinds=(0, 1))
    watch_to_the_end_of_images(workspace, dive, 24)
    dive, ann = workspace.live.get(dive.id), workspace.people.named("Ann").id
    memory = (workspace.live.working_folder(dive.id) / LEARNER).read_bytes()
    before = clusters_now(workspace, dive)
    assert before.keys == ("0", "1")
    name = name_cluster(workspace, dive, ann, "1", "kelp")
    merge = merge_clusters(workspace, dive, ann, ["1", "0"])
    assert clusters_now(workspace, dive).keys == ("1",) and clusters_now(workspace, dive).names == {"1": "kelp"}
    assert clusters_now(workspace, dive).merged == {"1": ("0",)}
    undo_edit(workspace, dive, ann, merge)
    merge = merge_clusters(workspace, dive, ann, ["0", "1"])
    assert clusters_now(workspace, dive).names == {"0": "kelp"}  # the name follows into the merged cluster
    undo_edit(workspace, dive, ann, merge)
    undo_edit(workspace, dive, ann, name)
    assert clusters_now(workspace, dive).keys == before.keys and clusters_now(workspace, dive).names == {}
    split_cluster(workspace, dive, ann, "0")
    halves = clusters_now(workspace, dive)
    assert halves.keys == ("0.1", "0.2", "1")
    assert sorted([*halves.members("0.1"), *halves.members("0.2")]) == sorted(before.members("0"))
    assert (workspace.live.working_folder(dive.id) / LEARNER).read_bytes() == memory  # the learner is not disturbed
    with pytest.raises(BadInput, match="there is no '7'"):
        name_cluster(workspace, dive, ann, "7", "sand")
    name_cluster(workspace, dive, ann, "1", "kelp" + 60 * "!")
    name_cluster(workspace, dive, ann, "0.2", "bright sand")
    write_images(tmp_path / "camera", 12, first=24, kinds=(0, 1))
    assert watch_to_the_end(workspace, dive).state == "done"
    dive = workspace.live.get(dive.id)
    later = clusters_now(workspace, dive)
    assert set(before.members("1").tolist()) <= set(later.members("1").tolist())
    [(number, name), (half, name_of_half)] = workspace.runs.cluster_names(dive.run_id).items()
    run = workspace.runs.get(dive.run_id)
    assert name == "kelp" + 56 * "!"
    in_run = run.array("image_ids")[run.array("labels") == number]
    assert set(in_run.tolist()) == set(later.members("1").tolist())
    arranged = current_arrangement(workspace, run)
    assert name_of_half == "bright sand"
    assert arranged.members(half).tolist() == sorted(later.members("0.2").tolist())
    shown = {frozenset(later.members(key).tolist()) for key in later.keys}
    assert {frozenset(arranged.members(cluster).tolist()) for cluster in arranged.sizes()} == shown


def test_the_page_says_how_well_new_images_fit_and_labels_agree(finished):
    workspace, dive, _ = finished
    app = AppState(workspace)
    scores = [each.score for each in workspace.live.rounds(dive.id)]
    content = live_content(app, dive, live_state(app, dive.id))["shown"]
    assert content["fits"] == len(scores) - 1 and scores[0] is None and content["agreement"] is None
    curve = next(iter(FIGURES["live-fit"].draw(app, FigureChoice(live=dive.id))))
    assert curve.dimension_values("fit").tolist() == scores[1:]
    clusters = live_state(app, dive.id).clusters
    images, code = clusters.image_ids, clusters.code
    ann = workspace.people.named("Ann").id
    words = [NewTerm((f"kind {kind}",)) for kind in range(code.max() + 1)]
    terms = workspace.vocabularies.terms(workspace.vocabularies.add("seafloor", words).id)
    for count, words in ((2, "not known yet (2 labels)"), (20, "100 % (20 labels)")):
        for at in np.argsort(code, kind="stable")[:count]:
            workspace.labels.label(ann, [images[at]], terms[code[at]].id)
        app.changed("labels")
        assert live_content(app, dive, live_state(app, dive.id))["shown"]["agreement"] == words
