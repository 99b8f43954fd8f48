"""Exported labels are imported unchanged, apart from the reported losses."""

import dataclasses
from collections import Counter

import pytest

from benthoscope.engine.exchange.labels.darwin_core import taxon
from tests.unit.exchange.outgoing_reef import everything, exported, imported, labelled, made

# Values of a label that each format restores, besides image and class; `places` are the decimals of a second.
KEPT = {
    "csv": ("vocabulary", "who", "at", "why", "status", "confidence"),
    "ifdo": ("vocabulary", "who", "at", "why", "status", "confidence"),
    "squidle": ("who", "at", "why", "status", "confidence"),
    "biigle": ("who",),
    "imos": ("vocabulary",),
    "darwin-core": ("vocabulary", "who", "at", "why", "status", "confidence"),
    "lists": ("vocabulary",),
}
PARTS = {  # shapes that are restored unchanged; the report lists the others
    "csv": {"point", "box", "outline", "circle", "line"},
    "ifdo": {"point", "box", "outline", "circle", "line"},
    "squidle": {"point", "outline"},
    "biigle": {"point", "box", "outline", "circle", "line"},
    "coco": {"box", "outline"},
}


@pytest.fixture
def reef(tmp_path):
    with made(tmp_path) as workspace:
        yield labelled(workspace)


@pytest.fixture
def copy(tmp_path):
    (tmp_path / "copy").mkdir()
    with made(tmp_path / "copy") as workspace:
        yield workspace


def label_facts(said, kept):
    facts = dataclasses.asdict(said)
    return (said.term.path, *(round(facts[name], 3) if name == "at" else facts[name] for name in kept))


def labels(workspace, remaining, expected=lambda answers: True):
    return {
        picture.image.path: label_facts(picture.label, remaining)
        for picture in everything(workspace).labelled
        if expected(picture.label)
    }


def annotation_counts(workspace, shapes):
    return Counter(
        (picture.image.path, part.shape, part.label.term.path, tuple(round(n, 5) for n in part.numbers))
        for picture in everything(workspace).pictures
        for part in picture.annotations
        if part.shape in shapes
    )


def carried(reef, copy, folder, name):
    """Exports, and imports all files into the copy; what the export told."""
    report = exported(reef, folder, name)
    files = sorted(folder / file for file in report["files"])
    trees = [path for path in files if path.suffix == ".zip"]
    imported(
        copy,
        [*trees, *(path for path in files if path not in trees)],
        add_terms=True,
        vocabulary=None if name in ("csv", "ifdo", "imos", "lists", "darwin-core", "coco") else "CATAMI",
    )
    return report


@pytest.mark.parametrize("name", KEPT)
def test_labels_survive_a_round_trip(reef, copy, tmp_path, name):
    if name == "biigle":  # file names are all it has, and both dives have the same: one dive at a time
        reef.library.forget_images(reef.library.columns("id", group_id=2)["id"])
    expected_term = (lambda answers: taxon(answers.term)) if name == "darwin-core" else (lambda answers: True)
    report = carried(reef, copy, tmp_path / "out", name) if name != "biigle" else _one_dive(reef, copy, tmp_path)
    expected = labels(reef, KEPT[name], expected_term)
    assert expected
    assert labels(copy, KEPT[name]) == expected
    count = len(everything(reef).labelled)
    lost = sum(loss["count"] for loss in report["losses"] if loss["what"] == "labels of classes without a taxon")
    assert len(expected) == count - lost


def _one_dive(reef, copy, tmp_path):
    copy.library.forget_images(copy.library.columns("id", group_id=2)["id"])
    return carried(reef, copy, tmp_path / "out", "biigle")


@pytest.mark.parametrize("name", PARTS)
def test_labels_of_parts_survive_a_round_trip(reef, copy, tmp_path, name):
    if name == "biigle":
        reef.library.forget_images(reef.library.columns("id", group_id=2)["id"])
        copy.library.forget_images(copy.library.columns("id", group_id=2)["id"])
    carried(reef, copy, tmp_path / "out", name)
    expected = annotation_counts(reef, PARTS[name])
    assert expected
    assert annotation_counts(copy, PARTS[name]) & expected == expected


@pytest.mark.parametrize("name", [*KEPT, "coco"])
def test_importing_the_same_files_again_adds_nothing(reef, copy, tmp_path, name):
    if name == "biigle":
        for workspace in (reef, copy):
            workspace.library.forget_images(workspace.library.columns("id", group_id=2)["id"])
    report = carried(reef, copy, tmp_path / "out", name)
    before = copy.labels.last_number()
    again = imported(copy, sorted((tmp_path / "out") / file for file in report["files"]))
    assert (again["labels"], again["parts"], copy.labels.last_number()) == (0, 0, before)


def test_images_are_found_by_content_when_they_were_renamed(reef, copy, tmp_path):
    report = exported(reef, tmp_path / "out", "csv")
    [root] = copy.library.roots()
    ids = copy.library.columns("id")["id"]
    copy.library.move_root(root.id, tmp_path / "copy" / "files", {int(number): f"new{number}.png" for number in ids})
    imported(copy, [tmp_path / "out" / file for file in report["files"]], add_terms=True)
    assert sorted(labels(copy, ()).values()) == sorted(labels(reef, ()).values())


def test_labels_as_of_an_earlier_event_are_those_effective_then(reef, copy, tmp_path):
    exported(reef, tmp_path / "out", "csv", until=1)
    imported(copy, [tmp_path / "out" / "labels.csv"], add_terms=True)
    expected = {picture.image.path: label_facts(picture.label, ()) for picture in everything(reef, until=1).labelled}
    assert len(expected) == 6
    assert labels(copy, ()) == expected
