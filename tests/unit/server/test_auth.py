"""Who may come in."""

import httpx
import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute

from app.auth import FOREIGN, STRANGER, Door, Guard, cookie_name, hostname
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
        scope = {"type": "websocket", "path": "/ws", "query_string": b"", "subprotocols": [], "headers": [
            (name.encode(), value.encode()) for name, value in {"host": "localhost:8642", **headers}.items()]}
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
    assert answer.status_code == 401 and "open the link" in answer.text
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


@pytest.mark.parametrize(("host", "name"), [
    ("localhost:8642", "localhost"), ("[::1]:8642", "::1"), ("VESSEL", "vessel"), ("", ""), ("[::1", "")])
def test_the_name_in_a_host_header_is_read_without_port_and_brackets(host, name):
    assert hostname(host) == name


def test_servers_of_two_workspaces_do_not_take_each_others_cookie():
    names = {cookie_name("one"), cookie_name("other")}
    assert len(names) == 2 and cookie_name("one") in names
    assert all(name.replace("-", "").isalnum() for name in names)
