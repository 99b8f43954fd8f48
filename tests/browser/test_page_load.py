"""Pages open without work that is repeated or unneeded: fonts, modules, tables and grey blocks in the browser."""

import pytest

COUNT_MESSAGES = """
window.messages = 0
const post = MessagePort.prototype.postMessage
MessagePort.prototype.postMessage = function (...values) { window.messages += 1; return post.apply(this, values) }
"""
FRAMES = """() => new Promise((resolve) => {
  let left = 30
  const next = () => (left-- ? requestAnimationFrame(next) : resolve())
  next()
})"""
LOADED = (
    "performance.getEntriesByType('resource').map(({name, initiatorType}) => [new URL(name).pathname, initiatorType])"
)
TABLES = "/tabulator.min.js"
ANIMATIONS = """() => {
  delete document.documentElement.dataset.drawn
  const names = ["::before", "::after"].map((part) => getComputedStyle(document.body, part).animationName)
  document.documentElement.dataset.drawn = ""
  return names
}"""


def loaded(page):
    page.wait_for_load_state("networkidle")
    return page.evaluate(LOADED)


def test_a_page_in_latin_letters_loads_no_other_alphabet(tab):
    fonts = [path for path, _ in loaded(tab("learn", fresh=True)) if "/roboto-" in path]
    assert fonts
    assert all("/roboto-latin-" in path for path in fonts)


def test_the_browser_imports_our_modules_itself(tab):
    modules = {
        path: kind
        for path, kind in loaded(tab("learn", fresh=True))
        if path.startswith("/assets/") and path.endswith(".js")
    }
    assert set(modules.values()) == {"script"}, "a module that was fetched as text is compiled on every page"


@pytest.mark.parametrize("slug", ["learn", "labels?part=cover"])
def test_a_page_loads_no_library_of_tables_while_no_table_is_in_view(tab, slug):
    assert not any(path.endswith(TABLES) for path, _ in loaded(tab(slug, fresh=True)))


def test_a_page_answers_keys_before_its_table_is_there_and_does_not_move_when_it_comes(tab):
    waiting = []
    page = tab("help")
    page.route(f"**{TABLES}*", lambda route: waiting.append(route))
    page.goto(page.url.replace("/help", "/runs"))
    page.get_by_role("heading", name="First look").wait_for()
    page.keyboard.press("?")
    page.get_by_role("dialog", name="Keyboard shortcuts").wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Copy", exact=True).wait_for()  # the card around the place of the table
    place = page.get_by_role("heading", name="First look").bounding_box()
    while not waiting:
        page.evaluate(FRAMES)
    waiting[0].continue_()
    page.get_by_role("button", name="First look", exact=True).wait_for()
    page.evaluate(FRAMES)
    after = page.get_by_role("heading", name="First look").bounding_box()
    assert abs(after["y"] - place["y"]) <= 8


def test_a_table_that_waits_for_its_styles_leaves_the_browser_idle(chromium, contexts, server):
    context = chromium.new_context()
    contexts.append(context)
    context.add_init_script(COUNT_MESSAGES)
    page = context.new_page()
    waiting, is_held = [], True

    def hold(route):
        if is_held:
            waiting.append(route)
        else:
            route.continue_()

    page.route("**/css/table.css*", hold)
    page.goto(server.address.replace("/?", "/runs?"))
    page.get_by_role("button", name="Keyboard shortcuts").wait_for()
    page.evaluate(FRAMES)
    assert waiting
    is_held = False
    for route in waiting:
        route.continue_()
    page.get_by_role("button", name="First look").first.wait_for()
    assert page.evaluate("window.messages") < 500  # thousands if the table asks as often as it can


def test_grey_blocks_do_not_move_while_a_page_opens(tab):
    assert tab("learn").evaluate(ANIMATIONS) == ["none", "none"]
