"""Tables: what they show, what the filters let through, and what copy and save give."""

import csv
import io
import json

import pytest

from benthoscope.app.components.tables import Column, DataTable

COLUMNS = (
    Column("name", "Name", "open", options={"act": "select"}),
    Column("images", "Images", "count", 80),
    Column("share", "Labelled", "share", 80),
    Column("delete", "", "button", 40, {"act": "delete", "icon": "delete", "words": "Delete {name}"}),
)
ROWS = [
    {"id": 7, "name": "reef", "images": 12, "share": 0.5, "note": "seen"},
    {"id": 8, "name": "=cmd|' /C calc'!A0", "images": None, "share": None, "note": ""},
    {"id": 9, "name": "kelp", "images": 3, "share": 1.0, "note": ""},
]


@pytest.fixture
def table():
    return DataTable("Dives", COLUMNS, ROWS)


def saved(table):
    return list(csv.reader(io.StringIO(table.as_csv())))


def test_rows_keep_their_order_and_what_only_the_buttons_need_has_no_column(table):
    assert table.table.value["name"].tolist() == ["reef", "=cmd|' /C calc'!A0", "kelp"]
    assert table.table.hidden_columns == ["row"] and json.loads(table.table.value["row"][0])["note"] == "seen"


def test_the_saved_file_has_the_columns_on_screen_and_guards_formulas(table):
    assert saved(table) == [
        ["Name", "Images", "Labelled"],
        ["reef", "12", "0.5"],
        ["'=cmd|' /C calc'!A0", "", ""],
        ["kelp", "3", "1"],
    ]


def test_a_hidden_column_is_neither_shown_nor_saved(table):
    table.show_rows(ROWS, hidden=["share"])
    assert saved(table)[0] == ["Name", "Images"]


def test_the_clipboard_gets_cells_with_formulas_guarded_too(table):
    assert table.as_tab_separated().splitlines()[1:3] == ["reef\t12\t0.5", "'=cmd|' /C calc'!A0\t\t"]


def test_only_what_the_filters_let_through_is_saved_in_the_order_on_screen(table):
    table.table.filters = [{"field": "name", "type": "like", "value": "e"}]
    table.table.sorters = [{"field": "images", "dir": "asc"}]
    assert [row[0] for row in saved(table)[1:]] == ["kelp", "reef"]


def test_a_table_without_rows_saves_its_heading(table):
    table.show_rows([])
    assert saved(table) == [["Name", "Images", "Labelled"]]


def test_pages_are_sent_one_at_a_time_and_saved_all():
    table = DataTable("Log", COLUMNS, [{**ROWS[0], "id": number} for number in range(250)], page_size=100)
    assert table.table.pagination == "remote" and len(table.table._data["name"]) == 100
    assert len(saved(table)) == 251


def test_a_table_is_made_when_it_comes_into_view_and_reserves_its_height(table):
    assert table.drawn is None and not table._is_made
    three_rows = table.space
    table.show_rows(ROWS[:1])
    assert three_rows > table.space > 0
    table._handle_msg({"act": "open"})
    assert table.drawn is table.table and table.table.value["name"].tolist() == ["reef"]
    table.show_rows(ROWS)
    assert len(table.table.value) == 3
    assert DataTable("Dives", COLUMNS, ROWS * 50, height=420).space == 420
