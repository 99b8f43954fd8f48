"""Routes of plots: the plots of the pages, for browsers, reports and notebooks, and the images of their marks."""

import gzip
import json
from dataclasses import dataclass, fields, replace
from threading import Lock
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from benthoscope.app.api.common import Integer, State, has_already
from benthoscope.app.data.figures import FIGURES, GROWING, FigureChoice, figure
from benthoscope.app.data.plot_images import MOST_MARKS, address_of_marks, columns_of_marks, images_of_marks
from benthoscope.app.session.cache import ASPECTS, LIVE
from benthoscope.engine.problems import fail, unknown
from benthoscope.plots import FORMATS

router = APIRouter(tags=["plots"])
TYPES = {"svg": "image/svg+xml", "png": "image/png", "html": "text/html", "csv": "text/csv"}
BOKEH = "bokeh"  # the format for BokehJS
LEVEL = 5  # of gzip; higher ones save little
MOST_VALUES = 20_000  # of a plot that a page draws from its own values
MEMBERS = "members"  # the plot of a cluster's members; its marks are images
_drawing = Lock()  # HoloViews keeps the options of plots in one place

Format = Annotated[str, Query(alias="format", description="bokeh (JSON for BokehJS), svg, png, html or csv")]
Share = Annotated[float, Field(ge=0, le=1)]
Page = Annotated[float, Field(ge=0, le=1e7)]


def _choice(
    run: Integer | None = None,
    job: Integer | None = None,
    against: Integer | None = None,
    dive: Integer | None = None,
    prediction: Integer | None = None,
    term: Integer | None = None,
    campaign: Integer | None = None,
    person: Integer = 0,
    school: Integer = 0,
    first_person: Integer | None = None,
    second_person: Integer | None = None,
    level: Annotated[int | None, Query(ge=1, le=100)] = None,
    together: bool = False,
    method: str = "pca",
    threshold: Annotated[float | None, Query(ge=0, le=1)] = None,
    live: Integer | None = None,
    theme: str = "light",
) -> FigureChoice:
    pair = None if first_person is None or second_person is None else (first_person, second_person)
    return FigureChoice(
        run=run,
        job=job,
        against=against,
        dive=dive,
        prediction=prediction,
        term=term,
        campaign=campaign,
        person=person,
        school=school,
        pair=pair,
        level=level,
        together=together,
        method=method,
        threshold=threshold,
        live=live,
        theme=theme,
    )


Choice = Annotated[FigureChoice, Depends(_choice)]


@dataclass(frozen=True)
class Drawing:
    """A plot in one format. `tag` is equal for equal plots for BokehJS."""

    form: str
    content: bytes
    tag: str = ""


class Marks(BaseModel):
    """Marks of a plot by the numbers that identify them."""

    marks: list[tuple[Integer, ...]] = Field(max_length=MOST_MARKS)


class ExtensionValues(BaseModel):
    """An extension in Review, as its page has it: see `plots.extension_curve`."""

    share: list[Share] = Field(min_length=1, max_length=MOST_VALUES)
    low: Page
    high: Page
    cut: Page
    answers: list[tuple[Page, bool]] = Field(default=[], max_length=MOST_VALUES)


class MemberValues(BaseModel):
    """Members of a cluster in Review, as its page has them: see `plots.cluster_members`."""

    xy: list[tuple[Share, Share]] = Field(max_length=MOST_VALUES)
    images: list[Integer] = Field(max_length=MOST_VALUES)
    labelled: list[bool] = Field(max_length=MOST_VALUES)


@router.get("/plots")
def plots() -> list[dict[str, Any]]:
    """The plots, with the parameters that each of them uses."""
    return [{"name": name, "title": entry.title, "uses": list(entry.options)} for name, entry in FIGURES.items()]


@router.get("/plots/{name}", response_class=Response)
def plot(name: str, app: State, choice: Choice, request: Request, form: Format = BOKEH) -> Response:
    """One plot: JSON for `Bokeh.embed.embed_item`, a file, or its values as CSV."""
    _check_format(form)
    chosen = replace(choice, pictures=form == BOKEH)

    def draw() -> Drawing:
        with _drawing:
            return _drawing_of(name, figure(app, name, chosen), form)

    if chosen.job is not None:  # it grows
        return _answer(draw(), request)
    key = ("plot", name, form, *(getattr(chosen, field.name) for field in fields(chosen)))
    return _answer(app.cached(key, draw, (LIVE, *ASPECTS) if name in GROWING else ASPECTS), request)


@router.post("/plots/{name}/images")
def images(name: str, app: State, choice: Choice, marks: Marks) -> dict[str, Any]:
    """How many images the marks stand for, and the address that selects them in Explore."""
    chosen = images_of_marks(app, name, choice, marks.marks)
    return {"count": len(chosen), "explore": address_of_marks(app, name, choice, marks.marks, chosen)}


@router.post("/plots/extension/values", response_class=Response)
def extension(values: ExtensionValues, request: Request, form: Format = BOKEH, theme: str = "light") -> Response:
    """The curve of an extension from the values of a page."""
    from benthoscope import plots

    _check_format(form)
    with _drawing:
        curve = plots.extension_curve(
            values.share, low=values.low, high=values.high, cut=values.cut, answers=values.answers, theme=theme
        )
        return _answer(_drawing_of("extension", curve, form), request)


@router.post("/plots/members/values", response_class=Response)
def members(
    values: MemberValues,
    app: State,
    request: Request,
    form: Format = BOKEH,
    theme: str = "light",
) -> Response:
    """The members of a cluster along its two axes of largest variance, from the values of a page."""
    from benthoscope import plots

    _check_format(form)
    if not len(values.xy) == len(values.images) == len(values.labelled):
        raise fail("members", "need a position, an image and a state each", "reload the page")
    with _drawing:
        plane = plots.cluster_members(
            values.xy,
            values.labelled,
            values.images,
            picture=f"/thumbnails/image/@image/320.jpg?v={app.images_version}" if form == BOKEH else "",
            theme=theme,
        )
        return _answer(_drawing_of(MEMBERS, plane, form), request)


def _check_format(form: str) -> None:
    if form not in (BOKEH, *FORMATS):
        raise unknown("format", form, (BOKEH, *FORMATS))


def _drawing_of(name: str, plot: Any, form: str) -> Drawing:
    """The plot in one format; JSON for BokehJS is compressed, and says which columns identify a mark."""
    from benthoscope.plots.files import bokeh_item, fingerprint, rendered  # loads HoloViews

    if form != BOKEH:
        return Drawing(form, rendered(plot, form))
    columns = ("image",) if name == MEMBERS else columns_of_marks(name)
    item = json.dumps({**bokeh_item(plot, columns), "marks": columns}, separators=(",", ":"))
    return Drawing(form, gzip.compress(item.encode(), LEVEL), f'"{fingerprint(item)}"')


def _answer(drawing: Drawing, request: Request) -> Response:
    """A browser that has an equal plot already uses that one, so that the page need not draw it again."""
    if drawing.form != BOKEH:
        return Response(drawing.content, media_type=TYPES[drawing.form])
    headers = {"etag": drawing.tag, "cache-control": "private, no-cache"}
    if request.method == "GET" and has_already(request, drawing.tag):
        return Response(status_code=304, headers=headers)
    if "gzip" in request.headers.get("accept-encoding", ""):
        headers["content-encoding"] = "gzip"
        return Response(drawing.content, media_type="application/json", headers=headers)
    return Response(gzip.decompress(drawing.content), media_type="application/json", headers=headers)
