"""The default search reaches the bound and the number of clusters of a start from the true clusters.

A small form of the benchmark `mixture_shapes`, which measures more and larger shapes.
"""

import pytest

from benthoscope.engine.compute import InOrder
from benthoscope.engine.metrics import v_measure
from benthoscope.engine.mixtures import MCM, SCM, model_named
from tests.benchmarks.cluster_shapes import Shape, shaped_rows

SEED = 21  # not used while the search was developed
SMALL = [
    ("gmc", Shape(rows=24_000)),
    ("vdp", Shape(columns=8, separation=1.0, rows=24_000)),
    ("gmc", Shape(columns=12, clusters=40, separation=0.6, rows=24_000)),
    ("sgmc", Shape(columns=8, groups=240, clusters=20, separation=1.0, rows=24_000)),
    ("bgmm", Shape(columns=8, clusters=25, separation=1.0, rows=24_000, zipf=True)),
]


@pytest.mark.parametrize(("name", "shape"), SMALL, ids=str)
def test_the_search_reaches_the_bound_of_a_start_from_the_true_clusters(name, shape):
    data = shaped_rows(shape, SEED)

    def fit(search, start=None):
        model = model_named(name)(search=search, tol=1e-6, random_state=0)
        return model.fit(data.rows, groups=data.groups, start=start, compute=InOrder())

    truth, own = fit("none", data.truth), fit("best")
    assert own.lower_bound_ >= truth.lower_bound_ - 1e-4 * abs(truth.lower_bound_)
    assert abs(own.n_clusters_ - truth.n_clusters_) <= 0.03 * truth.n_clusters_ + 0.5
    assert v_measure(data.truth, own.labels_) >= v_measure(data.truth, truth.labels_) - 0.01


@pytest.mark.parametrize("kind", [SCM, MCM])
def test_both_levels_are_found_on_a_sample_and_on_all_rows(kind):
    data = shaped_rows(Shape(columns=8, clusters=20, separation=1.0, rows=15_000), SEED)
    options = {"image_features": data.descriptors} if kind is MCM else {}
    model = kind(by_dive=True, tol=1e-6, search_rows=6_000, random_state=0).fit(
        data.rows, image_of_segment=data.images, group_of_image=data.image_groups, compute=InOrder(), **options
    )
    assert (model.n_clusters_, model.n_image_clusters_) == (20, 6)
    assert v_measure(data.image_truth, model.image_labels_) > 0.99
