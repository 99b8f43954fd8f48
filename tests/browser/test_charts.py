"""Charts under the points of a map, from a server that a person named."""

import io
import math
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from PIL import Image

from tests.browser.conftest import start_server

WEST, EAST, SOUTH, NORTH = 146.5, 149.5, -44.5, -41.5  # around the sample campaign


@pytest.fixture
def charts():
    """A server of tiles that keeps what it was asked for, as (level, x, y)."""
    buffer = io.BytesIO()
    Image.new("RGB", (256, 256), (190, 210, 220)).save(buffer, "PNG")

    class Tiles(BaseHTTPRequestHandler):
        def do_GET(self):
            self.server.asked.append(tuple(int(word) for word in self.path.removesuffix(".png").strip("/").split("/")))
            self.send_response(200)
            self.send_header("content-type", "image/png")
            self.end_headers()
            self.wfile.write(buffer.getvalue())

        def log_message(self, *content):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Tiles)
    server.asked, server.address = [], f"http://127.0.0.1:{server.server_address[1]}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def test_charts_come_from_the_server_a_person_named_and_show_the_right_place(tab, clustered, charts, contexts):
    running = start_server(clustered, "--no-jobs", "--tiles", f"{charts.address}/{{z}}/{{x}}/{{y}}.png")
    try:
        page = tab("explore", running)
        page.locator(".ground img").first.wait_for()
        page.wait_for_load_state("networkidle")
        assert page.watch.foreign and all(url.startswith(f"{charts.address}/") for url in page.watch.foreign)
        page.watch.foreign.clear()  # those were allowed
        for level, x, y in charts.asked:
            tile_count = 2**level
            assert WEST < (x + 0.5) / tile_count * 360 - 180 < EAST
            assert SOUTH < math.degrees(math.atan(math.sinh(math.pi * (1 - 2 * (y + 0.5) / tile_count)))) < NORTH
        contexts.pop().close()
    finally:
        running.stop()


def test_far_out_there_is_land_and_no_call_to_anybody(tab):
    page = tab("explore")
    page.locator(".pane.map .plane[data-drawn]").wait_for()
    page.locator(".pane.map .plane .stage").focus()
    for _ in range(14):
        page.keyboard.press("-")
    page.locator(".pane.map svg.ground .land[d^=M]").wait_for(state="attached")
    assert page.locator(".ground img").count() == 0
