"""Adoption of crowd clusters: the images that people agree on get the label of their cluster."""

from collections.abc import Mapping

import numpy as np

from benthoscope.engine.labelling.terms import find_or_create_term
from benthoscope.engine.problems import fail
from benthoscope.engine.workspace import Run, Workspace
from benthoscope.engine.workspace.crowd.records import Campaign

AGREED = 0.5  # probability of its cluster from which an image gets the cluster's label


def newest_crowd_run(workspace: Workspace, campaign: Campaign) -> Run | None:
    """The newest clustering of the campaign's answers."""
    return next((run for run in reversed(workspace.runs.all()) if run.summary.get("campaign") == campaign.id), None)


def adopt_clusters(workspace: Workspace, person_id: int, run: Run, labels: Mapping[int, str]) -> list[int]:
    """Label the images of crowd clusters: {cluster: name or path of a term, created if new}.

    Only images whose probability in their cluster is at least AGREED are labelled. Returns the numbers of the events,
    one for each cluster. Nothing is stored if one of the clusters cannot be adopted.
    """
    names = {cluster: " ".join(name.split()) for cluster, name in labels.items() if name.strip()}
    if not names:
        raise fail("clusters", "no cluster has a name", "give a name to at least one cluster")
    agreed = {cluster: agreed_images(run, cluster) for cluster in names}
    terms = {cluster: find_or_create_term(workspace.vocabularies, name).id for cluster, name in names.items()}
    return [
        workspace.labels.label(
            person_id, images, terms[cluster], why="crowd", run_id=run.id, confidence=float(probability.mean())
        )
        for cluster, (images, probability) in agreed.items()
    ]


def agreed_images(run: Run, cluster: int) -> tuple[np.ndarray, np.ndarray]:
    """(images, probabilities) of a crowd cluster that people agree on; BadInput where there are none."""
    if "campaign" not in run.summary:
        raise fail(f"run {run.name}", "does not come from answers of a crowd", "choose the run of a campaign")
    probability = np.asarray(run.array("probability"))
    agreed = (np.asarray(run.array("labels")) == cluster) & (probability >= AGREED)
    if not agreed.any():
        raise fail(f"cluster {cluster + 1}", "has no image that people agree on", "collect more answers first")
    return np.asarray(run.array("image_ids"))[agreed], probability[agreed]
