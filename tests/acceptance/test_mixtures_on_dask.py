"""The same fit on this machine's threads and on a Dask cluster of two worker processes."""

import numpy as np
import pytest

from engine.compute import DaskCluster, InOrder
from engine.mixtures import GMC, VDP

distributed = pytest.importorskip("distributed", reason="the extra 'cluster' is not installed")


@pytest.fixture(scope="module")
def cluster():
    workers = distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None)
    with workers as started, DaskCluster(started.scheduler_address) as joined:
        yield joined


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(5), 12_000)
    kind = (rng.integers(0, 3, 60_000) + groups) % 7
    return 3 * rng.standard_normal((7, 6))[kind] + rng.standard_normal((60_000, 6)), groups


@pytest.mark.parametrize("kind", [GMC, VDP])
@pytest.mark.parametrize("from_file", [False, True], ids=["array", "file"])
def test_a_cluster_gives_what_this_machine_gives(kind, from_file, cluster, rows, tmp_path):
    X, groups = rows
    source = X
    if from_file:
        source = tmp_path / "rows.npy"
        np.save(source, X)
    here = kind(search_rows=4000, random_state=0).fit(source, groups, compute=InOrder())
    there = kind(search_rows=4000, random_state=0).fit(source, groups, compute=cluster)
    assert there.n_clusters_ == here.n_clusters_ == 7
    assert there.lower_bound_ == pytest.approx(here.lower_bound_, rel=1e-6)
    assert (there.labels_ == here.labels_).mean() > 0.9999
    assert there.weights_ == pytest.approx(here.weights_, abs=1e-6)
    assert (there.predict(source, groups, compute=cluster) == there.labels_).all()
