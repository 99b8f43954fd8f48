"""Crowd models with tables of names, and with numbers that would need gigabytes."""

import numpy as np
import pandas
import pytest

from benthoscope.engine.crowd import BayesianCrowdClustering, FactorizationCrowdClustering, as_judgements
from benthoscope.engine.crowd.estimator import named_judgements
from benthoscope.engine.problems import BadInput

KINDS = pytest.mark.parametrize("kind", [BayesianCrowdClustering, FactorizationCrowdClustering])
ITEMS = [f"image {letter}" for letter in "qwertyuiop"]
GROUP_OF = dict(zip(ITEMS, [0, 0, 0, 0, 0, 1, 1, 1, 1, 1], strict=True))


def answers():
    """Two workers, both of whom put the first five items together and the last five."""
    return pandas.DataFrame(
        [(worker, item, f"pile {group}") for worker in ("Ada", "Ben") for item, group in GROUP_OF.items()],
        columns=["worker", "item", "group"],
    )


def pairs():
    rows = [
        (a, b, worker, int(GROUP_OF[a] == GROUP_OF[b]), worker)
        for worker in ("Ada", "Ben")
        for n, a in enumerate(ITEMS)
        for b in ITEMS[n + 1 :]
    ]
    return pandas.DataFrame(rows, columns=["first", "second", "worker", "same", "task"])


class PlainTable:
    """A table that is not of pandas."""

    def __init__(self, table):
        self.columns = list(table.columns)
        self._values = {name: table[name].tolist() for name in table.columns}

    def __getitem__(self, name):
        return self._values[name]


def model_of(kind):
    if kind is FactorizationCrowdClustering:
        return kind(2, random_state=0)
    return kind(dimensions=(1, 2), restarts=1, random_state=0)


@KINDS
@pytest.mark.parametrize(
    "table",
    [answers(), pairs(), PlainTable(answers()), PlainTable(pairs())],
    ids=["answers", "pairs", "plain answers", "plain pairs"],
)
def test_a_table_gives_clusters_of_names(kind, table):
    model = model_of(kind).fit(table)
    assert model.item_names_.tolist() == ITEMS and model.worker_names_.tolist() == ["Ada", "Ben"]
    cluster_of = dict(zip(model.item_names_, model.labels_, strict=True))
    assert all((cluster_of[a] == cluster_of[b]) == (GROUP_OF[a] == GROUP_OF[b]) for a in ITEMS for b in ITEMS)


def test_both_tables_give_the_same_result_as_numbers():
    numbered = pairs().replace({name: number for number, name in enumerate([*ITEMS, "Ada", "Ben"])})
    numbered["worker"] -= len(ITEMS)
    numbered["task"] -= len(ITEMS)
    plain = as_judgements(numbered.to_numpy(int))
    for table in (pairs(), answers()):
        named = named_judgements(table)
        for column in ("first", "second", "worker", "same", "task"):
            np.testing.assert_array_equal(getattr(named, column), getattr(plain, column))


def test_names_work_after_the_fit():
    model = model_of(BayesianCrowdClustering).fit(pairs())
    together = model.predict_same([ITEMS[0], ITEMS[0]], [ITEMS[1], ITEMS[9]], ["Ada", "Ben"])
    assert together[0] > 0.5 > together[1]
    np.testing.assert_array_equal(
        together,
        BayesianCrowdClustering.predict_same(
            model_of(BayesianCrowdClustering).fit(named_judgements(pairs())),
            [ITEMS[0]] * 2,
            [ITEMS[1], ITEMS[9]],
            ["Ada", "Ben"],
        ),
    )
    assert model.score(pairs().iloc[::-1]) == pytest.approx(model.score(pairs()))
    assert set(model.exemplars(model.labels_[0], 5)) == set(ITEMS[:5])
    with pytest.raises(BadInput, match="item: 'a fish' is not among the 10 of the fit"):
        model.predict_same(["a fish"], [ITEMS[0]], ["Ada"])
    with pytest.raises(BadInput, match="'Cem' was not in the fit"):
        model.score(pairs().assign(worker="Cem"))


def test_an_update_keeps_the_order_of_names_and_adds_new_ones():
    model = model_of(BayesianCrowdClustering).fit(pairs())
    more_answers = pandas.concat(
        [
            answers().iloc[::-1],
            pandas.DataFrame(
                [("Cem", "a fish", "x"), ("Cem", ITEMS[0], "x"), ("Cem", ITEMS[9], "y")],
                columns=["worker", "item", "group"],
            ),
        ]
    )
    model.update(more_answers)
    assert model.item_names_.tolist() == [*ITEMS, "a fish"] and len(model.labels_) == 11
    assert model.worker_names_.tolist() == ["Ada", "Ben", "Cem"]
    assert not hasattr(model.fit([[0, 1, 0, 1], [1, 2, 0, 0], [0, 2, 0, 0]]), "item_names_")


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (pairs().rename(columns={"same": "equal"}), "rename the columns to first, second, worker, same"),
        (pairs().assign(first=[None, *pairs()["first"][1:]]), "judgements row 0: column first is empty"),
        (pairs().assign(same="perhaps"), "column same"),
        (pairs().assign(same=3), "write 1 or 0"),
        (pairs()[:0], "there are no judgements"),
        (answers().assign(group=None), "has no group"),
    ],
    ids=["columns", "no name", "text", "number", "no rows", "no groups"],
)
@KINDS
def test_a_table_that_cannot_be_used_is_rejected(kind, table, message):
    with pytest.raises(BadInput, match=message):
        model_of(kind).fit(table)


@pytest.mark.parametrize("row", [(0, 10**9, 0, 1), (0, 1, 10**9, 1), (0, 10**12, 0, 1), (2_000, 1, 0, 1)])
@KINDS
def test_numbers_with_large_gaps_are_rejected(kind, row):
    with pytest.raises(
        BadInput, match=rf"(items|workers) are numbered up to {max(row)}, but .* only 3 judgements; .*DataFrame"
    ):
        model_of(kind).fit([(0, 1, 0, 1), (1, 2, 0, 0), row])


@pytest.mark.parametrize("option", ["n_items", "n_workers"])
@KINDS
def test_room_for_a_thousand_million_is_rejected(kind, option):
    with pytest.raises(BadInput, match="numbered up to 1000000000"):
        model_of(kind).fit([(0, 1, 0, 1), (1, 2, 0, 0)], **{option: 10**9})


def test_a_campaign_with_many_images_that_nobody_judged_is_accepted():
    assert as_judgements([(0, 999_999, 0, 1)], n_items=1_000_000).n_items == 1_000_000
    assert as_judgements([(0, 1_000, 0, 1)]).n_items == 1_001
