"""The layers of the code, checked without installing anything: the message names the line to change."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGE_LAYOUTS = "app/pages/**/page.py"  # a page's model and content compute with arrays; its layout does not
FORBIDDEN = {
    "engine/**/*.py": ("benthoscope.app", "panel", "bokeh", "holoviews", "fastapi", "typer", "rich", "tests"),
    "app/**/*.py": ("tests",),
    "app/session/**/*.py": ("panel", "bokeh", "sqlalchemy"),
    "app/data/**/*.py": ("panel", "bokeh", "sqlalchemy"),
    "app/pages/**/model.py": ("panel", "bokeh", "sqlalchemy"),
    "app/pages/**/content.py": ("panel", "bokeh", "sqlalchemy"),
    "app/pages/**/*.py": ("sqlalchemy", "sqlite3"),
    PAGE_LAYOUTS: ("numpy", "scipy"),
    "app/components/*.py": ("sqlalchemy", "sqlite3", "numpy", "scipy"),
    "app/plots/*.py": ("benthoscope.app", "panel", "sqlalchemy", "benthoscope.engine.workspace"),
    "sample_data/**/*.py": ("benthoscope.app", "benthoscope.engine", "tests"),
}

LARGEST_FOLDER = 20  # modules


def imports(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import | ast.ImportFrom):
            base = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
            yield from ((base + alias.name, node.lineno) for alias in node.names)


@pytest.mark.parametrize("pattern", FORBIDDEN)
def test_a_layer_imports_only_what_lies_below_it(pattern):
    paths = sorted(ROOT.glob(pattern))
    assert paths
    breaches = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in paths
        for name, line in imports(path)
        if any(f"{name}.".startswith(f"{ban}.") for ban in FORBIDDEN[pattern])
    ]
    assert not breaches, "\n".join(breaches)


def test_a_breach_is_seen(tmp_path):
    guilty = tmp_path / "guilty.py"
    guilty.write_text("from benthoscope.app.cli import main\n")
    assert [name for name, _ in imports(guilty)] == ["benthoscope.app.cli.main"]


def test_no_folder_has_too_many_modules():
    folders = {path.parent for top in ("app", "engine", "sample_data") for path in (ROOT / top).rglob("*.py")}
    sizes = {folder: sum(path.name != "__init__.py" for path in folder.glob("*.py")) for folder in folders}
    assert len(folders) > 50
    assert {folder: size for folder, size in sizes.items() if size > LARGEST_FOLDER} == {}
