"""The data of a workspace on disk: catalogue, feature sets, thumbnails, runs and the label log."""

from benthoscope.engine.workspace.records import Collection, Group, GroupSummary, Image, KnownFile, NewImage, Root
from benthoscope.engine.workspace.runs import NewCluster, NewRun, Run
from benthoscope.engine.workspace.workspace import Workspace

__all__ = [
    "Collection",
    "Group",
    "GroupSummary",
    "Image",
    "KnownFile",
    "NewCluster",
    "NewImage",
    "NewRun",
    "Root",
    "Run",
    "Workspace",
]
