"""Tasks as standalone HTML files with embedded images, for external crowd platforms."""

import base64
import json
import re
from collections.abc import Iterator
from html import escape
from importlib.resources import files
from pathlib import Path

from benthoscope.engine.workspace import Workspace
from benthoscope.engine.workspace.crowd.records import Campaign

SIZE = 320


def write_pages(workspace: Workspace, campaign: Campaign, folder: Path) -> int:
    """Write one file for each task; returns how many. Items are numbered, because file names could reveal places."""
    folder.mkdir(parents=True, exist_ok=True)
    tasks = workspace.crowd.tasks(campaign.id)
    for task, items in tasks:
        page = task_page(campaign, task, dict(_pictures(workspace, campaign, items)))
        (folder / f"task-{task:04d}.html").write_text(page, encoding="utf-8")
    return len(tasks)


def task_page(campaign: Campaign, task: int, pictures: dict[int, bytes]) -> str:
    """The page of one task; `pictures` are JPEGs by item. Texts written by people are escaped."""
    data = {"task": task, "images": [{"item": item, "picture": _inline(jpeg)} for item, jpeg in pictures.items()]}
    words = {
        "title": escape(campaign.settings.title or campaign.name),
        "task": str(task),
        "instructions": escape(campaign.settings.instructions),
        "style": _asset("crowd.css"),
        "sorting": _asset("sorting.js").replace("export class", "class"),
        "data": json.dumps(data).replace("<", "\\u003c"),
    }
    pieces = re.split(
        r"\{\{(\w+)\}\}", _asset("static.html")
    )  # in one pass, so that a text cannot contain a placeholder
    return "".join(words[piece] if at % 2 else piece for at, piece in enumerate(pieces))


def _pictures(workspace: Workspace, campaign: Campaign, items: tuple[int, ...]) -> Iterator[tuple[int, bytes]]:
    ids = [int(campaign.images[item]) for item in items]
    known = {image.id: image for image in workspace.library.images(ids)}
    paths = workspace.library.locate(ids)
    for item, number in zip(items, ids, strict=True):
        if number in known:
            yield item, workspace.thumbnails.obtain(known[number].sha256, SIZE, paths[number])


def _inline(jpeg: bytes) -> str:
    return f"data:image/jpeg;base64,{base64.b64encode(jpeg).decode()}"


def _asset(name: str) -> str:
    return (files("benthoscope.assets") / "crowd" / name).read_text(encoding="utf-8")
