"""The list of jobs as plain values, and estimates of the time of describing and clustering."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from benthoscope.app.session.app_state import AppState
from benthoscope.app.session.cache import FEATURES, IMAGES, JOBS, RUNS
from benthoscope.engine.jobs import Job
from benthoscope.engine.jobs.cluster.inputs import supported
from benthoscope.engine.jobs.cluster.model_catalog import (
    SEGMENT_MODELS,
    STREAM_MODELS,
    USUAL_MODEL,
    compares_pairs,
    model_named,
)
from benthoscope.engine.jobs.durations import Estimate, estimate, image_work, pair_work, row_work
from benthoscope.engine.workspace.database.plain_values import storable

CLUSTERINGS = frozenset({"start", "cluster", "chain", "steer", "levels"})
LINKS = {
    "import": ("Describe these images", "/library"),
    "features": ("Cluster these images", "/library?cluster=gmc"),
    "relink": ("Open Library", "/library"),
    "projection": ("Open Explore", "/explore?projection=umap"),
    "split cluster": ("Open Review", "/review"),
    "extend topics": ("Open Topics", "/topics"),
    "learn": ("Open Learn", "/learn"),
    "typical images": ("Open Learn", "/learn?queue=typical"),
    "crowd": ("Open Crowd", "/crowd"),
    "export": ("Open the export", "/labels?part=export"),
    "import labels": ("Open Labels", "/labels"),
}


SHOWN = (
    "id",
    "kind",
    "title",
    "state",
    "heavy",
    "cancel_requested",
    "done",
    "total",
    "rate",
    "message",
    "error",
    "created_at",
    "started_at",
    "finished_at",
)


def job_list(app: AppState) -> list[dict[str, Any]]:
    """The newest jobs as plain values, see `job_content`."""
    return app.cached("job list", lambda: [job_content(app, job) for job in app.jobs.jobs], (JOBS, RUNS, FEATURES))


def job_content(app: AppState, job: Job) -> dict[str, Any]:
    """A job in a list. `next` is the next step after a finished job: {text, href} or None. `step_kind` is the kind of
    the current step of a running chain."""
    return storable(
        {
            **{name: getattr(job, name) for name in SHOWN},
            "seconds_left": job.seconds_left,
            "step_kind": job.step_kind,
            "next": next_step(app, job),
        }
    )


def next_step(app: AppState, job: Job) -> dict[str, str] | None:
    """{text, href} of the next step after a finished job; None for other jobs."""
    if job.state != "done":
        return None
    if job.kind == "import" and not app.workspace.features.names():  # the form for clustering describes them first
        return {"text": "Describe and cluster these images", "href": "/library?cluster=gmc"}
    if job.kind == "predict column":
        return {"text": "Show the prediction", "href": f"/dive?prediction={(job.result or {}).get('id')}"}
    run_id = (job.result or {}).get("run")
    if job.kind in CLUSTERINGS and isinstance(run_id, int):
        return _clustering_link(app, run_id)
    text, href = LINKS.get(job.kind, ("", ""))
    return {"text": text, "href": href} if text else None


def _clustering_link(app: AppState, run_id: int) -> dict[str, str]:
    """A new clustering is offered; it never replaces the current one."""
    current = app.run()
    if current is None or current.clustering == run_id:
        return {"text": "Open Explore", "href": "/explore"}
    return {"text": "Show the new clustering", "href": f"/explore?run={run_id}"}


TYPICAL_MEGAPIXELS = 6.0  # assumed for images of unknown size
DEEP_WIDTH = 32  # feature dimensions assumed if there is no feature set yet


def describing_time(app: AppState, words: Sequence[str], images: int) -> Estimate:
    """Time of one job with these descriptors, from jobs with the same descriptors or else as a sum over them."""
    amount = image_work(images, mean_megapixels(app))
    all_sets = estimate("features", "+".join(sorted(words)), amount)
    if all_sets.measured or len(words) < 2:
        return all_sets
    each = [estimate("features", word, amount) for word in words]
    return sum(each[1:], each[0])


def clustering_time(
    model: str, rows: int, width: int, parameters: Mapping[str, Any] = MappingProxyType({})
) -> Estimate:
    """Time of one run. Models of whole images use only as many dimensions as the number of images supports. The time of
    models in bounded memory depends on the parameters of their rounds."""
    used_width = width if model in SEGMENT_MODELS else min(width, supported(rows))
    if compares_pairs(model):
        return estimate("cluster pairs", model, pair_work(rows, used_width))
    if model not in STREAM_MODELS:
        return estimate("cluster", model, row_work(rows, used_width))
    from benthoscope.engine.streaming import round_work  # slow to import

    return estimate("cluster in rounds", model, round_work(model_named(model)(**parameters), used_width, rows))


def starting_time(app: AppState, images: int, word: str) -> Estimate:
    """Time to import, describe and cluster this many new images."""
    amount = image_work(images, mean_megapixels(app))
    return (
        estimate("import", "", amount)
        + estimate("features", word, amount)
        + clustering_time(USUAL_MODEL, len(app.columns) + images, DEEP_WIDTH)
    )


def mean_megapixels(app: AppState) -> float:
    """Mean size of the images of the workspace, or a typical size if there are none."""
    return app.cached("mean megapixels", lambda: app.workspace.library.mean_megapixels() or TYPICAL_MEGAPIXELS, IMAGES)
