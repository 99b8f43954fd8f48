"""Import of AUV images: hash, metadata, both thumbnails, catalogue; and importing again."""

import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil

from benthoscope.engine.compute import cores
from benthoscope.engine.exchange.metadata.tables import read_track
from benthoscope.engine.imaging import facts_of, read_bytes, take_in, thumbnails
from benthoscope.engine.jobs import run_now
from benthoscope.engine.workspace import Workspace
from benthoscope.engine.workspace.storage.thumbnails import AT_IMPORT
from tests.benchmarks.measure import Table, measure
from tests.benchmarks.photographs import written

COUNT = 1_500
STAGED = 150
TURNS = 5
ROWS = 100_000


def tables() -> Iterator[Table]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "r20190513_000000_bench"
        paths = written(folder, COUNT)
        _track(folder, COUNT)
        yield _stages(paths[:STAGED])
        yield _complete_import(Path(name), folder, sum(path.stat().st_size for path in paths) / COUNT)
    yield _metadata()


def _stages(paths: list[Path]) -> Table:
    data = [read_bytes(path) for path in paths]
    stages = {
        "size, format, EXIF": lambda: [facts_of(content, where="a") for content in data],
        "both thumbnails": lambda: [thumbnails(content, AT_IMPORT, where="a") for content in data],
        "all of it, with reading and hashing": lambda: [take_in(path, AT_IMPORT) for path in paths],
    }
    rows = []
    for name, stage in stages.items():
        median = statistics.median(measure(stage)[1].cpu for _ in range(TURNS))
        rows.append((name, 1e3 * median / len(paths)))
    notes = (f"Median of {TURNS} turns. Target: at most 7 ms for all of it.",)
    return Table("One image of 1360 x 1024 JPEG, one process", ("stage", "CPU ms"), rows, notes)


def _complete_import(parent: Path, folder: Path, size: float) -> Table:
    rows = []
    with Workspace.create(parent / "bench") as workspace:
        for name in ("first import", "import again"):
            before = _tree_cpu()
            job, cost = measure(lambda: run_now(workspace, "import", {"folder": str(folder)}))
            assert job.state == "done" and job.result["images"] == COUNT, job.error
            cpu = _tree_cpu() - before
            rates = COUNT / cost.wall, 1e3 * cpu / COUNT, cores() * COUNT / cpu
            rows.append((name, job.result["new"], cost.wall, *rates))
    heading = f"Import of {COUNT:,} JPEGs of 1360 x 1024, {size / 1e3:.0f} kB, with an IMOS track, {cores()} cores"
    columns = ("what", "read", "wall s", "images/s", "CPU ms/image", f"images per {cores()} CPU s")
    notes = ("Target: at least 150 images/s on 2 cores. The last column is the rate where nothing else runs.",)
    return Table(heading, columns, rows, notes)


def _tree_cpu() -> float:
    """Return the CPU seconds of this process and its running and finished descendants, each counted once."""
    main_process = psutil.Process()
    below = [process.cpu_times() for process in main_process.children(recursive=True)]
    ended = sum(times.user + times.system + times.children_user + times.children_system for times in below)
    times = main_process.cpu_times()
    return times.user + times.system + ended


def _metadata() -> Table:
    with tempfile.TemporaryDirectory() as name:
        data = _track(Path(name), ROWS).read_bytes()
    reading, cost = measure(lambda: read_track(data, source="t.csv"))
    assert len(reading.records) == ROWS
    rows = [("IMOS track", ROWS, cost.cpu, ROWS / cost.cpu)]
    return Table("Reading metadata", ("format", "rows", "CPU s", "rows/s"), rows)


def _track(folder: Path, rows: int) -> Path:
    names = (
        "year",
        "month",
        "day",
        "hour",
        "minute",
        "second",
        "latitude",
        "longitude",
        "depth",
        "roll",
        "pitch",
        "heading",
        "altitude",
        "leftimage",
        "rightimage",
    )
    lines = [
        f"2019,5,13,{at // 3600 % 24},{at // 60 % 60},{at % 60},{-33 - at * 1e-6:.8f},{151 + at * 1e-6:.8f},"
        f"{20 + at % 50 * 0.1:.4f},0.01,0.02,1.5,2.1,PR_20190513_{at:06}_000_LC16.png,"
        f"PR_20190513_{at:06}_000_RM16.png"
        for at in range(rows)
    ]
    path = folder / "bench_latlong.csv"
    path.write_text("\n".join([",".join(names), *lines]))
    return path
