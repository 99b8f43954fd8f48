"""From an empty workspace to clusters, as a person does it; and what the pages of library, runs and jobs offer."""

import re
import shutil
import time

import httpx

from benthoscope.engine.jobs import JobQueue
from benthoscope.engine.workspace import Workspace
from benthoscope.engine.workspace.storage.files import Claim

MINUTES = 120_000  # milliseconds for a job on a busy machine


def wait_for_jobs(server):
    """Until nothing runs or waits."""
    end = time.monotonic() + MINUTES / 1000
    headers = {"authorization": f"Bearer {server.token}"}
    while time.monotonic() < end:
        jobs = httpx.get(f"{server.base}/api/v1/jobs", headers=headers, timeout=30).json()["jobs"]
        if all(job["finished_at"] for job in jobs):
            return {job["kind"]: job["state"] for job in jobs}
        time.sleep(0.3)
    raise AssertionError("jobs do not end")


def test_import_describe_and_cluster_from_an_empty_workspace(tab, blank, campaign, screenshot):
    page = tab("library", blank)
    page.get_by_role("heading", name="No images yet").wait_for()
    page.get_by_role("button", name="Add images").first.click()
    page.get_by_label("Folder").fill(str(campaign))
    page.get_by_role("button", name="Open", exact=True).click()
    page.get_by_text("kelp_point").first.wait_for()
    page.get_by_role("button", name="Scan folder").click()
    start = page.get_by_role("button", name=re.compile(r"Import \d+ images"))
    start.wait_for()
    screenshot(page, "import-preview")
    page.get_by_label("Collection", exact=True).fill("By hand")
    start.click()
    page.get_by_role("region", name="Collections").get_by_text("By hand", exact=True).wait_for(timeout=MINUTES)
    page.get_by_role("button", name="Describe", exact=True).click()
    form = page.get_by_role("dialog", name="Describe images")
    form.get_by_role("checkbox", name=re.compile("^colour ")).wait_for()
    for word in ("deep", "colour"):
        box = form.get_by_role("checkbox", name=re.compile(f"^{word} "))
        if box.count():
            box.set_checked(word == "colour")
    form.get_by_text("images on").wait_for()
    form.get_by_role("button", name="Describe", exact=True).click()
    page.get_by_text("feature dimensions").wait_for(timeout=MINUTES)
    page.get_by_role("button", name="Cluster", exact=True).click()
    form = page.get_by_role("dialog", name="Cluster images")
    form.get_by_text("More", exact=True).click()
    screenshot(page, "cluster-form")
    form.get_by_role("button", name="Cluster", exact=True).click()
    page.get_by_role("status").filter(has_text=re.compile("Cluster images.*: done")).wait_for(timeout=MINUTES)
    page.get_by_text(re.compile(r"\d+ in gmc colour")).wait_for(timeout=MINUTES)
    assert wait_for_jobs(blank) == {"import": "done", "features": "done", "cluster": "done"}


def test_navigation_files_and_skipped_links_are_set_in_the_import_dialog(tab, blank, campaign, screenshot, tmp_path):
    folder, outside = tmp_path / "dive", tmp_path / "outside"
    folder.mkdir()
    outside.mkdir()
    pictures = sorted(campaign.rglob("*.jpg"))[:3]
    for second, picture in zip((0, 5, 50), pictures, strict=True):
        shutil.copy(picture, folder / f"PR_20190513_1200{second:02}_000_LC16.jpg")
    shutil.copy(pictures[0], outside / "more.jpg")
    (folder / "link").symlink_to(outside)
    (tmp_path / "ship.csv").write_text("time,lat,lon\n2019-05-13T12:00:00Z,-33,151\n2019-05-13T12:00:20Z,-34,152\n")
    page = tab("library", blank, size={"width": 1366, "height": 768})
    page.get_by_role("button", name="Add images").first.click()
    page.get_by_label("Folder").fill(str(folder))
    page.get_by_role("button", name="Open", exact=True).click()
    page.get_by_text("3 images directly").wait_for()
    page.get_by_role("button", name="Scan folder").click()
    page.get_by_text("Skipped because they point outside the folder: 1 link.").wait_for()
    page.get_by_text("Positions by time").click()
    page.get_by_label("Add a navigation file").fill(str(tmp_path / "ship.csv"))
    page.get_by_label("Largest gap (s)").fill("30")
    page.get_by_role("button", name="Apply").click()
    page.get_by_text("Matched by time: 2 images.").wait_for()
    page.get_by_text("No fix near their time: 1 images").wait_for()
    page.get_by_text("Positions by time").scroll_into_view_if_needed()
    screenshot(page, "import-navigation")
    page.get_by_role("button", name="Follow links").click()
    page.get_by_role("button", name="Import 4 images").wait_for()
    page.get_by_text("Matched by time: 2 images.").wait_for()  # the settings stay
    page.get_by_role("cell", name="-33.25000").wait_for()


def test_a_running_job_shows_in_the_tray_and_is_cancelled_from_there(tab, own_server, tmp_path):
    headers = {"authorization": f"Bearer {own_server.token}"}
    page = tab("jobs", own_server)
    with Workspace.open(tmp_path / "copy" / "sample.benthos") as workspace:
        alone = Claim.acquire(JobQueue(workspace).heavy_lock)  # so that the jobs wait, and one is there to be cancelled
    for seed in range(2):
        httpx.post(
            f"{own_server.base}/api/v1/jobs",
            headers=headers,
            timeout=30,
            json={"kind": "cluster", "title": f"Round {seed}", "parameters": {"features": "colour", "seed": seed}},
        )
    page.get_by_role("button", name=re.compile("Jobs: 2")).click()
    page.get_by_role("button", name="Cancel Round 1").click()
    row = page.get_by_role("region", name="Finished jobs").locator(".tabulator-row").filter(has_text="Round 1")
    row.get_by_text("Finished work is kept", exact=True).wait_for()
    alone.release()
    row.get_by_role("button", name="Retry").click()
    assert set(wait_for_jobs(own_server).values()) == {"done"}


def test_a_link_to_a_comparison_restores_it_and_back_takes_a_step_back(tab, own_server):
    headers = {"authorization": f"Bearer {own_server.token}"}
    httpx.post(
        f"{own_server.base}/api/v1/jobs",
        headers=headers,
        timeout=30,
        json={"kind": "cluster", "parameters": {"features": "colour", "model": "vdp", "name": "no dives"}},
    )
    wait_for_jobs(own_server)
    page = tab("runs", own_server)
    page.get_by_role("button", name="no dives", exact=True).click()
    page.get_by_role("button", name="Compare First look").click()
    page.get_by_text("V-measure").wait_for()
    link = page.url
    assert "against=1" in link
    page.go_back()
    page.get_by_text("V-measure").wait_for(state="detached")
    page.goto(link)
    page.get_by_text("V-measure").wait_for()
    page.get_by_role("heading", name="no dives compared with First look").wait_for()


def test_a_run_is_deleted_and_brought_back_from_the_message(tab, own_server):
    page = tab("runs", own_server)
    page.get_by_role("button", name="Delete First look").click()
    page.get_by_role("heading", name="No runs yet").wait_for()
    page.get_by_role("button", name="Undo", exact=True).click()
    page.get_by_role("button", name="First look", exact=True).wait_for()


def test_a_run_is_renamed_in_its_row(tab, own_server):
    page = tab("runs", own_server)
    page.get_by_role("button", name="Rename First look").click()
    page.get_by_label("New name").fill("Kelp and sand")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Kelp and sand", exact=True).wait_for()


def test_what_taking_the_water_out_would_do_is_seen_before_it_is_done(tab):
    page = tab("library")
    page.get_by_role("button", name="Describe", exact=True).click()
    with page.context.expect_page() as shown:
        page.get_by_role("link", name="See before and after").click()
    shown.value.wait_for_load_state()
    assert shown.value.evaluate("document.images[0].naturalWidth") > 300
