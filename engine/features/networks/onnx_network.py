"""Any image network in an ONNX file as a function from an image to a vector. Input settings are read from the file;
missing ones can be given."""

import json
import logging
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from benthoscope.engine.features.planes import as_rgb, resize
from benthoscope.engine.optional_dependencies import import_optional
from benthoscope.engine.problems import fail

if TYPE_CHECKING:
    import onnxruntime

DEFAULT_SIZE = 224  # px, where neither file nor person says; a multiple of 14, 16 and 32
IMAGENET = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
BESIDE = "preprocessor_config.json"  # file name used by exported vision transformers
MAP = "map"  # the output of features before pooling
QUIET = 3  # log errors only


@dataclass(frozen=True)
class Normalisation:
    """Converts levels 0..1 to (level - mean) / deviation, per channel."""

    mean: tuple[float, float, float]
    deviation: tuple[float, float, float]

    def __call__(self, image: np.ndarray) -> np.ndarray:
        """Convert (H, W, 3) uint8 to float32 with one multiplication and one addition per number."""
        deviation = np.array(self.deviation, dtype=np.float32)
        return image * (1 / (255 * deviation)) - np.array(self.mean, dtype=np.float32) / deviation


@dataclass(frozen=True)
class InputForm:
    """The network's input: name, side in px, number type, and whether channels come last."""

    name: str
    height: int
    width: int
    kind: np.dtype
    channels_last: bool

    def array(self, image: np.ndarray, normalisation: Normalisation) -> np.ndarray:
        """Return the batch of one image that the network expects. The RGB uint8 image is resized without cropping."""
        small = resize(as_rgb(image), self.height, self.width)
        scaled = small if self.kind == np.uint8 else normalisation(small).astype(self.kind)
        return np.ascontiguousarray(scaled if self.channels_last else scaled.transpose(2, 0, 1))[None]


class OnnxNetwork:
    """Runs the file with one thread per call. Call it from several threads to use several cores."""

    def __init__(self, path: Path, *, input_size: int | None = None, normalisation: Normalisation | None = None):
        self.path = Path(path)
        self.form = _form(self.path, self.session.get_inputs(), input_size or _told_size(self.path))
        self.normalisation = normalisation or _told_normalisation(self.path, self.session)
        self.output = _best_output(self.session.get_outputs())

    @cached_property
    def session(self) -> "onnxruntime.InferenceSession":
        # `benthoscope` has switched off its telemetry; tests allow no other module to import it
        onnxruntime = import_optional("onnxruntime")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = QUIET
        try:
            return onnxruntime.InferenceSession(str(self.path), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # onnxruntime's errors have no common base class
            raise fail(
                str(self.path),
                f"not an ONNX network that can be run ({_first_line(error)})",
                "give the .onnx file of an image network",
            ) from error

    def __call__(self, image: np.ndarray) -> np.ndarray:
        """Return the pooled output (D,) float32: the first token, which represents the image, or the mean of a map."""
        return pooled(self._run(image, self.output)).astype(np.float32)

    def map(self, image: np.ndarray) -> np.ndarray:
        """Return the output `map` (D, H, W) float32: the features before they are pooled."""
        return self._run(image, MAP).astype(np.float32)

    def _run(self, image: np.ndarray, output: str) -> np.ndarray:
        batch = self.form.array(image, self.normalisation)
        try:
            (value,) = self.session.run([output], {self.form.name: batch})
        except Exception as error:  # see above
            size = f"{self.form.height} x {self.form.width} px"
            raise fail(
                str(self.path),
                f"the network does not accept an image of {size} ({_first_line(error)})",
                "give its input size with --input-size",
            ) from error
        return value[0]


def in_eight_bits(network: OnnxNetwork, images: Iterable[np.ndarray]) -> bytes:
    """Return the ONNX file of the network with weights and activations of 8 bits, whose ranges come from some RGB
    images. Needs the library onnx."""
    import_optional("onnx")
    import_optional("onnxruntime")
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

    class Batches(CalibrationDataReader):
        def __init__(self) -> None:
            self.images = iter(images)

        def get_next(self) -> dict[str, np.ndarray] | None:
            image = next(self.images, None)
            return None if image is None else {network.form.name: network.form.array(image, network.normalisation)}

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "network.onnx"
        logging.disable(logging.WARNING)  # advice for developers of networks
        try:
            quantize_static(
                str(network.path),
                str(path),
                Batches(),
                quant_format=QuantFormat.QDQ,
                per_channel=True,
                activation_type=QuantType.QUInt8,
                weight_type=QuantType.QInt8,
            )
        finally:
            logging.disable(logging.NOTSET)
        return path.read_bytes()


def pooled(value: np.ndarray) -> np.ndarray:
    """Return one vector from the output for one image: (D,), tokens (T, D) or a map (D, H, W)."""
    if value.ndim == 2:
        return value[0]
    if value.ndim == 3:
        return value.mean(axis=(1, 2))
    return value.ravel()


def _form(path: Path, inputs: Sequence, size: int | None) -> InputForm:
    kinds = {"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(uint8)": np.uint8}
    images = [put for put in inputs if len(put.shape) == 4 and put.type in kinds]
    if len(images) != 1 or len(inputs) != 1:
        shapes = ", ".join(f"{put.name} {put.shape}" for put in inputs)
        raise fail(str(path), f"has the inputs {shapes}, not one image", "export the network's image encoder alone")
    shape = images[0].shape
    channels_last = shape[3] == 3 and shape[1] != 3
    height, width = shape[1:3] if channels_last else shape[2:4]
    fixed = [side if isinstance(side, int) and side > 0 else None for side in (height, width)]
    if size and any(side and side != size for side in fixed):
        raise fail(str(path), f"takes images of {height} x {width} px, not {size}", "do not use --input-size")
    height, width = (side or size or DEFAULT_SIZE for side in fixed)
    return InputForm(images[0].name, height, width, np.dtype(kinds[images[0].type]), channels_last)


def _best_output(outputs: Sequence) -> str:
    """Return the pooled vector if there is one (two axes, preferably with "pool" in its name), else the first
    output."""
    flat = [put for put in outputs if len(put.shape) == 2]
    named = [put for put in flat if "pool" in put.name or "embed" in put.name or "feature" in put.name]
    return (named or flat or list(outputs))[0].name


def _told_size(path: Path) -> int | None:
    """Return the input size in the configuration beside the file, in any of its spellings."""
    configuration = _configuration(path)
    size = configuration.get("crop_size") or configuration.get("size")
    if isinstance(size, dict):
        size = size.get("height") or size.get("shortest_edge")
    return size if isinstance(size, int) and 0 < size <= 4096 else None


def _told_normalisation(path: Path, session: "onnxruntime.InferenceSession") -> Normalisation:
    """From the file's own metadata, else from the configuration beside it, else ImageNet's, which most were trained
    with."""
    metadata = session.get_modelmeta().custom_metadata_map
    for configuration in (_parsed(metadata), _configuration(path)):
        mean, deviation = configuration.get("image_mean"), configuration.get("image_std")
        if _three(mean) and _three(deviation) and all(deviation):
            return Normalisation((mean[0], mean[1], mean[2]), (deviation[0], deviation[1], deviation[2]))
    return Normalisation(*IMAGENET)


def _three(value: Any) -> TypeGuard[list[float]]:
    return isinstance(value, list) and len(value) == 3 and all(isinstance(v, int | float) for v in value)


def _parsed(metadata: dict[str, str]) -> dict:
    out = {}
    for name in ("image_mean", "image_std"):
        try:
            out[name] = json.loads(metadata.get(name, "null"))
        except json.JSONDecodeError:
            out[name] = None
    return out


def _configuration(path: Path) -> dict:
    beside = path.with_name(BESIDE)
    try:
        content = json.loads(beside.read_text(encoding="utf-8")) if beside.exists() else {}
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise fail(str(beside), f"cannot be read ({_first_line(error)})", "repair or delete it") from error
    return content if isinstance(content, dict) else {}


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
