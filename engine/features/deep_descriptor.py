"""What a trained network sees in a whole image."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from engine.features.efficientnet import FEATURES, SIZE, graph_file
from engine.features.onnx_network import Normalisation, OnnxNetwork
from engine.features.pyramid import unit
from engine.problems import fail
from engine.progress import OnStep, ignore

LITE = Normalisation((127 / 255,) * 3, (128 / 255,) * 3)  # what EfficientNet-Lite was trained with


@dataclass(frozen=True)
class EfficientNetLite:
    """EfficientNet-Lite0's pooled features (1280 values, at least 0), square root taken and at unit length: a few
    strong features do not outweigh many weak ones, and clusters come closer to Gaussians."""

    cache: Path  # folder, ours to write to, that keeps the network once it has been built

    name: ClassVar[str] = "efficientnet-lite0"
    version: ClassVar[int] = 1
    level: ClassVar[str] = "image"
    longest: ClassVar[int] = 320  # px; the network itself looks at 224 x 224
    width: ClassVar[int] = FEATURES
    parameters: ClassVar[dict] = {"size": SIZE}
    arrays: ClassVar[dict] = {}

    @classmethod
    def restored(cls, parameters: dict[str, Any], arrays: dict[str, np.ndarray], *, cache: Path) -> "EfficientNetLite":
        return cls(cache)

    @cached_property
    def network(self) -> OnnxNetwork:
        return OnnxNetwork(graph_file(self.cache), normalisation=LITE)

    def __getstate__(self) -> dict[str, Any]:
        return {"cache": self.cache}  # whoever receives it builds or finds the network there

    def fit(self, images: Iterable[np.ndarray], *, random_state=None, on_step: OnStep = ignore) -> "EfficientNetLite":
        assert self.network.form.height == SIZE  # builds it: a missing weight file is told before the work begins
        return self

    def describe(self, image: np.ndarray) -> np.ndarray:
        return unit(np.sqrt(self.network(image)))


@dataclass(frozen=True)
class OnnxDescriptor:
    """The output of a network somebody brought as an ONNX file, at unit length; input size and normalisation are read
    from the file, or from the configuration beside it, unless given."""

    path: Path
    input_size: int | None = None
    normalisation: Normalisation | None = None

    name: ClassVar[str] = "onnx"
    version: ClassVar[int] = 1
    level: ClassVar[str] = "image"

    @property
    def longest(self) -> int:
        form = self.network.form
        return 2 * max(form.height, form.width)  # resampled once more: a coarser first step would show

    @property
    def parameters(self) -> dict[str, Any]:
        used, form = self.network.normalisation, self.network.form
        return {"path": str(self.path), "digest": self.digest, "input_size": form.height,
                "mean": list(used.mean), "deviation": list(used.deviation), "output": self.network.output}

    arrays: ClassVar[dict] = {}

    @classmethod
    def restored(cls, parameters: dict[str, Any], arrays: dict[str, np.ndarray]) -> "OnnxDescriptor":
        normalisation = Normalisation(tuple(parameters["mean"]), tuple(parameters["deviation"]))
        self = cls(Path(parameters["path"]), parameters["input_size"], normalisation)
        if self.digest != parameters["digest"]:
            raise fail(str(self.path), "is not the network these features were made with",
                       "put the old file back, or make a new feature set")
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
        """SHA-256 of the file."""
        assert self.network  # a file that is missing or no network is told as such
        return hashlib.sha256(self.path.read_bytes()).hexdigest()

    @cached_property
    def width(self) -> int:
        return len(self.describe(np.zeros((32, 32, 3), dtype=np.uint8)))

    def fit(self, images: Iterable[np.ndarray], *, random_state=None, on_step: OnStep = ignore) -> "OnnxDescriptor":
        assert self.digest and self.width  # a file that does not serve is told before the work begins
        return self

    def describe(self, image: np.ndarray) -> np.ndarray:
        return unit(self.network(image))
