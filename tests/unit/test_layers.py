"""The layers of the house, checked without installing anything: the message names the line to mend."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FORBIDDEN = {
    "engine": ("app", "panel", "bokeh", "holoviews", "fastapi", "typer", "rich", "tests"),
    "app": ("tests",),
    "app/state": ("panel", "bokeh", "sqlalchemy"),
    "app/pages": ("sqlalchemy", "sqlite3", "numpy", "scipy"),
    "app/components": ("sqlalchemy", "sqlite3", "numpy", "scipy"),
    "sample_data": ("app", "engine", "tests"),
}


def imports(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import | ast.ImportFrom):
            base = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
            yield from ((base + alias.name, node.lineno) for alias in node.names)


@pytest.mark.parametrize("folder", FORBIDDEN)
def test_a_layer_imports_only_what_lies_below_it(folder):
    breaches = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in sorted((ROOT / folder).rglob("*.py"))
        for name, line in imports(path)
        if any(f"{name}.".startswith(f"{ban}.") for ban in FORBIDDEN[folder])
    ]
    assert not breaches, "\n".join(breaches)


def test_a_breach_is_seen(tmp_path):
    guilty = tmp_path / "guilty.py"
    guilty.write_text("from app.cli import main\n")
    assert [name for name, _ in imports(guilty)] == ["app.cli.main"]
