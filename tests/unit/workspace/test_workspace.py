"""A workspace is one folder: made, opened, moved, copied, refused."""

import json
import shutil

import numpy as np
import pytest

from benthoscope.engine.problems import BadInput
from benthoscope.engine.workspace import NewCluster, NewRun, Workspace
from benthoscope.engine.workspace.labels.vocabularies import NewTerm


def test_the_ending_may_be_left_out(tmp_path):
    Workspace.create(tmp_path / "reef").close()
    assert (tmp_path / "reef.benthos" / "catalogue.sqlite").exists()
    with Workspace.open(tmp_path / "reef") as workspace:
        assert workspace.name == "reef"


def test_a_copy_on_another_disk_opens_with_everything_in_it(tmp_path):
    with Workspace.create(tmp_path / "reef") as made:
        made.library.collection("c")
        with made.features.writer("deep", width=2, extractor={}) as features:
            features.append(np.array([1, 2]), np.ones((2, 2)))
        made.runs.add(NewRun("r", "gmc", "deep", {}, {}, {}), {"labels": np.array([0, 1])}, [NewCluster(0, 1)])
    shutil.copytree(tmp_path / "reef.benthos", tmp_path / "copy.benthos")
    shutil.rmtree(tmp_path / "reef.benthos")
    with Workspace.open(tmp_path / "copy") as copy:
        assert [collection.name for collection in copy.library.collections()] == ["c"]
        assert copy.features.open("deep").X.shape == (2, 2)
        np.testing.assert_array_equal(copy.runs.current().array("labels"), [0, 1])


def test_a_folder_with_something_in_it_is_not_made_a_workspace(tmp_path):
    (tmp_path / "reef.benthos").mkdir()
    (tmp_path / "reef.benthos" / "thesis.txt").write_text("years of work")
    with pytest.raises(BadInput, match="not empty"):
        Workspace.create(tmp_path / "reef")
    assert (tmp_path / "reef.benthos" / "thesis.txt").exists()


def test_a_folder_that_is_no_workspace_is_reported_with_the_way_to_make_one(tmp_path):
    with pytest.raises(BadInput, match="benthoscope init reef"):
        Workspace.open(tmp_path / "reef")


@pytest.mark.parametrize("content", ["", "{", "[]", '{"id": 1}', '{"id": "x", "name": "n", "format": 1, "x": 3}'])
def test_a_damaged_description_is_reported_plainly(tmp_path, content):
    Workspace.create(tmp_path / "reef").close()
    (tmp_path / "reef.benthos" / "workspace.json").write_text(content)
    with pytest.raises(BadInput, match="cannot be read"):
        Workspace.open(tmp_path / "reef")


def test_a_workspace_of_a_newer_version_is_left_alone(tmp_path):
    Workspace.create(tmp_path / "reef").close()
    path = tmp_path / "reef.benthos" / "workspace.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"format": 99}))
    with pytest.raises(BadInput, match="update Benthoscope"):
        Workspace.open(tmp_path / "reef")


@pytest.mark.postgres
def test_a_database_holds_one_workspace_only(tmp_path, postgres_database):
    Workspace.create(tmp_path / "one", database=postgres_database).close()
    with pytest.raises(BadInput, match="already contains the workspace 'one'"):
        Workspace.create(tmp_path / "two", database=postgres_database)


# --- runs


@pytest.fixture
def runs(workspace):
    for name in ("first", "second", "third"):
        workspace.runs.add(
            NewRun(name, "gmc", "deep", {"width": 0.05}, {"seed": 0}, {"clusters": 2}),
            {"labels": np.arange(4), "bound": 1.5},
            [NewCluster(0, 3), NewCluster(1, 1)],
        )
    return workspace.runs


def test_the_first_run_is_current_until_another_is_chosen(runs):
    assert runs.current().name == "first"
    runs.choose(runs.named("third").id)
    assert [run.name for run in runs.all() if run.current] == ["third"]


def test_a_deleted_run_can_be_brought_back_until_it_is_purged(runs):
    second = runs.named("second")
    runs.delete(second.id)
    assert [run.name for run in runs.all()] == ["first", "third"]
    runs.restore(second.id)
    runs.delete(second.id)
    assert runs.purge() == 1
    assert not second.folder.exists()
    with pytest.raises(BadInput, match="no run"):
        runs.get(second.id)


def test_a_run_that_labels_refer_to_is_never_purged(workspace, runs):
    person, words = workspace.people.named("Ann"), workspace.vocabularies.add("v", [NewTerm(("sand",))])
    first = runs.named("first")
    workspace.labels.label(person.id, [1], workspace.vocabularies.terms(words.id)[0].id, run_id=first.id)
    runs.delete(first.id)
    assert runs.purge() == 0
    assert runs.get(first.id).arrays()["bound"] == 1.5


def test_a_run_is_found_by_number_or_name_and_a_slip_is_answered_with_the_nearest(runs):
    assert runs.named(str(runs.named("first").id)).name == "first"
    with pytest.raises(BadInput, match="did you mean 'second'"):
        runs.named("secnd")


def test_clusters_come_back_by_number(runs):
    assert [(cluster.number, cluster.size) for cluster in runs.clusters(runs.current().id)] == [(0, 3), (1, 1)]
