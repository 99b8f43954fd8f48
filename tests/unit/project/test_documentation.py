"""The documentation names only pages, files, functions, make targets and commands that exist."""

import ast
import importlib
import re
from functools import cache
from pathlib import Path

import pytest
import typer
import yaml

import benthoscope
from benthoscope.app.cli import app
from benthoscope.engine.workspace.database.schema import metadata

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"
SETTINGS = DOCS / "config" / "mkdocs.yml"
PAGES = sorted(DOCS.rglob("*.md"))
TEXTS = [ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *PAGES]
FOLDERS = ("app", "assets", "docs", "engine", "sample_data", "tests")
DEFINED_IN = re.compile(r"`([\w.]+)`\s+(?:\(|in\s+)`([\w./]+\.(?:py|js))`")
OBJECT = re.compile(r"^::: (benthoscope[\w.]*)$", re.MULTILINE)
CODE = re.compile(r"`([^`\n]+)`")
BLOCK = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
TARGET = re.compile(r"^make ([a-z]+)", re.MULTILINE)
COMMAND = re.compile(r"\bbenthoscope ([a-z][a-z-]+)((?: [a-z][a-z-]+)?)")


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def spans(text: str) -> list[str]:
    """The code spans of a Markdown text, without its code blocks."""
    return CODE.findall(BLOCK.sub("", text))


def missing_paths(text: str) -> list[str]:
    """Paths within the project that a text names and that are neither a file nor a folder."""
    paths = [span for span in spans(text) if re.fullmatch(rf"({'|'.join(FOLDERS)})(/[\w.-]+)+/?", span)]
    files = [span for span in spans(text) if re.fullmatch(r"[A-Za-z]+\.(toml|md|txt|cff)|\.ci/run", span)]
    named = [path for path in paths + files if "NAME" not in path]
    return [path for path in named if not (ROOT / path).exists()]


def undefined_names(text: str) -> list[str]:
    """Functions and classes that a text says are in a file, and that the file does not define."""
    pairs = DEFINED_IN.findall(text)
    return [f"{name} in {path}" for name, path in pairs if not is_defined(name, ROOT / path)]


def is_defined(name: str, path: Path) -> bool:
    if not path.is_file():
        return False
    if path.suffix == ".js":
        return re.search(rf"\b(function|class|const) {name}\b", path.read_text(encoding="utf-8")) is not None
    return name in definitions(path)


@cache
def definitions(path: Path) -> frozenset[str]:
    """Functions, classes, members as CLASS.MEMBER, and variables of a Python module."""
    return frozenset(_definitions(ast.parse(path.read_text(encoding="utf-8")).body))


def _definitions(body: list[ast.stmt], prefix: str = "") -> list[str]:
    names = []
    for node in body:
        match node:
            case ast.ClassDef(name=name, body=inner):
                names += [prefix + name, *_definitions(inner, f"{prefix}{name}.")]
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                names.append(prefix + name)
            case ast.AnnAssign(target=ast.Name(id=name)):
                names.append(prefix + name)
            case ast.Assign(targets=targets):
                names += [prefix + target.id for target in targets if isinstance(target, ast.Name)]
    return names


def missing_targets(text: str) -> list[str]:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    code = "\n".join([*spans(text), *BLOCK.findall(text)])
    return [target for target in TARGET.findall(code) if not re.search(rf"^{target}:", makefile, re.MULTILINE)]


def missing_commands(text: str) -> list[str]:
    """Commands of the command line that a text names; the second word counts where the first is a group."""
    commands = typer.main.get_command(app).commands
    missing = []
    for first, second in COMMAND.findall("\n".join(re.findall(r"`(benthoscope [^`]+)`", text))):
        group = getattr(commands.get(first), "commands", None)
        if first not in commands or (group is not None and second and second.strip() not in group):
            missing.append(f"{first}{second}")
    return missing


def navigation(entries: list) -> list[str]:
    """The pages in the navigation, in its order."""
    pages = []
    for entry in entries:
        content = next(iter(entry.values())) if isinstance(entry, dict) else entry
        pages += navigation(content) if isinstance(content, list) else [content]
    return pages


def settings() -> dict:
    return yaml.safe_load(SETTINGS.read_text(encoding="utf-8"))


def test_the_navigation_lists_every_page_once_and_nothing_else():
    assert sorted(navigation(settings()["nav"])) == [str(page.relative_to(DOCS)) for page in PAGES]


def test_the_site_loads_nothing_from_other_hosts():
    assert settings()["theme"]["font"] is False
    assert settings()["strict"] is True
    loaded = re.compile(r"!\[[^\]]*\]\(https?:|<(script|link|img|iframe)\b|^```mermaid", re.MULTILINE)
    assert [name_of(page) for page in PAGES if loaded.search(page.read_text(encoding="utf-8"))] == []


def test_the_api_reference_has_every_public_name_and_only_names_that_exist():
    objects = [name for page in PAGES for name in OBJECT.findall(page.read_text(encoding="utf-8"))]
    public = {f"benthoscope.{name}" for name in benthoscope.__all__ if name != "__version__"}
    assert public - set(objects) == set()
    assert "`benthoscope.__version__`" in (DOCS / "reference" / "index.md").read_text(encoding="utf-8")
    assert [name for name in objects if not importable(name)] == []


def importable(name: str) -> bool:
    """Whether a name is a module or a member of one."""
    module, _, member = name.rpartition(".")
    try:
        return hasattr(importlib.import_module(module), member) or importlib.import_module(name) is not None
    except ImportError:
        return False


def test_the_list_of_decision_records_is_complete():
    records = [path.name for path in PAGES if re.match(r"\d{4}-", path.name)]
    listed = re.findall(r"\]\((\d{4}-[\w-]+\.md)\)", (DOCS / "decisions" / "README.md").read_text(encoding="utf-8"))
    assert listed == records


def test_the_data_model_describes_every_table():
    assert set(metadata.tables) - set(spans((DOCS / "data-model.md").read_text(encoding="utf-8"))) == set()


@pytest.mark.parametrize("path", TEXTS, ids=name_of)
def test_a_page_names_only_what_exists(path):
    text = path.read_text(encoding="utf-8")
    assert missing_paths(text) == []
    assert undefined_names(text) == []
    assert missing_targets(text) == []
    assert missing_commands(text) == []


def test_wrong_names_are_seen():
    assert missing_paths("`engine/lost.py`, `engine/problems.py` and `LOST.md`") == ["engine/lost.py", "LOST.md"]
    wrong = "`fail` (`engine/problems.py`), `lost` (`engine/problems.py`) and `Problem.lost` in `engine/problems.py`"
    assert undefined_names(wrong) == ["lost in engine/problems.py", "Problem.lost in engine/problems.py"]
    assert missing_targets("`make demo`, then `make lost`") == ["lost"]
    assert missing_commands("`benthoscope status`, `benthoscope lost`, `benthoscope runs lost`") == [
        "lost",
        "runs lost",
    ]
    assert not importable("benthoscope.engine.mixtures.Lost")


def test_the_version_is_the_same_everywhere():
    """The package, the citation file and the newest entry of the changelog."""
    version = re.search(r'^version = "(.+)"', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)[1]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    newest = re.search(r"^## \[(.+)\] - (.+)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert (str(citation["version"]), str(citation["date-released"])) == (version, newest[2])
    assert newest[1] == version
    assert {"cff-version", "message", "title", "authors"} <= set(citation)
