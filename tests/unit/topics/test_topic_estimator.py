"""The estimator: inputs, errors, storage, cancellation, resuming and new images."""

import json

import numpy as np
import pytest
from sklearn.base import clone

import benthoscope
from benthoscope.engine.problems import BadInput
from benthoscope.engine.progress import Cancelled
from benthoscope.engine.topics import InfiniteWordTopicModel, VisualLDA, as_documents, monitor
from benthoscope.engine.topics.documents import DocumentBlock
from tests.topic_corpora import ring

CORPUS = ring(40, 30)
SETTINGS = {"n_topics": 4, "n_clusters": 20, "n_init": 1, "random_state": 0, "max_iter": 10}


def model(**changes):
    return InfiniteWordTopicModel(**{**SETTINGS, **changes})


@pytest.fixture(scope="module")
def fitted():
    return model().fit(CORPUS.X, CORPUS.image)


def test_the_model_is_public():
    assert benthoscope.InfiniteWordTopicModel is InfiniteWordTopicModel


def test_weights_sum_to_one_and_new_images_equal_the_same_old_ones(fitted):
    np.testing.assert_allclose(fitted.topic_weights_.sum(1), 1)
    np.testing.assert_allclose(fitted.transform(CORPUS.X, CORPUS.image), fitted.topic_weights_, atol=1e-9)
    np.testing.assert_array_equal(fitted.predict(CORPUS.X, CORPUS.image), fitted.labels_)
    np.testing.assert_allclose(fitted.topic_profiles_.sum(1), 1)


def test_forms_of_the_same_documents_give_the_same_model(fitted, tmp_path):
    np.save(tmp_path / "rows.npy", CORPUS.X)
    for descriptors, images in (
        (CORPUS.documents, None),
        (tmp_path / "rows.npy", CORPUS.image),
        (np.load(tmp_path / "rows.npy", mmap_mode="r"), CORPUS.image),
    ):
        again = model().fit(descriptors, images)
        np.testing.assert_allclose(again.topic_weights_, fitted.topic_weights_, atol=1e-12)


def test_unsorted_rows_are_sorted_and_patch_topics_keep_their_order(fitted):
    order = np.random.default_rng(0).permutation(len(CORPUS.X))
    shuffled = fitted.patch_topics(CORPUS.X[order], CORPUS.image[order])
    np.testing.assert_array_equal(shuffled, fitted.patch_topics(CORPUS.X, CORPUS.image)[order])
    with pytest.raises(BadInput, match="expecting 2"):
        fitted.transform(np.zeros((3, 5)))


def test_a_file_must_be_sorted(tmp_path):
    np.save(tmp_path / "rows.npy", CORPUS.X)
    with pytest.raises(BadInput, match="in the order of their images"):
        model().fit(tmp_path / "rows.npy", CORPUS.image[::-1].copy())


def test_empty_documents_get_equal_weights(fitted):
    weights = fitted.transform(CORPUS.X[:30], np.full(30, 1), n_images=3)
    np.testing.assert_allclose(weights[[0, 2]], 0.25)
    again = model().fit(CORPUS.X, CORPUS.image * 2, n_images=82)
    np.testing.assert_allclose(again.topic_weights_[1::2], 0.25)


@pytest.mark.parametrize("inference", ["vi", "svi", "incremental"])
def test_one_document_one_topic_and_constant_descriptors(inference):
    one = model(inference=inference, max_iter=3).fit(CORPUS.X[:50], np.zeros(50, int))
    assert one.topic_weights_.shape == (1, 4)
    single = model(inference=inference, n_topics=1, max_iter=3).fit(CORPUS.X, CORPUS.image)
    np.testing.assert_allclose(single.topic_weights_, 1)
    constant = model(inference=inference, max_iter=3).fit(np.full((60, 3), 2.5), np.repeat(np.arange(6), 10))
    assert np.isfinite(constant.lower_bound_) and np.isfinite(constant.topic_weights_).all()


def test_lda_takes_one_image_constant_descriptors_and_more_words_and_topics_than_data():
    small = VisualLDA(3, n_words=50, max_iter=3, random_state=0).fit(CORPUS.X[:20], np.zeros(20, int), n_images=2)
    assert small.n_clusters_ == 20 and small.topic_weights_.shape == (2, 3)
    np.testing.assert_allclose(small.topic_weights_.sum(1), 1)
    constant = VisualLDA(30, n_words=5, max_iter=3, random_state=0).fit(np.ones((20, 2)), np.repeat([0, 1], 10))
    assert constant.n_clusters_ == 1 and np.isfinite(constant.topic_weights_).all()
    with pytest.raises(BadInput, match="row 3: contains NaN in column 0"):
        VisualLDA(3).fit(np.where(np.arange(20)[:, None] == 3, np.nan, CORPUS.X[:20]), np.zeros(20, int))


def test_unusable_inputs_are_refused():
    X = CORPUS.X.copy()
    X[7, 1] = np.nan
    with pytest.raises(BadInput, match="row 7: contains NaN in column 1"):
        model().fit(X, CORPUS.image)
    with pytest.raises(BadInput, match="one image number per descriptor"):
        model().fit(CORPUS.X, CORPUS.image[:-1])
    with pytest.raises(BadInput, match="number the images from 0"):
        model().fit(CORPUS.X, CORPUS.image - 1)
    with pytest.raises(BadInput, match="give at least 40"):
        model().fit(CORPUS.X, CORPUS.image, n_images=3)
    with pytest.raises(BadInput, match="only 8 descriptors"):
        model().fit(CORPUS.X[:8], np.zeros(8, int))
    with pytest.raises(BadInput, match="there are no documents"):
        model().fit([])
    with pytest.raises(BadInput, match="a clustering has no target"):
        model().fit(CORPUS.X, CORPUS.image, np.zeros(40))


@pytest.mark.parametrize(
    "setting, text",
    [
        ({"inference": "vb"}, "inference: there is no 'vb'"),
        ({"n_topics": 0}, "n_topics: must be a whole number"),
        ({"alpha": -1.0}, "alpha: must be greater than 0"),
        ({"learning_rate": 1.5}, "at most 1"),
        ({"last_stick": "loose"}, "last_stick: there is no 'loose'"),
    ],
)
def test_unusable_settings_are_refused(setting, text):
    with pytest.raises(BadInput, match=text):
        model(**setting).fit(CORPUS.X, CORPUS.image)


def test_a_stored_model_predicts_the_same(fitted):
    arrays, metadata = fitted.to_arrays()
    assert all(array.dtype.kind in "fiub" for array in map(np.asarray, arrays.values()))
    again = InfiniteWordTopicModel.from_arrays(arrays, json.loads(json.dumps(metadata)))
    np.testing.assert_array_equal(again.transform(CORPUS.X, CORPUS.image), fitted.transform(CORPUS.X, CORPUS.image))
    assert again.lower_bound_ == fitted.lower_bound_ and again.n_clusters_ == fitted.n_clusters_
    with pytest.raises(BadInput, match="earlier"):
        again.partial_fit(CORPUS.X, CORPUS.image)
    with pytest.raises(BadInput, match="do not fit together"):
        InfiniteWordTopicModel.from_arrays({**arrays, "cluster_counts": np.zeros(2)}, metadata)
    with pytest.raises(BadInput, match="is a GMC"):
        InfiniteWordTopicModel.from_arrays(arrays, {"model": "GMC"})


def test_new_images_extend_the_model():
    old, new = CORPUS.subset(np.arange(25)), CORPUS.subset(np.arange(25, 40))
    first = model(inference="incremental").partial_fit(old.X, old.image)
    first.partial_fit(new.X, new.image)
    assert first.topic_weights_.shape == (40, 4)
    assert first.increment_.clusters_joined > first.increment_.clusters_before
    assert first.state_.atom_counts.sum() == pytest.approx(1200, rel=0.02)
    stored = InfiniteWordTopicModel.from_arrays(*model(inference="incremental").fit(old.X, old.image).to_arrays())
    stored.partial_fit(new.X, new.image, earlier=(old.X, old.image))
    assert stored.topic_weights_.shape == (40, 4)


class StopAt:
    def __init__(self, count):
        self.count, self.reports = count, []

    def __call__(self, progress):
        self.reports.append(progress)
        if len(self.reports) == self.count:
            raise Cancelled


class StopAtIteration(StopAt):
    """Counts reports from the first iteration of topics on, not the search for words or for a start."""

    def __call__(self, progress):
        if "bound" in progress.figures:
            super().__call__(progress)


@pytest.mark.parametrize("inference", ["vi", "svi", "incremental"])
@pytest.mark.parametrize("kind", [StopAt, StopAtIteration])
def test_a_fit_can_be_cancelled(inference, kind):
    stop = kind(5)
    with pytest.raises(Cancelled):
        model(inference=inference).fit(CORPUS.X, CORPUS.image, on_step=stop)
    assert len(stop.reports) == 5


class Memory:
    def __init__(self):
        self.state = None

    def save(self, state):
        self.state = {
            name: np.array(value) if isinstance(value, np.ndarray) else value for name, value in state.items()
        }

    def load(self):
        return self.state


@pytest.mark.parametrize("settings, stop", [({"inference": "vi", "n_init": 2}, 27), ({"inference": "svi"}, 27)])
def test_an_interrupted_fit_resumes_and_gives_the_same_result(settings, stop, monkeypatch):
    monkeypatch.setattr(monitor, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    uninterrupted = model(**settings, tol=0).fit(CORPUS.X, CORPUS.image)
    memory = Memory()
    with pytest.raises(Cancelled):
        model(**settings, tol=0).fit(CORPUS.X, CORPUS.image, on_step=StopAtIteration(stop), checkpoint=memory)
    assert memory.state["iteration"] >= 1
    assert ("best_history" in memory.state) == (settings.get("n_init") == 2)
    resumed = model(**settings, tol=0).fit(CORPUS.X, CORPUS.image, checkpoint=memory)
    np.testing.assert_allclose(resumed.lower_bound_history_, uninterrupted.lower_bound_history_, rtol=1e-9)
    np.testing.assert_allclose(resumed.lower_bound_, uninterrupted.lower_bound_, rtol=1e-9)
    np.testing.assert_allclose(resumed.topic_weights_, uninterrupted.topic_weights_, atol=1e-6)


@pytest.mark.parametrize(
    "estimator, stop",
    [
        (model(inference="gibbs", sweeps=12, burn_in=4, sample_concentrations=True, start_clusters=6), 8),
        (model(inference="gibbs", sweeps=6, start_clusters=0), 3),
        (VisualLDA(3, n_words=8, n_init=2, max_iter=6, tol=0, random_state=0), 8),
        (VisualLDA(3, words="dp", n_words=8, n_init=2, max_iter=6, tol=0, random_state=0), 8),
        (VisualLDA(3, n_words=8, inference="gibbs", sweeps=14, burn_in=2, random_state=0), 8),
    ],
    ids=["gibbs", "gibbs one by one", "lda", "lda of a mixture", "lda by gibbs"],
)
def test_an_interrupted_chain_resumes_exactly(estimator, stop, monkeypatch):
    monkeypatch.setattr(monitor, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    uninterrupted = clone(estimator).fit(CORPUS.X, CORPUS.image)
    memory = Memory()
    with pytest.raises(Cancelled):
        clone(estimator).fit(CORPUS.X, CORPUS.image, on_step=StopAtIteration(stop), checkpoint=memory)
    steps = StopAtIteration(0)
    resumed = clone(estimator).fit(CORPUS.X, CORPUS.image, on_step=steps, checkpoint=memory)
    assert 0 < len(steps.reports) < (estimator.sweeps if estimator.inference == "gibbs" else 2 * estimator.max_iter)
    assert list(resumed.lower_bound_history_) == list(uninterrupted.lower_bound_history_)
    np.testing.assert_array_equal(resumed.topic_weights_, uninterrupted.topic_weights_)


@pytest.mark.parametrize("stop", [4, 16])
def test_an_interrupted_addition_of_images_resumes_and_gives_the_same_result(stop, monkeypatch):
    monkeypatch.setattr(monitor, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    earlier, later = CORPUS.subset(np.arange(20)), CORPUS.subset(np.arange(20, 40))
    first = model(inference="incremental", iterations_alone=5, iterations_together=5).fit(earlier.X, earlier.image)
    stored = first.to_arrays()

    def extended(**options):
        again = InfiniteWordTopicModel.from_arrays(*stored)
        return again.partial_fit(later.X, later.image, earlier=(earlier.X, earlier.image), **options)

    uninterrupted, memory = extended(), Memory()
    with pytest.raises(Cancelled):
        extended(on_step=StopAtIteration(stop), checkpoint=memory)
    assert memory.state["stage"] == ("alone" if stop == 4 else "together")
    resumed = extended(checkpoint=memory)
    np.testing.assert_allclose(resumed.topic_weights_, uninterrupted.topic_weights_, atol=1e-9)
    assert resumed.increment_.clusters_joined == uninterrupted.increment_.clusters_joined
    assert resumed.increment_.match.correlation == uninterrupted.increment_.match.correlation
    with pytest.raises(BadInput, match="another fit"):
        InfiniteWordTopicModel.from_arrays(*stored).partial_fit(
            later.X[:400], later.image[:400], earlier=(earlier.X, earlier.image), checkpoint=memory
        )


def test_the_history_says_what_happened():
    fitted = model(inference="svi", max_iter=4, learning_rate=0.5).fit(CORPUS.X, CORPUS.image)
    assert [entry.documents_seen for entry in fitted.trace_] == [20 * (k + 1) for k in range(8)]
    assert all(entry.clusters_in_use <= 20 for entry in fitted.trace_)
    tight = model(n_clusters=3).fit(CORPUS.X, CORPUS.image)
    assert tight.limits_reached_ == ["n_clusters"]


def test_decreasing_rates_and_frozen_clusters_work():
    decreasing = model(inference="svi", schedule="decreasing").fit(CORPUS.X, CORPUS.image)
    assert np.isfinite(decreasing.lower_bound_)
    frozen = model(freeze_clusters_after=2, prune=False, tol=0, max_iter=6).fit(CORPUS.X, CORPUS.image)
    short = model(prune=False, tol=0, max_iter=2).fit(CORPUS.X, CORPUS.image)
    np.testing.assert_allclose(frozen.cluster_means_, short.cluster_means_)
    assert frozen.lower_bound_ > short.lower_bound_


def test_held_out_images_of_the_same_kind_score_higher(fitted):
    same, other = ring(10, 30, seed=0), np.random.default_rng(0).uniform(-20, 20, (300, 2))
    assert fitted.score(same.X, same.image) > fitted.score(other, same.image)


def test_a_block_sent_to_another_process_has_only_its_own_rows():
    block = as_documents(CORPUS.X, CORPUS.image).take(np.array([3, 7])).blocks()[0]
    rebuild, arguments = block.__reduce__()
    assert rebuild is DocumentBlock and len(arguments[0]) == 60
    np.testing.assert_array_equal(rebuild(*arguments).read(), block.read())


def test_half_precision_is_read_as_single_precision(fitted):
    weights = fitted.transform(CORPUS.X.astype(np.float16), CORPUS.image)
    assert np.abs(weights - fitted.topic_weights_).mean() < 0.01
