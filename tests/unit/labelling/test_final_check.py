"""The final check: the betting test, frozen versions, and the flow from freezing to delivering labels."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from benthoscope.app.cli import app
from benthoscope.engine.labelling.accuracy.stream import answered_stream
from benthoscope.engine.labelling.measured_accuracy import NO_DRAWS
from benthoscope.engine.labelling.stopping import final_check
from benthoscope.engine.labelling.stopping.betting import UNIFORM, BettingTest, draw_weights
from benthoscope.engine.labelling.stopping.versions import VersionStore
from benthoscope.engine.labelling.suggestions import SuggestionStore
from benthoscope.engine.labelling.training_data import trust_of
from benthoscope.engine.problems import BadInput
from tests.reef_workspace import copied

# --- the test


def test_golden_values_with_uniform_draws():
    test = BettingTest(np.full(100, 0.03), 10)
    for position in range(20):
        test.add(position, position == 4)
    assert test.log_capital == pytest.approx(-0.272603, abs=1e-6)
    assert test.stake == pytest.approx(0.012676, abs=1e-6)


def test_golden_values_with_weighted_draws():
    forecast = np.full(100, 0.01)
    forecast[:20] = 0.2
    test = BettingTest(forecast, 10)
    test.start_page(draw_weights(forecast))
    capital = [test.add(position, position == 1) for position in (0, 30, 1, 40, 2, 50, 60, 70, 80, 90)]
    assert np.allclose([capital[0], capital[2], capital[-1]], [0.082983, -0.511008, 0.115869], atol=1e-6)


def test_sums_are_those_computed_anew():
    """The next stake needs sums over all undrawn labels; they are kept between draws."""
    rng = np.random.default_rng(0)
    forecast = rng.uniform(0, 0.2, 200)
    test, order = BettingTest(forecast, 15), rng.permutation(200)
    test.start_page(draw_weights(forecast))
    weights = draw_weights(forecast)
    for count, position in enumerate(order[:60]):
        left = order[count:]
        q = weights[left] / weights[left].sum()
        spread = (forecast[left] / q).sum() - 2 * 15 * forecast[left].sum() + 15**2
        stake = max(0, (15 - forecast[left].sum()) / spread)
        expected = min(stake, 0.9 / (1 / q.min() - 15)) if 1 / q.min() > 15 else stake
        test.add(int(position), False)
        assert test.stake == pytest.approx(expected)


def test_every_draw_is_partly_uniform():
    weights = draw_weights(np.array([0.0, 0.0, 0.5, 1.0]))
    assert weights.sum() == pytest.approx(1) and weights.min() >= UNIFORM / 4
    assert np.allclose(draw_weights(np.zeros(5)), 0.2)


@pytest.mark.parametrize("doubt", ["useful", "useless", "misleading"])
def test_a_claim_that_is_just_false_is_made_in_at_most_five_per_cent(doubt):
    """A check after every draw; one more label than allowed is wrong. 5 % and three standard errors of 300 runs."""
    rng = np.random.default_rng(7)
    size, allowed, false = 400, 20, 0
    for _ in range(300):
        wrong = np.zeros(size, bool)
        wrong[rng.choice(size, allowed + 1, replace=False)] = True
        forecast = {
            "useful": np.where(wrong, 0.3, 0.02),
            "useless": np.full(size, 0.03),
            "misleading": np.where(wrong, 0.001, 0.05),
        }[doubt]
        test, keys = BettingTest(forecast, allowed), rng.gumbel(size=size)
        weights = draw_weights(forecast)
        test.start_page(weights)
        for position in np.argsort(-(np.log(weights) + keys))[:200]:
            test.add(int(position), bool(wrong[position]))
            if test.log_capital >= np.log(20):
                false += wrong[test.undrawn].sum() > allowed
                break
    assert false <= 300 * 0.05 + 3 * np.sqrt(300 * 0.05 * 0.95)


def test_a_good_version_is_proven_within_a_few_pages():
    test = BettingTest(np.full(1000, 0.005), 50)
    counts = 0
    while not test.holds(0.05):
        test.add(counts, counts == 30)
        counts += 1
    assert 40 < counts < 130


def test_counting_proves_the_claim_when_few_labels_are_left():
    test = BettingTest(np.full(20, 0.9), 5)
    for position in range(15):
        test.add(position, True)
    assert test.holds(0.05) and test.log_capital <= 0


def test_a_label_is_entered_once_and_something_must_be_allowed():
    test = BettingTest(np.full(10, 0.1), 2)
    test.add(3, False)
    with pytest.raises(BadInput, match="drawn already"):
        test.add(3, False)
    with pytest.raises(BadInput, match="fewer than one wrong label"):
        BettingTest(np.full(10, 0.1), 0.4)


# --- the flow


@pytest.fixture
def reef(tmp_path, reef_templates):
    template = reef_templates(80)
    with copied(template, tmp_path) as workspace:
        yield workspace, template.ids, template.truth, template.terms


def ann_of(reef):
    return reef[0].people.named("Ann").id


def started(reef, target=0.05):
    workspace = reef[0]
    suggestions = SuggestionStore(workspace.folder).get()
    return final_check.start(workspace, ann_of(reef), suggestions, answered_stream(workspace), target)


def truth_of(reef, images):
    return reef[3][reef[2][np.searchsorted(reef[1], images)]]


def answer_page(reef, version, rate_of_slips=0.0, rng=None):
    draws = final_check.page(reef[0], ann_of(reef), version)
    images = np.array([draw.image_id for draw in draws], np.int64)
    terms = truth_of(reef, images)
    if rate_of_slips:
        slips = rng.random(len(terms)) < rate_of_slips
        terms = np.where(slips, rng.choice(reef[3], len(terms)), terms)
    final_check.answer(reef[0], ann_of(reef), version, dict(zip(images.tolist(), terms.tolist(), strict=True)))
    return len(images)


def test_a_version_has_a_term_for_every_image_and_stays_as_it_was(reef):
    workspace, ids, _, terms = reef
    version = started(reef)
    labelled, given = workspace.labels.current_terms()
    assert version.number == 1 and np.array_equal(version.image_ids, ids)
    assert np.array_equal(version.terms_of(labelled), given) and version.looked.sum() == 80
    assert np.array_equal(version.unseen, np.setdiff1d(ids, labelled))
    before = np.array(version.terms)
    workspace.labels.label(ann_of(reef), version.unseen[:40].tolist(), int(terms[0]))
    again = VersionStore(workspace.folder).get(1)
    assert np.array_equal(again.terms, before) and (again.forecast[again.looked] == 0).all()


def test_the_check_proves_the_claim_and_delivers_the_labels(reef):
    workspace, ids, _, _ = reef
    version = started(reef)
    wrong_before = (version.terms_of(version.unseen) != truth_of(reef, version.unseen)).mean()
    assert wrong_before < 0.05  # the model is good enough
    for _ in range(12):
        if not answer_page(reef, version) or final_check.result(workspace, version).proven:
            break
    checked = final_check.result(workspace, version)
    assert checked.proven and 30 <= checked.checked < 320 and "at most 5 % of all images" in str(checked)
    final_check.deliver(workspace, ann_of(reef), version)
    image_ids, given = workspace.labels.current_terms()
    assert len(image_ids) == len(ids) and (given != truth_of(reef, image_ids)).mean() <= 0.05


def test_nothing_is_delivered_before_the_proof(reef):
    version = started(reef)
    answer_page(reef, version)
    if not final_check.result(reef[0], version).proven:
        with pytest.raises(BadInput, match="not proven"):
            final_check.deliver(reef[0], ann_of(reef), version)


def test_a_different_answer_is_asked_again_and_counts_as_wrong_until_it_is_settled(reef):
    workspace, _, _, terms = reef
    version = started(reef)
    draws = final_check.page(workspace, ann_of(reef), version)
    image = draws[0].image_id
    delivered = int(version.terms_of(np.array([image]))[0])
    other = next(int(term) for term in terms if term != delivered)
    answers = {draw.image_id: int(version.terms_of(np.array([draw.image_id]))[0]) for draw in draws} | {image: other}
    final_check.answer(workspace, ann_of(reef), version, answers)
    first = final_check.result(workspace, version)
    assert first.wrong == 1 and first.open_draws == 1
    again = final_check.page(workspace, ann_of(reef), version)
    assert [draw.image_id for draw in again] == [image]
    final_check.answer(workspace, ann_of(reef), version, {image: delivered})
    final_check.answer(workspace, ann_of(reef), version, {image: delivered})
    settled = final_check.result(workspace, version)
    assert settled.wrong == 0 and settled.open_draws == 0 and settled.evidence > first.evidence


def test_an_open_page_is_shown_again_and_later_answers_wait_for_it(reef):
    workspace = reef[0]
    version = started(reef)
    draws = final_check.page(workspace, ann_of(reef), version)
    assert [draw.id for draw in final_check.page(workspace, ann_of(reef), version)] == [draw.id for draw in draws]
    last = draws[-1].image_id
    final_check.answer(workspace, ann_of(reef), version, {last: int(version.terms_of(np.array([last]))[0])})
    assert final_check.result(workspace, version).checked == 0


def test_doubtful_images_are_drawn_more_often(reef):
    workspace = reef[0]
    version = started(reef)
    draws = final_check.page(workspace, ann_of(reef), version)
    probability = np.array([draw.probability for draw in draws])
    assert (probability[:-1] > 0).all() and len(set(np.round(probability, 6))) > 10
    test = final_check._test(version, draws)
    assert test.draws == 0


def test_later_attempts_must_prove_more(reef):
    assert started(reef).facts["alpha"] == pytest.approx(0.05 * 0.6)
    assert started(reef).facts["alpha"] == pytest.approx(0.05 * 0.24)
    total = 0.05 * 0.84 + sum(started(reef).facts["alpha"] for _ in range(10))
    assert 0.0499 < total <= 0.05


def test_slips_become_part_of_the_claim_once_they_are_known(reef, monkeypatch):
    record = final_check.SlipRecord(300, 6, 0)
    monkeypatch.setattr(final_check, "slip_record", lambda *_: record)
    version = started(reef, 0.1)
    upper = final_check.clopper_pearson(np.array([6]), np.array([300]), 0.98)[1][0]
    assert version.facts["with_slips"] and version.facts["alpha"] == pytest.approx(0.04 * 0.6)
    assert version.facts["allowed"] == np.floor(0.1 * 400 - upper * 80)


def test_the_forecast_says_whether_a_check_makes_sense(reef):
    workspace = reef[0]
    suggestions = SuggestionStore(workspace.folder).get()
    good = final_check.forecast(workspace, ann_of(reef), suggestions, NO_DRAWS, 0.2)
    assert good.ready and "needs about 130 to 260 more images" in str(good) and good.unseen == 320
    strict = final_check.forecast(workspace, ann_of(reef), suggestions, NO_DRAWS, 0.001)
    assert not strict.ready and "Too few images" in str(strict)
    with pytest.raises(BadInput, match="fewer than one wrong label"):
        started(reef, 0.001)
    with pytest.raises(BadInput, match="target"):
        started(reef, 0.7)


@pytest.mark.parametrize("unseen, price", [(100, "at most 100"), (200, "about 130 to 200"), (300, "about 130 to 260")])
def test_a_check_is_not_said_to_need_more_images_than_there_are(unseen, price):
    forecast = final_check.WrongForecast(400, unseen, 1.0, 20.0, 0.05)
    assert f"A final check needs {price} more images" in str(forecast)


@pytest.mark.parametrize("rule, is_seen", [({"queue": "sort", "batch": 1}, True), ({"wanted": 0.9}, False)])
def test_suggestions_seen_on_a_page_count_more_than_those_nobody_saw(reef, rule, is_seen):
    workspace = reef[0]
    suggestions = SuggestionStore(workspace.folder).get()
    free = np.setdiff1d(suggestions.image_ids, workspace.labels.current()[0])[:200]
    terms = suggestions.best()[0][np.searchsorted(suggestions.image_ids, free)]
    term = np.bincount(terms).argmax()

    def expected_wrong():
        version = started(reef, 0.3)
        return version.forecast[np.isin(version.image_ids, free[terms == term])].sum()

    before = expected_wrong()
    event = workspace.labels.label(ann_of(reef), free[terms == term], int(term), why="suggestion", rule=rule)
    assert expected_wrong() == pytest.approx((0.1 if is_seen else 1.0) * before, rel=1e-3)
    stored = next(each for each in workspace.labels.events() if each.number == event)
    assert trust_of(stored) == pytest.approx(1.0 if is_seen else 8 / stored.count)


def test_a_half_written_version_does_not_exist(reef):
    workspace = reef[0]
    (workspace.folder / "label_versions" / "1").mkdir(parents=True)
    assert VersionStore(workspace.folder).numbers() == [] and VersionStore(workspace.folder).latest() is None
    assert started(reef).number == 1


# --- the command


def final_check_command(reef, *options):
    outcome = CliRunner().invoke(
        app, ["labels", "final-check", *options, "--person", "Ann", "--workspace", str(reef[0].folder), "--json"]
    )
    assert outcome.exit_code == 0, outcome.output
    return json.loads(outcome.stdout)


def test_the_command_leads_from_the_forecast_to_the_delivery(reef, tmp_path):
    workspace, ids, _, _ = reef
    assert final_check_command(reef)["check"] is None
    facts = final_check_command(reef, "--start")
    names = {term.id: term.name for term in workspace.vocabularies.all_terms()}
    file = tmp_path / "answers.csv"
    for _ in range(12):
        images = np.array([image["id"] for image in facts["next"]])
        rows = [f"{image},{names[int(term)]}" for image, term in zip(images, truth_of(reef, images), strict=True)]
        file.write_text("\n".join(["id,term", *rows]), encoding="utf-8")
        facts = final_check_command(reef, "--answers", str(file))
        if facts["check"]["proven"]:
            break
    assert facts["check"]["proven"] and facts["next"] == []
    assert final_check_command(reef, "--deliver")["delivered"] > 100
    assert len(workspace.labels.current()[0]) == len(ids)


def test_the_command_refuses_images_that_were_not_drawn(reef, tmp_path):
    final_check_command(reef, "--start")
    file = tmp_path / "answers.csv"
    file.write_text("id,term\n999999,habitat 1\n", encoding="utf-8")
    outcome = CliRunner().invoke(
        app,
        ["labels", "final-check", "--answers", str(file), "--person", "Ann", "--workspace", str(reef[0].folder)],
    )
    assert isinstance(outcome.exception, BadInput) and "was not drawn" in str(outcome.exception)
