"""The gaps that app/server/compat.py closes are still there: each test fails once upstream needs our patch no more."""

import ast
import inspect
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace

import bokeh.io.doc
import panel as pn
import panel.io.document
import panel_material_ui as pmui
import pytest
from bokeh.document import Document
from bokeh.document.events import ModelChangedEvent
from bokeh.models import Div
from bokeh_fastapi.handler import WSHandler
from panel.io.document import hold
from panel.io.resources import Resources
from panel.io.server import ComponentResourceHandler
from panel.io.state import _state, set_curdoc
from panel.util import parse_query
from tornado.web import HTTPError

from benthoscope.app.server import compat
from benthoscope.app.server.compat import (
    CHECKED,
    LoadedResources,
    follow_websockets,
    leave_out_unused_files,
    release_busy,
    remember_component_files,
    send_changes_while_a_page_opens,
)

APP = Path(__file__).parents[3] / "app"
# Private names that documented subclass hooks of Panel use, and those of the standard library.
ALLOWED = {"_handle_msg", "_esm", "_stylesheets", "_reserved"}
OUR_ROOTS = {"self", "cls"}


@pytest.mark.parametrize("package", CHECKED)
def test_the_installed_version_is_the_one_that_was_checked(package):
    assert version(package) == CHECKED[package], "check app/server/compat.py with the new version, then note it there"


def test_upstream_still_runs_callbacks_on_a_plain_pool_without_a_setting_for_it():
    made = inspect.getsource(sys.modules[_state.__module__])
    assert "_thread_pool" in made
    assert "ThreadPoolExecutor" in inspect.getsource(pn.config.__class__)
    assert not [name for name in pn.config.param if "pool" in name or "executor" in name]


def failed_callback(patch, doc):
    """The documents that Bokeh takes for the current one after an error."""
    with pytest.raises(RuntimeError), patch(doc):
        raise RuntimeError
    return list(bokeh.io.doc._PATCHED_CURDOCS)


def test_upstream_still_keeps_the_document_of_a_failed_callback():
    assert "    yield\n    _PATCHED_CURDOCS.pop()\n" in inspect.getsource(bokeh.io.doc)


def test_the_document_of_a_failed_callback_is_forgotten(monkeypatch):
    monkeypatch.setattr(bokeh.io.doc, "_PATCHED_CURDOCS", [])
    monkeypatch.setattr(bokeh.io.doc, "patch_curdoc", None)
    compat.forget_documents_after_errors()
    assert failed_callback(bokeh.io.doc.patch_curdoc, Document()) == []


def test_our_pool_replaces_the_one_of_panel(monkeypatch):
    old, new = ThreadPoolExecutor(1), ThreadPoolExecutor(1)
    monkeypatch.setattr(compat.pn, "state", SimpleNamespace(_thread_pool=old))
    compat.use_thread_pool(new)
    assert compat.pn.state._thread_pool is new
    with pytest.raises(RuntimeError):
        old.submit(int)
    new.shutdown()


def watchers_of_busy():
    return len(pn.state.param.watchers.get("busy", {}).get("value", []))


def test_a_page_still_watches_the_busy_state_of_all_sessions_until_it_is_released():
    before = watchers_of_busy()
    frame = pmui.Page()
    assert watchers_of_busy() == before + 1
    frame.busy_indicator = None
    assert watchers_of_busy() == before + 1
    release_busy(frame)
    assert watchers_of_busy() == before


def test_upstream_still_imports_whatever_module_an_address_names(tmp_path, monkeypatch):
    (tmp_path / "named_by_an_address.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(Exception):  # noqa: B017 - any error: the module has no such component
        ComponentResourceHandler.parse_url_path(
            object.__new__(ComponentResourceHandler), "named_by_an_address/Component/_bundle/file.js"
        )
    assert sys.modules.pop("named_by_an_address", None) is not None
    with pytest.raises(HTTPError):
        LoadedResources.parse_url_path(object.__new__(LoadedResources), "named_by_an_address/Component/_bundle/file.js")
    assert "named_by_an_address" not in sys.modules


@pytest.mark.parametrize("value", ["\u00b2", "9" * 5_000])
def test_upstream_still_cannot_read_some_numbers_in_an_address(value):
    with pytest.raises(ValueError, match="int"):
        parse_query(f"?q={value}")
    assert compat.query_values(f"?q={value}&n=3") == {"q": value, "n": "3"}
    assert compat.query_values("?q=5&n=2.5") == {"q": 5, "n": 2.5}


@pytest.mark.parametrize(
    ("host", "uri", "expected"),
    [
        ("[::1]:5006", "/learn", {"hostname": "[::1]", "port": "5006", "pathname": "/learn"}),
        ("[::1]", "/learn?queue=sort", {"hostname": "[::1]", "pathname": "/learn", "search": "?queue=sort"}),
        ("localhost:5006", "/a?b=c?d#e", {"port": "5006", "pathname": "/a", "search": "?b=c?d", "hash": "#e"}),
    ],
)
def test_upstream_still_cannot_read_some_addresses(host, uri, expected):
    with pytest.raises(ValueError, match="unpack"):
        compat._panel_address_values("http", host, uri)
    values = compat.address_values("http", host, uri)
    assert values["href"] == f"http://{host}{uri}" and values["protocol"] == "http:"
    assert expected.items() <= values.items()
    assert compat.address_values("http", "localhost:1", "/learn") == compat._panel_address_values(
        "http", "localhost:1", "/learn"
    )


def test_upstream_still_does_not_tell_bokeh_that_a_websocket_closed():
    follow_websockets()
    original = WSHandler.ws_connect.__wrapped__
    assert "client_lost" not in inspect.getsource(original)
    assert "client_lost" not in inspect.getsource(WSHandler.ws_close if hasattr(WSHandler, "ws_close") else original)


def test_the_websocket_is_patched_once():
    follow_websockets()
    patched = WSHandler.ws_connect
    follow_websockets()
    assert WSHandler.ws_connect is patched


def private_names_of_others(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__"):
            root = node.value
            while isinstance(root, ast.Attribute | ast.Call | ast.Subscript):
                root = getattr(root, "value", None) or getattr(root, "func", None)
            if not isinstance(root, ast.Name) or root.id not in OUR_ROOTS:
                yield node.attr, node.lineno


def names_defined_here():
    names = set()
    for path in APP.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                names.add(node.name)
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                names.add(node.attr)
    return names


def test_no_other_module_of_the_app_uses_private_names_of_libraries():
    ours = names_defined_here() - {"_thread_pool"}
    breaches = [
        f"{path.relative_to(APP)}:{line} {name}"
        for path in sorted(APP.rglob("*.py"))
        if path.name != "compat.py"
        for name, line in private_names_of_others(path)
        if name not in ours | ALLOWED
    ]
    assert not breaches, "\n".join(breaches)


def test_the_use_of_a_private_name_is_seen(tmp_path):
    module = tmp_path / "guilty.py"
    module.write_text("import panel as pn\n\npn.state._thread_pool.shutdown()\n")
    assert ("_thread_pool", 3) in list(private_names_of_others(module))


def test_upstream_still_asks_all_components_for_their_files_on_every_page():
    assert "_descendents(" in inspect.getsource(inspect.unwrap(Resources.extra_resources))


def test_the_files_of_components_are_asked_for_once_until_a_module_is_loaded(monkeypatch):
    asked = []

    def extra_resources(self, resources, resource_type):
        asked.append(resource_type)
        resources.extend(name for name in ("a.css", "b.css") if name not in resources)

    monkeypatch.setattr(Resources, "extra_resources", extra_resources)
    remember_component_files()
    lists = [["b.css"], [], []]
    for files in lists:
        Resources(mode="server").extra_resources(files, "__css__")
    assert lists == [["b.css", "a.css"], ["a.css", "b.css"], ["a.css", "b.css"]] and asked == ["__css__"]
    monkeypatch.setitem(sys.modules, "a_module_loaded_later", sys)
    Resources(mode="server").extra_resources([], "__css__")
    assert len(asked) == 2


def changes_sent(connections):
    """The changes that a page sends if a thread makes one before the browser reports that the page is ready."""
    context = SimpleNamespace(session=SimpleNamespace(_subscribed_connections=connections))
    document, text = Document(), Div(text="old")
    document.add_root(text)
    document._session_context = lambda: context
    sent = []
    document.on_change(lambda event: sent.append(event) if isinstance(event, ModelChangedEvent) else None)
    with hold(document):
        text.text = "new"
    for callback in document.session_callbacks:
        callback.callback()
    return [event.new for event in sent]


def test_upstream_still_drops_changes_while_a_page_opens(monkeypatch):
    drain = panel.io.document._drain_unconnected_events
    monkeypatch.setattr(panel.io.document, "_drain_unconnected_events", getattr(drain, "__wrapped__", drain))
    assert changes_sent({"a browser"}) == []


def test_changes_are_sent_while_a_page_opens(monkeypatch):
    monkeypatch.setattr(panel.io.document, "_drain_unconnected_events", panel.io.document._drain_unconnected_events)
    send_changes_while_a_page_opens()
    send_changes_while_a_page_opens()
    assert changes_sent({"a browser"}) == ["new"]
    assert changes_sent(set()) == []  # the page will be sent with the change


PANEL = Path(pn.__file__).parent


def test_upstream_still_waits_without_a_pause_until_a_table_can_be_drawn():
    source = (PANEL / "models" / "tabulator.ts").read_text(encoding="utf-8")
    waiting = source.partition("async _flush_resize_when_root_ready")[2].partition("_resize_redraw()")[0]
    assert "await defer()" in waiting


def test_upstream_still_imports_modules_as_blobs():
    assert '"shimMode": true' in (PANEL / "_templates" / "js_resources.html").read_text(encoding="utf-8")


def test_upstream_still_lists_fonts_of_other_alphabets_without_their_letters():
    styles = (Path(pmui.__file__).parent / "dist" / "material-icons.css").read_text(encoding="utf-8")
    greek = next(rule for rule in styles.split("}") if "roboto-greek-400" in rule)
    assert "unicode-range" not in greek


def test_pages_leave_out_the_import_library_and_load_the_library_of_tables_later(monkeypatch):
    monkeypatch.setattr(Resources, "adjust_paths", inspect.unwrap(Resources.adjust_paths))
    leave_out_unused_files()
    library = "static/extensions/panel/bundled/datatabulator/tabulator-tables@6.4.0/dist/js/tabulator.min.js"
    shims = "static/extensions/panel/bundled/reactiveesm/es-module-shims@%5E1.10.0/dist/es-module-shims.min.js"
    files = ["static/js/bokeh.min.js?v=1", "static/js/bokeh-gl.min.js?v=1", shims, library]

    def files_of(root):
        document = Document()
        document.add_root(root.get_root(document))
        with set_curdoc(document):
            return Resources(mode="server").adjust_paths(files)

    assert files_of(pn.Column(pn.widgets.Tabulator())) == files[:1]
