"""The job that chooses the exemplars of a run, the command and the REST route for it."""

import json

import httpx
import numpy as np
import pytest
from typer.testing import CliRunner

from benthoscope.app.cli import app as cli
from benthoscope.app.server.application import ServerSettings, create_app
from benthoscope.engine.jobs import run_now
from benthoscope.engine.jobs.cluster.exemplars import has_exemplars, read_exemplars, store_exemplars
from benthoscope.engine.problems import BadInput
from benthoscope.engine.workspace import NewCluster, NewImage, NewRun, Workspace
from tests.loops import outcome

LABELS = np.arange(120) % 3


@pytest.fixture
def reef(tmp_path):
    """120 images in three clusters; the last ten have no features."""
    rng = np.random.default_rng(0)
    with Workspace.create(tmp_path / "reef") as made:
        group = made.library.group(made.library.collection("c").id, "dive")
        root = made.library.register_root(tmp_path)
        made.library.store_images([NewImage(root.id, f"{n}.jpg", group.id, 1, 1, "a" * 64, 8, 8) for n in range(120)])
        ids = made.library.columns("id")["id"]
        with made.features.writer("deep", width=4, extractor={}) as features:
            features.append(ids[:110], 20 * np.eye(4)[LABELS[:110]] + rng.standard_normal((110, 4)))
        arrays = {"image_ids": ids, "labels": LABELS.astype(np.int32), "probability": np.ones(120, np.float32)}
        run = NewRun("first", "gmc", "deep", {}, {}, {"clusters": 3, "images": 120})
        made.runs.add(run, arrays, [NewCluster(k, 40) for k in range(3)])
        yield made


def members(workspace, cluster):
    return set(workspace.library.columns("id")["id"][:110][LABELS[:110] == cluster].tolist())


def test_the_job_stores_nine_members_of_every_cluster_beside_the_run(reef):
    job = run_now(reef, "exemplars", {})
    assert job.state == "done", job.error
    table = read_exemplars(reef.runs.current())
    assert table.shape == (3, 9) and job.result == {"run": 1, "name": "first", "clusters": 3, "images": 27}
    for cluster in range(3):
        assert len(set(table[cluster].tolist())) == 9 and set(table[cluster].tolist()) <= members(reef, cluster)


def test_images_whose_file_was_replaced_are_no_exemplars(reef, monkeypatch):
    ids = reef.library.columns("id")["id"]
    replaced = {int(number): ("b" * 64, reef.runs.current().began_at + 1) for number in ids[:100]}
    monkeypatch.setattr(type(reef.library), "replaced_images", lambda self: replaced)
    table = store_exemplars(reef, reef.runs.current())
    assert set(table[table >= 0].tolist()) == set(ids[100:110].tolist())


def test_a_damaged_table_counts_as_none(reef):
    store_exemplars(reef, reef.runs.current())
    (reef.runs.current().folder / "exemplars.npy").write_bytes(b"nonsense")
    assert not has_exemplars(reef.runs.current())


def test_without_a_run_or_features_the_job_is_rejected(reef):
    with pytest.raises(BadInput, match="no run 7"):
        run_now(reef, "exemplars", {"run": 7})
    reef.features.remove("deep")
    with pytest.raises(BadInput, match="no feature set of whole images"):
        run_now(reef, "exemplars", {})


def test_clustering_stores_the_exemplars_of_its_run(reef):
    job = run_now(reef, "cluster", {"features": "deep", "levels": False})
    assert job.state == "done", job.error
    run = reef.runs.get(job.result["run"])
    table = read_exemplars(run)
    labels = dict(zip(run.array("image_ids").tolist(), run.array("labels").tolist(), strict=True))
    assert len(table) == run.summary["clusters"]
    for cluster, row in enumerate(table):
        assert (row >= 0).any() and {labels[number] for number in row[row >= 0].tolist()} == {cluster}


def test_the_command_chooses_and_prints_the_file_names(reef, tmp_path):
    reef.close()
    result = CliRunner().invoke(cli, ["runs", "exemplars", "1", "-w", str(tmp_path / "reef"), "--json"])
    assert result.exit_code == 0, result.output
    printed = json.loads(result.stdout)
    assert printed["run"] == 1 and [entry["cluster"] for entry in printed["clusters"]] == [0, 1, 2]
    assert all(
        len(entry["images"]) == 9 and entry["images"][0]["file"].endswith(".jpg") for entry in printed["clusters"]
    )


def test_the_route_gives_the_ids_once_they_are_chosen(reef):
    api = create_app(reef, ServerSettings(token="", run_jobs=False))

    async def request():
        transport = httpx.ASGITransport(api)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.get("/api/v1/runs/1/exemplars")

    assert outcome(request()).status_code == 404
    table = store_exemplars(reef, reef.runs.get(1))
    assert outcome(request()).json() == [
        {"cluster": number, "images": row.tolist()} for number, row in enumerate(table)
    ]
