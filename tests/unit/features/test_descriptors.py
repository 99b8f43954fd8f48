"""Properties of all named descriptors."""

import json
import pickle

import numpy as np
import pytest
from skimage import data

from benthoscope.engine import features
from benthoscope.engine.features import DESCRIPTORS, Choices, descriptor_named, load, save
from benthoscope.engine.features.colour_texture import ColourTexture, MeanColour
from benthoscope.engine.features.descriptor import Projected
from benthoscope.engine.features.dictionaries import RandomPatches
from benthoscope.engine.features.networks.efficientnet import installed
from benthoscope.engine.features.planes import resize
from benthoscope.engine.features.scspm import ScSPM
from benthoscope.engine.problems import BadInput

WORDS = [word for word in DESCRIPTORS if word != "onnx"]
PICTURES = [
    resize(picture, 120, 160)
    for picture in (
        data.astronaut(),
        data.coffee(),
        data.chelsea(),
        data.rocket(),
        data.hubble_deep_field(),
        data.retina(),
    )
]


def vectors(described):
    return getattr(described, "vectors", described)


def small(word, cache):
    """The named descriptor, with a small dictionary where it has one."""
    descriptor = descriptor_named(word, Choices(cache=cache))
    if isinstance(descriptor, Projected) and isinstance(descriptor.base, ScSPM):
        return Projected(ScSPM(atoms=64, learner=RandomPatches()), descriptor.reducer)
    return descriptor


@pytest.fixture(scope="module", params=WORDS)
def learned(request, tmp_path_factory):
    if request.param.startswith("deep") and not installed():
        pytest.skip("the weight package is not installed")
    cache = tmp_path_factory.mktemp("cache")
    return small(request.param, cache).fit(PICTURES, random_state=0), cache


def test_describing_twice_gives_the_same_finite_float32_numbers(learned):
    descriptor, _ = learned
    first, other = (vectors(descriptor.describe(PICTURES[0])) for _ in range(2))
    assert first.dtype == np.float32 and np.isfinite(first).all() and (first == other).all()
    assert first.shape[-1] == descriptor.width


def test_different_images_have_different_vectors_and_are_not_changed(learned):
    descriptor, _ = learned
    before = PICTURES[0].copy()
    described = [np.atleast_2d(vectors(descriptor.describe(picture)))[0] for picture in PICTURES]
    assert (PICTURES[0] == before).all()
    assert all(np.abs(described[0] - other).max() > 1e-3 for other in described[1:])


def test_a_stored_descriptor_describes_the_same_without_pickles(learned, tmp_path):
    descriptor, cache = learned
    save(descriptor, tmp_path / "stored")
    again = load(tmp_path / "stored", cache=cache)
    assert (vectors(again.describe(PICTURES[1])) == vectors(descriptor.describe(PICTURES[1]))).all()
    assert again.parameters == descriptor.parameters
    with np.load(tmp_path / "stored" / "learned.npz", allow_pickle=False) as archive:
        assert all(archive[name].dtype != object for name in archive.files)


def test_descriptors_can_be_pickled(learned):
    descriptor, _ = learned
    again = pickle.loads(pickle.dumps(descriptor))
    assert (vectors(again.describe(PICTURES[2])) == vectors(descriptor.describe(PICTURES[2]))).all()


def test_parameters_are_json_and_learning_repeats_with_its_seed(learned):
    descriptor, cache = learned
    assert json.loads(json.dumps(features.described(descriptor)))["parameters"] == descriptor.parameters
    word = next(
        word
        for word in WORDS
        if type(small(word, cache)) is type(descriptor) and small(word, cache).parameters == descriptor.parameters
    )
    again = small(word, cache).fit(PICTURES, random_state=0)
    assert vectors(again.describe(PICTURES[0])) == pytest.approx(vectors(descriptor.describe(PICTURES[0])), abs=1e-5)


def test_an_unknown_name_gives_the_most_similar_one():
    with pytest.raises(BadInput, match="did you mean 'segments'"):
        descriptor_named("segment")


def test_a_user_network_needs_its_file():
    with pytest.raises(BadInput, match="give one with --onnx FILE"):
        descriptor_named("onnx")


def test_dimension_and_raw_vectors_can_be_chosen(tmp_path):
    assert descriptor_named("colour", Choices(dimension=3)).fit(PICTURES).describe(PICTURES[0]).shape == (3,)
    raw = descriptor_named("colour", Choices(raw=True)).fit(PICTURES)
    assert isinstance(raw, ColourTexture) and raw.describe(PICTURES[0]).shape == (raw.width,)


def test_every_descriptor_has_a_description():
    assert all(len(recipe.about) > 40 and recipe.level in ("image", "segment") for recipe in DESCRIPTORS.values())


DAMAGES = ["no folder", "no arrays", "half arrays", "not json", "other word", "pickled arrays"]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_descriptor_gives_a_clear_error(tmp_path, damage):
    folder = tmp_path / "stored"
    if damage != "no folder":
        save(descriptor_named("colour").fit(PICTURES), folder)
    if damage == "no arrays":
        (folder / "learned.npz").unlink()
    if damage == "half arrays":
        (folder / "learned.npz").write_bytes((folder / "learned.npz").read_bytes()[:100])
    if damage == "not json":
        (folder / "descriptor.json").write_text("{")
    if damage == "other word":
        (folder / "descriptor.json").write_text('{"descriptor": "magic", "version": 1, "parameters": {}}')
    if damage == "pickled arrays":
        np.savez(folder / "learned.npz", **{"projection.centre": np.array([{}], dtype=object)})
    with pytest.raises(BadInput, match="not a readable descriptor"):
        load(folder, cache=tmp_path)


def test_a_store_of_another_version_of_the_method_is_rejected(tmp_path, monkeypatch):
    save(MeanColour(), tmp_path)
    monkeypatch.setattr(MeanColour, "version", 2)
    with pytest.raises(
        BadInput, match="stored by version 1 of the method; the current version is 2; compute a new feature set"
    ):
        load(tmp_path, cache=tmp_path)


def test_mean_colour_is_the_mean_in_cielab():
    grey = np.full((30, 40, 3), 119, dtype=np.uint8)
    assert MeanColour().describe(grey) == pytest.approx([50.03, 0, 0], abs=0.05)  # sRGB 119 is L* 50


ENDS = np.cumsum([12, 16, 16, 10, 10, 10, 128, 12, 12])


def test_before_learning_each_part_of_the_colour_and_texture_summary_has_length_one():
    out = ColourTexture().describe(PICTURES[0])
    assert [np.linalg.norm(word) for word in np.split(out, ENDS)] == pytest.approx([1] * 10, abs=1e-5)


def test_after_learning_each_part_varies_as_much_as_the_others():
    learned = ColourTexture().fit(PICTURES)
    rows = np.stack([learned.describe(picture) for picture in PICTURES])
    assert [word.var(0).sum() for word in np.split(rows, ENDS, axis=1)] == pytest.approx([1] * 10, abs=1e-4)


def test_a_constant_part_is_not_amplified():
    learned = ColourTexture().fit(PICTURES[:1] * 5)
    assert np.isfinite(learned.describe(PICTURES[1])).all() and np.abs(learned.describe(PICTURES[0])).max() <= 50


def test_the_package_offers_what_it_lists():
    assert set(dir(features)) == set(features.__all__)
    assert all(getattr(features, name) is not None for name in features.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'Colour'"):
        _ = features.Colour
