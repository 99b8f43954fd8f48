"""FathomNet's images with their boxes: JSON from its database, and the CSV for uploads."""

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

from benthoscope.engine.exchange.labels.export_model import DUBIOUS, VERIFIED
from benthoscope.engine.exchange.labels.records import LabelReading, LabelRecord, complete, moment_in, number_in, worded
from benthoscope.engine.exchange.metadata.columns import plain
from benthoscope.engine.exchange.parsing import values
from benthoscope.engine.exchange.parsing.csv_output import named_rows, unguarded
from benthoscope.engine.exchange.parsing.tables import Table
from benthoscope.engine.exchange.parsing.values import moment
from benthoscope.engine.exchange.records import Complaints, ImageRecord, Reading

BOX = ("x", "y", "width", "height")
CONCEPTS = ("concept", "class", "name", "label")
IMAGES = ("image", "url", "filename", "file_name")
KEPT = {
    "temperatureCelsius": "sea_water_temperature",
    "salinity": "sea_water_salinity",
    "oxygenMlL": "oxygen_ml_l",
    "pressureDbar": "pressure_dbar",
}
BY_HAND = "FathomNet does not record who drew a box: boxes that are not verified are imported as dubious"


def images_in(document: Any) -> list[Mapping[str, Any]]:
    """Return the images of a document: a list of them, a page of results, or a single image. Empty for other
    documents."""
    if isinstance(document, Mapping):
        pages = [document[name] for name in ("content", "images") if isinstance(document.get(name), list)]
        document = pages[0] if pages else [document]
    listed = document if isinstance(document, list) else []
    return [
        entry
        for entry in listed
        if isinstance(entry, Mapping)
        and isinstance(entry.get("url"), str)
        and file_of(entry["url"])
        and isinstance(entry.get("boundingBoxes") or [], list)
    ]


def is_fathomnet(document: Any) -> bool:
    images = images_in(document)
    return bool(images) and any("boundingBoxes" in entry or "depthMeters" in entry for entry in images)


def read_fathomnet_images(document: Any, *, source: str) -> Reading:
    """Read time, position and depth of each image; its boxes stay in the file."""
    complaints, images = Complaints(source), images_in(document)
    records = tuple(_image_record(entry, f"image {at}", complaints) for at, entry in enumerate(images, 1))
    boxes = sum(len(entry.get("boundingBoxes") or ()) for entry in images)
    losses = (f"{source}: {boxes:,} boxes stay in the file; `import-labels` reads them",) if boxes else ()
    return Reading(records, complaints.problems(), losses)


def read_fathomnet(document: Any, *, source: str) -> LabelReading:
    """Read the boxes as labelled parts. A verified box is a person's label; others are imported as dubious."""
    complaints, records, rejected = Complaints(source), [], 0
    for at, image in enumerate(images_in(document), 1):
        for number, box in enumerate(image.get("boundingBoxes") or (), 1):
            location = f"image {at} box {number}"
            if not isinstance(box, Mapping):
                complaints.add(location, "is not a box", "download the file again", "invalid boxes")
            elif box.get("rejected") is True:
                rejected += 1
            elif record := _box_record(image, box, location, complaints):
                records.append(record)
    losses = [f"{source}: {rejected:,} boxes that a reviewer rejected"] if rejected else []
    losses += [f"{source}: {BY_HAND}"] if any(record.status == DUBIOUS for record in records) else []
    return LabelReading(tuple(records), complaints.problems(), tuple(losses))


def is_boxes(table: Table) -> bool:
    """Return whether each row of a table has a box, a class and an image."""
    names = {plain(name) for name in table.header}
    return names >= set(BOX) and _named(names, CONCEPTS) is not None and _named(names, IMAGES) is not None


def read_boxes(table: Table, *, source: str) -> LabelReading:
    """Read the boxes of a table in FathomNet's upload format; pixels from the top left."""
    complaints, records = Complaints(source), []
    columns = {plain(name): name.lower() for name in reversed(table.header)}
    concept, image = columns[_named(columns, CONCEPTS) or ""], columns[_named(columns, IMAGES) or ""]
    for line, row in named_rows(table):
        box = _box({name: row.get(columns[name]) for name in BOX}, f"line {line}", complaints)
        name, label = file_of(unguarded(row.get(image, ""))), unguarded(row.get(concept, "")).strip()
        if not name or not label:
            complaints.add(f"line {line}", "has no image or no class", "fill them in", "ignored rows")
        elif box:
            records.append(
                LabelRecord(name, (label,), who=worded(row.get(columns.get("observer", ""))), shape="box", numbers=box)
            )
    return LabelReading(tuple(records), (*table.problems, *complaints.problems()))


def file_of(address: str) -> str:
    """Return the file name at the end of a URL; paths stay unchanged. "" without a name."""
    try:
        address_parts = urlsplit(address.strip())
    except ValueError:  # such as http://[
        return ""
    return (
        PurePosixPath(unquote(address_parts.path)).name
        if address_parts.scheme in ("http", "https")
        else address.strip()
    )


def _image_record(image: Mapping[str, Any], location: str, complaints: Complaints) -> ImageRecord:
    def read(name: str, reader: Any) -> Any:
        try:
            return reader(image.get(name))
        except ValueError as error:
            complaints.add(location, f"{name}: {error}", "correct it in the file", f"invalid {name}")
            return None

    details = {field: value for name, field in KEPT.items() if (value := read(name, values.number)) is not None}
    position = read("latitude", values.latitude), read("longitude", values.longitude)
    latitude, longitude = position if None not in position else (None, None)
    return ImageRecord(
        file_of(image["url"]),
        taken_at=read("timestamp", moment),
        latitude=latitude,
        longitude=longitude,
        depth=read("depthMeters", values.depth),
        altitude=read("altitude", values.altitude),
        sha256=_hash(image),
        details=details,
    )


def _box_record(
    image: Mapping[str, Any], box: Mapping[str, Any], location: str, complaints: Complaints
) -> LabelRecord | None:
    numbers = _box(box, location, complaints)
    names = [str(box[name]).strip() for name in ("concept", "altConcept") if isinstance(box.get(name), str)]
    if not names or not names[0]:
        complaints.add(location, "has no concept", "remove the box or add a concept", "invalid boxes")
        return None
    if not numbers:
        return None
    verified = box.get("verified") is True or str(box.get("reviewState") or "").upper() in ("VERIFIED", "ACCEPTED")
    when = next(
        (box[name] for name in ("verificationTimestamp", "lastReviewedTimestamp", "createdTimestamp") if box.get(name)),
        None,
    )
    person = next((str(box[name]) for name in ("verifier", "reviewer", "observer") if box.get(name)), None)
    return LabelRecord(
        file_of(image["url"]),
        (names[0],),
        sha256=_hash(image),
        who=person,
        at=moment_in(when, location, complaints),
        status=VERIFIED if verified else DUBIOUS,
        shape="box",
        numbers=numbers,
    )


def _box(box: Mapping[str, Any], location: str, complaints: Complaints) -> tuple[float, ...]:
    numbers = complete(number_in(box.get(name), location, complaints) for name in BOX)
    if not numbers or min(numbers[2:]) <= 0:
        complaints.add(location, "needs x, y, width and height greater than 0", "correct the box", "invalid boxes")
        return ()
    return numbers


def _hash(image: Mapping[str, Any]) -> str | None:
    written = image.get("sha256")
    return written.lower() if isinstance(written, str) and len(written) == 64 else None


def _named(names: Any, candidates: Sequence[str]) -> str | None:
    return next((name for name in candidates if name in names), None)
