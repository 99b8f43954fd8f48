"""The job that predicts a column of numbers, the test on blocks of a dive, the command and the REST routes."""

import csv
import io
import json

import httpx
import numpy as np
import pytest
from typer.testing import CliRunner

from benthoscope.app.cli import app as cli
from benthoscope.app.server.application import ServerSettings, create_app
from benthoscope.engine.analysis import predict_column
from benthoscope.engine.analysis.column_prediction import contiguous_blocks
from benthoscope.engine.exemplars import SparseGPRegressor
from benthoscope.engine.jobs import run_now
from benthoscope.engine.jobs.predict.predict_column import quality_sentence
from benthoscope.engine.labelling.numeric_columns import numeric_column, numeric_columns
from benthoscope.engine.problems import BadInput
from benthoscope.engine.workspace import NewImage, Workspace
from benthoscope.engine.workspace.labels.parts import part_act
from benthoscope.engine.workspace.labels.vocabularies import NewTerm
from benthoscope.engine.workspace.predictions import PredictionStore
from tests.loops import outcome

DIVE = 60  # images


def wandering(count, rng):
    """A path whose neighbours are similar, as descriptors along a dive are."""
    return np.cumsum(0.3 * rng.standard_normal((count, 3)), axis=0)


@pytest.fixture
def reef(tmp_path):
    """Two dives. The depth follows from the features, `noise` from nothing; the second half of dive two has no
    depth."""
    rng = np.random.default_rng(0)
    X = np.concatenate([wandering(DIVE, rng), wandering(DIVE, rng)])
    depth = 20 + 3 * X[:, 0]
    depth[DIVE + DIVE // 2 :] = np.nan
    noise = rng.standard_normal(len(X))
    with Workspace.create(tmp_path / "reef") as workspace:
        root, collection = workspace.library.register_root(tmp_path), workspace.library.collection("c").id
        groups = [workspace.library.group(collection, name).id for name in ("one", "two")]
        workspace.library.store_images(
            [
                NewImage(
                    root.id, f"{n:03}.jpg", groups[n // DIVE], 1, 1, f"{n:064x}", 8, 8,
                    taken_at=1e9 + n, depth=None if np.isnan(depth[n]) else float(depth[n]),
                    details={"noise": float(noise[n])},
                )
                for n in range(2 * DIVE)
            ]
        )  # fmt: skip
        with workspace.features.writer("deep", width=3, extractor={}) as features:
            features.append(workspace.library.columns("id")["id"], X)
        yield workspace


def test_the_measured_images_of_a_dive_are_cut_into_contiguous_blocks_of_equal_size():
    groups, order = np.repeat([1, 2], 10), np.arange(20)[::-1]
    measured = np.array([0, 2, 4, 6, 8, 9, 10, 11])
    block = contiguous_blocks(groups, order, measured, 3)
    assert (block[np.setdiff1d(np.arange(20), measured)] == -1).all()
    assert block[[9, 8, 6, 4, 2, 0]].tolist() == [0, 0, 1, 1, 2, 2]  # the order is reversed
    assert block[[11, 10]].tolist() == [0, 1]


def test_a_column_without_a_relation_to_the_descriptors_is_no_better_than_the_mean():
    rng = np.random.default_rng(1)
    X = wandering(120, rng)
    model = SparseGPRegressor(30, lengthscales="common", max_passes=1, kernel_rows=60)
    for values in (wandering(120, rng)[:, 0], rng.standard_normal(120)):
        quality = predict_column(X, values, np.zeros(120, int), np.arange(120), model=model, blocks=5).quality
        assert not quality.better and quality.blocks == 5
        sentence = quality_sentence(vars(quality), "m", "blocks of this dive", "the mean of the dive")
        assert " better than the mean of the dive: the typical error" in sentence
        assert ("no better" in sentence) == (quality.explained <= 0) and "5 blocks of this dive" in sentence


def test_random_folds_would_flatter_what_blocks_show():
    """A column that follows time, not the descriptor: only neighbours in time help, and blocks remove them."""
    rng = np.random.default_rng(3)
    X, values = wandering(150, rng), np.arange(150) / 15.0
    groups, model = np.zeros(150, int), SparseGPRegressor(40, lengthscales="common", max_passes=1, kernel_rows=80)
    by_blocks = predict_column(X, values, groups, np.arange(150), model=model, blocks=3).quality
    by_chance = predict_column(X, values, groups, rng.permutation(150), model=model, blocks=3).quality
    assert by_chance.better and by_chance.explained > by_blocks.explained + 0.3


def test_figures_of_quality_follow_from_the_predictions():
    rng = np.random.default_rng(2)
    X = wandering(120, rng)
    values = X[:, 0] + 0.1 * rng.standard_normal(120)
    values[100:] = np.nan
    predicted = predict_column(X, values, np.zeros(120, int), np.arange(120), blocks=4)
    rows = np.arange(100)
    errors = values[rows] - predicted.mean[rows]
    assert predicted.quality.error == pytest.approx(np.sqrt(np.mean(errors**2)), rel=1e-12)
    means = np.array([values[rows][predicted.block[rows] != block].mean() for block in predicted.block[rows]])
    assert predicted.quality.mean_error == pytest.approx(np.sqrt(np.mean((values[rows] - means) ** 2)), rel=1e-12)
    share = 1 - predicted.quality.error**2 / predicted.quality.mean_error**2
    assert predicted.quality.explained == pytest.approx(share, rel=1e-9) and predicted.quality.better
    assert predicted.quality.low < share < predicted.quality.high
    inside = (predicted.low[rows] <= values[rows]) & (values[rows] <= predicted.high[rows])
    assert inside.mean() == pytest.approx(0.9, abs=0.02)
    assert (predicted.block[100:] == -1).all() and (predicted.std > 0).all()


def test_dives_without_measurements_are_tested_on_whole_dives():
    rng = np.random.default_rng(4)
    X = np.concatenate([wandering(30, rng) for _ in range(5)])
    groups, values = np.repeat(np.arange(5), 30), 5 + X[:, 0]
    values[groups == 4] = np.nan
    predicted = predict_column(X, values, groups, np.arange(150), blocks=3)
    assert sorted(predicted.quality_of_group) == [0, 1, 2, 3]
    quality = predicted.quality_of_new_groups
    assert (quality.images, quality.blocks) == (120, 4)
    means = np.array([np.nanmean(values[groups != group]) for group in groups[:120]])
    assert quality.mean_error == pytest.approx(np.sqrt(np.mean((values[:120] - means) ** 2)), rel=1e-12)
    assert quality.better and np.isfinite(predicted.mean).all()
    values[groups > 1] = np.nan
    few = predict_column(X, values, groups, np.arange(150), blocks=3)
    assert few.quality_of_new_groups is None and np.isfinite(few.mean).all()


def test_the_mean_of_a_dive_is_part_of_its_prediction():
    """Dives at different depths with the same descriptors: a model without the dive could not tell them apart."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((120, 3))
    groups = np.arange(120) % 2
    predicted = predict_column(X, 100.0 * groups + X[:, 0], groups, np.arange(120), blocks=4)
    assert predicted.quality.better and predicted.quality.error < 0.5
    assert np.abs(predicted.mean - 100 * groups).max() < 5


def test_the_job_predicts_all_images_and_measures_the_error_on_blocks(reef):
    job = run_now(reef, "predict column", {"column": "depth", "blocks": 5})
    assert job.state == "done", job.error
    assert job.result["images"] == 2 * DIVE and job.result["measured"] == DIVE + DIVE // 2
    assert job.result["quality"]["better"] and job.result["quality"]["explained"] > 0.5
    assert [dive["name"] for dive in job.result["dives"]] == ["one", "two"]
    stored = PredictionStore(reef.folder).get(job.result["id"])
    X = reef.features.open("deep").X
    unmeasured = np.isnan(stored.values)
    assert unmeasured.sum() == DIVE // 2
    errors = np.abs(stored.mean - (20 + 3 * np.asarray(X)[:, 0]))
    assert np.median(errors[unmeasured]) < 1.5
    assert json.loads(json.dumps(dict(stored.facts)))["unit"] == "m"


def test_a_new_prediction_of_the_column_replaces_the_earlier_one(reef):
    first, other, again, dive = (
        run_now(reef, "predict column", {"blocks": 2, **parameters}).result["id"]
        for parameters in (
            {"column": "depth"}, {"column": "meta:noise"}, {"column": "depth"}, {"column": "depth", "dive": "one"},
        )
    )  # fmt: skip
    assert (first, other, again, dive) == (1, 2, 1, 3)
    store = PredictionStore(reef.folder)
    assert len(store.get(dive).image_ids) == DIVE
    assert len([path for path in (reef.folder / "predictions").iterdir() if path.is_dir()]) == 3
    store.remove(2)
    assert [each.id for each in store.all()] == [1, 3]
    (next((reef.folder / "predictions").glob("1.*")) / "mean.npy").write_bytes(b"nonsense")
    assert [each.id for each in store.all()] == [3] and len(store.problems()) == 1


def test_the_cover_of_a_term_is_its_share_of_points_or_the_label_of_the_image(reef):
    own = reef.vocabularies.add("own", [NewTerm(("Biota",)), NewTerm(("Biota", "kelp")), NewTerm(("sand",))])
    terms = {term.name: term.id for term in reef.vocabularies.terms(own.id)}
    ids, ann = reef.library.columns("id")["id"].tolist(), reef.people.named("Ann").id
    reef.labels.label(ann, ids[:10], terms["kelp"])
    reef.labels.label(ann, ids[10:30], terms["sand"])
    points = [(ids[0], (x, 5)) for x in range(4)]
    reef.labels.append_events(ann, [part_act(terms["kelp"], "point", points[:1], why="manual")])
    reef.labels.append_events(ann, [part_act(terms["sand"], "point", points[1:], why="manual")])
    for name in ("cover:Biota > kelp", "cover:Biota", "cover:kelp"):
        column = numeric_column(reef, name)
        assert column.values[0] == 0.25 and (column.values[1:10] == 1).all() and (column.values[10:30] == 0).all()
        assert np.isnan(column.values[30:]).all() and column.bounds == (0, 1)
    assert [column.name for column in numeric_columns(reef)] == [
        "depth", "meta:noise", "cover:Biota", "cover:Biota > kelp", "cover:sand",
    ]  # fmt: skip
    job = run_now(reef, "predict column", {"column": "cover:kelp", "blocks": 2})
    stored = PredictionStore(reef.folder).get(job.result["id"])
    for values in (stored.mean, stored.low, stored.high):
        assert values.min() >= 0 and values.max() <= 1


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"column": "depht"}, "did you mean 'depth'"),
        ({"column": "latitude"}, "only 0 images"),
        ({"column": "depth", "features": "colour"}, "colour"),
        ({"column": "depth", "dive": "tree"}, "tree"),
        ({"column": "depth", "blocks": 1}, "from 2 to 100"),
        ({"column": "depth", "dimensions": 0}, "at least 1"),
        ({"column": "depth", "active": 0}, "active"),
        ({"column": "cover:kelp"}, "kelp"),
    ],
)
def test_a_job_that_can_only_fail_is_rejected(reef, parameters, message):
    with pytest.raises(BadInput, match=message):
        run_now(reef, "predict column", parameters)


def test_the_command_lists_predicts_and_exports(reef, tmp_path):
    reef.close()
    folder = ["-w", str(tmp_path / "reef")]

    def run(*words):
        result = CliRunner().invoke(cli, ["predict", *words, *folder])
        assert result.exit_code == 0, result.output
        return result.stdout

    listed = json.loads(run("--json"))
    assert [column["name"] for column in listed["columns"]] == ["depth", "meta:noise"]
    assert listed["predictions"] == []
    told = run("depth", "--blocks", "3", "--csv", str(tmp_path / "depth.csv"))
    assert "Tested on 6 blocks of dives" in " ".join(told.split())
    rows = list(csv.DictReader((tmp_path / "depth.csv").open(encoding="utf-8")))
    assert len(rows) == 2 * DIVE and rows[0]["taken_at"].startswith("2001-09-09T01:46:40")
    assert rows[-1]["measured"] == "" and float(rows[-1]["low_90"]) < float(rows[-1]["predicted"])
    assert json.loads(run("--json"))["predictions"][0]["column"] == "depth"
    assert "Deleted prediction 1" in run("--delete", "1")


def test_the_routes_list_predictions_and_give_their_table(reef):
    api = create_app(reef, ServerSettings(token="", run_jobs=False))

    def request(path):
        async def go():
            transport = httpx.ASGITransport(api)
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
                return await client.get(f"/api/v1{path}")

        return outcome(go())

    assert [column["name"] for column in request("/predictions/columns").json()] == ["depth", "meta:noise"]
    assert request("/predictions").json() == [] and request("/predictions/1").status_code == 404
    run_now(reef, "predict column", {"column": "depth", "blocks": 2})
    assert request("/predictions").json() == [request("/predictions/1").json()]
    group = reef.library.groups()[1].id
    response = request(f"/predictions/1/images.csv?dive={group}")
    assert response.headers["content-disposition"] == 'attachment; filename="predicted_depth.csv"'
    rows = list(csv.DictReader(io.StringIO(response.text)))
    assert len(rows) == DIVE and {row["group"] for row in rows} == {"two"}
