"""The Runs page in a real browser: the names that labels give to the clusters of a run."""

import pytest

from benthoscope.engine.workspace.labels.vocabularies import NewTerm
from tests.browser.conftest import start_server
from tests.segmented_reef import made


@pytest.fixture
def labelled(tmp_path):
    """A run of three scenes; all images of the first are labelled, one of the second is, and none of the third."""
    reef = made(tmp_path)
    workspace = reef.workspace
    list_id = workspace.vocabularies.add("grounds", [NewTerm(("sand",)), NewTerm(("weed",))]).id
    sand, weed = sorted(workspace.vocabularies.terms(list_id), key=lambda term: term.name)
    person = workspace.people.named("Ann").id
    workspace.labels.label(person, reef.ids[reef.scene == 0].tolist(), sand.id)
    workspace.labels.label(person, reef.ids[reef.scene == 1][:1].tolist(), weed.id)
    yield reef
    workspace.close()


def test_labels_name_the_clusters_of_a_run_and_are_tested_on_other_images(tab, contexts, labelled):
    server = start_server(labelled.workspace.folder, "--no-jobs")
    page = tab(f"runs?run={labelled.run.id}", server, person="Ann")
    page.get_by_text("Two labelled images of one cluster have the same label in 100% of cases").wait_for()
    page.get_by_text("Names from labels").click()
    named = page.locator(".recognition")
    named.get_by_text("100.0% of the other 3 labelled images get the right name").wait_for()
    assert named.locator("tbody th").all_inner_texts() == ["sand 0", "weed 1", "Cluster 2"]
    assert named.locator("tbody tr").first.locator("img").count() == 5
    named.get_by_role("link", name="weed 1").click()
    page.wait_for_url(f"**/explore?run={labelled.run.id}&cluster=1*")
    while contexts:
        contexts.pop().close()
    server.stop()
