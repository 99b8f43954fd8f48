"""Serves the same points twice: on the canvas of Explore (/canvas) and with HoloViews and Datashader (/shaded).

`python -m tests.benchmarks.scatter_server PORT`; `?images=100000` chooses how many points a page shows. Both pages come
from one process and have one plot of the same size. A lasso is sent to the server, which answers with what it selected.
"""

import json
import sys
from functools import cache
from pathlib import Path
from typing import Any

import datashader
import holoviews as hv
import numpy as np
import pandas
import panel as pn
from holoviews.operation.datashader import datashade
from holoviews.streams import Lasso
from matplotlib.path import Path as Polygon
from tornado.web import RequestHandler

from benthoscope.app.session.selection import packed, unpacked
from benthoscope.engine.analysis import step_scale, to_steps
from benthoscope.plots.colours import GREY, distinct

ASSETS = Path(__file__).parents[2] / "assets"
CLUSTERS = 30
SIZE = {"width": 640, "height": 480}  # pixels of the points, without axes
PAGE = """<!doctype html><meta charset="utf-8"><title>Canvas</title><link rel="stylesheet" href="/parts/css/look.css">
<div id="host" style="position: relative; width: %(wide)dpx; height: %(high)dpx"></div>
<script type="module">
import {render} from "/parts/js/shared/scatter.js"
const values = %(values)s, listeners = {}
const model = {...values, on: (name, act) => (listeners[name] ??= []).push(act), send_msg: async (message) => {
  if (message.act !== "select") return
  const answer = await fetch("/selection?images=%(images)d", {method: "POST", body: message.images})
  model.selected = await answer.arrayBuffer()
  listeners.selected.forEach((act) => act())
}}
const root = document.getElementById("host").attachShadow({mode: "open"})
for (const name of ["parts", "explore"]) {
  const link = Object.assign(document.createElement("link"), {rel: "stylesheet", href: `/parts/css/${name}.css`})
  root.append(link)
  await new Promise((done) => { link.onload = done })
}
localStorage.setItem("bentho-plots", '{"Embedding legend": false}')
root.append(render({model}))
document.documentElement.dataset.drawn = ""
</script>"""


@cache
def points(images: int) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates (n, 2) around 30 centres, and the cluster (n,) of each point."""
    rng = np.random.default_rng(0)
    cluster = rng.integers(CLUSTERS, size=images)
    centres = 4 * rng.standard_normal((CLUSTERS, 2))
    return centres[cluster] + rng.standard_normal((images, 2)) * [1, 0.6], cluster


@cache
def array(images: int, name: str) -> bytes:
    xy, cluster = points(images)
    if name == "xy":
        return to_steps(xy, np.arange(images), images).astype("<u2").tobytes()
    return (cluster.astype("<u2") if name == "codes" else np.arange(images, dtype="<i4")).tobytes()


def extent(images: int) -> list[int]:
    steps = np.frombuffer(array(images, "xy"), "<u2").reshape(-1, 2)
    (west, south), (east, north) = steps.min(0).tolist(), steps.max(0).tolist()
    return [west, east, south, north]


class CanvasPage(RequestHandler):
    def get(self) -> None:
        images = int(self.get_argument("images"))
        scale = step_scale(points(images)[0])
        values = {
            "title": "Embedding",
            "count": images,
            "version": 1,
            "run": None,
            "xy_url": f"/points/xy?images={images}",
            "xy_kind": "u2",
            "ids_url": f"/points/ids?images={images}",
            "code_url": f"/points/codes?images={images}",
            "lines_url": "",
            "extent": extent(images),
            "margin": 8,
            "colours": distinct(CLUSTERS),
            "names": [],
            "unknown": GREY,
            "axes": ["x", "y"],
            "scale": {"start": scale.start, "unit": scale.unit},
            "legend": {},
            "outlines": [],
            "pictures": [],
            "pies": [],
            "note": "",
            "caption": "",
            "geographic": False,
            "middle": [0, 0],
        }
        wide, high = SIZE["width"] + 52, SIZE["height"] + 76
        self.finish(PAGE % {"values": json.dumps(values), "images": images, "wide": wide, "high": high})


class Points(RequestHandler):
    def get(self, name: str) -> None:
        self.finish(array(int(self.get_argument("images")), name))


class Selected(RequestHandler):
    def post(self) -> None:
        images = int(self.get_argument("images"))
        self.finish(packed(unpacked(self.request.body, images), images))

    def check_xsrf_cookie(self) -> None:
        """Requests of this page only."""


@cache
def frame(images: int) -> pandas.DataFrame:
    xy, cluster = points(images)
    return pandas.DataFrame({"x": xy[:, 0], "y": xy[:, 1], "cluster": pandas.Categorical(cluster)})


def shaded() -> Any:
    """The plot of one tab. A lasso adds a layer of the points in it."""
    table = frame(int(pn.state.session_args["images"][0]))
    everything = hv.Points(table, ["x", "y"], ["cluster"])
    colours = dict(enumerate(distinct(CLUSTERS)))
    fixed = {"width": SIZE["width"], "height": SIZE["height"], "precompute": True}
    drawn = datashade(everything, aggregator=datashader.by("cluster", datashader.count()), color_key=colours, **fixed)
    drawn = drawn.opts(
        frame_width=SIZE["width"], frame_height=SIZE["height"], tools=["lasso_select"], active_tools=["pan"]
    )
    lasso = Lasso(source=drawn)

    def inside(geometry: np.ndarray | None) -> hv.Points:
        if geometry is None:
            return everything.iloc[:0]
        return everything.iloc[Polygon(geometry).contains_points(table[["x", "y"]].to_numpy())]

    front = datashade(hv.DynamicMap(inside, streams=[lasso]), cmap=["#d01c1c"], **fixed)
    return pn.pane.HoloViews(drawn * front, sizing_mode="fixed")


def main(port: int) -> None:
    hv.extension("bokeh")
    for images in (1000, *map(int, sys.argv[2:])):  # compiled and cached before the first tab of either page
        datashader.Canvas(10, 10).points(frame(images), "x", "y", datashader.by("cluster", datashader.count()))
        for name in ("xy", "codes", "ids"):
            array(images, name)
    pn.serve(
        {"shaded": shaded},
        port=port,
        show=False,
        static_dirs={"parts": str(ASSETS)},
        extra_patterns=[(r"/canvas", CanvasPage), (r"/points/(\w+)", Points), (r"/selection", Selected)],
        websocket_max_message_size=2**28,
    )


if __name__ == "__main__":
    main(int(sys.argv[1]))
