"""Access with and without the token."""

import stat

import httpx
import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute

from benthoscope.app.server.access import (
    FOREIGN,
    STRANGER,
    TOKEN_FILE,
    Door,
    Guard,
    cookie_name,
    hostname,
    network_location,
    pasted_token,
    with_usable_cookies,
    workspace_token,
)
from tests.loops import outcome

TOKEN = "a-secret-nobody-guesses"


async def hello(request):
    return PlainTextResponse("in")


async def echo(socket):
    await socket.accept()
    await socket.close()


def guarded(door):
    inner = Starlette(routes=[Route("/health", hello), Route("/{path:path}", hello), WebSocketRoute("/ws", echo)])
    return Guard(inner, door, "benthoscope")


def ask(path, door=None, *, host="localhost:8642", **headers):
    async def asked():
        transport = httpx.ASGITransport(guarded(door or Door(TOKEN)))
        async with httpx.AsyncClient(transport=transport, base_url=f"http://{host}") as client:
            return await client.get(path, headers=headers)

    return outcome(asked())


def socket_code(door=None, **headers):
    """The code a websocket is closed with before it was accepted; None where it was accepted."""
    sent = []

    async def asked():
        scope = {
            "type": "websocket",
            "path": "/ws",
            "query_string": b"",
            "subprotocols": [],
            "headers": [
                (name.encode(), value.encode()) for name, value in {"host": "localhost:8642", **headers}.items()
            ],
        }
        waiting = iter([{"type": "websocket.connect"}, {"type": "websocket.disconnect"}])

        async def receive():
            return next(waiting)

        async def send(message):
            sent.append(message)

        await guarded(door or Door(TOKEN))(scope, receive, send)

    outcome(asked())
    return None if sent[0]["type"] == "websocket.accept" else sent[0]["code"]


def test_without_token_nobody_comes_in_and_is_told_what_to_do():
    answer = ask("/library", accept="text/html")
    assert answer.status_code == 401 and "Enter the access token" in answer.text
    assert set(ask("/api/v1/jobs").json()["error"]) == {"where", "what", "remedy"}


def test_the_token_in_the_address_becomes_a_cookie_that_scripts_cannot_read_and_leaves_the_address():
    answer = ask(f"/explore?run=3&token={TOKEN}")
    assert (answer.status_code, answer.headers["location"]) == (303, "/explore?run=3")
    assert "httponly" in answer.headers["set-cookie"].lower() and "samesite=lax" in answer.headers["set-cookie"].lower()
    assert ask("/explore", cookie=f"benthoscope={TOKEN}").text == "in"


def test_a_path_with_two_slashes_does_not_lead_to_another_host():
    assert ask(f"http://localhost:8642//evil.org/x?token={TOKEN}").headers["location"] == "/evil.org/x"


def test_scripts_send_the_token_as_bearer():
    assert ask("/api/v1/jobs", authorization=f"Bearer {TOKEN}").status_code == 200
    assert ask("/api/v1/jobs", authorization="Bearer wrong").status_code == 401


@pytest.mark.parametrize("cookie", ["benthoscope=wrong", "benthoscope=", "garbage;;==", "benthoscope=\x01"])
def test_a_wrong_cookie_is_no_key(cookie):
    assert ask("/library", cookie=cookie).status_code == 401


def test_health_needs_no_token():
    assert ask("/health").status_code == 200


def test_a_page_of_another_site_is_refused_even_with_the_cookie():
    assert ask("/api/v1/jobs", cookie=f"benthoscope={TOKEN}", origin="http://evil.org").status_code == 403
    assert socket_code(cookie=f"benthoscope={TOKEN}", origin="http://evil.org") == FOREIGN


def test_a_name_that_leads_to_this_machine_is_refused_on_loopback():
    assert ask("/health", host="rebound.evil.org:8642").status_code == 403
    assert ask("/health", Door(TOKEN, hosts=None), host="vessel:8642").status_code == 200


def test_websockets_need_the_token_too():
    assert socket_code() == STRANGER
    assert socket_code(cookie=f"benthoscope={TOKEN}", origin="http://localhost:8642") is None


def test_without_a_token_the_door_is_open_to_pages_of_this_server_only():
    assert ask("/library", Door("")).status_code == 200
    assert ask("/library", Door(""), origin="http://evil.org").status_code == 403


@pytest.mark.parametrize(
    ("host", "name"),
    [("localhost:8642", "localhost"), ("[::1]:8642", "::1"), ("VESSEL", "vessel"), ("", ""), ("[::1", "")],
)
def test_the_name_in_a_host_header_is_read_without_port_and_brackets(host, name):
    assert hostname(host) == name


def test_servers_of_two_workspaces_do_not_take_each_others_cookie():
    names = {cookie_name("one"), cookie_name("other")}
    assert len(names) == 2 and cookie_name("one") in names
    assert all(name.replace("-", "").isalnum() for name in names)


def test_a_browser_without_the_token_gets_a_page_that_needs_no_other_file_and_keeps_the_address():
    answer = ask("/explore?run=3&q=a%22%3Cb", accept="text/html")
    assert answer.status_code == 401 and answer.headers["content-type"].startswith("text/html")
    assert 'action="/explore"' in answer.text and '<input type="hidden" name="run" value="3">' in answer.text
    assert 'value="a&quot;&lt;b"' in answer.text and 'a"<b' not in answer.text
    assert not any(text in answer.text for text in ("<script", "<link", "src=", "http://", "https://", "{{"))
    assert "not valid" not in answer.text


@pytest.mark.parametrize("path", ["/%22%3E%3Cscript%3E", "/x?%22%3E%3Cscript%3E=%22%3E%3Cscript%3E", "//evil.org/x"])
def test_the_token_page_takes_no_markup_and_no_other_host_from_the_address(path):
    text = ask(f"http://localhost:8642{path}", accept="text/html").text
    assert "<script" not in text and 'action="//' not in text


def test_a_wrong_token_is_said_to_be_wrong():
    assert "not valid" in ask("/library?token=nonsense", accept="text/html").text


@pytest.mark.parametrize(
    "pasted",
    [
        TOKEN,
        f"http://localhost:8642/?token={TOKEN}",
        f" {TOKEN} ",
        f"http://localhost:8642/explore?token={TOKEN}&run=3",
    ],
)
def test_a_token_or_a_whole_link_can_be_pasted(pasted):
    assert pasted_token(pasted) == TOKEN
    assert ask(f"/explore?run=3&token={httpx.QueryParams(t=pasted)['t'].replace('&', '%26')}").status_code == 303


@pytest.mark.parametrize(
    ("address", "place"),
    [
        ("http://localhost:8642", "localhost:8642"),
        ("HTTP://Vessel/x", "vessel"),
        ("null", ""),
        ("http://[", None),
        ("http://a]b", None),
    ],
)
def test_an_origin_gives_host_and_port_or_nothing(address, place):
    assert network_location(address) == place


def test_cookies_whose_names_are_none_are_left_out():
    scope = {"headers": [(b"cookie", b'a=1; []={}; Path=x; b="2"; bad name=3; =4'), (b"host", b"x")]}
    assert with_usable_cookies(scope)["headers"] == [(b"cookie", b'a=1; b="2"'), (b"host", b"x")]


# --- the token of a workspace


def test_a_workspace_keeps_its_token_where_only_its_owner_reads_it(tmp_path):
    token = workspace_token(tmp_path)
    assert len(token) >= 32 and workspace_token(tmp_path) == token
    path = tmp_path / TOKEN_FILE
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.chmod(0o644)
    assert workspace_token(tmp_path) == token and stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_new_token_replaces_the_old_one(tmp_path):
    before = workspace_token(tmp_path)
    after = workspace_token(tmp_path, new=True)
    assert after != before and workspace_token(tmp_path) == after
    assert [path.name for path in tmp_path.iterdir()] == [TOKEN_FILE]


@pytest.mark.parametrize("content", [b"", b"\n", b"short", b"two words here", b"\xff\xfe", b"x" * 1000])
def test_a_damaged_token_file_is_replaced(tmp_path, content):
    (tmp_path / TOKEN_FILE).write_bytes(content)
    token = workspace_token(tmp_path)
    assert len(token) >= 32 and workspace_token(tmp_path) == token


def test_a_folder_that_cannot_be_written_gets_a_token_for_this_start(tmp_path):
    token = workspace_token(tmp_path / "missing")
    assert len(token) >= 32 and token != workspace_token(tmp_path / "missing")
