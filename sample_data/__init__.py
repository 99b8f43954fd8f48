"""Synthetic campaigns and albums whose truth is known, and the small ones that come with the program."""

from sample_data.survey import make_campaign
from sample_data.truth import ImageTruth, PointLabel, Truth, read_truth
from sample_data.writing import FolderInUse

__all__ = ["FolderInUse", "ImageTruth", "PointLabel", "Truth", "make_campaign", "read_truth"]
