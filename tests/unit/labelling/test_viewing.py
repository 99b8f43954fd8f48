"""When an audited page counts as looked at."""

import pytest
from typer.testing import CliRunner

from benthoscope.app.cli import app
from benthoscope.app.commands import serve
from benthoscope.app.server.application import ServerSettings
from benthoscope.engine.labelling.audits.sample import sequential_audit
from benthoscope.engine.labelling.audits.viewing import Viewing, describe
from benthoscope.engine.workspace import Workspace

IMAGES = list(range(55))


def looked(seconds, images=IMAGES):
    return dict.fromkeys(images, seconds)


def test_a_page_is_rejected_until_every_image_was_visible():
    page = Viewing(0.0).reported(looked(0.3, IMAGES[:40]), IMAGES, 60.0)
    assert page.problem(IMAGES, 60.0) == "15 of 55 images were not visible long enough"
    assert page.reported(looked(0.3), IMAGES, 60.0).problem(IMAGES, 60.0) == ""


def test_a_second_enter_within_a_second_and_a_half_is_rejected_despite_browser_reports():
    page = Viewing(0.0).reported(looked(0.75), IMAGES, 1.5)
    assert sum(page.seconds.values()) <= 2.0 + 1e-9  # no more than has passed, and what a report may be ahead
    assert page.problem(IMAGES, 1.5)


def test_enter_right_after_a_page_turn_is_rejected():
    page = Viewing(10.0, min_seconds=0.0)
    assert "just changed" in page.problem([1], 10.3) and not page.problem([1], 10.5)


def test_reports_add_up_and_never_fall():
    page = Viewing(0.0).reported({1: 0.2, 2: 0.1}, [1, 2], 5.0).reported({1: 0.1, 2: 0.4}, [1, 2], 6.0)
    assert page.times([1, 2]) == [0.2, 0.4] and page.viewed([1, 2]) == [2]


def test_images_of_no_page_and_impossible_times_do_not_count():
    page = Viewing(0.0).reported({1: -5.0, 2: float("nan"), 99: 3.0}, [1, 2], 5.0)
    assert set(page.seconds) <= {1, 2} and page.times([1, 2]) == [0.0, 0.0]


def test_every_bound_states_the_viewing_time():
    assert describe(55, 41.2, 0.7) == "55 seen, 41 s"
    assert describe(55, 15.0, 0.27) == "55 seen, 15 s, very fast"
    assert describe(55, None, None) == "viewing time not recorded"
    audit = sequential_audit(63, 0, 500, [0.65] * 63)
    assert str(audit) == "checked 63, wrong 0, at most 5 % wrong at 95 % (63 seen, 41 s)"
    assert audit.typical_seconds == pytest.approx(0.65)


def test_the_time_an_image_needs_is_an_option_of_serve(monkeypatch, tmp_path):
    settings = {}
    monkeypatch.setattr(serve, "run_server", lambda workspace, browser, as_json, **values: settings.update(values))
    Workspace.create(tmp_path / "reef").close()
    CliRunner().invoke(app, ["serve", str(tmp_path / "reef.benthos"), "--audit-seconds", "0.5"], catch_exceptions=False)
    assert settings["audit_seconds"] == ServerSettings(audit_seconds=0.5).audit_seconds == 0.5
    monkeypatch.setenv("BENTHOSCOPE_AUDIT_SECONDS", "2")
    CliRunner().invoke(app, ["serve", str(tmp_path / "reef.benthos")], catch_exceptions=False)
    assert settings["audit_seconds"] == 2
