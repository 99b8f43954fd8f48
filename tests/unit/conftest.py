"""Unit tests are in no tab of a browser."""

import sys

import pytest


@pytest.fixture(autouse=True)
def no_tab_of_another_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """Earlier tests of servers and pages can leave their document as the current one, and Bokeh shares it between
    threads. Pages then take it for their tab and compute their content later, on a thread."""
    if "panel.io.state" not in sys.modules:
        return
    from bokeh.document import Document
    from bokeh.io.state import curstate
    from panel.io.state import state

    monkeypatch.setattr("bokeh.io.doc._PATCHED_CURDOCS", [])
    monkeypatch.setattr(curstate(), "document", Document())
    state._curdoc.set(None)
