"""Pages keep to the file names and imports that page packages share."""

import ast
from pathlib import Path

import pytest

APP = Path(__file__).parents[3] / "app"
WITHOUT_WIDGETS = ("model.py", "content.py", "random_model.py", "blind_model.py", "double_model.py")
WIDGETS = {"panel", "bokeh", "panel_material_ui"}


def imported_packages(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield (node.module or "").partition(".")[0]


def modules_without_widgets():
    return sorted(path for path in (APP / "pages").rglob("*.py") if path.name in WITHOUT_WIDGETS)


@pytest.mark.parametrize("path", modules_without_widgets(), ids=lambda path: f"{path.parent.name}/{path.name}")
def test_models_and_contents_import_no_panel_and_no_bokeh(path):
    assert not WIDGETS & set(imported_packages(path))


def test_every_page_package_has_a_page_module_and_the_check_finds_models():
    packages = [folder for folder in (APP / "pages").iterdir() if (folder / "__init__.py").is_file()]
    assert all((folder / "page.py").is_file() for folder in packages)
    assert len(modules_without_widgets()) >= len(packages)


@pytest.mark.parametrize("source", ["import panel as pn", "from bokeh.document import Document"])
def test_an_import_of_widgets_is_seen(tmp_path, source):
    module = tmp_path / "model.py"
    module.write_text(source + "\n")
    assert WIDGETS & set(imported_packages(module))
