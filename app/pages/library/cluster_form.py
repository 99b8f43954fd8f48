"""The form for clustering: the question, the features, the parameters, and an estimate of time and memory."""

from collections.abc import Sequence
from typing import Any

from benthoscope.app.components.forms import FormField, Recipe, Values, parameter_field
from benthoscope.app.data.group_words import group_words
from benthoscope.app.data.jobs import clustering_time, describing_time
from benthoscope.app.session.app_state import AppState
from benthoscope.engine.features import available
from benthoscope.engine.jobs.cluster.model_catalog import (
    CATALOG,
    JOINT_SEGMENTATION,
    PARAMETERS,
    SEGMENT_MODELS,
    STREAM_MODELS,
    USUAL_MODEL,
    USUAL_WIDTH,
    compares_pairs,
    entry_named,
    has_width,
    model_named,
)
from benthoscope.engine.problems import fail

SEGMENTS_AN_IMAGE = 50  # made by the default segmentation
SEGMENT_NUMBERS = 15  # dimensions of the default segment features
SEGMENTS = "segments"
QUESTIONS = tuple((entry.name, f"{entry.title}: {entry.question}") for entry in CATALOG if not entry.advanced)
VARIANTS = (
    ("", "The model of the question above"),
    *((entry.name, f"{entry.name}: {entry.question}") for entry in CATALOG if entry.advanced),
)
OF_SEGMENTS = SEGMENT_MODELS
OF_BOTH = frozenset(entry.name for entry in CATALOG if entry.uses_images and entry.uses_segments)


def clustering(app: AppState, collections: list[str], model: str | None = None) -> Recipe:
    """The form. Missing features are computed before clustering, so that the default always works."""
    if not len(app.columns):
        raise fail("clustering", "there are no images yet", "add some first")
    groups = group_words(app).plural
    return Recipe(
        "Cluster images",
        f"Finds groups of similar images in all {groups} together. The number of clusters is chosen automatically.",
        "Cluster",
        _fields(app, collections, model),
        lambda values: _cost(app, values),
        lambda values: _jobs(app, values),
    )


def _sets(app: AppState, level: str) -> list[str]:
    """Feature sets of this level, the default set first."""
    names = [name for name in app.workspace.features.names() if app.features(name).level == level]
    return sorted(names, key=lambda name: (name not in ("deep", SEGMENTS), name))


def _worded(choices: tuple[tuple[str, str], ...], group: str) -> tuple[tuple[str, str], ...]:
    """The choices with the workspace's word for a group of images (dive, album)."""
    return tuple((name, text.replace("{group}", group)) for name, text in choices)


def _fields(app: AppState, collections: list[str], model: str | None) -> tuple[FormField, ...]:
    known, group = model if model in dict(QUESTIONS) else USUAL_MODEL, group_words(app).singular
    return (
        FormField("model", "Question", "What do you want to find?", "one", known, _worded(QUESTIONS, group)),
        FormField(
            "features",
            "Image features",
            "The features by which whole images are compared.",
            "choice",
            *_choices(app, "image", available("deep")[0]),
        ),
        parameter_field(
            PARAMETERS["width"],
            "width",
            "Width of clusters",
            "number",
            USUAL_WIDTH,
            remark="For more or fewer clusters, use Finer and Coarser on Explore and Review. "
            "Not used by models of segments only.",
            step=0.01,
        ),
        FormField(
            "sweep",
            "Try several widths",
            "Widths separated by commas, one run for each. If the model allows it, each run is scored on held-out "
            "images; compare the scores on the page Runs. Empty: only the width above.",
            "text",
            "",
        ),
        FormField(
            "name", "Name", "Name of the run. Empty: made from the model and the features.", "text", "", more=True
        ),
        FormField(
            "variant",
            "Another model",
            "Advanced: alternative models for whole images.",
            "choice",
            "",
            _worded(VARIANTS, group),
            more=True,
        ),
        FormField(
            "segments",
            "Segments",
            "The segment features, for models that use segments.",
            "choice",
            *_choices(app, "segment", SEGMENTS),
            more=True,
        ),
        _advanced("segment_width", "Width of objects", "number", step=0.1),
        FormField(
            "collection",
            "Images",
            "Images of one collection, or all images.",
            "choice",
            "",
            (("", "All images"), *((name, name) for name in collections)),
            more=True,
        ),
        _advanced("max_clusters", "Maximum clusters", remark="kmeans: the number of clusters; 40 if this is empty."),
        _advanced("min_cluster_size", "Smallest cluster", remark="Empty: 5."),
        _advanced("max_image_clusters", "Maximum image clusters"),
        _advanced("memory", "Memory", remark="Empty: 4,000."),
        _advanced("epoch", "Images per round", remark="Empty: 2,000."),
        FormField(
            "search",
            "Search",
            PARAMETERS["search"].text,
            "choice",
            "best",
            tuple((name, name) for name in ("best", "greedy", "exhaustive", "together")),
            more=True,
        ),
        FormField(
            "observation",
            "Shape of clusters",
            "Diagonal covariances are faster and find more and purer clusters of images. Full covariances fit any "
            "ellipse. The default is diagonal for images and full for segments.",
            "choice",
            "",
            (("", "Default for the question"), ("full", "full"), ("diagonal", "diagonal")),
            more=True,
        ),
        FormField(
            "hold_out",
            "Held-out share",
            "Share of images not used for the fit, by which the model is scored. With several widths, 0 means 0.1. "
            "Not for models that use segments.",
            "number",
            0.0,
            minimum=0.0,
            maximum=0.9,
            step=0.05,
            more=True,
        ),
        FormField(
            "seed",
            "Seed",
            "The same seed gives the same clusters on the same computer.",
            "integer",
            0,
            minimum=0,
            more=True,
        ),
    )


def _advanced(name: str, label: str, kind: str = "integer", **options: Any) -> FormField:
    """A parameter of the catalogue under More, empty at first."""
    return parameter_field(PARAMETERS[name], name, label, kind, more=True, **options)


def _choices(app: AppState, level: str, usual: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    """(default feature set, all choices of this level); `usual`, to be computed first, if there is none yet."""
    names = _sets(app, level)
    if not names:
        return usual, ((usual, f"{usual} (computed first)"),)
    return names[0], tuple((name, f"{name} ({app.features(name).sidecar.images:,} images)") for name in names)


# --- what is queued


def _jobs(app: AppState, values: Values) -> list[tuple[str, dict[str, Any], str]]:
    model = _model(values)
    widths: Sequence[float | None] = _swept_widths(model, values["sweep"]) or [None]
    lacking = _lacking(app, values)
    before = [("features", {"kinds": lacking}, f"Describe images ({', '.join(lacking)})")] if lacking else []
    common = {
        "model": model,
        "features": values["features"],
        "seed": values["seed"],
        "collection": values["collection"] or None,
        "hold_out": _aside(model, values, len(widths)),
        "parameters": _extra(model, values),
    }
    if model in OF_SEGMENTS:
        common["segments"] = values["segments"]
    jobs = [
        (
            "cluster",
            {**common, **_width(model, values, width), "name": _name(values["name"], width)},
            f"Cluster images ({_settings_text(model, values, width)})",
        )
        for width in widths
    ]
    return [_in_a_row([*before, *jobs])] if before else jobs


def _swept_widths(model: str, text: str) -> list[float]:
    widths = widths_of(text)
    if widths and model not in OF_SEGMENTS and not has_width(model):
        raise fail("Try several widths", f"clusters of {model} have no width", "leave it empty")
    return widths


def _in_a_row(jobs: list[tuple[str, dict[str, Any], str]]) -> tuple[str, dict[str, Any], str]:
    """One job that runs these as steps: clustering does not start if the features cannot be computed."""
    steps = [{"kind": kind, "title": title, "parameters": parameters} for kind, parameters, title in jobs]
    return "chain", {"steps": steps}, f"Describe images, then cluster them ({len(jobs)} steps)"


def _model(values: Values) -> str:
    return values["variant"] or values["model"]


def _lacking(app: AppState, values: Values) -> list[str]:
    """Feature sets that the question needs and that do not exist yet."""
    model = _model(values)
    needed = [values["features"]] if model in OF_BOTH or model not in OF_SEGMENTS else []
    needed += [values["segments"]] if model in OF_SEGMENTS else []
    return [name for name in needed if name not in app.workspace.features]


def _aside(model: str, values: Values, runs: int) -> float:
    if model in STREAM_MODELS:
        if values["hold_out"]:
            raise fail("Held-out share", "models in bounded memory read each image once", "enter 0")
        return 0.0
    if model in OF_SEGMENTS:
        if values["hold_out"]:
            raise fail("Held-out share", "models that use segments cannot be scored", "enter 0")
        return 0.0
    return values["hold_out"] or (0.1 if runs > 1 else 0.0)


def _extra(model: str, values: Values) -> dict[str, Any]:
    entry = entry_named(model)
    if not entry.limit:
        return {"min_cluster_size": values["min_cluster_size"]} if values["min_cluster_size"] else {}
    if entry.has_topics or not entry.has_search:
        name = "max_clusters" if entry.has_topics else entry.limit  # the job translates it for topic models
        return {name: values["max_clusters"]} if values["max_clusters"] else {}
    limits = ("max_clusters", "max_image_clusters") if entry.two_levels else ("max_clusters",)
    names = (*limits, "memory", "epoch") if entry.is_stream else (*limits, "search")
    chosen = {name: values[name] for name in names if values[name] is not None}
    observation = values["observation"] or entry.observation
    return {**chosen, "observation": observation} if observation else chosen


def _width(model: str, values: Values, swept: float | None) -> dict[str, Any]:
    """A sweep varies the width of images, or of segments for models that use segments only."""
    if model not in OF_SEGMENTS:
        return {"width": swept or values["width"]}
    if model in OF_BOTH:
        return {"width": swept or values["width"], "segment_width": values["segment_width"]}
    return {"segment_width": swept or values["segment_width"]}


def _settings_text(model: str, values: Values, swept: float | None) -> str:
    width = swept or (values["segment_width"] if model in OF_SEGMENTS - OF_BOTH else values["width"])
    if model not in OF_SEGMENTS and not has_width(model):
        return model
    return f"{model}, width {width:g}" if width else model


def _name(name: str, swept: float | None) -> str | None:
    if not name.strip():
        return None
    return name.strip() if swept is None else f"{name.strip()} {swept:g}"


def widths_of(text: str) -> list[float]:
    """The widths of a sweep."""
    try:
        widths = [float(word) for word in text.replace(";", ",").split(",") if word.strip()]
    except ValueError:
        raise fail("Try several widths", f"'{text}' is not a list of numbers", "write 0.02, 0.05, 0.1") from None
    if any(not 0 < width <= 10 for width in widths):
        raise fail("Try several widths", "a width must be greater than 0 and at most 10", "write 0.02, 0.05, 0.1")
    return widths


# --- what it costs


def _cost(app: AppState, values: Values) -> str:
    model, runs, lacking = _model(values), max(len(widths_of(values["sweep"])), 1), _lacking(app, values)
    rows, width, unit = _size(app, values)
    scored = 2 if _aside(model, values, runs) else 1
    total_time = clustering_time(model, rows, width, _parameters_in_rounds(model, values)).times(runs * scored)
    first = ""
    if lacking:
        describing = describing_time(app, lacking, len(app.columns))
        first, total_time = f"{' and '.join(lacking)} features are computed first; ", describing + total_time
    several = f" in {runs} runs, one after the other" if runs > 1 else ""
    memory = _memory(model, values, rows, width)
    entry = entry_named(model)
    stored = "; clusters found so far are stored" if entry.has_search or entry.has_topics else ""
    line = (
        f"{first}time{' for all' if lacking else ''}: {total_time}, for {unit} with {width} feature dimensions"
        f"{several}. {memory} You can cancel the job{stored}."
    )
    return line[0].upper() + line[1:]


def _parameters_in_rounds(model: str, values: Values) -> dict[str, Any]:
    return _extra(model, values) if model in STREAM_MODELS else {}


def _memory(model: str, values: Values, rows: int, width: int) -> str:
    """What the fit needs of memory; for models in bounded memory also what the budget means."""
    if model == JOINT_SEGMENTATION:
        return "The memory stays the same size, however many images there are."
    if model not in STREAM_MODELS:
        return f"{rows * width * (12 if compares_pairs(model) else 4) / 1e6 + 300:,.0f} MB of memory."
    from benthoscope.engine.streaming import memory_need  # slow to import

    need = memory_need(model_named(model)(**_extra(model, values)), width, rows)
    return (
        f"{need.budget_bytes / 1e6:,.1f} MB for what it remembers, room for {need.clumps:,} clumps; "
        f"{need.working_bytes / 1e6 + 300:,.0f} MB of memory in all, whatever the number of images. "
        f"{need.rounds:,} round{'s' if need.rounds > 1 else ''} of at most {need.largest_round:,} images."
    )


def _size(app: AppState, values: Values) -> tuple[int, int, str]:
    """(rows, dimensions, text): of the feature set, or as expected for a set that is not computed yet."""
    of_segments = _model(values) in OF_SEGMENTS
    name, level = (values["segments"], "segments") if of_segments else (values["features"], "images")
    if name in app.workspace.features:
        sidecar = app.features(name).sidecar
        return sidecar.rows, sidecar.width, f"{sidecar.rows:,} {level}"
    rows = len(app.columns) * (SEGMENTS_AN_IMAGE if of_segments else 1)
    return rows, SEGMENT_NUMBERS if of_segments else 32, f"about {rows:,} {level}"
