"""Messages of the browser become commands of one kind; bad ones get one clear line."""

from importlib import import_module

import pytest

from benthoscope.app.session.app_state import AppState
from benthoscope.app.session.commands import CommandTable, Ids, OptionalId, Packed
from benthoscope.app.session.session import Session
from benthoscope.engine.problems import BadInput
from benthoscope.engine.workspace import Workspace

MODULES = (
    "components.forms",
    "components.import_dialog",
    "pages.crowd.page",
    "pages.dive.page",
    "pages.explore.commands",
    "pages.home",
    "pages.labels.page",
    "pages.learn.page",
    "pages.learn.blind_page",
    "pages.objects.page",
    "pages.review.page",
    "pages.runs.page",
    "pages.shell",
)


@pytest.fixture
def session(tmp_path):
    with Workspace.create(tmp_path / "reef") as workspace:
        state = AppState(workspace)
        yield Session(state)
        state.close()


class Model:
    def __init__(self):
        self.calls = []


def _name(model: Model, images: Ids, key: str = "", id_: OptionalId = None) -> None:
    model.calls.append((images, key, id_))


def _select(model: Model, images: Packed) -> None:
    model.calls.append(images)


COMMANDS = CommandTable({"name": _name, "select": _select})


def test_a_message_becomes_a_call_with_values_of_the_annotated_types():
    model = Model()
    COMMANDS.run({"act": "name", "images": ["3", 4.0], "key": "A", "id": "7", "nth": 12}, model)
    COMMANDS.run({"act": "name", "images": [], "id": ""}, model)
    COMMANDS.run({"act": "select", "images": memoryview(b"ab")}, model)
    assert model.calls == [((3, 4), "A", 7), ((), "", None), b"ab"]


def test_a_command_is_decoded_once_and_run_later():
    model = Model()
    command = COMMANDS.decode({"act": "name", "images": [1]})
    assert command.name == "name"
    assert not model.calls
    command.function(model, **command.arguments)
    assert model.calls == [((1,), "", None)]


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ({"act": "nonsense"}, "no command 'nonsense'"),
        ({"images": [1]}, "no command 'None'"),
        ({"act": ["name"]}, "no command"),
        ("name", "no command"),
        (None, "no command"),
        ({"act": "x" * 10_000}, "no command"),
        ({"act": "name"}, "lacks the value 'images'"),
        ({"act": "name", "images": "many"}, "'images' cannot be used"),
        ({"act": "name", "images": [1, "two"]}, "at 1"),
        ({"act": "name", "images": [1.5]}, "'images' cannot be used"),
        ({"act": "name", "images": [1], "key": {"a": 1}}, "'key' cannot be used"),
        ({"act": "select", "images": 10**9}, "binary data"),
    ],
)
def test_a_bad_message_is_refused_in_one_line_and_nothing_is_run(message, words):
    model = Model()
    with pytest.raises(BadInput) as refused:
        COMMANDS.run(message, model)
    line = str(refused.value)
    assert words in line
    assert line.endswith("reload the page")
    assert "\n" not in line
    assert len(line) < 300
    assert not model.calls


def test_a_bad_message_becomes_the_message_line_of_the_tab(session):
    session.handler(COMMANDS, Model())({"act": "nonsense"})
    assert session.message.kind == "error"
    assert "no command 'nonsense'" in session.message.text


def test_a_command_without_types_cannot_be_registered():
    with pytest.raises(TypeError, match="no type for word"):
        CommandTable({"find": lambda model, word: None})


@pytest.mark.parametrize("name", MODULES)
def test_every_page_and_dialog_uses_the_one_table_of_commands(name):
    module = import_module(f"benthoscope.app.{name}")
    assert [value for value in vars(module).values() if isinstance(value, CommandTable)]
