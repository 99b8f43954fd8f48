"""Crowd, from the side of the one who asks: make a campaign, share it, see answers come, cluster, name, adopt."""

import shutil

import numpy as np
import pytest

from engine.jobs import run_now
from engine.workspace import Workspace
from engine.workspace.crowd_asking import ask
from engine.workspace.crowd_records import Settings
from tests.browser.conftest import start_server
from tests.crowds import single_criterion_crowd

ITEMS, PEOPLE = 40, 8


@pytest.fixture
def asked(clustered, tmp_path):
    """A server on a copy of the clustered workspace with a campaign that eight people have answered."""
    shutil.copytree(clustered.parent, tmp_path / "copy")
    folder = tmp_path / "copy" / clustered.name
    with Workspace.open(folder) as workspace:
        ids = workspace.library.columns("id")["id"][:ITEMS]
        workspace.selections.save(workspace.people.named("Ann").id, "forty", ids)
        settings = Settings(size=10, views=4, repeats=3)
        campaign = ask(workspace.crowd, "answered", ids, settings, np.random.default_rng(0))
        people = single_criterion_crowd(0, n_items=ITEMS, n_workers=PEOPLE, spammers=0.125)
        people.work(workspace, workspace.crowd.change(campaign.id, "open"))
        assert run_now(workspace, "crowd", {"campaign": "answered"}).state == "done"
    server = start_server(folder)
    yield server, folder
    server.stop()


def opened(tab, server, path="crowd"):
    page = tab(path, server)
    page.context.add_cookies([{"name": "bentho-person", "value": "Ann", "url": server.base}])
    page.reload()
    page.get_by_role("navigation", name="Campaigns").wait_for()
    return page


def test_a_campaign_is_made_of_a_selection_opened_and_shared(asked, tab, screenshot):
    server, folder = asked
    page = opened(tab, server)
    page.get_by_role("button", name="New campaign").click()
    page.get_by_label("Name", exact=True).fill("which go together")
    page.get_by_label("Images", exact=True).select_option(label="forty (40)")
    page.get_by_label("Images in a task", exact=True).fill("8")
    screenshot(page, "crowd-new")
    page.get_by_role("button", name="Make the campaign").click()
    page.get_by_role("heading", name="which go together").wait_for()
    page.get_by_role("button", name="Open", exact=True).click()
    link = page.get_by_role("link", name="/crowd/").first
    link.wait_for()
    assert link.inner_text().startswith(server.base)
    page.get_by_role("img", name="The link as a QR code").wait_for()
    page.get_by_text("Only this machine can open it").wait_for()
    with Workspace.open(folder) as workspace:
        made = workspace.crowd.named("which go together")
        assert made.state == "open" and len(made.images) == ITEMS and made.settings.size == 8
        worker, _ = workspace.crowd.join(made, "Bob")
        task = workspace.crowd.next_task(made, worker)
        workspace.crowd.submit(made, worker, task.task, "word-1234", [0] * len(task.shown))
    page.locator("summary", has_text="1 people").wait_for()  # it is told without a reload
    page.get_by_role("button", name="Pause").click()
    page.get_by_role("button", name="Go on").wait_for()


def test_a_selection_leads_to_a_form_that_keeps_its_words_until_the_campaign_is_made(asked, tab):
    server, folder = asked
    with Workspace.open(folder) as workspace:
        number = next(number for number, name, _ in workspace.selections.list() if name == "forty")
    page = opened(tab, server, f"crowd?selection={number}")
    page.get_by_label("Name", exact=True).fill("answered")
    assert page.get_by_label("Images", exact=True).input_value() == str(number)
    page.get_by_text("40 images in 20 tasks, 60 answers").wait_for()
    page.get_by_role("button", name="Make the campaign").click()
    page.get_by_text("there is one called 'answered' already").wait_for()
    page.get_by_label("Name", exact=True).fill("asked again")
    page.get_by_role("button", name="Make the campaign").click()
    page.get_by_role("heading", name="asked again").wait_for()
    page.get_by_role("form", name="New campaign").wait_for(state="detached")
    page.wait_for_url(lambda url: "selection" not in url)


def test_what_the_crowd_said_is_looked_at_named_and_adopted(asked, tab, screenshot):
    server, folder = asked
    page = opened(tab, server)
    page.locator(".clusters li").first.wait_for()
    page.locator("summary", has_text=f"{PEOPLE} people").click()
    assert page.get_by_text("does not look").count() == 1
    assert page.get_by_role("img", name="What person").count() == PEOPLE
    page.get_by_role("heading", name="All who look go by the same").wait_for()
    screenshot(page, "crowd-studio")
    dot = page.locator(".cloud circle").last  # nothing lies over it
    dot.hover()
    page.locator(".preview").wait_for()
    dot.click()
    page.get_by_role("dialog", name="Image").locator("img").wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("dialog", name="Image").wait_for(state="hidden")
    page.get_by_label("Name of cluster 1").fill("Round things")
    page.get_by_role("button", name="Adopt names as labels").click()
    page.get_by_text("1 cluster is a label now").wait_for()
    with Workspace.open(folder) as workspace:
        images, terms = workspace.labels.current_terms()
        assert len(images) and workspace.vocabularies.term(int(terms[-1])).name == "Round things"


def test_answers_are_clustered_anew_and_steer_the_next_clustering(asked, tab):
    server, folder = asked
    page = opened(tab, server)
    shown = page.get_by_role("link", name="Cluster 1 in Explore")
    before = shown.get_attribute("href")
    page.get_by_role("button", name="Cluster the answers").click()
    page.wait_for_function("([before]) => { const all = (root) => [...root.querySelectorAll('*')].flatMap((one) => "
                           "[one, ...(one.shadowRoot ? all(one.shadowRoot) : [])]); const link = all(document).find("
                           "(one) => one.ariaLabel === 'Cluster 1 in Explore'); return link && "
                           "link.getAttribute('href') !== before }", arg=[before])
    page.get_by_role("button", name="Steer the next clustering").click()
    page.get_by_text("Images are being clustered by colour, steered by crowd answered").wait_for()
    page.goto(f"{server.base}/runs")
    page.get_by_role("button", name="steered by crowd answered").first.wait_for()
    with Workspace.open(folder) as workspace:
        newest = workspace.runs.all()[-1]
        assert newest.summary["crowd"]["images"] == ITEMS and newest.features == "colour"


def test_a_clustering_that_goes_on_shows_how_far_it_is_and_can_be_stopped(asked, tab):
    page, cancelled = opened(tab, asked[0]), []
    going = {"id": 999, "kind": "crowd", "title": "Cluster answers of answered", "state": "running", "heavy": True,
             "cancel_requested": False, "done": 25.0, "total": 100.0, "rate": 1.0, "message": "4 dimensions",
             "error": None, "created_at": 0.0, "started_at": 0.0, "finished_at": None, "seconds_left": 75.0}

    def with_one(route):
        found = route.fetch()
        route.fulfill(json={**found.json(), "jobs": [going]})

    def stop(route):
        cancelled.append(route.request.method)
        going["cancel_requested"] = True
        route.fulfill(json=going)

    page.route("**/api/v1/jobs", with_one)
    page.route("**/api/v1/jobs/999/cancel", stop)
    bar = page.get_by_role("progressbar", name="Cluster answers of answered")
    bar.wait_for()
    assert bar.get_attribute("aria-valuenow") == "25"
    job = page.get_by_role("region", name="Clustering")
    job.get_by_text("4 dimensions · 25 of 100").wait_for()
    job.get_by_role("button", name="Stop", exact=True).click()
    job.get_by_role("button", name="Stopping…").wait_for()
    assert cancelled == ["POST"]
    page.unroute_all(behavior="wait")


def test_a_cluster_is_refined_and_a_campaign_closed_only_when_meant(asked, tab):
    server, folder = asked
    page = opened(tab, server)
    page.get_by_role("button", name="Refine cluster 1").click()
    page.get_by_role("heading", name="answered, cluster 1").wait_for()
    campaign = page.get_by_role("region", name="Campaign", exact=True)
    campaign.get_by_role("button", name="Open", exact=True).click()
    campaign.get_by_role("button", name="Close", exact=True).click()
    campaign.get_by_role("button", name="Close for good?").click()
    campaign.get_by_text("closed").wait_for()
    with Workspace.open(folder) as workspace:
        assert workspace.crowd.named("answered, cluster 1").state == "closed"
        assert workspace.crowd.named("answered").state == "open"
