"""Estimates of durations: ranges from what this machine did before, rough guesses until it did."""

import json

import numpy as np
import pytest

from benthoscope.app.data.jobs import clustering_time, describing_time, starting_time
from benthoscope.app.session.app_state import AppState
from benthoscope.engine.features import available
from benthoscope.engine.jobs import durations, run_now
from benthoscope.engine.jobs.durations import (
    Estimate,
    Measurement,
    estimate,
    format_range,
    image_work,
    measurements,
    record,
)
from benthoscope.engine.streaming import MemoryBoundedVDP, round_work

HERE = durations.machine()
WORD = available("deep")[0]


@pytest.fixture(autouse=True)
def no_measurements(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def test_before_anything_was_measured_an_estimate_says_that_it_is_a_guess():
    estimated = estimate("features", "deep", 1000.0)
    assert not estimated.measured and "rough guess" in str(estimated)
    assert estimated.high >= 10 * estimated.low  # wide, as it has to hold on machines nobody has seen


@pytest.mark.parametrize("kind, what", [("import", ""), ("features", "deep"), ("cluster", "gmc")])
def test_a_measurement_makes_a_range_around_it_that_widens_with_the_difference_in_size(kind, what):
    known = [Measurement(kind, what, 1000.0, 60.0, HERE)]
    same, larger = (estimate(kind, what, number, known) for number in (1000.0, 8000.0))
    assert same.measured and same.low < 60 < same.high < 2 * 60
    assert larger.low < 60 * 8 < larger.high
    assert larger.high / larger.low > same.high / same.low
    assert "guess" not in str(larger)


def test_measurements_of_other_work_or_another_machine_do_not_count(tmp_path):
    record("features", "segments", 1000.0, 500.0)
    path = durations.durations_file()
    with path.open("a") as file:
        file.write(
            json.dumps(
                {"kind": "features", "what": "deep", "work": 1000.0, "seconds": 9.0, "machine": "a server elsewhere"}
            )
            + "\nno JSON\n"
        )
    assert not estimate("features", "deep", 1000.0).measured
    record("features", "deep", 1000.0, 70.0)
    assert estimate("features", "deep", 1000.0).measured and len(measurements()) == 2


def test_the_sizes_nearest_to_the_new_job_make_the_range():
    known = [Measurement("cluster", "gmc", 10.0**power, 10.0**power, HERE) for power in range(1, 9)]
    estimated = estimate("cluster", "gmc", 1e8, known)
    assert estimated.low <= 1e8 <= estimated.high
    with_noise = [*known, Measurement("cluster", "gmc", 1e8, 3e8, HERE)]  # a day when the machine was busy
    assert estimate("cluster", "gmc", 1e8, with_noise).high >= 3e8


def test_an_unwritable_file_is_not_an_error(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    record("features", "deep", 1000.0, 70.0)
    assert measurements() == []


def test_estimates_of_steps_add_up_and_one_guess_makes_the_sum_a_guess():
    total = Estimate(10, 20, True) + Estimate(5, 50, False)
    assert (total.low, total.high, total.measured) == (15, 70, False)


@pytest.mark.parametrize(
    "low, high, words",
    [
        (1, 6, "less than 10 s"),
        (20.2, 48, "20 to 48 s"),
        (480, 890, "8 to 15 min"),
        (40, 300, "40 s to 5 min"),
        (3600, 3 * 3600, "1.0 to 3.0 h"),
    ],
)
def test_a_range_is_rounded_for_planning(low, high, words):
    assert format_range(low, high) == words


def test_finished_jobs_are_measured_and_their_time_lies_in_the_estimate(workspace, tmp_path, monkeypatch):
    from tests.unit.jobs.test_import_job import picture

    monkeypatch.setattr(durations, "LEAST_SECONDS", 0.0)
    for number in range(40):
        picture(tmp_path / "images" / f"{number}.jpg", number)
    assert run_now(workspace, "start", {"folder": str(tmp_path / "images")}).state == "done"
    measurement_by_kind = {(each.kind, each.what): each for each in measurements()}
    assert set(measurement_by_kind) == {("import", ""), ("features", WORD), ("cluster", "gmc")}
    assert measurement_by_kind["features", WORD].work == pytest.approx(image_work(40, 40 * 30 / 1e6))
    app = AppState(workspace)
    time, seconds = describing_time(app, [WORD], 40), measurement_by_kind["features", WORD].seconds
    assert time.measured and time.low < seconds < time.high
    assert starting_time(app, 40, WORD).measured


def test_several_descriptors_are_added_up_until_they_were_measured_together(workspace):
    app = AppState(workspace)
    amount = image_work(1000, 6.0)
    record("features", "deep", amount, 100.0)
    assert not describing_time(app, ["segments", "deep"], 1000).measured
    record("features", "segments", amount, 300.0)
    summed = describing_time(app, ["segments", "deep"], 1000)
    assert summed.measured and summed.low < 400 < summed.high
    record("features", "deep+segments", amount, 350.0)
    together = describing_time(app, ["segments", "deep"], 1000)
    assert np.isclose(together.low, 350 * durations.BEST_DAY)


def test_the_time_of_a_stream_is_not_known_before_it_was_measured():
    model = MemoryBoundedVDP()
    estimated = estimate("cluster in rounds", "mbvdp", round_work(model, 32, 5000), [])
    assert str(estimated).startswith("not known yet")
    assert str(Estimate(10, 20, True) + estimated.times(2)).startswith("not known yet")
    assert clustering_time("mbvdp", 300_000, 32, {"memory": 1000}).measured is False
    record("cluster in rounds", "mbvdp", round_work(MemoryBoundedVDP(memory=1000), 32, 300_000), 40.0)
    known = clustering_time("mbvdp", 300_000, 32, {"memory": 1000})
    assert known.measured and known.low < 40 < known.high < 2 * 40


def test_a_stream_of_single_rows_tells_how_long_gathered_rows_take():
    """500,000 x 20 took 38.4 CPU seconds with single rows and 9.2 with gathered ones (2026-11-20)."""
    single, gathered = (round_work(MemoryBoundedVDP(gather=rows), 20, 500_000) for rows in (1, None))
    for work, seconds, other_work, other_seconds in (
        (single, 38.4, gathered, 9.2),
        (gathered, 9.2, single, 38.4),
    ):
        estimated = estimate(
            "cluster in rounds", "mbvdp", other_work, [Measurement("cluster in rounds", "mbvdp", work, seconds, HERE)]
        )
        assert estimated.low < other_seconds < estimated.high
