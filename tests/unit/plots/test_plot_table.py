"""The documentation says what every plot offers, as the plots themselves are."""

import re
from pathlib import Path

from benthoscope.app.data.figures import FIGURES
from tests.unit.plots.plot_table import SHOWN, table

ROOT = Path(__file__).parents[3]


def test_the_documentation_has_the_table_of_the_plots():
    text = (ROOT / "docs" / "reference" / "plots.md").read_text(encoding="utf-8")
    assert table() in text, "run python -m tests.unit.plots.plot_table and copy the table to docs/reference/plots.md"


def test_every_plot_has_all_tools_for_zooming_and_a_page_or_is_a_file():
    assert set(FIGURES) < set(SHOWN)
    assert table().count("| box, wheel, pan, reset |") == len(SHOWN)
    for name, (page, _) in SHOWN.items():
        scripts = (ROOT / "assets" / "js" / "pages" / page.lower()).glob("*.js") if page else ()
        assert not page or any(re.search(f'"{name}"', path.read_text(encoding="utf-8")) for path in scripts), name
