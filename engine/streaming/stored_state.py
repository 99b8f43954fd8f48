"""The state of a stream as arrays and plain values, and back."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from benthoscope.engine.distributions import Clusters, NestedSticks
from benthoscope.engine.mixtures.data import Frame, Summary
from benthoscope.engine.mixtures.fitted import FittedMixture, part_of
from benthoscope.engine.mixtures.model import Model
from benthoscope.engine.mixtures.observation_models import KINDS
from benthoscope.engine.streaming.identity import ClusterEvent, Identities
from benthoscope.engine.streaming.learning import StreamSettings, StreamState
from benthoscope.engine.streaming.lineage import Lineage
from benthoscope.engine.streaming.snapshot import StreamSnapshot
from benthoscope.engine.streaming.units import Units


def state_to_arrays(state: StreamState) -> dict[str, Any]:
    snapshot, identities = state.published, state.published.identities
    prior = state.model.clusters
    first = {} if state.first_rows is None else {"mean": state.first_rows.mean, "scatter": state.first_rows.scatter}
    sections = {
        "frame": {"origin": state.frame.origin, "scale": np.asarray(state.frame.scale)},
        "prior": prior.arrays(),
        "units": {"points": state.units.points, "sums": state.units.sums},
        "lineage": state.lineage.arrays(),
        "mixture": snapshot.mixture.arrays(),
        "identities": {"numbers": identities.numbers},
        "first": first,
    }
    return {
        **{f"{section}.{name}": value for section, values in sections.items() for name, value in values.items()},
        "recent": state.recent,
        "scores": state.scores,
        "rounds": snapshot.number,
        "kind": type(prior).__name__,
        "memory": dict(snapshot.memory),
        "budget_binds": snapshot.budget_binds,
        "next_number": identities.next_number,
        "events": [[event.kind, event.cluster, event.other] for event in identities.events],
        "first_count": 0 if state.first_rows is None else state.first_rows.count,
        "first_lowest": 0.0 if state.first_rows is None else state.first_rows.lowest,
    }


def state_from_arrays(stored: Mapping[str, Any], settings: StreamSettings) -> StreamState:
    kind = stored["kind"]
    frame, prior = frame_of(stored), prior_of(stored)
    units = Units(prior, np.array(stored["units.points"]), np.array(stored["units.sums"]))
    lineage = Lineage.from_arrays(part_of(stored, "lineage"))
    mixture = FittedMixture.from_arrays(part_of(stored, "mixture"), kind)
    events = tuple(ClusterEvent(*event) for event in stored["events"])
    identities = Identities(np.array(stored["identities.numbers"]), stored["next_number"], events)
    snapshot = StreamSnapshot(
        stored["rounds"], lineage.rows, mixture, identities, stored["memory"], bool(stored["budget_binds"])
    )
    model = Model(NestedSticks(settings.concentration), prior)
    recent, scores = np.array(stored["recent"]), np.array(stored["scores"])
    return StreamState(frame, first_rows_of(stored), model, units, lineage, recent, scores, snapshot)


def prior_of(stored: Mapping[str, Any], section: str = "prior") -> Clusters:
    """Return the clusters stored under the names of a section."""
    values = {name: np.array(values) for name, values in part_of(stored, section).items()}
    return KINDS[stored["kind"]](**values)


def frame_of(stored: Mapping[str, Any]) -> Frame:
    return Frame(np.array(stored["frame.origin"]), float(stored["frame.scale"]))


def first_rows_of(stored: Mapping[str, Any]) -> Summary | None:
    """Return the summary of the rows that set the prior, unless the prior is final."""
    if not stored["first_count"]:
        return None
    mean, scatter = np.array(stored["first.mean"]), np.array(stored["first.scatter"])
    return Summary(stored["first_count"], mean, scatter, stored["first_lowest"], None)
