"""What the server loads before its first answer, and what it loads afterwards."""

import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI

from benthoscope.app import api as rest
from benthoscope.app.server import application
from benthoscope.app.server.application import SLOW_LIBRARIES, ServerSettings, create_app, warm_up
from benthoscope.app.session.app_state import AppState
from benthoscope.engine.workspace import Workspace
from tests.loops import outcome

ROOT = Path(__file__).parents[3]
SLOW = (
    "h5py",
    "holoviews",
    "matplotlib",
    "numba",
    "onnx",
    "onnxruntime",
    "pandas",
    "scipy.linalg",
    "scipy.stats",
    "skimage",
    "sklearn",
    "umap",
)
OPEN_HOME = """
import sys
from benthoscope.app.pages.shell import framed
from benthoscope.app.pages.registry import page_named
from benthoscope.app.server.application import create_app
import benthoscope.app.server.run
from benthoscope.engine.workspace import Workspace

with Workspace.open(sys.argv[1]) as workspace:
    app = create_app(workspace).state.app
    framed(page_named(""), app)
    app.close()
print(*sys.modules)
"""


@pytest.fixture
def workspace(tmp_path):
    with Workspace.create(tmp_path / "reef") as made:
        yield made


def test_no_slow_library_is_loaded_before_the_home_page(workspace):
    command = [sys.executable, "-c", OPEN_HOME, str(workspace.folder)]
    loaded = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout.split()
    assert "panel" in loaded and "benthoscope.app.pages.home" in loaded
    assert [name for name in SLOW if name in loaded] == []


def test_the_warm_up_waits_for_the_first_page(workspace, monkeypatch):
    steps: list[str] = []
    state = AppState(workspace)
    monkeypatch.setattr(state.page_drawn, "wait", lambda seconds: steps.append(f"waits {seconds} s at most"))
    monkeypatch.setattr(application, "import_module", steps.append)
    monkeypatch.setattr(rest, "import_others", lambda: steps.append("routes"))
    warm_up(state)
    assert steps == ["waits 10 s at most", *SLOW_LIBRARIES, "routes"]


def test_routes_that_no_page_needs_are_added_with_the_first_request_for_one(workspace):
    api = create_app(workspace, ServerSettings(token="", run_jobs=False))

    async def answers() -> tuple[list[int], list[bool]]:
        statuses, has_all = [], []
        async with httpx.AsyncClient(transport=httpx.ASGITransport(api), base_url="http://localhost") as client:
            for path in ("/health", "/api/v1/jobs", "/api/v1/jobs"):
                statuses.append((await client.get(path)).status_code)
                has_all.append(api.state.has_all_routes)
        return statuses, has_all

    assert outcome(answers()) == ([200, 200, 200], [False, True, True])
    count = len(api.routes)
    assert {"/api/v1/runs", "/thumbnails/segment/{cut}/{image_id}/{number}/{size}.jpg"} < set(api.openapi()["paths"])
    assert len(api.routes) == count
    api.state.app.close()


def test_the_address_says_which_routes_are_added_later():
    api = FastAPI()
    rest.include(api)
    early = set(api.openapi()["paths"])
    rest.include_others(api)
    api.openapi_schema = None
    late = set(api.openapi()["paths"]) - early
    assert len(late) > 80 and all(path.startswith(rest.AFTERWARDS) for path in late)
    assert not any(path.startswith(rest.AFTERWARDS) for path in early)
