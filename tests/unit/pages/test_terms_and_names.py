"""Terms are found and created by one function, and a command that needs a name waits until the name is entered."""

import asyncio

import httpx
import numpy as np
import pytest

from benthoscope.app.pages.labels.model import Labels
from benthoscope.app.pages.review.model import Review
from benthoscope.app.pages.review.page import ReviewPage
from benthoscope.app.server.application import ServerSettings, create_app
from benthoscope.app.session.app_state import AppState
from benthoscope.app.session.session import NameNeeded, Session
from benthoscope.engine.labelling.terms import OWN_VOCABULARY, find_or_create_term
from benthoscope.engine.problems import BadInput
from benthoscope.engine.workspace import NewImage, NewRun, Workspace
from benthoscope.engine.workspace.labels.vocabularies import NewTerm


@pytest.fixture
def reef(tmp_path):
    """Ten images in two clusters; no term at all."""
    with Workspace.create(tmp_path / "reef") as made:
        group = made.library.group(made.library.collection("Reef").id, "dive").id
        root = made.library.register_root(tmp_path).id
        ids = np.array(
            made.library.store_images([NewImage(root, f"{n}.jpg", group, 1, 1, f"{n:064x}", 8, 8) for n in range(10)])
        )
        with made.features.writer("deep", width=2, extractor={}) as features:
            features.append(ids, np.random.default_rng(0).standard_normal((10, 2)))
        made.runs.add(
            NewRun("first", "gmc", "deep", {}, {}, {"clusters": 2}),
            {"image_ids": ids, "labels": np.repeat([0, 1], [7, 3]).astype(np.int32)},
        )
        yield made


# --- terms


def test_a_new_word_becomes_a_term_with_its_parents_and_is_found_the_next_time(reef):
    made = find_or_create_term(reef.vocabularies, "  Biota >  Sea  whips ")
    assert made.path == ("Biota", "Sea whips")
    for text in ("Sea whips", "sea WHIPS", "biota > sea whips", "Biota>Sea whips"):
        assert find_or_create_term(reef.vocabularies, text).id == made.id
    assert [words.name for words in reef.vocabularies.all()] == [OWN_VOCABULARY]


def test_a_name_as_written_comes_before_one_with_other_capitals_and_may_hold_a_greater_than_sign(reef):
    reef.vocabularies.add("A", [NewTerm(("SAND",)), NewTerm(("Waves (>10 cm)",))])
    reef.vocabularies.add("B", [NewTerm(("Sand",))])
    assert find_or_create_term(reef.vocabularies, "Sand").path == ("Sand",)
    assert find_or_create_term(reef.vocabularies, "sand").path == ("SAND",)
    assert find_or_create_term(reef.vocabularies, "Waves (>10 cm)").path == ("Waves (>10 cm)",)


@pytest.mark.parametrize(("text", "reason"), [("  ", "empty"), ("Biota >", "empty level"), ("x" * 201, "letters")])
def test_text_that_is_no_name_is_refused(reef, text, reason):
    with pytest.raises(BadInput, match=reason):
        find_or_create_term(reef.vocabularies, text)
    assert reef.vocabularies.all() == []


class Client:
    """Asks a server in this process."""

    def __init__(self, workspace):
        self._transport = httpx.ASGITransport(create_app(workspace, ServerSettings(token="", run_jobs=False)))

    def get(self, path, **remaining):
        return asyncio.run(self._ask("GET", path, remaining))

    def post(self, path, **remaining):
        return asyncio.run(self._ask("POST", path, remaining))

    async def _ask(self, method, path, remaining):
        async with httpx.AsyncClient(transport=self._transport, base_url="http://localhost") as client:
            return await client.request(method, path, **remaining)


@pytest.fixture
def client(reef):
    return Client(reef)


def test_the_terms_of_an_empty_workspace_are_counted_so_that_a_page_can_offer_catami(client, reef):
    assert client.get("/api/v1/terms").json() == {"text": "", "terms": [], "exact": False, "alike": False, "total": 0}
    assert client.post("/api/v1/vocabularies/catami").json()["name"] == "CATAMI"
    assert client.get("/api/v1/terms", params={"q": "sponges"}).json()["total"] > 200
    assert reef.people.all() == []


def test_a_field_learns_whether_its_text_is_a_term_begins_one_or_is_merely_similar(client, reef):
    reef.vocabularies.add("own", [NewTerm(("Kelp",)), NewTerm(("Kelp forest",))])

    def look_up(text):
        answer = client.get("/api/v1/terms", params={"q": text}).json()
        return [term["name"] for term in answer["terms"]], answer["exact"], answer["alike"]

    assert look_up("kelp") == (["Kelp", "Kelp forest"], True, False)
    assert look_up("kel") == (["Kelp", "Kelp forest"], False, False)
    assert look_up("kelpp")[1:] == (False, True)
    assert look_up("urchin") == ([], False, False)


def test_a_term_is_created_once_and_an_empty_one_is_refused(client, reef):
    made = client.post("/api/v1/terms", json={"name": "Urchin"})
    assert made.status_code == 201 and made.json()["path"] == "Urchin"
    assert client.post("/api/v1/terms", json={"name": "urchin"}).json()["id"] == made.json()["id"]
    assert client.post("/api/v1/terms", json={"name": "   "}).status_code == 422


# --- names


def sent(page, message):
    """As the browser sends it."""
    page.layout._handle_msg({**message, "nth": page.layout.heard + 1})


@pytest.fixture
def review(reef):
    """Review of somebody who has not entered a name, with a term chosen."""
    review = Review(Session(AppState(reef), "review"))
    review.choose_term(find_or_create_term(reef.vocabularies, "sand").id)
    return review


def test_the_first_label_waits_for_the_name_and_is_then_stored_under_it(review, reef):
    page, session = ReviewPage(review), review.session
    sent(page, {"act": "name", "exceptions": [2]})
    assert session.asks_name and not session.message.text and not reef.labels.events()
    session.person = "Ada"
    assert not session.asks_name and page.shown["mode"] == "check"
    [event] = reef.labels.events()
    assert event.count == 6 and event.person_id == reef.people.named("Ada").id


def test_commands_that_wait_are_carried_out_in_their_order_or_dropped_together(review, reef):
    page, session = ReviewPage(review), review.session
    sent(page, {"act": "images", "images": [1]})
    sent(page, {"act": "images", "images": [2, 3]})
    session.cancel_name()
    assert not session.asks_name and session.message.kind == "info"
    session.person = "Ada"
    assert not reef.labels.events()
    session.person = ""
    sent(page, {"act": "images", "images": [1]})
    sent(page, {"act": "images", "images": [2, 3]})
    session.person = "Ada"
    assert [event.count for event in reef.labels.events()] == [1, 2]


def test_labelling_one_by_one_asks_before_the_first_key(review):
    page = ReviewPage(review)
    sent(page, {"act": "single"})
    assert review.session.asks_name and page.shown["mode"] == "cluster"
    review.session.person = "Ada"
    assert page.shown["mode"] == "single"


def test_an_import_of_labels_asks_before_its_preview(reef):
    labels = Labels(Session(AppState(reef), "labels"))
    with pytest.raises(NameNeeded):
        labels.import_files(["token/labels.csv"])
