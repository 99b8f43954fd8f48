"""Live dives over REST: start, upload, state, edits, and the plots."""

import time

import pytest
from fastapi.testclient import TestClient

from benthoscope.app.server.application import ServerSettings, create_app
from benthoscope.engine.workspace import Workspace
from tests.live_dives import SETTINGS, write_image, write_images

API = "/api/v1/live"


@pytest.fixture
def client(tmp_path):
    with Workspace.create(tmp_path / "sea") as workspace:
        application = create_app(workspace, ServerSettings(token=""))
        with TestClient(application, base_url="http://127.0.0.1") as opened:
            yield opened


def until(client, condition, dive=1):
    """Return the state of the dive once the condition holds."""
    last = time.monotonic() + 120
    while time.monotonic() < last:
        state = client.get(f"{API}/{dive}").json()
        if condition(state):
            return state
        time.sleep(0.2)
    raise AssertionError(f"the dive stayed at {state}")


def test_a_misspelled_name_is_refused_instead_of_left_out(client, tmp_path):
    answer = client.post(API, json={"folder": str(tmp_path), "dive": "north"})
    assert answer.status_code == 422
    assert answer.json()["error"]["where"] == "body.dive"
    assert answer.json()["error"]["what"] == "is not the name of a value here"
    assert client.get(API).json() == []


def test_a_dive_from_the_first_image_to_the_run(client, tmp_path):
    folder = tmp_path / "camera"
    folder.mkdir()
    started = client.post(API, json={"folder": str(folder), "name": "north", "settings": dict(SETTINGS)})
    assert started.status_code == 201 and started.json()["watching"]
    for path in write_images(tmp_path / "vehicle", 12, kinds=(0, 1)):
        sent = client.post(f"{API}/1/images", params={"name": path.name}, content=path.read_bytes())
        assert sent.status_code == 201 and sent.json() == {"file": path.name, "bytes": path.stat().st_size}
    state = until(client, lambda state: state["rounds"])
    assert state["images"] == 12 and [cluster["key"] for cluster in state["clusters"]] == ["0", "1"]
    assert sum(cluster["images"] for cluster in state["clusters"]) == 12
    assert state["rounds"][0]["events"] == [["birth", 0, None], ["birth", 1, None]]

    edited = client.post(f"{API}/1/edits", json={"person": "Ann", "kind": "name", "clusters": ["1"], "name": "kelp"})
    assert [cluster["name"] for cluster in edited.json()["clusters"]] == ["Cluster 0", "kelp"]
    (edit,) = edited.json()["edits"]
    undone = client.post(f"{API}/1/edits/{edit['id']}/undo", json={"person": "Ann"}).json()
    assert [cluster["name"] for cluster in undone["clusters"]] == ["Cluster 0", "Cluster 1"]

    images = client.get(f"{API}/1/images", params={"limit": 5}).json()
    assert len(images) == 5 and {image["novel"] for image in images} == {False}
    for name in ("live-mixture", "live-clusters", "live-memory"):
        assert client.get(f"/api/v1/plots/{name}", params={"format": "svg"}).content.startswith(b"<?xml")
    missing = client.get("/api/v1/plots/live-fit", params={"format": "svg"})
    assert missing.status_code == 422 and missing.json()["error"]["what"] == "has learned one round only"
    missing = client.get("/api/v1/plots/live-path", params={"format": "svg"})
    assert missing.status_code == 422 and missing.json()["error"]["what"] == "have no positions yet"

    changed = client.patch(f"{API}/1/settings", json={"memory": 300}).json()
    assert changed["settings"]["memory"] == 300
    client.post(f"{API}/1/finish")
    state = until(client, lambda state: state["state"] == "finished")
    assert client.get(f"/api/v1/runs/{state['run']}").json()["summary"]["images"] == 12


def test_wrong_requests_are_one_clear_line(client, tmp_path):
    assert client.get(f"{API}/9").status_code == 404
    answer = client.post(API, json={"folder": str(tmp_path / "nowhere")})
    assert answer.status_code == 422 and answer.json()["error"]["what"] == "is not a folder"
    (tmp_path / "camera").mkdir()
    answer = client.post(API, json={"folder": str(tmp_path / "camera"), "settings": {"memry": 3}})
    assert answer.json()["error"]["remedy"] == "did you mean 'memory'?"
    client.post(API, json={"folder": str(tmp_path / "camera"), "settings": dict(SETTINGS)})
    content = write_image(tmp_path / "vehicle", 1, 0).read_bytes()
    for name, what in (("../a.png", "not the name of a file"), ("a.exe", "not the name of an image")):
        answer = client.post(f"{API}/1/images", params={"name": name}, content=content)
        assert answer.status_code == 422 and what in answer.json()["error"]["what"]


def test_the_routes_are_described_with_their_models(client):
    paths = client.get("/api/v1/openapi.json").json()["paths"]
    answer = paths["/api/v1/live/{dive}"]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
    assert answer == {"$ref": "#/components/schemas/DiveState"}
    body = paths["/api/v1/live/{dive}/images"]["post"]["requestBody"]["content"]
    assert body == {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
