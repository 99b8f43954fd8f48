"""A check of bulk labels in a real browser: no key bounce certifies it, and what was seen is stored."""

from playwright.sync_api import expect

from benthoscope.engine.labelling.audits.sample import audits
from benthoscope.engine.workspace import Workspace
from benthoscope.engine.workspace.labels.events import standing
from tests.browser.audit_pages import all_seen
from tests.browser.test_review import choose, mode, review


def stored(folder):
    with Workspace.open(folder) as workspace:
        return list(audits(standing(workspace.labels.events())).values())


def test_a_bounced_enter_stores_no_check_and_a_real_one_tells_how_long_was_looked(named, tab, screenshot):
    server, folder = named
    page = review(tab, server)
    choose(page, "sand")
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")  # the bounce
    mode(page, "check")
    page.keyboard.press("Enter")
    page.wait_for_timeout(1500)
    page.keyboard.press("Enter")
    page.get_by_text("not visible long enough").first.wait_for()
    expect(page.locator(".tiles")).to_have_attribute("data-mode", "check")
    assert stored(folder) == []
    screenshot(page, "review-check")
    all_seen(page)
    screenshot(page, "review-check-seen")
    page.keyboard.press("Enter")
    page.get_by_text("at 95 %").first.wait_for()
    mode(page, "cluster")
    (stored_audit,) = stored(folder)
    assert (
        stored_audit.wrong == 0
        and stored_audit.seconds >= 0.25 * stored_audit.checked
        and stored_audit.method == "sequential"
    )


def test_a_withdrawn_check_shows_the_same_images(named, tab, screenshot):
    server, folder = named
    page = review(tab, server)
    choose(page, "sand")
    page.keyboard.press("Enter")
    mode(page, "check")
    images = page.locator(".tile").evaluate_all("tiles => tiles.map((tile) => tile.dataset.id)")
    all_seen(page)
    page.keyboard.press("Enter")
    mode(page, "cluster")
    page.goto(f"{server.base}/labels?part=history")
    page.get_by_text("bulk labels of 1 event").wait_for()
    screenshot(page, "labels-history")
    page.get_by_role("button", name="Withdraw").click()
    page.get_by_text("Withdrew check").first.wait_for()
    assert stored(folder) == []
    page.get_by_role("link", name="Check", exact=True).first.click()
    mode(page, "check")
    assert page.locator(".tile").evaluate_all("tiles => tiles.map((tile) => tile.dataset.id)") == images


def test_all_bulk_labels_are_checked_together(named, tab, screenshot):
    server, _ = named
    page = review(tab, server)
    for word in ("sand", "kelp"):
        choose(page, word)
        page.keyboard.press("Enter")
        mode(page, "check")
        page.keyboard.press("Escape")
        mode(page, "cluster")
        page.keyboard.press("n")
        page.locator("h1").filter(has_text="Cluster").wait_for()
    page.keyboard.press("g")
    mode(page, "check")
    page.locator("h1").filter(has_text="2 bulk labels together").wait_for()
    all_seen(page)
    screenshot(page, "review-check-all")
    page.keyboard.press("Enter")
    mode(page, "cluster")
    page.goto(f"{server.base}/labels?part=history")
    page.get_by_text("bulk labels of 2 events: checked").wait_for()
