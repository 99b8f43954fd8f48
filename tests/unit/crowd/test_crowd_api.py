"""The interface behind a crowd link: what it gives, and what it refuses, tells and notes."""

import hashlib
import io

import numpy as np
import pytest
from fastapi.testclient import TestClient
from PIL import Image
from starlette.websockets import WebSocketDisconnect

from app.api.crowd import BODY_AT_MOST
from app.api.memory import Memory
from app.api.rates import Permits, Rate
from app.auth import STRANGER
from app.server import ServerSettings, create_app
from engine.workspace import NewImage, Workspace
from engine.workspace import crowd as crowd_module
from engine.workspace.crowd_records import NewTask, Settings

TOKEN = "t" * 24
NASTY = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def reef(tmp_path_factory):
    folder = tmp_path_factory.mktemp("crowd")
    with Workspace.create(folder / "reef") as made:
        group = made.library.group(made.library.collection("dives").id, "one")
        root = made.library.register_root(folder)
        made.ids = made.library.store_images([_picture(folder, root.id, group.id, number) for number in range(8)])
        yield made


def _picture(folder, root, group, number):
    held = io.BytesIO()
    Image.fromarray(np.full((60, 80, 3), 20 * number, np.uint8)).save(held, "JPEG")
    (folder / f"picture-{number}.jpg").write_bytes(held.getvalue())
    sha = hashlib.sha256(held.getvalue()).hexdigest()
    return NewImage(root, f"picture-{number}.jpg", group, len(held.getvalue()), 1, sha, 80, 60)


@pytest.fixture(scope="module")
def application(reef):
    return create_app(reef, ServerSettings(token=TOKEN, run_jobs=False))


@pytest.fixture
def client(application):
    """A browser without the server's token, with all permits, at a server that remembers nothing."""
    application.state.crowd_permits, application.state.crowd_memory = Permits(), Memory()
    return TestClient(application, base_url="http://127.0.0.1")


@pytest.fixture
def campaign(reef, request):
    made = reef.crowd.create(request.node.name, np.array(reef.ids), Settings(size=4, repeats=3, title=NASTY))
    reef.crowd.add_tasks(made.id, [NewTask((0, 1, 2, 3), 3), NewTask((4, 5, 6, 7), 3)])
    return reef.crowd.change(made.id, "open")


@pytest.fixture
def work(campaign):
    return f"/api/v1/crowd/work/{campaign.link}"


def join(client, work):
    found = client.post(f"{work}/join", json={"consent": True, "nickname": "Ann"})
    assert found.status_code == 200, found.text
    return {"authorization": f"Bearer {found.json()['secret']}"}


def refusals(reef, campaign):
    """Refusals are noted without making anybody wait; a write after them finds them done."""
    reef.catalogue.write(lambda connection: None)
    return reef.crowd.refusals(campaign.id)


def problem(answer):
    return "{where} {what}".format(**answer.json()["error"])


def an_answer(task=1, submission="abcdefgh", groups=(0, 0, 1, 1)):
    return {"task": task, "submission": submission, "groups": list(groups)}


def test_a_link_is_enough_to_join_work_and_look(client, campaign, work, reef):
    told = client.get(work).json()
    assert told["title"] == NASTY and told["state"] == "open" and "consent" in told
    me = join(client, work)
    task = client.post(f"{work}/tasks", json={}, headers=me).json()["task"]
    assert len(task["images"]) == 4
    shown = client.get(task["images"][0]["small"])
    assert shown.headers["content-type"] == "image/jpeg" and Image.open(io.BytesIO(shown.content)).size == (80, 60)
    receipt = client.post(f"{work}/answers", json=an_answer(task["task"]), headers=me)
    assert receipt.json() == {"done": 1, "again": False, "stopped": False}
    assert len(reef.crowd.answers(campaign.id)) == 1


def test_answers_tell_no_names_hashes_or_ids_of_images(client, work, reef):
    me = join(client, work)
    text = client.post(f"{work}/tasks", json={}, headers=me).text
    for image in reef.library.images(reef.ids):
        assert image.sha256 not in text and image.path not in text


def test_a_link_opens_nothing_else_of_the_server(client, work):
    me = join(client, work)
    for address in ("/api/v1/images", "/api/v1/workspace", "/api/v1/people", "/", "/thumbnails/image/1/320.jpg",
                    "/api/v1/crowd/../images"):
        assert client.get(address, headers=me).status_code == 401, address


def test_a_link_opens_no_socket(client, campaign):
    for path in ("/crowd/ws", f"/crowd/{campaign.link}"):
        with pytest.raises(WebSocketDisconnect) as closed, client.websocket_connect(f"ws://127.0.0.1{path}"):
            pass
        assert closed.value.code == STRANGER, path


def test_the_images_of_others_tasks_stay_closed(client, campaign, work, reef):
    me, other = join(client, work), join(client, work)
    mine = client.post(f"{work}/tasks", json={}, headers=me).json()["task"]["images"][0]["small"]
    theirs = client.post(f"{work}/tasks", json={}, headers=other).json()["task"]["images"][0]["small"]
    key, wrong = mine.split("/")[-3], theirs.split("/")[-3]
    assert key != wrong and len(key) >= 20
    assert client.get(mine.replace(key, key[:-1] + ("A" if key[-1] != "A" else "B"))).status_code == 404
    assert client.get(mine.replace("/0/320", "/4/320")).status_code == 404
    assert client.get(mine.replace("/0/320", "/0/128")).status_code == 404
    second = reef.crowd.create("second", np.array(reef.ids), Settings(size=4))
    reef.crowd.change(second.id, "open")
    assert client.get(mine.replace(campaign.link, second.link)).status_code == 404


@pytest.mark.parametrize("link", ["x" * 32, "%2e%2e", "' OR 1=1 --", "🐙"])
def test_made_up_links_lead_nowhere(client, link):
    for path in ("", "/tasks", "/answers", "/join"):
        ask = client.get if not path else client.post
        found = ask(f"/api/v1/crowd/work/{link}{path}")
        assert found.status_code == 404 and "error" in found.json()


def test_an_expired_link_says_so(client, campaign, work, monkeypatch):
    later = crowd_module.now() + 90 * 86_400
    monkeypatch.setattr(crowd_module, "now", lambda: later)
    found = client.get(work)
    assert found.status_code == 410 and problem(found) == "link has expired"


def test_forged_secrets_are_refused_and_noted(client, campaign, work, reef):
    for secret in ("", "Bearer", "Bearer guess", "Basic guess"):
        found = client.post(f"{work}/tasks", json={}, headers={"authorization": secret})
        assert found.status_code == 401 and "not known here" in problem(found)
    assert len(refusals(reef, campaign)) == 4


def test_nobody_joins_without_consent(client, campaign, work, reef):
    for body in ({"consent": False}, {}, {"consent": "yes"}, {"consent": True, "admin": True}):
        assert client.post(f"{work}/join", json=body).status_code == 422
    assert not reef.crowd.workers(campaign.id)


def test_answers_out_of_order_forged_or_replayed_are_refused_told_and_noted(client, campaign, work, reef):
    me, other = join(client, work), join(client, work)
    early = client.post(f"{work}/answers", json=an_answer(), headers=me)
    assert early.status_code == 409 and "not given" in problem(early)
    task = client.post(f"{work}/tasks", json={}, headers=me).json()["task"]["task"]
    stolen = client.post(f"{work}/answers", json=an_answer(task), headers=other)
    assert stolen.status_code == 409
    first = client.post(f"{work}/answers", json=an_answer(task), headers=me)
    again = client.post(f"{work}/answers", json=an_answer(task), headers=me)
    assert first.status_code == again.status_code == 200 and again.json()["again"]
    changed = client.post(f"{work}/answers", json=an_answer(task, groups=(0, 1, 0, 1)), headers=me)
    assert changed.status_code == 409 and "second one" in problem(changed)
    assert len(reef.crowd.answers(campaign.id)) == 1
    noted = [(refusal.worker, refusal.what) for refusal in reversed(refusals(reef, campaign))]
    assert [who for who, _ in noted] == [0, 1, 0] and "second one" in noted[-1][1]


@pytest.mark.parametrize(("body", "status"), [
    (b"{", 422), (b"[]", 422), (b"\xff\xfe", 422), (b"x" * (BODY_AT_MOST + 1), 413),
    (b'{"task": 1, "submission": "abcdefgh", "groups": [0, 0, 1]}', 422),
    (b'{"task": 1, "submission": "abcdefgh", "groups": [0, 0, 1, 1e9]}', 422),
    (b'{"task": 1, "submission": "abcdefgh", "groups": [0, 0, 1, true]}', 422),
    (b'{"task": "1", "submission": "abcdefgh", "groups": [0, 0, 1, 1]}', 422),
    (b'{"task": 1, "submission": "<script>", "groups": [0, 0, 1, 1]}', 422),
    (b'{"task": 1, "submission": "abcdefgh", "groups": [0, 0, 1, 1], "worker": 0}', 422),
    (b'{"task": 1, "submission": "abcdefgh", "groups": ' + b"[" * 5000 + b"]" * 5000 + b"}", 422),
])
def test_oversized_and_senseless_answers_are_refused_in_one_line(client, campaign, work, reef, body, status):
    me = join(client, work)
    client.post(f"{work}/tasks", json={}, headers=me)
    found = client.post(f"{work}/answers", content=body, headers=me)
    assert found.status_code == status
    assert len(problem(found)) < 400 and "Traceback" not in found.text
    assert not reef.crowd.answers(campaign.id) and refusals(reef, campaign)


def test_who_asks_too_fast_is_told_to_wait(client, work):
    me = join(client, work)
    codes = [client.post(f"{work}/tasks", json={}, headers=me).status_code for _ in range(70)]
    assert codes[:50] == [200] * 50 and codes[-1] == 429


def test_guessing_links_is_slowed_down(client):
    codes = [client.get(f"/api/v1/crowd/work/guess{number}").status_code for number in range(25)]
    assert codes[0] == 404 and codes[-1] == 429


def test_permits_come_back_with_time():
    at = [0.0]
    permits, rate = Permits(clock=lambda: at[0]), Rate(burst=2, per_second=0.5)
    assert [permits.wait("a", rate) for _ in range(3)] == [0, 0, pytest.approx(2)]
    assert permits.wait("b", rate) == 0
    at[0] = 2.0
    assert permits.wait("a", rate) == 0 and permits.wait("a", rate) > 0


def test_what_is_kept_for_a_moment_is_asked_anew_after_it():
    at, asked = [0.0], []
    memory = Memory(clock=lambda: at[0])
    for now, told in ((0.0, 1), (0.4, 1), (0.6, 2)):
        at[0] = now
        assert memory.obtain("link", lambda: asked.append(1) or len(asked), 0.5) == told


def test_the_page_is_the_same_for_every_link_and_holds_no_text_of_others(client, campaign):
    pages = {client.get(f"/crowd/{link}").text for link in (campaign.link, "made-up", "%3Cscript%3E")}
    assert len(pages) == 1
    page = client.get(f"/crowd/{campaign.link}")
    assert NASTY not in page.text and "script-src 'self';" in page.headers["content-security-policy"]
    assert "unsafe-inline" not in page.headers["content-security-policy"]
    for word in page.text.split('"'):
        if word.startswith("/crowd/files/"):
            assert client.get(word).status_code == 200
    assert client.get("/crowd/files/x/crowd.html").status_code == 404
    assert client.get("/crowd/files/x/..%2F__init__.py").status_code == 404


def test_text_of_others_is_sent_as_json_and_never_as_a_page(client, work):
    found = client.get(work)
    assert found.headers["content-type"] == "application/json" and found.headers["x-content-type-options"] == "nosniff"


def test_a_nickname_is_kept_short_and_as_text(client, campaign, work, reef):
    client.post(f"{work}/join", json={"consent": True, "nickname": NASTY + " " + "x" * 100})
    assert reef.crowd.workers(campaign.id)[0].nickname == (NASTY + " " + "x" * 100)[:40]
