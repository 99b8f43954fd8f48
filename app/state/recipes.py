"""The forms of the library: describing images and clustering them, with what each parameter means and costs."""

import os
from typing import Any

from app.state.app_state import AppState
from app.state.job_form import Field, Recipe, Values
from app.state.session import Session
from engine.features import DESCRIPTORS, available
from engine.jobs.pace import told
from engine.problems import fail

# Images a second on one core of an ordinary laptop, 1360 x 1024 JPEG; corrected by what this machine did before.
IMAGES_A_SECOND = {"deep": 25.0, "scspm": 10.0, "rp": 10.0, "segments": 6.0, "colour": 40.0, "mean": 90.0}
EASY = ("deep", "scspm", "segments", "colour")
# CPU seconds of one pass over a million rows of 20 numbers for one cluster, times the passes a search makes.
CLUSTER_SECONDS = 20 / (1e6 * 20**2)
MODELS = (
    ("gmc", "Grouped mixtures: each dive has its own proportions of shared clusters"),
    ("sgmc", "The same with a symmetric prior on the proportions"),
    ("vdp", "One mixture over everything; dives are not looked at"),
    ("bgmm", "One mixture with a fixed largest number of clusters"),
)


def describing(app: AppState, collections: list[str]) -> Recipe:
    """The form for describing images."""
    word, problem = available("deep")
    words = [name for name in EASY if name != "deep" or problem is None]
    fields = (
        Field("kinds", "Descriptions", "What is looked at in every image. The first is right for nearly every "
              "collection.", "several", [word], tuple((name, f"{name}: {DESCRIPTORS[name].about}") for name in words)),
        Field("water", "Take the water out first", "Learns from the images of each dive how light and colour change "
              "with altitude and towards the corners, and evens that out. For AUV and towed cameras.", "switch", False),
        Field("collection", "Images", "Of one collection, or all.", "choice", "", _collections(collections)),
        Field("dimension", "Numbers an image", "How long a description ends up. More keep more detail and need more "
              "images to cluster; empty takes what suits each kind (32 for deep).", "integer", None, minimum=1,
              maximum=4096, more=True),
        Field("learn_from", "Learn from", "Images drawn at random to learn a new description from.", "integer", 2000,
              minimum=2, more=True),
        Field("again", "Make anew", "Forget an existing set of this kind and learn it again, instead of adding what "
              "it lacks.", "switch", False, more=True),
        Field("seed", "Seed", "The same seed gives the same numbers on the same machine.", "integer", 0, minimum=0,
              more=True),
    )
    intro = str(problem) if problem else "Turns every image into numbers, so that images can be compared and clustered."
    return Recipe("Describe images", intro, "Describe", fields, lambda values: _describing_cost(app, values),
                  _describing_jobs)


def clustering(app: AppState, collections: list[str]) -> Recipe:
    """The form for clustering."""
    sets = [name for name in app.workspace.features.names() if app.features(name).level == "image"]
    if not sets:
        raise fail("clustering", "the images are not described yet", "describe them first")
    chosen = "deep" if "deep" in sets else sets[0]
    fields = (
        Field("model", "Model", "How dives share clusters.", "choice", "gmc", MODELS),
        Field("features", "Description", "Which numbers of the images are compared.", "choice", chosen,
              tuple((name, f"{name} ({app.features(name).sidecar.images:,} images)") for name in sets)),
        Field("width", "Width of clusters", "How wide a cluster may be, as a share of the whole variation. Smaller "
              "gives more and tighter clusters; 0.02 to 0.2 are usual.", "number", 0.05, minimum=0.0001, maximum=10,
              step=0.01),
        Field("sweep", "Try several widths", "Widths separated by commas; one run each, scored on images kept aside, "
              "to be compared on the page Runs. Empty: only the width above.", "text", ""),
        Field("name", "Name", "Of the run; empty makes one from the model and the description.", "text", "",
              more=True),
        Field("collection", "Images", "Of one collection, or all.", "choice", "", _collections(collections), more=True),
        Field("max_clusters", "Most clusters", "The search stops here; empty lets it find as many as the images call "
              "for.", "integer", None, minimum=1, more=True),
        Field("search", "Search", "How clusters are split: greedy tries the likeliest first, exhaustive tries all, "
              "together splits many at once.", "choice", "greedy",
              (("greedy", "greedy"), ("exhaustive", "exhaustive"), ("together", "together")), more=True),
        Field("observation", "Shape of clusters", "Full covariances follow any ellipse; diagonal ones are quicker for "
              "long descriptions.", "choice", "full", (("full", "full"), ("diagonal", "diagonal")), more=True),
        Field("hold_out", "Keep aside", "Share of images left out to score the model by; in a sweep 0.1 where nothing "
              "is said.", "number", 0.0, minimum=0.0, maximum=0.9, step=0.05, more=True),
        Field("seed", "Seed", "The same seed gives the same clusters on the same machine.", "integer", 0, minimum=0,
              more=True),
    )
    return Recipe("Cluster images", "Finds groups of images that look alike, in all dives together. How many there are "
                  "is found, not asked.", "Cluster", fields, lambda values: _clustering_cost(app, values),
                  _clustering_jobs)


def forgetting(session: Session, name: str) -> Recipe:
    """The question before a collection is taken out of the workspace."""
    library = session.workspace.library
    found = library.collection_named(name)
    images = len(library.columns("id", collection_id=found.id)["id"])

    def forget(_: Values) -> str:
        count = library.remove_collection(name)
        session.changed()
        return f"{name} is out of the workspace; the files of its {count:,} images are where they were"

    return Recipe(f"Take {name} out?", f"The workspace forgets the {images:,} images of {name}: they leave galleries, "
                  "runs and exports. Their files are not touched; importing them again makes them new images without "
                  "their labels.", "Take it out", (), lambda _: "This cannot be undone.", act=forget)


def _collections(names: list[str]) -> tuple[tuple[str, str], ...]:
    return (("", "All images"), *((name, name) for name in names))


def _describing_jobs(values: Values) -> list[tuple[str, dict[str, Any], str]]:
    said = {name: value for name, value in values.items() if value not in (None, "", False)}
    return [("features", said, f"Describe images ({', '.join(values['kinds'])})")]


def _clustering_jobs(values: Values) -> list[tuple[str, dict[str, Any], str]]:
    widths = widths_of(values["sweep"]) or [values["width"]]
    extra = {name: values[name] for name in ("max_clusters", "search", "observation") if values[name] is not None}
    aside = values["hold_out"] or (0.1 if len(widths) > 1 else 0.0)
    common = {name: values[name] for name in ("model", "features", "seed")} | {
        "collection": values["collection"] or None, "hold_out": aside, "parameters": extra}
    return [("cluster", {**common, "width": width, "name": _name(values["name"], width, len(widths))},
             f"Cluster images ({values['model']}, width {width:g})") for width in widths]


def _name(given: str, width: float, count: int) -> str | None:
    if not given.strip():
        return None
    return f"{given.strip()} {width:g}" if count > 1 else given.strip()


def widths_of(text: str) -> list[float]:
    """The widths of a sweep."""
    try:
        widths = [float(word) for word in text.replace(";", ",").split(",") if word.strip()]
    except ValueError:
        raise fail("Try several widths", f"'{text}' is no list of numbers", "write it like 0.02, 0.05, 0.1") from None
    if any(not 0 < width <= 10 for width in widths):
        raise fail("Try several widths", "a width is not above 0", "write it like 0.02, 0.05, 0.1")
    return widths


def _describing_cost(app: AppState, values: Values) -> str:
    images = {word: _lacking(app, word, values["again"]) for word in values["kinds"]}
    cores = os.cpu_count() or 1
    seconds = sum(count / (_pace(app, word) or IMAGES_A_SECOND[word] * cores) for word, count in images.items())
    if not any(images.values()):
        return "Every image has these descriptions already; there is nothing to do."
    disk = sum(count * (values["dimension"] or 32) * 4 for count in images.values()) / 1e6
    return (f"About {told(seconds)} for {max(images.values()):,} images on {cores} cores; "
            f"{disk:.1f} MB on disk, under 1 GB of memory. You can go on working meanwhile.")


def _lacking(app: AppState, word: str, again: bool) -> int:
    known = app.features(word).sidecar.images if word in app.workspace.features and not again else 0
    return max(len(app.columns) - known, 0)


def _pace(app: AppState, word: str) -> float | None:
    """Images a second that this machine made of one kind of description before."""
    for job in app.jobs.jobs:
        spent = (job.finished_at or 0) - (job.started_at or 0)
        if job.kind == "features" and job.state == "done" and job.parameters.get("kinds") == [word] and job.done >= 500:
            return job.done / max(spent, 0.1)
    return None


def _clustering_cost(app: AppState, values: Values) -> str:
    runs = max(len(widths_of(values["sweep"])), 1)
    sidecar = app.features(values["features"]).sidecar
    seconds = CLUSTER_SECONDS * sidecar.images * sidecar.width**2 * runs * (2 if values["hold_out"] or runs > 1 else 1)
    memory = sidecar.images * sidecar.width * 4 / 1e6 + 300
    about = f"{runs} runs, one after the other: about" if runs > 1 else "About"
    return (f"{about} {told(max(seconds, 2))} for {sidecar.images:,} images of {sidecar.width} numbers; "
            f"{memory:,.0f} MB of memory. It can be cancelled; what was found until then is kept.")
