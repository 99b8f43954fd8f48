"""Content of the Crowd page as plain values: progress of a campaign, people, clusters and schools of thought."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import segno

from benthoscope.app.data.crowd_results import MOST_POINTS, schools
from benthoscope.app.session.app_state import AppState
from benthoscope.engine.crowd import Sorting, block_order
from benthoscope.engine.crowd.workers import agreement
from benthoscope.engine.labelling.crowd_adoption import newest_crowd_run
from benthoscope.engine.progress import seconds_left
from benthoscope.engine.workspace import Run, Workspace
from benthoscope.engine.workspace.crowd.records import Answer, Campaign
from benthoscope.plots.colours import distinct

EXEMPLARS = 12  # images of a cluster with the highest probability
DISPUTED = 24  # images people disagree on most
TABLES = 200  # workers whose tables are sent to the page
REFUSALS = 50
NEWEST = 300  # answers used for the agreement, so that its cost does not grow with the campaign
OPEN = ("open", "paused")


def campaign_row(campaign: Campaign) -> dict[str, Any]:
    return {
        "id": campaign.id,
        "name": campaign.name,
        "state": campaign.state,
        "images": len(campaign.images),
        "created_at": campaign.created_at,
        "expires_at": campaign.expires_at,
    }


def campaign_told(app: AppState, campaign: Campaign, origin: str, here_only: bool) -> dict[str, Any]:
    """Everything about one campaign. `origin` is the address of the server as the browser sees it."""
    workspace, link = app.workspace, f"{origin}/crowd/{campaign.link}"
    run, standing = newest_crowd_run(workspace, campaign), workspace.crowd.standing(campaign.id)
    code = segno.make(link).svg_data_uri(scale=4) if origin and campaign.state in OPEN else ""
    agreement_measured = app.cached(
        ("crowd agreement", campaign.id, standing.answered),
        lambda: agreed(workspace.crowd.answers(campaign.id, newest=NEWEST)),
        of=(),
    )
    refusals = workspace.crowd.refusals(campaign.id, newest=REFUSALS) if standing.refused else []
    return {
        **campaign_row(campaign),
        "link": link,
        "code": code,
        "here_only": here_only,
        "settings": campaign.settings.plain(),
        "standing": {**vars(standing), "seconds_left": _seconds_left(standing, campaign.state)},
        "agreement": agreement_measured,
        "refusals": [vars(refusal) for refusal in refusals],
        "workers": worker_rows(workspace, campaign, run),
        "result": app.cached(("crowd result", run.id), lambda: result(run), of=()) if run else None,
    }


def _seconds_left(standing: Any, state: str) -> float | None:
    """At the rate of the last hour; None while no answers come in, or nothing is left."""
    if state != "open" or standing.answered >= standing.wanted:
        return None
    return seconds_left(standing.answered, standing.wanted, standing.per_hour / 3600)


def agreed(answers: list[Answer]) -> float | None:
    """Chance-corrected agreement of people who did the same task."""
    return agreement(
        [answer.task for answer in answers], [Sorting(answer.worker, answer.items, answer.groups) for answer in answers]
    )


def worker_rows(workspace: Workspace, campaign: Campaign, run: Run | None) -> list[dict[str, Any]]:
    """One row for each person: answers, known pairs, and quality and school from the run."""
    arrays, answer_counts = run.arrays() if run else {}, workspace.crowd.answers_by_worker(campaign.id)
    quality, schools, looking = (
        np.asarray(arrays[name]) if name in arrays else np.empty(0) for name in ("quality", "schools", "looking")
    )
    rows = []
    for worker in workspace.crowd.workers(campaign.id):
        at = worker.number
        known = at < len(quality) and np.isfinite(quality[at])
        rows.append(
            {
                "number": at,
                "nickname": worker.nickname,
                "state": worker.state,
                "answers": answer_counts.get(at, 0),
                "gold_asked": worker.gold_asked,
                "gold_right": worker.gold_right,
                "quality": float(quality[at]) if known else None,
                "looking": bool(looking[at]) if known else True,
                "school": int(schools[at]) if known and schools[at] >= 0 else None,
            }
        )
    return rows


def people_rows(workers: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The workers as the table lists them, the best first."""
    best_first = sorted(
        workers, key=lambda worker: -1.0 if worker["quality"] is None else worker["quality"], reverse=True
    )
    return [
        {
            **{name: worker[name] for name in ("nickname", "answers", "quality")},
            "id": worker["number"],
            "person": worker["number"] + 1,
            "known_pairs": f"{worker['gold_right']} of {worker['gold_asked']}" if worker["gold_asked"] else "",
            "school": None if worker["school"] is None else worker["school"] + 1,
            "remark": "excluded" if worker["state"] == "stopped" else "" if worker["looking"] else "careless",
            "together": "",
            "measured": worker["quality"] is not None,
            "mark": "" if worker["looking"] else "faint",
        }
        for worker in best_first
    ]


def result(run: Run) -> dict[str, Any]:
    """A run of crowd answers: clusters with example images, tables of people, disputed images.

    `points` is the number of images in the plot of positions.
    """
    arrays = run.arrays()
    ids, labels, sure = (np.asarray(arrays[name]) for name in ("image_ids", "labels", "probability"))
    K, tables = int(run.summary["clusters"]), np.asarray(arrays["confusion"])[:TABLES]
    best = [surest(ids, labels, sure, cluster) for cluster in range(K)]
    worker_groups, school_of = schools(arrays)
    return {
        "run": run.id,
        "name": run.name,
        "gain": run.summary.get("gain"),
        "colours": distinct(K),
        "clusters": [{"number": k, "size": int((labels == k).sum()), "exemplars": best[k]} for k in range(K)],
        "points": min(len(ids), MOST_POINTS),
        "schools": worker_groups,
        "tables": [table.round(2).tolist() for table in tables],
        "orders": [
            worker_groups[school]["order"] if school >= 0 else block_order(1 - table).tolist()
            for school, table in zip(school_of[:TABLES], tables, strict=True)
        ],
        "disputed": [[int(ids[at]), float(sure[at])] for at in np.argsort(sure, kind="stable")[:DISPUTED]],
    }


def surest(ids: np.ndarray, labels: np.ndarray, sure: np.ndarray, cluster: int) -> list[list[float]]:
    """[image, probability] of the members with the highest probability, best first."""
    members = np.flatnonzero(labels == cluster)
    return [
        [int(ids[at]), round(float(sure[at]), 3)]
        for at in members[np.argsort(-sure[members], kind="stable")][:EXEMPLARS]
    ]
