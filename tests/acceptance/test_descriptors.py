"""Quality of the descriptors on images with known classes: each exceeds the mean colour by a clear margin."""

import csv
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from benthoscope.engine.compute import LocalThreads
from benthoscope.engine.features import Choices, Projected, descriptor_named, user_cache
from benthoscope.engine.features.descriptor import long_rows
from benthoscope.engine.features.dictionaries import RandomPatches
from benthoscope.engine.features.networks.efficientnet import installed
from benthoscope.engine.features.scspm import ScSPM
from benthoscope.engine.imaging import read_image
from benthoscope.engine.metrics import mean_class_accuracy, v_measure
from benthoscope.sample_data import campaign_path, read_truth

pytestmark = pytest.mark.slow
FISH = Path(__file__).parents[2].parent / "shared" / "data" / "fish4knowledge"
OTHERS = ("colour", "scspm", "segments", "deep")  # rp is scspm with its distances kept, which a unit test proves
LONGEST = 192  # px; a third of the work at full size
LEARNED_FROM = 4  # a descriptor learns from every fourth image; to learn from one takes as long as to describe it twice


@cache
def campaign():
    """Return all images of the sample campaign with a visible habitat, reduced in size, and their habitats."""
    truth = read_truth(campaign_path())
    labels = truth.labels
    images = [read_image(truth.folder / name, longest=LONGEST) for name in labels]
    return images, np.array(list(labels.values()))


@cache
def fish():
    """Return sixty crops of each of five kinds of fish, no two of the same track. They are small, so the test
    is fast."""
    with (FISH / "labels.csv").open(encoding="utf-8") as file:
        tracks = {row["track"]: row for row in csv.DictReader(file)}
    labels = np.array([row["label"] for row in tracks.values()])
    kinds, counts = np.unique(labels, return_counts=True)
    chosen = [
        row
        for kind in kinds[np.argsort(-counts, kind="stable")[:5]]
        for row in [row for row in tracks.values() if row["label"] == kind][:60]
    ]
    return [read_image(FISH / "images" / row["file"]) for row in chosen], np.array([row["label"] for row in chosen])


@cache
def vectors(word, of):
    """Return one row per image: its vector, or the mean and spread of its segments' vectors."""
    if word == "deep" and not installed():
        pytest.skip("the weight package is not installed")
    images, _ = of()
    descriptor = descriptor_named(word, Choices(cache=user_cache()))
    if isinstance(descriptor, Projected) and isinstance(descriptor.base, ScSPM):  # the quickest dictionary
        descriptor = Projected(ScSPM(learner=RandomPatches()), descriptor.reducer)
    descriptor = descriptor.fit(images[::LEARNED_FROM], random_state=0)
    rows_of_images = [long_rows(out) for out in LocalThreads().map(images, descriptor.describe)]
    if descriptor.level == "segment":
        return np.stack([np.concatenate([rows.mean(0), rows.std(0)]) for rows in rows_of_images])
    return np.concatenate(rows_of_images)


@cache
def agreement(word):
    _, truth = campaign()
    labels = KMeans(len(set(truth)), n_init=5, random_state=0).fit(vectors(word, campaign)).labels_
    return v_measure(truth, labels)


@cache
def accuracy(word):
    """Return the accuracy of a linear classifier trained on thirty images per kind, on the other images; mean of five
    splits."""
    _, truth = fish()
    rows = StandardScaler().fit_transform(vectors(word, fish))
    scores = []
    for split in range(5):
        order = np.random.default_rng(split).permutation(60)  # of each kind
        train = np.tile(order < 30, len(truth) // 60)
        model = LinearSVC(C=0.1, max_iter=5000, random_state=0).fit(rows[train], truth[train])
        scores.append(mean_class_accuracy(truth[~train], model.predict(rows[~train])))
    return float(np.mean(scores))


@pytest.mark.parametrize("word", OTHERS)
def test_clusters_of_the_sample_campaign_agree_with_habitats_far_better_than_those_of_mean_colour(word):
    assert agreement(word) > agreement("mean") + 0.1


def test_the_default_finds_the_habitats_of_the_sample_campaign():
    assert agreement("deep") > 0.8


@pytest.mark.skipif(not FISH.exists(), reason="the fish are not on this machine")
@pytest.mark.parametrize("word", OTHERS)
def test_a_classifier_of_fish_is_far_better_than_one_of_mean_colour(word):
    assert accuracy(word) > accuracy("mean") + 0.1


@pytest.mark.skipif(not FISH.exists(), reason="the fish are not on this machine")
def test_the_default_is_the_best_classifier_of_fish():
    assert accuracy("deep") > max(accuracy(word) for word in OTHERS if word != "deep") + 0.05
