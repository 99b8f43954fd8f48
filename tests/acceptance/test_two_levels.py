"""Objects and scenes estimated together on data with known objects and scenes (methods note 15.4 and 11.7).

The papers report more image clusters than scenes. The default search and the merges of image clusters remove this
surplus. Claims about the surplus are therefore tested with the papers' greedy search without merges; the default must
find the scenes themselves.
"""

from functools import cache

import numpy as np
import pytest

from benthoscope.engine.metrics import v_measure
from benthoscope.engine.mixtures import BGMM, GMC, MCM, SCM
from benthoscope.engine.mixtures.two_level import image_clusters
from tests.acceptance.object_scenes import SIX_SCENES, in_subsets, of_subsets, sample_scenes

UNSCALED = {"scaled_prior": False, "random_state": 0}
DIVES = (1, 5, 20)


@cache
def context(seed):
    return sample_scenes(seed, images=300, segments=20, apart=2.6)


def scm_of_context(seed, diversity=1.0, search="best"):
    return _scm_of_context(seed, diversity, search)


@cache
def _scm_of_context(seed, diversity, search):
    data = context(seed)
    return SCM(width=1.0, diversity=diversity, search=search, **UNSCALED).fit(data.X, image_of_segment=data.image)


def of_objects(model, data):
    return v_measure(data.objects, model.labels_)


def of_scenes(model, data):
    return v_measure(data.scenes, model.image_labels_)


def mean(values):
    return float(np.mean(list(values)))


@pytest.mark.parametrize("seed", range(5))
def test_separate_objects_and_scenes_are_recovered(seed):
    data = sample_scenes(seed, images=400, segments=25, apart=4.0)
    for start in (0, 1):
        model = SCM(width=0.05, scaled_prior=False, random_state=start).fit(data.scaled, image_of_segment=data.image)
        assert of_scenes(model, data) >= 0.95
        assert 3 <= model.n_image_clusters_ <= 6
        assert of_objects(model, data) >= 0.8


def test_objects_are_separated_better_with_their_images():
    none = [BGMM(width=1.0, **UNSCALED).fit(context(seed).X) for seed in range(4)]
    groups = [GMC(width=1.0, **UNSCALED).fit(context(seed).X, groups=context(seed).image) for seed in range(4)]
    both = [scm_of_context(seed) for seed in range(4)]
    alone, of_groups, of_both = (
        mean(of_objects(model, context(seed)) for seed, model in enumerate(models)) for models in (none, groups, both)
    )
    assert of_both - alone >= 0.08
    assert of_groups - alone >= 0.08
    assert mean(model.n_clusters_ for model in groups) >= mean(model.n_clusters_ for model in both)
    assert mean(of_scenes(model, context(seed)) for seed, model in enumerate(both)) >= 0.8


def test_dirichlet_shares_find_no_fewer_scenes_and_the_prior_of_proportions_hardly_matters():
    by_priors = {priors: [] for priors in ("gd", "dd", "gg")}
    for seed in range(4):
        data = context(seed)
        dives = in_subsets(data.scenes, 5, np.random.default_rng(seed))
        for priors, models in by_priors.items():
            models.append(
                SCM(width=1.0, priors=priors, by_dive=True, **UNSCALED).fit(
                    data.X, image_of_segment=data.image, group_of_image=dives
                )
            )
    scenes = {priors: mean(model.n_image_clusters_ for model in models) for priors, models in by_priors.items()}
    objects = {
        priors: mean(of_objects(model, context(seed)) for seed, model in enumerate(models))
        for priors, models in by_priors.items()
    }
    assert scenes["dd"] >= scenes["gd"]
    assert abs(objects["gg"] - objects["gd"]) <= 0.03


def test_a_larger_expected_diversity_gives_fewer_scenes():
    few, usual, count = (
        mean(scm_of_context(seed, diversity=diversity, search="greedy").n_image_clusters_ for seed in range(4))
        for diversity in (0.1, 1.0, 100.0)
    )
    assert count <= usual
    assert count < few


@pytest.mark.parametrize("diversity", [0.1, 1.0, 100.0])
def test_the_default_search_finds_the_scenes_whatever_diversity_is_expected(diversity):
    for seed in range(4):
        model = scm_of_context(seed, diversity=diversity)
        assert model.n_image_clusters_ == 4
        assert of_scenes(model, context(seed)) >= 0.98


def surveys(search):
    """Return two sets of images, and both models for each number of dives."""
    by_dive_count = {J: [] for J in DIVES}
    for seed in range(2):
        data = sample_scenes(seed, images=400, segments=20, apart=3.0)
        for J in DIVES:
            dives = in_subsets(data.scenes, J, np.random.default_rng(100 + seed))
            scm = SCM(width=1.0, by_dive=True, search=search, **UNSCALED).fit(
                data.X, image_of_segment=data.image, group_of_image=dives
            )
            mcm = MCM(width=1.0, image_width=0.2, search=search, **UNSCALED).fit(
                data.X, image_of_segment=data.image, group_of_image=dives, image_features=data.W
            )
            by_dive_count[J].append((data, scm, mcm))
    return by_dive_count


@cache
def surveys_as_in_the_papers():
    """Merges of image clusters cannot be switched off by an option; the papers have none."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(image_clusters, "with_joins", lambda model, counts, found, pulse: found)
        return surveys("greedy")


def test_without_image_features_dives_only_multiply_the_scenes():
    survey, twenty = surveys_as_in_the_papers()[1], surveys_as_in_the_papers()[20]
    assert mean(scm.n_image_clusters_ for _, scm, _ in twenty) >= 2 * mean(
        scm.n_image_clusters_ for _, scm, _ in survey
    )
    objects = [mean(of_objects(scm, data) for data, scm, _ in fits) for fits in (survey, twenty)]
    assert abs(objects[1] - objects[0]) <= 0.03


def test_features_of_whole_images_keep_the_scenes_together():
    """With five dives, our SCM is already optimal; its scenes are split later than those of the papers."""
    five, twenty = surveys_as_in_the_papers()[5], surveys_as_in_the_papers()[20]
    assert mean(of_scenes(mcm, data) for data, _, mcm in five) >= 0.98
    assert mean(of_scenes(mcm, data) - of_scenes(scm, data) for data, scm, mcm in twenty) >= 0.08
    assert all(mcm.n_image_clusters_ < scm.n_image_clusters_ for _, scm, mcm in twenty)


def test_the_default_finds_the_scenes_of_any_number_of_dives_with_both_models():
    for found in surveys("best").values():
        for data, *models in found:
            for model in models:
                assert model.n_image_clusters_ == 4
                assert of_scenes(model, data) >= 0.98


def test_two_sources_and_dives_gain_over_one_and_none():
    settings = {"width": 1.0, **UNSCALED}
    gains = {name: [] for name in ("mcm", "scm", "dives", "objects", "bgmm")}
    for seed in range(4):
        dives, scenes = of_subsets(300, 6, 5, np.random.default_rng(50 + seed))
        data = sample_scenes(
            seed,
            images=300,
            segments=20,
            apart=2.6,
            dives=dives,
            scenes=scenes,
            proportions=SIX_SCENES,
            looks_apart=3.0,
        )
        scm = SCM(**settings).fit(data.X, image_of_segment=data.image)
        first, all_dives = (
            MCM(image_width=0.1, by_dive=by_dive, **settings).fit(
                data.X, image_of_segment=data.image, group_of_image=dives, image_features=data.W
            )
            for by_dive in (False, True)
        )
        gains["mcm"].append(of_scenes(first, data))
        gains["scm"].append(of_scenes(scm, data))
        gains["dives"].append(of_scenes(all_dives, data))
        gains["objects"].append(abs(of_objects(first, data) - of_objects(scm, data)))
        gains["bgmm"].append(v_measure(scenes, BGMM(width=0.1, random_state=0).fit(data.W).labels_))
    mean_value_by_name = {name: mean(values) for name, values in gains.items()}
    assert mean_value_by_name["mcm"] - mean_value_by_name["scm"] >= 0.15
    assert mean_value_by_name["dives"] >= mean_value_by_name["mcm"] - 0.02
    assert mean_value_by_name["mcm"] - mean_value_by_name["bgmm"] >= 0.1
    assert mean_value_by_name["objects"] <= 0.06


@pytest.mark.parametrize("J", [1, 5])
def test_images_of_the_fit_are_predicted_as_in_the_fit(J):
    data = sample_scenes(9, images=300, segments=20, apart=3.0)
    dives = in_subsets(data.scenes, J, np.random.default_rng(0))
    settings = {"width": 1.0, **UNSCALED}
    scm = SCM(by_dive=True, **settings).fit(data.X, image_of_segment=data.image, group_of_image=dives)
    mcm = MCM(image_width=0.2, **settings).fit(
        data.X, image_of_segment=data.image, group_of_image=dives, image_features=data.W
    )
    for model, image_features in ((scm, {}), (mcm, {"image_features": data.W})):
        again = model.explain(data.X, data.image, dives, **image_features)
        assert (again.image_labels == model.image_labels_).mean() >= 0.98
        assert np.median(np.abs(again.owners - model.image_owners_)) <= 1e-3
        assert np.median(np.abs(again.image_weights - model.image_weights_)) <= 1e-3


def test_restarting_the_scenes_finds_better_bounds_and_is_reproducible(monkeypatch):
    monkeypatch.setattr(image_clusters, "with_joins", lambda model, counts, found, pulse: found)  # as in the papers
    gained = []
    for seed in range(4):
        data = context(seed)
        dives = in_subsets(data.scenes, 5, np.random.default_rng(seed))
        first, ten = (
            SCM(width=1.0, by_dive=True, restarts=restarts, search="greedy", **UNSCALED).fit(
                data.X, image_of_segment=data.image, group_of_image=dives
            )
            for restarts in (1, 10)
        )
        gained.append(ten.lower_bound_ - first.lower_bound_)
    assert mean(gained) > 10
    assert min(gained) > -10
    dives = in_subsets(data.scenes, 5, np.random.default_rng(0))
    once, again = (
        MCM(width=1.0, image_width=0.2, scaled_prior=False, random_state=4).fit(
            data.X, image_of_segment=data.image, group_of_image=dives, image_features=data.W
        )
        for _ in range(2)
    )
    np.testing.assert_array_equal(once.image_labels_, again.image_labels_)
    assert once.lower_bound_ == again.lower_bound_
