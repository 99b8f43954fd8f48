"""The catalogue of descriptors: their names, descriptions and constructors."""

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benthoscope.engine.features.compression import PrincipalAxes, RandomProjection
from benthoscope.engine.features.descriptor import Descriptor, Projected
from benthoscope.engine.features.networks.efficientnet import installed
from benthoscope.engine.optional_dependencies import install_command
from benthoscope.engine.problems import Problem, fail, unknown
from benthoscope.engine.user_cache import user_cache

if TYPE_CHECKING:
    from benthoscope.engine.features.networks.onnx_network import Normalisation

DEFAULT, FALLBACK = "deep", "colour"
LEARNED = 256  # columns of network descriptors stored for classifiers; 32 of them lose 2 to 7 percentage points


@dataclass(frozen=True)
class Choices:
    """Options of a descriptor besides its name. Each constructor uses those that apply."""

    dimension: int | None = None  # dimension of the projected vectors; None: the descriptor's default
    raw: bool = False  # keep the long vectors without a projection
    onnx: Path | None = None
    input_size: int | None = None
    normalisation: "Normalisation | None" = None
    cache: Path = field(default_factory=user_cache)
    dictionary: str | None = None  # how scspm and rp learn their patterns, by name in LEARNERS; None: by k-means


@dataclass(frozen=True)
class DescriptorSpec:
    """The catalogue entry of a descriptor: its name, constructor and a description for users."""

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


def _made(class_name: str, *arguments: Any) -> Descriptor:
    """Make a descriptor. Its module is imported when it is needed: numba and scikit-image are slow to import."""
    descriptor: Descriptor = getattr(import_module("benthoscope.engine.features"), class_name)(*arguments)
    return descriptor


def _network_of(choices: Choices) -> Descriptor:
    if choices.onnx is None:
        raise fail("onnx", "no network file was given", "give one with --onnx FILE")
    return _made("OnnxDescriptor", Path(choices.onnx).resolve(), choices.input_size, choices.normalisation)


def _sparse_codes(choices: Choices) -> Descriptor:
    if choices.dictionary is None:
        return _made("ScSPM")
    from benthoscope.engine.features.scspm import LEARNERS, ScSPM  # loads numba

    if choices.dictionary not in LEARNERS:
        raise unknown("dictionary", choices.dictionary, LEARNERS)
    return ScSPM(learner=LEARNERS[choices.dictionary]())


def _pixels(choices: Choices) -> Descriptor:
    from benthoscope.engine.features.segments import Pixels  # loads scikit-image

    return _made("ColourSegments", Pixels())


RECIPES = (
    DescriptorSpec(
        "deep",
        "image",
        "Features of a network trained on a million photographs. The best "
        "choice for almost every collection; start here.",
        lambda choices: _made("EfficientNetLite", choices.cache),
        lambda d: PrincipalAxes(d or 32, further=max(LEARNED - (d or 32), 0)),
    ),
    DescriptorSpec(
        "deep-int8",
        "image",
        "The network of deep with 8-bit numbers, adapted to your images. It runs 1.7 times as fast, and classifiers "
        "are about as accurate.",
        lambda choices: _made("EfficientNetEightBits", choices.cache),
        lambda d: PrincipalAxes(d or 32, further=max(LEARNED - (d or 32), 0)),
    ),
    DescriptorSpec(
        "deep-views",
        "image",
        "The network of deep, averaged over six views of each image. Improves suggestions in Learn on some "
        "collections; describing takes five times as long.",
        lambda choices: _made("EfficientNetViews", choices.cache),
        lambda d: PrincipalAxes(d or 32, further=max(LEARNED - (d or 32), 0)),
    ),
    DescriptorSpec(
        "scspm",
        "image",
        "Texture layout: which small patterns occur, and where in the frame. Learned from "
        "your own images; ignores colour, so the tint of the water has no effect.",
        _sparse_codes,
        lambda d: PrincipalAxes(d or 20),
    ),
    DescriptorSpec(
        "rp",
        "image",
        "Texture layout with a random projection instead of a learned one. Preserves "
        "the distances between images with a thousand numbers per image.",
        _sparse_codes,
        lambda d: RandomProjection(d or 1000),
    ),
    DescriptorSpec(
        "segments",
        "segment",
        "About fifty segments per image, each described by its colour and fine texture. Needed to "
        "cluster the objects in a scene as well as the scenes.",
        lambda _: _made("IcaSegments"),
        lambda d: PrincipalAxes(d or 15, whiten=True),
    ),
    DescriptorSpec(
        "colour-segments",
        "segment",
        "About a hundred segments per image, each described by its position and mean colour only. For the joint "
        "segmentation of images whose parts differ by colour.",
        lambda _: _made("ColourSegments"),
    ),
    DescriptorSpec(
        "pixels",
        "segment",
        "Every pixel of the image at 200 pixels, described by its position and colour. For the joint segmentation "
        "of some hundred images; a thousand images take 700 MB.",
        _pixels,
    ),
    DescriptorSpec(
        "patches",
        "segment",
        "About 250 patches on a regular grid in each image, described by their texture. For topics of "
        "images (models iwtm and lda).",
        lambda _: _made("SiftPatches"),
        lambda d: PrincipalAxes(d or 24),
    ),
    DescriptorSpec(
        "hog-patches",
        "segment",
        "About a thousand patches on a fine grid in each image, described by the directions of their edges "
        "(HOG2x2). For topics of images with man-made structures.",
        lambda _: _made("HogPatches"),
        lambda d: PrincipalAxes(d or 24),
    ),
    DescriptorSpec(
        "deep-patches",
        "segment",
        "49 patches on a regular grid in each image, described by the network of the descriptor deep. For "
        "topics with more meaning than texture.",
        lambda choices: _made("DeepPatches", choices.cache),
        lambda d: PrincipalAxes(d or 24),
    ),
    DescriptorSpec(
        "topics",
        "image",
        "What an image is made of: its proportions of about twenty topics of texture patches. The vocabulary "
        "of patches is learned from your own images.",
        lambda choices: _made("TopicWeights", choices.dimension or 20),
    ),
    DescriptorSpec(
        "pyramid-kernel",
        "image",
        "Texture layout compared by the spatial pyramid match kernel, reduced by kernel PCA to about twenty numbers. "
        "For `benthoscope discover`: images that show one object each.",
        lambda choices: _made("PyramidKernelAxes", choices.dimension or 20),
    ),
    DescriptorSpec(
        "colour",
        "image",
        "Histograms of colours, textures, contrast and edge directions. Fast, needs no network; good "
        "for photo albums, but sensitive to the tint of the water.",
        lambda _: _made("ColourTexture"),
        lambda d: PrincipalAxes(d or 32),
    ),
    DescriptorSpec(
        "mean",
        "image",
        "Only the mean colour: three numbers, a baseline for the other descriptors.",
        lambda _: _made("MeanColour"),
    ),
    DescriptorSpec(
        "onnx",
        "image",
        "Your own network in an ONNX file, for example DINOv2.",
        _network_of,
        lambda d: PrincipalAxes(d or 32, further=max(LEARNED - (d or 32), 0)),
    ),
)
DESCRIPTORS = {recipe.word: recipe for recipe in RECIPES}


def descriptor_named(word: str, choices: Choices | None = None) -> Descriptor:
    """Return the untrained descriptor with this name."""
    if word not in DESCRIPTORS:
        raise unknown("descriptor", word, DESCRIPTORS)
    return DESCRIPTORS[word].descriptor(choices or Choices())


def available(word: str) -> tuple[str, Problem | None]:
    """Return the name of the descriptor to use on this machine: `word` itself, or a fallback with a message for the
    user."""
    if word != DEFAULT or installed():
        return word, None
    return FALLBACK, Problem(
        "deep descriptor",
        "is not installed, so the colour and texture summary is used instead",
        install_command("deep"),
    )


def descriptors_markdown() -> str:
    """A list of all descriptors for the help page."""
    return "\n".join(f"- `{spec.word}`: {spec.about}" for spec in RECIPES)
