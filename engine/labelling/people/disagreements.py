"""Images on which a person differs from the consensus of the others, to learn from.

The consensus is the term that resolved a conflict, or the most frequent one of the other people. Only labels of images
that somebody looked at count.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benthoscope.engine.labelling.agreement import Opinions, opinions
from benthoscope.engine.problems import fail
from benthoscope.engine.workspace import Workspace
from benthoscope.engine.workspace.labels.events import Event, by_looking
from benthoscope.engine.workspace.labels.log import Act

KEPT = "kept"  # in the rule of an event: the person has seen the consensus and keeps the own label


@dataclass(frozen=True)
class Disagreement:
    """`agreeing` of `other_people` gave the image the `consensus`. `settled`: somebody has resolved the conflict."""

    image: int
    own_term: int
    consensus: int
    agreeing: int
    other_people: int
    settled: bool


@dataclass(frozen=True)
class ConsensusComparison:
    """The labels of a person beside those of the others. `shared` images have labels of both. On `divided` ones the
    others have no most frequent term. On `confirmed` ones the person has seen the consensus and kept the own label."""

    shared: int
    divided: int
    confirmed: int
    listed: tuple[Disagreement, ...]

    @property
    def same(self) -> int:
        return self.shared - self.divided - self.confirmed - len(self.listed)


def comparison(events: Sequence[Event], person_id: int) -> ConsensusComparison:
    """Return the comparison from the effective events, the most frequent confusion first."""
    labels = opinions([event for event in events if event.kind == "opinion" or by_looking(event)]).of_several()
    resolving = {event.number for event in events if event.why == "resolved"}
    kept_numbers = {event.number for event in events if event.rule.get(KEPT)}
    own_rows = np.flatnonzero(labels.people == person_id)
    starts = np.searchsorted(labels.images, labels.images[own_rows])
    ends = np.searchsorted(labels.images, labels.images[own_rows], side="right")
    listed, divided, confirmed = [], 0, 0
    for row, start, end in zip(own_rows.tolist(), starts.tolist(), ends.tolist(), strict=True):
        other_rows = [other for other in range(start, end) if other != row]
        own_number = int(labels.numbers[row])
        result = _compared(labels, row, other_rows, resolving)
        if result is None:
            divided += own_number not in resolving
        elif result.own_term != result.consensus and own_number not in resolving:
            is_seen = own_number in kept_numbers and own_number > int(labels.numbers[other_rows].max())
            confirmed += is_seen
            listed += [] if is_seen else [result]
    frequency = Counter((each.own_term, each.consensus) for each in listed)
    listed.sort(key=lambda each: (-frequency[each.own_term, each.consensus], each.own_term, each.consensus, each.image))
    return ConsensusComparison(len(own_rows), divided, confirmed, tuple(listed))


def adopt(workspace: Workspace, person_id: int, images: Iterable[int]) -> list[int]:
    """Give these images the consensus as this person's label. Where the person's label is the current one, the current
    label changes. Returns the numbers of the events."""
    terms = {image: each.consensus for image, each in _listed(workspace, person_id, images).items()}
    current_images, numbers = workspace.labels.current()
    own_events = [event.number for event in workspace.labels.events() if event.person_id == person_id]
    own_images = set(current_images[np.isin(numbers, own_events)].tolist())
    return _append(workspace, person_id, {image: (term, image in own_images, {}) for image, term in terms.items()})


def keep(workspace: Workspace, person_id: int, images: Iterable[int]) -> list[int]:
    """Record that this person has seen the consensus on these images and keeps the own label. Returns the numbers of
    the events."""
    listed = _listed(workspace, person_id, images)
    return _append(
        workspace, person_id, {image: (each.own_term, False, {KEPT: True}) for image, each in listed.items()}
    )


def disagreement_facts(workspace: Workspace, person_id: int) -> dict[str, Any]:
    """Return the comparison of a person as plain values."""
    result = comparison(workspace.labels.effective()[0], person_id)
    return {
        "shared": result.shared,
        "same": result.same,
        "divided": result.divided,
        "kept": result.confirmed,
        "disagreements": [vars(each) for each in result.listed],
    }


def most_frequent(terms: Sequence[int]) -> int | None:
    """Return the most frequent term; None if two are equally frequent."""
    votes = Counter(terms).most_common(2)
    return None if len(votes) > 1 and votes[0][1] == votes[1][1] else votes[0][0]


def _compared(labels: Opinions, row: int, other_rows: Sequence[int], resolving: set[int]) -> Disagreement | None:
    """Return the label in a row beside those in other rows of its image; None if these have no most frequent term."""
    terms = labels.terms[other_rows].tolist()
    newest = max(
        (other for other in other_rows if int(labels.numbers[other]) in resolving),
        key=lambda other: int(labels.numbers[other]),
        default=None,
    )
    consensus = most_frequent(terms) if newest is None else int(labels.terms[newest])
    if consensus is None:
        return None
    agreeing = terms.count(consensus)
    return Disagreement(
        int(labels.images[row]), int(labels.terms[row]), consensus, agreeing, len(other_rows), newest is not None
    )


def _listed(workspace: Workspace, person_id: int, images: Iterable[int]) -> dict[int, Disagreement]:
    waiting = {each.image: each for each in comparison(workspace.labels.effective()[0], person_id).listed}
    chosen = list(dict.fromkeys(images))
    unknown = [image for image in chosen if image not in waiting]
    if unknown or not chosen:
        problem = f"image {unknown[0]} is no disagreement of this person" if unknown else "no image is chosen"
        raise fail("disagreements", problem, "choose images of the list")
    return {image: waiting[image] for image in chosen}


def _append(workspace: Workspace, person_id: int, labels: dict[int, tuple[int, bool, dict[str, Any]]]) -> list[int]:
    """Append one event for each term: a label where the current one changes, an opinion elsewhere."""
    groups: dict[tuple[int, bool], list[int]] = {}
    for image, (term, is_current, _) in labels.items():
        groups.setdefault((term, is_current), []).append(image)
    return workspace.labels.append_events(
        person_id,
        [
            Act(
                "label" if is_current else "opinion",
                np.array(sorted(images), np.int64),
                "verification",
                term,
                rule=labels[images[0]][2],
            )
            for (term, is_current), images in groups.items()
        ],
    )
