"""Descriptors of images and of their segments: arrays in, arrays out; files, workspace and threads are elsewhere."""

from engine.features.compression import PrincipalAxes, Projection, RandomProjection
from engine.features.deep import EfficientNetLite, OnnxDescriptor
from engine.features.descriptor import Descriptor, Segments
from engine.features.masks import pack_mask, point_labels, segment_labels, unpack_mask
from engine.features.onnx_network import Normalisation
from engine.features.projected import Projected
from engine.features.registry import DESCRIPTORS, Choices, available, descriptor_named, user_cache
from engine.features.scspm import ScSPM
from engine.features.segments import IcaSegments
from engine.features.stored import described, load, save
from engine.features.summary import ColourTexture, MeanColour
from engine.features.water import WaterModel, learn_water, side_by_side

__all__ = [
    "DESCRIPTORS", "Choices", "ColourTexture", "Descriptor", "EfficientNetLite", "IcaSegments", "MeanColour",
    "Normalisation", "OnnxDescriptor", "PrincipalAxes", "Projected", "Projection", "RandomProjection", "ScSPM",
    "Segments", "WaterModel", "available", "described", "descriptor_named", "learn_water", "load", "pack_mask",
    "point_labels", "save", "segment_labels", "side_by_side", "unpack_mask", "user_cache",
]
