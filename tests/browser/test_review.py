"""Review in a real browser: a campaign named by the keyboard, undone after a restart, by two people at once."""

import pytest
from playwright.sync_api import expect

from benthoscope.engine.workspace import Workspace
from benthoscope.engine.workspace.labels.vocabularies import NewTerm
from tests.benchmarks.sized_workspace import make_workspace
from tests.browser.audit_pages import all_seen
from tests.browser.conftest import WORDS, start_server


def review(tab, server, person="Ann"):
    page = tab("review", server, person=person)
    page.locator(".tile img").first.wait_for()
    return page


def choose(page, word):
    """Types the first letters of a term."""
    page.keyboard.press("l")
    page.keyboard.type(word, delay=10)
    page.locator(".hits li").filter(has_text=word).first.wait_for()
    page.keyboard.press("Enter")
    page.locator(".chosen .chip.on").filter(has_text=word).first.wait_for()


def mode(page, expected):
    page.locator(f".tiles[data-mode={expected}]").wait_for()


def labelled(page):
    return int(page.locator("[data-told=labelled]").inner_text().replace(",", ""))


def terms(folder):
    """{term name: images}, as the log has it."""
    with Workspace.open(folder) as workspace:
        names = {term.id: term.name for term in workspace.vocabularies.all_terms()}
        term_names = [names[number] for number in workspace.labels.current_terms()[1].tolist()]
    return {name: term_names.count(name) for name in set(term_names)}


def test_a_cluster_is_named_checked_and_taken_back_without_the_mouse(named, tab, screenshot):
    server, folder = named
    page = review(tab, server)
    screenshot(page, "review")
    choose(page, "sand")
    page.keyboard.press("Enter")
    mode(page, "check")
    first = labelled(page)
    assert first > 10
    all_seen(page)
    page.keyboard.press("Enter")
    page.get_by_text("at 95 %").first.wait_for()
    mode(page, "cluster")
    choose(page, "kelp")
    page.keyboard.press("Enter")
    mode(page, "check")
    page.keyboard.press("z")
    mode(page, "cluster")
    page.locator("[data-told=labelled]").filter(has_text=str(first)).wait_for()
    assert terms(folder) == {"sand": first}


def test_what_is_clicked_is_left_out_and_named_at_once(named, tab):
    server, folder = named
    page = review(tab, server)
    choose(page, "reef")
    tiles = page.locator(".tile")
    tiles.nth(0).click()
    tiles.nth(2).click(modifiers=["Shift"])
    expect(page.locator(".tile.marked")).to_have_count(3)
    page.keyboard.press("e")
    page.locator("[data-told=labelled]").filter(has_text="3").wait_for()
    choose(page, "rubble")
    page.keyboard.press("Enter")
    mode(page, "check")
    term_names = terms(folder)
    assert term_names["reef"] == 3 and term_names["rubble"] > 5


ANSWERS = """() => [...Bokeh.documents].flatMap((one) => one.roots())
    .filter((root) => root.title?.text === "Extension of the cluster").flatMap((root) => root.renderers)
    .filter((one) => (one.glyph?.size?.value ?? one.glyph?.size) === 9)
    .reduce((sum, one) => sum + one.data_source.get_length(), 0)"""


def answers(page):
    """The number of answers in the plot of an extension."""
    return page.evaluate(ANSWERS)


def test_a_list_is_extended_with_f_and_j(named, tab, screenshot):
    server, folder = named
    page = review(tab, server)
    choose(page, "sand")
    page.keyboard.press("x")
    mode(page, "grow")
    page.locator(".curve .stage[data-drawn]").wait_for()
    screenshot(page, "review-grow")
    for key in "fjf":
        before = answers(page)
        page.keyboard.press(key)
        page.wait_for_function(f"(before) => ({ANSWERS})() > before", arg=before)
    page.keyboard.press("Enter")
    mode(page, "check")
    assert terms(folder)["sand"] >= 50


def test_four_commands_are_visible_and_the_menu_has_the_others(named, tab):
    page = review(tab, named[0])
    expect(page.locator(".toolbar .verbs button:visible")).to_have_count(4)
    page.get_by_role("button", name="More").focus()
    page.keyboard.press("Enter")
    page.get_by_role("menuitem", name="Split in two").wait_for()
    for _ in range(3):
        page.keyboard.press("ArrowDown")
    expect(page.get_by_role("menuitem", name="Mark as a duplicate")).to_be_focused()
    page.keyboard.press("Escape")
    page.get_by_role("menuitem", name="Split in two").wait_for(state="hidden")
    expect(page.get_by_role("button", name="More")).to_be_focused()
    page.get_by_role("button", name="More").click()
    page.get_by_role("menuitem", name="Plot with a lasso").click()
    page.locator(".plane:not([hidden])").wait_for()
    page.keyboard.press("o")
    page.locator(".single:not([hidden])").wait_for()
    expect(page.locator(".toolbar .verbs button:visible")).to_have_count(4)


def test_a_reload_shows_the_same_page_with_tiles_of_the_same_size(named, tab):
    page = review(tab, named[0])
    page.locator(".clusters .row img").first.wait_for()
    small = page.locator(".tile").first.bounding_box()["width"]
    page.get_by_label("Size of tiles").fill("60")
    large = page.locator(".tile").first.bounding_box()["width"]
    assert large > 2 * small
    page.keyboard.press("Escape")
    page.locator("h1").click()
    page.keyboard.press("ArrowRight")
    page.get_by_text("page 2 of").wait_for()
    title, images = (
        page.locator("h1").inner_text(),
        [tile.get_attribute("data-id") for tile in page.locator(".tile").all()],
    )
    page.reload()
    page.get_by_text("page 2 of").wait_for()
    assert page.locator("h1").inner_text() == title
    assert [tile.get_attribute("data-id") for tile in page.locator(".tile").all()] == images
    assert page.locator(".tile").first.bounding_box()["width"] == large


def test_the_header_undoes_the_last_change_on_another_page(named, tab):
    server, folder = named
    page = review(tab, server)
    choose(page, "sand")
    page.keyboard.press("Enter")
    mode(page, "check")
    assert terms(folder)
    page.goto(f"{server.base}/runs")
    page.get_by_role("button", name='Undo: "sand" on').click()
    page.get_by_text('Undone: "sand" on').first.wait_for()
    page.get_by_role("button", name="Nothing to undo").wait_for()
    assert terms(folder) == {}


def test_undo_reaches_back_beyond_a_restart(named, tab):
    server, folder = named
    page = review(tab, server)
    choose(page, "sand")
    page.keyboard.press("Enter")
    mode(page, "check")
    assert terms(folder)
    page.close()
    server.stop()
    again = start_server(folder)
    try:
        other = review(tab, again)
        assert labelled(other) > 0
        other.keyboard.press("z")
        other.locator("[data-told=labelled]").filter(has_text="0").wait_for()
        assert terms(folder) == {}
        other.close()
    finally:
        again.stop()


def test_two_browsers_label_at_once_and_nothing_is_lost(named, tab):
    server, folder = named
    ann, bob = review(tab, server, "Ann"), review(tab, server, "Bob")
    bob.keyboard.press("n")
    bob.locator(".row.on").nth(0).wait_for()
    for page, word in ((ann, "sand"), (bob, "kelp")):
        choose(page, word)
    ann.keyboard.press("Enter")
    bob.keyboard.press("Enter")
    mode(ann, "check")
    mode(bob, "check")
    term_names = terms(folder)
    assert set(term_names) == {"sand", "kelp"}
    total = str(sum(term_names.values()))
    for page in (ann, bob):
        page.locator("[data-told=labelled]").filter(has_text=total).wait_for()


def row_sizes(page):
    """{cluster: images}, as the list on the right says."""
    pairs = [text.replace(",", "").split() for text in page.locator(".clusters .row").all_inner_texts()]
    return {int(pair[0]): int(pair[-1]) for pair in pairs}


def until_sizes(page, expected):
    """Waits until the list on the right says so."""
    for number, size in expected.items():
        page.locator(f".clusters .row[aria-label^='Cluster {number}, {size} images,']").wait_for()
    page.locator(".clusters .row").nth(len(expected)).wait_for(state="detached")


def current_cluster(page):
    return int(page.locator("h1").inner_text().split()[1].rstrip(","))


def opened(page, cluster):
    page.locator(f".clusters .row[aria-label^='Cluster {cluster},']").click()
    page.locator("h1").filter(has_text=f"Cluster {cluster},").wait_for()


def aimed(page, key, cluster):
    page.keyboard.press(key)
    field = page.get_by_label("Number of the other cluster")
    field.wait_for()
    field.fill(str(cluster))
    page.keyboard.press("Enter")


@pytest.fixture
def table(named, tab):
    """Open Review with the largest cluster: (page, folder, its number, the number of another cluster, sizes)."""
    server, folder = named
    page = review(tab, server)
    sizes = row_sizes(page)
    largest, other = sorted(sizes, key=sizes.get, reverse=True)[:2]
    opened(page, largest)
    return page, folder, largest, other, sizes


def undone(page, sizes):
    page.keyboard.press("z")
    until_sizes(page, sizes)


def test_clusters_are_split_merged_and_marked_as_duplicates_by_key(table):
    page, _, largest, other, sizes = table
    page.keyboard.press("s")
    page.locator(".clusters .row").nth(len(sizes)).wait_for()
    undone(page, sizes)
    together = {
        **{number: size for number, size in sizes.items() if number != largest},
        other: sizes[largest] + sizes[other],
    }
    for key in "md":
        opened(page, largest)
        aimed(page, key, other)
        until_sizes(page, together)
        undone(page, sizes)


def test_images_are_moved_and_a_cluster_begins_with_one(table):
    page, _, largest, other, sizes = table
    for number in (0, 1):
        page.locator(".tile").nth(number).click()
    aimed(page, "m", other)
    until_sizes(page, {**sizes, largest: sizes[largest] - 2, other: sizes[other] + 2})
    undone(page, sizes)
    opened(page, largest)
    page.locator(".tile").nth(0).click()
    page.keyboard.press("c")
    mode(page, "grow")
    page.locator("h1").filter(has_text="Extending cluster").wait_for()
    page.keyboard.press("Escape")
    mode(page, "cluster")
    undone(page, sizes)


def test_a_lasso_marks_what_lies_within_and_that_is_split_off(table, screenshot):
    page, _, largest, _, sizes = table
    page.keyboard.press("p")
    page.locator("[data-plot=members] .stage[data-drawn]").wait_for()
    page.wait_for_timeout(300)  # BokehJS draws after it was embedded
    plane = page.locator(
        "[data-plot=members] .bk-CanvasPanel, [data-plot=members] .bk-Canvas, [data-plot=members] canvas"
    ).first
    screenshot(page, "review-lasso")
    box = plane.bounding_box()
    corners = ((0.12, 0.16), (0.5, 0.16), (0.5, 0.7))
    page.mouse.move(box["x"] + box["width"] * corners[0][0], box["y"] + box["height"] * corners[0][1])
    page.mouse.down()
    for x, y in corners[1:]:
        page.mouse.move(box["x"] + box["width"] * x, box["y"] + box["height"] * y, steps=4)
    page.mouse.up()
    matching = page.locator(".told").filter(has_text="clicked")
    matching.wait_for()
    marked = int(matching.inner_text().split()[0])
    assert 0 < marked < sizes[largest]
    page.keyboard.press("s")
    until_sizes(page, {**sizes, largest: sizes[largest] - marked, max(sizes) + 1: marked})
    undone(page, sizes)


def test_the_model_splits_a_cluster_in_the_background(table):
    page, _, largest, _, sizes = table
    page.keyboard.press("w")
    page.locator(".clusters .row").nth(len(sizes)).wait_for()
    after = row_sizes(page)
    assert sum(after.values()) == sum(sizes.values()) and after[largest] < sizes[largest]


def test_the_cut_of_a_list_is_moved_by_key(table):
    page, folder, *_ = table
    choose(page, "sand")
    page.keyboard.press("x")
    mode(page, "grow")
    slider = page.get_by_label("Cut, in pages")
    page.keyboard.press("f")
    page.locator(".curve .stage[data-drawn]").wait_for()
    slider.focus()
    for _ in range(2):
        pages_before = int(slider.input_value())
        page.keyboard.press("ArrowLeft")
        page.locator(".curve p").filter(has_text=f": {max(pages_before - 1, 0)} of").wait_for()
    cut = int(slider.input_value())
    page.keyboard.press("ArrowRight")
    page.locator(".curve p").filter(has_text=f": {cut + 1} of").wait_for()
    selected_count = int(page.locator(".curve p").inner_text().split("pages, ")[1].split()[0].replace(",", ""))
    page.keyboard.press("Enter")
    mode(page, "check")
    assert terms(folder)["sand"] == selected_count


def test_a_second_person_verifies_and_the_page_labels_tells_how_far_they_agree(table, tab, named, screenshot):
    page, folder, *_ = table
    choose(page, "sand")
    page.keyboard.press("Enter")
    mode(page, "check")
    bob = review(tab, named[0], "Bob")
    bob.keyboard.press("v")
    mode(bob, "verify")
    bob.locator("h1").filter(has_text="Is this sand?").wait_for()
    choose(bob, "reef")
    bob.locator(".tile").nth(0).click()
    shown = bob.locator(".tile").count()
    bob.keyboard.press("e")
    bob.locator(".tile").nth(shown - 1).wait_for(state="detached")
    bob.keyboard.press("Enter")
    bob.get_by_text("Confirmed").wait_for()
    bob.goto(f"{named[0].base}/labels?part=people")
    bob.locator("td", has_text="Ann and Bob").wait_for()
    screenshot(bob, "labels-people")
    bob.locator("[data-image] .chip").first.click()
    bob.get_by_text("No conflicts").wait_for()
    with Workspace.open(folder) as workspace:
        assert workspace.labels.events()[-1].why == "resolved"


def test_ten_thousand_keys_are_ten_thousand_labels(tab, tmp_path):
    """As fast as the browser takes them, in another order of terms each time; every one is in the log, in its place."""
    folder = tmp_path / "large.benthos"
    make_workspace(folder, TEN_THOUSAND + 200, pictures=20)
    with Workspace.open(folder) as workspace:
        words = workspace.vocabularies.add("own", [NewTerm((word,)) for word in WORDS])
        ids = {term.name: term.id for term in workspace.vocabularies.terms(words.id)}
        ann = workspace.people.named("Ann").id
        for key, word in zip("1234", WORDS, strict=True):
            workspace.favourites.choose(ann, key, ids[word])
    server = start_server(folder)
    try:
        page = review(tab, server)
        page.keyboard.press("o")
        page.locator(".single:not([hidden]) img.one[src]").wait_for()
        measured = page.evaluate(TYPED, TEN_THOUSAND)
        page.locator(f".single[data-said='{TEN_THOUSAND}']").wait_for()
        page.keyboard.press("Escape")
        mode(page, "cluster")
        page.locator("[data-told=labelled]").filter(has_text=f"{TEN_THOUSAND:,}").wait_for()
        page.close()
    finally:
        server.stop()
    with Workspace.open(folder) as workspace:
        images, numbers = workspace.labels.current_terms()
        assert len(workspace.labels.events()) == TEN_THOUSAND
        assert dict(zip(images.tolist(), numbers.tolist(), strict=True)) == {
            image: ids[WORDS[int(key) - 1]] for image, key in measured
        }


TEN_THOUSAND = 10_000
# Presses a digit for every image shown, waiting only where the next image is not there yet; [image, key] of each.
TYPED = """async (wanted) => {
  const all = (root) => [...root.querySelectorAll("*")].flatMap((one) => [
    one, ...(one.shadowRoot ? all(one.shadowRoot) : [])])
  const single = all(document).find((one) => one.classList.contains("single"))
  const said = []
  while (said.length < wanted) {
    const id = single.dataset.id
    if (!id) { await new Promise((go) => setTimeout(go, 5)); continue }
    const key = String(1 + (said.length * 7 + Math.floor(said.length / 5)) % 4)
    document.body.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true, composed: true}))
    said.push([Number(id), key])
    if (said.length % 50 === 0) await new Promise((go) => setTimeout(go, 0))
  }
  return said
}"""
