"""The form for clustering: which question is asked, of which descriptions, and what the answer costs."""

import os
from typing import Any

from app.state.app_state import AppState
from app.state.describing_pace import describing_seconds
from app.state.job_form import Field, Recipe, Values
from engine.features import available
from engine.jobs.pace import told
from engine.problems import fail

# CPU seconds of one pass over a million rows of 20 numbers for one cluster, times the passes a search makes.
CLUSTER_SECONDS = 20 / (1e6 * 20**2)
SEGMENTS_AN_IMAGE = 50  # how many the usual cutter makes
SEGMENT_NUMBERS = 15    # and how many numbers describe each
LEVELS = 3              # times as long for two levels as for one: each pass over the segments is followed by the images
SEGMENTS = "segments"
QUESTIONS = (
    ("gmc", "Kinds of images: Which kinds of images are there, and how much of each does every dive have? Right for "
            "most surveys."),
    ("mcm", "Objects and scenes: Which kinds of scenes are there, and which objects make them up? Looks at whole "
            "images and at some fifty segments of each at once; where there are both, this tells most."),
    ("gmc-segments", "Objects alone: Which kinds of objects are there? Clusters segments only, and every image has its "
                     "own shares of them: for images that fall into no kinds."),
    ("scm", "Scenes by their objects: As objects and scenes, but by segments alone: scenes that show the same objects "
            "in the same shares, whatever the image looks like as a whole."),
)
VARIANTS = (
    ("", "The one chosen above"),
    ("sgmc", "sgmc: kinds of images, expected to be equally common in a dive"),
    ("vdp", "vdp: kinds of images, whatever dive they are from"),
    ("bgmm", "bgmm: the same, expected to be equally common"),
    ("rim", "rim: where images part most clearly, along straight borders"),
    ("krim", "krim: the same along borders of any shape"),
)
OF_SEGMENTS = frozenset({"mcm", "scm", "gmc-segments"})
OF_BOTH = frozenset({"mcm"})
BORDERS = frozenset({"rim", "krim"})  # these draw borders: there is no search, and clusters have no shape


def clustering(app: AppState, collections: list[str], model: str | None = None) -> Recipe:
    """The form. What the chosen question needs and is lacking is described first, so that the default always works."""
    if not len(app.columns):
        raise fail("clustering", "there are no images yet", "add some first")
    return Recipe("Cluster images", "Finds what belongs together, in all dives at once. How many clusters there are is "
                  "found, not asked.", "Cluster", _fields(app, collections, model),
                  lambda values: _cost(app, values), lambda values: _jobs(app, values))


def usual_model(app: AppState) -> str:
    """Objects and scenes where both descriptions are there, else kinds of images."""
    return "mcm" if _sets(app, "segment") and _sets(app, "image") else "gmc"


def _sets(app: AppState, level: str) -> list[str]:
    """The usual set first."""
    names = [name for name in app.workspace.features.names() if app.features(name).level == level]
    return sorted(names, key=lambda name: (name not in ("deep", SEGMENTS), name))


def _fields(app: AppState, collections: list[str], model: str | None) -> tuple[Field, ...]:
    known = model if model in dict(QUESTIONS) else usual_model(app)
    return (
        Field("model", "Question", "What the clusters shall tell.", "one", known, QUESTIONS),
        Field("features", "Description", "Which numbers of whole images are compared.", "choice",
              *_choices(app, "image", available("deep")[0])),
        Field("width", "Width of clusters", "How wide a cluster of images may be, as a share of the whole variation. "
              "Smaller gives more and tighter clusters; 0.02 to 0.2 are usual. Not used where segments alone are "
              "looked at.", "number", 0.05, minimum=0.0001, maximum=10, step=0.01),
        Field("sweep", "Try several widths", "Widths separated by commas; one run each, scored on images kept aside "
              "where the model can be scored, to be compared on the page Runs. Empty: only the width above.", "text",
              ""),
        Field("name", "Name", "Of the run; empty makes one from the model and the description.", "text", "", more=True),
        Field("variant", "Another model", "For those who know why: models that answer the question about whole images "
              "in other ways.", "choice", "", VARIANTS, more=True),
        Field("segments", "Segments", "Which cutting is clustered, where segments are looked at.", "choice",
              *_choices(app, "segment", SEGMENTS), more=True),
        Field("segment_width", "Width of objects", "How wide a cluster of segments may be; smaller gives more kinds of "
              "objects. Empty takes what suits segments (1).", "number", None, minimum=0.0001, maximum=10, step=0.1,
              more=True),
        Field("collection", "Images", "Of one collection, or all.", "choice", "",
              (("", "All images"), *((name, name) for name in collections)), more=True),
        Field("max_clusters", "Most clusters", "The search stops here; empty lets it find as many as the images call "
              "for. Of objects, where segments are looked at.", "integer", None, minimum=1, more=True),
        Field("search", "Search", "How clusters are split: greedy tries the likeliest first, exhaustive tries all, "
              "together splits many at once.", "choice", "greedy",
              (("greedy", "greedy"), ("exhaustive", "exhaustive"), ("together", "together")), more=True),
        Field("observation", "Shape of clusters", "Full covariances follow any ellipse; diagonal ones are quicker for "
              "long descriptions.", "choice", "full", (("full", "full"), ("diagonal", "diagonal")), more=True),
        Field("hold_out", "Keep aside", "Share of images left out to score the model by; in a sweep 0.1 where nothing "
              "is said. Not for models that look at segments.", "number", 0.0, minimum=0.0, maximum=0.9, step=0.05,
              more=True),
        Field("seed", "Seed", "The same seed gives the same clusters on the same machine.", "integer", 0, minimum=0,
              more=True),
    )


def _choices(app: AppState, level: str, usual: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    """(the set taken unasked, all of this level); the usual one, to be made first, where there is none yet."""
    names = _sets(app, level)
    if not names:
        return usual, ((usual, f"{usual} (is described first)"),)
    return names[0], tuple((name, f"{name} ({app.features(name).sidecar.images:,} images)") for name in names)


# --- what is queued


def _jobs(app: AppState, values: Values) -> list[tuple[str, dict[str, Any], str]]:
    model, widths = _model(values), widths_of(values["sweep"]) or [None]
    lacking = _lacking(app, values)
    before = [("features", {"kinds": lacking}, f"Describe images ({', '.join(lacking)})")] if lacking else []
    common = {"model": model, "features": values["features"], "seed": values["seed"],
              "collection": values["collection"] or None, "hold_out": _aside(model, values, len(widths)),
              "parameters": _extra(model, values)}
    if model in OF_SEGMENTS:
        common["segments"] = values["segments"]
    jobs = [("cluster", {**common, **_width(model, values, width), "name": _name(values["name"], width)},
             f"Cluster images ({_told(model, values, width)})") for width in widths]
    return before + jobs


def _model(values: Values) -> str:
    return values["variant"] or values["model"]


def _lacking(app: AppState, values: Values) -> list[str]:
    """Descriptions the question needs that are not there yet."""
    model = _model(values)
    needed = [values["features"]] if model in OF_BOTH or model not in OF_SEGMENTS else []
    needed += [values["segments"]] if model in OF_SEGMENTS else []
    return [name for name in needed if name not in app.workspace.features]


def _aside(model: str, values: Values, runs: int) -> float:
    if model in OF_SEGMENTS:
        if values["hold_out"]:
            raise fail("Keep aside", "models that look at segments cannot be scored", "give 0")
        return 0.0
    return values["hold_out"] or (0.1 if runs > 1 else 0.0)


def _extra(model: str, values: Values) -> dict[str, Any]:
    if model in BORDERS:
        return {"n_clusters": values["max_clusters"]} if values["max_clusters"] else {}
    return {name: values[name] for name in ("max_clusters", "search", "observation") if values[name] is not None}


def _width(model: str, values: Values, swept: float | None) -> dict[str, Any]:
    """A sweep goes through the widths of images, or where those are not clustered by their looks of segments."""
    if model not in OF_SEGMENTS:
        return {"width": swept or values["width"]}
    if model in OF_BOTH:
        return {"width": swept or values["width"], "segment_width": values["segment_width"]}
    return {"segment_width": swept or values["segment_width"]}


def _told(model: str, values: Values, swept: float | None) -> str:
    width = swept or (values["segment_width"] if model in OF_SEGMENTS - OF_BOTH else values["width"])
    return f"{model}, width {width:g}" if width else model


def _name(given: str, swept: float | None) -> str | None:
    if not given.strip():
        return None
    return given.strip() if swept is None else f"{given.strip()} {swept:g}"


def widths_of(text: str) -> list[float]:
    """The widths of a sweep."""
    try:
        widths = [float(word) for word in text.replace(";", ",").split(",") if word.strip()]
    except ValueError:
        raise fail("Try several widths", f"'{text}' is no list of numbers", "write it like 0.02, 0.05, 0.1") from None
    if any(not 0 < width <= 10 for width in widths):
        raise fail("Try several widths", "a width is not above 0", "write it like 0.02, 0.05, 0.1")
    return widths


# --- what it costs


def _cost(app: AppState, values: Values) -> str:
    model, runs, lacking = _model(values), max(len(widths_of(values["sweep"])), 1), _lacking(app, values)
    rows, width, what = _size(app, values)
    scored = 2 if _aside(model, values, runs) else 1
    seconds = CLUSTER_SECONDS * rows * width**2 * runs * scored * (LEVELS if model in OF_SEGMENTS else 1)
    first = f"{' and '.join(lacking)} described first, {told(_describing(app, lacking))}; then " if lacking else ""
    about = f"{runs} runs, one after the other: about" if runs > 1 else "about"
    line = (f"{first}{about} {told(max(seconds, 2))} for {what} of {width} numbers; "
            f"{rows * width * 4 / 1e6 + 300:,.0f} MB of memory. It can be cancelled; what was found so far is kept.")
    return line[0].upper() + line[1:]


def _size(app: AppState, values: Values) -> tuple[int, int, str]:
    """(rows, numbers of each, what they are): as they are, or for what is to be described as they will be."""
    of_segments = _model(values) in OF_SEGMENTS
    name, level = (values["segments"], "segments") if of_segments else (values["features"], "images")
    if name in app.workspace.features:
        sidecar = app.features(name).sidecar
        return sidecar.rows, sidecar.width, f"{sidecar.rows:,} {level}"
    rows = len(app.columns) * (SEGMENTS_AN_IMAGE if of_segments else 1)
    return rows, SEGMENT_NUMBERS if of_segments else 32, f"some {rows:,} {level}"


def _describing(app: AppState, names: list[str]) -> float:
    cores = os.cpu_count() or 1
    return sum(describing_seconds(app, name, len(app.columns), cores) for name in names)
