"""Objects and scenes of the sample campaign against its habitats and the objects painted into a quarter of its images.

Bounds leave room for what is lost by making the images smaller, which the suite has no time not to do.
"""

from functools import cache

import numpy as np
import pytest
from PIL import Image

from engine.compute import LocalThreads
from engine.features import Choices, descriptor_named, segment_labels, user_cache
from engine.features.efficientnet import installed
from engine.features.projected import long_rows
from engine.imaging import read_image
from engine.jobs.models import SEGMENT_WIDTH
from engine.metrics import v_measure
from engine.mixtures import BGMM, GMC, MCM, SCM
from sample_data import campaign_path, read_truth

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("campaign scenes"),
              pytest.mark.skipif(not installed(), reason="the weight package is not installed")]
LONGEST = 192           # px
IMAGE_DIMENSIONS = 10  # as many as the job takes for so few images


@cache
def campaign():
    """Segments, image of each, descriptor of every image, dives; habitats, and the objects of segments, or -1."""
    truth = read_truth(campaign_path())
    names = [image.image for image in truth.images if image.label]
    images = [read_image(truth.folder / name, longest=LONGEST) for name in names]
    segments, looks = _segments(images), _looks(images)
    objects = [_objects(truth.mask(name) if name in truth.masked else None, found.mask)
               for name, found in zip(names, segments, strict=True)]
    image = np.repeat(np.arange(len(names)), [len(long_rows(found)) for found in segments])
    dives = np.array([found.group for found in truth.images if found.label])
    return (np.concatenate([long_rows(found) for found in segments]), image, looks, dives,
            np.array([truth.labels[name] for name in names]), np.concatenate(objects))


def _segments(images):
    descriptor = descriptor_named("segments", Choices()).fit(images[::8], random_state=0)
    return list(LocalThreads().map(images, descriptor.describe))


def _looks(images):
    descriptor = descriptor_named("deep", Choices(cache=user_cache())).fit(images, random_state=0)
    rows = np.concatenate([long_rows(found) for found in LocalThreads().map(images, descriptor.describe)])
    return rows[:, :IMAGE_DIMENSIONS]


def _objects(painted, mask):
    """The object that fills most of every segment; -1 where nobody knows."""
    if painted is None:
        return np.full(int(mask.max()) + 1, -1)
    same = np.asarray(Image.fromarray(painted).resize(mask.shape[::-1], Image.Resampling.NEAREST)).astype(int)
    return segment_labels(mask, np.where(same == 0, -1, same))


@cache
def fitted(word):
    X, image, looks, dives, *_ = campaign()
    if word == "mcm":
        return MCM(width=SEGMENT_WIDTH, random_state=0).fit(X, image, dives, image_features=looks)
    if word == "scm":
        return SCM(width=SEGMENT_WIDTH, random_state=0).fit(X, image, dives)
    if word == "gmc":
        return GMC(width=SEGMENT_WIDTH, random_state=0).fit(X, image)
    return BGMM(width=SEGMENT_WIDTH, random_state=0).fit(X)


def of_objects(word):
    objects = campaign()[-1]
    return v_measure(objects[objects >= 0], fitted(word).labels_[objects >= 0])


def of_habitats(word):
    return v_measure(campaign()[-2], fitted(word).image_labels_)


@pytest.mark.parametrize("word", ["gmc", "scm", "mcm"])
def test_objects_are_told_apart_better_with_the_images_they_are_in_than_without(word):
    assert of_objects(word) >= of_objects("bgmm") + 0.02


def test_whole_images_as_a_second_source_find_habitats_better_than_segments_alone_and_with_fewer_clusters():
    assert of_habitats("mcm") >= of_habitats("scm") + 0.03
    assert fitted("mcm").n_image_clusters_ < fitted("scm").n_image_clusters_
    assert of_objects("mcm") >= of_objects("scm") - 0.03, "objects are not paid for with habitats"
