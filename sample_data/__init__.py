"""Synthetic campaigns and albums with known truth, and the small samples that are part of the program."""

from benthoscope.sample_data.photographs.photo_albums import make_albums
from benthoscope.sample_data.shipped import albums_path, campaign_path
from benthoscope.sample_data.survey import make_campaign
from benthoscope.sample_data.truth import ImageTruth, PointLabel, Truth, read_truth
from benthoscope.sample_data.writing import FolderInUse, UnusableSettings

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
