"""The topic of each pixel of the images of a run, and how well these topics agree with known masks."""

import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from benthoscope.engine.analysis import SegmentationScores, segmentation_scores
from benthoscope.engine.features.masks import MaskFile
from benthoscope.engine.problems import fail
from benthoscope.engine.workspace import Run, Workspace

MASK_MODES = ("L", "P", "I", "I;16", "1")  # modes of Pillow in which a pixel is one number


@dataclass(frozen=True)
class TopicMap:
    image_id: int
    path: str  # of the image, within its root folder
    topics: np.ndarray  # (H, W) int32, at the size at which the image was divided; -1 without a topic


def topic_maps(workspace: Workspace, run: Run) -> Iterator[TopicMap]:
    """Yield the map of each image of a run of segments, by image id. Removed images are left out."""
    if run.features not in workspace.features:
        raise fail(f"features {run.features}", "were removed", "compute them again, and segment the images again")
    features = workspace.features.open(run.features)
    masks, labels = MaskFile(features.folder), np.asarray(run.array("segment_labels"))
    columns = workspace.library.columns("id", "path")
    paths = dict(zip(columns["id"].tolist(), columns["path"].tolist(), strict=True))
    ids, offsets = np.asarray(features.image_ids), np.asarray(features.offsets)
    for position in np.argsort(ids, kind="stable").tolist():
        image_id, first, end = int(ids[position]), offsets[position], offsets[position + 1]
        topics = labels[first:end]
        if image_id in paths and image_id in masks and len(topics) == end - first and (topics >= 0).any():
            yield TopicMap(image_id, paths[image_id], topics[masks[image_id]])


def compare_with_masks(workspace: Workspace, run: Run, known: Path) -> SegmentationScores:
    """Return how well the topics of a run agree with known masks: a folder of PNG files, or an .npz file.

    A mask has the number of the class of each pixel, 0 for unknown. It is named like the image: its path within the
    folder of images, with the ending .png in a folder, and with any ending or none in an .npz file.
    """
    mask_of = _archive(known) if known.suffix == ".npz" else _folder(known)
    pairs = ((each.topics, mask) for each in topic_maps(workspace, run) if (mask := mask_of(each.path)) is not None)
    return segmentation_scores(pairs, np.asarray(run.array("image_weights")).shape[1])


def _folder(known: Path) -> Callable[[str], np.ndarray | None]:
    if not known.is_dir():
        raise fail(str(known), "is neither a folder nor an .npz file", "give the folder with the masks")

    def mask_of(image: str) -> np.ndarray | None:
        path = (known / image).with_suffix(".png")
        return _read_mask(path) if path.is_file() else None

    return mask_of


def _read_mask(path: Path) -> np.ndarray:
    try:
        with Image.open(path, formats=["PNG"]) as image:
            if image.mode not in MASK_MODES:
                raise fail(str(path), "is a colour image", "store the number of the class of each pixel")
            return np.asarray(image).astype(np.int64)
    except (OSError, SyntaxError, Image.DecompressionBombError) as error:
        raise fail(str(path), f"is not a readable mask ({error})", "store it as PNG again, or remove it") from error


def _archive(known: Path) -> Callable[[str], np.ndarray | None]:
    try:
        with np.load(known, allow_pickle=False) as masks:
            names = {str(Path(name).with_suffix("")): name for name in masks.files}
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise fail(str(known), f"is not a readable .npz file ({error})", "give another file") from error

    def mask_of(image: str) -> np.ndarray | None:
        name = names.get(str(Path(image).with_suffix("")))
        if name is None:
            return None
        try:
            with np.load(known, allow_pickle=False) as masks:
                mask = masks[name]
        except (OSError, ValueError, zipfile.BadZipFile) as error:
            raise fail(f"{known} {name}", f"is not readable ({error})", "give another file") from error
        if mask.ndim != 2 or mask.dtype.kind not in "iub":
            raise fail(f"{known} {name}", "is not an array of whole numbers (height, width)", "store class numbers")
        return mask.astype(np.int64)

    return mask_of
