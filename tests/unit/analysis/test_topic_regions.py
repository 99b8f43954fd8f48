"""Images that contain the topics of a region of another image."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from benthoscope.app.cli import app
from benthoscope.engine.analysis import distance_to_region
from benthoscope.engine.jobs.cluster.topic_regions import Region, region_named, topic_shares
from benthoscope.engine.problems import BadInput
from tests.segmented_reef import add_topics, made


@pytest.fixture(scope="module")
def reef(tmp_path_factory):
    made_reef = made(tmp_path_factory.mktemp("regions"))
    yield made_reef
    made_reef.workspace.close()


@pytest.fixture(scope="module")
def run(reef):
    return add_topics(reef)


@pytest.fixture(scope="module")
def mixed(reef):
    """An image of which three quarters are topic 0 and the lower right one is topic 1."""
    return int(reef.ids[(reef.objects == [0, 0, 0, 1]).all(1).argmax()])


def test_an_image_matches_a_region_by_the_topics_of_the_region_alone():
    weights = np.array([[0.5, 0.5, 0.0], [0.1, 0.1, 0.8], [0.9, 0.0, 0.1]])
    np.testing.assert_allclose(distance_to_region(weights[:2], [0.5, 0.5, 0]), [0.5, 0.9])
    np.testing.assert_allclose(distance_to_region(weights, [0, 0, 1.0]), [1 - 1e-6, 0.2, 0.9])
    assert distance_to_region(weights, [1, 1, 0]).argmin() == 0


def test_a_region_is_read_from_text():
    region = region_named("17:0.2,0.1,0.5,0.4")
    assert region == Region(17, 0.2, 0.1, 0.5, 0.4) and region_named(str(region)) == region


@pytest.mark.parametrize(
    "text, message",
    [
        ("17", "is not a region"),
        ("17:0.1,0.2,0.3", "is not a region"),
        ("17:a,0.2,0.3,0.1", "is not a region"),
        ("17:nan,0.2,0.3,0.1", "is not a region"),
        ("17:0.8,0.2,0.3,0.1", "is not inside the image"),
        ("17:-0.1,0.2,0.3,0.1", "is not inside the image"),
        ("17:0.1,0.2,0,0.1", "is not inside the image"),
    ],
)
def test_an_unusable_region_is_refused(text, message):
    with pytest.raises(BadInput, match=message):
        region_named(text)


def test_the_topics_of_a_region_are_those_of_its_pixels(reef, run, mixed):
    def shares(*sides):
        return topic_shares(reef.workspace, run, Region(mixed, *sides)).tolist()

    assert shares(0, 0, 1, 1) == [0.75, 0.25, 0]
    assert shares(0.5, 0.5, 0.5, 0.5) == [0, 1, 0]
    assert shares(0.5, 0, 0.5, 1) == [0.5, 0.5, 0]
    assert shares(0.99, 0.99, 0.001, 0.001) == [0, 1, 0]
    with pytest.raises(BadInput, match="has no patches in the run"):
        topic_shares(reef.workspace, run, Region(9999, 0, 0, 1, 1))


def test_the_command_lists_the_images_that_contain_the_region(reef, run, mixed):
    words = ["topics", "--workspace", str(reef.workspace.folder)]
    region = f"{mixed}:0.5,0.5,0.5,0.5"
    done = CliRunner().invoke(app, [*words, "--region", region, "--limit", "24", "--json"])
    found = [image["id"] for image in json.loads(done.stdout)["images"]]
    weeds = {int(image): int((row == 1).sum()) for image, row in zip(reef.ids, reef.objects, strict=True)}
    assert [weeds[image] for image in found] == sorted(weeds.values(), reverse=True)
    both = CliRunner().invoke(app, [*words, "--region", region, "--like", "1"])
    assert "cannot be combined" in str(both.exception)
