"""kill -9 while random images are drawn: the same images are drawn again in the same order, and none is replaced."""

import random

import numpy as np
import pytest

from benthoscope.engine.workspace import Workspace
from benthoscope.engine.workspace.labels.sampling import Parent
from benthoscope.engine.workspace.labels.sampling_keys import uniform_keys
from benthoscope.engine.workspace.labels.vocabularies import NewTerm
from tests.faults.victims import draw_for_ever, killed_at_a_random_moment

pytestmark = pytest.mark.slow
KILLS = 12
IMAGES = np.arange(1, 5_001)


def test_the_order_of_draws_survives_kills(tmp_path):
    with Workspace.create(tmp_path / "reef") as made:
        made.vocabularies.add("habitats", [NewTerm(("sand",))])
        made.sampling.open_frame("cover", Parent(), IMAGES, made.people.named("Ann").id, seed=5)
    chance, acknowledged = random.Random(0), tmp_path / "acknowledged.txt"
    for _ in range(KILLS):
        killed_at_a_random_moment(draw_for_ever, tmp_path / "reef.benthos", acknowledged, within=1.0, draw=chance)
    with Workspace.open(tmp_path / "reef") as workspace:
        draws = workspace.sampling.draws("cover")
        open_draws = [draw.image_id for draw in draws if draw.is_open]
        frame = workspace.sampling.frames("cover")[0]
        expected = IMAGES[np.argsort(uniform_keys(5, IMAGES))]
        assert [draw.image_id for draw in draws] == expected[: len(draws)].tolist()
        assert [draw.number for draw in draws] == list(range(1, len(draws) + 1))
        assert len(open_draws) <= 2 and len({draw.wave for draw in draws}) == 1
        again = workspace.sampling.draw(frame, len(open_draws) + 1)
        assert [draw.image_id for draw in again][: len(open_draws)] == open_draws
    lines = acknowledged.read_text().split("\n")[:-1] if acknowledged.exists() else []
    assert len(lines) > 10, "nothing was drawn between the kills"
    assert all(expected[int(number) - 1] == int(image) for number, image in map(str.split, lines))
