"""The list of clusters in Review: an example image, the most frequent label, the size and the progress of each."""

from typing import Any

import numpy as np

from benthoscope.app.data.exemplars import examples_of
from benthoscope.app.pages.review.model import Review
from benthoscope.app.session.cache import IMAGES, LABELS, RUNS
from benthoscope.engine.labelling.cluster_edits import Arrangement


def cluster_list(review: Review) -> list[dict[str, Any]]:
    """Fields of every cluster, the largest first."""
    return review.app.cached(
        ("cluster list", review.reviewed_run().id), lambda: _cluster_list(review), (IMAGES, LABELS, RUNS)
    )


def _cluster_list(review: Review) -> list[dict[str, Any]]:
    shares, sizes = review.open_share(), review.arrangement().sizes()
    labels, examples = _frequent_labels(review), _examples(review)
    return [
        {
            "number": number,
            "name": review.name_of(number),
            "size": size,
            "done": round(1 - shares[number], 3),
            "label": labels.get(number, ""),
            "image": examples[number],
        }
        for number, size in sorted(sizes.items(), key=lambda pair: -pair[1])
    ]


def _frequent_labels(review: Review) -> dict[int, str]:
    """{cluster: name of the most frequent label}; clusters without a label are left out."""
    arranged, labels = review.arrangement(), review.labelled()
    positions = np.searchsorted(arranged.images, labels["images"])
    positions = np.minimum(positions, len(arranged.images) - 1)
    in_run = arranged.images[positions] == labels["images"]
    if not in_run.any():
        return {}
    terms, term_at = np.unique(labels["terms"][in_run], return_inverse=True)
    clusters, cluster_at = np.unique(arranged.clusters[positions[in_run]], return_inverse=True)
    counts = np.bincount(cluster_at * len(terms) + term_at, minlength=len(clusters) * len(terms))
    best = counts.reshape(len(clusters), len(terms)).argmax(1)
    names = {term.id: term.name for term in review.terms()}
    return {int(cluster): names.get(int(term), "") for cluster, term in zip(clusters, terms[best], strict=True)}


def _examples(review: Review) -> dict[int, int]:
    """{cluster: id of an example image}. Labels do not change the examples, so they are cached apart."""
    return review.app.cached(
        ("cluster examples", review.reviewed_run().id, review.edit_numbers()),
        lambda: _new_examples(review, review.arrangement()),
        (IMAGES, RUNS),
    )


def _new_examples(review: Review, arranged: Arrangement) -> dict[int, int]:
    """The example image of the run's cluster if it is still in the cluster after edits, or else the first member."""
    numbers, first = np.unique(arranged.clusters, return_index=True)
    examples = dict(zip(numbers.tolist(), arranged.images[first].tolist(), strict=True))
    atlas, typical = review.atlas, examples_of(review.app, review.atlas)
    for number in examples:
        if number < atlas.clusters and len(positions := typical.of(number, count=1)):
            image = int(atlas.columns.ids[positions[0]])
            at = int(np.searchsorted(arranged.images, image))
            if at < len(arranged.images) and arranged.images[at] == image and arranged.clusters[at] == number:
                examples[number] = image
    return examples
