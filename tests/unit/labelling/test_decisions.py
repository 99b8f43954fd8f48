"""Verification, adoption of crowd clusters and splits: by function, by command and over REST, with the same result."""

import json

import httpx
import numpy as np
import pytest
from typer.testing import CliRunner

from benthoscope.app.cli import app as cli
from benthoscope.app.server.application import ServerSettings, create_app
from benthoscope.engine.labelling.cluster_edits import current_arrangement, split_cluster
from benthoscope.engine.labelling.crowd_adoption import adopt_clusters
from benthoscope.engine.labelling.terms import find_or_create_term
from benthoscope.engine.labelling.verification import unverified, verify_labels
from benthoscope.engine.problems import BadInput
from benthoscope.engine.workspace import NewCluster, NewImage, NewRun, Workspace
from benthoscope.engine.workspace.crowd.records import CampaignSettings
from tests.loops import outcome

CLUSTERS = np.repeat([0, 1], [40, 20])
SURE = np.where(np.arange(60) % 4 == 3, 0.4, 0.9).astype(np.float32)


@pytest.fixture
def reef(tmp_path):
    """60 images in two clusters of a run (1) and of a crowd's run (2); cluster 0 is two groups of features."""
    with Workspace.create(tmp_path / "reef") as made:
        group = made.library.group(made.library.collection("c").id, "dive")
        root = made.library.register_root(tmp_path)
        made.library.store_images([NewImage(root.id, f"{n}.jpg", group.id, 1, 1, "a" * 64, 8, 8) for n in range(60)])
        ids = made.library.columns("id")["id"]
        with made.features.writer("deep", width=2, extractor={}) as features:
            features.append(
                ids, np.arange(60)[:, None] // 20 * [10.0, 5.0] + np.random.default_rng(0).normal(size=(60, 2))
            )
        campaign = made.crowd.create("stones", ids, CampaignSettings())
        for name, model, summary in (("first", "gmc", {}), ("answers", "crowd", {"campaign": campaign.id})):
            made.runs.add(
                NewRun(name, model, "deep", {"width": 0.5}, {}, {"clusters": 2, "images": 60, **summary}),
                {"image_ids": ids, "labels": CLUSTERS.astype(np.int32), "probability": SURE},
                [NewCluster(0, 40), NewCluster(1, 20)],
            )
        yield made


@pytest.fixture
def ids(reef):
    return reef.library.columns("id")["id"]


@pytest.fixture
def kelp(reef, ids):
    """A term that Bob gave to the first five images."""
    term = find_or_create_term(reef.vocabularies, "Kelp")
    reef.labels.label(reef.people.named("Bob").id, ids[:5], term.id)
    return term


@pytest.fixture
def request_api(reef):
    api = create_app(reef, ServerSettings(token="", run_jobs=False))

    def send(method, path, **values):
        async def go():
            transport = httpx.ASGITransport(api)
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
                return await client.request(method, f"/api/v1{path}", **values)

        return outcome(go())

    return send


def command(reef, *words):
    result = CliRunner().invoke(cli, [*map(str, words), "-w", str(reef.folder), "--json"])
    return result, json.loads(result.stdout) if result.exit_code == 0 else None


def labelled(reef):
    images, terms = reef.labels.current_terms()
    return dict(zip(images.tolist(), terms.tolist(), strict=True))


# --- verify


def test_only_labels_of_others_wait_for_verification(reef, ids, kelp):
    ann, bob = reef.people.named("Ann").id, reef.people.named("Bob").id
    assert unverified(reef.labels, ann)[0].tolist() == ids[:5].tolist()
    assert len(unverified(reef.labels, bob)[0]) == 0
    result = verify_labels(reef.labels, ann, kelp.id, ids[:3].tolist(), [int(ids[3])])
    assert (result.confirmed, result.rejected, len(result.events)) == (3, 1, 2)
    assert unverified(reef.labels, ann)[0].tolist() == [ids[4]]
    for number in reversed(result.events):
        reef.labels.undo(ann, number)
    assert len(unverified(reef.labels, ann)[0]) == 5


def test_images_that_do_not_wait_cannot_be_verified(reef, ids, kelp):
    ann = reef.people.named("Ann").id
    with pytest.raises(BadInput, match=f"image {ids[9]}"):
        verify_labels(reef.labels, ann, kelp.id, [int(ids[9])])
    with pytest.raises(BadInput, match="contains no images"):
        verify_labels(reef.labels, ann, kelp.id, [])


def test_the_command_lists_confirms_and_rejects(reef, ids, kelp):
    _, listed = command(reef, "labels", "verify", "--person", "Ann")
    assert listed == {"unverified": [{"term": ["Kelp"], "images": ids[:5].tolist()}]}
    _, done = command(reef, "labels", "verify", "Kelp", "--correct", ids[0], "--wrong", ids[1], "--person", "Ann")
    assert (done["term"], done["confirmed"], done["rejected"]) == (["Kelp"], 1, 1)
    _, listed = command(reef, "labels", "verify", "Kelp", "--person", "Ann")
    assert listed == {"unverified": [{"term": ["Kelp"], "images": ids[2:5].tolist()}]}
    refused, _ = command(reef, "labels", "verify", "--correct", ids[2], "--person", "Ann")
    assert refused.exit_code != 0


def test_the_routes_list_and_verify(request_api, ids, kelp):
    waiting = request_api("GET", "/labels/unverified", params={"person": "Ann"}).json()
    assert waiting == [{"term": kelp.id, "images": ids[:5].tolist()}]
    body = {"person": "Ann", "term": kelp.id, "correct": ids[:4].tolist(), "wrong": [int(ids[4])]}
    answer = request_api("POST", "/labels/verifications", json=body)
    assert answer.status_code == 201 and answer.json()["confirmed"] == 4 and answer.json()["rejected"] == 1
    assert request_api("GET", "/labels/unverified", params={"person": "Ann"}).json() == []
    assert request_api("POST", "/labels/verifications", json=body).status_code == 422


# --- second labels


def test_a_second_label_is_drawn_answered_and_compared_by_command_and_over_rest(reef, ids, kelp, request_api, tmp_path):
    sand = find_or_create_term(reef.vocabularies, "Sand")
    _, drawn = command(reef, "labels", "double", "--random", 3, "--person", "Ann")
    images = [image["id"] for image in drawn["images"]]
    assert len(images) == 3 and set(images) <= set(ids[:5].tolist()) and drawn["available"] == 2
    waiting = request_api("GET", "/labels/double", params={"person": "Ann"}).json()
    assert waiting["images"] == images and waiting["remaining"] == 3
    (tmp_path / "answers.csv").write_text(f"id,term\n{images[0]},Kelp\n{images[1]},Sand\n", encoding="utf-8")
    _, left = command(reef, "labels", "double", "--answers", tmp_path / "answers.csv", "--person", "Ann")
    assert [image["id"] for image in left["images"]] == images[2:] and left["answered"] == 2
    sent = {"person": "Ann", "answers": {images[2]: sand.id}}
    assert request_api("POST", "/labels/double/answers", json=sent).status_code == 201
    assert set(labelled(reef).values()) == {kelp.id}
    _, printed = command(reef, "labels", "agreement")
    assert printed == request_api("GET", "/labels/agreement").json()
    assert printed["pairs"] == [{"people": ["Bob", "Ann"], "images": 3, "same": 1, "kappa": 0.0}]
    (of_ann,) = [each for each in printed["terms"] if each["person"] == "Ann" and each["term"] == "Kelp"]
    assert (of_ann["same"], of_ann["images"], of_ann["instead"], of_ann["instead_images"]) == (1, 3, "Sand", 2)
    assert of_ann["low"] == pytest.approx(0.0084, abs=1e-4) and of_ann["high"] == pytest.approx(0.9057, abs=1e-4)
    assert printed["blame_is_shared"] and not any(person["used"] for person in printed["people"])


def test_disagreements_are_listed_and_decided_by_command_and_over_rest(reef, ids, kelp, request_api):
    sand = find_or_create_term(reef.vocabularies, "Sand")
    assert request_api("POST", "/labels/double", json={"person": "Ann", "count": 3}).status_code == 201
    images = request_api("GET", "/labels/double", params={"person": "Ann"}).json()["images"]
    request_api("POST", "/labels/double/answers", json={"person": "Ann", "answers": dict.fromkeys(images, sand.id)})
    _, listed = command(reef, "labels", "disagreements", "--person", "Ann")
    assert [(each["own_term"], each["consensus"], each["agreeing"]) for each in listed["disagreements"]] == [
        ("Sand", "Kelp", 1)
    ] * 3
    _, left = command(reef, "labels", "disagreements", "--adopt", images[0], "--keep", images[1], "--person", "Ann")
    assert (left["same"], left["kept"], [each["image"] for each in left["disagreements"]]) == (1, 1, images[2:])
    decision = {"person": "Ann", "adopt": images[2:]}
    assert request_api("POST", "/labels/disagreements", json=decision).status_code == 201
    over_rest = request_api("GET", "/labels/disagreements", params={"person": "Ann"}).json()
    assert over_rest["same"] == 2 and not over_rest["disagreements"]
    assert request_api("POST", "/labels/disagreements", json=decision).status_code == 422


def test_without_second_labels_the_commands_say_what_to_do(reef, ids, kelp):
    def text(*words):
        return CliRunner().invoke(cli, [*words, "-w", str(reef.folder)]).output

    assert "labels double --random 50" in text("labels", "agreement")
    assert "No other person has labelled" in text("labels", "disagreements", "--person", "Bob")
    assert "No other person has given labels" in text("labels", "double", "--person", "Bob")
    assert "5 more can be drawn" in text("labels", "double", "--person", "Ann")


# --- adopt


def agreed(ids, cluster):
    return set(ids[(cluster == CLUSTERS) & (SURE >= 0.5)].tolist())


def test_adopted_clusters_label_the_images_people_agree_on(reef, ids):
    ann = reef.people.named("Ann").id
    numbers = adopt_clusters(reef, ann, reef.runs.get(2), {0: " Cup  sponge", 1: "  "})
    [event] = [reef.labels.event(number) for number in numbers]
    assert set(labelled(reef)) == agreed(ids, 0) and event.run_id == 2 and event.why == "crowd"
    assert event.confidence == pytest.approx(0.9)


def test_nothing_is_stored_if_one_cluster_cannot_be_adopted(reef):
    ann = reef.people.named("Ann").id
    with pytest.raises(BadInput, match="cluster 8"):
        adopt_clusters(reef, ann, reef.runs.get(2), {0: "Kelp", 7: "Sand"})
    assert labelled(reef) == {} and reef.vocabularies.all_terms() == []
    with pytest.raises(BadInput, match="does not come from answers"):
        adopt_clusters(reef, ann, reef.runs.get(1), {0: "Kelp"})


def test_the_command_adopts_clusters(reef, ids):
    options = ("--label", "0=Cup sponge", "--label", "1=Biota > Kelp", "--person", "Ann")
    result, printed = command(reef, "crowd", "adopt", "stones", *options)
    assert result.exit_code == 0, result.output
    assert printed["run"] == 2 and len(printed["events"]) == 2
    assert set(labelled(reef)) == agreed(ids, 0) | agreed(ids, 1)
    refused, _ = command(reef, "crowd", "adopt", "stones", "--label", "sponge", "--person", "Ann")
    assert refused.exit_code != 0 and "CLUSTER=TERM" in str(refused.exception)


def test_the_route_adopts_clusters(reef, request_api, ids):
    answer = request_api("POST", "/runs/2/adoptions", json={"person": "Ann", "labels": {"1": "Kelp"}})
    assert answer.status_code == 201 and len(answer.json()["events"]) == 1
    assert set(labelled(reef)) == agreed(ids, 1)


# --- split


def test_a_cluster_is_halved_where_its_features_part(reef, ids):
    [new] = split_cluster(reef, reef.people.named("Ann").id, reef.runs.get(1), 0)
    parts = [set(current_arrangement(reef, reef.runs.get(1)).members(number).tolist()) for number in (0, new)]
    assert sorted(map(min, parts)) == [ids[0], ids[20]] and [len(part) for part in parts] == [20, 20]


def test_images_of_another_cluster_cannot_be_split_off(reef, ids):
    ann, run = reef.people.named("Ann").id, reef.runs.get(1)
    with pytest.raises(BadInput, match=f"image {ids[45]} is not in cluster 0"):
        split_cluster(reef, ann, run, 0, [int(ids[0]), int(ids[45])])
    with pytest.raises(BadInput, match="9"):
        split_cluster(reef, ann, run, 9)


def test_the_command_splits_by_images_and_in_halves(reef, ids):
    _, by_images = command(reef, "runs", "split", 1, 1, "--image", ids[42], "--image", ids[43], "--person", "Ann")
    assert by_images == {"run": 1, "cluster": 1, "new_clusters": [2]}
    assert current_arrangement(reef, reef.runs.get(1)).members(2).tolist() == ids[42:44].tolist()
    _, halves = command(reef, "runs", "split", 1, 0, "--person", "Ann")
    assert halves["new_clusters"] == [3]
    refused, _ = command(reef, "runs", "split", 1, 0, "--by-model", "--image", ids[0], "--person", "Ann")
    assert refused.exit_code != 0


def test_the_command_splits_by_the_model(reef):
    result, printed = command(reef, "runs", "split", 1, 0, "--by-model", "--person", "Ann")
    assert result.exit_code == 0, result.output
    assert printed["new_clusters"][0] == 2


def test_the_route_splits(reef, request_api, ids):
    body = {"person": "Ann", "images": ids[:2].tolist()}
    answer = request_api("POST", "/runs/1/clusters/0/splits", json=body)
    assert answer.status_code == 201 and answer.json() == {"run": 1, "cluster": 0, "new_clusters": [2]}
    assert current_arrangement(reef, reef.runs.get(1)).members(2).tolist() == ids[:2].tolist()
    answer = request_api("POST", "/runs/1/clusters/99/splits", json={"person": "Ann"})
    assert answer.status_code == 422
