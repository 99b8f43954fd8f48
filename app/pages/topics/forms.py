"""The forms that find topics and that add images to them, with what they cost."""

from typing import Any

from benthoscope.app.components.forms import FormField, Recipe, Values
from benthoscope.app.data.clusters.clustered_images import is_joint_segmentation, part_words
from benthoscope.app.data.group_words import group_words
from benthoscope.app.data.jobs import clustering_time, describing_time
from benthoscope.app.data.labels import images_text
from benthoscope.app.data.topics import Topics, addable
from benthoscope.app.session.app_state import AppState
from benthoscope.engine.features import DESCRIPTORS
from benthoscope.engine.jobs.cluster.model_catalog import PARAMETERS, entry_named
from benthoscope.engine.jobs.durations import Estimate, estimate, row_work
from benthoscope.engine.problems import fail

MODEL = "iwtm"
USUAL_TOPICS = 10
PATCHES = {"patches": 250, "deep-patches": 49}  # descriptors of patches, and how many patches an image has
DIMENSIONS = 24  # of a patch
FINDING = "Find topics"  # begins the title of jobs that the page follows


def finding(app: AppState) -> Recipe:
    """The form that fits topics from the beginning."""
    if not len(app.columns):
        raise fail("topics", "there are no images yet", "add images first")
    sets = _sets(app)
    fields = (
        FormField(
            "patches",
            "Patches",
            "What the images are divided into. A topic is a set of kinds of patches that occur together.",
            "one",
            next(iter(sets)),
            tuple(sets.items()),
        ),
        FormField(
            "topics",
            "Topics",
            "The number of topics. The number of kinds of patches is found automatically. 10 to 30 are usual.",
            "integer",
            USUAL_TOPICS,
            minimum=1,
            maximum=500,
        ),
        FormField("name", "Name", "Name of the run. Empty: made from the settings.", "text", "", more=True),
        FormField("seed", "Seed", PARAMETERS["random_state"].text, "integer", 0, minimum=0, more=True),
    )
    groups = group_words(app).plural
    return Recipe(
        "Find topics",
        f"Describes every image of all {groups} by its proportions of a few topics, such as sand ripples or kelp.",
        "Find topics",
        fields,
        lambda values: finding_cost(app, values),
        lambda values: _finding_jobs(app, values),
    )


def _sets(app: AppState) -> dict[str, str]:
    """Names and texts of the sets of patches: existing ones first, then those that can be computed."""
    store = app.workspace.features
    existing = {
        name: f"{name}: {app.features(name).sidecar.rows:,} patches of {app.features(name).sidecar.images:,} images"
        for name in store.names()
        if app.features(name).level == "segment"
    }
    of_patches = {name: existing[name] for name in PATCHES if name in existing}
    new = {name: f"{name}: {DESCRIPTORS[name].about}" for name in PATCHES if name not in existing}
    return of_patches | new | existing


def usual_cost(app: AppState) -> str:
    """The time that topics take with the default settings."""
    return finding_cost(app, {"patches": next(iter(_sets(app)))})


def finding_cost(app: AppState, values: Values) -> str:
    name = values["patches"]
    known = name in app.workspace.features
    rows = app.features(name).sidecar.rows if known else PATCHES[name] * len(app.columns)
    width = app.features(name).sidecar.width if known else DIMENSIONS
    time = clustering_time(MODEL, rows, width)
    first = ""
    if not known:
        time, first = (
            describing_time(app, [name], len(app.columns)) + time,
            "The images are divided into patches first. ",
        )
    about = "" if known else "about "
    images = images_text(len(app.columns))
    return f"{first}Time: {time}, for {about}{rows:,} patches of {images}. You can cancel the job."


def _finding_jobs(app: AppState, values: Values) -> list[tuple[str, dict[str, Any], str]]:
    name = values["patches"]
    cluster = {
        "model": MODEL,
        "segments": name,
        "seed": values["seed"],
        "name": values["name"].strip() or None,
        "parameters": {**entry_named(MODEL).usual_values, "n_topics": values["topics"]},
    }
    title = f"{FINDING} ({values['topics']}, {name})"
    if name in app.workspace.features:
        return [("cluster", cluster, title)]
    steps = [
        {"kind": "features", "title": f"Divide images into patches ({name})", "parameters": {"kinds": [name]}},
        {"kind": "cluster", "title": FINDING, "parameters": cluster},
    ]
    return [("chain", {"steps": steps}, title)]


def adding(app: AppState, topics: Topics) -> Recipe:
    """The form that adds images to the topics of a run."""
    new = addable(app, topics.run)
    if new.problem or not new.described + new.undescribed:
        raise fail("topics", new.problem or "have all images already", "import more images, or find new topics")
    count = new.described + new.undescribed
    if is_joint_segmentation(topics.run):
        result = "The topics keep their names; new kinds of regions become new topics."
    else:
        result = "It has the same topics; kinds of patches that are new are added to the vocabulary."
    return Recipe(
        f"Add {images_text(count)} to the topics",
        f"Adds the images that {topics.run.name} does not have, without fitting all images again. The result is a new "
        f"run. {result}",
        "Add images",
        (FormField("name", "Name", "Name of the new run. Empty: made from the old name.", "text", ""),),
        lambda values: _adding_cost(app, topics),
        lambda values: _adding_jobs(app, topics, values),
    )


def _adding_cost(app: AppState, topics: Topics) -> str:
    new, features = addable(app, topics.run), app.features(topics.run.features)
    each = features.sidecar.rows / max(features.sidecar.images, 1)
    patches, parts = round((new.described + new.undescribed) * each), part_words(topics.run)[1]
    time: Estimate = estimate("extend topics", "", row_work(patches, features.sidecar.width))
    first = ""
    if new.undescribed:
        time = describing_time(app, [_descriptor_of(topics)], new.undescribed) + time
        first = f"{new.undescribed:,} of them are divided into {parts} first. "
    return f"{first}Time: {time}, for about {patches:,} {parts}. You can cancel the job."


def _descriptor_of(topics: Topics) -> str:
    name = topics.run.features
    return name if name in DESCRIPTORS else next(iter(PATCHES))


def _adding_jobs(app: AppState, topics: Topics, values: Values) -> list[tuple[str, dict[str, Any], str]]:
    new = addable(app, topics.run)
    extension = {"run": topics.run.id, "name": values["name"].strip() or None}
    title = f"Add {images_text(new.described + new.undescribed)} to topics"
    if not new.undescribed:
        return [("extend topics", extension, title)]
    if topics.run.features not in DESCRIPTORS:
        raise fail(
            f"features {topics.run.features}",
            f"lack {new.undescribed:,} of the images",
            "describe them with `benthoscope features` first",
        )
    steps = [
        {"kind": "features", "title": "Divide images", "parameters": {"kinds": [topics.run.features]}},
        {"kind": "extend topics", "title": "Add images to topics", "parameters": extension},
    ]
    return [("chain", {"steps": steps}, title)]
