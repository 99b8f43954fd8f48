"""What a campaign is on disk: a catalogue, feature sets, thumbnails, runs and the label log."""

from engine.workspace.records import Collection, Group, GroupSummary, Image, KnownFile, NewImage, Root
from engine.workspace.runs import NewCluster, NewRun, Run
from engine.workspace.workspace import Workspace

__all__ = [
    "Collection", "Group", "GroupSummary", "Image", "KnownFile", "NewCluster", "NewImage", "NewRun", "Root", "Run",
    "Workspace",
]
