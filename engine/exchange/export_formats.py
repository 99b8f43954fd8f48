"""The formats labels leave in."""

from collections.abc import Callable
from dataclasses import dataclass

from engine.exchange.biigle_labels import write_biigle
from engine.exchange.coco import write_coco
from engine.exchange.darwin_core import write_darwin_core
from engine.exchange.ifdo_labels import write_ifdo
from engine.exchange.image_lists import write_image_lists
from engine.exchange.imos_labels import write_tracks
from engine.exchange.label_table import write_label_table
from engine.exchange.outgoing import Outgoing, Written
from engine.exchange.squidle import write_squidle
from engine.problems import unknown


@dataclass(frozen=True)
class Format:
    """`title` says in a line what it is good for."""

    name: str
    title: str
    write: Callable[[Outgoing], Written]
    wants_tracks: bool = False


FORMATS = {one.name: one for one in (
    Format("csv", "table with a row for every image: all that can be told of a label", write_label_table),
    Format("ifdo", "iFDO 2.1 files, one for each dive: images, metadata and labels for archives", write_ifdo),
    Format("squidle", "Squidle+ annotations", write_squidle),
    Format("biigle", "BIIGLE image labels, annotations and label trees", write_biigle),
    Format("imos", "IMOS AUV tracks with their column `label` filled", write_tracks, wants_tracks=True),
    Format("darwin-core", "Darwin Core occurrences for OBIS and GBIF: organisms only", write_darwin_core),
    Format("coco", "COCO boxes, outlines and masks for training detectors", write_coco),
    Format("lists", "a text file of image paths for each class", write_image_lists),
)}


def format_named(name: str) -> Format:
    if name not in FORMATS:
        raise unknown("formats", name, FORMATS)
    return FORMATS[name]
