"""What the views of images fetch over REST."""

import csv
import io

import numpy as np
import pytest
from fastapi.testclient import TestClient
from PIL import Image as Picture

from benthoscope.app.server.application import ServerSettings, create_app
from benthoscope.engine.features import pack_mask
from benthoscope.engine.features.masks import MaskFile
from benthoscope.engine.workspace import NewCluster, NewImage, NewRun, Workspace
from benthoscope.engine.workspace.labels.vocabularies import NewTerm


@pytest.fixture
def reef(tmp_path):
    """A dive of 20 images taken backwards, and an album of two; the dive is clustered."""
    with Workspace.create(tmp_path / "reef") as made:
        root = made.library.register_root(tmp_path)
        for kind, name, count in (("campaign", "dive", 20), ("albums", "beach", 2)):
            group = made.library.group(made.library.collection(name, kind).id, name)
            made.library.store_images(
                [
                    NewImage(root.id, f"{name}/{n:02d}, a.jpg", group.id, 1, 1, "a" * 64, 8, 8, taken_at=1e9 - n)
                    for n in range(count)
                ]
            )
        ids = made.library.columns("id")["id"]
        arrays = {
            "image_ids": ids[:20],
            "labels": np.arange(20, dtype=np.int32) % 2,
            "probability": np.full(20, 0.75, "f4"),
        }
        run = NewRun("first", "gmc", "deep", {}, {}, {"clusters": 2})
        made.runs.add(run, arrays, [NewCluster(k, 10) for k in (0, 1)])
        yield made


@pytest.fixture
def client(reef):
    app = create_app(reef, ServerSettings(token="", run_jobs=False))
    return TestClient(app, base_url="http://127.0.0.1")


def test_an_array_arrives_as_it_was_put_on_the_shelf_and_may_be_kept_for_ever(client):
    address = client.app.state.app.arrays.put(np.arange(5, dtype=">i4"))
    answer = client.get(address)
    assert np.frombuffer(answer.content, "<i4").tolist() == [0, 1, 2, 3, 4]
    assert "immutable" in answer.headers["cache-control"]


def test_an_unknown_array_says_what_to_do(client):
    answer = client.get("/api/v1/arrays/nothing")
    assert answer.status_code == 404 and "reload" in answer.json()["error"]["remedy"]


def test_a_script_sends_images_to_explore(client):
    wish = {"images": [5, 2], "text": "Two images", "back": "/runs"}
    answer = client.post("/api/v1/explore/selections", json=wish)
    key = answer.json()["href"].partition("=")[2]
    assert answer.status_code == 201 and client.app.state.app.sent_selections.get(key).images.tolist() == [2, 5]
    assert client.post("/api/v1/explore/selections", json={**wish, "images": []}).status_code == 422


def test_an_image_comes_with_its_cluster_and_its_neighbours_in_the_order_they_were_taken(client):
    content = client.get("/api/v1/images/10/around").json()
    assert (content["kind"], content["group"], content["cluster"], content["probability"]) == ("Dive", "dive", 1, 0.75)
    assert content["track"] == [14, 13, 12, 11, 10, 9, 8, 7, 6]
    assert client.get("/api/v1/images/20/around").json()["track"] == [20, 19, 18, 17, 16]


def test_an_image_outside_the_run_has_no_cluster(client):
    content = client.get("/api/v1/images/21/around").json()
    assert (content["kind"], content["cluster"], content["label"]) == ("Album", None, None)
    assert client.get("/api/v1/images/99/around").status_code == 404


def test_a_selection_becomes_a_table_in_its_own_order(client, reef):
    kelp = reef.vocabularies.terms(reef.vocabularies.add("Words", [NewTerm(("Kelp",))]).id)[0]
    reef.labels.label(reef.people.named("Ada").id, [3], kelp.id)
    address = client.app.state.app.arrays.put(np.array([3, 1, 22]))
    rows = list(csv.DictReader(io.StringIO(client.get(f"{address}/images.csv?run=1").text)))
    assert [row["image_id"] for row in rows] == ["3", "1", "22"]
    assert rows[0]["path"] == "dive/02, a.jpg" and rows[0]["cluster"] == "0" and rows[2]["cluster"] == ""
    assert [row["label"] for row in rows] == ["Kelp", "", ""]
    assert rows[0]["taken_at"].startswith("2001-09-09T01:46:38")


def test_saved_views_are_listed_with_their_addresses(client, reef):
    view = reef.views.save("explore", "deep", {"dive": "2", "colour": "depth"}, "Ada")
    reef.views.save("review", "elsewhere", {}, "Ada")
    expected = {"name": "deep", "href": "/explore?dive=2&colour=depth", "person": "Ada", "at": view.at}
    assert client.get("/api/v1/views").json() == [expected]


def test_saved_selections_are_listed_and_read(client, reef):
    saved = reef.selections.save(reef.people.named("Ada").id, "edge", np.array([5, 2]), {"tool": "lasso"})
    assert client.get("/api/v1/selections").json() == [{"id": saved.id, "name": "edge", "images": 2}]
    assert client.get(f"/api/v1/selections/{saved.id}").json()["images"] == [2, 5]


@pytest.fixture
def segmented(reef):
    """Image 1 has two halves, the left in cluster 0, the right in cluster 1."""
    with reef.features.writer("parts", width=1, extractor={}, level="segment") as features:
        features.append([1], np.zeros((2, 1)), [2])
    mask = np.repeat([[0, 1]], 4, axis=0).repeat(3, axis=1)
    MaskFile(reef.features.open("parts").folder).append([1], [pack_mask(mask)])
    arrays = {"image_ids": np.array([1]), "labels": np.zeros(1, np.int32), "segment_labels": np.array([0, 1], np.int32)}
    return reef.runs.add(NewRun("parts", "scm", "parts", {}, {}, {"clusters": 1}), arrays, [NewCluster(0, 1)])


def test_segments_lie_over_an_image_with_borders_and_the_colours_of_their_clusters(client, segmented):
    assert client.get(f"/api/v1/images/1/around?run={segmented.id}").json()["segments"] is True
    answer = client.get(f"/api/v1/images/1/segments.png?run={segmented.id}")
    pixels = np.asarray(Picture.open(io.BytesIO(answer.content)))
    assert pixels.shape == (4, 6, 4) and (pixels[:, 2] == 255).all()
    assert (pixels[0, 0] != pixels[0, 5]).any() and 0 < pixels[0, 0, 3] < 255


def test_segments_a_run_did_not_cluster_are_drawn_as_borders_alone(client, segmented):
    pixels = np.asarray(Picture.open(io.BytesIO(client.get("/api/v1/images/1/segments.png?run=1").content)))
    assert (pixels[:, 2] == 255).all() and (pixels[:, [0, 1, 3, 4, 5], 3] == 0).all()
    assert client.get("/api/v1/images/2/segments.png?run=1").status_code == 404
