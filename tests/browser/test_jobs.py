"""The Jobs page: a card for a job that waits, a table of finished ones, and logs."""

import re
import shutil

from playwright.sync_api import expect

from benthoscope.engine.jobs import JobQueue
from benthoscope.engine.workspace import Workspace
from tests.browser.conftest import start_server


def test_a_waiting_job_is_cancelled_listed_and_retried(clustered, tab, tmp_path, contexts):
    shutil.copytree(clustered.parent, tmp_path / "copy")
    folder = tmp_path / "copy" / clustered.name
    with Workspace.open(folder) as workspace:
        done = len(JobQueue(workspace).all())  # pages that other tests opened may have started some
        JobQueue(workspace).add("features", {"kinds": ["colour"]}, title="Describe once more")
    server = start_server(folder, "--no-jobs")
    page = tab("jobs", server)
    waiting = page.get_by_role("article", name="Describe once more")
    finished = page.get_by_role("region", name="Finished jobs")
    rows = finished.locator(".tabulator-row")
    expect(rows).to_have_count(done)

    waiting.get_by_role("button", name="Cancel").click()
    expect(waiting).to_have_count(0)
    row = rows.filter(has_text="Describe once more")
    expect(row).to_contain_text("cancelled")

    state = finished.get_by_label("Filter by Result")
    state.press_sequentially("done")
    expect(rows).to_have_count(done)
    state.press("ControlOrMeta+a")
    state.press("Backspace")
    row.get_by_role("button", name="Retry").click()
    expect(waiting).to_have_count(1)
    expect(row).to_have_count(0)
    page.close()
    server.stop()


def test_the_log_of_a_finished_job_opens_and_closes(tab):
    page = tab("jobs")
    finished = page.get_by_role("region", name="Finished jobs")
    expect(finished.locator(".tabulator-row").nth(2)).to_be_visible()
    finished.get_by_role("button", name=re.compile("^(Cluster|First look)")).first.click()
    log = page.get_by_label(re.compile("^Log of (Cluster|First look)"))
    expect(log).to_have_count(1)
    page.get_by_role("button", name="Close", exact=True).click()
    expect(log).to_have_count(0)
