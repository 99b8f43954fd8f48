"""Memories: labels of one campaign are stored in a file and used for suggestions in the next campaign."""

import json
import shutil
import zipfile
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from fastapi.testclient import TestClient
from PIL import Image
from typer.testing import CliRunner

from benthoscope.app.cli import app
from benthoscope.app.pages.learn.content import content
from benthoscope.app.pages.learn.model import Learn
from benthoscope.app.server.application import ServerSettings, create_app
from benthoscope.app.session.app_state import AppState
from benthoscope.app.session.session import Session
from benthoscope.engine.jobs import run_now
from benthoscope.engine.labelling.accuracy.stream import answered_stream, draw_for_page
from benthoscope.engine.labelling.memory.memory_file import LabelMemory, read_facts, read_memory, write_memory
from benthoscope.engine.labelling.memory.memory_folder import VARIABLE, existing_memory, memories, memory_path
from benthoscope.engine.labelling.memory.memory_in_use import (
    HALF,
    MemoryUse,
    create_missing_terms,
    memory_weight,
    missing_terms,
    remembered,
    use_memory,
)
from benthoscope.engine.labelling.memory.transfer import misleads, transfer_text
from benthoscope.engine.labelling.suggestions import SuggestionStore
from benthoscope.engine.labelling.training_data import material
from benthoscope.engine.problems import BadInput, BenthoscopeError
from benthoscope.engine.workspace import Workspace
from benthoscope.engine.workspace.labels.vocabularies import NewTerm

KINDS = ("sand", "kelp", "rock")
COLOURS = ((200, 180, 120), (60, 120, 50), (110, 110, 120))
EACH = 8  # images of a kind in a campaign


@dataclass(frozen=True)
class Campaign:
    """A workspace, the ids of its images, and the true kind of each."""

    workspace: Workspace
    ids: np.ndarray
    truth: np.ndarray

    def terms(self) -> dict[str, int]:
        return {term.name: term.id for term in self.workspace.vocabularies.all_terms()}

    def label(self, positions: np.ndarray) -> None:
        """Ann gives these images their true kind one by one."""
        ann, terms = self.workspace.people.named("Ann").id, self.terms()
        for position in positions:
            self.workspace.labels.label(ann, [self.ids[position]], terms[KINDS[self.truth[position]]])


def photograph(kind: int, rng: np.random.Generator) -> np.ndarray:
    """An image of noise around the colour of its kind, with stripes of a width that depends on the kind."""
    stripes = 40 * ((np.arange(48) // (2 + 4 * kind)) % 2)[None, :, None]
    return np.clip(np.array(COLOURS[kind]) + stripes + rng.normal(0, 15, (48, 48, 3)), 0, 255).astype(np.uint8)


def make_campaign(folder: Path, name: str, seed: int, descriptor: str = "colour") -> Path:
    """Make a workspace whose images are described; every campaign learns its own projection."""
    rng, images = np.random.default_rng(seed), folder / f"{name} images" / "dive"
    images.mkdir(parents=True)
    for number in range(EACH * len(KINDS)):
        Image.fromarray(photograph(number % len(KINDS), rng)).save(images / f"{number:03}.png")
    with Workspace.create(folder / name) as workspace:
        assert run_now(workspace, "import", {"folder": str(images.parent)}).state == "done"
        assert run_now(workspace, "features", {"kinds": [descriptor], "dimension": 6}).state == "done"
        workspace.vocabularies.add("own", [NewTerm((kind,)) for kind in KINDS])
        return workspace.folder


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Two campaigns: all images of the first have a label, and are stored as the memory `reef`."""
    folder = tmp_path_factory.mktemp("campaigns")
    first, second = (make_campaign(folder, name, seed) for seed, name in enumerate(("first", "second")))
    with opened(first) as workspace:
        campaign_of(workspace).label(np.arange(EACH * len(KINDS)))
        job = run_now(workspace, "remember", {"name": "reef", "folder": str(folder / "memories")})
        assert job.state == "done", job.error
    return folder, second


def opened(folder: Path) -> Workspace:
    return Workspace.open(folder)


def campaign_of(workspace: Workspace) -> Campaign:
    columns = workspace.library.columns("id", "path")
    numbers = np.array([int(Path(path).stem) for path in columns["path"]])
    return Campaign(workspace, columns["id"], numbers % len(KINDS))


@pytest.fixture
def reef(folders) -> Path:
    """The file of the memory."""
    return memory_path("reef", folders[0] / "memories")


@pytest.fixture
def second(folders, tmp_path, monkeypatch):
    """A copy of the second campaign, which has no labels, and the folder of memories."""
    monkeypatch.setenv(VARIABLE, str(folders[0] / "memories"))
    shutil.copytree(folders[1], tmp_path / folders[1].name)
    with opened(tmp_path / folders[1].name) as workspace:
        yield campaign_of(workspace)


def test_a_memory_says_where_its_labels_come_from(reef):
    facts, memory = read_facts(reef), read_memory(reef)
    assert (facts.name, facts.source, facts.labels, facts.looked_at) == ("reef", "first", 24, 24)
    assert sorted(term.path for term in facts.terms) == [("kelp",), ("rock",), ("sand",)]
    assert facts.reasons == ("manual",) and (memory.trust == 1).all()
    assert sorted(memory.images)[0] == "dive/000.png" and facts.identity["descriptor"] == "colour-texture"


def test_vectors_are_stored_before_the_projection(reef, folders):
    with opened(folders[1]) as workspace:
        projected = workspace.features.open("colour").sidecar.width
    assert read_memory(reef).vectors.shape == (24, read_facts(reef).width) and read_facts(reef).width > 10 * projected


def test_bulk_labels_count_less_in_a_memory(folders, tmp_path):
    with opened(folders[1]) as workspace:
        second = campaign_of(workspace)
        ann = workspace.people.named("Ann").id
        number = workspace.labels.label(ann, second.ids[:16], second.terms()["sand"], why="bulk")
        assert run_now(workspace, "remember", {"name": "bulk", "folder": str(tmp_path)}).state == "done"
        workspace.labels.undo(ann, number)
    memory = read_memory(memory_path("bulk", tmp_path))
    assert memory.facts.looked_at == 0 and memory.facts.reasons == ("bulk",)
    assert memory.trust == pytest.approx(8 / 16)


def test_a_memory_suggests_labels_in_a_campaign_without_labels(second, reef):
    workspace = second.workspace
    use_memory(workspace, reef)
    assert run_now(workspace, "learn").state == "done"
    suggestions = SuggestionStore(workspace.folder).get()
    names = {number: name for name, number in second.terms().items()}
    guesses = [names[term] for term in suggestions.best()[0].tolist()]
    truth = dict(zip(second.ids.tolist(), second.truth.tolist(), strict=True))
    right = [guess == KINDS[truth[image]] for guess, image in zip(guesses, suggestions.image_ids.tolist(), strict=True)]
    assert np.mean(right) > 0.9
    assert suggestions.facts["labels"] == 0 and suggestions.facts["memory"]["labels"] == 24


def test_a_memory_is_never_evidence_for_accuracy(second, reef):
    workspace = second.workspace
    use_memory(workspace, reef)
    run_now(workspace, "learn")
    suggestions = SuggestionStore(workspace.folder).get()
    assert len(suggestions.held_y) == 0 and suggestions.draws_for_sets() == 0
    assert suggestions.facts["accuracy"] is None and len(answered_stream(workspace)) == 0
    second.label(np.arange(12))
    run_now(workspace, "learn")
    suggestions = SuggestionStore(workspace.folder).get()
    held_out = suggestions.image_ids[suggestions.held_places]
    assert set(held_out.tolist()) <= set(second.ids[:12].tolist())


def test_the_weight_of_a_memory_falls_as_own_labels_arrive(second, reef):
    assert memory_weight(0) == 1.0 and memory_weight(HALF) == 0.5
    use_memory(second.workspace, reef)
    data = material(second.workspace)
    early, late = (remembered(second.workspace, data, own, np.random.default_rng(0)) for own in (0, 3 * HALF))
    assert early.weights == pytest.approx(1) and late.weights == pytest.approx(0.25)


def test_terms_match_by_path_and_missing_ones_can_be_created(second, reef, tmp_path):
    workspace, stored = second.workspace, read_memory(reef)
    terms = tuple(
        replace(
            term,
            path=("Kelp",) if term.path == ("kelp",) else ("rock", "boulder") if term.path == ("rock",) else term.path,
        )
        for term in stored.facts.terms
    )
    changed = tmp_path / "changed.memory.zip"
    write_memory(changed, replace(stored, facts=replace(stored.facts, terms=terms)))
    memory = use_memory(workspace, changed)
    assert [term.path for term in missing_terms(workspace, memory.terms)] == [("rock", "boulder")]
    used = remembered(workspace, material(workspace), 0, np.random.default_rng(0))
    assert len(used.terms) == 16 and second.terms()["kelp"] in used.terms  # a capital letter is no difference
    assert create_missing_terms(workspace, memory.terms) == ["rock > boulder"]
    assert not missing_terms(workspace, memory.terms)
    assert len(remembered(workspace, material(workspace), 0, np.random.default_rng(0)).terms) == 24


def test_a_memory_of_another_descriptor_is_refused_in_one_line(second, reef, tmp_path):
    memory = read_memory(reef)
    other = tmp_path / "other.memory.zip"
    write_memory(other, replace(memory, facts=replace(memory.facts, identity={"descriptor": "mean", "version": 1})))
    with pytest.raises(
        BadInput, match="memory reef: was made with the descriptor mean version 1; the feature set colour"
    ):
        use_memory(second.workspace, other)
    assert MemoryUse(second.workspace.folder).get() is None


def test_a_feature_set_with_half_a_descriptor_is_refused_in_one_line(second, reef):
    (second.workspace.features.open("colour").descriptor_folder / "learned.npz").unlink()
    with pytest.raises(BadInput, match="feature set colour: has no stored descriptor"):
        use_memory(second.workspace, reef)


def test_a_memory_stops_when_the_projection_is_computed_anew(second, reef):
    workspace = second.workspace
    use_memory(workspace, reef)
    assert remembered(workspace, material(workspace), 0, np.random.default_rng(0)) is not None
    assert run_now(workspace, "features", {"kinds": ["colour"], "dimension": 6, "again": True}).state == "done"
    assert remembered(workspace, material(workspace), 0, np.random.default_rng(0)) is None
    use_memory(workspace, reef)
    assert remembered(workspace, material(workspace), 0, np.random.default_rng(0)) is not None


def test_a_memory_in_use_does_not_need_its_file(second, reef, tmp_path):
    copied = tmp_path / "copied.memory.zip"
    copied.write_bytes(reef.read_bytes())
    use_memory(second.workspace, copied)
    copied.unlink()
    assert run_now(second.workspace, "learn").state == "done"
    assert MemoryUse(second.workspace.folder).stop() and MemoryUse(second.workspace.folder).get() is None
    assert run_now(second.workspace, "learn").state == "failed"  # nothing is left to learn from


def test_a_damaged_copy_of_a_memory_is_reported_by_the_doctor(second, reef):
    workspace = second.workspace
    use_memory(workspace, reef)
    assert MemoryUse(workspace.folder).problem() is None
    (rows,) = (workspace.folder / "learning").glob("memory.*/rows.npy")
    rows.write_bytes(b"damaged")
    assert MemoryUse(workspace.folder).get() is None
    assert "rows.npy" in MemoryUse(workspace.folder).problem().where
    assert "benthoscope memory use --off" in CliRunner().invoke(app, ["doctor", "-w", str(workspace.folder)]).output
    assert MemoryUse(workspace.folder).stop() and MemoryUse(workspace.folder).problem() is None


@pytest.mark.parametrize("damage", ["cut", "flipped", "no zip", "hostile header", "terms", "future"])
def test_a_damaged_memory_is_reported_in_one_line(reef, tmp_path, damage):
    path, data = tmp_path / "damaged.memory.zip", reef.read_bytes()
    if damage == "cut":
        path.write_bytes(data[: len(data) // 2])
    elif damage == "flipped":
        at = len(data) // 3
        path.write_bytes(data[:at] + bytes([data[at] ^ 255]) + data[at + 1 :])
    elif damage == "no zip":
        path.write_bytes(b"not a zip")
    else:
        rewritten(reef, path, damage)
    with pytest.raises(BadInput) as caught:
        read_memory(path)
    assert str(path) in str(caught.value) and "\n" not in str(caught.value)
    assert ("written in format 2" if damage == "future" else "is damaged or not a memory") in str(caught.value)


def rewritten(source: Path, target: Path, damage: str) -> None:
    """Copy a memory with one entry changed."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "memory.json":
                facts = json.loads(content)
                facts["terms"] = facts["terms"][:1] if damage == "terms" else facts["terms"]
                facts["format"] = 2 if damage == "future" else facts["format"]
                content = json.dumps(facts).encode()
            if name == "vectors.npy" and damage == "hostile header":
                content = content.replace(b"(24, ", b"(9" + b"9" * 3, 1).replace(
                    b"'shape': (9999", b"'shape': (99999999, "
                )[: len(content)]
            new.writestr(name, content)


def test_a_full_disk_leaves_an_earlier_memory_as_it_was(reef, tmp_path):
    path = Path("/dev/full")
    if not path.exists():
        pytest.skip("this system has no /dev/full")
    memory = read_memory(reef)
    with pytest.raises(BadInput, match="cannot be written"):
        write_memory(path, memory)


def test_the_folder_lists_damaged_memories_and_checks_names(reef, tmp_path):
    (tmp_path / "good.memory.zip").write_bytes(reef.read_bytes())
    (tmp_path / "bad.memory.zip").write_bytes(b"")
    bad, good = memories(tmp_path)
    assert good.facts.labels == 24 and not good.problem
    assert bad.facts is None and "is damaged" in bad.problem
    with pytest.raises(BadInput, match="not a usable name"):
        memory_path("../up", tmp_path)
    with pytest.raises(BadInput, match="did you mean 'good'"):
        existing_memory("goood", tmp_path)


def test_large_vectors_survive_half_precision(reef, tmp_path):
    memory = read_memory(reef)
    large = replace(memory, vectors=memory.vectors * 1e6 / np.abs(memory.vectors).max())
    write_memory(tmp_path / "large.memory.zip", large)
    back: LabelMemory = read_memory(tmp_path / "large.memory.zip")
    assert back.facts.scale > 1 and back.vectors == pytest.approx(large.vectors, rel=1e-3, abs=1)


@pytest.mark.parametrize(
    "better, worse, is_bad", [(0, 6, False), (0, 7, True), (7, 0, False), (5, 5, False), (3, 16, True)]
)
def test_a_memory_misleads_when_it_is_clearly_wrong_more_often(better, worse, is_bad):
    assert misleads(better, worse) is is_bad


def test_a_memory_that_fits_seldom_gets_a_warning_however_often_one_looks():
    rng, warned = np.random.default_rng(0), 0
    for _ in range(400):
        worse = np.cumsum(rng.random(60) < 0.5)
        warned += any(misleads(n + 1 - int(w), int(w)) for n, w in enumerate(worse))
    assert warned <= 0.05 * 400 + 9  # two standard errors


def test_the_comparison_says_in_words_what_to_do():
    facts = {"draws": 30, "with_it": 9, "without_it": 21, "misleads": True}
    assert transfer_text(facts, "reef") == (
        'The memory "reef" does not fit this campaign. Of 30 random images of this campaign, suggestions are right for '
        "9 with the memory and for 21 without it. Turn it off."
    )
    assert transfer_text({"draws": None}, "reef") == ""


def benthoscope(second: Campaign, *words: str) -> str:
    answer = CliRunner().invoke(app, [*words, "--workspace", str(second.workspace.folder)])
    if answer.exception:
        raise answer.exception
    return answer.output


def test_the_command_uses_a_memory_and_turns_it_off(second):
    assert '"reef": 24 labels from first' in benthoscope(second, "memory", "use", "reef")
    assert SuggestionStore(second.workspace.folder).get() is not None
    listed = json.loads(benthoscope(second, "memory", "list", "--json"))
    assert [entry["name"] for entry in listed["memories"]] == ["reef"] and listed["used"]["missing"] == []
    assert benthoscope(second, "memory", "use", "--off").strip() == "No memory is in use"
    assert SuggestionStore(second.workspace.folder).get() is None  # there are no own labels


def test_the_command_adds_shows_and_removes_a_memory(second, tmp_path):
    second.label(np.arange(6))
    folder = ("--folder", str(tmp_path / "mine"))
    assert "Stored 6 labels" in benthoscope(second, "memory", "add", "mine", *folder)
    with pytest.raises(BenthoscopeError, match="memory mine: exists already"):
        benthoscope(second, "memory", "add", "mine", *folder)
    table = tmp_path / "mine.csv"
    shown = CliRunner().invoke(app, ["memory", "show", "mine", *folder, "--csv", str(table), "--json"])
    assert sum(count["labels"] for count in json.loads(shown.output)["counts"]) == 6
    assert len(table.read_text(encoding="utf-8").splitlines()) == 7
    CliRunner().invoke(app, ["memory", "remove", "mine", *folder])
    assert not memories(tmp_path / "mine")


def test_rest_lists_uses_and_turns_off_a_memory(second):
    settings = ServerSettings(token="", run_jobs=False)
    client = TestClient(create_app(second.workspace, settings), base_url="http://127.0.0.1")
    root = "/api/v1"
    assert [entry["name"] for entry in client.get(f"{root}/memories").json()] == ["reef"]
    assert len(client.get(f"{root}/memories/reef").json()["counts"]) == 3
    assert client.get(f"{root}/memories/reeef").status_code == 404
    assert client.get(f"{root}/memory").json() is None
    assert client.put(f"{root}/memory", json={"name": "reef"}).json()["labels"] == 24
    assert client.put(f"{root}/memory", json={"name": "../reef"}).status_code == 422
    assert client.delete(f"{root}/memory").json() is None


def test_learn_offers_a_memory_before_the_first_label(second):
    learn = Learn(Session(AppState(second.workspace), "learn", person="Ann"))
    shown = content(learn)
    assert not shown["learnt"] and shown["memory"]["available"][0]["about"].startswith(
        "24 images, 3 labels, from first"
    )
    learn.use_memory("reef")
    assert learn.learning()
    run_now(second.workspace, "typical images")  # queued when the page is opened in a browser
    run_now(second.workspace, "learn")
    learn.session.changed("labels")
    shown = content(learn)
    assert shown["learnt"] and shown["labelled"] == 0 and shown["images"]
    assert shown["memory"]["used"]["weight"] == 1.0 and shown["measured"]["accuracy"] is None
    learn.stop_memory()
    assert not content(learn)["learnt"] and content(learn)["memory"]["used"] is None


def test_learn_stores_its_labels_as_a_memory(second):
    learn = Learn(Session(AppState(second.workspace), "learn", person="Ann"))
    with pytest.raises(BadInput, match="there are no labels to store"):
        learn.save_memory("mine")
    second.label(np.arange(4))
    learn.save_memory("mine")
    assert [job.kind for job in learn.app.queue.unfinished()] == ["remember"]


def test_learn_warns_about_a_memory_that_misleads_and_one_command_turns_it_off(second, reef, tmp_path):
    content_of_file = read_memory(reef)
    turned = replace(content_of_file, terms=(content_of_file.terms + 1) % 3)  # every label is wrong
    write_memory(tmp_path / "wrong.memory.zip", turned)
    workspace = second.workspace
    use_memory(workspace, tmp_path / "wrong.memory.zip")
    run_now(workspace, "learn")
    ann, terms = workspace.people.named("Ann").id, second.terms()
    truth = dict(zip(second.ids.tolist(), second.truth.tolist(), strict=True))
    for draw in draw_for_page(workspace, ann, SuggestionStore(workspace.folder).get(), 22):
        term = terms[KINDS[truth[draw.image_id]]]
        event = workspace.labels.label(ann, [draw.image_id], term)
        workspace.sampling.record_answer(draw, term, ann, event=event, blind=False)
    run_now(workspace, "learn")
    learn = Learn(Session(AppState(workspace), "learn", person="Ann"))
    used = content(learn)["memory"]["used"]
    assert used["misleads"] and used["text"].startswith(
        'The memory "reef" does not fit this campaign. Of 22 random images'
    )
    learn.stop_memory()
    assert learn.learning() and MemoryUse(workspace.folder).get() is None
