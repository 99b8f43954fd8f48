"""Training in Labels: images on which a person differs from the consensus of the others."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from benthoscope.app.data.labels import all_terms, standing_events
from benthoscope.app.pages.labels.model import Labels
from benthoscope.app.session.cache import LABELS
from benthoscope.engine.labelling.people.disagreements import ConsensusComparison, Disagreement, comparison
from benthoscope.engine.labelling.people.double_labels import DoubleProgress, progress
from benthoscope.engine.workspace.labels.vocabularies import Term

SHOWN = 60  # images sent at once
SECOND_LABELS = "/learn?queue=double"


def content(labels: Labels) -> dict[str, Any]:
    """Content of the part: what agrees, what is confused most, and the images."""
    person = labels.session.current_person()
    if person is None:
        text = "Your labels are compared with those of the others. Enter your name at the top right."
        return _empty("Enter your name first", text)
    result = labels.app.cached(
        ("comparison", person.id), lambda: comparison(standing_events(labels.app), person.id), LABELS
    )
    if not result.shared:
        return _without_shared(progress(labels.app.workspace, person.id))
    terms = all_terms(labels.app)
    chosen = [each for each in result.listed if [each.own_term, each.consensus] == labels.confusion] or result.listed
    return {
        "empty": None,
        "summary": _summary(result),
        "confusions": _confusions(result, terms),
        "chosen": labels.confusion if len(chosen) < len(result.listed) else [],
        "examples": _examples(chosen[0], terms) if chosen and _is_one_pair(chosen) else [],
        "disagreements": [_item(each, terms) for each in chosen[:SHOWN]],
        "more": max(len(chosen) - SHOWN, 0),
        "link": SECOND_LABELS,
    }


def _without_shared(state: DoubleProgress) -> dict[str, Any]:
    if state.remaining or state.available:
        return _empty(
            "No other person has labelled your images yet",
            "Label images that others labelled, without seeing their labels. Then you see here where you differ.",
            [SECOND_LABELS, "Give second labels"],
        )
    return _empty(
        "There are no labels of others to compare with",
        "Training compares your labels with those of others. Ask another person to label images in Learn or Review.",
        ["/learn", "Go to Learn"],
    )


def _empty(title: str, text: str, link: list[str] | None = None) -> dict[str, Any]:
    return {"empty": {"title": title, "text": text, "link": link}, "disagreements": []}


def _summary(result: ConsensusComparison) -> str:
    lines = [f"You and the others gave the same label to {result.same:,} of {result.shared:,} images"]
    lines += [f"on {result.divided:,} the others are divided"] if result.divided else []
    lines += [f"on {result.confirmed:,} you kept your label"] if result.confirmed else []
    return "; ".join(lines)


def _confusions(result: ConsensusComparison, terms: Mapping[int, Term]) -> list[dict[str, Any]]:
    counts = Counter((each.own_term, each.consensus) for each in result.listed)
    return [
        {
            "ids": [own_term, consensus],
            "own": terms[own_term].name,
            "consensus": terms[consensus].name,
            "images": images,
        }
        for (own_term, consensus), images in counts.most_common()
    ]


def _is_one_pair(listed: tuple[Disagreement, ...] | list[Disagreement]) -> bool:
    return len({(each.own_term, each.consensus) for each in listed}) == 1


def _examples(shown: Disagreement, terms: Mapping[int, Term]) -> list[dict[str, Any]]:
    """Example images and notes of the two terms that are compared."""
    return [
        {
            "name": terms[term].name,
            "notes": terms[term].details.get("notes", ""),
            "images": list(terms[term].details.get("examples", ())),
        }
        for term in (shown.own_term, shown.consensus)
    ]


def _item(each: Disagreement, terms: Mapping[int, Term]) -> dict[str, Any]:
    people = "1 other person" if each.other_people == 1 else f"{each.agreeing} of {each.other_people} other people"
    return {
        "image": each.image,
        "own": terms[each.own_term].name,
        "consensus": terms[each.consensus].name,
        "people": f"resolved conflict, {people}" if each.settled else people,
    }
