"""A workspace that release 0.1.0 wrote opens, and its jobs, runs, descriptors and learned models still work.

The modules of that release had other names (`engine.jobs...`). Its commands wrote `released_0_1_0.zip`: sample, init,
import, features (colour, segments, deep), cluster (gmc, scm, rim), labels, learn, cover and crowd. Two more jobs were
queued. The images are in the archive too.
"""

import inspect
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from benthoscope.engine.features import load
from benthoscope.engine.jobs import JobQueue, kind_named, run_now
from benthoscope.engine.jobs.cluster.model_catalog import model_named
from benthoscope.engine.labelling.suggestions import SuggestionStore
from benthoscope.engine.problems import BadInput
from benthoscope.engine.workspace import Workspace

RELEASED = Path(__file__).with_name("released_0_1_0.zip")
PARAMETERS_OF_KIND = {
    "import": "folder collection kind group_level mapping metadata workers follow_links navigation clock_offset "
    "max_gap check_content",
    "cluster": "model features width collection name hold_out seed dimensions scheduler parameters crowd segments "
    "segment_width levels",
    "crowd": "campaign method clusters name seed more",
    "split cluster": "run cluster person seed",
    "steer": "run name seed",
    "relink": "folder root",
    "projection": "features neighbours distance seed",
    "learn": "features run seed",
    "export": "format output collection dive selection images labelled until run segments fields vocabulary level",
    "import labels": "files person vocabulary add_terms collection dive mapping replace dry_run",
    "chain": "steps",
    "start": "folder collection kind group_level mapping metadata workers check_content follow_links navigation "
    "clock_offset max_gap width name seed",
    "levels": "run",
}
FEATURES_PARAMETERS_OF_RELEASE = (
    "kinds collection name dimension raw onnx input_size mean deviation water again repair seed learn_from like cache "
    "scheduler workers"
)


@pytest.fixture
def released(tmp_path) -> Iterator[Workspace]:
    with zipfile.ZipFile(RELEASED) as archive:
        archive.extractall(tmp_path)
    with Workspace.open(tmp_path / "reef.benthos") as workspace:
        yield workspace


@pytest.mark.parametrize("kind", PARAMETERS_OF_KIND)
def test_a_stored_job_of_each_kind_finds_its_function_with_the_same_parameters(kind):
    accepted = list(inspect.signature(kind_named(kind).function()).parameters)[2:]
    assert set(PARAMETERS_OF_KIND[kind].split()) <= set(accepted)


def test_a_stored_features_job_finds_its_parameters(released):
    """This job takes its parameters as a dictionary."""
    parameters = dict.fromkeys(FEATURES_PARAMETERS_OF_RELEASE.split()) | {"kinds": ["mean"]}
    JobQueue(released).check("features", parameters)
    with pytest.raises(BadInput, match="no_such_parameter"):
        JobQueue(released).check("features", parameters | {"no_such_parameter": 1})


def test_images_labels_and_campaigns_are_there(released):
    assert released.library.count_images() == 16
    ids, terms = released.labels.current_terms()
    names = {term.id: term.name for term in released.vocabularies.all_terms()}
    assert {int(image): names[term] for image, term in zip(ids, terms.tolist(), strict=True)} == {
        1: "Sand", 2: "Sand", 3: "Sand", 9: "Reef", 10: "Reef", 11: "Reef",
    }  # fmt: skip
    assert released.crowd.named("sponges").state == "open"
    assert len(released.sampling.draws_of_images(range(1, 17), "cover")) == 4
    assert released.lost_catalogue() is None and not released.features.unreadable()


@pytest.mark.parametrize(("name", "model"), [("First look", "gmc"), ("scenes", "scm"), ("rim deep", "rim")])
def test_stored_models_are_loaded_and_describe_themselves_as_before(released, name, model):
    stored = released.runs.named(name).arrays()
    arrays = {key.removeprefix("model_"): value for key, value in stored.items() if key.startswith("model_")}
    fitted = model_named(model).from_arrays(arrays, stored["model"])
    again, metadata = fitted.to_arrays()
    assert json.loads(json.dumps(metadata)) == stored["model"]
    assert all(np.array_equal(again[key], value) for key, value in arrays.items())


def test_the_learned_model_is_loaded(released):
    assert SuggestionStore(released.folder).problem() is None
    suggestions = SuggestionStore(released.folder).get()
    assert len(suggestions.image_ids) == 16


@pytest.mark.parametrize("name", ["colour", "segments", "deep"])
def test_stored_descriptors_are_loaded(released, name, tmp_path):
    descriptor = load(released.features.open(name).folder / "descriptor", cache=tmp_path / "cache")
    assert descriptor.level == ("segment" if name == "segments" else "image")


def test_finished_jobs_are_listed_and_queued_jobs_run(released, tmp_path):
    queue = JobQueue(released)
    assert [job.kind for job in queue.all() if job.state == "done"] == [
        "learn",
        *["cluster"] * 3,
        *["features"] * 3,
        "import",
    ]
    moved = run_now(released, "relink", {"folder": str(tmp_path / "images"), "root": None})
    assert moved.result["found"] == 16
    for job in reversed([job for job in queue.all() if job.state == "queued"]):
        assert run_now(released, job.kind, {}, resume=job.id).state == "done"
    assert "mean" in released.features and len(released.runs.all()) == 4
