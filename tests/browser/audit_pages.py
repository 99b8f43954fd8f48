"""Actions of browser tests on a page of an audit."""

PATIENCE = 60_000


def all_seen(page):
    """Scrolls until every image of the check counts as seen."""
    button = page.get_by_role("button", name="All right")
    for _ in range(400):
        if button.count():
            return
        page.locator(".tiles[data-mode=check]").evaluate(
            "grid => [...grid.children].find((tile) => !tile.classList.contains('seen'))?.scrollIntoView()"
        )
        page.wait_for_timeout(100)
    raise AssertionError("the images of the check were never all seen")
