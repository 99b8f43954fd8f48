"""Content of the Learn board as plain values."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from benthoscope.app.data.figures import measured_history
from benthoscope.app.data.labels import standing_events, term_colours
from benthoscope.app.data.naming import favourites
from benthoscope.app.data.topics import runs_of_topics
from benthoscope.app.pages.learn.final_check import state
from benthoscope.app.pages.learn.memory import memory_content
from benthoscope.app.pages.learn.model import Learn
from benthoscope.app.pages.learn.queues import DOUBLE, QUEUE_NAMES, RANDOM, SURE, TOPICS, TYPICAL
from benthoscope.app.pages.learn.typical import images_without_model, is_choosing
from benthoscope.app.session.cache import LABELS
from benthoscope.engine.labelling.accuracy.repeats import slip_record
from benthoscope.engine.labelling.audits.bulk_audit import unchecked_suggestions
from benthoscope.engine.labelling.measured_accuracy import Measured, conformal_size, measure
from benthoscope.engine.labelling.speed import forecast, pace
from benthoscope.engine.labelling.suggestions import Suggestions

OPTIONS = 3  # suggestions of an image that a click cycles through


def content(learn: Learn) -> dict[str, Any]:
    """Content of the board."""
    suggestions = learn.suggestions()
    colours = term_colours(learn.app)
    shown = {
        "queue": learn.queue,
        "queues": _queues(learn),
        "learning": learn.learning(),
        "learnt": suggestions is not None,
        "version": learn.app.images_version,
        "wanted": learn.precision,
        "term": _term(learn, colours),
        "batch": learn.batch,
        "labelled": len(learn.current()[0]),
        "left": len(learn.app.columns) - len(learn.current()[0]),
        "favourites": [
            {**favourite, "colour": colours.get(favourite["id"], "")} for favourite in favourites(learn.session)
        ],
        "spent": _spent(learn),
        "slips": _slips(learn),
        "columns": learn.columns,
        "memory": memory_content(learn.app),
        "best": learn.next_best(),
        "trainable": learn.can_train(),
        "choosing": learn.queue == TYPICAL and is_choosing(learn.app),
    }
    if suggestions is None:
        return {**shown, **_first_page(learn, colours)}
    measured = measure(learn.answered())
    return {
        **shown,
        "images": _tiles(learn, colours),
        "table": learn.table().number,
        "age": _age(learn),
        "measured": vars(measured),
        "sets": _sets(learn, suggestions),
        "accept": _accept(learn),
        "final": _final(learn, suggestions),
        "errors": _errors(learn),
        "reliable": suggestions.facts.get("reliable_people", 0),
        "trainings": len(measured_history(learn.learnt_from())),
        "expected": _expected(learn, measured),
    }


def _first_page(learn: Learn, colours: Mapping[int, str]) -> dict[str, Any]:
    """The typical images, which are labelled without suggestions; no images before they are chosen."""
    if learn.queue != TYPICAL or images_without_model(learn.app) is None:
        return {"images": []}
    return {"images": _tiles(learn, colours), "table": learn.table().number}


def _queues(learn: Learn) -> dict[str, dict[str, Any]]:
    """The queues of this page, and those with separate pages. The queue of topics needs a run of topics.

    Four are always visible: confident suggestions take the place of typical images as soon as there is a model.
    """
    has_topics = bool(runs_of_topics(learn.app))
    names = {name: queue for name, queue in QUEUE_NAMES.items() if name != TOPICS or has_topics}
    hidden = TYPICAL if learn.suggestions() is not None else SURE
    return {
        name: {**vars(queue), "first": queue.first and name != hidden}
        for name, queue in {**names, "random": RANDOM, "double": DOUBLE}.items()
    }


def _age(learn: Learn) -> dict[str, Any]:
    """Labels the model has not been trained on, as text and flags."""
    age = learn.age()
    return {"text": str(age), "stale": learn.out_of_date(), "current": age.current, "updating": learn.learning()}


def _sets(learn: Learn, suggestions: Suggestions) -> dict[str, Any]:
    """Mean size of the prediction sets, and the numbers of random images answered and needed for it."""
    return {
        "possible": learn.possible(),
        "answered": suggestions.draws_for_sets(),
        "needed": conformal_size(round(1 - learn.precision, 9)),
    }


def _accept(learn: Learn) -> dict[str, Any]:
    """Suggestions that can be accepted or what is missing, and unchecked ones that earlier versions accepted without
    proof."""
    chosen = learn.acceptable()
    need = chosen.need
    left = int((~np.isin(learn.require_suggestions().image_ids, learn.current()[0])).sum())
    return {
        "ready": len(chosen.rows),
        "left": left,
        "threshold": chosen.threshold,
        "need": need.text if need else "",
        "draw_more": need is not None and need.missing_draws is not None,
        "reachable": need.reachable if need else None,
        "open_cover": learn.answered().open_cover,
        "unchecked": learn.app.cached(
            "unchecked suggestions", lambda: unchecked_suggestions(learn.app.workspace), LABELS
        ),
    }


def _spent(learn: Learn) -> float | None:
    """Seconds this person has spent on labelling, without pauses."""
    person = learn.session.current_person()
    return pace(standing_events(learn.app), person.id).seconds if person else None


def _final(learn: Learn, suggestions: Suggestions) -> dict[str, Any]:
    """The forecast of wrong labels and the state of the final check."""
    person = learn.session.current_person()
    return state(learn.app, person.id if person else None, suggestions, learn.answered())


def _errors(learn: Learn) -> dict[str, Any]:
    """The share of slips among suspicious labels so far, and whether more of them are offered."""
    share = learn.slip_share()
    return {"text": str(share), "offered": share.offered, "waiting": share.waiting}


def _slips(learn: Learn) -> str:
    """How many labels of this person were not confirmed when shown again; empty before the first repeat."""
    person = learn.session.current_person()
    if person is None:
        return ""
    record = learn.app.cached(("slips", person.id), lambda: slip_record(learn.app.workspace, person.id), LABELS)
    return str(record) if record.repeats or record.waiting else ""


def _expected(learn: Learn, measured: Measured) -> dict[str, Any] | None:
    """Labels and seconds until the wanted share of first suggestions is right, predicted from past measurements."""
    past = measured_history(learn.learnt_from())
    expected = forecast([facts["labels"] for facts in past], [facts["accuracy"] for facts in past], learn.precision)
    if expected is None or not measured.known:
        return None
    person = learn.session.current_person()
    seconds = None
    if person and expected.labels is not None:
        own_pace = pace(standing_events(learn.app), person.id)
        seconds = own_pace.seconds_left(max(expected.labels - past[-1]["labels"], 0))
    return {"labels": expected.labels, "seconds": seconds}


def _tiles(learn: Learn, colours: Mapping[int, str]) -> list[dict[str, Any]]:
    """Tiles of the batch, each with its most likely terms [id, name, probability], the suggestion first, and with its
    label if it has one."""
    table, names = learn.table(), learn.terms()
    labels, since, drawn = learn.labels_of(table.ids), learn.named_since(), table.drawn
    labels = {image: term for image, term in labels.items() if image in since or image not in drawn}
    P = table.suggestions.unseen_rows(table.rows)
    order = np.argsort(-table.probabilities, axis=1, kind="stable")[:, :OPTIONS]
    sets = table.suggestions.sets(table.rows, 1 - learn.precision)
    possible = [0] * len(table.rows) if sets is None else sets.sum(1).tolist()
    options: list[list[list[Any]]] = [
        [
            [int(table.suggestions.terms[at]), names[int(table.suggestions.terms[at])].name, round(float(row[at]), 3)]
            for at in best
        ]
        for best, row in zip(order, P, strict=True)
    ]
    return [
        {
            "id": image,
            "term": image_options[0][1] if image_options else "",
            "colour": colours.get(image_options[0][0], "") if image_options else "",
            "sure": image_options[0][2] if image_options else 0.0,
            "options": image_options,
            "possible": among,
            "label": names[labels[image]].name if image in labels else "",
            "named": colours.get(labels[image], "var(--line)") if image in since else "",
        }
        for image, image_options, among in zip(table.ids.tolist(), options, possible, strict=True)
    ]


def _term(learn: Learn, colours: Mapping[int, str]) -> dict[str, Any] | None:
    term = None if learn.term is None else learn.terms().get(learn.term)
    return None if term is None else {"id": term.id, "name": term.name, "colour": colours.get(term.id, "")}
