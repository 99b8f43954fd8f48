"""The content of the Live page as plain values."""

from typing import Any

import numpy as np

from benthoscope.app.data.live.state import LiveState, cluster_colours
from benthoscope.app.session.app_state import AppState
from benthoscope.engine.jobs import Job
from benthoscope.engine.jobs.live.clusters import describe_edit, effective_edits
from benthoscope.engine.jobs.live.settings import LiveSettings, live_settings
from benthoscope.engine.jobs.live.starting import KIND, running_watch
from benthoscope.engine.workspace.live_dives import LiveDive, LiveRound, problem_source

NEWEST = 12  # images
ALARMS = 12
LOOKED_AT = 100  # images, to see whether the dive has positions
EVENTS = 30
EXAMPLES = 4  # images of a cluster
PROBLEMS = 8
EDITS = 10
RECENT = 100  # images over which the rate and the delay are averaged
MEGABYTE = 2**20
ASSUMED_WIDTH = 32  # of features that do not exist yet
WORDS = {"birth": "appeared", "split": "split off from", "merge": "joined", "death": "ended"}


def live_content(app: AppState, dive: LiveDive | None, state: LiveState | None) -> dict[str, Any]:
    """Return the content of the page; without dives, the empty state."""
    dives = [
        {"id": each.id, "name": each.name, "state": each.state, "images": app.workspace.live.count(each.id)}
        for each in app.workspace.live.all()
    ]
    if dive is None or state is None:
        return {"dives": dives, "shown": None}
    return {"dives": dives, "shown": {**_watch_content(app, dive, state), **_dive_content(app, state)}}


def _watch_content(app: AppState, dive: LiveDive, state: LiveState) -> dict[str, Any]:
    job = running_watch(app.queue, dive.id)
    last = _last_job(app, dive)
    is_failed = job is None and dive.is_watching and last is not None and last.state == "failed"
    arrived = state.columns["arrived_at"][-RECENT:]
    span = float(arrived[-1] - arrived[0]) if len(arrived) > 1 else 0.0
    seconds = state.columns["seconds"][-RECENT:]
    return {
        "id": dive.id,
        "name": dive.name,
        "folder": dive.folder,
        "state": dive.state,
        "watching": job is not None,
        "finishing": job is not None and "finish" in dive.requests,
        "message": _stage(dive, state, job),
        "error": last.error if last is not None and is_failed else "",
        "notice": dive.notice,
        "run": dive.run_id,
        "images": len(state.columns["id"]),
        "waiting": int((state.columns["learned_in"] < 0).sum()),
        "rounds": len(state.rounds),
        "per_minute": round(60 * (len(arrived) - 1) / span, 1) if span > 0 else None,
        "delay": round(float(np.median(seconds)), 2) if len(seconds) else None,
        "planned": dive.settings.get("horizon"),
    }


def _stage(dive: LiveDive, state: LiveState, job: Job | None) -> str:
    """Return what happens now, in one sentence."""
    if not dive.is_watching:
        return "The dive is finished."
    if job is None:
        return "The watch is stopped. Press Resume to continue."
    if job.state == "queued":
        return "The watch starts in a moment."
    if not len(state.columns["id"]):
        return "Waiting for the first image."
    settings = live_settings(dive.settings)
    if not state.rounds:
        missing = max(settings.first_images - len(state.columns["id"]), 0)
        return f"{missing:,} more images until the first round." if missing else "The first round is learning."
    if "finish" in dive.requests:
        return "Finishing: the last images are learned, then the run is stored."
    return f"Next round after {settings.epoch:,} new images or {settings.round_seconds:g} seconds."


def _last_job(app: AppState, dive: LiveDive) -> Job | None:
    jobs = [job for job in app.jobs.jobs if job.kind == KIND and job.parameters.get("dive") == dive.id]
    return jobs[0] if jobs else None


def _dive_content(app: AppState, state: LiveState) -> dict[str, Any]:
    colours, names = state.colours(), dict(zip(state.clusters.keys, state.names(), strict=True))
    people = {person.id: person.name for person in app.workspace.people.all()}
    edits = effective_edits(app.workspace.live.edits(state.dive.id))[-EDITS:]
    problems = app.workspace.library.problems(problem_source(state.dive))[-PROBLEMS:]
    return {
        "newest": _images(app, state, _newest(state), names, colours),
        "alarms": _images(app, state, _alarms(state), names, colours),
        "alarms_known": bool(np.isfinite(state.columns["percentile"]).any()),
        "alarm_count": int(state.columns["novel"].sum()),
        "clusters": _clusters(app, state, names, colours),
        "events": _events(state, names),
        "memory": _memory(state),
        "has_positions": _has_positions(app, state),
        "fits": sum(each.score is not None for each in state.rounds),
        "agreement": _agreement(state),
        "edits": [
            {"id": edit.id, "text": describe_edit(edit), "person": people.get(edit.person_id, ""), "at": edit.at}
            for edit in reversed(edits)
        ],
        "problems": [str(problem) for problem in problems],
    }


def _has_positions(app: AppState, state: LiveState) -> bool:
    """Return whether any of some images, spread over the dive, has a position."""
    count = len(state.columns["id"])
    spread = np.unique(np.linspace(0, count - 1, min(count, LOOKED_AT)).astype(int))
    latitude, longitude = app.workspace.library.positions(state.columns["image_id"][spread])
    return bool((np.isfinite(latitude) & np.isfinite(longitude)).any())


def _newest(state: LiveState) -> np.ndarray:
    return np.arange(len(state.columns["id"]))[::-1][:NEWEST]


def _alarms(state: LiveState) -> np.ndarray:
    return np.flatnonzero(state.columns["novel"])[::-1][:ALARMS]


def _images(
    app: AppState, state: LiveState, positions: np.ndarray, names: dict[str, str], colours: dict[str, str]
) -> list[dict[str, Any]]:
    ids = state.columns["image_id"][positions].tolist()
    scores = app.workspace.live.scores(state.dive.id, ids)
    stored = {image.id: image for image in app.workspace.library.images(ids)}
    images = []
    for position, image_id in zip(positions.tolist(), ids, strict=True):
        code = int(state.clusters.code[position])
        key = state.clusters.keys[code] if code >= 0 else None
        known, image = scores.get(image_id, {}), stored.get(image_id)
        if image is None:  # it was removed from the library
            continue
        images.append(
            {
                "id": image_id,
                "file": image.path.rpartition("/")[2],
                "sha": image.sha256,
                "cluster": names[key] if key else None,
                "colour": colours[key] if key else None,
                "novel": bool(state.columns["novel"][position]),
                "percentile": _rounded(known.get("percentile")),
                "new_cluster": _rounded(known.get("new_cluster")),
                "problem": known.get("problem"),
                "at": float(state.columns["arrived_at"][position]),
            }
        )
    return images


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def _clusters(app: AppState, state: LiveState, names: dict[str, str], colours: dict[str, str]) -> list[dict[str, Any]]:
    """Return the clusters, the largest first."""
    sizes = state.clusters.sizes()
    examples = {key: state.clusters.members(key)[::-1][:EXAMPLES].tolist() for key in sizes}
    ids = [image_id for members in examples.values() for image_id in members]
    sha_of = {image.id: image.sha256 for image in app.workspace.library.images(ids)}
    total = max(sum(sizes.values()), 1)
    return [
        {
            "key": key,
            "name": names[key],
            "is_named": key in state.clusters.names,
            "label": state.label_names.get(key, ("", 0.0))[0],
            "label_share": round(state.label_names.get(key, ("", 0.0))[1], 3),
            "size": size,
            "share": round(size / total, 4),
            "colour": colours[key],
            "merged": list(state.clusters.merged.get(key, ())),
            "examples": [sha_of[image_id] for image_id in examples[key] if image_id in sha_of],
        }
        for key, size in sorted(sizes.items(), key=lambda pair: -pair[1])
    ]


def _events(state: LiveState, names: dict[str, str]) -> list[dict[str, Any]]:
    """Return the newest births, splits, merges and deaths of clusters, the newest first."""
    events = [(each, kind, cluster, other) for each in state.rounds for kind, cluster, other in each.events][::-1][
        :EVENTS
    ]
    colours = cluster_colours([cluster for _, _, cluster, _ in events])
    return [
        {
            "kind": kind,
            "text": _event_text(kind, cluster, other, names),
            "colour": colours[cluster],
            "round": each.number,
            "at": each.at,
        }
        for each, kind, cluster, other in events
    ]


def _event_text(kind: str, cluster: int, other: int | None, names: dict[str, str]) -> str:
    name = names.get(str(cluster), f"Cluster {cluster}")
    if other is None:
        return f"{name} {WORDS[kind]}"
    return f"{name} {WORDS[kind]} {names.get(str(other), f'cluster {other}')}"


def _agreement(state: LiveState) -> str | None:
    """Return how often two labelled images of one cluster have the same label; None without labels."""
    measured = state.agreement
    if not measured.labelled:
        return None
    if measured.agreement is None:
        return f"not known yet ({measured.labelled:,} labels)"
    return f"{100 * measured.agreement:.0f} % ({measured.labelled:,} labels)"


def _memory(state: LiveState) -> dict[str, Any] | None:
    if not state.rounds:
        return None
    last = state.rounds[-1]
    return {
        "share": round(last.memory["values"] / max(last.memory["budget"], 1), 4),
        "megabytes": round(last.memory["bytes"] / MEGABYTE, 3),
        "budget_size": _size(8 * last.memory["budget"]),
        "summaries": last.memory["clumps"],
        "points": last.memory["points"],
        "images": last.images,
        "binds": last.budget_binds,
        "warning": _warning(last),
    }


def _warning(last: LiveRound) -> str:
    if not last.budget_binds:
        return ""
    return (
        f"The memory limits the number of clusters ({len(last.clusters)} now): new kinds of images may join existing "
        "clusters. Raise the memory in Settings."
    )


def memory_sentence(settings: LiveSettings) -> str:
    """Return what the memory means in megabytes."""
    need = settings.need(ASSUMED_WIDTH)
    return (
        f"The learner stores at most {_size(need.budget_bytes)} between rounds, room for {need.clumps:,} summaries of "
        f"images, and takes at most {_size(need.working_bytes)} during a round, however long the dive is."
    )


def _size(count: int) -> str:
    return f"{count / MEGABYTE:.1f} MB" if count >= MEGABYTE / 10 else f"{count / 1024:.1f} kB"
