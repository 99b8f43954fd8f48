"""Labels as plain lists: one text file per class, with one line per image."""

import re
from collections.abc import Iterator, Sequence

from benthoscope.engine.exchange.labels.export_model import ExportFile, ExportImage, Loss, Outgoing, Written, losses
from benthoscope.engine.exchange.labels.records import LabelReading, LabelRecord
from benthoscope.engine.exchange.parsing.csv_output import file_name, unlike
from benthoscope.engine.exchange.parsing.tables import decoded
from benthoscope.engine.exchange.records import Complaints
from benthoscope.engine.problems import fail
from benthoscope.engine.term_path import joined, parted

LABEL, VOCABULARY = "# label: ", "# vocabulary: "
ESCAPES = {"\\": "\\\\", "\n": "\\n", "\r": "\\r"}
MEANT = {"\\": "\\", "n": "\n", "r": "\r", "#": "#"}


def write_image_lists(outgoing: Outgoing) -> Written:
    """Write the lists. Each file begins with the class and its vocabulary as comments; the lines are paths as in the
    catalogue."""
    of_term: dict[int, list[ExportImage]] = {}
    for picture in outgoing.labelled:
        of_term.setdefault(picture.given_label.term.id, []).append(picture)
    terms = [(*outgoing.used_terms[number], number) for number in outgoing.used_terms if number in of_term]
    names = unlike(file_name(*term.path) for _, term, _ in terms)
    files = [
        ExportFile(f"{name}.txt", _lines(joined(term.path), vocabulary, of_term[number]))
        for name, (vocabulary, term, number) in zip(names, terms, strict=True)
    ]
    paths = [picture.image.path for picture in outgoing.pictures]
    twice = Loss(
        "images whose path occurs more than once",
        len(paths) - len(set(paths)),
        "a list does not contain the root folder; on import you have to choose it",
    )
    return Written(
        tuple(files),
        len(outgoing.labelled),
        losses(outgoing, {"whole", "paths", "vocabulary"}, "a list contains names only", special=[twice]),
    )


def is_image_list(data: bytes) -> bool:
    return data.removeprefix(b"\xef\xbb\xbf").startswith(LABEL.encode())


def read_image_list(data: bytes, *, source: str) -> LabelReading:
    complaints = Complaints(source)
    lines = decoded(data, source, complaints)[0].removesuffix("\n").split("\n")
    path, vocabulary = _head(lines, source)
    images = [unescaped(line.removesuffix("\r")) for line in lines if line.strip("\r") and not line.startswith("#")]
    return LabelReading(
        tuple(LabelRecord(image, path, vocabulary=vocabulary) for image in images), complaints.problems()
    )


def escaped(path: str) -> str:
    """Return the path on one line that does not look like a comment."""
    text = "".join(ESCAPES.get(letter, letter) for letter in path)
    return f"\\{text}" if text.startswith("#") else text


def unescaped(line: str) -> str:
    return re.sub(r"\\([\\nr#])", lambda match: MEANT[match[1]], line)


def _lines(label: str, vocabulary: str, pictures: Sequence[ExportImage]) -> Iterator[bytes]:
    yield f"{LABEL}{escaped(label)}\n{VOCABULARY}{escaped(vocabulary)}\n".encode()
    for picture in pictures:
        yield f"{escaped(picture.image.path)}\n".encode("utf-8", "backslashreplace")


def _head(lines: Sequence[str], source: str) -> tuple[tuple[str, ...], str | None]:
    if not lines[0].startswith(LABEL):
        raise fail(source, "does not begin with its label", f"write '{LABEL}Biota > Sponges' in the first line")
    second = lines[1].removesuffix("\r") if len(lines) > 1 else ""
    vocabulary = unescaped(second.removeprefix(VOCABULARY)) if second.startswith(VOCABULARY) else None
    return parted(unescaped(lines[0].removeprefix(LABEL).removesuffix("\r"))), vocabulary
