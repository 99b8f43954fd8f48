"""Public behaviour of SCM and MCM: fitting, new images and dives, cancelling, resuming, storing, bad input."""

import copy
import json
import pickle
from functools import cache

import numpy as np
import pytest
from sklearn.base import clone

from benthoscope.engine.compute import InOrder, LocalThreads
from benthoscope.engine.metrics import v_measure
from benthoscope.engine.mixtures import GMC, MCM, SCM
from benthoscope.engine.problems import BadInput
from benthoscope.engine.progress import Cancelled
from tests.acceptance.object_scenes import in_subsets, sample_scenes
from tests.unit.mixtures.test_mixture_estimators import Kept

DATA = sample_scenes(1, images=150, segments=15, apart=9.0, looks_apart=6.0)
DIVES = np.array(["kelp point", "north reef", "wreck"])[in_subsets(DATA.scenes, 3, np.random.default_rng(0))]
BOTH = pytest.mark.parametrize("kind", [SCM, MCM])


def feature_options(kind):
    return {"image_features": DATA.W} if kind is MCM else {}


def fitted(kind, **parameters):
    options = {name: parameters.pop(name) for name in ("compute", "on_step", "checkpoint") if name in parameters}
    model = kind(**({"random_state": 0} | parameters))
    return model.fit(DATA.X, image_of_segment=DATA.image, group_of_image=DIVES, **feature_options(kind), **options)


@cache
def shared(kind, **parameters):
    """A fit that several tests read. They do not change it."""
    return fitted(kind, **parameters)


@BOTH
@pytest.mark.parametrize("search", ["greedy", "exhaustive", "together"])
def test_separate_objects_and_scenes_are_found_by_every_search(kind, search):
    model = fitted(kind, search=search)
    assert model.n_clusters_ == 6
    assert model.n_image_clusters_ in (4, 5)  # the SCM gives odd images a cluster of their own
    assert v_measure(DATA.objects, model.labels_) > 0.97
    assert v_measure(DATA.scenes, model.image_labels_) > 0.97


@BOTH
def test_the_history_of_bounds_never_falls_and_ends_at_the_bound(kind):
    model = shared(kind)
    history = np.array(model.lower_bound_history_)
    settled = history[len(history) // 2 :]
    assert (np.diff(settled) >= -1e-3 * abs(history[-1])).all()  # it may start again from other image clusters
    assert history[-1] == pytest.approx(model.lower_bound_, rel=1e-12)
    assert history.max() == pytest.approx(history[-1], rel=1e-9)
    assert model.converged_


@BOTH
def test_shares_and_proportions_are_those_of_the_labels(kind):
    model = shared(kind, by_dive=True)
    T = model.n_image_clusters_
    assert model.groups_.tolist() == ["kelp point", "north reef", "wreck"]
    for dive, name in enumerate(model.groups_):
        counted = np.bincount(model.image_labels_[name == DIVES], minlength=T) / (name == DIVES).sum()
        np.testing.assert_allclose(model.weights_[dive], counted, atol=0.06)
    for image in (0, 77, 149):
        counted = np.bincount(model.labels_[DATA.image == image], minlength=6) / 15
        np.testing.assert_allclose(model.image_weights_[image], counted, atol=0.05)
    for scene in np.flatnonzero(np.bincount(model.image_labels_) > 10):
        of_scene = model.image_weights_[model.image_labels_ == scene].mean(0)
        np.testing.assert_allclose(model.proportions_[scene], of_scene, atol=0.05)
    assert (np.diff(np.bincount(model.labels_)) <= 0).all()
    assert (np.diff(np.bincount(model.image_labels_)) <= 0).all()


@BOTH
def test_the_order_of_segments_does_not_matter(kind):
    order = np.random.default_rng(0).permutation(len(DATA.X))
    model, fitted_model = kind(random_state=0), shared(kind)
    model.fit(DATA.X[order], image_of_segment=DATA.image[order], group_of_image=DIVES, **feature_options(kind))
    np.testing.assert_array_equal(model.labels_, fitted_model.labels_[order])
    np.testing.assert_array_equal(model.image_labels_, fitted_model.image_labels_)
    prediction = fitted_model.explain(DATA.X[order], DATA.image[order], DIVES, **feature_options(kind))
    assert (prediction.labels == fitted_model.labels_[order]).mean() > 0.99


@BOTH
def test_threads_and_their_number_do_not_matter_and_files_do_as_well_as_arrays(kind, tmp_path):
    np.save(tmp_path / "rows.npy", DATA.X)
    first, two = (fitted(kind, compute=machine, search_rows=700) for machine in (InOrder(), LocalThreads(3)))
    from_file = kind(random_state=0, search_rows=700).fit(
        tmp_path / "rows.npy", image_of_segment=DATA.image, group_of_image=DIVES, **feature_options(kind)
    )
    for other in (two, from_file):
        np.testing.assert_array_equal(other.labels_, first.labels_)
        np.testing.assert_array_equal(other.image_labels_, first.image_labels_)
        assert other.lower_bound_ == pytest.approx(first.lower_bound_, rel=1e-10)
    assert first.n_clusters_ == 6, "a search that begins on a sample of images ends at the same clusters"


@BOTH
def test_images_of_unknown_and_unnamed_dives_are_predicted(kind):
    model, strange = shared(kind, by_dive=True), np.full(150, "new dive")
    for dives in (strange, None, np.where(np.arange(150) < 75, DIVES, "new dive")):
        prediction = model.explain(DATA.X, DATA.image, dives, **feature_options(kind))
        assert (prediction.image_labels == model.image_labels_).mean() > 0.98
        np.testing.assert_allclose(prediction.owners.sum(1), 1)
    np.testing.assert_array_equal(model.predict(DATA.X, DATA.image, DIVES, **feature_options(kind)), model.labels_)
    np.testing.assert_array_equal(
        model.predict_images(DATA.X, DATA.image, DIVES, **feature_options(kind)), model.image_labels_
    )


@BOTH
def test_an_image_unlike_all_others_has_a_low_bound(kind):
    model = shared(kind)
    odd = DATA.X.copy()
    odd[DATA.image == 10] += 15
    prediction = model.explain(odd, DATA.image, DIVES, **feature_options(kind))
    assert prediction.bounds.argmin() == 10


@BOTH
def test_a_fitted_model_is_stored_copied_and_pickled(kind):
    model = shared(kind)
    arrays, metadata = model.to_arrays()
    for again in (
        kind.from_arrays(arrays, json.loads(json.dumps(metadata))),
        pickle.loads(pickle.dumps(model)),
        copy.deepcopy(model),
    ):
        np.testing.assert_array_equal(
            again.predict_images(DATA.X, DATA.image, DIVES, **feature_options(kind)), model.image_labels_
        )
        np.testing.assert_array_equal(again.weights_, model.weights_)
        assert again.lower_bound_ == model.lower_bound_
    assert clone(model).get_params() == model.get_params()
    with pytest.raises(BadInput, match="is a"):
        (MCM if kind is SCM else SCM).from_arrays(arrays, metadata)


@BOTH
def test_cancelling_keeps_the_result_so_far(kind):
    model, steps = kind(random_state=0, search_rows=700), []

    def stop(progress):
        steps.append(progress)
        if progress.figures.get("clusters", 0) >= 3:
            raise Cancelled

    with pytest.raises(Cancelled):
        model.fit(DATA.X, image_of_segment=DATA.image, group_of_image=DIVES, **feature_options(kind), on_step=stop)
    assert model.n_clusters_ >= 3 and not hasattr(model, "labels_")
    prediction = model.explain(DATA.X, DATA.image, DIVES, **feature_options(kind))
    assert prediction.owners.shape == (150, model.n_image_clusters_)


@BOTH
@pytest.mark.parametrize(("search", "saves"), [("best", 1), ("best", 2), ("together", 1), ("together", 3)])
def test_a_killed_fit_gives_the_result_of_an_uninterrupted_one(kind, search, saves):
    options, checkpoint = {"search": search, "search_rows": 700}, Kept(fails_after=saves)
    model = shared(kind, **options)
    with pytest.raises(KeyboardInterrupt):
        fitted(kind, **options, checkpoint=checkpoint)
    checkpoint.fails_after = 10**9
    again = fitted(kind, **options, checkpoint=checkpoint)
    np.testing.assert_array_equal(again.labels_, model.labels_)
    np.testing.assert_array_equal(again.image_labels_, model.image_labels_)
    assert again.lower_bound_ == pytest.approx(model.lower_bound_, rel=1e-12)


def test_a_checkpoint_of_another_fit_is_rejected():
    checkpoint = Kept()
    fitted(SCM, checkpoint=checkpoint)
    with pytest.raises(BadInput, match="belongs to another fit"):
        fitted(SCM, width=0.3, checkpoint=checkpoint)


def test_images_as_groups_of_a_mixture_are_sampled_whole():
    big = sample_scenes(2, images=900, segments=15, apart=9.0)
    model = GMC(width=1.0, search_rows=1500, random_state=0).fit(big.X, groups=big.image)
    assert model.weights_.shape == (900, model.n_clusters_)
    assert v_measure(big.objects, model.labels_) > 0.97


@BOTH
def test_odd_but_legal_input_is_clustered(kind):
    rng = np.random.default_rng(0)
    no_segments = np.array([0, 0, 3, 3, 3, 5])  # images 1, 2, 4, 6, 7 show nothing
    W = rng.standard_normal((8, 2))
    for X in (rng.standard_normal((6, 2)), np.ones((6, 2)), np.repeat(rng.standard_normal((2, 2)), 3, axis=0)):
        extra = {"image_features": W} if kind is MCM else {}
        model = kind(random_state=0).fit(X, image_of_segment=no_segments, group_of_image=np.arange(8) % 2, **extra)
        assert np.isfinite(model.lower_bound_)
        assert len(model.image_labels_) == 8 and (model.image_weights_[1] == 0).all()
    lonely = kind(random_state=0).fit(X[:1], **({"image_features": W[:1]} if kind is MCM else {}))
    assert (lonely.n_clusters_, lonely.n_image_clusters_) == (1, 1)


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: SCM().fit(DATA.X, image_of_segment=DATA.image[:-1]), "image_of_segment"),
        (lambda: SCM().fit(DATA.X, image_of_segment=DATA.image - 1), "image_of_segment"),
        (lambda: SCM().fit(DATA.X, image_of_segment=DATA.image.astype(float)), "image_of_segment"),
        (
            lambda: SCM(by_dive=True).fit(DATA.X, image_of_segment=DATA.image, group_of_image=DIVES[:-1]),
            "group_of_image: 149 images",
        ),
        (
            lambda: SCM(by_dive=True).fit(
                DATA.X, image_of_segment=DATA.image, group_of_image=np.r_[np.nan, np.zeros(149)]
            ),
            "group_of_image",
        ),
        (
            lambda: MCM().fit(DATA.X, image_of_segment=DATA.image, image_features=DATA.W[:-1]),
            "image_features: 149 images",
        ),
        (
            lambda: MCM().fit(
                DATA.X, image_of_segment=DATA.image, group_of_image=DIVES, image_features=np.tile(DATA.W, (2, 1))
            ),
            "give one row per image",
        ),
        (lambda: MCM().fit(DATA.X, image_of_segment=DATA.image, image_features=None), "or use SCM"),
        (
            lambda: MCM().fit(DATA.X, image_of_segment=DATA.image, image_features=np.where(DATA.W > 2, np.nan, DATA.W)),
            "image_features row",
        ),
        (lambda: SCM().fit(np.where(DATA.X > 5, np.inf, DATA.X), image_of_segment=DATA.image), "X row"),
        (lambda: SCM(priors="dg").fit(DATA.X), "priors: there is no 'dg'"),
        (lambda: SCM(restarts=0).fit(DATA.X), "restarts"),
        (lambda: SCM(diversity=-1.0).fit(DATA.X), "diversity"),
        (lambda: MCM(image_width=0).fit(DATA.X, image_features=DATA.W), "image_width"),
        (lambda: SCM(max_image_clusters=2.5).fit(DATA.X), "max_image_clusters"),
        (lambda: shared(MCM).explain(DATA.X, DATA.image, image_features=DATA.W[:, :3]), "image_features: 3 columns"),
        (lambda: shared(SCM).explain(DATA.X[:, :3], DATA.image), "X has 3 features"),
    ],
)
def test_unusable_input_is_rejected_in_one_line(call, told):
    with pytest.raises(BadInput, match=told) as refused:
        call()
    assert "\n" not in str(refused.value)
