"""Every public estimator passes scikit-learn's checks; `tests.scikit_learn_checks` lists those that do not apply."""

from benthoscope.engine.crowd import BayesianCrowdClustering, FactorizationCrowdClustering
from benthoscope.engine.discriminative import RIM, KernelRIM, SemiSupervisedRIM
from benthoscope.engine.distance_models import HDBSCAN, KMeans
from benthoscope.engine.exemplars import SparseGPRegressor, StreamGreedy
from benthoscope.engine.mixtures import BGMM, GMC, MCM, SCM, VDP, SymmetricGMC
from benthoscope.engine.mixtures.baselines import BayesianRestarts, GaussianMixtureByBIC, SelfTuningSpectral
from benthoscope.engine.streaming import MemoryBoundedTopicModel, MemoryBoundedVDP
from benthoscope.engine.topics import InfiniteWordTopicModel
from tests.scikit_learn_checks import ONE_IMAGE, scikit_learn_checks, without_target


@scikit_learn_checks(*(without_target(kind)(random_state=0) for kind in (BGMM, GMC, SymmetricGMC, VDP)))
def test_mixtures(estimator, check):
    check(estimator)


@scikit_learn_checks(
    without_target(SCM)(random_state=0, restarts=2), without_target(MCM, **ONE_IMAGE)(random_state=0, restarts=2)
)
def test_mixtures_of_two_levels(estimator, check):
    check(estimator)


@scikit_learn_checks(
    without_target(GaussianMixtureByBIC)(most=3, starts=2, random_state=0),
    without_target(SelfTuningSpectral)(random_state=0),
    without_target(BayesianRestarts)(restarts=1, random_state=0),
)
def test_baselines(estimator, check):
    check(estimator)


@scikit_learn_checks(without_target(KMeans)(n_clusters=3, n_init=2, random_state=0), without_target(HDBSCAN)())
def test_distance_models(estimator, check):
    check(estimator)


@scikit_learn_checks(
    without_target(RIM)(n_clusters=5, n_init=1, max_iter=50),
    without_target(KernelRIM)(n_clusters=5, n_init=1, max_iter=50),
    SemiSupervisedRIM(max_iter=50),
)
def test_discriminative_models(estimator, check):
    check(estimator)


@scikit_learn_checks(without_target(MemoryBoundedVDP)(), without_target(MemoryBoundedTopicModel)())
def test_streaming_models(estimator, check):
    check(estimator)


@scikit_learn_checks(StreamGreedy(random_state=0), SparseGPRegressor(random_state=0))
def test_exemplars(estimator, check):
    check(estimator)


@scikit_learn_checks(
    without_target(BayesianCrowdClustering)(random_state=0),
    without_target(FactorizationCrowdClustering)(random_state=0),
)
def test_crowd_models(estimator, check):
    check(estimator)


Topics = without_target(InfiniteWordTopicModel)


@scikit_learn_checks(
    Topics(n_topics=2, n_init=1, max_iter=5, random_state=0),
    Topics(n_topics=2, inference="svi", n_init=1, max_iter=2, random_state=0),
)
def test_topic_models(estimator, check):
    check(estimator)
