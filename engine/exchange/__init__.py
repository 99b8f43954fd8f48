"""Between files from outside and the workspace: what metadata say of images, and what an import would do with them."""

from engine.exchange.biigle import read_biigle
from engine.exchange.ifdo import read_ifdo
from engine.exchange.imos import read_track
from engine.exchange.plan import Plan, Wishes, make_plan
from engine.exchange.records import ImageRecord, Reading
from engine.exchange.sources import Source, read_source
from engine.exchange.spreadsheet import read_spreadsheet
from engine.exchange.survey import Survey, survey

__all__ = [
    "ImageRecord", "Plan", "Reading", "Source", "Survey", "Wishes", "make_plan", "read_biigle", "read_ifdo",
    "read_source", "read_spreadsheet", "read_track", "survey",
]
