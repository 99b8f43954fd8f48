"""Labels as plain lists: a text file for every class, a line for every image in it."""

import re
from collections.abc import Iterator, Sequence

from engine.exchange.cells import joined, parted
from engine.exchange.file_names import file_name, unlike
from engine.exchange.label_records import LabelReading, LabelRecord
from engine.exchange.outgoing import ExportFile, Loss, Outgoing, Picture, Written, losses
from engine.exchange.records import Complaints
from engine.exchange.tables import decoded
from engine.problems import fail

LABEL, VOCABULARY = "# label: ", "# vocabulary: "
ESCAPES = {"\\": "\\\\", "\n": "\\n", "\r": "\\r"}
MEANT = {"\\": "\\", "n": "\n", "r": "\r", "#": "#"}


def write_image_lists(outgoing: Outgoing) -> Written:
    """Each file begins with the class and its vocabulary as comments; the lines are paths as the catalogue has them."""
    of_term: dict[int, list[Picture]] = {}
    for picture in outgoing.labelled:
        of_term.setdefault(picture.said.term.id, []).append(picture)
    terms = [(*outgoing.used_terms[number], number) for number in outgoing.used_terms if number in of_term]
    names = unlike(file_name(*term.path) for _, term, _ in terms)
    files = [ExportFile(f"{name}.txt", _lines(joined(term.path), vocabulary, of_term[number]))
             for name, (vocabulary, term, number) in zip(names, terms, strict=True)]
    paths = [picture.image.path for picture in outgoing.pictures]
    twice = Loss("images of which another has the same path", len(paths) - len(set(paths)),
                 "a list has no column for the folder they are registered under; importing it asks which is meant")
    return Written(tuple(files), len(outgoing.labelled),
                   losses(outgoing, {"whole", "paths", "vocabulary"}, "a list has nothing but names", special=[twice]))


def is_image_list(data: bytes) -> bool:
    return data.removeprefix(b"\xef\xbb\xbf").startswith(LABEL.encode())


def read_image_list(data: bytes, *, source: str) -> LabelReading:
    complaints = Complaints(source)
    lines = decoded(data, source, complaints)[0].removesuffix("\n").split("\n")
    path, vocabulary = _head(lines, source)
    images = [unescaped(line.removesuffix("\r")) for line in lines if line.strip("\r") and not line.startswith("#")]
    return LabelReading(tuple(LabelRecord(image, path, vocabulary=vocabulary) for image in images),
                        complaints.problems())


def escaped(path: str) -> str:
    """A path on one line that does not look like a comment."""
    text = "".join(ESCAPES.get(letter, letter) for letter in path)
    return f"\\{text}" if text.startswith("#") else text


def unescaped(line: str) -> str:
    return re.sub(r"\\([\\nr#])", lambda match: MEANT[match[1]], line)


def _lines(label: str, vocabulary: str, pictures: Sequence[Picture]) -> Iterator[bytes]:
    yield f"{LABEL}{escaped(label)}\n{VOCABULARY}{escaped(vocabulary)}\n".encode()
    for picture in pictures:
        yield f"{escaped(picture.image.path)}\n".encode("utf-8", "backslashreplace")


def _head(lines: Sequence[str], source: str) -> tuple[tuple[str, ...], str | None]:
    if not lines[0].startswith(LABEL):
        raise fail(source, "does not begin with its label", f"write '{LABEL}Biota > Sponges' into the first line")
    second = lines[1].removesuffix("\r") if len(lines) > 1 else ""
    vocabulary = unescaped(second.removeprefix(VOCABULARY)) if second.startswith(VOCABULARY) else None
    return parted(unescaped(lines[0].removeprefix(LABEL).removesuffix("\r"))), vocabulary
