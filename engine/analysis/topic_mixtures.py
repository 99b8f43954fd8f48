"""Find images by their topics: near a mixture, near the topics of another image, or with the topics of a region."""

import re
from collections.abc import Mapping, Sequence

import numpy as np

from benthoscope.engine.problems import BadInput, fail

TOPIC_AND_SHARE = re.compile(r"\s*(?P<topic>.+?)\s*(?:[:=]\s*|\s+)(?P<share>\d+(?:[.,]\d+)?)\s*%?\s*")
PART_AND_TOPIC = re.compile(
    r"\s*(?P<part>all|half|(?:an?|one|two|three)\s+(?:half|thirds?|quarters?)|\d+(?:[.,]\d+)?\s*%)\s+(?:of\s+)?(?P<topic>.+?)\s*",
    re.IGNORECASE,
)
PARTS = {"half": 2, "third": 3, "quarter": 4}
COUNTS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3}
TOPIC = re.compile(r"(?:topic\s+)?(\d+)", re.IGNORECASE)
SEPARATOR = re.compile(r"[;\n]|,(?!\d+\s*(?:%|$|[,;\n]))")  # not the comma of a decimal number
EXAMPLE = "write a mixture like '3: 50 %, 7: 50 %' or 'half topic 3, half topic 7'"
WHOLE = 100.0  # per cent
SMALLEST = 1e-6  # weight of a topic that an image does not have


def mixture_named(text: str, n_topics: int, names: Mapping[int, str]) -> dict[int, float]:
    """Return {topic: share} of a text such as "3: 50 %, sand: 30 %" or "half topic 3, a quarter sand". Topics are given
    by number or by name. Raises if a topic does not exist or the shares sum to more than 100 %."""
    target: dict[int, float] = {}
    for item in filter(str.strip, SEPARATOR.split(text)):
        topic, share = _topic_and_share(item, n_topics, names)
        if topic in target:
            raise fail("mixture", f"topic {topic} occurs twice", "give each topic one share")
        target[topic] = share
    if sum(target.values()) > 1 + 1e-9:
        raise fail("mixture", f"the shares sum to {WHOLE * sum(target.values()):.4g} %", "give at most 100 %")
    return target


def _topic_and_share(item: str, n_topics: int, names: Mapping[int, str]) -> tuple[int, float]:
    """Return the topic and the share of a text with the share after the topic or before it. Both forms can fit, as in
    "half topic 3": the one whose topic exists is meant."""
    match, reverse = TOPIC_AND_SHARE.fullmatch(item), PART_AND_TOPIC.fullmatch(item)
    if match is None and reverse is None:
        raise fail("mixture", f"'{item.strip()}' is not a topic and its share", EXAMPLE)
    if match is not None and (reverse is None or _is_topic(match["topic"], n_topics, names)):
        return _topic_named(match["topic"], n_topics, names), _number(match["share"]) / WHOLE
    assert reverse is not None
    return _topic_named(reverse["topic"], n_topics, names), _share(reverse["part"].lower())


def _share(part: str) -> float:
    """Return the share that a text such as "two thirds" or "50 %" names."""
    if part.endswith("%"):
        return _number(part.removesuffix("%")) / WHOLE
    if part == "all":
        return 1.0
    *count, word = part.split()
    return (COUNTS[count[0]] if count else 1) / PARTS[word.removesuffix("s")]


def _number(text: str) -> float:
    return float(text.strip().replace(",", "."))


def _is_topic(word: str, n_topics: int, names: Mapping[int, str]) -> bool:
    try:
        _topic_named(word, n_topics, names)
    except BadInput:
        return False
    return True


def _topic_named(word: str, n_topics: int, names: Mapping[int, str]) -> int:
    for number, name in names.items():
        if name.lower() == word.lower():
            return number
    match = TOPIC.fullmatch(word)
    if match is None or int(match[1]) >= n_topics:
        known = ", ".join([f"0 to {n_topics - 1}", *names.values()])
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
