"""Objects of a run: what is counted, what stands for them, what they are called, where they are looked for."""

import io

import numpy as np
import pytest
from fastapi.testclient import TestClient
from PIL import Image as Picture

from benthoscope.app.data.clusters.clustered_images import atlas_of
from benthoscope.app.data.exemplars import segment_example_rows, segment_examples
from benthoscope.app.data.naming import name_object, name_segment
from benthoscope.app.data.objects import object_names, objects_of, words
from benthoscope.app.data.segments import outlined, square_around
from benthoscope.app.pages.explore.cards import cards
from benthoscope.app.pages.explore.content import filters, without
from benthoscope.app.pages.explore.model import Explore
from benthoscope.app.pages.objects.point_validation import point_truth
from benthoscope.app.server.application import ServerSettings, create_app
from benthoscope.app.session.app_state import AppState
from benthoscope.app.session.cache import LABELS
from benthoscope.app.session.session import Session
from benthoscope.engine.analysis import cooccurrence
from benthoscope.engine.features.masks import MaskFile
from benthoscope.engine.workspace import NewRun
from benthoscope.engine.workspace.labels.parts import part_act
from benthoscope.engine.workspace.labels.vocabularies import NewTerm
from tests.segmented_reef import EACH, made


@pytest.fixture
def reef(tmp_path):
    made_reef = made(tmp_path)
    yield made_reef
    made_reef.workspace.close()


@pytest.fixture
def app(reef):
    return AppState(reef.workspace)


@pytest.fixture
def objects(app):
    return objects_of(app, atlas_of(app, None))


@pytest.fixture
def session(app):
    return Session(app, "explore", person="Ann")


@pytest.fixture
def client(reef):
    return TestClient(create_app(reef.workspace, ServerSettings(token="", run_jobs=False)), base_url="http://127.0.0.1")


def test_segments_and_images_of_every_object_are_counted(reef, objects):
    assert objects.sizes.tolist() == np.bincount(reef.objects.ravel()).tolist()
    assert objects.images.tolist() == [(reef.objects == number).any(1).sum() for number in range(3)]
    assert objects.clustered == len(reef.ids)


def test_images_with_an_object_are_those_that_have_a_segment_of_it(reef, app, objects):
    for number in range(3):
        shown = objects.shows(number, atlas_of(app, None))
        assert shown.tolist() == (reef.objects == number).any(1).tolist()


def test_shares_of_a_dive_and_of_an_image_cluster_are_those_of_its_segments(reef, app, objects):
    atlas = atlas_of(app, None)
    by_dive = objects.by_dive(atlas)
    for dive in range(3):
        actual_objects = reef.objects[atlas.group == dive].ravel()
        np.testing.assert_allclose(by_dive[dive], np.bincount(actual_objects, minlength=3) / len(actual_objects))
    np.testing.assert_allclose(objects.by_image_cluster(atlas)[2], [0.5, 0, 0.5])


def test_segments_of_an_image_the_catalogue_forgot_count_for_no_dive(reef, app, objects):
    with reef.workspace.features.appending("segments") as out:
        out.append([999], np.zeros((2, 3)), [2])
    labels = np.append(objects.labels, [1, 1]).astype(np.int32)
    run = NewRun("more", "gmc-segments", "segments", {}, {}, {"clusters": 3, "segment_clusters": 3})
    arrays = {"image_ids": reef.ids, "labels": reef.scene.astype(np.int32), "segment_labels": labels}
    added = reef.workspace.runs.add(run, arrays, [])
    app.changed()
    atlas = atlas_of(app, added.id)
    actual_objects = objects_of(app, atlas)
    assert actual_objects.sizes[1] == objects.sizes[1] + 2
    np.testing.assert_allclose(actual_objects.by_dive(atlas), objects.by_dive(atlas))
    assert actual_objects.shows(1, atlas).sum() == objects.images[1]


def test_segments_cut_anew_since_the_run_are_not_taken_for_those_it_clustered(reef, app):
    with reef.workspace.features.writer("segments", width=3, level="segment", extractor={"kind": "other"}) as features:
        features.append(reef.ids, np.zeros((4 * len(reef.ids), 3)), np.full(len(reef.ids), 4))
    app.changed()
    assert objects_of(app, atlas_of(app, None)) is None


def test_objects_are_seen_together_as_often_as_they_are(reef, objects):
    there = np.stack([(reef.objects == number).any(1) for number in range(3)], 1)
    assert objects.together.tolist() == [[int((there[:, a] & there[:, b]).sum()) for b in range(3)] for a in range(3)]


def test_company_is_nought_by_chance_and_grows_with_what_is_seen():
    together = np.array([[400, 200, 380], [200, 500, 0], [380, 0, 400]])
    ratio = cooccurrence(together, 1000).ratio
    assert ratio[0, 1] == pytest.approx(0, abs=1e-6)
    assert ratio[0, 2] == pytest.approx(np.log2(380.5 / 160.5)) and ratio[1, 2] == -3
    assert sorted(cooccurrence(together, 1000).order.tolist()) == [0, 1, 2]


def test_those_that_stand_for_an_object_are_its_own_and_of_different_images(reef, app, objects):
    book = segment_example_rows(app, objects)
    for kind in ("typical", "borderline", "random"):
        for number in range(3):
            segments = segment_examples(app, objects, kind, number)
            assert len(segments) == 12 and len(set(segments)) == 12
            assert all(reef.objects[reef.ids.tolist().index(image), at] == number for image, at in segments)
            assert len({image for image, _ in segments}) == min(12, objects.images[number])
    worst = objects.probability[book["borderline"][0]]
    assert worst[0] == objects.probability[objects.labels == 0].min()


def test_naming_an_object_names_all_its_segments_in_one_act_that_can_be_taken_back(reef, app, objects, session):
    before = reef.workspace.labels.last_number()
    name_object(session, atlas_of(app, None), 2, "Sponge")
    assert f"{objects.sizes[2]:,} segments" in session.message.text
    assert reef.workspace.labels.last_number() == before + 1
    assert [name.term for name in object_names(app, objects)] == ["", "", "Sponge"]
    assert words(app, objects) == ["Object 0", "Object 1", "Sponge (2)"]
    session.undo()
    assert words(app, objects) == ["Object 0", "Object 1", "Object 2"]
    assert len(reef.workspace.labels.current()[0]) == 0


def test_one_segment_named_otherwise_keeps_its_own_name(reef, app, objects, session, client):
    image = int(reef.ids[reef.scene == 2][0])
    name_object(session, atlas_of(app, None), 2, "Sponge")
    name_segment(session, atlas_of(app, None), image, 3, "Sea pen")
    client.app.state.app.changed()
    content = client.get(f"/api/v1/images/{image}/objects").json()
    assert content["names"] == ["", "", "Sponge", "Sea pen"] and content["labels"] == [0, 0, 2, 2]
    history = client.get(f"/api/v1/images/{image}/history").json()
    assert [event["what"] for event in history] == ["labelled 2 segments Sponge", "labelled 1 segment Sea pen"]
    assert all(event["parts"] == [] for event in history)


@pytest.mark.parametrize(
    ("object_", "image", "segment", "line"),
    [(7, None, None, "no object 7"), (None, 0, 4, "no segment 4"), (None, 99, 0, "no segment 0")],
)
def test_what_is_not_there_cannot_be_named(reef, app, session, object_, image, segment, line):
    atlas = atlas_of(app, None)
    with session.attempt():
        if image is None:
            name_object(session, atlas, object_, "Sponge")
        else:
            name_segment(session, atlas, int(reef.ids[0]) if image == 0 else image, segment, "Sponge")
    assert session.message.kind == "error" and line in session.message.text
    assert reef.workspace.labels.last_number() == 0


def test_points_tell_which_terms_the_objects_under_them_have(reef, app, objects):
    words_ = reef.workspace.vocabularies.add("points", [NewTerm(("Sand",)), NewTerm(("Weed",))])
    sand, weed = (term.id for term in reef.workspace.vocabularies.terms(words_.id))
    weedy = reef.ids[reef.scene == 1]  # sand in the first quarter, weed in the others
    on_sand = [(int(image), (3, 3)) for image in weedy]
    on_weed = [(int(image), (60, 40)) for image in weedy] + [(int(weedy[0]), (3, 4))]  # the last lies on sand
    person_id = reef.workspace.people.named("Ann").id
    reef.workspace.labels.append_events(
        person_id, [part_act(sand, "point", on_sand, why="import"), part_act(weed, "point", on_weed, why="import")]
    )
    app.changed(LABELS)
    truth = point_truth(app, objects)
    assert [term.name for term in truth.terms] == ["Weed", "Sand"]
    assert truth.table.counts.tolist() == [[1, len(weedy)], [len(weedy), 0], [0, 0]]
    assert truth.table.points == 2 * len(weedy) + 1 and truth.table.missed == 0 and 0 < truth.table.v_measure < 1


def test_without_points_there_is_no_truth(app, objects):
    assert point_truth(app, objects) is None


def test_explore_shows_images_that_contain_all_objects_of_its_filter(reef, session):
    explore = Explore(session)
    explore.object = [0, 2]
    assert explore.shown().tolist() == (reef.scene == 2).tolist() and explore.filtered
    assert session.address.query["object"] == "0,2"
    assert [matching["text"] for matching in filters(explore)] == ["Object 0", "Object 2"]
    without(explore, "object", 2)
    assert explore.shown().all()
    explore.object = [44]
    assert explore.shown().all() and not explore.filtered


def test_a_card_says_what_its_images_are_made_of(reef, app):
    [card] = cards(app, atlas_of(app, None), numbers=(2,), kind="random")
    assert card.objects == ((0, 0.5), (2, 0.5))
    assert [number for number, *_ in card.crops] == [0, 2]


def test_a_crop_shows_the_segment_with_its_outline_and_is_kept(reef, client):
    image, cut = int(reef.ids[reef.scene == 2][0]), reef.workspace.features.open("segments").folder.name
    address = f"/thumbnails/segment/{cut}/{image}/3/96.jpg"
    answer = client.get(address)
    picture = np.asarray(Picture.open(io.BytesIO(answer.content)).convert("RGB")).astype(int)
    assert picture.shape == (96, 96, 3)
    assert abs(picture[70, 70] - [170, 60, 120]).max() < 40  # the sponge
    assert picture[4, 4].sum() < [214, 196, 150][0] * 3  # the sand around it, darker
    assert client.get(address, headers={"if-none-match": answer.headers["etag"]}).status_code == 304
    assert "immutable" in client.get(f"{address}?v=1").headers["cache-control"]


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("nothing/1/0/96", "there is no set"),
        ("{cut}/1/9/96", "no segment 9"),
        ("{cut}/1/0/97", "there is no size"),
        ("{cut}/99/0/96", ""),
    ],
)
def test_a_crop_that_cannot_be_made_says_why(reef, client, path, line):
    cut = reef.workspace.features.open("segments").folder.name
    answer = client.get(f"/thumbnails/segment/{path.format(cut=cut)}.jpg")
    assert answer.status_code in (404, 422) and line in answer.json()["error"]["what"]


def test_the_mask_of_an_image_arrives_with_its_size(reef, client):
    values = np.frombuffer(client.get(f"/api/v1/images/{reef.ids[0]}/segments.u2").content, "<u2")
    mask = MaskFile(reef.workspace.features.open("segments").folder)[int(reef.ids[0])]
    assert values[:2].tolist() == list(mask.shape)
    np.testing.assert_array_equal(values[2:].reshape(mask.shape), mask)


def test_a_square_stays_inside_the_picture_and_holds_the_segment():
    mask = np.zeros((30, 40), bool)
    mask[25:30, 0:4] = True
    remaining, top, right, bottom = square_around(mask, (80, 60))
    assert (remaining, bottom) == (0, 60) and right - remaining == bottom - top == 24
    assert top <= 50 and right >= 8
    assert outlined(Picture.new("RGB", (80, 60)), mask, 96).size == (96, 96)


def test_five_million_segments_are_counted_in_blocks(monkeypatch, app, objects):
    monkeypatch.setattr("benthoscope.app.data.objects.BLOCK", 5)
    app.changed()
    again = objects_of(app, atlas_of(app, None))
    assert again is not objects
    np.testing.assert_array_equal(again.counts, objects.counts)
    np.testing.assert_array_equal(again.together, objects.together)
    assert len(again.counts) == EACH * 3
