"""The frame around every page, in a real browser."""


def test_the_theme_is_kept_from_page_to_page(tab):
    page = tab("library")
    assert page.evaluate("document.documentElement.dataset.look") == "light"
    page.get_by_role("button", name="Dark theme").click()
    page.wait_for_function("document.documentElement.dataset.look === 'dark'")
    page.goto(page.url.replace("library", "runs"))
    page.get_by_role("button", name="Light theme").wait_for()
    assert page.evaluate("document.documentElement.dataset.look") == "dark"


def test_question_mark_shows_the_keys_and_g_l_goes_to_the_library(tab):
    page = tab("runs")
    page.keyboard.press("?")
    page.get_by_role("dialog", name="Keyboard shortcuts").get_by_text("Go to Library").wait_for()
    page.keyboard.press("Escape")
    page.keyboard.press("g")
    page.get_by_role("status").get_by_text("Library").wait_for()
    page.keyboard.press("l")
    page.wait_for_url("**/library")


def test_the_letter_after_g_says_nothing_to_the_page_itself(tab):
    page = tab("labels")
    page.get_by_role("tab", name="Vocabulary", selected=True).wait_for()
    page.keyboard.press("g")
    hint = page.get_by_role("status").get_by_text("Go to")
    hint.wait_for()
    page.keyboard.press("7")  # no page's letter: it only takes `g` back
    hint.wait_for(state="hidden")
    page.keyboard.press("5")
    page.get_by_role("tab", name="History", selected=True).wait_for()


def test_a_name_once_said_is_known_on_the_next_page(tab):
    page = tab()
    page.get_by_role("button", name="Enter your name").click()
    page.get_by_role("textbox", name="Your name").fill("Ada")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Person: Ada").wait_for()
    page.goto(page.url + "runs")
    page.get_by_role("button", name="Person: Ada").wait_for()


def test_search_finds_dives_and_clusters_while_typing(tab):
    page = tab()
    page.keyboard.press("/")
    page.keyboard.type("cluster 1")
    page.get_by_role("option", name="Cluster 1").first.wait_for()
    page.get_by_label("Search", exact=True).fill("kelp")
    page.get_by_role("option", name="Dive").first.wait_for()


def test_a_stranger_is_told_how_to_get_in(tab, server):
    page = tab("library")
    page.context.clear_cookies()
    page.watch.expected.append("401")
    answer = page.goto(f"{server.base}/library")
    assert answer.status == 401 and "link" in page.inner_text("body")
    page.goto(server.address)
    assert "token" not in page.url
    page.get_by_role("navigation", name="Pages").wait_for()


def blocks_shown(page):
    return page.evaluate("getComputedStyle(document.body, '::before').content !== 'none'")


def words_shown(page, element, part):
    return page.evaluate(
        "([element, part]) => getComputedStyle(document.querySelector(element), part).content", [element, part]
    )


def test_grey_blocks_are_shown_until_the_page_is_drawn(tab):
    page = tab("jobs", dark=True)
    page.locator("html[data-drawn]").wait_for()
    assert not blocks_shown(page)
    waiting = []
    page.route(
        "**/js/pages/runs/page.js", lambda request: waiting.append(request)
    )  # the script of the page does not come
    page.route("**/js/shell/top_bar.js", lambda request: waiting.append(request))
    page.goto(page.url.replace("jobs", "runs"), wait_until="commit")
    page.get_by_role("navigation", name="Pages").wait_for()
    assert blocks_shown(page)
    assert '"Benthoscope"' in words_shown(page, "html", "::before")
    assert "Sample campaign" in words_shown(page, "html", "::after")
    assert "Home\nLibrary\nExplore" in words_shown(page, "body", "::before").replace("\\a ", "\n")
    assert page.locator("#loader").is_hidden()
    page.wait_for_timeout(300)
    for request in waiting:
        request.continue_()
    page.locator("html[data-drawn]").wait_for()
    assert not blocks_shown(page)


def test_grey_blocks_stay_while_the_script_of_a_page_comes_later_than_its_frame(tab):
    page = tab("jobs")
    waiting = []
    page.route("**/js/pages/runs/page.js", lambda request: waiting.append(request))
    page.goto(page.url.replace("jobs", "runs"), wait_until="commit")
    page.get_by_role("button", name="Keyboard shortcuts").wait_for()
    page.evaluate("() => new Promise((resolve) => setTimeout(resolve, 700))")  # longer than for plain text
    assert blocks_shown(page)
    waiting[0].continue_()
    page.locator("html[data-drawn]").wait_for()


def test_a_page_of_plain_text_is_not_covered_by_grey_blocks(tab):
    page = tab("help")
    page.locator("html[data-drawn]").wait_for()
    assert not blocks_shown(page)
