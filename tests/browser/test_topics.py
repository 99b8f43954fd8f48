"""Topics in a real browser: found by a job, named, looked at over an image, searched by mixture, and extended."""

import pytest
from playwright.sync_api import expect

from benthoscope.engine.jobs import run_now
from tests.browser.conftest import start_server
from tests.browser.test_screens import CHECKS
from tests.segmented_reef import add_image, add_topics, made


@pytest.fixture
def reef(tmp_path):
    made_reef = made(tmp_path)
    yield made_reef
    made_reef.workspace.close()


@pytest.fixture
def opened(tab, reef, contexts):
    """The page on a server of this workspace."""
    servers = []

    def at(address="topics", *words):
        servers.append(start_server(reef.workspace.folder, *words))
        return tab(address, servers[-1], person="Ann")

    yield at
    while contexts:
        contexts.pop().close()
    for server in servers:
        server.stop()


def test_topics_are_found_by_a_job_and_new_images_added(opened, reef):
    page = opened()
    page.get_by_role("heading", name="No topics yet").wait_for()
    page.get_by_text("You can cancel the job").wait_for()
    page.get_by_role("button", name="Find topics").click()
    dialog = page.get_by_role("dialog").filter(has_text="Find topics")
    dialog.get_by_text("96 patches of 24 images").click()
    dialog.get_by_label("Topics", exact=True).fill("3")
    dialog.get_by_role("button", name="Find topics").click()
    page.locator(".topic .near img").first.wait_for()
    expect(page.locator(".topic")).to_have_count(3)
    add_image(reef, "east", described=True)
    page.reload()
    page.get_by_role("button", name="Add 1 image").click()
    dialog = page.get_by_role("dialog").filter(has_text="Add 1 image to the topics")
    dialog.get_by_text("You can cancel the job").wait_for()
    dialog.get_by_role("button", name="Add images").click()
    page.get_by_text("Added 1 image of east. Kinds of patches in use:").wait_for()
    page.get_by_text("3 topics of 100 patches in 25 images").wait_for()
    expect(page.get_by_role("button", name="Add 1 image")).to_have_count(0)


def test_an_image_of_a_new_dive_is_added_to_a_joint_segmentation(opened, reef):
    request = {"model": "mbtm-segments", "segments": "segments", "name": "grounds"}
    assert run_now(reef.workspace, "cluster", request).state == "done"
    add_image(reef, "east", described=True)
    page = opened()
    page.get_by_text("segments in 24 images").wait_for()
    page.get_by_role("button", name="Add 1 image").click()
    dialog = page.get_by_role("dialog").filter(has_text="new kinds of regions become new topics")
    dialog.get_by_text("for about 4 segments. You can cancel the job").wait_for()
    dialog.get_by_role("button", name="Add images").click()
    page.get_by_text("Added 1 image of east. Topics: 3 before, 3 now.").wait_for()
    page.get_by_text("3 topics of 100 segments in 25 images").wait_for()


def test_topics_are_named_seen_over_an_image_and_searched(opened, reef):
    run = add_topics(reef)
    page = opened("topics", "--no-jobs")
    card = page.locator(".topic[data-number='2']")
    card.get_by_label("Name of topic 2").fill("<b>sponges")
    page.keyboard.press("Enter")
    card.get_by_role("heading", name="<b>sponges 2").wait_for()  # as text, never as markup
    page.get_by_role("button", name="Undo", exact=True).click()
    card.get_by_role("heading", name="Topic 2", exact=True).wait_for()
    page.locator(".topic[data-number='1'] .cropgrid button").first.click()
    page.locator(".viewer .objects").get_by_text("Topic 1").wait_for()
    picture = page.locator(".viewer .segments")
    assert f"run={run.id}" in picture.get_attribute("src") and "cover=110" in picture.get_attribute("src")
    page.get_by_label("Opacity of the colours").fill("250")
    assert "cover=250" in picture.get_attribute("src")
    box = page.locator(".viewer .stage").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2 + 5, box["y"] + box["height"] / 2 + 5)
    page.locator(".objecttip").get_by_text("Topic").wait_for()
    page.keyboard.press("s")
    picture.wait_for(state="hidden")
    page.keyboard.press("s")
    page.get_by_text("Hold Shift and drag over the image").wait_for()
    page.keyboard.down("Shift")
    page.mouse.move(box["x"] + box["width"] / 2 - 60, box["y"] + box["height"] / 2 - 60)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2 + 60, box["y"] + box["height"] / 2 + 60, steps=4)
    page.locator(".imageregion").wait_for()
    page.mouse.up()
    page.keyboard.up("Shift")
    page.get_by_text("Images with the topics of a region of image").wait_for()
    page.locator(".viewer[open]").wait_for(state="hidden")
    page.wait_for_url("**region=**")
    expect(page.locator(".match")).to_have_count(24)
    page.get_by_label("Mixture of topics").fill("1: 75 %")
    page.get_by_role("button", name="Find", exact=True).click()
    expect(page.get_by_label("Share of Topic 1")).to_have_value("75")
    page.get_by_text("24 images, the nearest first").wait_for()
    weedy = reef.ids[(reef.objects == 1).sum(1) == 3]
    labels = [page.locator(".match button.near").nth(at).get_attribute("aria-label") for at in range(len(weedy))]
    assert sorted(labels) == sorted(f"Open image {image}" for image in weedy)
    page.get_by_label(f"Images like image {weedy[0]} by topics").click()
    page.get_by_text(f"Images with the topics of image {weedy[0]}").wait_for()
    page.keyboard.press("2")
    page.locator("[data-plot='topics-along'] .stage[data-drawn] canvas").first.wait_for()
    page.locator("[data-plot='topic-mixtures'] .stage[data-drawn] canvas").first.wait_for()
    page.keyboard.press("4")
    page.locator("[data-plot='cluster-count'] .stage[data-drawn] canvas").first.wait_for()
    assert page.evaluate(f"{CHECKS}.contrast()") == []
    assert page.evaluate(f"{CHECKS}.unnamed()") == []
