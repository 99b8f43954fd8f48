"""The first label on every page: no name and no term exist yet, and nothing is refused."""

import pytest
from playwright.sync_api import expect

from benthoscope.engine.workspace import Workspace
from tests.browser.conftest import start_server
from tests.browser.test_all_pages import LAYOUT
from tests.browser.test_crowd_studio import asked  # noqa: F401
from tests.browser.test_learn import labelled  # noqa: F401
from tests.segmented_reef import made


def events(folder):
    """[(person, term, images)] of the stored labels."""
    with Workspace.open(folder) as workspace:
        people = {person.id: person.name for person in workspace.people.all()}
        terms = {term.id: " > ".join(term.path) for term in workspace.vocabularies.all_terms()}
        return [
            (people[event.person_id], terms.get(event.term_id), event.count)
            for event in workspace.labels.events()
            if event.kind == "label"
        ]


def enter_name(page, name="Ada"):
    dialog = page.get_by_role("dialog", name="Name needed")
    dialog.wait_for()
    page.keyboard.type(name)  # the field has the focus
    page.keyboard.press("Enter")
    dialog.wait_for(state="hidden")


def create(page, word):
    page.keyboard.type(word, delay=5)
    page.locator(".hits li.create").filter(has_text=word).wait_for()
    page.keyboard.press("Enter")


@pytest.fixture
def folder(own_server, clustered, tmp_path):
    return tmp_path / "copy" / clustered.name


def test_review_can_be_used_first(own_server, folder, tab, screenshot):
    page = tab("review", own_server)
    page.get_by_role("button", name="Use CATAMI").wait_for()
    screenshot(page, "review-first-use")
    assert page.evaluate(f"{LAYOUT}.overflows()") == []
    page.locator(".tile img").first.wait_for()
    page.keyboard.press("Enter")  # no term yet: the field gets the focus, nothing is refused
    create(page, "Sea fans")
    page.locator(".chosen .chip.on").filter(has_text="Sea fans").wait_for()
    expect(page.get_by_role("button", name="Use CATAMI")).to_have_count(0)
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="Name needed")
    dialog.wait_for()
    screenshot(page, "review-name")
    expect(dialog.get_by_role("heading", name="Enter your name")).to_be_visible()
    assert page.evaluate(f"{LAYOUT}.overflows()") == [] and page.evaluate(f"{LAYOUT}.values()") == []
    assert page.get_by_role("alert").count() == 0 and events(folder) == []
    enter_name(page)
    page.locator(".tiles[data-mode=check]").wait_for()
    [(person, term, images)] = events(folder)
    assert (person, term) == ("Ada", "Sea fans") and images > 10
    page.goto(f"{own_server.base}/explore")
    page.get_by_role("button", name="Person: Ada").wait_for()


def test_without_a_name_nothing_is_labelled_and_the_page_goes_on(own_server, folder, tab):
    page = tab("review", own_server)
    page.locator(".tile img").first.wait_for()
    page.keyboard.press("l")
    create(page, "Sand")
    page.locator(".chosen .chip.on").filter(has_text="Sand").wait_for()
    page.keyboard.press("Enter")
    page.get_by_role("dialog", name="Name needed").wait_for()
    page.keyboard.press("Escape")
    page.get_by_text("Nothing was changed").wait_for()
    page.keyboard.press("n")
    page.locator(".tiles[data-mode=cluster]").wait_for()
    assert events(folder) == []


def test_catami_is_one_click_away_and_its_terms_are_found_at_once(own_server, tab, screenshot):
    page = tab("review", own_server)
    page.get_by_role("button", name="Use CATAMI").click()
    page.keyboard.type("spong", delay=5)
    page.locator(".hits li").filter(has_text="Sponges").first.wait_for()
    screenshot(page, "review-terms")
    page.keyboard.press("Enter")
    page.locator(".chosen .chip.on").filter(has_text="Sponges").wait_for()


def test_explore_labels_a_selection_with_a_new_word_and_asks_for_the_name(own_server, folder, tab, screenshot):
    page = tab("explore", own_server)
    tile = page.locator(".pane.gallery .tile img").first
    tile.wait_for()
    page.locator(".cards .card").first.wait_for()
    page.locator(".scroller").focus()
    page.keyboard.press("Space")
    page.get_by_text("1 selected").wait_for()
    page.get_by_label("Label for the selected images").click()
    page.get_by_role("button", name="Use CATAMI").wait_for()
    create(page, "Kelp")
    enter_name(page)
    page.get_by_text("Labelled 1 image").wait_for()
    screenshot(page, "explore-first-label")
    assert events(folder) == [("Ada", "Kelp", 1)]


def test_the_order_of_hits_says_what_enter_does(named, tab):
    server, _ = named
    page = tab("review", server)
    page.locator(".tile img").first.wait_for()
    field = page.get_by_label("Label", exact=True)

    def rows(text, first):
        """The hits for a text, as soon as the first one is the expected one."""
        field.fill(text)
        page.locator(".hits li:first-child").filter(has_text=first).wait_for()
        return [row.removeprefix("add").strip().split("\n")[0] for row in page.locator(".hits li").all_inner_texts()]

    assert rows("zoanthids of the deep", "Create")[0].startswith("Create")
    kelp = rows("kelp", "kelp")
    assert kelp[0] == "kelp" and not any("Create" in row for row in kelp)
    beginning = rows("rubb", "rubble")
    assert beginning[0] == "rubble" and beginning[-1].startswith("Create")
    page.keyboard.press("Shift+Enter")
    page.locator(".chosen .chip.on").filter(has_text="rubb").wait_for()


def test_learn_asks_for_the_name_and_then_accepts_the_batch(labelled, tab):  # noqa: F811
    server, folder = labelled
    page = tab("learn", server)
    page.locator(".tile img").first.wait_for()
    before = len(events(folder))
    page.keyboard.press("Enter")
    enter_name(page, "Bob")
    page.get_by_text("Accepted").wait_for()
    new = events(folder)[before:]
    assert new and {person for person, *_ in new} == {"Bob"}


def test_objects_are_named_with_a_new_word_before_anybody_entered_a_name(tab, tmp_path, contexts):
    reef = made(tmp_path)
    server = start_server(reef.workspace.folder, "--no-jobs")
    page = tab("objects", server)
    page.locator(".object .near img").first.wait_for()
    page.keyboard.press("l")
    page.get_by_role("button", name="Use CATAMI").wait_for()
    create(page, "Sponge garden")
    enter_name(page)
    page.get_by_role("status").filter(has_text="Sponge garden").wait_for()
    assert [event.kind for event in reef.workspace.labels.events()] == ["part"]
    page.close()
    server.stop()
    reef.workspace.close()


def test_crowd_clusters_are_adopted_before_anybody_entered_a_name(asked, tab):  # noqa: F811
    server, folder = asked
    page = tab("crowd", server)
    page.get_by_label("Name of cluster 1").fill("Round things")
    page.get_by_role("button", name="Label images").click()
    enter_name(page)
    page.get_by_text("Labelled the images of 1 cluster").wait_for()
    assert [(person, term) for person, term, _ in events(folder)] == [("Ada", "Round things")]


def test_a_conflict_key_on_the_page_labels_waits_for_the_name(named, tab):
    server, folder = named
    page = tab("labels", server)
    page.get_by_label("Vocabulary", exact=True).select_option("own")
    page.locator(".tree .row").filter(has_text="kelp").first.click()
    page.get_by_label("Your key").select_option("K")
    enter_name(page)
    page.get_by_text("Key K now applies kelp").wait_for()
    with Workspace.open(folder) as workspace:
        assert list(workspace.favourites.of(workspace.people.named("Ada").id)) == ["K"]
