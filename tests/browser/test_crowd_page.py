"""The page behind a crowd link, with mouse, keys, thumb and a connection that comes and goes."""

import hashlib
import io
from dataclasses import dataclass

import numpy as np
import pytest
from PIL import Image, ImageDraw
from playwright.sync_api import expect

from benthoscope.engine.workspace import NewImage, Workspace
from benthoscope.engine.workspace.crowd.records import CampaignSettings, NewTask
from tests.browser.conftest import Watch, start_server

PHONE = {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True, "device_scale_factor": 2}
NASTY = "<img src=x onerror=window.hurt=1><b>Sort</b>"
COLOURS = ("#b03a2e", "#1f618d", "#b7950b", "#1e8449")


@dataclass
class Asked:
    """A server with one workspace; `campaign` makes a new campaign and gives the address people are sent."""

    workspace: Workspace
    base: str
    ids: list[int]
    made: int = 0

    def campaign(self, tasks=2, practice=False, **settings):
        self.made += 1
        chosen = CampaignSettings(size=6, repeats=2, **settings)
        made = self.workspace.crowd.create(f"ask {self.made}", np.array(self.ids), chosen)
        new = [NewTask(tuple(range(6)), 0, "practice")] if practice else []
        new += [NewTask(tuple(np.roll(np.arange(12), 5 * at)[:6].tolist()), 2) for at in range(tasks)]
        self.workspace.crowd.add_tasks(made.id, new)
        return self.workspace.crowd.change(made.id, "open")

    def address(self, campaign):
        return f"{self.base}/crowd/{campaign.link}"

    def answers(self, campaign, kind="task"):
        return self.workspace.crowd.answers(campaign.id, kind)


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    folder = tmp_path_factory.mktemp("crowd")
    with Workspace.create(folder / "reef") as workspace:
        group = workspace.library.group(workspace.library.collection("dives").id, "one")
        root = workspace.library.register_root(folder)
        ids = workspace.library.store_images(
            [_store_picture(folder, root.id, group.id, number) for number in range(12)]
        )
        server = start_server(folder / "reef.benthos")
        yield Asked(workspace, server.base, ids)
        server.stop()


def _store_picture(folder, root, group, number):
    """A round or a square in one of four colours."""
    picture, held = Image.new("RGB", (240, 180), "#dfe6e9"), io.BytesIO()
    shape = ImageDraw.Draw(picture).ellipse if number % 2 else ImageDraw.Draw(picture).rectangle
    shape((60, 30, 180, 150), fill=COLOURS[number % 4])
    picture.putpixel((0, 0), (number, 0, 0))
    picture.save(held, "PNG")
    (folder / f"{number}.png").write_bytes(held.getvalue())
    sha = hashlib.sha256(held.getvalue()).hexdigest()
    return NewImage(root, f"{number}.png", group, len(held.getvalue()), 1, sha, 240, 180)


@pytest.fixture
def visit(chromium, asked):
    contexts, watches = [], []

    def opened(campaign, join=True, **kind):
        context = chromium.new_context(**(kind or {"viewport": {"width": 1100, "height": 800}}))
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(15_000)
        page.watch = Watch(asked.base)
        page.watch.on(page)
        watches.append(page.watch)
        page.goto(asked.address(campaign))
        if join:
            page.get_by_label("I agree").check()
            page.get_by_role("button", name="Begin").click()
            page.locator(".picture").first.wait_for()
        return page

    yield opened
    for context in contexts:
        context.close()
    for watch in watches:
        watch.check()


def groups_shown(page):
    return [mark.inner_text() for mark in page.locator(".picture .mark").all()]


def sort_all(page, groups=(0, 1, 0, 1, 0, 1)):
    for position, group in enumerate(groups):
        page.locator("#groups .swatch").nth(group).click()
        page.locator(".picture").nth(position).click()


def done(page):
    page.get_by_role("button", name="Done", exact=True).click()


def thanked(page):
    page.get_by_text("Thank you! There are no more tasks").wait_for()


def test_consent_comes_first_and_the_words_of_the_one_who_asks_are_text(visit, asked):
    campaign = asked.campaign(title=NASTY, instructions=NASTY, consent=NASTY)
    page = visit(campaign, join=False)
    page.locator("#welcome").wait_for()
    assert page.locator("#title").inner_text() == NASTY and page.locator("#consent").inner_text() == NASTY
    assert page.evaluate("window.hurt") is None
    page.get_by_role("button", name="Begin").click()
    assert page.locator("#welcome").is_visible(), "without consent nothing begins"
    assert not asked.workspace.crowd.workers(campaign.id)


def test_practice_then_tasks_by_click_until_nothing_is_left(visit, asked):
    campaign = asked.campaign(tasks=2, practice=True)
    page = visit(campaign)
    expect(page.locator("#task-title")).to_contain_text("Practice")
    for number in range(3):
        sort_all(page)
        assert groups_shown(page) == ["1", "2"] * 3
        done(page)
        if number < 2:
            page.locator(".picture[aria-selected=true]").first.wait_for(state="detached")
    thanked(page)
    assert len(asked.answers(campaign)) == 2 and len(asked.answers(campaign, "practice")) == 1
    assert asked.answers(campaign)[0].groups == (0, 1, 0, 1, 0, 1)


def test_digit_keys_arrows_and_undo_sort_without_a_mouse(visit, asked):
    campaign = asked.campaign(tasks=1)
    page = visit(campaign)
    page.locator(".picture").first.focus()
    for digit in "121233":
        page.keyboard.press(digit)
        page.keyboard.press("ArrowRight")
    assert groups_shown(page) == ["1", "2", "1", "2", "3", "3"]
    page.keyboard.press("u")
    assert groups_shown(page)[-1] == ""
    page.keyboard.press("4")
    page.keyboard.press("Enter")
    expect(page.locator("#large")).to_be_visible()
    page.keyboard.press("2")
    page.keyboard.press("Escape")
    assert groups_shown(page)[-1] == "2"
    done(page)
    thanked(page)
    assert asked.answers(campaign)[0].groups == (0, 1, 0, 1, 2, 1)


def test_a_picture_is_dragged_onto_a_group_and_a_new_group_added(visit, asked):
    page = visit(asked.campaign(tasks=1))
    page.get_by_role("button", name="New group").click()
    expect(page.locator("#groups .swatch")).to_have_count(3)
    source, target = page.locator(".picture").nth(2), page.locator("#groups .swatch").nth(2)
    start, end = source.bounding_box(), target.bounding_box()
    page.mouse.move(start["x"] + 40, start["y"] + 40)
    page.mouse.down()
    page.mouse.move(start["x"] + 80, start["y"] + 80)
    page.mouse.move(end["x"] + end["width"] / 2, end["y"] + end["height"] / 2, steps=5)
    page.mouse.up()
    assert groups_shown(page) == ["", "", "3", "", "", ""]
    page.get_by_role("button", name="Undo", exact=True).click()
    assert groups_shown(page) == [""] * 6


def test_everything_is_told_to_screen_readers(visit, asked, screenshot):
    page = visit(asked.campaign(tasks=1))
    screenshot(page, "crowd-task")
    page.get_by_role("option", name="Image 1 of 6, in no group").wait_for()
    page.locator(".picture").first.click()
    first = page.get_by_role("option", name="Image 1 of 6, in group 1")
    expect(first).to_have_attribute("aria-selected", "true")
    expect(page.get_by_role("radio", name="Group 1, 1 images")).to_have_attribute("aria-checked", "true")
    expect(page.get_by_role("button", name="Enlarge image 1")).to_have_count(1)
    unnamed = page.evaluate(
        "[...document.querySelectorAll('button, input, [role]')].filter((e) => "
        "!e.ariaLabel && !e.getAttribute('aria-label') && !e.innerText.trim() && !e.labels?.length "
        "&& e.getAttribute('role') !== 'status' && e.offsetParent).map((e) => e.outerHTML)"
    )
    assert unnamed == []


def test_a_thumb_on_a_phone_is_enough(visit, asked, screenshot):
    campaign = asked.campaign(tasks=1)
    page = visit(campaign, **PHONE)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "nothing sticks out sideways"
    small = page.evaluate("[...document.querySelectorAll('#tools button')].filter((b) => b.offsetHeight < 44).length")
    assert small == 0, "buttons are as large as a thumb"
    for position, group in enumerate((0, 1, 0, 1, 0, 1)):
        page.locator("#groups .swatch").nth(group).tap()
        page.locator(".picture").nth(position).tap()
    screenshot(page, "crowd-phone")
    page.get_by_role("button", name="Enlarge image 2").tap()
    page.locator("#large-image").wait_for()
    page.get_by_role("button", name="Close", exact=True).tap()
    page.get_by_role("button", name="Done", exact=True).tap()
    thanked(page)
    assert asked.answers(campaign)[0].groups == (0, 1, 0, 1, 0, 1)


def test_an_answer_given_without_a_connection_is_kept_and_sent_once(visit, asked):
    campaign = asked.campaign(tasks=2)
    page = visit(campaign)
    page.watch.expected += ["ERR_INTERNET_DISCONNECTED", "Failed to load resource"]
    sort_all(page)
    page.context.set_offline(True)
    done(page)
    page.get_by_text("Your answer is stored here").wait_for()
    assert not asked.answers(campaign)
    page.context.set_offline(False)
    page.locator("#sorting").wait_for()
    assert [answer.groups for answer in asked.answers(campaign)] == [(0, 1, 0, 1, 0, 1)]
    assert not page.evaluate("JSON.parse(Object.entries(localStorage).find(([k]) => k.includes('outbox'))[1]).length")


def test_an_answer_whose_receipt_was_lost_is_sent_again_and_stored_once(visit, asked):
    campaign = asked.campaign(tasks=1)
    page = visit(campaign)
    page.watch.expected += ["ERR_FAILED", "Failed to load resource"]
    lost = []

    def lose_first_receipt(route):
        if lost:
            return route.continue_()
        lost.append(route.fetch().status)  # the server has it, the browser never hears
        return route.abort()

    page.route("**/answers", lose_first_receipt)
    sort_all(page)
    done(page)
    thanked(page)
    assert lost == [200] and len(asked.answers(campaign)) == 1


def test_a_closed_tab_finds_its_task_and_groups_again(visit, asked):
    campaign = asked.campaign(tasks=1)
    page = visit(campaign)
    for position in range(3):
        page.locator(".picture").nth(position).click()
    page.reload()
    page.locator(".picture").first.wait_for()
    assert groups_shown(page) == ["1", "1", "1", "", "", ""]
    assert len(asked.workspace.crowd.workers(campaign.id)) == 1


def test_links_that_are_none_or_closed_say_so(visit, asked, chromium):
    campaign = asked.campaign()
    asked.workspace.crowd.change(campaign.id, "paused")
    page = visit(campaign, join=False)
    page.get_by_label("I agree").check()
    page.get_by_role("button", name="Begin").click()
    page.watch.expected.append("409")
    page.get_by_text("Campaign is paused").wait_for()
    asked.workspace.crowd.renew_link(campaign.id)
    page.watch.expected.append("404")
    page.wait_for_timeout(1000)  # the server remembers a link for half a second
    page.reload()
    page.get_by_text("Link leads nowhere").wait_for()
