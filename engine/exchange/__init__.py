"""Import and export of metadata, labels, navigation and crowd answers in external formats."""

from benthoscope.engine.exchange.image_import.folder_scan import Survey, survey
from benthoscope.engine.exchange.image_import.import_plan import ImportOptions, ImportPlan, make_plan
from benthoscope.engine.exchange.image_import.sources import Source, read_source
from benthoscope.engine.exchange.metadata.ifdo import read_ifdo
from benthoscope.engine.exchange.metadata.tables import read_biigle, read_spreadsheet, read_track
from benthoscope.engine.exchange.records import ImageRecord, Reading

__all__ = [
    "ImageRecord",
    "ImportOptions",
    "ImportPlan",
    "Reading",
    "Source",
    "Survey",
    "make_plan",
    "read_biigle",
    "read_ifdo",
    "read_source",
    "read_spreadsheet",
    "read_track",
    "survey",
]
