"""The interface behind a crowd link: its responses, rejections and logs."""

import hashlib
import io

import numpy as np
import pytest
from fastapi.testclient import TestClient
from PIL import Image
from starlette.websockets import WebSocketDisconnect

from benthoscope.app.api.common import Permits, Rate
from benthoscope.app.api.crowd import BODY_AT_MOST
from benthoscope.app.server.application import ServerSettings, create_app
from benthoscope.app.session.cache import Memory
from benthoscope.engine.workspace import NewImage, Workspace
from benthoscope.engine.workspace.crowd import store as crowd_module
from benthoscope.engine.workspace.crowd.records import CampaignSettings, NewTask

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
    buffer = io.BytesIO()
    Image.fromarray(np.full((60, 80, 3), 20 * number, np.uint8)).save(buffer, "JPEG")
    (folder / f"picture-{number}.jpg").write_bytes(buffer.getvalue())
    sha = hashlib.sha256(buffer.getvalue()).hexdigest()
    return NewImage(root, f"picture-{number}.jpg", group, len(buffer.getvalue()), 1, sha, 80, 60)


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
    made = reef.crowd.create(request.node.name, np.array(reef.ids), CampaignSettings(size=4, repeats=3, title=NASTY))
    reef.crowd.add_tasks(made.id, [NewTask((0, 1, 2, 3), 3), NewTask((4, 5, 6, 7), 3)])
    return reef.crowd.change(made.id, "open")


@pytest.fixture
def campaign_url(campaign):
    return f"/api/v1/crowd/work/{campaign.link}"


def join(client, task):
    response = client.post(f"{task}/join", json={"consent": True, "nickname": "Ann"})
    assert response.status_code == 200, response.text
    return {"authorization": f"Bearer {response.json()['secret']}"}


def refusals(reef, campaign):
    """Refusals are noted without making anybody wait; a write after them finds them done."""
    reef.catalogue.write(lambda connection: None)
    return reef.crowd.refusals(campaign.id)


def problem(answer):
    return "{where} {what}".format(**answer.json()["error"])


def an_answer(task=1, submission="abcdefgh", groups=(0, 0, 1, 1)):
    return {"task": task, "submission": submission, "groups": list(groups)}


def test_a_link_is_enough_to_join_answer_and_see_images(client, campaign, campaign_url, reef):
    content = client.get(campaign_url).json()
    assert content["title"] == NASTY and content["state"] == "open" and "consent" in content
    me = join(client, campaign_url)
    task = client.post(f"{campaign_url}/tasks", json={}, headers=me).json()["task"]
    assert len(task["images"]) == 4
    shown = client.get(task["images"][0]["small"])
    assert shown.headers["content-type"] == "image/jpeg" and Image.open(io.BytesIO(shown.content)).size == (80, 60)
    receipt = client.post(f"{campaign_url}/answers", json=an_answer(task["task"]), headers=me)
    assert receipt.json() == {"done": 1, "again": False, "stopped": False}
    assert len(reef.crowd.answers(campaign.id)) == 1


def test_responses_contain_no_names_hashes_or_ids_of_images(client, campaign_url, reef):
    me = join(client, campaign_url)
    text = client.post(f"{campaign_url}/tasks", json={}, headers=me).text
    for image in reef.library.images(reef.ids):
        assert image.sha256 not in text and image.path not in text


def test_a_link_opens_nothing_else_of_the_server(client, campaign_url):
    me = join(client, campaign_url)
    for address in (
        "/api/v1/images",
        "/api/v1/workspace",
        "/api/v1/people",
        "/",
        "/thumbnails/image/1/320.jpg",
        "/api/v1/crowd/../images",
    ):
        assert client.get(address, headers=me).status_code == 401, address


def test_a_link_opens_no_socket(client, campaign):
    for path in ("/crowd/ws", f"/crowd/{campaign.link}"):
        with pytest.raises(WebSocketDisconnect) as closed, client.websocket_connect(f"ws://127.0.0.1{path}"):
            pass
        assert closed.value.status_code == 401, path


def test_images_of_other_peoples_tasks_are_not_accessible(client, campaign, campaign_url, reef):
    me, other = join(client, campaign_url), join(client, campaign_url)
    small = client.post(f"{campaign_url}/tasks", json={}, headers=me).json()["task"]["images"][0]["small"]
    theirs = client.post(f"{campaign_url}/tasks", json={}, headers=other).json()["task"]["images"][0]["small"]
    key, wrong = small.split("/")[-3], theirs.split("/")[-3]
    assert key != wrong and len(key) >= 20
    assert client.get(small.replace(key, key[:-1] + ("A" if key[-1] != "A" else "B"))).status_code == 404
    assert client.get(small.replace("/0/320", "/4/320")).status_code == 404
    assert client.get(small.replace("/0/320", "/0/128")).status_code == 404
    second = reef.crowd.create("second", np.array(reef.ids), CampaignSettings(size=4))
    reef.crowd.change(second.id, "open")
    assert client.get(small.replace(campaign.link, second.link)).status_code == 404


@pytest.mark.parametrize("link", ["x" * 32, "%2e%2e", "' OR 1=1 --", "🐙"])
def test_invented_links_are_not_found(client, link):
    for path in ("", "/tasks", "/answers", "/join"):
        ask = client.get if not path else client.post
        response = ask(f"/api/v1/crowd/work/{link}{path}")
        assert response.status_code == 404 and "error" in response.json()


def test_an_expired_link_gives_a_clear_error(client, campaign, campaign_url, monkeypatch):
    later = crowd_module.current_time() + 90 * 86_400
    monkeypatch.setattr(crowd_module, "current_time", lambda: later)
    response = client.get(campaign_url)
    assert response.status_code == 410 and problem(response) == "link has expired"


def test_forged_secrets_are_rejected_and_logged(client, campaign, campaign_url, reef):
    for secret in ("", "Bearer", "Bearer guess", "Basic guess"):
        response = client.post(f"{campaign_url}/tasks", json={}, headers={"authorization": secret})
        assert response.status_code == 401 and "is not known" in problem(response)
    assert len(refusals(reef, campaign)) == 4


def test_joining_needs_consent(client, campaign, campaign_url, reef):
    for body in ({"consent": False}, {}, {"consent": "yes"}, {"consent": True, "admin": True}):
        assert client.post(f"{campaign_url}/join", json=body).status_code == 422
    assert not reef.crowd.workers(campaign.id)


def test_answers_out_of_order_forged_or_replayed_are_rejected_and_logged(client, campaign, campaign_url, reef):
    me, other = join(client, campaign_url), join(client, campaign_url)
    early = client.post(f"{campaign_url}/answers", json=an_answer(), headers=me)
    assert early.status_code == 409 and "not given" in problem(early)
    task = client.post(f"{campaign_url}/tasks", json={}, headers=me).json()["task"]["task"]
    stolen = client.post(f"{campaign_url}/answers", json=an_answer(task), headers=other)
    assert stolen.status_code == 409
    first = client.post(f"{campaign_url}/answers", json=an_answer(task), headers=me)
    again = client.post(f"{campaign_url}/answers", json=an_answer(task), headers=me)
    assert first.status_code == again.status_code == 200 and again.json()["again"]
    changed = client.post(f"{campaign_url}/answers", json=an_answer(task, groups=(0, 1, 0, 1)), headers=me)
    assert changed.status_code == 409 and "second one" in problem(changed)
    assert len(reef.crowd.answers(campaign.id)) == 1
    noted = [(refusal.worker, refusal.what) for refusal in reversed(refusals(reef, campaign))]
    assert [person for person, _ in noted] == [0, 1, 0] and "second one" in noted[-1][1]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"{", 422),
        (b"[]", 422),
        (b"\xff\xfe", 422),
        (b"x" * (BODY_AT_MOST + 1), 413),
        (b'{"task": 1, "submission": "abcdefgh", "groups": [0, 0, 1]}', 422),
        (b'{"task": 1, "submission": "abcdefgh", "groups": [0, 0, 1, 1e9]}', 422),
        (b'{"task": 1, "submission": "abcdefgh", "groups": [0, 0, 1, true]}', 422),
        (b'{"task": "1", "submission": "abcdefgh", "groups": [0, 0, 1, 1]}', 422),
        (b'{"task": 1, "submission": "<script>", "groups": [0, 0, 1, 1]}', 422),
        (b'{"task": 1, "submission": "abcdefgh", "groups": [0, 0, 1, 1], "worker": 0}', 422),
        (b'{"task": 1, "submission": "abcdefgh", "groups": ' + b"[" * 5000 + b"]" * 5000 + b"}", 422),
    ],
)
def test_oversized_and_invalid_answers_give_a_one_line_error(client, campaign, campaign_url, reef, body, status):
    me = join(client, campaign_url)
    client.post(f"{campaign_url}/tasks", json={}, headers=me)
    response = client.post(f"{campaign_url}/answers", content=body, headers=me)
    assert response.status_code == status
    assert len(problem(response)) < 400 and "Traceback" not in response.text
    assert not reef.crowd.answers(campaign.id) and refusals(reef, campaign)


def test_too_many_requests_are_asked_to_wait(client, campaign_url):
    me = join(client, campaign_url)
    codes = [client.post(f"{campaign_url}/tasks", json={}, headers=me).status_code for _ in range(70)]
    assert codes[:50] == [200] * 50 and codes[-1] == 429


def test_guessing_links_is_slowed_down(client):
    codes = [client.get(f"/api/v1/crowd/work/guess{number}").status_code for number in range(25)]
    assert codes[0] == 404 and codes[-1] == 429


def test_request_permits_are_renewed_over_time():
    at = [0.0]
    permits, rate = Permits(clock=lambda: at[0]), Rate(burst=2, per_second=0.5)
    assert [permits.wait("a", rate) for _ in range(3)] == [0, 0, pytest.approx(2)]
    assert permits.wait("b", rate) == 0
    at[0] = 2.0
    assert permits.wait("a", rate) == 0 and permits.wait("a", rate) > 0


def test_cached_values_are_loaded_again_after_they_expire():
    at, asked = [0.0], []
    memory = Memory(clock=lambda: at[0])
    for moment, answer in ((0.0, 1), (0.4, 1), (0.6, 2)):
        at[0] = moment
        assert memory.obtain("link", lambda: asked.append(1) or len(asked), 0.5) == answer


def test_the_page_is_the_same_for_every_link_and_contains_no_user_text(client, campaign):
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


def test_user_text_is_sent_as_json_and_never_as_html(client, campaign_url):
    response = client.get(campaign_url)
    assert (
        response.headers["content-type"] == "application/json"
        and response.headers["x-content-type-options"] == "nosniff"
    )


def test_a_nickname_is_kept_short_and_as_text(client, campaign, campaign_url, reef):
    client.post(f"{campaign_url}/join", json={"consent": True, "nickname": NASTY + " " + "x" * 100})
    assert reef.crowd.workers(campaign.id)[0].nickname == (NASTY + " " + "x" * 100)[:40]
