"""A lost connection is seen, refuses what cannot be done, and comes back by itself."""

import os
import signal
import socket
import stat
from urllib.parse import urlsplit

import httpx
import pytest

from benthoscope.engine.workspace import Workspace
from tests.browser.conftest import _close, copied, start_server
from tests.segmented_reef import made

SEEN_WITHIN = 3_000  # milliseconds
LOSS = ("ERR_", "WebSocket", "Lost websocket", "Failed to", "not connected", "401")  # errors that a lost server causes


@pytest.fixture
def folder(clustered, tmp_path):
    return copied(clustered, tmp_path)


@pytest.fixture
def servers(folder, contexts):
    """`servers(...)` starts a server on the same workspace; all are stopped at the end."""
    running = []

    def start(*words):
        running.append(start_server(folder, *words))
        return running[-1]

    yield start
    _close(contexts)
    for server in running:
        if server.process.poll() is None:
            server.stop()


def port_of(server):
    return str(urlsplit(server.address).port)


def free_port():
    """A port that no other server takes by itself while ours is down."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


def kill(server):
    """As a crash or a power cut does: without a word to the browser."""
    os.kill(server.process.pid, signal.SIGKILL)
    server.process.wait(30)


@pytest.fixture
def lost(tab, servers):
    """A Review page whose server was killed: (page, port, address)."""
    server = servers("--port", free_port())
    page = tab("review", server)
    page.watch.expected += LOSS
    page.get_by_role("button", name="Next").wait_for()
    page.keyboard.press("n")
    page.get_by_role("heading", name="Cluster 1,").wait_for()
    address = page.url
    kill(server)
    return page, port_of(server), address


def test_a_killed_server_is_seen_within_three_seconds_and_keys_and_clicks_are_refused_visibly(lost, screenshot):
    page, _, address = lost
    banner = page.get_by_role("alert").filter(has_text="Connection lost")
    banner.wait_for(timeout=SEEN_WITHIN)
    page.keyboard.press("n")
    page.keyboard.press("?")
    page.mouse.click(700, 400)
    banner.get_by_text("3 actions ignored").wait_for()
    assert page.url == address and page.get_by_role("dialog", name="Keyboard shortcuts").count() == 0
    screenshot(page, "connection-lost")


def test_after_a_restart_the_page_comes_back_to_the_same_place_and_works(lost, servers):
    page, port, address = lost
    page.get_by_text("Connection lost").wait_for(timeout=SEEN_WITHIN)
    servers("--port", port)
    page.get_by_text("Connection lost").wait_for(state="hidden")
    page.get_by_role("heading", name="Cluster 1,").wait_for()
    assert page.url == address
    assert len(page.evaluate("JSON.parse(sessionStorage.getItem('bentho-reconnected')).reloads")) == 1
    page.keyboard.press("n")
    page.wait_for_url(lambda url: url != address)


def test_a_server_that_does_not_answer_is_seen_and_what_is_typed_meanwhile_is_done_later(tab, servers):
    server = servers()
    page = tab("review", server)
    page.get_by_role("button", name="Next").wait_for()
    server.process.send_signal(signal.SIGSTOP)
    try:
        page.get_by_text("The server does not answer.").wait_for(timeout=SEEN_WITHIN)
        page.keyboard.press("n")
    finally:
        server.process.send_signal(signal.SIGCONT)
    page.wait_for_url("**cluster=1**")
    page.get_by_text("The server does not answer.").wait_for(state="hidden")


def test_after_a_restart_with_a_new_token_the_page_asks_for_it(lost, servers, screenshot):
    page, port, address = lost
    page.get_by_text("Connection lost").wait_for(timeout=SEEN_WITHIN)
    server = servers("--port", port, "--new-token")
    page.get_by_role("heading", name="Enter the access token").wait_for()
    screenshot(page, "token-page")
    page.get_by_label("Link or token").fill("nonsense")
    page.get_by_role("button", name="Open", exact=True).click()
    page.get_by_role("alert").get_by_text("not valid").wait_for()
    page.get_by_label("Link or token").fill(f"  {server.address}  ")
    page.get_by_role("button", name="Open", exact=True).click()
    page.get_by_role("heading", name="Cluster 1,").wait_for()
    assert page.url == address


def test_a_restart_keeps_the_token_in_a_file_that_only_its_owner_reads(servers, folder):
    first = servers("--port", free_port())
    first.stop()
    second = servers("--port", port_of(first))
    assert second.address == first.address
    path = folder / "server-token"
    assert path.read_text().strip() == first.token and stat.S_IMODE(path.stat().st_mode) == 0o600
    second.stop()
    third = servers("--port", port_of(first), "--new-token")
    assert third.token != first.token
    assert httpx.get(first.address, headers={"accept": "text/html"}).status_code == 401
    with Workspace.open(folder) as workspace:
        assert workspace.library.count_images() > 0


SAME_PICTURES = """async (addresses) => {
  const bytes = async (address, cache) => String(new Uint8Array(await (await fetch(address, {cache})).arrayBuffer()))
  const same = async (address) => (await bytes(address, "default")) === (await bytes(address, "no-store"))
  return Promise.all(addresses.map(same))
}"""


def test_a_browser_that_has_seen_another_workspace_at_this_address_shows_the_images_of_this_one(tab, servers, tmp_path):
    """Browsers keep thumbnails for a year, and the images of both workspaces have the same numbers."""
    first = servers("--port", free_port())
    page = tab("explore", first)
    page.locator(".tile img").first.wait_for()
    page.goto(f"{first.base}/health")
    first.stop()
    reef = made(tmp_path)
    second = start_server(reef.workspace.folder, "--no-jobs", "--port", port_of(first))
    page.context.add_cookies([{"name": second.cookie, "value": second.token, "url": second.base}])
    page.goto(f"{second.base}/explore")
    page.locator(".tile img").first.wait_for()
    addresses = page.locator(".tile img").evaluate_all("images => images.map((image) => image.src)")
    assert addresses and all(page.evaluate(SAME_PICTURES, addresses))
    page.close()
    second.stop()
    reef.workspace.close()
