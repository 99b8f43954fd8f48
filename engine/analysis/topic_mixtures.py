"""Find images by their topics: near a mixture, near the topics of another image, or with the topics of a region."""

import re
from collections.abc import Mapping, Sequence

import numpy as np

from benthoscope.engine.problems import fail

TOPIC_AND_SHARE = re.compile(r"\s*(?P<topic>.+?)\s*(?:[:=]\s*|\s+)(?P<share>\d+(?:[.,]\d+)?)\s*%?\s*")
TOPIC = re.compile(r"(?:topic\s+)?(\d+)", re.IGNORECASE)
SEPARATOR = re.compile(r"[;\n]|,(?!\d+\s*(?:%|$|[,;\n]))")  # not the comma of a decimal number
EXAMPLE = "write a mixture like '3: 50 %, 7: 50 %'"
WHOLE = 100.0  # per cent
SMALLEST = 1e-6  # weight of a topic that an image does not have


def mixture_named(text: str, n_topics: int, names: Mapping[int, str]) -> dict[int, float]:
    """Return {topic: share} of a text such as "3: 50 %, sand: 30 %". Topics are given by number or by name. Raises if a
    topic does not exist or the shares sum to more than 100 %."""
    target: dict[int, float] = {}
    for item in filter(str.strip, SEPARATOR.split(text)):
        match = TOPIC_AND_SHARE.fullmatch(item)
        if match is None:
            raise fail("mixture", f"'{item.strip()}' is not a topic and its share", EXAMPLE)
        topic = _topic_named(match["topic"], n_topics, names)
        if topic in target:
            raise fail("mixture", f"topic {topic} occurs twice", "give each topic one share")
        target[topic] = float(match["share"].replace(",", ".")) / WHOLE
    if sum(target.values()) > 1 + 1e-9:
        raise fail("mixture", f"the shares sum to {WHOLE * sum(target.values()):.4g} %", "give at most 100 %")
    return target


def _topic_named(word: str, n_topics: int, names: Mapping[int, str]) -> int:
    for number, name in names.items():
        if name.lower() == word.lower():
            return number
    match = TOPIC.fullmatch(word)
    if match is None or int(match[1]) >= n_topics:
        known = ", ".join(names.values()) or f"0 to {n_topics - 1}"
        raise fail("mixture", f"there is no topic '{word}'", f"choose one of {known}")
    return int(match[1])


def mixture_text(target: Mapping[int, float]) -> str:
    """Return the text of a mixture, as `mixture_named` reads it."""
    return ", ".join(f"{topic}: {WHOLE * share:.4g} %" for topic, share in sorted(target.items()) if share > 0)


def distance_to_mixture(weights: np.ndarray, target: Mapping[int, float]) -> np.ndarray:
    """Return the Hellinger distance (N,), 0 to 1, of topic weights (N, T) to a mixture. A share that the mixture leaves
    open may belong to any of the other topics."""
    topics = sorted(target)
    shares = np.asarray(weights, float)[:, topics]
    goal = np.array([target[topic] for topic in topics])
    of_other_topics = np.maximum(1 - shares.sum(1), 0)
    collapsed = np.column_stack([shares, of_other_topics])
    return distance_to_weights(collapsed, [*goal, max(1 - goal.sum(), 0.0)])


def distance_to_weights(weights: np.ndarray, row: Sequence[float]) -> np.ndarray:
    """Return the Hellinger distance (N,), 0 to 1, of topic weights (N, T) to those of one image (T,)."""
    gap = np.sqrt(np.asarray(weights, float)) - np.sqrt(np.asarray(row, float))
    return np.sqrt(0.5 * (gap**2).sum(1))


def distance_to_region(weights: np.ndarray, shares: Sequence[float]) -> np.ndarray:
    """Return how badly topic weights (N, T) explain a region with these shares of topics (T,): one minus the geometric
    mean of the weights of the region's topics, 0 to 1. Other topics of the images do not count."""
    target = np.asarray(shares, float)
    is_in_region = target > 0
    logs = np.log(np.maximum(np.asarray(weights, float)[:, is_in_region], SMALLEST))
    return 1 - np.exp(logs @ (target[is_in_region] / target.sum()))
