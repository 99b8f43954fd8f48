"""How unusual images of a live dive are: a new kind is novel also in directions that the features do not have."""

import numpy as np
import pytest

from benthoscope.engine.features import Descriptor
from benthoscope.engine.features.compression import LinearProjection, PrincipalAxes, RandomProjection
from benthoscope.engine.features.descriptor import Projected
from benthoscope.engine.jobs.live.descriptor import WithDistance
from benthoscope.engine.jobs.live.learner import AXES, LiveLearner
from benthoscope.engine.jobs.live.novelty import LEAST, MOST, NO_IMAGES, Distances, RecentImages
from benthoscope.engine.jobs.live.settings import LiveSettings

LEVEL = 0.05


def of_dive(rng, count):
    """Return features of two kinds of images, and their squared distances from the features."""
    kinds = rng.integers(0, 2, count)[:, None]
    vectors = 4.0 * kinds * [1, 0, 0, 0, 0, 0] + rng.normal(0, [1, 1, 1, 0.3, 0.3, 0.3], (count, 6))
    return vectors.astype(np.float32), rng.gamma(8, 1 / 8, count)


@pytest.fixture
def learner(tmp_path):
    """A learner whose axes come from its first round, after two further rounds."""
    rng = np.random.default_rng(0)
    learner = LiveLearner(tmp_path, LiveSettings(dimensions=3, epoch=100))
    recent = NO_IMAGES
    for number in range(3):
        vectors, outside = of_dive(rng, 100)
        learner.begin(vectors)
        if number >= learner.rounds_of_axes:
            recent = recent.and_later(RecentImages(vectors, outside))
        learner.learn(vectors, recent=recent)
    return learner


def test_ordinary_images_are_novel_as_often_as_the_level_says(learner):
    vectors, outside = of_dive(np.random.default_rng(9), 2000)
    scores = learner.predictor.score(vectors, outside, LEVEL)
    assert np.median(scores.percentile) == pytest.approx(0.5, abs=0.06)
    assert scores.is_novel.mean() == pytest.approx(LEVEL, abs=0.025)


@pytest.mark.parametrize("where", ["in the clusters", "beyond the axes", "outside the features"])
def test_a_new_kind_is_novel_in_whatever_it_differs(learner, where):
    vectors, outside = of_dive(np.random.default_rng(9), 200)
    if where == "in the clusters":
        vectors[:, 1] += 8
    elif where == "beyond the axes":
        vectors[:, 5] += 5
    else:
        outside = outside + 3
    assert learner.predictor.score(vectors, outside, LEVEL).is_novel.mean() > 0.95


def test_the_percentile_is_unknown_before_enough_images_were_learned(tmp_path):
    learner, (vectors, outside) = (
        LiveLearner(tmp_path, LiveSettings(dimensions=3)),
        of_dive(np.random.default_rng(1), 120),
    )
    learner.begin(vectors)
    learner.learn(vectors, recent=RecentImages(vectors[: LEAST - 1], outside[: LEAST - 1]))
    scores = learner.predictor.score(vectors, outside, LEVEL)
    assert np.isnan(scores.percentile).all() and not scores.is_novel.any() and (scores.clusters >= 0).all()
    learner.compare_with(RecentImages(vectors[:LEAST], outside[:LEAST]))
    assert np.isfinite(learner.predictor.score(vectors, outside, LEVEL).percentile).all()


def test_axes_of_other_images_allow_to_compare_with_the_first_round(tmp_path):
    rng = np.random.default_rng(1)
    learner = LiveLearner(tmp_path, LiveSettings(dimensions=3))
    assert learner.rounds_of_axes == 1
    learner.begin(of_dive(rng, 50)[0], lambda: of_dive(rng, 500)[0])
    assert learner.rounds_of_axes == 0 and (tmp_path / AXES).is_file()
    assert LiveLearner(tmp_path, LiveSettings(dimensions=3)).rounds_of_axes == 0


def test_only_the_newest_images_are_compared_with():
    numbers = np.arange(MOST + 50.0)
    recent = NO_IMAGES
    for part in np.split(numbers, [200, 700]):
        recent = recent.and_later(RecentImages(part[:, None], part))
    np.testing.assert_array_equal(recent.outside, numbers[50:])
    np.testing.assert_array_equal(recent.vectors[:, 0], numbers[50:])


def test_distances_that_are_rounding_errors_say_nothing():
    squares = np.array([0.0, 1e-9, 2e-9])
    np.testing.assert_array_equal(Distances.fitted(squares, 1.0).log_density(squares), 0.0)
    np.testing.assert_array_equal(Distances.fitted(np.ones(3), 1.0).log_density(squares), 0.0)


class Mean(Descriptor):
    """A descriptor for tests: the image itself as a row."""

    longest = None

    def describe(self, image):
        return image.reshape(-1).astype(np.float32)


@pytest.mark.parametrize("whiten", [False, True])
def test_the_distance_of_a_description_is_that_from_its_features(whiten):
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(200, 8)) * np.arange(8, 0, -1)
    reducer = PrincipalAxes(3, whiten=whiten, further=2)
    projection = reducer.fit(lambda: iter([rows]), rng=rng)
    row = WithDistance(Projected(Mean(), reducer, projection)).describe(rows[0])
    centred = rows[0] - rows.mean(0)
    directions = np.linalg.svd(rows - rows.mean(0), full_matrices=False)[2][:3]
    expected = (centred**2).sum() - ((directions @ centred) ** 2).sum()
    assert row.shape == (6,) and row[-1] == pytest.approx(expected, rel=1e-4)


def test_features_that_are_the_whole_description_have_no_distance():
    image = np.arange(4.0)
    assert WithDistance(Mean()).describe(image).tolist() == [0, 1, 2, 3, 0]
    random = RandomProjection(2)
    projection = random.fit(lambda: iter([np.eye(4)]), rng=np.random.default_rng(0))
    assert WithDistance(Projected(Mean(), random, projection)).describe(image)[-1] == 0


def test_squared_distances_from_the_plane_of_some_axes():
    projection = LinearProjection(np.array([1.0, 0, 0]), np.array([[2.0, 0], [0, 3.0], [0, 0]]), np.empty(0))
    np.testing.assert_allclose(projection.squared_distances([[4.0, 5, 6], [1, 0, 0]]), [36, 0])
    np.testing.assert_allclose(projection.squared_distances([[4.0, 5, 6]], 1), [61])
