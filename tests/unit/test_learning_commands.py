"""Labels, learning and cover in a workspace, as jobs and commands see them."""

import csv
import json

import numpy as np
import pytest
from typer.testing import CliRunner

from app.cli import app
from engine.jobs import run_now
from engine.labelling.accepting import accept_sure
from engine.labelling.cover_report import EVERYWHERE, cover, evidence, next_to_label
from engine.labelling.material import material, said
from engine.labelling.suggestion_store import SuggestionStore
from engine.metrics import v_measure
from engine.workspace import NewImage, NewRun, Workspace
from engine.workspace.vocabularies import NewTerm

KINDS = 4


@pytest.fixture
def reef(tmp_path):
    """(workspace, ids, habitat of each image, term ids): 400 described and clustered images of two dives."""
    (tmp_path / "images").mkdir()
    with Workspace.create(tmp_path / "reef") as made:
        yield made, *filled(made, tmp_path / "images")


def filled(made, folder):
    rng = np.random.default_rng(0)
    root, collection = made.library.register_root(folder), made.library.collection("PS1").id
    dives = [made.library.group(collection, name).id for name in ("one", "two")]
    truth = np.where(np.arange(400) < 200, rng.choice(KINDS, 400, p=[0.6, 0.2, 0.1, 0.1]), rng.integers(0, KINDS, 400))
    ids = np.array(made.library.store_images([
        NewImage(root.id, f"{n}.jpg", dives[n // 200], 1, 1, f"{n:064}", 320, 240) for n in range(400)]))
    X = (4 * np.eye(8)[truth] + rng.standard_normal((400, 8))).astype(np.float32)
    with made.features.writer("deep", width=8, extractor={}) as features:
        features.append(ids, X)
    made.runs.add(NewRun("gmc", "gmc", "deep", {}, {}, {"clusters": 3}),
                  {"image_ids": ids, "labels": np.minimum(truth, 2)})
    words = made.vocabularies.add("own", [NewTerm((f"habitat {kind}",)) for kind in range(KINDS)])
    terms = {term.name: term.id for term in made.vocabularies.terms(words.id)}
    return ids, truth, np.array([terms[f"habitat {kind}"] for kind in range(KINDS)])


def label_some(reef, count, **settings):
    made, ids, truth, terms = reef
    ann = made.people.named("Ann").id
    for place in np.random.default_rng(1).permutation(400)[:count]:
        made.labels.label(ann, [ids[place]], terms[truth[place]], **settings)
    return ann


def benthoscope(reef, *words, code=0):
    made = reef[0]
    answer = CliRunner().invoke(app, [*words, "--workspace", str(made.folder)])
    if code == 0 and answer.exception:
        raise answer.exception
    return answer.output


def test_learning_suggests_the_rest_and_tells_how_right_it_is(reef):
    made, ids, truth, terms = reef
    label_some(reef, 60)
    told = run_now(made, "learn").result
    assert told["labels"] == 60 and told["terms"] == KINDS and told["accuracy"] > 0.85
    found = SuggestionStore(made.folder).get()
    best, _ = found.best()
    assert (best == terms[truth]).mean() > 0.9 and found.labelled.sum() == 60
    assert np.array_equal(found.image_ids, ids) and 0 < found.conformal_threshold(0.1) < 1
    run_now(made, "learn")
    assert len(SuggestionStore(made.folder).history()) == 2
    assert len(list((made.folder / "learning").glob("*/parts.json"))) == 1  # the older one is gone


def test_sure_suggestions_are_accepted_as_labels_of_their_own_kind(reef):
    made, ids, truth, terms = reef
    ann = label_some(reef, 80)
    run_now(made, "learn")
    found = accept_sure(made.labels, ann, SuggestionStore(made.folder).get(), 0.85)
    now, held = made.labels.current_terms()
    assert found.images > 150 and len(now) == 80 + found.images
    assert (held == terms[truth[np.searchsorted(ids, now)]]).mean() >= 0.85
    events = [made.labels.event(number) for number in found.events]
    assert {event.why for event in events} == {"suggestion"} and all(event.confidence > 0.5 for event in events)


def test_a_bulk_name_teaches_less_than_as_many_labels(reef):
    made, ids, truth, terms = reef
    ann = made.people.named("Ann").id
    bulk = made.labels.label(ann, ids[truth == 0], terms[0], why="bulk")
    one = made.labels.label(ann, ids[truth == 1][:1], terms[1])
    refused = made.labels.refuse(ann, ids[truth == 2], terms[0])
    found = material(made)
    labels = said(made.labels.events(), found, made.labels.current())
    assert labels.trust[labels.events == bulk].sum() == pytest.approx(8)
    assert labels.trust[labels.events == one].tolist() == [1.0]
    assert len(np.unique(labels.acts)) == 2 and (labels.refused[0][1], refused > 0) == (terms[0], True)
    run_now(made, "learn")
    P = SuggestionStore(made.folder).get().probabilities
    assert (P[truth == 2][:, 0] == 0).all()


def test_cover_is_near_the_truth_within_its_interval_and_bulk_labels_count_as_they_are(reef):
    made, ids, truth, terms = reef
    ann = label_some(reef, 120)
    made.labels.label(ann, ids[(truth == 3) & (np.arange(400) < 200)], terms[3], why="bulk")
    run_now(made, "learn")
    found, history = material(made), made.labels.events()
    seen = evidence(history, found, said(history, found, made.labels.current()))
    for model in (None, SuggestionStore(made.folder).get()):
        rows = {(row.group_id, row.term_id): row.share for row in cover(found, seen, model)}
        for kind in range(KINDS):
            share = rows[EVERYWHERE, int(terms[kind])]
            assert share.low - 0.02 <= (truth == kind).mean() <= share.high + 0.02
        assert sum(rows[EVERYWHERE, int(term)].estimate for term in terms) == pytest.approx(1, abs=0.08)
        assert "counted" in rows[int(found.groups[0]), int(terms[0])].method


def test_what_is_proposed_next_is_unlabelled_and_goes_where_it_tells_most(reef):
    made = reef[0]
    label_some(reef, 60)
    found, history = material(made), made.labels.events()
    seen = evidence(history, found, said(history, found, made.labels.current()))
    wanted = next_to_label(found, seen, 40, np.random.default_rng(0))
    assert len(set(wanted.tolist())) == 40 and not np.isin(wanted, made.labels.current()[0]).any()
    mixed = found.data.clusters[found.places(wanted)] == 2  # the cluster that holds two habitats
    assert mixed.mean() > (found.data.clusters == 2).mean()


def test_the_commands_tell_the_same(reef, tmp_path):
    label_some(reef, 60)
    told = json.loads(benthoscope(reef, "learn", "--json"))
    assert told["labels"] == 60 and told["curve"][-1]["coverage"] == 1.0
    assert len(json.loads(benthoscope(reef, "cover", "--propose", "7", "--json"))) == 7
    assert "best suggestion is right" in benthoscope(reef, "learn", "--accept", "0.8", "--person", "Ann")
    rows = json.loads(benthoscope(reef, "cover", "--csv", str(tmp_path / "cover.csv"), "--json"))
    assert {row["group"] for row in rows} == {"all", "one", "two"}
    assert (tmp_path / "cover.csv").read_text().startswith("group,term,share,low,high")


def test_sets_of_possible_terms_are_told_and_written(reef, tmp_path):
    label_some(reef, 60)
    file = tmp_path / "suggestions.csv"
    strict = json.loads(benthoscope(reef, "learn", "--error", "0.05", "--json"))["sets"]
    loose = json.loads(benthoscope(reef, "learn", "--error", "0.3", "--csv", str(file), "--json"))["sets"]
    assert strict["images"] == loose["images"] == 340 and strict["mean_size"] >= loose["mean_size"] >= 1
    rows = list(csv.DictReader(file.open(encoding="utf-8")))
    assert len(rows) == 340 and np.mean([int(row["possible"]) for row in rows]) == pytest.approx(loose["mean_size"])
    assert all(row["terms"].split("|")[0] == row["term"] for row in rows)
    truth = {str(path): f"habitat {kind}" for path, kind in zip(
        reef[0].library.locate(reef[1]).values(), reef[2], strict=True)}
    held = [truth[row["path"]] in row["terms"].split("|") for row in rows]
    assert np.mean(held) >= 0.65
    wrong = CliRunner().invoke(app, ["learn", "--error", "1.5", "--workspace", str(reef[0].folder)])
    assert "between 0 and 1" in str(wrong.exception)


def test_labels_are_set_undone_and_told_from_the_command_line(reef):
    _, ids, truth, _ = reef
    assert "Labelled" in benthoscope(reef, "labels", "set", "habitat 1", "--cluster", "1", "--person", "Ann")
    told = json.loads(benthoscope(reef, "labels", "--json"))
    assert told["labelled"] == (np.minimum(truth, 2) == 1).sum() and list(told["terms"]) == ["habitat 1"]
    image = str(ids[truth == 1][0])
    assert json.loads(benthoscope(reef, "labels", "history", image, "--json"))[0]["who"] == "Ann"
    assert "Took back event 1" in benthoscope(reef, "labels", "undo", "--person", "Ann")
    assert "Brought back event 1" in benthoscope(reef, "labels", "redo", "--person", "Ann")
    assert "as they were" in benthoscope(reef, "labels", "revert", "0", "--person", "Ann")
    assert json.loads(benthoscope(reef, "labels", "--json"))["labelled"] == 0
    assert "CATAMI 1.4: 289 terms" in benthoscope(reef, "labels", "vocabulary", "--catami")


def test_nobody_labels_namelessly_and_unknown_words_are_told(reef):
    nameless = CliRunner().invoke(app, ["labels", "undo", "--workspace", str(reef[0].folder)])
    assert "nobody was named" in str(nameless.exception)
    wrong = CliRunner().invoke(app, ["labels", "set", "habitut 1", "--image", "1", "--person", "Ann", "--workspace",
                                     str(reef[0].folder)])
    assert "did you mean 'habitat 1'" in str(wrong.exception)


def test_a_run_can_be_made_by_information_maximisation(reef):
    made, _, truth, _ = reef
    for model in ("rim", "krim"):
        job = run_now(made, "cluster", {"model": model, "parameters": {"n_clusters": 8, "n_init": 2}})
        assert job.state == "done", job.error
        run = made.runs.current()
        assert run.model == model and run.name == f"{model} deep"
        assert v_measure(truth, run.array("labels")) > 0.7
        assert run.array("weights").shape == (2, run.summary["clusters"])
