"""Objects and scenes of the sample campaign, compared with its habitats and the known objects in a quarter of its
images.

The limits allow for smaller images, which the test needs to be fast.
"""

from functools import cache

import numpy as np
import pytest
from PIL import Image

from benthoscope.engine.compute import LocalThreads
from benthoscope.engine.features import Choices, descriptor_named, segment_labels, user_cache
from benthoscope.engine.features.descriptor import long_rows
from benthoscope.engine.features.networks.efficientnet import installed
from benthoscope.engine.imaging import read_image
from benthoscope.engine.jobs.cluster.model_catalog import SEGMENT_WIDTH
from benthoscope.engine.metrics import v_measure
from benthoscope.engine.mixtures import BGMM, GMC, MCM, SCM
from benthoscope.sample_data import campaign_path, read_truth

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not installed(), reason="the weight package is not installed"),
]
LONGEST = 192  # px
IMAGE_DIMENSIONS = 10  # as many as the job takes for so few images


@cache
def campaign():
    """Return segments, their images, image descriptors and dives; habitats, and the objects of segments, or -1."""
    truth = read_truth(campaign_path())
    names = [image.image for image in truth.images if image.label]
    images = [read_image(truth.folder / name, longest=LONGEST) for name in names]
    segments, image_features = _segments(images), _image_features(images)
    objects = [
        _objects(truth.mask(name) if name in truth.masked else None, segment.mask)
        for name, segment in zip(names, segments, strict=True)
    ]
    image = np.repeat(np.arange(len(names)), [len(long_rows(segment)) for segment in segments])
    dives = np.array([segment.group for segment in truth.images if segment.label])
    return (
        np.concatenate([long_rows(segment) for segment in segments]),
        image,
        image_features,
        dives,
        np.array([truth.labels[name] for name in names]),
        np.concatenate(objects),
    )


def _segments(images):
    descriptor = descriptor_named("segments", Choices()).fit(images[::8], random_state=0)
    return list(LocalThreads().map(images, descriptor.describe))


def _image_features(images):
    descriptor = descriptor_named("deep", Choices(cache=user_cache())).fit(images, random_state=0)
    rows = np.concatenate([long_rows(found) for found in LocalThreads().map(images, descriptor.describe)])
    return rows[:, :IMAGE_DIMENSIONS]


def _objects(painted, mask):
    """Return the most frequent object of each segment; -1 if unknown."""
    if painted is None:
        return np.full(int(mask.max()) + 1, -1)
    same = np.asarray(Image.fromarray(painted).resize(mask.shape[::-1], Image.Resampling.NEAREST)).astype(int)
    return segment_labels(mask, np.where(same == 0, -1, same))


@cache
def fitted(word, search="greedy"):
    """A model by the search of the papers, whose claims these are."""
    X, image, image_features, dives, *_ = campaign()
    settings = {"width": SEGMENT_WIDTH, "random_state": 0, "search": search}
    if word == "mcm":
        model = MCM(max_image_clusters=30, **settings)
        return model.fit(X, image_of_segment=image, group_of_image=dives, image_features=image_features)
    if word == "scm":
        return SCM(max_image_clusters=30, **settings).fit(X, image_of_segment=image, group_of_image=dives)
    if word == "gmc":
        return GMC(**settings).fit(X, groups=image)
    return BGMM(**settings).fit(X)


def of_objects(word):
    objects = campaign()[-1]
    return v_measure(objects[objects >= 0], fitted(word).labels_[objects >= 0])


def of_habitats(word):
    return v_measure(campaign()[-2], fitted(word).image_labels_)


@pytest.mark.parametrize("word", ["gmc", "scm", "mcm"])
def test_objects_are_separated_better_with_their_images_than_without(word):
    assert of_objects(word) >= of_objects("bgmm") + 0.02


def test_whole_images_as_a_second_source_find_habitats_better_than_segments_alone_and_with_fewer_clusters():
    assert of_habitats("mcm") >= of_habitats("scm") + 0.03
    assert fitted("mcm").n_image_clusters_ < fitted("scm").n_image_clusters_
    assert of_objects("mcm") >= of_objects("scm") - 0.03, "objects are not paid for with habitats"


@pytest.mark.slow
@pytest.mark.parametrize("word", ["bgmm", "mcm"])
def test_the_default_search_has_no_lower_bound_than_the_search_of_the_papers(word):
    assert fitted(word, "best").lower_bound_ >= fitted(word).lower_bound_
