"""Tables of plain rows, drawn by Tabulator: sorted and filtered in the browser, copied and saved by our own CSV writer.

A column says how its values look. Commands on a row are a column of buttons: the table reports a press as the message
{act, ...} with the row's id, to the board that shows it. A table is made when it comes into view, after the first paint
of the page: Tabulator takes about 0.2 CPU seconds of the browser, and some tables are never looked at.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import panel as pn
import param
from panel.custom import Child
from panel.models.tabulator import DataTabulator

from benthoscope.app.components.base import ModuleComponent, asset_url
from benthoscope.engine.exchange.parsing.csv_output import csv_text, figure, tab_separated

if TYPE_CHECKING:
    import pandas as pd

WHOLE = "row"  # hidden column with the whole row as JSON: the columns stay the same whatever rows come
NUMBERS = frozenset({"count", "figure", "seconds", "share"})
ROW, ROW_WITH_ICONS, HEADING, FILTERS = 37, 41, 39, 22  # pixels of a row and of the parts of the head


@dataclass(frozen=True)
class Column:
    """`look` names a formatter of assets/js/shared/table.js, `options` are its options: for `open`, `button` and `link`
    the act, the address and the words, which may name other cells of the row as {name}.

    `width` is in pixels or a share of the table, such as "13%"; a column without one shares the rest. Buttons and links
    are not filtered, sorted or saved.
    """

    name: str
    title: str = ""
    look: str = "text"
    width: int | str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    tooltip: str = ""

    @property
    def is_data(self) -> bool:
        return self.look not in ("button", "link", "together")


class DataTable(ModuleComponent):
    """`rows` are dicts with an `id` and a value for every column; what else they hold is at hand for the formatters:
    `mark` (shown, struck, faint) is how the whole row stands out."""

    _module = "shared/table"
    _styles = ("parts", "table")
    _render_policy = "manual"  # Panel would draw the whole component again when its table comes

    label = param.String(doc="What the table lists, for those who hear it, and the name of its file.")
    drawn = Child(doc="The Tabulator, as soon as the table has been in view.")
    library = param.String(doc="Address of the script of Tabulator, which the browser loads then.")
    space = param.Integer(doc="Pixels that the table will take at least, so that the page does not move.")

    def __init__(
        self,
        label: str,
        columns: Sequence[Column],
        rows: Sequence[Mapping[str, Any]] = (),
        *,
        page_size: int = 0,
        height: int = 0,
        filters: bool = True,
    ):
        """`height` is the most it takes, in pixels: more rows are scrolled."""
        self.columns = tuple(columns)
        self._rows: list[Mapping[str, Any]] = []
        self._hidden: list[str] = []
        self._followed: tuple[str, param.Parameterized, str] | None = None
        self._page_size, self._height, self._filters = page_size, height, filters
        super().__init__(label=label, library=library_address(), sizing_mode="stretch_width")
        self.show_rows(rows)

    @cached_property
    def table(self) -> pn.widgets.Tabulator:
        """The Tabulator; it is made when it is needed."""
        start = ""
        if self._followed is not None:
            column, owner, name = self._followed
            start = getattr(owner, name)
        initial = [{"field": column, "value": start}] if start else []
        table = tabulator(self.columns, self._page_size, self._height, self._filters, initial)
        table.param.watch(self._report_filter, "filters")
        table.param.update(**self._values())
        return table

    @property
    def _is_made(self) -> bool:
        return "table" in self.__dict__

    def show_rows(self, rows: Sequence[Mapping[str, Any]], hidden: Sequence[str] = ()) -> None:
        """Show these rows instead; `hidden` names columns that say nothing of them."""
        if list(rows) == self._rows and list(hidden) == self._hidden:
            return
        self._rows, self._hidden = list(rows), list(hidden)
        self.space = self._height_of_rows()
        if self._is_made:
            self.table.param.update(**self._values())

    def _height_of_rows(self) -> int:
        rows = min(len(self._rows), self._page_size or len(self._rows))
        row = ROW_WITH_ICONS if any("icon" in column.options for column in self.columns) else ROW
        pixels = HEADING + (FILTERS if self._filters else 0) + row * rows
        return min(pixels, self._height) if self._height else pixels

    def _values(self) -> dict[str, Any]:
        import pandas as pd  # slow to import

        frame = pd.DataFrame({column.name: self._cells(column, self._rows) for column in self.columns})
        known = [{name: value for name, value in row.items() if value is not None} for row in self._rows]
        frame[WHOLE] = [json.dumps(row, default=str) for row in known]
        return {"value": frame, "hidden_columns": [WHOLE, *self._hidden]}

    def rename(self, **titles: str) -> None:
        """Give columns other titles: what groups of images are called may change while the page is open."""
        if all(column.title == titles.get(column.name, column.title) for column in self.columns):
            return
        self.columns = tuple(replace(column, title=titles.get(column.name, column.title)) for column in self.columns)
        if self._is_made:
            self.table.titles = {column.name: column.title for column in self.columns}

    def follow_filter(self, column: str, owner: param.Parameterized, name: str) -> None:
        """Begin with the text of this parameter in the filter of the column; what is typed there goes to it. For
        tables that are not drawn yet."""
        self._followed = column, owner, name

    def _report_filter(self, event: param.parameterized.Event) -> None:
        if self._followed is not None:
            column, owner, name = self._followed
            values = [str(each["value"]) for each in event.new if each["field"] == column]
            owner.param.update(**{name: values[0] if values else ""})

    def as_csv(self) -> str:
        """The rows that the filters let through, in the order on screen."""
        return csv_text(*self._visible())

    def as_tab_separated(self) -> str:
        """The same for the clipboard, from where spreadsheets take it into cells."""
        return tab_separated(*self._visible())

    def _visible(self) -> tuple[list[str], list[list[Any]]]:
        columns = [each for each in self.columns if each.is_data and each.name not in self.table.hidden_columns]
        records = self.table.current_view.to_dict("records")
        return [each.title for each in columns], [[_plain(record[each.name]) for each in columns] for record in records]

    def _cells(self, column: Column, rows: Sequence[Mapping[str, Any]]) -> "pd.Series":
        import pandas as pd  # slow to import

        if column.look in NUMBERS:
            return pd.Series([row.get(column.name) for row in rows], dtype=float)
        values = (row.get(column.name) for row in rows)
        return pd.Series(["" if value is None else value for value in values], dtype=object)

    def _handle_msg(self, message: Mapping[str, Any]) -> None:
        """`open` comes when the table is in view; `copy` and `save` are answered with the text."""
        act = message.get("act")
        if act == "open":
            self.drawn = self.table
        if act in ("copy", "save"):
            text = self.as_tab_separated() if act == "copy" else self.as_csv()
            self._send_msg({"act": act, "text": text})


def library_address() -> str:
    """The address of the script of Tabulator on this server. Panel loads it before the first paint of a page;
    app/server/compat.py leaves it out."""
    return next(f"/{path}" for path in DataTabulator.__javascript__ if path.endswith("/tabulator.min.js"))


def tabulator(
    columns: Sequence[Column], page_size: int, height: int, filters: bool, initial: Sequence[Mapping[str, str]] = ()
) -> pn.widgets.Tabulator:
    """An empty table; with a page size the server sends one page at a time."""
    import pandas as pd  # slow to import

    return pn.widgets.Tabulator(
        value=pd.DataFrame({name: pd.Series(dtype=object) for name in [*(column.name for column in columns), WHOLE]}),
        hidden_columns=[WHOLE],
        formatters={column.name: {"type": column.look, **column.options} for column in columns},
        title_formatters={column.name: "heading" for column in columns if column.is_data},
        header_tooltips={column.name: column.tooltip or column.title for column in columns},
        titles={column.name: column.title for column in columns},
        widths={column.name: column.width for column in columns if column.width},
        text_align={column.name: "right" for column in columns if column.look in NUMBERS},
        header_align={column.name: "right" for column in columns if column.look in NUMBERS},
        header_filters={column.name: _header_filter(column) for column in columns if filters and column.is_data},
        sortable={column.name: column.is_data for column in columns},
        editors={column.name: None for column in columns},
        show_index=False,
        selectable=False,
        layout="fit_columns",
        theme="simple",
        container_popup=False,
        pagination="remote" if page_size else None,
        page_size=page_size or None,
        sizing_mode="stretch_width",
        stylesheets=[asset_url("css/parts.css"), asset_url("css/table.css")],
        margin=0,
        configuration={
            "columnDefaults": {"headerSortTristate": True},
            "placeholder": "No row passes the filters",
            **({"maxHeight": height} if height else {}),
            **({"initialHeaderFilter": list(initial)} if initial else {}),
        },
    )


def _header_filter(column: Column) -> dict[str, Any]:
    if column.look in NUMBERS:
        return {
            "type": "number",
            "func": ">=",
            "placeholder": "≥",
            "elementAttributes": {"aria-label": f"{column.title} at least"},
        }
    return {
        "type": "input",
        "func": "like",
        "placeholder": "filter",
        "elementAttributes": {"aria-label": f"Filter by {column.title}"},
    }


def _plain(value: Any) -> Any:
    """A cell without pandas' not-a-number, and whole numbers without a point."""
    if value is None or value != value:
        return None
    return figure(value) if isinstance(value, float) else value
