"""Which files of a folder are ready: half-written, renamed, late and unusable ones; a share that disappears."""

from benthoscope.engine.jobs.live.folder_watcher import FolderWatcher, SeenPaths
from benthoscope.engine.problems import Problem
from tests.live_dives import write_image


class Clock:
    """Monotonic seconds that a test sets."""

    def __init__(self):
        self.seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


def watcher_of(folder, **values):
    clock = Clock()
    return FolderWatcher(folder, clock=clock, **values), clock


def ready(watcher) -> list[str]:
    return [file.path for file in watcher.scan().ready]


def test_a_file_is_ready_when_two_looks_agree(tmp_path):
    watcher, _ = watcher_of(tmp_path)
    write_image(tmp_path, 1, 0)
    assert ready(watcher) == [] and watcher.waiting == 1
    assert ready(watcher) == ["image_0001.png"]


def test_a_half_written_file_waits_until_it_stops_growing(tmp_path):
    watcher, _ = watcher_of(tmp_path)
    content = write_image(tmp_path / "elsewhere", 1, 0).read_bytes()
    (tmp_path / "elsewhere" / "image_0001.png").unlink()
    path = tmp_path / "a.png"
    for length in (10, len(content) // 2, len(content)):
        path.write_bytes(content[:length])
        assert ready(watcher) == []
    assert ready(watcher) == ["a.png"]


def test_an_empty_file_waits(tmp_path):
    watcher, _ = watcher_of(tmp_path)
    (tmp_path / "a.jpg").touch()
    assert [ready(watcher) for _ in range(3)] == [[], [], []]


def test_a_renamed_file_is_ready_at_once(tmp_path):
    watcher, _ = watcher_of(tmp_path)
    path = write_image(tmp_path, 1, 0)
    partial = path.rename(tmp_path / "image_0001.png.part")
    assert ready(watcher) == []
    partial.rename(path)
    assert ready(watcher) == ["image_0001.png"]


def test_a_file_that_was_taken_is_left_out_also_under_subfolders(tmp_path):
    watcher, _ = watcher_of(tmp_path)
    write_image(tmp_path / "day" / "one", 1, 0)
    watcher.scan()
    assert ready(watcher) == ["day/one/image_0001.png"]
    watcher.mark_stored("day/one/image_0001.png")
    assert ready(watcher) == [] and watcher.waiting == 0


def test_late_files_come_in_the_order_they_were_seen(tmp_path):
    watcher, clock = watcher_of(tmp_path)
    write_image(tmp_path, 7, 0)
    watcher.scan()
    clock.seconds += 1
    write_image(tmp_path, 3, 0)  # an earlier number that arrives later
    watcher.scan()
    assert ready(watcher) == ["image_0007.png", "image_0003.png"]


def test_an_unreadable_file_is_tried_again_and_then_reported_once(tmp_path):
    watcher, clock = watcher_of(tmp_path, give_up=30)
    (tmp_path / "a.jpg").write_bytes(b"no image")
    watcher.scan()
    assert ready(watcher) == ["a.jpg"]
    problem = Problem("a.jpg", "is broken")
    assert watcher.unusable("a.jpg", problem) is None
    clock.seconds += 31
    assert ready(watcher) == ["a.jpg"]
    assert watcher.unusable("a.jpg", problem) == problem
    assert ready(watcher) == [] and watcher.waiting == 0
    (tmp_path / "a.jpg").write_bytes(b"written again")  # a repaired file gets another chance
    watcher.scan()
    assert ready(watcher) == ["a.jpg"]


def test_a_folder_that_disappears_is_reported_and_found_again(tmp_path):
    share = tmp_path / "share"
    watcher, _ = watcher_of(share)
    write_image(share, 1, 0)
    watcher.scan()
    share.rename(tmp_path / "away")
    assert watcher.scan().unreachable == "No such file or directory"
    (tmp_path / "away").rename(share)
    assert ready(watcher) == ["image_0001.png"]


def test_the_clock_of_the_vehicle_may_jump(tmp_path):
    import os

    watcher, _ = watcher_of(tmp_path)
    path = write_image(tmp_path, 1, 0)
    os.utime(path, (4e9, 4e9))  # in the year 2096
    watcher.scan()
    assert ready(watcher) == ["image_0001.png"]
    watcher.mark_stored("image_0001.png")
    os.utime(path, (1, 1))
    assert ready(watcher) == []


def test_hidden_and_other_files_are_no_images_and_tables_are_metadata(tmp_path):
    watcher, _ = watcher_of(tmp_path)
    write_image(tmp_path, 1, 0, name=".hidden.png")
    (tmp_path / "notes.txt2").write_text("text")
    (tmp_path / "track.csv").write_text("image,latitude\n")
    watcher.scan()
    scan = watcher.scan()
    assert scan.ready == () and [path for path, *_ in scan.metadata] == ["track.csv"]


def test_a_slow_share_gets_a_rest_between_two_looks(tmp_path):
    class SlowClock(Clock):
        def __call__(self) -> float:
            self.seconds += 1
            return self.seconds

    watcher = FolderWatcher(tmp_path, clock=SlowClock())
    assert watcher.scan() is not None
    assert watcher.scan() is None


def test_seen_paths_take_eight_bytes_each():
    paths = [f"dive/image_{number}.jpg" for number in range(5_000)]
    known_paths = SeenPaths(paths[:2_500])
    for path in paths[2_500:4_900]:
        known_paths.add(path)
    assert known_paths.unseen(paths) == paths[4_900:]
    assert len(known_paths) == 4_900 and known_paths._hashes.nbytes == 8 * 4_500


def test_a_file_that_stays_empty_is_reported_so_that_a_dive_can_end(tmp_path):
    watcher, clock = watcher_of(tmp_path)
    (tmp_path / "a.jpg").touch()
    assert ready(watcher) == ready(watcher) == []
    clock.seconds += watcher.give_up
    assert ready(watcher) == ["a.jpg"]
    assert watcher.unusable("a.jpg", Problem("a.jpg", "is empty")) is not None
    assert ready(watcher) == [] and watcher.waiting == 0
