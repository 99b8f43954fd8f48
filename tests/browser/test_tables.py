"""Tables: filtered in the browser, saved as they are seen, worked by the keyboard."""

FOCUSED = """() => {
    let at = document.activeElement
    while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement
    return at?.getAttribute("aria-label")
}"""


def saved(page):
    with page.expect_download() as download:
        page.get_by_role("button", name="Save as CSV").click()
    assert download.value.suggested_filename == "runs.csv"
    return download.value.path().read_text(encoding="utf-8").splitlines()


def test_a_table_is_filtered_and_saved_as_it_is_seen(tab):
    page = tab("runs")
    page.get_by_role("button", name="First look", exact=True).wait_for()
    assert [line.partition(",")[0] for line in saved(page)] == ["Run", "First look"]
    page.get_by_label("Filter by Run").press_sequentially("nowhere")
    page.get_by_text("No row passes the filters").wait_for()
    page.get_by_role("button", name="First look", exact=True).wait_for(state="detached")
    assert [line.partition(",")[0] for line in saved(page)] == ["Run"]


def test_a_table_is_worked_by_the_keyboard(tab):
    page = tab("runs")
    page.get_by_role("button", name="First look", exact=True).wait_for()
    page.get_by_role("columnheader", name="Images").get_by_role("button").focus()
    page.keyboard.press("Enter")
    page.locator(".tabulator-col[aria-sort=ascending], .tabulator-col[aria-sort=descending]").first.wait_for()
    page.get_by_role("button", name="Rename First look").focus()
    page.keyboard.press("Enter")
    page.get_by_role("dialog", name="Rename run").wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("dialog", name="Rename run").wait_for(state="hidden")
    assert page.evaluate(FOCUSED) == "Rename First look"
