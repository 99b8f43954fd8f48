"""Every page is within reach, explained, and imported only when opened."""

import re
import subprocess
import sys
from pathlib import Path

import panel as pn
import pytest

from benthoscope.app.components.base import ModuleComponent, module_url
from benthoscope.app.components.notices import empty
from benthoscope.app.pages.help import topic, topics
from benthoscope.app.pages.jobs import JobsBoard
from benthoscope.app.pages.registry import PAGES, page_named
from benthoscope.app.pages.shell import TopBar, first_words, has_parts
from benthoscope.engine.problems import BadInput

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.slug or "home")
def test_every_page_has_a_view_an_icon_and_a_help_text(page):
    assert callable(page.view()) and page.icon and page.title
    assert len(topic(page.slug or "home").text) > 200


def test_no_two_pages_share_an_address_or_a_key():
    for name in ("slug", "key"):
        all_text = [getattr(page, name) for page in PAGES if page.slug or name == "key"]
        assert len({word for word in all_text if word}) == len([word for word in all_text if word])


def test_an_unknown_page_offers_the_nearest():
    with pytest.raises(BadInput, match="did you mean 'library'"):
        page_named("libary")


def test_help_texts_lead_only_to_what_is_there():
    assert all(page_topic.title and page_topic.text for page_topic in topics())
    with pytest.raises(BadInput):
        topic("kelp")


def test_the_registry_imports_no_page():
    code = (
        "import sys; import benthoscope.app.pages.registry; "
        "print([name for name in sys.modules if 'app.pages.' in name])"
    )
    stdout = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT).stdout
    assert stdout.strip() == "['benthoscope.app.pages.registry']"


def test_components_fetch_their_modules_from_this_server_and_import_nothing_else():
    names = {subclass._module for subclass in subclasses(ModuleComponent) if subclass._module}
    assert TopBar._module in names
    for name in names:
        assert module_url(name).startswith("/assets/") and (ROOT / "assets" / "js" / f"{name}.js").is_file()
    for path in (ROOT / "assets").rglob("*.js"):
        text = path.read_text(encoding="utf-8")
        assert "esm.sh" not in text and "unpkg" not in text and "jsdelivr" not in text, path


def test_grey_blocks_wait_only_for_scripts_that_draw_a_page():
    assert has_parts(pn.Column(JobsBoard()))
    assert not has_parts(pn.Column(TopBar()))
    assert not has_parts(empty("No images yet", "Add images first."))


def test_a_hostile_name_of_a_workspace_cannot_leave_its_string_in_the_style_sheet():
    css = first_words(page_named("runs"), '"; } </style><script>x\\')
    names = re.search(r'--frame-workspace: "([^"]*)";', css).group(1)
    assert not set(names) & set("<>;{}'")
    assert re.sub(r"\\([0-9a-f]+) ", lambda code: chr(int(code[1], 16)), names) == '"; } </style><script>x\\'


def test_notifications_of_panel_stay_off_because_they_keep_every_session():
    assert not pn.config.notifications


def subclasses(kind):
    for subclass in kind.__subclasses__():
        yield subclass
        yield from subclasses(subclass)
