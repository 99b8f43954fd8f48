"""Pages of these tests are in no tab."""

import pytest


@pytest.fixture(autouse=True)
def no_tab_of_another_test(monkeypatch):
    """Bokeh keeps the document of a callback that failed, or still runs, as the current one of all threads. Tests of
    other folders make such callbacks."""
    monkeypatch.setattr("bokeh.io.doc._PATCHED_CURDOCS", [])
