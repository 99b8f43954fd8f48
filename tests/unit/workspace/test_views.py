"""Saved views are stored by page and name, replaced by name, and come back after they were removed."""

import pytest

from benthoscope.engine.problems import BadInput
from benthoscope.engine.workspace import Workspace


def test_a_view_is_stored_by_page_and_name(workspace):
    workspace.views.save("explore", " deep  reef ", {"dive": "3", "colour": "depth"}, "Ann")
    workspace.views.save("review", "deep reef", {"cluster": "1"}, "Ann")
    [view] = workspace.views.of_page("explore")
    assert (view.name, view.query, view.person) == ("deep reef", {"dive": "3", "colour": "depth"}, "Ann")
    with Workspace.open(workspace.folder) as again:
        assert again.views.get("explore", "deep reef") == view


def test_a_view_of_the_same_name_is_replaced_and_a_removed_one_comes_back(workspace):
    for query in ({"dive": "1"}, {"dive": "2"}):
        workspace.views.save("explore", "mine", query, "Ann")
    removed = workspace.views.remove("explore", "mine")
    assert removed.query == {"dive": "2"} and workspace.views.of_page("explore") == []
    workspace.views.restore(removed)
    assert workspace.views.of_page("explore") == [removed]


def test_wrong_names_and_a_damaged_file_are_errors(workspace):
    for name in ("  ", "x" * 81):
        with pytest.raises(BadInput, match="name of 1 to 80"):
            workspace.views.save("explore", name, {}, "Ann")
    workspace.views.save("explore", "kelp", {}, "Ann")
    with pytest.raises(BadInput, match="did you mean 'kelp'"):
        workspace.views.remove("explore", "kellp")
    (workspace.folder / "views.json").write_text("[half")
    with pytest.raises(BadInput, match="is damaged"):
        workspace.views.of_page("explore")
