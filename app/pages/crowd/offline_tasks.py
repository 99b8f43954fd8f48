"""Tasks as pages that stand alone, for crowd platforms outside: one HTML file a task, its images within it."""

import base64
import json
import re
from collections.abc import Iterator
from html import escape
from importlib.resources import files
from pathlib import Path

from engine.workspace import Workspace
from engine.workspace.crowd_records import Campaign

SIZE = 320


def write_pages(workspace: Workspace, campaign: Campaign, folder: Path) -> int:
    """One file for each task; how many. An item is named by its number in the campaign: file names tell of places."""
    folder.mkdir(parents=True, exist_ok=True)
    tasks = workspace.crowd.tasks(campaign.id)
    for task, items in tasks:
        page = task_page(campaign, task, dict(_pictures(workspace, campaign, items)))
        (folder / f"task-{task:04d}.html").write_text(page, encoding="utf-8")
    return len(tasks)


def task_page(campaign: Campaign, task: int, pictures: dict[int, bytes]) -> str:
    """The page of one task; `pictures` are JPEGs by item. Text of people is escaped wherever it stands."""
    data = {"task": task, "images": [{"item": item, "picture": _inline(jpeg)} for item, jpeg in pictures.items()]}
    words = {"title": escape(campaign.settings.title or campaign.name), "task": str(task),
             "instructions": escape(campaign.settings.instructions), "style": _asset("crowd.css"),
             "sorting": _asset("sorting.js").replace("export class", "class"),
             "data": json.dumps(data).replace("<", "\\u003c")}
    parts = re.split(r"\{\{(\w+)\}\}", _asset("static.html"))  # once over: what a person wrote is not looked at again
    return "".join(words[part] if at % 2 else part for at, part in enumerate(parts))


def _pictures(workspace: Workspace, campaign: Campaign, items: tuple[int, ...]) -> Iterator[tuple[int, bytes]]:
    ids = [int(campaign.images[item]) for item in items]
    known = {image.id: image for image in workspace.library.images(ids)}
    places = workspace.library.locate(ids)
    for item, number in zip(items, ids, strict=True):
        if number in known:
            yield item, workspace.thumbnails.obtain(known[number].sha256, SIZE, places[number])


def _inline(jpeg: bytes) -> str:
    return f"data:image/jpeg;base64,{base64.b64encode(jpeg).decode()}"


def _asset(name: str) -> str:
    return (files("assets") / "crowd" / name).read_text(encoding="utf-8")
