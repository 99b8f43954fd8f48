"""Every model that can make a run, by its word, and the question it answers, for whoever has to choose one."""

from typing import Any

from engine import mixtures
from engine.discriminative import RIM, KernelRIM
from engine.mixtures import GMC, TWO_LEVELS
from engine.problems import unknown

SEGMENT_MODELS: dict[str, type] = {**TWO_LEVELS, "gmc-segments": GMC}
MODELS: dict[str, type] = {**mixtures.MODELS, "rim": RIM, "krim": KernelRIM, **SEGMENT_MODELS}
SEGMENT_WIDTH = 1.0  # of segment clusters where nobody says

ABOUT: dict[str, str] = {
    "gmc": "Which kinds of images are there, and how much of each does every dive have? For most surveys.",
    "sgmc": "The same, with all kinds expected to be equally common in a dive.",
    "vdp": "Which kinds of images are there, whatever dive they are from?",
    "bgmm": "The same, with all kinds expected to be equally common.",
    "rim": "Where do the images part most clearly, along straight borders?",
    "krim": "Where do they part most clearly, along borders of any shape?",
    "mcm": "Which kinds of scenes are there, and what objects make them up? By whole images and their segments.",
    "scm": "The same by the segments alone: scenes that show the same objects in the same shares.",
    "gmc-segments": "Which kinds of objects are there? Clusters segments only; every image has its own shares of them.",
}


def model_named(word: str) -> type:
    """The estimator of a CLI name."""
    if word not in MODELS:
        raise unknown("model", word, MODELS)
    return MODELS[word]


def looks_at_segments(word: str) -> bool:
    return word in SEGMENT_MODELS


def with_width(word: str, width: float, parameters: dict[str, Any]) -> dict[str, Any]:
    """The parameters with the width of clusters, for models that have one."""
    return {"width": width, **parameters} if "width" in model_named(word)().get_params() else parameters


def with_widths(word: str, of_images: float, of_segments: float | None, parameters: dict[str, Any]) -> dict[str, Any]:
    """The same for models that look at segments; None leaves the width of segment clusters as the model has it."""
    known = model_named(word)().get_params()
    widths = {"width": SEGMENT_WIDTH if of_segments is None else of_segments}
    if "image_width" in known:
        widths["image_width"] = of_images
    return widths | parameters
