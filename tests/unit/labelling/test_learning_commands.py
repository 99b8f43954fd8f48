"""Labels, learning and cover in a workspace, as jobs and commands see them."""

import csv
import json
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from benthoscope.app.cli import app
from benthoscope.engine.jobs import run_now
from benthoscope.engine.labelling.accepting import accept_sure, what_is_needed
from benthoscope.engine.labelling.accuracy.random_draws import answer, ask_for
from benthoscope.engine.labelling.accuracy.random_draws import next_page as next_random_page
from benthoscope.engine.labelling.accuracy.stream import answered_stream, draw_for_page, drawn_images, second_looks
from benthoscope.engine.labelling.audits.bulk_audit import audit_frame, next_page, store_page, unchecked_suggestions
from benthoscope.engine.labelling.suggestions import SuggestionStore
from benthoscope.engine.labelling.training_data import labelled_rows, material
from benthoscope.engine.metrics import v_measure
from benthoscope.engine.problems import BadInput
from benthoscope.engine.workspace import NewRun
from tests.reef_workspace import KINDS, copied

pytestmark = pytest.mark.thorough


@pytest.fixture
def reef(tmp_path, reef_templates):
    """(workspace, ids, habitat of each image, term ids): 400 described and clustered images of two dives."""
    template = reef_templates(0)
    with copied(template, tmp_path) as workspace:
        yield workspace, template.ids, template.truth, template.terms


def label_some(reef, count, **settings):
    made, ids, truth, terms = reef
    ann = made.people.named("Ann").id
    for position in np.random.default_rng(1).permutation(400)[:count]:
        made.labels.label(ann, [ids[position]], terms[truth[position]], **settings)
    return ann


def benthoscope(reef, *words, code=0):
    made = reef[0]
    answer = CliRunner().invoke(app, [*words, "--workspace", str(made.folder)])
    if code == 0 and answer.exception:
        raise answer.exception
    return answer.output


def answer_draws(reef, count, slips=0):
    """Random images as on pages of Learn: drawn with a fixed guess, and answered correctly except for some errors."""
    made, ids, truth, terms = reef
    ann = made.people.named("Ann").id
    for at, draw in enumerate(draw_for_page(made, ann, SuggestionStore(made.folder).get(), count)):
        kind = truth[np.searchsorted(ids, draw.image_id)]
        term = int(terms[(kind + (at < slips)) % KINDS])
        event = made.labels.label(ann, [draw.image_id], term)
        made.sampling.record_answer(draw, term, ann, event=event, blind=False)


def test_training_suggests_the_rest_and_reports_its_accuracy(reef):
    made, ids, truth, terms = reef
    label_some(reef, 60)
    job_result = run_now(made, "learn").result
    assert job_result["labels"] == 60 and job_result["terms"] == KINDS
    assert (
        job_result["accuracy"] is None and job_result["missing"] == "not measurable yet: 0 of 30 random images answered"
    )
    suggestion_store = SuggestionStore(made.folder).get()
    best, _ = suggestion_store.best()
    assert (best == terms[truth]).mean() > 0.9 and suggestion_store.labelled.sum() == 60
    assert np.array_equal(suggestion_store.image_ids, ids) and suggestion_store.conformal_threshold(0.1) is None
    run_now(made, "learn")
    assert len(SuggestionStore(made.folder).history()) == 2
    assert len(list((made.folder / "learning").glob("*/parts.json"))) == 1  # the older one is gone


def test_a_later_run_of_segments_does_not_keep_the_model_from_learning(reef):
    made, ids, *_ = reef
    label_some(reef, 60)
    with made.features.writer("segments", width=2, level="segment", extractor={}) as features:
        rows = np.random.default_rng(0).standard_normal((2 * len(ids), 2))
        features.append(ids, rows, counts=np.full(len(ids), 2))
    run = made.runs.add(
        NewRun("objects", "gmc-segments", "segments", {}, {}, {"clusters": 1}),
        {"image_ids": np.repeat(ids, 2), "labels": np.zeros(2 * len(ids), np.int32)},
    )
    made.runs.choose(run.id)
    assert material(made).features == "deep"
    assert run_now(made, "learn").state == "done"
    with pytest.raises(BadInput, match="describes segments"):
        material(made, run_id=run.id)


def test_nothing_is_accepted_before_random_images_prove_it(reef):
    made = reef[0]
    ann = label_some(reef, 80)
    run_now(made, "learn")
    done = accept_sure(made.labels, ann, SuggestionStore(made.folder).get(), 0.85, answered_stream(made))
    assert (done.images, done.threshold, done.events) == (0, None, ()) and len(made.labels.events()) == 80
    assert (
        done.need.text
        == f"Answer at least {done.need.missing_draws} more random images first; 0 of {done.need.missing_draws} are "
        "answered."
    )


def test_proven_suggestions_are_accepted_as_labels_of_their_own_kind(reef):
    made, ids, truth, terms = reef
    ann = label_some(reef, 80)
    run_now(made, "learn")
    answer_draws(reef, 60)
    outcome = accept_sure(made.labels, ann, SuggestionStore(made.folder).get(), 0.85, answered_stream(made))
    labelled_ids, term_ids = made.labels.current_terms()
    accepted = np.isin(labelled_ids, np.concatenate([made.labels.event(number).images for number in outcome.events]))
    assert outcome.images == accepted.sum() > 150 and len(labelled_ids) == 140 + outcome.images and outcome.need is None
    assert (term_ids == terms[truth[np.searchsorted(ids, labelled_ids)]])[accepted].mean() >= 0.85
    events = [made.labels.event(number) for number in outcome.events]
    assert {event.why for event in events} == {"suggestion"} and events[0].rule["random_images"] == 60
    assert unchecked_suggestions(made) == []


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("share", [0.8, 0.9])
def test_after_one_bulk_act_per_term_the_accepted_share_is_as_promised(reef, seed, share):
    """The happy path: nothing before the draws, and after them labels that are right at least as often as said."""
    made, ids, truth, terms = reef
    ann, rng = made.people.named("Ann").id, np.random.default_rng(seed)
    for kind, term in enumerate(terms.tolist()):
        mine = rng.permutation(ids[truth == kind])
        made.labels.label(ann, np.sort(mine[: max(len(mine) // 4, 5)]), term, why="review")
    run_now(made, "learn")
    suggestions = SuggestionStore(made.folder).get()
    assert accept_sure(made.labels, ann, suggestions, share, answered_stream(made)).images == 0
    for _ in range(12):
        answer_draws(reef, 12)
        before = made.labels.current()[0]
        done = accept_sure(made.labels, ann, suggestions, share, answered_stream(made))
        if done.images:
            break
    labelled_ids, term_ids = made.labels.current_terms()
    new = ~np.isin(labelled_ids, before)
    assert done.images == new.sum() > 50
    assert (term_ids == terms[truth[np.searchsorted(ids, labelled_ids)]])[new].mean() >= share


def test_labels_accepted_without_proof_by_a_former_version_are_listed(reef):
    made, ids, _, terms = reef
    ann = made.people.named("Ann").id
    old = made.labels.label(
        ann, ids[:50], int(terms[0]), why="suggestion", rule={"threshold": 0.9, "wanted": 0.95, "proven": False}
    )
    made.labels.label(ann, ids[50:90], int(terms[1]), why="suggestion", rule={"threshold": 0.9, "wanted": 0.95})
    assert unchecked_suggestions(made) == [old]


def answer_cover(reef, count):
    """Random images for cover, answered truly without a suggestion."""
    made, ids, truth, terms = reef
    ann = made.people.named("Ann").id
    ask_for(made, ann, count)
    page = next_random_page(made, ann, count)
    answer(made, ann, {int(image): int(terms[truth[np.searchsorted(ids, image)]]) for image in page.images})
    return page


def test_cover_draws_made_while_there_was_a_model_measure_its_suggestions(reef):
    made = reef[0]
    label_some(reef, 60)
    run_now(made, "learn")
    page = answer_cover(reef, 50)
    draws = answered_stream(made)
    assert (len(draws), draws.blind, draws.without_guess, draws.open) == (50, 50, 0, 0)
    assert draws.eligible.max() == 340 and draws.right.mean() > 0.8
    right = [draw.guess.term_id == draw.term_id for draw in made.sampling.get_draws([d.id for d in page.draws])]
    assert draws.right.sum() == sum(right)
    answer_draws(reef, 20)
    both = answered_stream(made)
    assert len(both) == 70 and both.blind == 50 and both.eligible.min() == 340 - 50 - 19


def test_skipped_cover_draws_are_counted_separately(reef):
    made, ids, truth, terms = reef
    ann = label_some(reef, 60)
    run_now(made, "learn")
    ask_for(made, ann, 40)
    images = next_random_page(made, ann, 40).images
    answer(made, ann, {int(image): int(terms[truth[np.searchsorted(ids, image)]]) for image in images[3:]})
    draws = answered_stream(made)
    assert (len(draws), draws.open, draws.open_cover) == (37, 3, 3)
    assert what_is_needed(draws, np.full(300, 0.9), 0.9).text == "Answer 3 open random images first"


def test_cover_draws_before_a_model_or_of_bulk_labels_measure_nothing(reef):
    made, ids, truth, terms = reef
    answer_cover(reef, 40)
    run_now(made, "learn")
    assert (len(answered_stream(made)), answered_stream(made).without_guess) == (0, 40)
    rest = np.setdiff1d(ids[truth == 0], made.labels.current()[0])
    made.labels.label(1, rest, int(terms[0]), why="review")
    run_now(made, "learn")
    answer_cover(reef, 60)
    draws = answered_stream(made)
    assert 0 < len(draws) < 60 and len(draws) + draws.without_guess == 100
    assert draws.eligible.max() == 360 - len(rest)  # not the images with a bulk label


def test_one_draw_in_five_is_asked_again_without_its_suggestion_and_a_third_look_settles(reef):
    made, ids, truth, terms = reef
    ann = label_some(reef, 60)
    run_now(made, "learn")
    answer_draws(reef, 48, slips=1)  # the first answer is wrong; all next to a suggestion
    waiting = second_looks(made)
    assert [draw.number for draw in waiting] == [5, 10, 15, 20, 25, 30, 35, 40]  # 45 is too recent
    true = {draw.image_id: int(terms[truth[np.searchsorted(ids, draw.image_id)]]) for draw in waiting}
    page = next_random_page(made, ann, 24)
    assert page.second and page.images.tolist() == list(true)
    slip = int(page.images[0])
    other = next(int(term) for term in terms if term != true[slip])
    before = answered_stream(made)
    answer(made, ann, true | {slip: other})
    draws = answered_stream(made)
    assert (draws.doubles, draws.differ, draws.waiting, before.waiting) == (8, 1, 1, 8)
    assert next_random_page(made, ann, 24).images.tolist() == [slip]
    answer(made, ann, {slip: other})
    settled = answered_stream(made)
    assert (settled.waiting, settled.differ) == (0, 1)
    assert settled.right.sum() == before.right.sum() - settled.overstated
    assert made.labels.current_terms()[1][made.labels.current()[0] == slip].tolist() == [other]
    assert settled.overstated == 1 and not len(next_random_page(made, ann, 24).draws)


def test_a_bulk_label_has_less_influence_than_as_many_single_labels(reef):
    made, ids, truth, terms = reef
    ann = made.people.named("Ann").id
    bulk = made.labels.label(ann, ids[truth == 0], terms[0], why="bulk")
    event = made.labels.label(ann, ids[truth == 1][:1], terms[1])
    refused = made.labels.refuse(ann, ids[truth == 2], terms[0])
    data = material(made)
    labels = labelled_rows(made.labels.events(), data, made.labels.current())
    assert labels.trust[labels.events == bulk].sum() == pytest.approx(8)
    assert labels.trust[labels.events == event].tolist() == [1.0]
    assert len(np.unique(labels.event_of_row)) == 2 and (labels.refused[0][1], refused > 0) == (terms[0], True)
    run_now(made, "learn")
    P = SuggestionStore(made.folder).get().probabilities
    assert (P[truth == 2][:, 0] == 0).all()


def test_a_draw_stores_the_guess_and_counts_as_looked_at(reef):
    made = reef[0]
    label_some(reef, 60)
    run_now(made, "learn")
    answer_draws(reef, 40, slips=4)
    draws = answered_stream(made)
    assert (len(draws), draws.open, draws.doubles) == (40, 0, 0) and (draws.eligible <= 340).all()
    data, history = material(made), made.labels.events()
    labels = labelled_rows(history, data, made.labels.current(), drawn_images(made))
    assert labels.is_drawn.sum() == 40 and len(np.unique(labels.event_of_row)) == 100
    run_now(made, "learn")
    stored = SuggestionStore(made.folder).get()
    assert stored.held_drawn.sum() == 40 == stored.draws_for_sets() and stored.facts["accuracy"] is not None
    assert not np.isin([draw.image_id for draw in draw_for_page(made, 1, stored, 30)], drawn_images(made)).any()


def test_suggestions_of_a_former_version_have_no_sets(reef):
    label_some(reef, 60)
    run_now(reef[0], "learn")
    store = SuggestionStore(reef[0].folder)
    store.put(replace(store.get(), held_drawn=None))
    assert store.get().conformal_threshold(0.1) is None and store.get().draws_for_sets() == 0


def test_the_commands_report_the_same(reef, tmp_path):
    label_some(reef, 60)
    content = json.loads(benthoscope(reef, "learn", "--json"))
    assert content["labels"] == 60 and content["accuracy"] is None and content["curve"] == []
    assert "0 of 30 random images answered" in benthoscope(reef, "learn")
    refused = benthoscope(reef, "learn", "--accept", "0.8", "--person", "Ann")
    assert "Accepted nothing: Answer at least 30 more random images first; 0 of 30" in refused
    assert len(reef[0].labels.current()[0]) == 60
    answer_draws(reef, 40)
    content = json.loads(benthoscope(reef, "learn", "--json"))
    assert (
        content["accuracy"] > 0.85
        and content["at_least"] < content["accuracy"]
        and content["draws"] == content["used"] == 40
    )
    assert content["curve"][-1]["coverage"] == 1.0
    text = benthoscope(reef, "learn", "--accept", "0.8", "--person", "Ann")
    assert "Best suggestion correct:" in text and "Accepted" in text and len(reef[0].labels.current()[0]) > 200


def test_cover_on_the_command_line_needs_random_images_and_their_answers(reef, tmp_path):
    made, ids, truth, terms = reef
    label_some(reef, 60)
    rows = json.loads(benthoscope(reef, "cover", "--json"))
    assert {row["group"] for row in rows} == {"all", "one", "two"} and all(row["estimate"] is None for row in rows)
    assert "No random images are labelled" in " ".join(benthoscope(reef, "cover").split())
    names = {term.id: " > ".join(term.path) for term in made.vocabularies.all_terms()}
    by_image = {int(image): names[int(terms[kind])] for image, kind in zip(ids, truth, strict=True)}
    listed = json.loads(benthoscope(reef, "cover", "--random", "80", "--person", "Ann", "--json"))
    assert len(listed) == 80 and not any(image["again"] for image in listed)
    assert json.loads(benthoscope(reef, "cover", "--random", "80", "--person", "Ann", "--json")) == listed
    for _ in range(2):  # the answers, and the second looks
        path = tmp_path / "answers.csv"
        path.write_text("id,term\n" + "".join(f"{image['id']},{by_image[image['id']]}\n" for image in listed))
        benthoscope(reef, "cover", "--answers", str(path), "--person", "Ann")
        listed = [
            image
            for image in json.loads(benthoscope(reef, "cover", "--random", "1", "--person", "Ann", "--json"))
            if image["again"]
        ]
    rows = json.loads(benthoscope(reef, "cover", "--csv", str(tmp_path / "cover.csv"), "--json"))
    of_all = [row for row in rows if row["group"] == "all"]
    assert sum(row["estimate"] for row in of_all) == pytest.approx(1)
    for kind in range(KINDS):
        [row] = [row for row in of_all if row["term"] == names[int(terms[kind])]]
        assert row["low"] <= (truth == kind).mean() <= row["high"] and row["draws"] == 80
    assert (tmp_path / "cover.csv").read_text().startswith("group,term,share,low,high,draws,labelled,images,method")
    assert "each interval at 95 %" in " ".join(benthoscope(reef, "cover").split())


def test_answers_to_images_that_were_not_drawn_are_rejected(reef, tmp_path):
    (tmp_path / "answers.csv").write_text(f"id,term\n{reef[1][0]},habitat 0\n")
    answer = CliRunner().invoke(
        app,
        ["cover", "--answers", str(tmp_path / "answers.csv"), "--person", "Ann", "--workspace", str(reef[0].folder)],
    )
    assert "was not drawn at random" in str(answer.exception)
    assert not len(reef[0].labels.events())


def test_prediction_sets_are_shown_and_written(reef, tmp_path):
    label_some(reef, 60)
    file = tmp_path / "suggestions.csv"
    before = json.loads(benthoscope(reef, "learn", "--csv", str(file), "--json"))["sets"]
    assert (before["mean_size"], before["draws"], before["needed"]) == (None, 0, 19)
    assert {(row["possible"], row["terms"]) for row in csv.DictReader(file.open(encoding="utf-8"))} == {("", "")}
    answer_draws(reef, 60)
    strict = json.loads(benthoscope(reef, "learn", "--error", "0.05", "--json"))["sets"]
    loose = json.loads(benthoscope(reef, "learn", "--error", "0.3", "--csv", str(file), "--json"))["sets"]
    assert strict["images"] == loose["images"] == 280 and strict["mean_size"] >= loose["mean_size"] >= 1
    rows = list(csv.DictReader(file.open(encoding="utf-8")))
    assert len(rows) == 280 and np.mean([int(row["possible"]) for row in rows]) == pytest.approx(loose["mean_size"])
    assert all(row["terms"].split("|")[0] == row["term"] for row in rows)
    truth = {
        str(path): f"habitat {kind}"
        for path, kind in zip(reef[0].library.locate(reef[1]).values(), reef[2], strict=True)
    }
    flags = [truth[row["path"]] in row["terms"].split("|") for row in rows]
    assert np.mean(flags) >= 0.65
    wrong = CliRunner().invoke(app, ["learn", "--error", "1.5", "--workspace", str(reef[0].folder)])
    assert "between 0 and 1" in str(wrong.exception)


def test_audits_are_listed_pooled_and_withdrawn_from_the_command_line(reef, tmp_path):
    made, ids, truth, terms = reef
    ann = made.people.named("Ann").id
    event = made.labels.label(ann, ids[truth == 0], int(terms[0]), why="review")
    frame = audit_frame(made, [event], ann)
    page = next_page(made, frame, 0.05)
    store_page(made, frame, ann, page, [page[0].image_id], [0.5] * len(page), 0.05)
    content = json.loads(benthoscope(reef, "labels", "--json"))
    assert (content["audits"][0]["event"], content["audits"][0]["wrong"], content["audits"][0]["seconds"]) == (
        event,
        1,
        0.5 * len(page),
    )
    assert content["bulk_labels"]["wrong"] == 1 and content["bulk_labels"]["checked"] == len(page)
    text = benthoscope(reef, "labels")
    assert f"{len(page)} seen, {0.5 * len(page):.0f} s" in text and "bulk labels of 1 event" in text
    result = run_now(made, "export", {"format": "csv", "output": str(tmp_path / "out")}).result
    report = json.loads((tmp_path / "out" / "export-report.json").read_text())
    assert report["bulk_labels"] == result["bulk_labels"] == content["bulk_labels"]
    assert report["bulk_labels"]["at_most"] == pytest.approx(content["audits"][0]["at_most"])
    audit = next(event.number for event in made.labels.events() if event.kind == "audit")
    assert "Withdrew audit" in benthoscope(reef, "labels", "withdraw-audit", str(audit), "--person", "Ann")
    assert json.loads(benthoscope(reef, "labels", "--json"))["audits"] == []
    assert page[0].image_id in made.labels.current()[0]  # the label it took away holds again
    assert [draw.image_id for draw in next_page(made, frame, 0.05)] == [draw.image_id for draw in page]
    again = CliRunner().invoke(
        app, ["labels", "withdraw-audit", str(audit), "--person", "Ann", "--workspace", str(made.folder)]
    )
    assert "already withdrawn" in str(again.exception)


def test_labels_are_set_undone_and_listed_from_the_command_line(reef):
    _, ids, truth, _ = reef
    assert "Labelled" in benthoscope(reef, "labels", "set", "habitat 1", "--cluster", "1", "--person", "Ann")
    content = json.loads(benthoscope(reef, "labels", "--json"))
    assert content["labelled"] == (np.minimum(truth, 2) == 1).sum() and list(content["terms"]) == ["habitat 1"]
    image = str(ids[truth == 1][0])
    assert json.loads(benthoscope(reef, "labels", "history", image, "--json"))[0]["who"] == "Ann"
    assert "Undone: event 1" in benthoscope(reef, "labels", "undo", "--person", "Ann")
    assert "Redone: event 1" in benthoscope(reef, "labels", "redo", "--person", "Ann")
    assert "Restored the labels of" in benthoscope(reef, "labels", "revert", "0", "--person", "Ann")
    assert json.loads(benthoscope(reef, "labels", "--json"))["labelled"] == 0
    assert "CATAMI 1.4: 289 terms" in benthoscope(reef, "labels", "vocabulary", "--catami")


def test_labels_need_a_person_and_unknown_terms_are_reported(reef):
    nameless = CliRunner().invoke(app, ["labels", "undo", "--workspace", str(reef[0].folder)])
    assert "is missing; give your name" in str(nameless.exception)
    wrong = CliRunner().invoke(
        app, ["labels", "set", "habitut 1", "--image", "1", "--person", "Ann", "--workspace", str(reef[0].folder)]
    )
    assert "did you mean 'habitat 1'" in str(wrong.exception)


def test_a_new_term_is_created_only_when_asked_for(reef):
    refused = CliRunner().invoke(
        app, ["labels", "set", "Sea whips", "--image", "1", "--person", "Ann", "--workspace", str(reef[0].folder)]
    )
    assert "no 'Sea whips'" in str(refused.exception)
    assert "Labelled 1 image Sea whips" in benthoscope(
        reef, "labels", "set", "Sea whips", "--image", "1", "--create", "--person", "Ann"
    )
    assert "Labelled" in benthoscope(reef, "labels", "set", "Sea whips", "--image", "2", "--person", "Ann")


def test_a_run_can_be_made_by_information_maximisation(reef):
    made, _, truth, _ = reef
    for model in ("rim", "krim"):
        job = run_now(made, "cluster", {"model": model, "parameters": {"n_clusters": 8, "n_init": 2}})
        assert job.state == "done", job.error
        run = made.runs.get(job.result["run"])
        assert run.model == model and run.name == f"{model} deep"
        assert v_measure(truth, run.array("labels")) > 0.7
        assert run.array("weights").shape == (2, run.summary["clusters"])
