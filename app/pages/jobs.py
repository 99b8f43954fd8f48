"""The Jobs page: cards of waiting and running jobs, a table of finished ones, and their logs."""

from collections.abc import Mapping, Sequence
from typing import Any

import panel as pn
import param
from panel.custom import Child

from benthoscope.app.components.base import ModuleComponent
from benthoscope.app.components.tables import Column, DataTable
from benthoscope.app.data.jobs import job_list
from benthoscope.app.pages.base import follow
from benthoscope.app.session.session import Session
from benthoscope.engine.exchange.parsing.csv_output import stamp

PAGE_SIZE = 25  # rows of the table that the server sends at the same time
COLUMNS = (
    Column("id", "Number", "count", 84),
    Column("title", "Job", "open", options={"act": "log"}, tooltip="Job; a press shows its log"),
    Column("state", "Result", "state", 100),
    Column("note", "Note", "remarked"),
    Column("added", "Added (UTC)", width=140),
    Column("seconds", "Took (s)", "seconds", 90),
    Column("next", "", "link", 170, {"when": "next_href", "href": "{next_href}", "text": "{next_text}"}),
    Column("retry", "", "button", 76, {"act": "retry", "text": "Retry", "when": "can_retry", "words": "Retry {title}"}),
)


class JobsBoard(ModuleComponent):
    """The browser receives the list of jobs from the top bar, and fetches logs."""

    _module = "pages/jobs/page"
    _styles = ("parts", "jobs")

    finished = param.Integer(default=0, doc="Number of rows in the table.")
    table = Child(doc="The finished jobs.")


def finished_rows(jobs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The finished jobs of a list as rows of the table, in the same order."""
    return [_row(job) for job in jobs if job["finished_at"] is not None]


def _row(job: Mapping[str, Any]) -> dict[str, Any]:
    note = "Finished work is kept" if job["state"] == "cancelled" else job["error"]
    following = job["next"] or {}
    return {
        "id": job["id"],
        "title": job["title"],
        "state": job["state"],
        "note": note or "",
        "added": stamp(job["created_at"], "%Y-%m-%d %H:%M"),
        "seconds": None if job["started_at"] is None else job["finished_at"] - job["started_at"],
        "next_text": following.get("text"),
        "next_href": following.get("href"),
        "can_retry": job["state"] != "done",
    }


def view(session: Session) -> pn.viewable.Viewable:
    rows = finished_rows(job_list(session.app))
    table = DataTable("Finished jobs", COLUMNS, rows, page_size=PAGE_SIZE)
    board = JobsBoard(finished=len(rows), table=table, sizing_mode="stretch_width")

    def draw() -> None:
        rows = finished_rows(job_list(session.app))
        table.show_rows(rows)
        board.finished = len(rows)

    follow(session.app.on_jobs, draw)
    return board
