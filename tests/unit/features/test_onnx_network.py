"""User networks as ONNX files: settings read from the file, given settings, and kinds of output."""

import json
import pickle

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from benthoscope.engine.features.networks.deep_descriptor import OnnxDescriptor
from benthoscope.engine.features.networks.onnx_network import IMAGENET, Normalisation, OnnxNetwork
from benthoscope.engine.problems import BadInput

PLAIN = Normalisation((0, 0, 0), (1, 1, 1))


def write(path, nodes, shape, outputs, *, kind=TensorProto.FLOAT, constants=(), metadata=None):
    image = helper.make_tensor_value_info("pixels", kind, shape)
    outs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, form) for name, form in outputs]
    model = helper.make_model(
        helper.make_graph(nodes, "small", [image], outs, list(constants)),
        opset_imports=[helper.make_opsetid("", 17)],
        ir_version=9,
    )
    helper.set_model_props(model, metadata or {})
    onnx.save(model, str(path))
    return path


def pooling(path, shape=("n", 3, 8, 8), **extra):
    """A network that gives the mean of each channel: what goes in can be read off what comes out."""
    nodes = [
        helper.make_node("GlobalAveragePool", ["pixels"], ["mean"]),
        helper.make_node("Flatten", ["mean"], ["features"]),
    ]
    return write(path, nodes, list(shape), [("features", ["n", 3])], **extra)


def tokens(path, shape=("n", 3, "h", "w"), pooled_too=False):
    """As a vision transformer: (n, 1 + tokens, 3), first the image's mean, then one token for every 14 px patch."""
    nodes = [
        helper.make_node("GlobalAveragePool", ["pixels"], ["mean4"]),
        helper.make_node("AveragePool", ["pixels"], ["patches4"], kernel_shape=[14, 14], strides=[14, 14]),
        helper.make_node("Reshape", ["mean4", "form"], ["mean"]),
        helper.make_node("Reshape", ["patches4", "form"], ["patches"]),
        helper.make_node("Concat", ["mean", "patches"], ["columns"], axis=2),
        helper.make_node("Transpose", ["columns"], ["last_hidden_state"], perm=[0, 2, 1]),
    ]
    outputs = [("last_hidden_state", ["n", "tokens", 3])]
    if pooled_too:
        nodes += [
            helper.make_node("Flatten", ["mean4"], ["flat"]),
            helper.make_node("Neg", ["flat"], ["pooler_output"]),
        ]
        outputs.append(("pooler_output", ["n", 3]))
    constants = [numpy_helper.from_array(np.array([0, 3, -1]), "form")]
    return write(path, nodes, list(shape), outputs, constants=constants)


@pytest.fixture
def picture():
    return np.random.default_rng(0).integers(256, size=(40, 60, 3), dtype=np.uint8)


def test_pixels_reach_the_network_with_imagenets_normalisation_unless_told_otherwise(tmp_path):
    flat = np.full((20, 30, 3), (10, 100, 200), dtype=np.uint8)
    out = OnnxNetwork(pooling(tmp_path / "net.onnx"))(flat)
    expected = (np.array([10, 100, 200]) / 255 - IMAGENET[0]) / IMAGENET[1]
    assert out == pytest.approx(expected, abs=1e-4)


def test_a_normalisation_in_the_file_is_read_and_one_given_goes_before_it(tmp_path):
    settings = {"image_mean": "[0.5, 0.5, 0.5]", "image_std": "[0.25, 0.25, 0.25]"}
    path = pooling(tmp_path / "net.onnx", metadata=settings)
    flat = np.full((8, 8, 3), 255, dtype=np.uint8)
    assert OnnxNetwork(path)(flat) == pytest.approx([2, 2, 2], abs=1e-5)
    assert OnnxNetwork(path, normalisation=PLAIN)(flat) == pytest.approx([1, 1, 1], abs=1e-5)


@pytest.mark.parametrize(("size", "side"), [({"height": 28, "width": 28}, 28), ({"shortest_edge": 42}, 42), (56, 56)])
def test_the_configuration_beside_the_file_is_read(tmp_path, picture, size, side):
    settings = {"image_mean": [0, 0, 0], "image_std": [0.5, 0.5, 0.5], "size": size}
    (tmp_path / "preprocessor_config.json").write_text(json.dumps(settings))
    network = OnnxNetwork(tokens(tmp_path / "net.onnx"))
    assert (network.form.height, network.form.width) == (side, side)
    assert network(np.full((8, 8, 3), 255, dtype=np.uint8)) == pytest.approx([2, 2, 2], abs=1e-5)


def test_channels_may_come_last_and_pixels_may_stay_bytes(tmp_path):
    nodes = [
        helper.make_node("Cast", ["pixels"], ["f"], to=TensorProto.FLOAT),
        helper.make_node("ReduceMean", ["f"], ["features"], axes=[1, 2], keepdims=0),
    ]
    path = write(tmp_path / "net.onnx", nodes, [1, 8, 8, 3], [("features", [1, 3])], kind=TensorProto.UINT8)
    assert OnnxNetwork(path)(np.full((20, 30, 3), (10, 100, 200), dtype=np.uint8)) == pytest.approx([10, 100, 200])


def test_half_precision_networks_run(tmp_path):
    nodes = [
        helper.make_node("Cast", ["pixels"], ["f"], to=TensorProto.FLOAT),
        helper.make_node("GlobalAveragePool", ["f"], ["p"]),
        helper.make_node("Flatten", ["p"], ["features"]),
    ]
    path = write(tmp_path / "net.onnx", nodes, [1, 3, 8, 8], [("features", [1, 3])], kind=TensorProto.FLOAT16)
    out = OnnxNetwork(path, normalisation=PLAIN)(np.full((8, 8, 3), 255, dtype=np.uint8))
    assert out == pytest.approx([1, 1, 1], abs=1e-3)


def test_of_tokens_the_first_stands_for_the_image_and_free_sizes_default_to_224(tmp_path, picture):
    network = OnnxNetwork(tokens(tmp_path / "net.onnx"), normalisation=PLAIN)
    assert network.form.height == 224
    assert network(picture) == pytest.approx(picture.mean((0, 1)) / 255, abs=0.01)


def test_a_pooled_output_goes_before_tokens(tmp_path, picture):
    network = OnnxNetwork(tokens(tmp_path / "net.onnx", pooled_too=True), normalisation=PLAIN)
    assert network.output == "pooler_output" and (network(picture) < 0).all()


def test_of_a_map_the_mean_is_taken(tmp_path, picture):
    node = helper.make_node("AveragePool", ["pixels"], ["map"], kernel_shape=[4, 4], strides=[4, 4])
    path = write(tmp_path / "net.onnx", [node], ["n", 3, 8, 8], [("map", ["n", 3, 2, 2])])
    small = np.kron(picture[:8, :8], np.ones((1, 1, 1), dtype=np.uint8))
    assert OnnxNetwork(path, normalisation=PLAIN)(small) == pytest.approx(small.mean((0, 1)) / 255, abs=1e-5)


def test_an_input_size_can_be_given_where_the_file_leaves_it_open_and_is_rejected_where_not(tmp_path):
    assert OnnxNetwork(tokens(tmp_path / "free.onnx"), input_size=98).form.width == 98
    with pytest.raises(BadInput, match="takes images of 8 x 8 px, not 98; do not use --input-size"):
        OnnxNetwork(pooling(tmp_path / "fixed.onnx"), input_size=98)


@pytest.mark.parametrize("content", [b"", b"not a network", bytes(5000)])
def test_a_file_that_is_not_a_network_gives_a_clear_error(tmp_path, content):
    path = tmp_path / "net.onnx"
    path.write_bytes(content)
    with pytest.raises(BadInput, match=r"net\.onnx: not an ONNX network that can be run") as caught:
        OnnxNetwork(path)
    assert "\n" not in str(caught.value)


def test_a_missing_network_file_gives_a_clear_error(tmp_path):
    with pytest.raises(BadInput, match=r"gone\.onnx: there is no such file"):
        OnnxDescriptor(tmp_path / "gone.onnx").fit([])


def test_a_network_of_text_is_rejected_with_what_it_takes(tmp_path):
    node = helper.make_node("Identity", ["pixels"], ["features"])
    path = write(tmp_path / "net.onnx", [node], ["n", 16], [("features", ["n", 16])])
    with pytest.raises(BadInput, match=r"has the inputs pixels \['n', 16\], not one image"):
        OnnxNetwork(path)


def test_the_descriptor_has_unit_length_can_be_pickled_and_recognises_its_file(tmp_path, picture):
    path = pooling(tmp_path / "net.onnx")
    descriptor = OnnxDescriptor(path).fit([])
    out = descriptor.describe(picture)
    assert np.linalg.norm(out) == pytest.approx(1, abs=1e-6) and descriptor.width == 3
    assert (pickle.loads(pickle.dumps(descriptor)).describe(picture) == out).all()
    parameters = descriptor.parameters
    assert (OnnxDescriptor.restored(parameters, {}).describe(picture) == out).all()
    tokens(path)
    with pytest.raises(BadInput, match="not the network that computed these features"):
        OnnxDescriptor.restored(parameters, {})
