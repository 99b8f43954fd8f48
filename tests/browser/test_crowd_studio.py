"""Crowd, from the side of the one who asks: make a campaign, share it, see answers come, cluster, name, adopt."""

import numpy as np
import pytest
from playwright.sync_api import expect

from benthoscope.engine.jobs import JobQueue, run_now
from benthoscope.engine.workspace import Workspace
from benthoscope.engine.workspace.crowd.campaigns import ask
from benthoscope.engine.workspace.crowd.records import CampaignSettings
from benthoscope.engine.workspace.storage.files import Claim
from tests.browser.conftest import copied, start_server
from tests.crowds import single_criterion_crowd

ITEMS, PEOPLE = 40, 8


def answer_campaign(workspace):
    ids = workspace.library.columns("id")["id"][:ITEMS]
    workspace.selections.save(workspace.people.named("Ann").id, "forty", ids)
    settings = CampaignSettings(size=10, views=4, repeats=3)
    campaign = ask(workspace.crowd, "answered", ids, settings, np.random.default_rng(0))
    people = single_criterion_crowd(0, n_items=ITEMS, n_workers=PEOPLE, spammers=0.125)
    people.answer_all(workspace, workspace.crowd.change(campaign.id, "open"))
    assert run_now(workspace, "crowd", {"campaign": "answered"}).state == "done"


@pytest.fixture
def asked(prepared, tmp_path):
    """A server on a copy of the clustered workspace with a campaign that eight people have answered."""
    folder = copied(prepared(answer_campaign), tmp_path)
    server = start_server(folder)
    yield server, folder
    server.stop()


def opened(tab, server, path="crowd"):
    page = tab(path, server, person="Ann")
    page.get_by_role("navigation", name="Campaigns").wait_for()
    return page


def test_a_campaign_is_made_of_a_selection_opened_and_shared(asked, tab, screenshot):
    server, folder = asked
    page = opened(tab, server)
    page.get_by_role("button", name="New campaign").click()
    page.get_by_label("Name", exact=True).fill("which go together")
    page.get_by_label("Images", exact=True).select_option(label="forty (40)")
    page.get_by_label("Images per task", exact=True).fill("8")
    screenshot(page, "crowd-new")
    page.get_by_role("button", name="Create campaign").click()
    page.get_by_role("heading", name="which go together").wait_for()
    page.get_by_role("button", name="Open", exact=True).click()
    link = page.get_by_role("link", name="/crowd/").first
    link.wait_for()
    assert link.inner_text().startswith(server.base)
    page.get_by_role("img", name="The link as a QR code").wait_for()
    page.get_by_text("Only this computer can open the link").wait_for()
    with Workspace.open(folder) as workspace:
        made = workspace.crowd.named("which go together")
        assert made.state == "open" and len(made.images) == ITEMS and made.settings.size == 8
        worker, _ = workspace.crowd.join(made, "Bob")
        task = workspace.crowd.next_task(made, worker)
        workspace.crowd.submit(made, worker, task.task, "word-1234", [0] * len(task.shown))
    page.locator("summary", has_text="1 person").wait_for()  # it appears without a reload
    page.get_by_role("button", name="Pause").click()
    page.get_by_role("button", name="Resume").wait_for()


def test_a_selection_leads_to_a_form_that_keeps_its_words_until_the_campaign_is_made(asked, tab):
    server, folder = asked
    with Workspace.open(folder) as workspace:
        number = next(number for number, name, _ in workspace.selections.list() if name == "forty")
    page = opened(tab, server, f"crowd?selection={number}")
    page.get_by_label("Name", exact=True).fill("answered")
    expect(page.get_by_label("Images", exact=True)).to_have_value(str(number))
    page.get_by_text("40 images in 20 tasks, 60 answers").wait_for()
    page.get_by_role("button", name="Create campaign").click()
    page.get_by_text("there is already one called 'answered'").wait_for()
    page.get_by_label("Name", exact=True).fill("asked again")
    page.get_by_role("button", name="Create campaign").click()
    page.get_by_role("heading", name="asked again").wait_for()
    page.get_by_role("form", name="New campaign").wait_for(state="detached")
    page.wait_for_url(lambda url: "selection" not in url)


def test_what_the_crowd_said_is_looked_at_named_and_adopted(asked, tab, screenshot):
    server, folder = asked
    page = opened(tab, server)
    page.locator(".clusters li").first.wait_for()
    page.locator("summary", has_text=f"{PEOPLE} people").click()
    expect(page.get_by_text("careless", exact=True)).to_have_count(1)
    expect(page.get_by_role("img", name="Clusters that person")).to_have_count(PEOPLE)
    page.get_by_role("button", name="Show the plot of person 1", exact=True).click()
    page.locator("[data-plot=worker] .stage[data-drawn]").wait_for()
    page.get_by_role("heading", name="All careful raters agree").wait_for()
    screenshot(page, "crowd-studio")
    frame = page.locator("[data-plot='crowd-positions']")
    frame.scroll_into_view_if_needed()
    frame.locator(".stage[data-drawn]").wait_for()
    frame.locator(".stage").focus()
    page.keyboard.press("ArrowRight")
    frame.get_by_role("status").filter(has_text="Cluster").wait_for()  # its values are read aloud
    page.keyboard.press("Enter")
    page.get_by_role("dialog", name="Image").locator("img").wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("dialog", name="Image").wait_for(state="hidden")
    page.get_by_label("Name of cluster 1").fill("Round things")
    page.get_by_role("button", name="Label images").click()
    page.get_by_text("Labelled the images of 1 cluster").wait_for()
    with Workspace.open(folder) as workspace:
        images, terms = workspace.labels.current_terms()
        assert len(images) and workspace.vocabularies.term(int(terms[-1])).name == "Round things"


def test_answers_are_clustered_anew_and_steer_the_next_clustering(asked, tab):
    server, folder = asked
    page = opened(tab, server)
    shown = page.get_by_role("link", name="Cluster 1 in Explore")
    before = shown.get_attribute("href")
    page.get_by_role("button", name="Cluster the answers").click()
    page.wait_for_function(
        "([before]) => { const all = (root) => [...root.querySelectorAll('*')].flatMap((one) => "
        "[one, ...(one.shadowRoot ? all(one.shadowRoot) : [])]); const link = all(document).find("
        "(one) => one.ariaLabel === 'Cluster 1 in Explore'); return link && "
        "link.getAttribute('href') !== before }",
        arg=[before],
    )
    page.get_by_role("button", name="Use as constraints").click()
    page.get_by_text("Clustering by colour features with constraints from crowd answered").wait_for()
    page.goto(f"{server.base}/runs")
    page.get_by_role("button", name="steered by crowd answered").first.wait_for()
    with Workspace.open(folder) as workspace:
        newest = workspace.runs.all()[-1]
        assert newest.summary["crowd"]["images"] == ITEMS and newest.features == "colour"


def test_a_clustering_that_goes_on_shows_how_far_it_is_and_can_be_stopped(asked, tab):
    server, folder = asked
    with Workspace.open(folder) as workspace:
        queue = JobQueue(workspace)
        alone = Claim.acquire(queue.heavy_lock)  # so that the server leaves the job to this process
        job = queue.add("crowd", {"campaign": "answered"}, title="Cluster answers of answered")
        claim = queue.claim(job.id)
        queue.note(job.id, done=25.0, total=100.0, rate=1.0, message="4 dimensions")
        page = opened(tab, server)
        bar = page.get_by_role("progressbar", name="Cluster answers of answered")
        bar.wait_for()
        expect(bar).to_have_attribute("aria-valuenow", "25")
        card = page.get_by_role("region", name="Clustering")
        card.get_by_text("4 dimensions · 25 of 100").wait_for()
        queue.note(job.id, done=50.0, message="5 dimensions")
        card.get_by_text("5 dimensions · 50 of 100").wait_for()  # it appears without a reload
        card.get_by_role("button", name="Stop", exact=True).click()
        card.get_by_role("button", name="Stopping…").wait_for()
        assert queue.get(job.id).cancel_requested
        queue.finish(job.id, "cancelled")
        card.get_by_role("button", name="Stopping…").wait_for(state="detached")
        claim.release()
        alone.release()


def test_a_cluster_is_refined_and_a_campaign_closed_only_when_meant(asked, tab):
    server, folder = asked
    page = opened(tab, server)
    page.get_by_role("button", name="Refine cluster 1").click()
    page.get_by_role("heading", name="answered, cluster 1").wait_for()
    campaign = page.get_by_role("region", name="Campaign", exact=True)
    campaign.get_by_role("button", name="Open", exact=True).click()
    campaign.get_by_role("button", name="Close", exact=True).click()
    campaign.get_by_role("button", name="Close permanently?").click()
    campaign.get_by_text("closed").wait_for()
    with Workspace.open(folder) as workspace:
        assert workspace.crowd.named("answered, cluster 1").state == "closed"
        assert workspace.crowd.named("answered").state == "open"
