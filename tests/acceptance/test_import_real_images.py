"""Real image sets are imported unchanged: each image decodes, and each row of their tables matches an image."""

from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from benthoscope.engine.exchange import ImportOptions
from benthoscope.engine.imaging import take_in
from benthoscope.engine.jobs import run_now
from benthoscope.engine.jobs.library.import_images import looked_through, planned
from benthoscope.engine.workspace import Workspace

DATA = Path(__file__).parents[2].parent / "shared" / "data"
SETS = ("deepdive_gbr", "fish4knowledge", "kohtao_patches", "planktonset")


@pytest.fixture(params=SETS)
def folder(request):
    image_folder = DATA / request.param
    if not image_folder.is_dir():
        pytest.skip(f"the image set {request.param} is not beside the checkout")
    return image_folder


def test_every_image_of_a_real_set_is_found_with_its_label(folder):
    plan = planned(looked_through(folder), ImportOptions())
    (source,) = plan.sources
    rows = len(source.reading.records)
    assert len(plan.survey.images) == rows == len(plan.records) > 600
    assert plan.problems == () and plan.unrelated == ()
    labelled = [record for record in plan.records.values() if {"label", "labels"} & record.details.keys()]
    assert len(labelled) > 0.9 * rows  # kohtao leaves some patches without any


def test_real_images_decode_to_what_pillow_shows(folder):
    for path in sorted((folder / "images").iterdir())[::40]:
        intake = take_in(path, (128,))
        with Image.open(path) as image:
            assert (intake.facts.width, intake.facts.height) == image.size
            shown = _coarse(image)
        assert np.abs(_coarse(Image.open(BytesIO(intake.thumbnails[128]))) - shown).mean() < 6
        assert intake.facts.notes == ()


def _coarse(image):
    return np.asarray(image.convert("RGB").resize((8, 8), Image.Resampling.BOX)).astype(int)


@pytest.mark.parametrize("folder", ["kohtao_patches"], indirect=True)
def test_a_real_set_is_imported_completely(folder, tmp_path):
    with Workspace.create(tmp_path / "reef") as workspace:
        job = run_now(workspace, "import", {"folder": str(folder)})
        assert (job.state, job.result["bad"], job.result["problems"]) == ("done", 0, 0), job.traceback
        assert job.result["new"] == workspace.library.count_images() == 687
