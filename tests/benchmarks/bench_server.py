"""Response times of the server: requests per second, and waiting times while a clustering job uses all cores."""

import asyncio
import contextlib
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import numpy as np
import psutil

from benthoscope.engine.jobs import JobQueue
from benthoscope.engine.workspace import Workspace
from tests.benchmarks.measure import Table
from tests.benchmarks.sized_workspace import WIDTH, hashes, make_workspace

IMAGES = 1_000_000  # of the workspace whose rows are clustered at the same time
SECONDS = 20  # each line of the table
AT_ONCE = 8  # connections
PAUSE = 0.02  # seconds between two questions of one person's tab
CALLS = ("/health", "/api/v1/jobs", "thumbnail")


def tables() -> Iterator[Table]:
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "large.benthos"
        make_workspace(path, IMAGES)
        paths = [f"/thumbnails/{sha}/128.jpg" for sha in hashes()]
        with _served(path) as (base, process), Workspace.open(path) as workspace:
            yield Table(
                "Requests without a pause",
                ("request", "requests/s", "median ms", "p99 ms"),
                [_load(base, "thumbnail", paths)],
                (f"{AT_ONCE} connections, the client on the same two cores",),
            )
            server, state = psutil.Process(process.pid), f"clustering {IMAGES:,} x {WIDTH}"
            rows = [(call, "quiet", *_waits(base, _path(call, paths), server)) for call in CALLS]
            rows += [(call, state, *_while_clustering(workspace, base, _path(call, paths), server)) for call in CALLS]
            heads = ("call", "machine", "median ms", "p99 ms", "worst ms", "CPU of the server")
            yield Table(
                "Response times",
                heads,
                rows,
                (
                    f"a request every {PAUSE * 1000:.0f} ms, up to {SECONDS} s; target while clustering: p99 below 50",
                    f"memory of the server at the end: {server.memory_info().rss / 2**20:.0f} MB",
                ),
            )


def _path(call: str, thumbnails: list[str]) -> str:
    return thumbnails[0] if call == "thumbnail" else call


def _while_clustering(
    workspace: Workspace, base: str, path: str, server: psutil.Process
) -> tuple[float, float, float, str]:
    job = JobQueue(workspace).add("cluster", {"features": "deep", "width": 0.05})
    while httpx.get(f"{base}/api/v1/jobs/{job.id}").json()["state"] == "queued":
        time.sleep(0.2)
    time.sleep(2)  # until it keeps the cores busy
    measured = _waits(base, path, server, job.id)
    JobQueue(workspace).cancel(job.id)
    while httpx.get(f"{base}/api/v1/jobs/{job.id}").json()["state"] == "running":
        time.sleep(0.2)
    return measured


@contextlib.contextmanager
def _served(path: Path) -> Iterator[tuple[str, subprocess.Popen]]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    run = [
        sys.executable,
        "-c",
        "from benthoscope.app.cli import main; main()",
        "serve",
        str(path),
        "--no-browser",
        "--no-token",
        "--port",
        str(port),
    ]
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    process = subprocess.Popen(run, stdout=subprocess.DEVNULL, env=environment)
    base = f"http://127.0.0.1:{port}"
    try:
        for _ in range(240):
            with contextlib.suppress(httpx.TransportError):
                httpx.get(f"{base}/health")
                break
            time.sleep(0.25)
        time.sleep(10)  # the warm-up reads the columns of a million images
        yield base, process
    finally:
        process.terminate()
        process.wait(60)


def _load(base: str, name: str, paths: list[str]) -> tuple[str, float, float, float]:
    async def run_client(client: httpx.AsyncClient, client_paths: list[str], waits: list[float], end: float) -> None:
        while time.perf_counter() < end:
            for path in client_paths:
                began = time.perf_counter()
                (await client.get(path)).raise_for_status()
                waits.append(time.perf_counter() - began)
                if began > end:
                    return

    async def all_of_them() -> list[float]:
        waits: list[float] = []
        end = time.perf_counter() + SECONDS
        async with httpx.AsyncClient(base_url=base, limits=httpx.Limits(max_connections=AT_ONCE)) as client:
            await asyncio.gather(*(run_client(client, paths[k::AT_ONCE], waits, end) for k in range(AT_ONCE)))
        return waits

    waits = asyncio.run(all_of_them())
    return name, len(waits) / SECONDS, 1000 * float(np.median(waits)), 1000 * float(np.quantile(waits, 0.99))


def _waits(base: str, path: str, server: psutil.Process, job: int | None = None) -> tuple[float, float, float, str]:
    """Return (median, 99th percentile, maximum) in ms of a repeated call, and the CPU time of the server in this
    period."""
    waits: list[float] = []
    used, began = sum(server.cpu_times()[:2]), time.perf_counter()
    with httpx.Client(base_url=base, timeout=60) as client:
        while time.perf_counter() - began < SECONDS and (job is None or _runs(client, job, len(waits))):
            asked = time.perf_counter()
            client.get(path).raise_for_status()
            waits.append(time.perf_counter() - asked)
            time.sleep(PAUSE)
    load = (sum(server.cpu_times()[:2]) - used) / (time.perf_counter() - began)
    median, high, worst = (1000 * float(np.quantile(waits, share)) for share in (0.5, 0.99, 1.0))
    return median, high, worst, f"{100 * load:.0f} % over {len(waits)} calls"


def _runs(client: httpx.Client, job: int, asked: int) -> bool:
    """Return whether the job still runs. Checked rarely, because checking is a call too."""
    return asked % 100 != 99 or client.get(f"/api/v1/jobs/{job}").json()["state"] == "running"
