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
    """`agreeing` of `others` people gave the image the `consensus`. `settled`: somebody has resolved the conflict."""

    image: int
    own: int
    consensus: int
    agreeing: int
    others: int
    settled: bool


@dataclass(frozen=True)
class Comparison:
    """The labels of a person beside those of the others. `shared` images have labels of both; on `divided` ones the
    others have no most frequent term; `kept` ones were seen here and left."""

    shared: int
    divided: int
    kept: int
    listed: tuple[Disagreement, ...]

    @property
    def same(self) -> int:
        return self.shared - self.divided - self.kept - len(self.listed)


def comparison(events: Sequence[Event], person_id: int) -> Comparison:
    """Return the comparison from the effective events, the most frequent confusion first."""
    looks = opinions([event for event in events if event.kind == "opinion" or by_looking(event)]).of_several()
    resolving = {event.number for event in events if event.why == "resolved"}
    kept_numbers = {event.number for event in events if event.rule.get(KEPT)}
    own_rows = np.flatnonzero(looks.people == person_id)
    starts = np.searchsorted(looks.images, looks.images[own_rows])
    ends = np.searchsorted(looks.images, looks.images[own_rows], side="right")
    listed, divided, kept = [], 0, 0
    for row, start, end in zip(own_rows.tolist(), starts.tolist(), ends.tolist(), strict=True):
        others = [other for other in range(start, end) if other != row]
        own_number = int(looks.numbers[row])
        result = _compared(looks, row, others, resolving)
        if result is None:
            divided += own_number not in resolving
        elif result.own != result.consensus and own_number not in resolving:
            is_seen = own_number in kept_numbers and own_number > int(looks.numbers[others].max())
            kept += is_seen
            listed += [] if is_seen else [result]
    frequency = Counter((each.own, each.consensus) for each in listed)
    listed.sort(key=lambda each: (-frequency[each.own, each.consensus], each.own, each.consensus, each.image))
    return Comparison(len(own_rows), divided, kept, tuple(listed))


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
    return _append(workspace, person_id, {image: (each.own, False, {KEPT: True}) for image, each in listed.items()})


def disagreement_facts(workspace: Workspace, person_id: int) -> dict[str, Any]:
    """Return the comparison of a person as plain values."""
    result = comparison(workspace.labels.effective()[0], person_id)
    return {
        "shared": result.shared,
        "same": result.same,
        "divided": result.divided,
        "kept": result.kept,
        "disagreements": [vars(each) for each in result.listed],
    }


def most_frequent(terms: Sequence[int]) -> int | None:
    """Return the most frequent term; None if two are equally frequent."""
    votes = Counter(terms).most_common(2)
    return None if len(votes) > 1 and votes[0][1] == votes[1][1] else votes[0][0]


def _compared(looks: Opinions, row: int, others: Sequence[int], resolving: set[int]) -> Disagreement | None:
    """Return the label in a row beside those in other rows of its image; None if these have no most frequent term."""
    terms = looks.terms[others].tolist()
    newest = max(
        (other for other in others if int(looks.numbers[other]) in resolving),
        key=lambda other: int(looks.numbers[other]),
        default=None,
    )
    consensus = most_frequent(terms) if newest is None else int(looks.terms[newest])
    if consensus is None:
        return None
    agreeing = terms.count(consensus)
    return Disagreement(
        int(looks.images[row]), int(looks.terms[row]), consensus, agreeing, len(others), newest is not None
    )


def _listed(workspace: Workspace, person_id: int, images: Iterable[int]) -> dict[int, Disagreement]:
    waiting = {each.image: each for each in comparison(workspace.labels.effective()[0], person_id).listed}
    chosen = list(dict.fromkeys(images))
    unknown = [image for image in chosen if image not in waiting]
    if unknown or not chosen:
        what = f"image {unknown[0]} is no disagreement of this person" if unknown else "no image is chosen"
        raise fail("disagreements", what, "choose images of the list")
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
