"""No request ends in a 5xx status or a crash, and all answers have the security headers.

`BENTHOSCOPE_REQUESTS` sets the number of random requests (10,000 by default; a tenth of them on PostgreSQL).
"""

import asyncio
import hashlib
import io
import itertools
import json
import logging
import os
import re
import socket
import sys
import threading
import time
from dataclasses import replace

import httpx
import numpy as np
import pytest
import uvicorn
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from PIL import Image

from benthoscope.app.api.common import Permits
from benthoscope.app.server.access import HEADERS as SECURITY
from benthoscope.app.server.application import ServerSettings, create_app
from benthoscope.app.server.run import Protocol, listening
from benthoscope.engine.imaging import thumbnails
from benthoscope.engine.jobs import JobQueue, run_now
from benthoscope.engine.workspace import NewCluster, NewImage, NewRun, Workspace
from benthoscope.engine.workspace.crowd.records import CampaignSettings, NewTask
from benthoscope.engine.workspace.labels.vocabularies import NewTerm
from tests import example_jobs  # noqa: F401  registers its kinds
from tests.faults.hostile_requests import LIMIT, Request, described, encoded, hidden, requests, send

REQUESTS = int(os.environ.get("BENTHOSCOPE_REQUESTS", "10000"))
ENOUGH = 2500  # requests that reach levels and chains of jobs with valid ids
PAGE_SHARE = 100  # one request in so many opens a page, which takes fifty times as long as any other
TOKEN = "a-secret-nobody-guesses"
HIDDEN = (
    hidden("/assets/{digest}/{path}", "digest", "path"),
    hidden("/crowd/{link}", "link"),
    hidden("/crowd/files/{digest}/{name}", "digest", "name"),
    hidden("/static/{path}", "path"),
    hidden("/static/extensions/panel/{path}", "path"),
    hidden("/components/{path}", "path"),
    hidden("/{path}", "path"),
)
UNDESCRIBED = {
    "/api/v1/crowd/work/{link}/join": ("consent", "nickname"),
    "/api/v1/crowd/work/{link}/answers": ("task", "submission", "groups"),
}


def fill(workspace, folder):
    """Fill a workspace with data of all kinds, including an open campaign."""
    dive = workspace.library.group(workspace.library.collection("PS2015").id, "north")
    root = workspace.library.register_root(folder)
    for number in range(4):
        content = io.BytesIO()
        Image.fromarray(np.random.default_rng(number).integers(0, 255, (48, 64, 3), np.uint8)).save(content, "PNG")
        data = content.getvalue()
        (folder / f"kelp{number}.png").write_bytes(data)
        sha = hashlib.sha256(data).hexdigest()
        workspace.library.store_images(
            [
                NewImage(
                    root.id,
                    f"kelp{number}.png",
                    dive.id,
                    len(data),
                    1,
                    sha,
                    64,
                    48,
                    latitude=-14.0,
                    longitude=121.8,
                    depth=20.0,
                    taken_at=1e9 + number,
                )
            ]
        )
        workspace.thumbnails.add_many(
            [(sha, size, jpeg) for size, jpeg in thumbnails(data, (128, 320), where="").items()]
        )
    ids = workspace.library.columns("id")["id"]
    with workspace.features.writer("deep", width=3, extractor={}) as features:
        features.append(ids, np.random.default_rng(0).standard_normal((4, 3)))
    add_run_with_levels(workspace, ids)
    add_chains(workspace)
    words = workspace.vocabularies.add("words", [NewTerm(("sand",)), NewTerm(("kelp",))])
    person, [term, _] = workspace.people.named("Ann").id, workspace.vocabularies.terms(words.id)
    workspace.labels.label(person, ids[:2], term.id)
    workspace.selections.save(person, "some", ids[:3])
    made = workspace.crowd.create("people", ids, CampaignSettings(size=4, repeats=3))
    workspace.crowd.add_tasks(made.id, [NewTask((0, 1, 2, 3), 300)])
    return workspace.crowd.change(made.id, "open")


def add_run_with_levels(workspace, ids):
    """Add run 1, its coarser level 2 and its finer level 3."""

    def new(name, clusters):
        return NewRun(name, "gmc", "deep", {"width": 0.05}, {}, {"clusters": clusters, "images": 4})

    def parts(labels, **more):
        return {"image_ids": ids, "labels": np.array(labels, np.int32), "probability": np.ones(4, np.float32), **more}

    usual = workspace.runs.add(new("first", 2), parts([0, 0, 1, 1]), [NewCluster(0, 2), NewCluster(1, 2)])
    workspace.runs.add_level(
        usual, "coarser", new("first (coarser)", 1), parts([0] * 4, parents=np.zeros(2, np.int32)), [NewCluster(0, 4)]
    )
    workspace.runs.add_level(
        usual,
        "finer",
        new("first (finer)", 3),
        parts([0, 1, 2, 2], parents=np.array([0, 0, 1], np.int32)),
        [NewCluster(0, 1), NewCluster(1, 1), NewCluster(2, 2)],
    )


def add_chains(workspace):
    """Add chains that ended in each way, and one that waits."""
    steps = {"steps": [chain_step(), chain_step("trouble", kind="input")]}
    assert run_now(workspace, "chain", {"steps": [chain_step()]}).state == "done"
    assert run_now(workspace, "chain", steps).state == "failed"
    queue = JobQueue(workspace)
    queue.cancel(queue.add("chain", steps).id)
    queue.add("chain", steps)


def chain_step(job_kind="count", **parameters):
    return {"kind": job_kind, "title": f"do {job_kind}", "parameters": parameters or {"steps": 1}, "share": 1}


CHAINS = [
    {"steps": steps}
    for steps in (
        [chain_step()],
        [chain_step(), chain_step("levels", run=2)],
        [],
        {},
        [[]],
        [chain_step() | {"share": 0}],
        [chain_step() | {"share": float("nan")}],
        [chain_step() | {"title": "\ud800"}],
        [chain_step() | {"more": 1}],
        [chain_step() | {"parameters": []}],
        [chain_step("chain", steps=[chain_step()])],
        [chain_step("nothing")],
        [chain_step("levels", run=LIMIT)],
        [chain_step()] * 500,
    )
]


BODIES_OF_PATHS = {
    "/api/v1/jobs": [
        *({"kind": "levels", "parameters": {"run": run}} for run in (1, 2, 3, 4, LIMIT, "1", None)),
        *({"kind": "chain", "parameters": parameters} for parameters in CHAINS),
    ]
}


def application(workspace):
    made = create_app(workspace, ServerSettings(token=TOKEN, run_jobs=False, linger=1))
    made.state.crowd_permits = Permits(clock=itertools.count(0, 1000).__next__)  # nobody ever asks too often
    return made


@pytest.fixture(scope="module")
def reef(tmp_path_factory):
    """A workspace shared by the tests whose requests are all rejected."""
    folder = tmp_path_factory.mktemp("hostile")
    with Workspace.create(folder / "reef") as made:
        made.open_campaign = fill(made, folder)
        yield made


@pytest.fixture(scope="module")
def app(reef):
    return application(reef)


@pytest.fixture(scope="module")
def loop():
    made = asyncio.new_event_loop()
    asyncio.set_event_loop(made)
    yield made
    asyncio.set_event_loop(None)
    made.close()


@pytest.fixture
def ask(app, loop):
    """`ask("GET", path)` returns the answer to a request with the token; it must not be a failure."""

    def asked(method, path, body=b"", **headers):
        everything = {
            "host": "localhost",
            "authorization": f"Bearer {TOKEN}",
            "content-type": "application/json",
            **{name.replace("_", "-"): text for name, text in headers.items()},
        }
        return checked(send(app, Request(method, path, "", tuple(everything.items()), body), loop))

    return asked


def checked(answer):
    """Check that the application raised nothing, returned no error, and set the security headers."""
    assert answer.error is None, answer.error
    assert 200 <= answer.status < 500, answer
    assert SECURITY.keys() <= answer.headers.keys(), answer
    assert answer.headers["content-security-policy"].startswith("default-src")  # the page of a crowd has a stricter one
    return answer


def known_values(reef, campaign, app):
    """Return valid values by the names of parameters and properties."""
    worker, secret = reef.crowd.join(campaign, "Ann")
    task = reef.crowd.next_task(campaign, worker)
    ids = reef.library.columns("id")["id"]
    return {
        "sha256": reef.library.columns("sha256")["sha256"].tolist(),
        "size": ["128", "320", "1024"],
        "place": ["0"],
        "name": ["labels", "probability", "table.csv"],
        "link": [campaign.link],
        "secret": [secret],
        "key": [task.key, app.state.app.arrays.put(ids).rpartition("/")[2]],
        "path": ["css/look.css", "js/dom.js"],
        "kind": ["count", "levels", "chain"],
        "parameters": [{}, {"steps": 1}, {"run": 1}, *CHAINS],
        "run_id": [1, 2, 3],
        "run": [1, 2, 3],
        "job_id": [job.id for job in JobQueue(reef).all()],
        "consent": [True],
        "submission": ["abcdefgh"],
        "task": [task.task],
        "groups": [[0, 0, 1, 1], [0, None, 1, 1]],
    }


@pytest.mark.slow
def test_drawn_requests_never_fail(workspace, tmp_path, loop, caplog):
    caplog.set_level(logging.CRITICAL)  # Panel warns of every session id it cannot read
    count = REQUESTS if workspace.catalogue.dialect == "sqlite" else REQUESTS // 10
    campaign, app = fill(workspace, tmp_path), application(workspace)
    known = known_values(workspace, campaign, app)
    everything = [
        replace(operation, properties=operation.properties or UNDESCRIBED.get(operation.path, ()))
        for operation in described(app.openapi())
    ]
    pages = [
        operation
        for operation in everything
        if operation.parameters and operation.parameters[0]["name"] == "bokeh_session_id"
    ]
    operations = [operation for operation in everything if operation not in pages]
    to_pages, to_others = requests(pages, known, TOKEN), requests((*operations, *HIDDEN), known, TOKEN, BODIES_OF_PATHS)
    drawn_requests = st.integers(1, PAGE_SHARE).flatmap(lambda number: to_pages if number == PAGE_SHARE else to_others)
    statuses, reached = [], set()

    @settings(
        max_examples=count,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate, Phase.shrink],
    )
    @given(drawn_requests)
    def draw(request):
        statuses.append(checked(send(app, request, loop)).status)
        if statuses[-1] in (200, 201):
            reached.update(word for word in (request.path, *re.findall(rb'"kind": "(\w+)"', request.body)))

    draw()
    assert len(statuses) >= count
    assert {200, 201, 401, 403, 404, 405, 422} <= set(statuses)  # requests of every kind came through
    assert count < ENOUGH or {"/api/v1/runs/1/levels", "/api/v1/runs/3/levels", b"levels", b"chain"} <= reached


# --- what was found, one by one


@pytest.mark.parametrize("number", [LIMIT, -LIMIT - 1, 10**400])
@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/images/{}",
        "/api/v1/images?group={}",
        "/api/v1/images?after={}",
        "/api/v1/images/{}/history",
        "/api/v1/images/{}/around",
        "/api/v1/images/1/around?run={}",
        "/api/v1/runs/{}",
        "/api/v1/runs/{}/clusters",
        "/api/v1/jobs/{}",
        "/api/v1/selections/{}",
        "/api/v1/vocabularies/{}.csv",
        "/api/v1/exports/{}/file",
        "/thumbnails/image/{}/128.jpg",
        "/thumbnails/segment/x/{}/1/96.jpg",
    ],
)
def test_numbers_beyond_64_bits_are_rejected(ask, path, number):
    path, _, query = path.format(number).partition("?")
    assert ask("GET", f"{path}?{query}" if query else path).status in (404, 422)


def test_jobs_are_not_cancelled_by_numbers_beyond_64_bits(ask):
    for action in ("cancel", "retry"):
        assert ask("POST", f"/api/v1/jobs/{LIMIT}/{action}").status == 422


@pytest.mark.parametrize("origin", ["http://[", "http://[::1", "http://a]b", "//["])
def test_an_origin_that_is_no_address_is_not_ours(ask, origin):
    assert ask("GET", "/api/v1/jobs", origin=origin).status == 403


@pytest.mark.parametrize("name", ["\0", "css/\0", "a" * 5000, "a/" * 3000, "\ud800", "..", "%2e%2e%2f"])
def test_names_of_assets_that_no_file_can_have_are_not_found(ask, name):
    assert ask("GET", f"/assets/x/{encoded(name)}").status == 404


@pytest.mark.parametrize(
    "name", ["a" * 5000, "é" * 300 + ".csv", "a" * 300 + ".csv", "\0", "\ud800.csv", "..", "a." + "b" * 999]
)
def test_files_with_labels_may_have_any_name(ask, reef, name):
    token = json.loads(ask("PUT", f"/api/v1/label-files/{encoded(name)}", b"image,label\n").body)["token"]
    [stored] = [path for path in reef.folder.rglob("*") if path.is_file() and path.as_posix().endswith(token)]
    assert stored.read_bytes() == b"image,label\n"
    if name.endswith(".csv"):
        assert token.endswith(".csv")


@pytest.mark.parametrize(
    "body",
    [
        {"kind": "\ud800"},
        {"kind": "count", "title": "\0"},
        {"kind": "count", "parameters": {"steps": "\ud800"}},
        {"kind": "count", "parameters": {"\0": 1}},
        {"kind": "count", "parameters": {"steps": float("nan")}},
        {"kind": "count", "parameters": {"steps": 10**30}},
        {"kind": "count", "parameters": {"a": [["\udcff"]]}},
    ],
)
def test_a_job_with_values_that_cannot_be_stored_is_rejected(ask, body):
    answer = ask("POST", "/api/v1/jobs", json.dumps(body).encode())
    assert answer.status == 422 and json.loads(answer.body)["error"]["what"]
    assert json.loads(ask("GET", "/api/v1/jobs").body)["jobs"] == []


def test_a_job_with_deeply_nested_values_is_rejected(ask):
    body = b'{"kind": "count", "parameters": {"a": ' + b"[" * 400 + b"]" * 400 + b"}}"
    assert ask("POST", "/api/v1/jobs", body).status == 422


@pytest.mark.parametrize("name", ["\0", "\ud800", "Ann\0"])
def test_a_person_with_a_name_that_cannot_be_stored_is_rejected(ask, name):
    assert ask("POST", "/api/v1/people", json.dumps({"name": name}).encode()).status == 422


@pytest.mark.parametrize("name", ["\0", "sand\0", "\ud800", "Biota > \udcff"])
def test_a_term_with_a_name_that_cannot_be_stored_is_rejected(ask, reef, name):
    before = reef.vocabularies.all_terms()
    assert ask("POST", "/api/v1/terms", json.dumps({"name": name}).encode()).status == 422
    assert reef.vocabularies.all_terms() == before


@pytest.mark.parametrize("cookie", ["=", ";;;", 'a="\\', "bad name=1", "a=\x01\xff", "[]={}", 'a="\\777"'])
def test_a_malformed_cookie_gives_no_access(ask, cookie):
    assert ask("GET", "/library", authorization="", cookie=cookie).status == 401


def test_a_page_takes_malformed_cookies(ask):
    for cookie in (
        "a",
        "a; b",
        "bentho-person=%ff%00%ED%A0%80; bentho-theme=\xff",
        "[]={}",
        "path=x",
        'a="\\',
        "bad name=1",
    ):
        assert ask("GET", "/help", cookie=cookie).status == 200, cookie


def test_an_unknown_session_id_is_rejected(ask, app, loop):
    request = Request(
        "GET", "/help", "bokeh_session_id=", (("host", "localhost"), ("authorization", f"Bearer {TOKEN}"))
    )
    assert checked(send(app, request, loop)).status == 422


@pytest.mark.parametrize(
    "body",
    [
        {"task": 10**9},
        {"task": 2**70},
        {"groups": [10**9, 0, 0, 0]},
        {"groups": [2**70, 0, 0, 0]},
        {"groups": [0] * 100_000},
    ],
)
def test_an_answer_of_a_crowd_with_numbers_out_of_bounds_is_rejected_and_stored_nowhere(ask, reef, app, body):
    known = known_values(reef, reef.open_campaign, app)
    answer_body = {"task": known["task"][0], "submission": "abcdefgh", "groups": [0, 0, 1, 1], **body}
    answer = ask(
        "POST",
        f"/api/v1/crowd/work/{reef.open_campaign.link}/answers",
        json.dumps(answer_body).encode(),
        authorization=f"Bearer {known['secret'][0]}",
    )
    assert 400 <= answer.status < 500 and reef.crowd.answers(reef.open_campaign.id) == []


@pytest.mark.parametrize(
    "path",
    [
        "../../etc/passwd",
        "..%2F..%2F..%2Fetc/a/b/c",
        "antigravity/a/_css/c",
        "\0/a/_css/c",
        "panel/a/_css/c",
        "a",
        "",
        "////",
        "panel.widgets/Button/_resources/css/x",
        "panel.widgets/Button/_css/x",
        "panel.widgets/Button/_stylesheets/../x",
    ],
)
def test_resources_of_components_never_fail_and_import_nothing(ask, path):
    assert ask("GET", f"/components/{path.replace(chr(0), '%00')}").status in (400, 403, 404)
    assert "antigravity" not in sys.modules


def test_an_internal_error_is_a_500_with_the_headers_and_without_details(app, loop):
    @app.get("/broken")
    def broken():
        raise KeyError("a detail")

    request = Request("GET", "/broken", "", (("host", "localhost"), ("authorization", f"Bearer {TOKEN}")))
    answer = send(app, request, loop)
    assert answer.status == 500 and isinstance(answer.error, KeyError)  # raised again, so that the log has it
    assert SECURITY.items() <= answer.headers.items()
    assert set(json.loads(answer.body)["error"]) == {"where", "what", "remedy"} and b"detail" not in answer.body


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/library", {"authorization": ""}),
        ("/api/v1/jobs", {"origin": "http://evil.org"}),
        ("/nothing", {}),
        ("/health", {"host": "evil.org"}),
        ("/help?token=" + TOKEN, {}),
    ],
)
def test_rejections_have_the_security_headers_too(ask, path, headers):
    ask("GET", path, **headers)


# --- over a socket


@pytest.fixture(scope="module")
def served(app):
    """Return (host, port) of the application behind the real web server."""
    listener = listening("127.0.0.1")
    server = uvicorn.Server(uvicorn.Config(app, log_level="critical", http=Protocol, ws_max_size=1 << 20))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.05)
    yield listener.getsockname()
    server.should_exit = True
    thread.join(30)


@pytest.mark.parametrize(
    "text",
    [
        b"\0\0\0\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /\0 HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"nonsense\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        b"GET / HTTP/1.1\r\nbad header\r\n\r\n",
    ],
)
def test_bytes_that_are_no_request_are_rejected_with_the_security_headers(served, text):
    with socket.create_connection(served, 30) as connection:
        connection.sendall(text)
        received = b""
        while chunk := connection.recv(65536):
            received += chunk
    head = received.partition(b"\r\n\r\n")[0].decode("latin-1").lower()
    assert head.startswith("http/1.1 4"), received
    assert all(f"{name}: {value.lower()}" in head for name, value in SECURITY.items())


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"sec-websocket-protocol": "bokeh"},
        {"sec-websocket-protocol": "bokeh, nonsense"},
        {"sec-websocket-protocol": "bokeh, e30"},
        {"sec-websocket-protocol": "a, b, c"},
        {"sec-websocket-protocol": "bokeh, eyJzZXNzaW9uX2V4cGlyeSI6IDk5OTk5OTk5OTk5fQ"},
        {"authorization": "Bearer wrong"},
        {"origin": "http://["},
    ],
)
def test_a_websocket_without_a_session_is_rejected_with_the_security_headers(served, headers):
    base = f"http://{served[0]}:{served[1]}"
    answer = httpx.get(
        f"{base}/help/ws",
        headers={
            "authorization": f"Bearer {TOKEN}",
            "connection": "Upgrade",
            "upgrade": "websocket",
            "sec-websocket-version": "13",
            "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
            **headers,
        },
        timeout=30,
    )
    assert answer.status_code == (401 if "authorization" in headers else 403), answer
    assert SECURITY.items() <= dict(answer.headers).items()
    assert httpx.get(f"{base}/health", timeout=30).status_code == 200
