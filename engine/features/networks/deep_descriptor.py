"""Descriptors from trained networks: the output of a network for the whole image."""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from benthoscope.engine.features.networks.efficientnet import FEATURES, SIZE, graph_file, written_once
from benthoscope.engine.features.networks.onnx_network import Normalisation, OnnxNetwork, in_eight_bits
from benthoscope.engine.features.scspm import unit
from benthoscope.engine.problems import fail
from benthoscope.engine.progress import OnStep, ignore

LITE = Normalisation((127 / 255,) * 3, (128 / 255,) * 3)  # normalisation used to train EfficientNet-Lite


@dataclass(frozen=True)
class BuiltNetwork:
    """Common base of the descriptors by EfficientNet-Lite0. The network is built in the folder `cache`."""

    cache: Path  # writable folder that stores the built network

    @classmethod
    def restored(cls, parameters: dict[str, Any], arrays: dict[str, np.ndarray], *, cache: Path) -> Self:
        return cls(cache)

    @cached_property
    def network(self) -> OnnxNetwork:
        return OnnxNetwork(graph_file(self.cache), normalisation=LITE)

    def __getstate__(self) -> dict[str, Any]:
        return {"cache": self.cache}  # the receiver builds or finds the network there

    def fit(self, images: Iterable[np.ndarray], *, random_state=None, on_step: OnStep = ignore) -> Self:
        # builds the network, so that a missing weight file is reported before the work begins
        assert self.network.form.height == SIZE
        return self


@dataclass(frozen=True)
class EfficientNetLite(BuiltNetwork):
    """The pooled features of EfficientNet-Lite0 (1280 values, at least 0).

    The square root is taken and the vector scaled to unit length. A few strong features then do not outweigh many weak
    ones, and clusters are closer to Gaussians.
    """

    name: ClassVar[str] = "efficientnet-lite0"
    version: ClassVar[int] = 1
    level: ClassVar[str] = "image"
    longest: ClassVar[int] = 320  # px; the network itself uses 224 x 224
    width: ClassVar[int] = FEATURES
    parameters: ClassVar[dict] = {"size": SIZE}
    arrays: ClassVar[dict] = {}

    def describe(self, image: np.ndarray) -> np.ndarray:
        return unit(np.sqrt(self.network(image)))


CALIBRATED_ON = 200  # images; more of them do not change the accuracy


@dataclass(frozen=True)
class EfficientNetEightBits(BuiltNetwork):
    """The same features, computed with weights and activations of 8 bits, which is faster. Their ranges are learned
    from the images of the collection. The file of the network is stored with the descriptor, because other images would
    give other ranges."""

    graph: np.ndarray | None = field(default=None, repr=False, compare=False)  # the bytes of the ONNX file

    name: ClassVar[str] = "efficientnet-lite0-int8"
    version: ClassVar[int] = 1
    level: ClassVar[str] = "image"
    longest: ClassVar[int] = 320  # px; the network itself uses 224 x 224
    width: ClassVar[int] = FEATURES
    parameters: ClassVar[dict] = {"size": SIZE, "bits": 8}

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        return {} if self.graph is None else {"graph": self.graph}

    @classmethod
    def restored(cls, parameters: dict[str, Any], arrays: dict[str, np.ndarray], *, cache: Path) -> Self:
        return cls(cache, arrays.get("graph"))

    def fit(self, images: Iterable[np.ndarray], *, random_state=None, on_step: OnStep = ignore) -> Self:
        exact = OnnxNetwork(graph_file(self.cache), normalisation=LITE)
        file = in_eight_bits(exact, islice(images, CALIBRATED_ON))
        return replace(self, graph=np.frombuffer(file, np.uint8))

    @cached_property
    def network(self) -> OnnxNetwork:
        if self.graph is None:
            raise ValueError("this descriptor is not trained: call fit first")
        file = self.graph.tobytes()
        path = Path(self.cache) / f"{self.name}-{hashlib.sha256(file).hexdigest()[:16]}.onnx"
        return OnnxNetwork(written_once(path, lambda: file), normalisation=LITE)

    def __getstate__(self) -> dict[str, Any]:
        return {"cache": self.cache, "graph": self.graph}

    def describe(self, image: np.ndarray) -> np.ndarray:
        return unit(np.sqrt(self.network(image)))


CORNER = 0.7  # side of a corner view, as a share of that of the image


@dataclass(frozen=True)
class EfficientNetViews(BuiltNetwork):
    """The same features, averaged over the image, its mirror image and its four corners."""

    name: ClassVar[str] = "efficientnet-lite0-views"
    version: ClassVar[int] = 1
    level: ClassVar[str] = "image"
    longest: ClassVar[int] = 320  # px; a corner of it still fills the 224 x 224 px of the network
    width: ClassVar[int] = FEATURES
    parameters: ClassVar[dict] = {"size": SIZE, "corner": CORNER}
    arrays: ClassVar[dict] = {}

    def describe(self, image: np.ndarray) -> np.ndarray:
        return unit(np.sqrt(np.mean([self.network(view) for view in (image, *views(image))], axis=0)))


def views(image: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the mirror image and the four corners."""
    yield image[:, ::-1]
    (height, width), (tall, wide) = image.shape[:2], (max(int(CORNER * side), 1) for side in image.shape[:2])
    for top in (0, height - tall):
        for left in (0, width - wide):
            yield image[top : top + tall, left : left + wide]


@dataclass(frozen=True)
class OnnxDescriptor:
    """The output of a user's ONNX network, scaled to unit length. Input size and normalisation are read from the file,
    or from the configuration beside it, unless given."""

    path: Path
    input_size: int | None = None
    normalisation: Normalisation | None = None

    name: ClassVar[str] = "onnx"
    version: ClassVar[int] = 1
    level: ClassVar[str] = "image"

    @property
    def longest(self) -> int:
        form = self.network.form
        return 2 * max(form.height, form.width)  # larger than the input, because the image is resampled again

    @property
    def parameters(self) -> dict[str, Any]:
        used, form = self.network.normalisation, self.network.form
        return {
            "path": str(self.path),
            "digest": self.digest,
            "input_size": form.height,
            "mean": list(used.mean),
            "deviation": list(used.deviation),
            "output": self.network.output,
        }

    arrays: ClassVar[dict] = {}

    @classmethod
    def restored(cls, parameters: dict[str, Any], arrays: dict[str, np.ndarray]) -> "OnnxDescriptor":
        normalisation = Normalisation(tuple(parameters["mean"]), tuple(parameters["deviation"]))
        self = cls(Path(parameters["path"]), parameters["input_size"], normalisation)
        if self.digest != parameters["digest"]:
            raise fail(
                str(self.path),
                "is not the network that computed these features",
                "restore the old file, or compute a new feature set",
            )
        return self

    @cached_property
    def network(self) -> OnnxNetwork:
        if not self.path.is_file():
            raise fail(str(self.path), "there is no such file", "give the path of an ONNX file")
        return OnnxNetwork(self.path, input_size=self.input_size, normalisation=self.normalisation)

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self.path, "input_size": self.input_size, "normalisation": self.normalisation}

    @cached_property
    def digest(self) -> str:
        """Return the SHA-256 of the file."""
        assert self.network  # reports a missing or unusable file
        return hashlib.sha256(self.path.read_bytes()).hexdigest()

    @cached_property
    def width(self) -> int:
        return len(self.describe(np.zeros((32, 32, 3), dtype=np.uint8)))

    def fit(self, images: Iterable[np.ndarray], *, random_state=None, on_step: OnStep = ignore) -> "OnnxDescriptor":
        assert self.digest and self.width  # reports an unusable file before the work begins
        return self

    def describe(self, image: np.ndarray) -> np.ndarray:
        return unit(self.network(image))
