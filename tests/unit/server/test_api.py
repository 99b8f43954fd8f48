"""The interface for scripts and pages: what it says of a workspace, how it caches, how it refuses."""

import hashlib
from importlib.resources import files
from pathlib import Path

import httpx
import numpy as np
import pytest
from PIL import Image

from benthoscope.app.server.access import POLICY
from benthoscope.app.server.application import ServerSettings, create_app
from benthoscope.engine.imaging import read_bytes, thumbnails
from benthoscope.engine.jobs import JobQueue
from benthoscope.engine.workspace import NewCluster, NewImage, NewRun, Workspace
from tests import example_jobs  # noqa: F401  registers its kinds
from tests.loops import outcome


@pytest.fixture
def reef(tmp_path):
    """A workspace with four images of two dives, their thumbnails, and a run."""
    (tmp_path / "images").mkdir()
    with Workspace.create(tmp_path / "reef", name="Scott Reef") as made:
        campaign = made.library.collection("PS2015")
        root = made.library.register_root(tmp_path / "images")
        dives = [made.library.group(campaign.id, name) for name in ("r20150212_north", "r20150213_south")]
        for number in range(4):
            store(made, root, dives[number // 2], number)
        ids = made.library.columns("id")["id"]
        arrays = {"image_ids": ids, "labels": np.array([0, 0, 1, 1], np.int32), "probability": np.ones(4, np.float32)}
        made.runs.add(
            NewRun("first", "gmc", "deep", {"width": 0.05}, {"seed": 0}, {"clusters": 2, "images": 4}),
            arrays,
            [NewCluster(0, 2), NewCluster(1, 2)],
        )
        yield made


def store(workspace, root, dive, number):
    path = Path(root.path) / f"kelp{number}.png"
    pixels = np.random.default_rng(number).integers(0, 255, (48, 64, 3), np.uint8)
    Image.fromarray(pixels).save(path)
    data = read_bytes(path)
    sha = hashlib.sha256(data).hexdigest()
    workspace.library.store_images(
        [
            NewImage(
                root.id,
                path.name,
                dive.id,
                len(data),
                1,
                sha,
                64,
                48,
                latitude=-14.0,
                longitude=121.8,
                depth=20.0 + number,
                taken_at=1e9 + number,
            )
        ]
    )
    made = thumbnails(data, (128, 320), where=path.name)
    workspace.thumbnails.add_many([(sha, size, jpeg) for size, jpeg in made.items()])


@pytest.fixture
def api(reef):
    return create_app(reef, ServerSettings(token="", run_jobs=False))


@pytest.fixture
def ask(api):
    def asked(path, method="GET", **remaining):
        async def go():
            transport = httpx.ASGITransport(api, raise_app_exceptions=True)
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
                return await client.request(method, path, **remaining)

        return outcome(go())

    return asked


def test_collections_tell_dives_counts_and_depths(ask):
    content = ask("/api/v1/collections").json()
    assert [group["images"] for group in content[0]["groups"]] == [2, 2]
    assert content[0]["groups"][1]["depth"] == [22.0, 23.0]


def test_images_come_page_by_page_in_order_without_gap(ask):
    first = ask("/api/v1/images?limit=3").json()
    content = ask(f"/api/v1/images?limit=3&after={first['next']}").json()
    assert [image["path"] for image in first["images"] + content["images"]] == [f"kelp{n}.png" for n in range(4)]
    assert content["next"] is None and first["total"] == 4


def test_a_thumbnail_is_kept_for_ever_by_browsers_and_asked_for_again_costs_nothing(ask, reef):
    sha = reef.library.columns("sha256")["sha256"][0]
    answer = ask(f"/thumbnails/{sha}/128.jpg")
    assert answer.content == reef.thumbnails.get(sha, 128)
    assert "immutable" in answer.headers["cache-control"]
    again = ask(f"/thumbnails/{sha}/128.jpg", headers={"if-none-match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_a_thumbnail_by_number_may_change_unless_the_address_names_the_version(ask, reef):
    number = int(reef.library.columns("id")["id"][0])
    assert "immutable" not in ask(f"/thumbnails/image/{number}/128.jpg").headers["cache-control"]
    assert "immutable" in ask(f"/thumbnails/image/{number}/128.jpg?v=1").headers["cache-control"]


def test_a_large_thumbnail_is_made_when_first_asked_for_and_kept(ask, reef):
    sha = reef.library.columns("sha256")["sha256"][0]
    assert not reef.thumbnails.has(sha, 1024)
    assert ask(f"/thumbnails/{sha}/1024.jpg").headers["content-type"] == "image/jpeg"
    assert reef.thumbnails.has(sha, 1024)


def test_parts_of_an_original_are_sent_by_range(ask, reef):
    number = int(reef.library.columns("id")["id"][0])
    response = ask(f"/api/v1/images/{number}/file")
    partial = ask(f"/api/v1/images/{number}/file", headers={"range": "bytes=10-19"})
    assert (partial.status_code, partial.content) == (206, response.content[10:20])
    assert ask(f"/api/v1/images/{number}/file", headers={"if-none-match": response.headers["etag"]}).status_code == 304


def test_an_original_that_is_gone_says_what_to_do(ask, reef):
    number = int(reef.library.columns("id")["id"][0])
    next(iter(reef.library.locate([number]).values())).unlink()
    answer = ask(f"/api/v1/images/{number}/file")
    assert answer.status_code == 404 and "relink" in answer.json()["error"]["remedy"]


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/images/999",
        "/api/v1/runs/1/arrays/secrets",
        f"/thumbnails/{'0' * 64}/128.jpg",
        "/assets/x/nothing.js",
        "/thumbnails/image/999/128.jpg",
    ],
)
def test_what_is_not_there_is_404_with_one_line(ask, path):
    answer = ask(path)
    assert answer.status_code == 404 and set(answer.json()["error"]) == {"where", "what", "remedy"}


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/images?limit=0",
        "/api/v1/images/seven",
        "/thumbnails/notahash/128.jpg",
        "/api/v1/runs/99",
        f"/thumbnails/{'0' * 64}/77.jpg",
    ],
)
def test_a_senseless_question_is_422_with_one_line(ask, path):
    answer = ask(path)
    assert answer.status_code == 422 and set(answer.json()["error"]) == {"where", "what", "remedy"}


def test_every_number_in_an_address_is_limited_to_what_databases_hold(ask):
    paths = ask("/api/v1/openapi.json").json()["paths"]
    numbers = [
        (path, parameter["name"], form)
        for path, methods in paths.items()
        for method in methods.values()
        for parameter in method.get("parameters", ())
        for form in parameter["schema"].get("anyOf", [parameter["schema"]])
        if form.get("type") == "integer"
    ]
    assert len(numbers) > 10
    assert [(path, name) for path, name, form in numbers if form.get("maximum", 2**63) >= 2**63] == []
    assert ask(f"/api/v1/runs/{'9' * 40}/levels").status_code == 422


@pytest.mark.parametrize(
    "path", ["%2e%2e/pyproject.toml", "..%2f..%2fpyproject.toml", "__init__.py", "css", "%2fetc%2fpasswd"]
)
def test_assets_lead_nowhere_else(ask, path):
    assert ask(f"/assets/x/{path}").status_code == 404


@pytest.mark.parametrize("path", ["/assets/abc/js/core/element.js", "/static/js/bokeh-tables.min.js"])
def test_scripts_are_sent_compressed_to_browsers_that_accept_it(ask, path):
    plain = ask(path, headers={"accept-encoding": "identity"})
    for _ in range(2):  # the second answer comes from memory
        packed = ask(path, headers={"accept-encoding": "gzip"})
        assert packed.headers["content-encoding"] == "gzip"
        assert "accept-encoding" in packed.headers["vary"].lower()
        assert int(packed.headers["content-length"]) < len(plain.content) / 2
        assert packed.content == plain.content
    same = ask(path, headers={"accept-encoding": "gzip", "if-none-match": packed.headers["etag"]})
    assert same.status_code in (200, 304)
    assert "content-encoding" not in plain.headers


def test_answers_with_data_of_the_workspace_are_not_compressed(ask):
    assert "content-encoding" not in ask("/api/v1/images", headers={"accept-encoding": "gzip"}).headers


def test_assets_are_kept_for_ever(ask):
    answer = ask("/assets/abc/css/look.css")
    assert answer.status_code == 200 and "immutable" in answer.headers["cache-control"]


def test_labels_of_a_run_come_as_numbers(ask):
    answer = ask("/api/v1/runs/1/arrays/labels")
    assert np.frombuffer(answer.content, answer.headers["x-dtype"]).tolist() == [0, 0, 1, 1]
    assert [label["size"] for label in ask("/api/v1/runs/1/clusters").json()] == [2, 2]


def test_a_job_is_queued_listed_and_cancelled(ask, reef):
    made = ask("/api/v1/jobs", "POST", json={"kind": "count", "parameters": {"steps": 3}}).json()
    assert [job["id"] for job in ask("/api/v1/jobs").json()["jobs"]] == [made["id"]]
    assert ask(f"/api/v1/jobs/{made['id']}/cancel", "POST").json()["state"] == "cancelled"
    assert JobQueue(reef).get(made["id"]).state == "cancelled"
    assert "did you mean 'count'" in ask("/api/v1/jobs", "POST", json={"kind": "cuont"}).json()["error"]["remedy"]


@pytest.mark.parametrize(
    "job",
    [
        {"kind": "cluster", "parameters": {"model": "gmcc"}},
        {"kind": "cluster", "parameters": {"width": "wide"}},
        {"kind": "cluster", "parameters": {"wdith": 1}},
        {"kind": "import", "parameters": {"folder": "/no/where"}},
        {"kind": "count", "parameters": {}},
        {"kind": "split cluster", "parameters": {"run": 1.5}},
    ],
)
def test_a_job_that_could_only_fail_is_refused_and_not_stored(ask, reef, job):
    before = [each.id for each in JobQueue(reef).all()]
    answer = ask("/api/v1/jobs", "POST", json=job)
    assert answer.status_code == 422 and set(answer.json()["error"]) == {"where", "what", "remedy"}
    assert [each.id for each in JobQueue(reef).all()] == before


def test_search_finds_dives_clusters_and_images(ask):
    hits = {
        (hit["kind"], hit["name"])
        for word in ("north", "cluster 1", "kelp2")
        for hit in ask("/api/v1/search", params={"q": word}).json()
    }
    assert {("Dive", "r20150212_north"), ("Cluster", "Cluster 1"), ("Image", "kelp2.png")} <= hits


@pytest.mark.parametrize("word", ["", " ", "%", "_", "'; drop table image; --", "\x00", "é" * 200])
def test_search_takes_any_text(ask, word):
    answer = ask("/api/v1/search", params={"q": word})
    assert answer.status_code == 200
    assert not [hit for hit in answer.json() if hit["kind"] == "Image"]


def test_a_water_correction_that_cannot_be_learned_says_why(ask):
    answer = ask("/api/v1/water.jpg")
    assert answer.status_code == 422 and "no dive has enough images" in answer.json()["error"]["what"]


def test_every_answer_forbids_calls_to_other_hosts(ask):
    for path in ("/health", "/api/v1/jobs", "/", "/api/v1/images/999"):
        assert ask(path).headers["content-security-policy"] == POLICY
    assert "unsafe-eval" not in POLICY and "http" not in POLICY


def test_tile_hosts_are_let_in_only_when_a_person_said_so(reef):
    api = create_app(reef, ServerSettings(token="", run_jobs=False, tiles="https://tiles.lab.org/{z}/{x}/{y}.png"))

    async def go():
        async with httpx.AsyncClient(transport=httpx.ASGITransport(api), base_url="http://localhost") as client:
            return await client.get("/health")

    policy = outcome(go()).headers["content-security-policy"]
    assert "img-src 'self' https://tiles.lab.org" in policy and policy.count("https:") == 1


def test_every_route_for_scripts_is_described_and_in_the_help(api):
    text = (files("benthoscope.assets") / "help" / "api.md").read_text(encoding="utf-8")
    described = api.openapi()["paths"]
    verbs_by_path = {
        path: verbs
        for path, verbs in described.items()
        if path.startswith(("/api/v1", "/thumbnails", "/health")) and "/crowd" not in path
    }
    assert [
        f"{verb} {path}"
        for path, verbs in verbs_by_path.items()
        for verb, known_verb in verbs.items()
        if not known_verb.get("description")
    ] == []
    assert [path for path in verbs_by_path if f"`{path}`" not in text] == []
