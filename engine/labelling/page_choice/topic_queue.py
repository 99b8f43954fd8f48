"""The queue of images whose topics fit two labels equally well: margin sampling by topics (methods note 6)."""

import numpy as np

from benthoscope.engine.labelling.page_choice.queues import margins

MOST_LABELS = 1_000  # labelled images that the classifier learns from; a random sample if there are more
MARGIN = 10.0  # soft margin, fixed: choosing it by cross-validation would take seconds


def topic_margins(weights: np.ndarray, terms: np.ndarray, candidates: np.ndarray) -> np.ndarray:
    """Return p(second) - p(first) of the terms of candidates (m, T), from the topic weights (n, T) and terms (n,) of
    labelled images. The closer to zero, the more informative a label is. With fewer than two terms, all are -1."""
    from benthoscope.engine.topics import HistogramIntersectionSVM  # slow to import

    if len(terms) > MOST_LABELS:
        chosen = np.random.default_rng(0).permutation(len(terms))[:MOST_LABELS]
        weights, terms = weights[chosen], terms[chosen]
    if len(np.unique(terms)) < 2:
        return -np.ones(len(candidates))
    machine = HistogramIntersectionSVM(MARGIN).fit(weights, terms)
    return margins(machine.predict_proba(candidates))
