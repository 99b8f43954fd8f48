"""Descriptors of images and of their segments. They map arrays to arrays; files, workspaces and threads are handled
elsewhere."""

from typing import TYPE_CHECKING

from benthoscope.engine.lazy_names import lazy_names

if TYPE_CHECKING:
    from benthoscope.engine.features.colour_segments import ColourSegments
    from benthoscope.engine.features.colour_texture import ColourTexture, MeanColour
    from benthoscope.engine.features.compression import LinearProjection, PrincipalAxes, RandomProjection
    from benthoscope.engine.features.descriptor import Descriptor, Projected, Segments
    from benthoscope.engine.features.masks import pack_mask, point_labels, segment_labels, unpack_mask
    from benthoscope.engine.features.networks.deep_descriptor import (
        EfficientNetEightBits,
        EfficientNetLite,
        EfficientNetViews,
        OnnxDescriptor,
    )
    from benthoscope.engine.features.networks.onnx_network import Normalisation
    from benthoscope.engine.features.patches import DeepPatches, HogPatches, SiftPatches
    from benthoscope.engine.features.pyramid_kernel import PyramidKernelAxes
    from benthoscope.engine.features.registry import DESCRIPTORS, Choices, available, descriptor_named, user_cache
    from benthoscope.engine.features.scspm import ScSPM
    from benthoscope.engine.features.segments import IcaSegments
    from benthoscope.engine.features.storage import described, load, save
    from benthoscope.engine.features.topic_weights import TopicWeights
    from benthoscope.engine.features.water import WaterModel, learn_water, side_by_side

__all__ = [
    "DESCRIPTORS",
    "Choices",
    "ColourSegments",
    "ColourTexture",
    "DeepPatches",
    "Descriptor",
    "EfficientNetEightBits",
    "EfficientNetLite",
    "EfficientNetViews",
    "HogPatches",
    "IcaSegments",
    "LinearProjection",
    "MeanColour",
    "Normalisation",
    "OnnxDescriptor",
    "PrincipalAxes",
    "Projected",
    "PyramidKernelAxes",
    "RandomProjection",
    "ScSPM",
    "Segments",
    "SiftPatches",
    "TopicWeights",
    "WaterModel",
    "available",
    "described",
    "descriptor_named",
    "learn_water",
    "load",
    "pack_mask",
    "point_labels",
    "save",
    "segment_labels",
    "side_by_side",
    "unpack_mask",
    "user_cache",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "DESCRIPTORS": "benthoscope.engine.features.registry",
        "Choices": "benthoscope.engine.features.registry",
        "ColourSegments": "benthoscope.engine.features.colour_segments",
        "ColourTexture": "benthoscope.engine.features.colour_texture",
        "DeepPatches": "benthoscope.engine.features.patches",
        "Descriptor": "benthoscope.engine.features.descriptor",
        "EfficientNetEightBits": "benthoscope.engine.features.networks.deep_descriptor",
        "EfficientNetLite": "benthoscope.engine.features.networks.deep_descriptor",
        "EfficientNetViews": "benthoscope.engine.features.networks.deep_descriptor",
        "HogPatches": "benthoscope.engine.features.patches",
        "IcaSegments": "benthoscope.engine.features.segments",
        "LinearProjection": "benthoscope.engine.features.compression",
        "MeanColour": "benthoscope.engine.features.colour_texture",
        "Normalisation": "benthoscope.engine.features.networks.onnx_network",
        "OnnxDescriptor": "benthoscope.engine.features.networks.deep_descriptor",
        "PrincipalAxes": "benthoscope.engine.features.compression",
        "Projected": "benthoscope.engine.features.descriptor",
        "PyramidKernelAxes": "benthoscope.engine.features.pyramid_kernel",
        "RandomProjection": "benthoscope.engine.features.compression",
        "ScSPM": "benthoscope.engine.features.scspm",
        "Segments": "benthoscope.engine.features.descriptor",
        "SiftPatches": "benthoscope.engine.features.patches",
        "TopicWeights": "benthoscope.engine.features.topic_weights",
        "WaterModel": "benthoscope.engine.features.water",
        "available": "benthoscope.engine.features.registry",
        "described": "benthoscope.engine.features.storage",
        "descriptor_named": "benthoscope.engine.features.registry",
        "learn_water": "benthoscope.engine.features.water",
        "load": "benthoscope.engine.features.storage",
        "pack_mask": "benthoscope.engine.features.masks",
        "point_labels": "benthoscope.engine.features.masks",
        "save": "benthoscope.engine.features.storage",
        "segment_labels": "benthoscope.engine.features.masks",
        "side_by_side": "benthoscope.engine.features.water",
        "unpack_mask": "benthoscope.engine.features.masks",
        "user_cache": "benthoscope.engine.features.registry",
    },
)
