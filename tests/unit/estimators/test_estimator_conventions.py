"""How the estimators work with pipelines, grid searches, tables and models stored by earlier versions."""

import json
from pathlib import Path

import numpy as np
import pandas
import pytest
from sklearn import config_context
from sklearn.base import BaseEstimator, ClusterMixin, clone
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benthoscope.engine.crowd import BayesianCrowdClustering, FactorizationCrowdClustering
from benthoscope.engine.discriminative import RIM, KernelRIM, SemiSupervisedRIM
from benthoscope.engine.distance_models import HDBSCAN, KMeans
from benthoscope.engine.exemplars import StreamGreedy
from benthoscope.engine.mixtures import BGMM, GMC, MCM, SCM, VDP, SymmetricGMC
from benthoscope.engine.mixtures.baselines import BayesianRestarts, GaussianMixtureByBIC, SelfTuningSpectral
from benthoscope.engine.mixtures.estimator import changed_parameters
from benthoscope.engine.problems import BadInput

RNG = np.random.default_rng(0)
CLUSTER = RNG.integers(0, 3, 240)
X = np.array([[0.0, 0, 0], [8, 0, 0], [0, 8, 0]])[CLUSTER] + RNG.standard_normal((240, 3))
DIVES = np.repeat(["north", "south", "west"], 80)
COLUMNS = ["hue", "depth", "texture"]
TABLE = pandas.DataFrame(X, columns=COLUMNS)
IN_GROUPS = [
    BGMM,
    GMC,
    SymmetricGMC,
    VDP,
    RIM,
    KernelRIM,
    KMeans,
    HDBSCAN,
    GaussianMixtureByBIC,
    SelfTuningSpectral,
    BayesianRestarts,
]
TWO_LEVELS = [SCM, MCM]
CROWD = [BayesianCrowdClustering, FactorizationCrowdClustering]


@pytest.mark.parametrize("kind", [*IN_GROUPS, *TWO_LEVELS, *CROWD, StreamGreedy])
def test_clusterings_derive_from_scikit_learn(kind):
    assert issubclass(kind, BaseEstimator) and issubclass(kind, ClusterMixin)
    assert kind.__name__ in kind()._repr_html_()


@pytest.mark.parametrize("method", ["fit", "fit_predict"])
@pytest.mark.parametrize("kind", [*IN_GROUPS, *TWO_LEVELS, *CROWD])
def test_class_labels_are_rejected_as_target(kind, method):
    with pytest.raises(BadInput, match=rf"^y: .* no target; write {method}\("):
        getattr(kind(), method)(X, CLUSTER)


@pytest.mark.parametrize("kind", [*IN_GROUPS, *TWO_LEVELS])
def test_the_message_about_a_target_names_the_keyword(kind):
    keyword = "image_of_segment" if kind in TWO_LEVELS else "groups"
    with pytest.raises(BadInput, match=rf"fit\(X, {keyword}=\.\.\.\) if you meant {keyword}"):
        kind().fit(X, DIVES)


@pytest.mark.parametrize("kind", [GMC, BayesianRestarts, GaussianMixtureByBIC])
def test_a_target_of_score_is_rejected(kind):
    model = kind().fit(X)
    with pytest.raises(BadInput, match=r"write score\(X\) without y"):
        model.score(X, DIVES)


@pytest.mark.parametrize("kind", [BGMM, GMC, SymmetricGMC, VDP])
def test_a_pipeline_passes_groups_by_the_name_of_the_step(kind):
    pipeline = make_pipeline(StandardScaler(), kind(random_state=0))
    pipeline.fit(X, **{f"{kind.__name__.lower()}__groups": DIVES})
    alone = kind(random_state=0).fit(StandardScaler().fit_transform(X), groups=DIVES)
    np.testing.assert_array_equal(pipeline[-1].weights_, alone.weights_)
    assert len(pipeline[-1].groups_) == (3 if kind._sees_groups else 1)


def test_a_pipeline_routes_groups_to_fit_predict_and_score():
    scaled = StandardScaler().fit_transform(X)
    alone = GMC(random_state=0).fit(scaled, groups=DIVES)
    with config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(StandardScaler(), GMC(random_state=0)).fit(X, groups=DIVES)
        np.testing.assert_array_equal(pipeline[-1].weights_, alone.weights_)
        np.testing.assert_array_equal(pipeline.predict(X, groups=DIVES), alone.predict(scaled, DIVES))
        np.testing.assert_array_equal(pipeline.predict_proba(X, groups=DIVES), alone.predict_proba(scaled, DIVES))
        assert pipeline.score(X, groups=DIVES) == alone.score(scaled, groups=DIVES)


def test_rows_of_a_score_can_have_weights():
    model, twice = GMC(random_state=0).fit(X, groups=DIVES), np.r_[np.arange(240), np.arange(50)]
    weights = np.bincount(twice)
    assert model.score(X, groups=DIVES, sample_weight=weights) == pytest.approx(
        model.score(X[twice], groups=DIVES[twice]), rel=1e-9
    )


def test_a_grid_search_over_a_pipeline_passes_groups_on():
    with config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(StandardScaler(), GMC(random_state=0))
        search = GridSearchCV(pipeline, {"gmc__width": [0.05, 0.2]}, cv=GroupKFold(3)).fit(X, groups=DIVES)
    assert len(search.best_estimator_[-1].groups_) == 3
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_a_grid_search_gives_each_fit_the_groups_of_its_rows():
    folds = GroupKFold(3)
    with config_context(enable_metadata_routing=True):
        search = GridSearchCV(GMC(random_state=0), {"width": [0.05, 0.2]}, cv=folds).fit(X, groups=DIVES)
    assert sorted(search.best_estimator_.groups_) == ["north", "south", "west"]
    learn, remaining = next(folds.split(X, groups=DIVES))
    by_hand = (
        GMC(width=0.05, random_state=0).fit(X[learn], groups=DIVES[learn]).score(X[remaining], groups=DIVES[remaining])
    )
    assert search.cv_results_["split0_test_score"][0] == by_hand


@pytest.mark.parametrize(
    "model", [GMC(), BGMM(), VDP(), RIM(n_init=1), KernelRIM(n_init=1), SCM(restarts=1), StreamGreedy(3)], ids=repr
)
def test_column_names_are_kept_and_checked(model):
    fitted = clone(model).set_params(random_state=0).fit(TABLE)
    assert fitted.feature_names_in_.tolist() == COLUMNS
    np.testing.assert_array_equal(fitted.predict(TABLE), fitted.predict(TABLE))
    with pytest.raises(ValueError, match="feature names should match"):
        fitted.predict(TABLE[COLUMNS[::-1]])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        fitted.predict(X)
    assert not hasattr(fitted.fit(X), "feature_names_in_")


def test_a_file_of_rows_needs_no_column_names(tmp_path):
    np.save(tmp_path / "rows.npy", X)
    from_file = GMC(random_state=0).fit(str(tmp_path / "rows.npy"), groups=DIVES)
    np.testing.assert_array_equal(from_file.labels_, GMC(random_state=0).fit(X, groups=DIVES).labels_)
    assert from_file.n_features_in_ == 3 and not hasattr(from_file, "feature_names_in_")


HUGE = X.copy()
HUGE[17, 2] = -1e300


@pytest.mark.parametrize(
    "fit",
    [
        *(lambda kind=kind: kind().fit(HUGE) for kind in (*IN_GROUPS, SCM, StreamGreedy)),
        lambda: MCM().fit(HUGE, image_features=np.zeros((1, 2))),
        lambda: SemiSupervisedRIM().fit(HUGE, CLUSTER),
        *(
            lambda kind=kind: kind(random_state=0).fit(X).predict(HUGE)
            for kind in (GMC, SCM, RIM, StreamGreedy, KMeans)
        ),
        lambda: GMC().fit(X).score(HUGE),
    ],
)
def test_a_value_too_large_is_rejected_by_row_and_column(fit):
    with pytest.raises(BadInput, match=r"^X row 17: contains -1e\+300, a value too large .* in column 2 \(1 such"):
        fit()


@pytest.mark.parametrize("kind", [BGMM, GMC, SymmetricGMC, VDP, SCM])
@pytest.mark.parametrize("value", [1e99, 1e40])
def test_a_large_value_that_can_be_squared_is_fitted(kind, value):
    rows = X.copy()
    rows[17, 2] = value
    assert np.isfinite(kind(random_state=0).fit(rows).lower_bound_)


def test_a_large_float32_value_is_fitted_by_mixtures_and_rejected_where_float32_is_squared():
    rows = X.astype(np.float32)
    rows[17, 2] = 1e37
    assert np.isfinite(GMC(random_state=0).fit(rows).lower_bound_)
    for model in (RIM(), KernelRIM(), StreamGreedy()):
        with pytest.raises(BadInput, match=r"X row 17: contains 1e\+37"):
            model.fit(rows)


def test_too_large_image_features_are_named():
    features = np.zeros((4, 2))
    features[3, 1] = 1e300
    with pytest.raises(BadInput, match=r"^image_features row 3: contains 1e\+300.* in column 1"):
        MCM().fit(X, image_of_segment=np.arange(240) // 60, image_features=features)


@pytest.mark.parametrize("kind", [GMC, VDP, SCM, RIM])
def test_models_stored_by_an_earlier_version_give_the_same_labels(kind):
    """The files were written by the version before estimators derived from scikit-learn's classes."""
    stored = json.loads((Path(__file__).parents[1] / "stored_models" / f"{kind.__name__.lower()}.json").read_text())
    arrays = {name: np.array(array["values"], array["dtype"]) for name, array in stored["arrays"].items()}
    model = kind.from_arrays(arrays, stored["description"])
    groups = (stored["groups"],) if "groups" in stored else ()
    assert model.predict(stored["rows"], *groups).tolist() == stored["labels"]
    again, description = model.to_arrays()
    assert set(again) == set(arrays) and json.loads(json.dumps(description)) == stored["description"]


def test_checkpoints_name_a_model_as_earlier_versions_did():
    assert changed_parameters(GMC(width=0.1, search_rows=None)) == "GMC(search_rows=None, width=0.1)"
    with config_context(print_changed_only=False):
        assert changed_parameters(GMC()) == "GMC()"
