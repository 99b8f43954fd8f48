"""Principal axes and random projection."""

import numpy as np
import pytest

from benthoscope.engine.features import compression
from benthoscope.engine.features.compression import PrincipalAxes, RandomProjection
from benthoscope.engine.problems import BadInput


def in_blocks(rows, size=70):
    return lambda: (rows[start : start + size] for start in range(0, len(rows), size))


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    scales = np.linspace(5, 0.2, 40)
    turned = rng.standard_normal((500, 40)) * scales @ np.linalg.qr(rng.standard_normal((40, 40)))[0]
    return (turned + 3).astype(np.float32)


@pytest.fixture
def long_rows():
    """800 rows of 3,000 columns whose spectrum falls as a power law, as that of image codes does."""
    rng = np.random.default_rng(1)
    core = rng.standard_normal((800, 60)) * np.arange(1, 61) ** -0.8
    return (core @ rng.standard_normal((60, 3000)) + rng.standard_normal(3000)).astype(np.float32)


def exact(rows, keep):
    shifted = rows.astype(np.float64) - rows.mean(0, dtype=np.float64)
    _, singular, axes = np.linalg.svd(shifted, full_matrices=False)
    return singular[:keep] ** 2 / len(rows), axes[:keep]


def test_the_squared_error_of_rebuilding_is_the_sum_of_the_dropped_eigenvalues(rows):
    model = PrincipalAxes(12).fit(in_blocks(rows), rng=np.random.default_rng(0))
    shifted = rows.astype(np.float64) - rows.mean(0, dtype=np.float64)
    axes = model.axes.astype(np.float64)
    lost = ((shifted - shifted @ axes @ axes.T) ** 2).sum(1).mean()
    assert lost == pytest.approx(np.linalg.eigvalsh(shifted.T @ shifted / len(rows))[:-12].sum(), rel=1e-6)


def test_whitened_rows_have_identity_covariance(rows):
    model = PrincipalAxes(15, whiten=True).fit(in_blocks(rows), rng=np.random.default_rng(0))
    short = (rows.astype(np.float64) - rows.mean(0, dtype=np.float64)) @ model.axes.astype(np.float64)
    assert short.T @ short / len(rows) == pytest.approx(np.eye(15), abs=1e-6)
    assert model(rows) == pytest.approx(short, abs=1e-4)


def test_long_rows_get_the_axes_of_the_exact_decomposition_without_being_held_together(long_rows):
    assert long_rows.shape[1] > compression.EXACT_UP_TO
    model = PrincipalAxes(10).fit(in_blocks(long_rows), rng=np.random.default_rng(0))
    spectrum, axes = exact(long_rows, 10)
    assert model.spectrum == pytest.approx(spectrum, rel=1e-3)
    cosines = np.linalg.svd(axes @ model.axes)[1]  # of the angles between the two subspaces
    assert cosines.min() > 0.999


def test_the_order_of_blocks_and_their_size_do_not_matter(long_rows):
    model = PrincipalAxes(5).fit(in_blocks(long_rows, 800), rng=np.random.default_rng(3))
    other = PrincipalAxes(5).fit(in_blocks(long_rows, 37), rng=np.random.default_rng(3))
    assert model(long_rows) == pytest.approx(other(long_rows), abs=2e-3 * float(np.abs(model(long_rows)).max()))


def test_axes_have_a_fixed_sign_so_a_refit_gives_the_same_numbers(rows):
    model = PrincipalAxes(6).fit(in_blocks(rows), rng=np.random.default_rng(0))
    other = PrincipalAxes(6).fit(in_blocks(rows[::-1].copy()), rng=np.random.default_rng(9))
    assert model(rows) == pytest.approx(other(rows), abs=1e-3)


def test_no_more_axes_are_kept_than_the_rows_span(rows):
    assert PrincipalAxes(32).fit(in_blocks(rows[:5]), rng=np.random.default_rng(0)).width == 4
    assert PrincipalAxes(99).fit(in_blocks(rows), rng=np.random.default_rng(0)).width == 40


def test_whitening_an_empty_direction_gives_zeros_not_noise(rows):
    flat = rows.copy()
    flat[:, 5:] = 1.0
    short = PrincipalAxes(10, whiten=True).fit(in_blocks(flat), rng=np.random.default_rng(0))(flat)
    assert np.isfinite(short).all() and np.abs(short[:, 5:]).max() < 1e-3


def test_no_rows_are_an_error(rows):
    with pytest.raises(BadInput, match="no rows"):
        PrincipalAxes(3).fit(in_blocks(rows[:0]), rng=np.random.default_rng(0))


def test_random_projection_keeps_nineteen_in_twenty_squared_distances_within_fifteen_percent():
    rows = np.random.default_rng(4).random((60, 21_504), dtype=np.float32)
    short = RandomProjection(1000).fit(in_blocks(rows), rng=np.random.default_rng(5))(rows)
    pairs = np.triu_indices(60, 1)
    before = ((rows[pairs[0]] - rows[pairs[1]]) ** 2).sum(1)
    after = ((short[pairs[0]] - short[pairs[1]]) ** 2).sum(1)
    assert (np.abs(after / before - 1) < 0.15).mean() >= 0.95


def test_one_row_is_projected_as_it_is_among_others(rows):
    model = PrincipalAxes(4).fit(in_blocks(rows), rng=np.random.default_rng(0))
    assert model(rows[7]) == pytest.approx(model(rows)[7], abs=1e-5)
