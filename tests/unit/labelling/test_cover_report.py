"""Cover of a workspace: only answered random draws are evidence about other images."""

import numpy as np
import pytest

from benthoscope.engine.jobs import run_now
from benthoscope.engine.labelling.accuracy.random_draws import answer, ask_for, next_page, progress
from benthoscope.engine.labelling.cover.evidence import CANNOT_TELL, gather, to_ask_again
from benthoscope.engine.labelling.cover.guesses import GuessStore
from benthoscope.engine.labelling.cover.report import EVERYWHERE, NOT_RANDOM, as_csv, cover_of, term_names
from benthoscope.engine.workspace import NewImage, Workspace
from benthoscope.engine.workspace.labels.sampling import Parent
from benthoscope.engine.workspace.labels.vocabularies import NewTerm

pytestmark = pytest.mark.thorough

N = 900
SHARES = (0.55, 0.3, 0.1, 0.05)
NAMES = (("substrate", "sand"), ("substrate", "rock"), ("biota", "coral"), ("biota", "kelp"))


class Campaign:
    """900 images in three dives whose true terms are known."""

    def __init__(self, made, folder, features=True):
        rng = np.random.default_rng(0)
        root, collection = made.library.register_root(folder), made.library.collection("PS1").id
        self.workspace, self.dives = made, [made.library.group(collection, name).id for name in ("a", "b", "c")]
        self.truth = rng.choice(4, N, p=SHARES)
        self.dive = np.repeat(self.dives, [500, 300, 100])
        self.ids = np.array(
            made.library.store_images(
                [NewImage(root.id, f"{n}.jpg", int(self.dive[n]), 1, 1, f"{n:064}", 320, 240) for n in range(N)]
            )
        )
        words = made.vocabularies.add("own", [NewTerm(path) for path in (("substrate",), ("biota",), *NAMES)])
        by_path = {term.path: term.id for term in made.vocabularies.terms(words.id)}
        self.terms, self.parents = [by_path[path] for path in NAMES], [by_path["substrate",], by_path["biota",]]
        self.ann = made.people.named("Ann").id
        X = (2.5 * np.eye(6)[self.truth] + rng.standard_normal((N, 6))).astype(np.float32)
        with made.features.writer("deep", width=6, extractor={}) as features:
            features.append(self.ids, X)

    def term_of(self, image):
        row = int(np.searchsorted(self.ids, image))
        return self.terms[self.truth[row] if row < N else 0]

    def label(self, rows, **settings):
        for kind in np.unique(self.truth[rows]):
            ids = self.ids[rows][self.truth[rows] == kind]
            self.workspace.labels.label(self.ann, ids, self.terms[kind], **settings)

    def answer_random(self, count, parent=None):
        """Asks for random images and answers them truthfully, with the second looks that follow."""
        parent_option = {} if parent is None else {"parent": parent}
        ask_for(self.workspace, self.ann, count, **parent_option)
        while len(page := next_page(self.workspace, self.ann, 25, **parent_option).draws):
            answer(self.workspace, self.ann, {draw.image_id: self.term_of(draw.image_id) for draw in page})

    def shares(self, group=EVERYWHERE, **settings):
        report = cover_of(self.workspace, **settings)
        return {row.term_id: row.share for row in report.rows if row.group_id == group}

    def true_share(self, kind, dive=None):
        return float((self.truth[(self.dive == dive) | (dive is None)] == kind).mean())


@pytest.fixture
def campaign(tmp_path):
    (tmp_path / "images").mkdir()
    with Workspace.create(tmp_path / "reef") as made:
        yield Campaign(made, tmp_path / "images")


# --- the whitelist (acceptance test 1)


def by_hand(campaign, rows):
    for row in rows:
        campaign.label(np.array([row]))


HANDS = {
    "one by one": by_hand,
    "manual": lambda campaign, rows: campaign.label(rows),
    "bulk": lambda campaign, rows: campaign.label(rows, why="bulk"),
    "review": lambda campaign, rows: campaign.label(rows, why="review"),
    "verification": lambda campaign, rows: (campaign.label(rows), campaign.label(rows, why="verification")),
    "resolved": lambda campaign, rows: campaign.label(rows, why="resolved"),
    "sorting": lambda campaign, rows: campaign.label(rows, rule={"queue": "sort"}),
    "import": lambda campaign, rows: campaign.label(rows, why="import"),
    "random queue of an earlier version": lambda campaign, rows: campaign.label(rows, rule={"queue": "random"}),
    "cover queue of an earlier version": lambda campaign, rows: campaign.label(rows, rule={"queue": "cover"}),
}


@pytest.mark.parametrize("hand", HANDS)
def test_labels_that_answer_no_draw_never_make_an_estimate(campaign, hand):
    coral, positions = np.flatnonzero(campaign.truth == 2)[:10], np.flatnonzero(campaign.truth != 2)[:10]
    HANDS[hand](campaign, np.sort(np.concatenate([coral, positions])))
    report = cover_of(campaign.workspace)
    assert all(row.share.estimate is None for row in report.rows)
    assert all(row.share.method.startswith(NOT_RANDOM) for row in report.rows if row.group_id == EVERYWHERE)
    share = campaign.shares()[campaign.terms[2]]
    looked = hand not in ("bulk", "review")
    assert share.low == pytest.approx(10 / N if looked else 0)
    assert share.high == pytest.approx((N - 10) / N if looked else 1)
    assert not report.groups[0].estimated


def test_nothing_labelled_is_no_error_and_no_figure(campaign):
    report = cover_of(campaign.workspace)
    assert report.rows == () and report.groups[0].remark == NOT_RANDOM and report.groups[0].other_at_most == 1


# --- estimates


def test_estimates_of_exclusive_terms_sum_to_one_and_lie_in_their_intervals(campaign):
    campaign.label(np.flatnonzero(campaign.truth == 2)[:20])  # hunted before: known, and nothing more
    campaign.answer_random(100)
    report = cover_of(campaign.workspace)
    for group in report.groups:
        shares = [row.share for row in report.rows if row.group_id == group.group_id]
        assert sum(share.estimate for share in shares) == pytest.approx(1, abs=1e-9)
        assert all(share.low <= share.estimate <= share.high for share in shares)
    for kind in range(4):
        share = campaign.shares()[campaign.terms[kind]]
        assert share.low <= campaign.true_share(kind) <= share.high
        assert share.draws == 100 and share.labelled == 120 and share.high - share.low < 0.25
    assert "100 random images, 20 other labels counted" in report.groups[0].remark


def test_parents_are_the_sums_of_their_children(campaign):
    campaign.answer_random(100)
    children, parents = campaign.shares(), campaign.shares(level=1)
    for parent, kinds in zip(campaign.parents, ((0, 1), (2, 3)), strict=True):
        assert parents[parent].estimate == pytest.approx(
            sum(children[campaign.terms[kind]].estimate for kind in kinds), abs=1e-9
        )
        assert parents[parent].low >= max(children[campaign.terms[kind]].low for kind in kinds)


def test_selective_labels_after_the_draws_do_not_bias_the_estimate(campaign):
    campaign.answer_random(100)
    before = campaign.shares()
    coral = np.flatnonzero(campaign.truth == 2)
    campaign.label(coral[: int(0.8 * len(coral))])
    after = campaign.shares()
    term = campaign.terms[2]
    assert after[term].estimate == pytest.approx(before[term].estimate, abs=0.01)
    assert after[term].low <= campaign.true_share(2) <= after[term].high
    assert after[term].low >= len(coral) * 0.79 / N  # images that were seen have a known term


def test_several_waves_are_put_together(campaign):
    campaign.answer_random(60)
    coral = np.flatnonzero(campaign.truth == 2)
    campaign.label(coral[: int(0.8 * len(coral))])
    shares = campaign.shares()[campaign.terms[0]]
    campaign.answer_random(120)
    two = campaign.shares()[campaign.terms[0]]
    assert two.draws == 180 and two.high - two.low < shares.high - shares.low
    assert two.low <= campaign.true_share(0) <= two.high
    assert sum(share.estimate for share in campaign.shares().values()) == pytest.approx(1, abs=1e-9)


def test_selective_labels_start_a_new_wave_with_the_same_budget(campaign):
    ask_for(campaign.workspace, campaign.ann, 60)
    page = next_page(campaign.workspace, campaign.ann, 20).draws
    answer(campaign.workspace, campaign.ann, {draw.image_id: campaign.term_of(draw.image_id) for draw in page})
    campaign.label(np.flatnonzero(campaign.truth == 1)[:200])
    while len(page := next_page(campaign.workspace, campaign.ann, 20).draws):
        answer(campaign.workspace, campaign.ann, {draw.image_id: campaign.term_of(draw.image_id) for draw in page})
    draws = campaign.workspace.sampling.draws("cover")
    assert [sum(draw.wave == wave for draw in draws) for wave in (1, 2)] == [20, 40]
    share = campaign.shares()[campaign.terms[1]]
    assert share.draws == 60 and share.low <= campaign.true_share(1) <= share.high


def test_all_images_drawn_are_counted_completely(campaign):
    campaign.answer_random(N)
    for kind in range(4):
        share = campaign.shares()[campaign.terms[kind]]
        assert share.low == share.high == share.estimate == pytest.approx(campaign.true_share(kind))
        assert share.method == "counted in full"
    assert sum(campaign.true_share(kind, campaign.dives[1]) for kind in range(4)) == pytest.approx(1)


def test_few_draws_are_marked_as_a_first_impression(campaign):
    campaign.answer_random(12)
    assert all("first impression" in share.method for share in campaign.shares().values())


def test_bulk_labels_are_guesses_and_not_the_truth(campaign):
    wrong = np.flatnonzero(campaign.truth == 1)[:120]
    campaign.workspace.labels.label(campaign.ann, campaign.ids[wrong], campaign.terms[3], why="bulk")
    campaign.label(np.flatnonzero(campaign.truth == 0), why="bulk")
    campaign.answer_random(150)
    shares = campaign.shares()
    for kind in range(4):
        assert shares[campaign.terms[kind]].low <= campaign.true_share(kind) <= shares[campaign.terms[kind]].high
    assert shares[campaign.terms[3]].estimate < 0.12  # 120 of 900 images wear the wrong label
    sand = shares[campaign.terms[0]]
    assert sand.high - sand.low < 0.1  # the correct bulk label helps: 0.15 is not reached without it


def test_the_model_is_cross_fitted_over_the_draws(campaign):
    campaign.answer_random(150)
    plain = campaign.shares()
    run_now(campaign.workspace, "learn")
    guesses = GuessStore(campaign.workspace.folder).get()
    assert guesses.facts["draws"] == 150 and len(guesses.terms) == N
    helped = campaign.shares()
    width = [np.mean([share.high - share.low for share in shares.values()]) for shares in (plain, helped)]
    assert width[1] < 0.9 * width[0]
    for kind in range(4):
        assert helped[campaign.terms[kind]].low <= campaign.true_share(kind) <= helped[campaign.terms[kind]].high


# --- dives


def test_dives_without_draws_have_bounds_and_are_marked(campaign):
    campaign.answer_random(60, Parent("dive", campaign.dives[0]))
    report = cover_of(campaign.workspace)
    everywhere, first, second, _ = report.groups
    assert first.estimated and not second.estimated and not everywhere.estimated
    assert everywhere.drawn_images == 500 and "they represent 500 of 900 images" in everywhere.remark
    assert sum(estimate for _, estimate, _, _ in everywhere.of_drawn) == pytest.approx(1)
    sand = campaign.shares()[campaign.terms[0]]
    alone = campaign.shares(campaign.dives[0])[campaign.terms[0]]
    assert sand.low == pytest.approx(alone.low * 500 / N, abs=0.01)
    assert sand.high == pytest.approx((alone.high * 500 + 400) / N, abs=0.01)


def test_unequal_sampling_rates_give_correct_totals(campaign):
    for dive, count in zip(campaign.dives, (40, 40, 40), strict=True):
        campaign.answer_random(count, Parent("dive", dive))
    shares = campaign.shares()
    assert sum(share.estimate for share in shares.values()) == pytest.approx(1, abs=1e-9)
    for kind in range(4):
        assert shares[campaign.terms[kind]].low <= campaign.true_share(kind) <= shares[campaign.terms[kind]].high
    assert campaign.shares() == shares  # the repeats of the posterior have a fixed seed


def test_new_images_are_not_covered_by_older_draws(campaign):
    campaign.answer_random(100)
    root = campaign.workspace.library.register_root(campaign.workspace.folder.parent / "images")
    campaign.workspace.library.store_images(
        [NewImage(root.id, f"new{n}.jpg", campaign.dives[0], 1, 1, f"{n + N:064}", 320, 240) for n in range(100)]
    )
    sand = campaign.shares()[campaign.terms[0]]
    assert sand.estimate is None and "they represent 900 of 1,000 images" in sand.method
    campaign.answer_random(60)
    assert campaign.shares()[campaign.terms[0]].estimate is not None


# --- open draws, cannot tell, slips


def test_open_draws_count_both_ways_and_many_of_them_forbid_an_estimate(campaign):
    campaign.answer_random(60)
    closed = campaign.shares()[campaign.terms[0]]
    ask_for(campaign.workspace, campaign.ann, 10)
    page = next_page(campaign.workspace, campaign.ann, 10).draws
    open_ = campaign.shares()[campaign.terms[0]]
    assert open_.estimate is None and "answer 10 open random images first" in open_.method
    assert open_.low < closed.low and open_.high > closed.high
    answer(campaign.workspace, campaign.ann, {draw.image_id: campaign.term_of(draw.image_id) for draw in page[:8]})
    assert campaign.shares()[campaign.terms[0]].estimate is not None  # 2 of 70 are open


def test_cannot_tell_is_a_term_of_its_own(campaign):
    ask_for(campaign.workspace, campaign.ann, 50)
    page = next_page(campaign.workspace, campaign.ann, 50).draws
    answer(
        campaign.workspace,
        campaign.ann,
        {draw.image_id: None if at < 5 else campaign.term_of(draw.image_id) for at, draw in enumerate(page)},
    )
    shares = campaign.shares(level=1)
    assert 0.02 < shares[CANNOT_TELL].estimate < 0.2
    assert sum(share.estimate for share in shares.values()) == pytest.approx(1, abs=1e-9)
    names = term_names(campaign.workspace)
    assert "cannot tell" in as_csv(
        cover_of(campaign.workspace).rows, {EVERYWHERE: "all"} | dict.fromkeys(campaign.dives, "dive"), names
    )


def test_rare_terms_get_second_answers_and_a_third_answer_settles(campaign):
    workspace, ann = campaign.workspace, campaign.ann
    ask_for(workspace, ann, 60)
    page = next_page(workspace, ann, 60).draws
    victim = next(draw.image_id for draw in page if campaign.term_of(draw.image_id) == campaign.terms[0])
    kelp, sand = campaign.terms[3], campaign.terms[0]
    answer(
        workspace,
        ann,
        {draw.image_id: kelp if draw.image_id == victim else campaign.term_of(draw.image_id) for draw in page},
    )
    assert "need a second look" in str(cover_of(workspace).slips)
    again = next_page(workspace, ann, 60)
    assert again.second and victim in again.images
    assert set(again.images.tolist()) == {draw.image_id for draw in to_ask_again(gather(workspace).draws)}
    answer(workspace, ann, {int(image): campaign.term_of(image) for image in again.images})
    third = next_page(workspace, ann, 60)
    assert third.images.tolist() == [victim]
    events = workspace.labels.last_number()
    answer(workspace, ann, {victim: sand})
    assert (
        workspace.labels.last_number() == events + 1
        and workspace.labels.current_terms()[1][np.searchsorted(workspace.labels.current()[0], victim)] == sand
    )
    assert not len(next_page(workspace, ann, 60).draws)
    assert "labelled twice: 1 answer differed" in str(cover_of(workspace).slips)
    assert progress(workspace).again == 0 and progress(workspace).remaining == 0


# --- the life of draws


def test_figures_are_the_same_after_the_workspace_was_closed(campaign):
    campaign.answer_random(80)
    before = cover_of(campaign.workspace)
    with Workspace.open(campaign.workspace.folder) as again:
        assert cover_of(again) == before


def test_undoing_an_answer_asks_the_same_image_again(campaign):
    campaign.answer_random(50)
    events = campaign.workspace.labels.events()
    campaign.workspace.labels.undo(campaign.ann, events[-1].number)
    waiting = [draw.image_id for draw in campaign.workspace.sampling.open_draws("cover")]
    assert waiting and set(waiting) == set(events[-1].images.tolist())
    assert next_page(campaign.workspace, campaign.ann, 50).images.tolist() == waiting


# --- audits


def audit(campaign, event, count, wrong=0):
    """Audit random images of a bulk label; the first `wrong` of them are answered as wrong."""
    store = campaign.workspace.sampling
    audit_event = campaign.workspace.labels.event(event)
    frame = store.open_frame("audit", Parent("event", event), audit_event.images, campaign.ann, seed=event)
    for at, draw in enumerate(store.draw(frame, count)):
        store.record_answer(draw, None if at < wrong else audit_event.term_id, campaign.ann)


def test_audits_without_random_draws_give_bounds_and_no_estimate(campaign):
    sand = np.flatnonzero(campaign.truth == 0)
    event = campaign.workspace.labels.label(campaign.ann, campaign.ids[sand], campaign.terms[0], why="bulk")
    alone = campaign.shares()[campaign.terms[0]]
    assert (alone.estimate, alone.low, alone.high) == (None, 0, 1)  # a bulk label alone is no evidence
    audit(campaign, event, 60)
    share = campaign.shares()[campaign.terms[0]]
    assert share.estimate is None and 0.9 * len(sand) / N < share.low <= len(sand) / N and share.high == 1
    audit_of_others = np.flatnonzero(campaign.truth == 1)
    event = campaign.workspace.labels.label(campaign.ann, campaign.ids[audit_of_others], campaign.terms[1], why="bulk")
    audit(campaign, event, 60, wrong=2)
    share = campaign.shares()[campaign.terms[0]]
    assert share.estimate is None and share.high < 1 - 0.8 * len(audit_of_others) / N


def test_audits_improve_an_estimate_as_separate_cells(campaign):
    sand = np.flatnonzero(campaign.truth == 0)
    event = campaign.workspace.labels.label(campaign.ann, campaign.ids[sand], campaign.terms[0], why="bulk")
    audit(campaign, event, 120)
    campaign.answer_random(60)
    share = campaign.shares()[campaign.terms[0]]
    assert share.low <= campaign.true_share(0) <= share.high and share.draws == 180
    assert sum(value.estimate for value in campaign.shares().values()) == pytest.approx(1, abs=1e-9)
    campaign.workspace.labels.undo(campaign.ann, event)
    assert campaign.shares()[campaign.terms[0]].draws == 60  # an undone event is no longer a cell
