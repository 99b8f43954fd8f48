"""The Crowd page of the one who asks, without its widgets."""

import json

import numpy as np
import pytest

from benthoscope.app.data.crowd_results import neighbours_merged
from benthoscope.app.pages.crowd.model import CrowdStudio
from benthoscope.app.session.app_state import AppState
from benthoscope.app.session.session import Session
from benthoscope.engine.jobs import run_now
from benthoscope.engine.workspace import NewImage, Workspace
from benthoscope.engine.workspace.crowd.campaigns import ask
from benthoscope.engine.workspace.crowd.records import CampaignSettings
from benthoscope.engine.workspace.labels.vocabularies import NewTerm
from tests.crowds import attribute_crowd

ITEMS, PEOPLE = 60, 12


@pytest.fixture(scope="module")
def reef(tmp_path_factory):
    """Sixty images that two schools of thought have sorted by different things, a guesser among them."""
    folder, crowd = (
        tmp_path_factory.mktemp("reef"),
        attribute_crowd(0, n_items=ITEMS, n_workers=PEOPLE, spammers=0.1, kinds=(("first", 0.5), ("second", 0.5))),
    )
    with Workspace.create(folder / "reef") as made:
        group = made.library.group(made.library.collection("dives").id, "one")
        root = made.library.register_root(folder)
        ids = made.library.store_images(
            [NewImage(root.id, f"{at}.jpg", group.id, 1, 1, f"{at:064x}", 8, 8) for at in range(ITEMS)]
        )
        asked = ask(
            made.crowd,
            "kinds",
            ids,
            CampaignSettings(size=12, views=6, repeats=4),
            np.random.default_rng(0),
            practice=False,
        )
        crowd.answer_all(made, made.crowd.change(asked.id, "open"))
        assert run_now(made, "crowd", {"campaign": "kinds"}).state == "done"
        made.people.named("Ann")
        made.sorted_by = crowd
        yield made


@pytest.fixture
def session(reef):
    return Session(AppState(reef), "crowd", person="Ann")


@pytest.fixture
def studio(reef, session):
    made = CrowdStudio(session)
    made.campaign = reef.crowd.named("kinds").id
    return made


def test_everything_a_campaign_came_to_is_told_as_plain_values(studio, reef):
    shown = studio.content()["shown"]
    json.dumps(shown)
    campaign_result = shown["result"]
    K = len(campaign_result["clusters"])
    assert (
        campaign_result["points"] == ITEMS
        and len(campaign_result["tables"]) == PEOPLE
        and len(campaign_result["colours"]) == K
    )
    assert all(sorted(order) == list(range(K)) for order in campaign_result["orders"])
    assert sum(cluster["size"] for cluster in campaign_result["clusters"]) == ITEMS
    assert (
        shown["standing"]["answered"]
        == len(reef.crowd.answers(shown["id"]))
        == sum(cluster["answers"] for cluster in shown["workers"])
    )
    least = [sure for _, sure in campaign_result["disputed"]]
    assert least == sorted(least)
    for cluster in campaign_result["clusters"]:
        sure = [share for _, share in cluster["exemplars"]]
        assert sure == sorted(sure, reverse=True) and len(sure)


def test_people_of_a_school_go_by_the_same_and_put_together_what_differs_in_the_other(studio, reef):
    shown = studio.content()["shown"]
    kinds = {}
    for worker in shown["workers"]:
        kinds.setdefault(worker["school"], set()).add(str(reef.sorted_by.kind[worker["number"]]))
    assert kinds.pop(None) == {"spammer"}
    assert sorted(sorted(kind) for kind in kinds.values()) == [["first"], ["second"]]
    groups = {len(school["groups"]) for school in shown["result"]["schools"]}
    assert groups == {2, 3}  # one sorts into three values, the other into two
    assert {school["people"] for school in shown["result"]["schools"]} <= set(range(1, PEOPLE))


def test_neighbours_are_one_group_where_they_are_mostly_put_together():
    table = np.array([[1, 0.9, 0.1], [0.9, 1, 0.2], [0.1, 0.2, 1]])
    assert neighbours_merged(table, np.array([1, 0, 2])) == [[1, 0], [2]]


def test_people_who_agree_more_than_by_chance_show_it_before_anything_is_clustered(studio):
    assert 0.1 < studio.content()["shown"]["agreement"] < 0.9  # two schools and a guesser: neither one mind nor chance


def test_adopted_names_label_what_people_agree_on_and_are_undone(studio, session, reef):
    campaign_result = studio.content()["shown"]["result"]
    studio.adopt({"0": " Round  things", "1": " "})
    images, terms = reef.labels.current_terms()
    run = reef.runs.get(campaign_result["run"])
    sure = run.array("image_ids")[(run.array("labels") == 0) & (run.array("probability") >= 0.5)]
    assert images.tolist() == sure.tolist() and session.message.text == "Labelled the images of 1 cluster"
    assert reef.vocabularies.term(int(terms[0])).name == "Round things"
    session.undo()
    assert not len(reef.labels.current_terms()[0])


def test_clusters_without_a_name_are_not_adopted(studio, session):
    studio.adopt({"0": " "})
    assert session.message.kind == "error" and "no cluster has a name" in session.message.text


def test_adoption_waits_for_the_name_of_the_person_and_is_then_carried_out(studio, session, reef):
    session.person = ""
    studio.adopt({"0": "Round"})
    assert session.asks_name and not session.message.text and not len(reef.labels.current_terms()[0])
    session.person = "Ada"
    assert not session.asks_name and len(reef.labels.current_terms()[0])
    assert reef.labels.events()[-1].person_id == reef.people.named("Ada").id
    session.undo()


def test_a_cluster_is_asked_about_again_as_often_as_wanted(studio, reef):
    run = reef.runs.named("crowd kinds")
    array = run.array("image_ids")[run.array("labels") == 0]
    for _ in range(2):
        studio.campaign = reef.crowd.named("kinds").id
        studio.refine(0)
        assert sorted(studio.workspace.crowd.get(studio.campaign).images) == array.tolist()
    assert {"kinds, cluster 1", "kinds, cluster 1, round 2"} <= {task.name for task in reef.crowd.all()}
    assert reef.crowd.named("kinds, cluster 1").settings.size <= len(array)


def test_the_answers_are_clustered_and_all_images_again_by_jobs(studio, session, reef):
    studio.aggregate(extra_tasks=3)
    studio.steer()
    assert session.message.kind == "error" and "describe the images first" in session.message.text
    with reef.features.writer("colour", width=2, extractor={"kind": "test"}) as features:
        features.append(np.array(reef.library.columns("id")["id"]), np.ones((ITEMS, 2), np.float32))
    studio.steer()
    crowd, cluster = (next(job for job in session.app.jobs.jobs if job.kind == kind) for kind in ("crowd", "cluster"))
    assert crowd.parameters["more"] == 3 and cluster.parameters["features"] == "colour"
    assert cluster.parameters["crowd"] == str(reef.runs.named("crowd kinds").id)


def test_the_clusters_people_made_become_the_current_run_when_somebody_says_so(studio, session, reef):
    studio.make_current()
    assert reef.runs.current().name == "crowd kinds" and session.message.kind == "success"


def test_a_campaign_is_made_of_a_selection_shared_and_ended(reef, session):
    ann, studio = reef.people.named("Ann").id, CrowdStudio(session)
    chosen = reef.selections.save(ann, "twelve", reef.crowd.named("kinds").images[:12])
    studio.selection = chosen.id
    assert studio.content()["chosen"] == chosen.id
    studio.create({"name": "few", "size": 6, "views": 2, "selection": chosen.id})
    assert sorted(reef.crowd.named("few").images) == chosen.images.tolist()
    assert studio.content()["shown"]["name"] == "few" and studio.selection is None
    studio.address("http://vessel:8642")
    assert studio.content()["shown"]["code"] == ""  # the link is not valid before the campaign is open
    studio.open()
    shown = studio.content()["shown"]
    assert shown["state"] == "open" and shown["link"].startswith("http://vessel:8642/crowd/")
    assert shown["code"].startswith("data:image/svg+xml") and not shown["here_only"]
    studio.renew()
    assert studio.content()["shown"]["link"] != shown["link"]
    studio.address("http://localhost:8642")
    assert studio.content()["shown"]["here_only"]
    studio.address("javascript:alert(1)")
    assert studio.content()["shown"]["link"].startswith("/crowd/")
    studio.close()
    studio.open()
    assert session.message.kind == "error" and studio.content()["shown"]["state"] == "closed"


def test_mistakes_are_told_and_nothing_is_made(reef, session):
    studio = CrowdStudio(session)
    for values, notices in (
        ({"name": "kinds", "size": 6}, "already"),
        ({"name": "", "size": 6}, "no name"),
        ({"name": "new", "size": 99}, "size"),
        ({"name": "new", "known": 5}, "give only 0 of 5"),
    ):
        before = len(reef.crowd.all())
        studio.create(values)
        assert session.message.kind == "error" and notices in session.message.text and len(reef.crowd.all()) == before
    studio.campaign = reef.crowd.create("unasked", reef.crowd.named("kinds").images[:20]).id
    studio.refine(0)
    assert session.message.kind == "error" and "cluster the answers first" in session.message.text


def test_known_pairs_of_a_new_campaign_come_from_its_labels(reef, session):
    images = reef.crowd.named("kinds").images[:20]
    words = reef.vocabularies.add("words", [NewTerm(("kelp",)), NewTerm(("sand",))])
    for term, some in zip(reef.vocabularies.terms(words.id), (images[:10], images[10:]), strict=True):
        reef.labels.label(reef.people.named("Ann").id, np.sort(some), term.id)
    chosen = reef.selections.save(reef.people.named("Ann").id, "labelled", images)
    CrowdStudio(session).create({"name": "known", "size": 6, "selection": chosen.id, "known": 8})
    made = reef.crowd.named("known")
    kelp = set(images[:10].tolist())
    assert len(made.settings.gold) == 8
    assert all(
        pair.same == ((made.images[pair.first] in kelp) == (made.images[pair.second] in kelp))
        for pair in made.settings.gold
    )
