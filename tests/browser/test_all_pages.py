"""A walk over all pages and their dialogs, on the sample campaign and the sample albums: no text is a value of a
program, nothing is cut off, and albums are called albums."""

import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import expect

from benthoscope.engine.jobs import run_now
from benthoscope.engine.labelling.vocabulary_file import add_catami
from benthoscope.engine.workspace import Workspace
from benthoscope.engine.workspace.crowd.campaigns import ask
from benthoscope.engine.workspace.crowd.records import CampaignSettings
from benthoscope.engine.workspace.labels.vocabularies import NewTerm
from benthoscope.sample_data import albums_path, campaign_path, make_albums
from tests.browser.conftest import LAPTOP, Server, start_server
from tests.crowds import single_criterion_crowd
from tests.sample_workspace import copy_images

LAYOUT = Path(__file__).with_name("layout.js").read_text(encoding="utf-8")
SMALL = {"width": 1280, "height": 720}
IMAGES_PER_DIVE = 8  # descriptors of segments take most of the time
ITEMS = 40  # images of the crowd campaign
KINDS = ("campaign", "albums")
LONG = "A label with quite a long name of its own"
PARTS = {
    "objects": ("cards", "together", "dives", "scenes", "points"),
    "labels": ("words", "import", "people", "training", "history", "cover", "export"),
}


@dataclass(frozen=True)
class Sample:
    server: Server
    folder: Path  # the workspace
    images: Path


@pytest.fixture(scope="module", params=KINDS)
def sample(request, tmp_path_factory, campaign) -> Iterator[Sample]:
    """A server on the sample campaign or albums with everything a page can show: two models, objects, labels of two
    people, a learned model, an answered crowd campaign, an export."""
    base = tmp_path_factory.mktemp(request.param)
    images = base / "images"
    _copy_images(request.param, images, campaign)
    folder = base / "sample.benthos"
    with Workspace.create(folder, name=f"Sample {request.param}") as workspace:
        _fill(workspace, images)
    server = start_server(folder)
    yield Sample(server, folder, images)
    server.stop()


def _copy_images(kind: str, images: Path, campaign: Path) -> None:
    if kind == "campaign":
        if campaign_path().is_dir():
            copy_images(images, IMAGES_PER_DIVE)
        else:
            shutil.copytree(campaign, images)
    elif albums_path().is_dir():
        shutil.copytree(albums_path(), images)
    else:
        make_albums(images, albums=4, images=60, size=(320, 240), seed=0)


def _fill(workspace: Workspace, images: Path) -> None:
    """Run the jobs and store labels, answers and an export."""
    for kind, parameters in (
        ("import", {"folder": str(images), "collection": "Sample"}),
        ("features", {"kinds": ["colour", "segments"]}),
        ("cluster", {"features": "colour", "name": "First look"}),
        ("cluster", {"features": "colour", "model": "mcm", "name": "Objects and scenes"}),
        ("cluster", {"features": "colour", "name": "Narrower", "parameters": {"width": 0.02}}),
    ):
        job = run_now(workspace, kind, parameters)
        assert job.state == "done", job.error
    add_catami(workspace)
    _label(workspace)
    _ask_a_crowd(workspace)
    assert run_now(workspace, "learn").state == "done"


def _label(workspace: Workspace) -> None:
    """Half of the images in bulk by the clusters of the first run, and some of them again by a second person."""
    words = workspace.vocabularies.add("own", [NewTerm(("Sand",)), NewTerm((LONG,))])
    terms = [term.id for term in workspace.vocabularies.terms(words.id)]
    ann, bob = workspace.people.named("Ann").id, workspace.people.named("Bob with a long surname").id
    run = workspace.runs.named("First look")
    ids, labels = np.asarray(run.array("image_ids")), np.asarray(run.array("labels"))
    for cluster, number in enumerate(np.unique(labels)[:4]):
        half, rule = np.sort(ids[labels == number])[::2], {"cluster": int(number)}
        workspace.labels.label(ann, half, terms[cluster % 2], why="review", run_id=run.id, rule=rule)
    named = workspace.labels.current()[0][:12]
    workspace.labels.label(bob, named, terms[1], why="verification")
    workspace.labels.undo_last(ann)
    workspace.favourites.choose(ann, "1", terms[0])
    workspace.favourites.choose(ann, "2", terms[1])
    workspace.selections.save(ann, "forty of them", ids[:ITEMS])


def _ask_a_crowd(workspace: Workspace) -> None:
    ids = workspace.library.columns("id")["id"][:ITEMS]
    campaign = ask(
        workspace.crowd,
        "which go together",
        ids,
        CampaignSettings(size=10, views=4, repeats=3),
        np.random.default_rng(0),
    )
    people = single_criterion_crowd(0, n_items=ITEMS, n_workers=8, spammers=0.125)
    people.answer_all(workspace, workspace.crowd.change(campaign.id, "open"))
    assert run_now(workspace, "crowd", {"campaign": "which go together"}).state == "done"


# --- the walk: (name, slug, what is done there)

HERE = None  # in place of a slug: on the page before, without its dialogs and modes
# Until no file and no value has come for a while, as `networkidle` is after a page was opened.
QUIET = """async () => {
  const count = () => performance.getEntriesByType("resource").length
  performance.clearResourceTimings()
  for (let before = -1; before !== count();) {
    before = count()
    await new Promise((go) => setTimeout(go, 400))
  }
}"""


def _nothing(page, sample) -> None:
    pass


def _press(*keys: str) -> Callable:
    def go(page, sample) -> None:
        for key in keys:
            page.keyboard.press(key)

    return go


def _click(*names: str) -> Callable:
    def go(page, sample) -> None:
        for name in names:
            page.get_by_role("button", name=name).first.click()

    return go


def _part(number: int, part: str) -> Callable:
    def go(page, sample) -> None:
        page.keyboard.press(str(number))
        page.wait_for_url(f"**part={part}**")

    return go


def _preview(page, sample) -> None:
    page.keyboard.press("a")
    page.get_by_label("Folder", exact=True).fill(str(sample.images))
    page.get_by_role("button", name="Open", exact=True).click()
    page.get_by_role("button", name="Scan folder").click()
    page.get_by_label("Collection", exact=True).wait_for()
    for summary in page.locator("dialog[open] summary").all():
        summary.click()


def _form(key: str) -> Callable:
    def go(page, sample) -> None:
        page.keyboard.press(key)
        page.locator("dialog[open] form").wait_for()
        locator = page.locator("dialog[open] summary")
        if locator.count():
            locator.first.click()

    return go


def _select(page, sample) -> None:
    page.keyboard.press("4")  # of the pane that is alone: all panes again
    page.locator(".card").first.get_by_role("button", name="Select").click()
    page.get_by_text("selected").first.wait_for()
    page.get_by_role("button", name="More commands on the selection").click()


def _pane(number: str) -> Callable:
    def go(page, sample) -> None:
        page.keyboard.press(number)
        expect(page.locator(".pane:visible")).to_have_count(1)

    return go


def _first_tile(page, sample) -> None:
    page.locator(".gallery .tile img").first.wait_for()
    page.locator(".scroller").focus()
    page.keyboard.press("Enter")
    page.locator(".viewer .facts dd").first.wait_for()


def _term_list(page, sample) -> None:
    page.locator(".tile img").first.wait_for()
    page.keyboard.press("l")
    page.keyboard.type("spo", delay=5)
    page.locator(".hits li").first.wait_for()


def _forget(page, sample) -> None:
    page.get_by_role("button", name=re.compile("^Remove .* from the workspace")).first.click()
    page.locator("dialog[open] form").wait_for()


def _name_dialog(page, sample) -> None:
    page.context.clear_cookies(name="bentho-person")
    page.reload()
    _term_list(page, sample)
    page.keyboard.press("Enter")
    page.locator(".chosen .chip.on").wait_for()
    page.keyboard.press("Enter")
    page.get_by_role("dialog", name="Name needed").wait_for()


def _compare(page, sample) -> None:
    page.get_by_role("button", name=re.compile("Compare")).first.click()


def _unfold(page, sample) -> None:
    for summary in page.locator("summary").all():
        if summary.is_visible():
            summary.click()


def _parts(page: str) -> Iterator[tuple[str, str | None, Callable]]:
    """The parts of a page; all but the first by their key."""
    for number, part in enumerate(PARTS[page], 1):
        yield (
            (f"{page}-{part}", f"{page}?part={part}", _nothing)
            if number == 1
            else (
                f"{page}-{part}",
                HERE,
                _part(number, part),
            )
        )


PAGES = [
    ("home", "", _nothing),
    ("person", HERE, _click("Person: Ann")),
    ("tray", HERE, _click("Jobs")),
    ("library", "library", _nothing),
    ("library-add", HERE, _press("a")),
    ("library-preview", HERE, _preview),
    ("library-describe", HERE, _form("d")),
    ("library-cluster", HERE, _form("c")),
    ("library-forget", HERE, _forget),
    ("explore", "explore", _nothing),
    ("explore-image", HERE, _first_tile),
    *((f"explore-pane-{number}", HERE, _pane(str(number))) for number in (1, 2, 3, 4)),
    ("explore-selection", HERE, _select),
    ("explore-depth", "explore?colour=probability&group=dive", _nothing),
    ("group", "dive", _nothing),
    ("group-predict", HERE, _click("Predict a column…")),
    *_parts("objects"),
    *_parts("labels"),
    ("labels-export-form", HERE, _press("x")),
    ("labels-image", "labels?part=history&image=1", _nothing),
    ("learn", "learn", _nothing),
    ("learn-sort", "learn?queue=sort", _nothing),
    ("learn-disputed", "learn?queue=disputed", _nothing),
    ("learn-cover", "learn?queue=cover", _nothing),
    ("learn-double", "learn?queue=double", _nothing),
    ("crowd", "crowd", _unfold),
    ("crowd-new", HERE, _click("New campaign")),
    ("runs", "runs", _unfold),
    ("runs-compare", HERE, _compare),
    ("jobs", "jobs", _nothing),
    ("help", "help", _nothing),
    ("help-review", "help?topic=review", _nothing),
    ("review", "review", _nothing),
    ("review-lasso", HERE, _press("p")),
    ("review-one", HERE, _press("o")),
    ("review-aim", HERE, _press("m")),
    ("keys", HERE, _press("?")),
    ("review-terms", HERE, _term_list),
    ("name", HERE, _name_dialog),  # from here on the page is nobody's
]


def _settle(page) -> None:
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(250)  # transitions


def _leave(page) -> None:
    """Close what an action has opened."""
    for _ in range(3):
        page.keyboard.press("Escape")
    expect(page.locator("dialog[open]")).to_have_count(0)


def test_no_text_is_a_value_of_a_program_and_nothing_is_cut_off(sample, tab, screenshot):
    page = tab("", sample.server, person="Ann")
    kind = sample.folder.parent.name.rstrip("0123456789")
    faults = []
    for name, slug, action in PAGES:
        page.set_viewport_size(LAPTOP)
        if slug is HERE:
            _leave(page)
        else:
            page.goto(f"{sample.server.base}/{slug}")
            page.get_by_role("button", name="Keyboard shortcuts").wait_for()
            _settle(page)
        if action is not _nothing:
            action(page, sample)
            page.evaluate(QUIET)
            _settle(page)
        screenshot(page, f"walk-{kind}-{name}")
        faults += [f"{name}: {fault}" for fault in _faults(page, kind)]
    assert faults == [], "\n".join(faults)


def _faults(page, kind: str) -> list[str]:
    """Problems of the page in its current state, at both widths."""
    faults = [f"{LAPTOP['width']}: {fault}" for fault in _lasting_overflows(page)]
    page.set_viewport_size(SMALL)
    page.wait_for_timeout(200)
    faults += [f"{SMALL['width']}: {fault}" for fault in _lasting_overflows(page)]
    faults += page.evaluate(f"{LAYOUT}.values()")
    return faults + (_words_of_dives(page) if kind == "albums" else [])


def _lasting_overflows(page) -> list[str]:
    """Elements that are cut off, and still are once the page had time to follow its new size."""
    overflows = page.evaluate(f"{LAYOUT}.overflows()")
    for _ in range(10):
        if not overflows:
            break
        page.wait_for_timeout(200)
        overflows = page.evaluate(f"{LAYOUT}.overflows()")
    return overflows


def _words_of_dives(page) -> list[str]:
    """Lines of the page that speak of dives or depth. The help may: it is written for all workspaces."""
    if "/help" in page.url:
        return []
    text = page.locator("body").inner_text()
    return [line for line in text.splitlines() if re.search(r"\b(dives?|depths?)\b", line, re.IGNORECASE)]


def test_the_checks_see_a_value_and_an_element_that_is_cut_off(sample, tab):
    page = tab("jobs", sample.server)
    page.evaluate("""() => document.body.insertAdjacentHTML("beforeend",
        "<div style='position:fixed;top:90px;left:300px;width:200px;overflow:hidden'><p style='width:400px'>wide</p>" +
        "</div><button style='position:fixed;top:90px;left:1360px'>beyond</button><p title='NaN m'>undefined</p>")""")
    overflows, values = page.evaluate(f"{LAYOUT}.overflows()"), page.evaluate(f"{LAYOUT}.values()")
    assert any("wide" in fault for fault in overflows) and any("beyond" in fault for fault in overflows)
    assert any("NaN m" in fault for fault in values) and any("undefined" in fault for fault in values)
