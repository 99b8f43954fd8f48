"""Decisions of a person on labels and clusters: verify labels, adopt crowd clusters, split a cluster."""

from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import BaseModel, Field

from benthoscope.app.api.common import Integer, RequestBody, State, Text
from benthoscope.app.session.cache import LABELS
from benthoscope.engine.jobs.labels.typical import next_to_label
from benthoscope.engine.labelling.accuracy.label_errors import suspicious_labels
from benthoscope.engine.labelling.cluster_edits import split_cluster
from benthoscope.engine.labelling.crowd_adoption import adopt_clusters
from benthoscope.engine.labelling.people import double_labels
from benthoscope.engine.labelling.people.disagreements import adopt, disagreement_facts, keep
from benthoscope.engine.labelling.people.person_report import agreement_facts
from benthoscope.engine.labelling.verification import unverified, verify_labels

router = APIRouter(tags=["labels"])
Person = Annotated[Text, Field(min_length=1, max_length=200, description="Name of the person who decides.")]


class NewVerification(RequestBody):
    person: Person
    term: Integer
    correct: list[Integer] = Field(default_factory=list, description="Ids of images whose label is confirmed.")
    wrong: list[Integer] = Field(default_factory=list, description="Ids of images whose label is rejected.")


class DoubleRequest(RequestBody):
    person: Person
    count: Integer = Field(description="Number of images to draw.")


class DoubleAnswers(BaseModel):
    person: Person
    answers: dict[Integer, Integer | None] = Field(description="Id of a term for each image; null: cannot tell.")


class Decisions(BaseModel):
    person: Person
    adopt: list[Integer] = Field(default_factory=list, description="Ids of images that get the consensus.")
    keep: list[Integer] = Field(default_factory=list, description="Ids of images that keep the label of the person.")


class Adoption(BaseModel):
    person: Person
    labels: dict[Integer, Text] = Field(description="Name or path of a term for each cluster.")


class SplitRequest(RequestBody):
    person: Person
    images: list[Integer] = Field(
        default_factory=list, description="Ids of the images of the new cluster; without any the cluster is halved."
    )


@router.get("/labels/unverified")
def waiting(person: Person, app: State) -> list[dict[str, Any]]:
    """The labels of others that this person has not verified, by term."""
    images, terms = unverified(app.workspace.labels, app.workspace.people.named(person).id)
    return [{"term": term, "images": images[terms == term].tolist()} for term in sorted(set(terms.tolist()))]


@router.get("/labels/suspicious")
def suspicious(app: State) -> dict[str, Any]:
    """Labels that are probably wrong, least believed first, and how many of those checked so far were wrong."""
    return suspicious_labels(app.workspace)


@router.get("/labels/next")
def next_page(app: State) -> dict[str, Any]:
    """The queue of Learn that probably makes most labels right per minute, the reason, and typical images."""
    return next_to_label(app.workspace)


@router.get("/labels/agreement")
def agreement(app: State) -> dict[str, Any]:
    """Agreement in blind double labels: of each two people, and of each person with the others, by term."""
    return agreement_facts(app.workspace)


@router.get("/labels/double")
def double(person: Person, app: State) -> dict[str, Any]:
    """The drawn images that this person has to label a second time, and the progress of the request."""
    return double_labels.double_facts(app.workspace, app.workspace.people.named(person).id)


@router.post("/labels/double", status_code=201)
def request_double(new: DoubleRequest, app: State) -> dict[str, Any]:
    """Draw images that others labelled, for a second label by this person without seeing the first."""
    person = app.workspace.people.named(new.person)
    double_labels.ask_for(app.workspace, person.id, new.count)
    return double_labels.double_facts(app.workspace, person.id)


@router.post("/labels/double/answers", status_code=201)
def answer_double(new: DoubleAnswers, app: State) -> dict[str, Any]:
    """Store second labels of drawn images. The current labels stay."""
    person = app.workspace.people.named(new.person)
    for term in {term for term in new.answers.values() if term is not None}:
        app.workspace.vocabularies.term(term)
    events = double_labels.answer(app.workspace, person.id, new.answers)
    app.changed(LABELS)
    return {"events": events}


@router.get("/labels/disagreements")
def disagreements(person: Person, app: State) -> dict[str, Any]:
    """Images on which this person differs from the consensus of the others."""
    return disagreement_facts(app.workspace, app.workspace.people.named(person).id)


@router.post("/labels/disagreements", status_code=201)
def decide(new: Decisions, app: State) -> dict[str, Any]:
    """Give images the consensus as the label of this person, or keep the person's label."""
    person = app.workspace.people.named(new.person).id
    events = adopt(app.workspace, person, new.adopt) if new.adopt else []
    events += keep(app.workspace, person, new.keep) if new.keep else []
    app.changed(LABELS)
    return {"events": events}


@router.post("/labels/verifications", status_code=201)
def verification(new: NewVerification, app: State) -> dict[str, Any]:
    """Confirm or reject labels of others."""
    person = app.workspace.people.named(new.person)
    term = app.workspace.vocabularies.term(new.term)
    result = verify_labels(app.workspace.labels, person.id, term.id, new.correct, new.wrong)
    app.changed(LABELS)
    return {"confirmed": result.confirmed, "rejected": result.rejected, "events": list(result.events)}


@router.post("/runs/{run_id}/adoptions", status_code=201)
def adoption(run_id: Integer, new: Adoption, app: State) -> dict[str, Any]:
    """Label the images of crowd clusters that people agree on."""
    run, person = app.workspace.runs.get(run_id), app.workspace.people.named(new.person)
    events = adopt_clusters(app.workspace, person.id, run, new.labels)
    app.changed(LABELS)
    return {"events": events}


@router.post("/runs/{run_id}/clusters/{cluster}/splits", status_code=201)
def split(run_id: Integer, cluster: Integer, new: SplitRequest, app: State) -> dict[str, Any]:
    """SplitRequest a cluster by a list of images, or in two. To split it by a model, queue a job `split cluster`."""
    run, person = app.workspace.runs.get(run_id), app.workspace.people.named(new.person)
    made = split_cluster(app.workspace, person.id, run, cluster, new.images)
    app.changed(LABELS)
    return {"run": run_id, "cluster": cluster, "new_clusters": made}
