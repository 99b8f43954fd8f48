"""The plain values every page sends to the browser, and the keys of REST answers, as files a person can review.

    python -m tests.unit.pages.golden_content

writes them again after an intended change. `tests/unit/pages/test_golden_content.py` compares them.
"""

import inspect
import json
import os
import re
import secrets
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import panel as pn
from fastapi.testclient import TestClient

from benthoscope.app.data.clusters.cluster_geometry import image_features
from benthoscope.app.data.clusters.clustered_images import atlas_of
from benthoscope.app.pages.registry import page_named
from benthoscope.app.server.application import ServerSettings, create_app
from benthoscope.app.session.app_state import AppState
from benthoscope.app.session.session import Session
from benthoscope.engine.jobs import run_now
from benthoscope.engine.jobs.cluster.exemplars import has_exemplars
from benthoscope.engine.workspace import Workspace
from benthoscope.engine.workspace.labels import sampling
from tests.sample_workspace import build

FOLDER = Path(__file__).parent / "golden"
COMMAND = "python -m tests.unit.pages.golden_content"
OBJECTS = "3"  # number of the run that has clusters of segments
QUEUES = ("sure", "sort", "groups", "varied", "margin", "outliers", "doubted", "check", "disputed", "random")
Message = tuple[str, dict[str, Any]]  # the class of a component, and what its script sends


@dataclass(frozen=True)
class Case:
    """The query of a page's address, and messages sent one after the other."""

    query: Mapping[str, str] = field(default_factory=dict)
    messages: tuple[Message, ...] = ()
    person: str = "Ann"


def sent(component: str, *messages: Mapping[str, Any]) -> tuple[Message, ...]:
    return tuple((component, dict(message)) for message in messages)


CASES: dict[str, list[Case]] = {
    "": [Case({}, sent("HomeBoard", {"act": "choose"}))],
    "library": [
        Case({}, sent("LibraryBoard", {"act": "describe"})),
        Case({}, sent("LibraryBoard", {"act": "cluster"})),
        Case({"cluster": "mcm"}),
    ],
    "labels": [
        *(
            Case({"part": section})
            for section in ("words", "import", "people", "training", "history", "cover", "export")
        ),
        Case({"part": "history", "image": "1"}),
        Case({}, sent("LabelsBoard", {"act": "export"})),
    ],
    "learn": [Case({"queue": queue}) for queue in QUEUES],
    "review": [
        Case(),
        Case({"term": "2"}, sent("ReviewBoard", {"act": "grow", "seed": 30})),
        Case({}, sent("ReviewBoard", {"act": "lasso", "on": True})),
        Case({}, sent("ReviewBoard", {"act": "single"})),
        Case({}, sent("ReviewBoard", {"act": "verify"}), person="Cy"),
        Case({"term": "2", "cluster": "1"}, sent("ReviewBoard", {"act": "name"}, {"act": "leave"}, {"act": "audit"})),
    ],
    "crowd": [Case({}, sent("CrowdBoard", {"act": "select", "number": 1})), Case({"selection": "1"})],
    "runs": [Case(), Case({"run": OBJECTS}), Case({}, sent("RunsBoard", {"act": "compare", "number": 2}))],
    "explore": [
        Case(),
        Case({"run": OBJECTS, "object": "1"}),
        Case({"colour": "label"}),
        Case({"cluster": "0", "state": "unlabelled", "order": "depth"}),
    ],
    "objects": [
        Case({"part": section, "run": OBJECTS}) for section in ("cards", "together", "dives", "scenes", "points")
    ],
    "topics": [Case({}, sent("TopicsBoard", {"act": "start"}))],
    "dive": [Case(), Case({"dive": "2", "cluster": "0"})],
    "live": [
        Case({}, sent("LiveBoard", {"act": "start"})),
        Case({"dive": "1"}, sent("LiveBoard", {"act": "settings"}, {"act": "merge", "keys": ["0", "1"]})),
    ],
    "jobs": [Case()],
}


@contextmanager
def repeatable() -> Iterator[None]:
    """Random seeds and secret words are the same every time."""
    number = count(1)
    with ExitStack() as patches:
        patches.enter_context(mock.patch.object(sampling, "new_seed", lambda: 1))
        for name in ("token_urlsafe", "token_hex"):
            patches.enter_context(mock.patch.object(secrets, name, lambda *_: f"{next(number):024x}"))
        memories = patches.enter_context(tempfile.TemporaryDirectory())
        patches.enter_context(mock.patch.dict(os.environ, {"BENTHOSCOPE_MEMORIES": memories}))
        yield


def page_content(workspace: Workspace, slug: str) -> dict[str, Any]:
    """What the page shows in each of its cases: components by class, those that are as in the first case left out."""
    shown: dict[str, Any] = {}
    first: dict[str, Any] = {}
    for case in CASES[slug]:
        app = AppState(workspace)
        finish_exemplars(app, case.query)
        session = Session(app, slug, person=case.person)
        session.address.query = dict(case.query)
        page = pn.panel(page_named(slug).view()(session))
        title = " ".join([slug or "home", *(f"{name}={value}" for name, value in case.query.items())])
        for message in (None, *case.messages):
            if message is not None:
                send(page, *message)
                title += f", then {message[1]['act']}"
            content = components(page)
            content["message"] = session.message.text
            content = plain(content, workspace.folder.parent)
            shown[title] = {name: value for name, value in content.items() if first.get(name) != value}
            first = first or content
    return shown


def finish_exemplars(app: AppState, query: Mapping[str, str]) -> None:
    """Choose the exemplars of the run on the page, as its job does, so that the cards show them."""
    atlas = atlas_of(app, int(query["run"]) if "run" in query else None)
    if atlas.run is not None and image_features(app, atlas) is not None and not has_exemplars(atlas.run):
        run_now(app.workspace, "exemplars", {"run": atlas.run.id})


def wait_for(condition: Callable[[], bool]) -> None:
    pause = threading.Event()
    for _ in range(2400):
        if condition():
            return
        pause.wait(0.05)
    raise AssertionError("exemplars were not chosen within two minutes")


def send(page: Any, component: str, message: dict[str, Any]) -> None:
    """As the script of a component does."""
    board = next(viewable for viewable in page.select() if type(viewable).__name__ == component)
    board._handle_msg({**message, "nth": board.heard + 1} if hasattr(board, "heard") else dict(message))


def components(page: Any) -> dict[str, Any]:
    """The parameters our components declare, and texts of the others."""
    shown: dict[str, Any] = {}
    for viewable in page.select():
        if type(viewable).__module__.startswith("benthoscope."):
            values = {name: getattr(viewable, name) for name in sorted(declared(type(viewable)))}
        elif isinstance(getattr(viewable, "object", None), str):
            values = {"object": viewable.object}
        else:
            continue
        name = type(viewable).__name__
        number = sum(other.partition(" ")[0] == name for other in shown)
        shown[f"{name} {number + 1}" if number else name] = values
    return shown


def declared(component: type) -> set[str]:
    """Names of the parameters that our classes declare, not Panel's."""
    own = [base for base in inspect.getmro(component) if base.__module__.startswith("benthoscope.")]
    inherited = {name for base in inspect.getmro(component) if base not in own for name in getattr(base, "param", ())}
    return {name for name in component.param if name not in inherited and not name.startswith("_")}


# --- values as they are written to a file

CHANGING = (  # values that change with the day, the folder or the version
    (re.compile(r"/api/v1/arrays/[0-9a-f]{24}"), "ARRAY"),
    (re.compile(r"/[^\s\"']*/template\b"), "TEMPLATE"),
    (re.compile(r"Time: [^,]*"), "Time: DURATION"),
    (re.compile(r"/assets/[0-9a-f]{12}/"), "/assets/DIGEST/"),
    (re.compile(r"\b20[2-9]\d-\d\d-\d\d( \d\d:\d\d(:\d\d)?)?"), "DATE"),
    (re.compile(r"data:image/svg[^\"']*"), "QR CODE"),
    (re.compile(r"\b\d+(\.\d+)? (s|min|h)\b"), "DURATION"),
)
# Keys of what the clock or the machine decides; `parents` are the folders above one.
CLOCK = frozenset({"spent", "per_hour", "seconds", "seconds_left", "median_seconds", "parents", "places"})
RECENT = 1.6e9  # seconds since 1970; the images of the campaign are older
FEW = {"values": 8, "entries": 2, "letters": 300}


def plain(value: Any, folder: Path, key: str = "") -> Any:
    """JSON without what changes from day to day; long lists and texts are cut."""
    if key in CLOCK and value is not None:
        return "MEASURED"
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist(), folder, key)
    if isinstance(value, Mapping):
        return {str(name): plain(item, folder, str(name)) for name, item in value.items()}
    if isinstance(value, list | tuple):
        few = FEW["values" if all(isinstance(item, int | float | str) for item in value) else "entries"]
        cut = [plain(item, folder, key) for item in value[:few]]
        return cut + [f"and {len(value) - few} more"] * (len(value) > few)
    if isinstance(value, bytes | bytearray):
        return f"{len(value)} bytes"
    if isinstance(value, float):
        return "TIME" if value > RECENT else float(f"{value:.3g}")
    if isinstance(value, str):
        return plain_text(value, folder)
    return value if isinstance(value, int | bool) or value is None else f"<{type(value).__name__}>"


def plain_text(text: str, folder: Path) -> str:
    for pattern, name in CHANGING:
        text = pattern.sub(name, text)
    for path in (folder.resolve().parent, folder.parent):  # of the template and its copies
        text = text.replace(str(path), "FOLDER")
    return text if len(text) <= FEW["letters"] else text[: FEW["letters"]] + " ..."


def written(content: Any) -> str:
    """JSON that reads well in a comparison: short lists and objects stand on one line."""
    return _written(content, "") + "\n"


def _written(value: Any, indent: str) -> str:
    line = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, dict | list) or len(line) + len(indent) <= 150:
        return line
    inner = indent + " "
    if isinstance(value, dict):
        items = [f"{inner}{json.dumps(key, ensure_ascii=False)}: {_written(value[key], inner)}" for key in value]
        return "{\n" + ",\n".join(items) + f"\n{indent}}}"
    return "[\n" + ",\n".join(f"{inner}{_written(item, inner)}" for item in value) + f"\n{indent}]"


# --- REST


def rest_content(workspace: Workspace) -> dict[str, Any]:
    """Return the inputs of every route, from the published description, and the keys of the answers in this
    workspace."""
    api = create_app(workspace, ServerSettings(token="", run_jobs=False))
    client = TestClient(api, base_url="http://127.0.0.1")
    described = client.get("/api/v1/openapi.json").json()
    schemas = described.get("components", {}).get("schemas", {})
    routes = {}
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            taken = [f"{one['in']} {one['name']}" for one in operation.get("parameters", [])]
            if "requestBody" in operation:
                taken += [f"body {name}" for name in body_names(operation["requestBody"], schemas)]
            routes[f"{method.upper()} {path}"] = taken
    answers = {path: answered_keys(client, path) for path in example_paths(workspace)}
    return {"routes": dict(sorted(routes.items())), "answers": answers}


def body_names(body: Mapping[str, Any], schemas: Mapping[str, Any]) -> list[str]:
    schema = next(iter(body["content"].values()))["schema"]
    name = schema.get("$ref", "").rpartition("/")[2]
    return sorted(schemas.get(name, schema).get("properties", {}))


def example_paths(workspace: Workspace) -> list[str]:
    """Addresses that answer with JSON on the sample workspace."""
    link = f"/api/v1/crowd/work/{workspace.crowd.named('kinds').link}"
    names = (
        "workspace collections problems people images images/1 images/1/around images/1/history images/1/objects?run=3 "
        "runs runs/1 runs/1/clusters runs/1/levels jobs jobs/1 selections selections/1 views segment-terms "
        "vocabularies terms?q=sand search?q=2015 exports live live/1 live/1/images"
    )
    return ["/health", *(f"/api/v1/{name}" for name in names.split()), link]


def answered_keys(client: TestClient, path: str) -> dict[str, str]:
    answer = client.get(path)
    assert answer.status_code == 200, (path, answer.text)
    return dict(sorted(key_types(answer.json()).items()))


def key_types(value: Any, path: str = "") -> dict[str, str]:
    """{path of a key: type of its value}; entries of a list are taken together."""
    if isinstance(value, dict):
        types: dict[str, str] = {}
        for name, item in value.items():
            types |= key_types(item, f"{path}.{name}" if path else name)
        return types
    if isinstance(value, list) and value and isinstance(value[0], dict | list):
        merged: dict[str, str] = {}
        for item in value:
            for name, kind in key_types(item, f"{path}[]").items():
                merged[name] = " or ".join(sorted({kind, *merged.get(name, kind).split(" or ")}))
        return merged
    return {path: type(value).__name__}


def file_of(slug: str) -> Path:
    return FOLDER / f"{slug or 'home'}.json"


@contextmanager
def copy_of(template: Path, folder: Path) -> Iterator[Workspace]:
    """A workspace that may be changed, from the one in `template`."""
    shutil.copytree(template.parent, folder)
    with Workspace.open(folder / template.name) as workspace:
        yield workspace


def main() -> None:
    """Write all files again."""
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, repeatable():
        template = build(Path(folder) / "template")
        for name in ("rest", *CASES):
            with copy_of(template, Path(folder) / (name or "home")) as workspace:
                content = rest_content(workspace) if name == "rest" else page_content(workspace, name)
                file_of(name).write_text(written(content), encoding="utf-8")


if __name__ == "__main__":
    main()
