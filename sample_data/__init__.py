"""Synthetic campaigns and albums whose truth is known, and the small ones that come with the program."""

from sample_data.photo_albums import make_albums
from sample_data.shipped import albums_path, campaign_path
from sample_data.survey import make_campaign
from sample_data.truth import ImageTruth, PointLabel, Truth, read_truth
from sample_data.writing import FolderInUse, UnusableSettings

__all__ = [
    "FolderInUse",
    "ImageTruth",
    "PointLabel",
    "Truth",
    "UnusableSettings",
    "albums_path",
    "campaign_path",
    "make_albums",
    "make_campaign",
    "read_truth",
]
