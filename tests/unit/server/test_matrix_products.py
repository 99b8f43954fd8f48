"""The kernels of matrix products are measured once, and `benthoscope doctor` reports them."""

import os
import subprocess
import sys

import pytest

from benthoscope.app.commands import doctor
from benthoscope.engine import matrix_kernels
from benthoscope.engine.matrix_kernels import KERNELS, OWN_CHOICE, set_kernels


@pytest.fixture
def wide_processor(tmp_path, monkeypatch):
    """A processor with AVX-512, an empty cache folder, and a process that has not loaded NumPy."""
    information = tmp_path / "cpuinfo"
    information.write_text("model name\t: A processor\nflags\t\t: sse avx2 avx512f avx512vl\n\nflags\t\t: sse\n")
    monkeypatch.setattr(matrix_kernels, "CPU_INFORMATION", information)
    monkeypatch.setattr(matrix_kernels, "user_cache", lambda: tmp_path / "cache")
    monkeypatch.delitem(sys.modules, "numpy")
    return information


@pytest.fixture
def measured(monkeypatch):
    """Replaces the measurement; the environments that it was called with."""
    environments = []

    def replace(own, own_speed, wide_speed):
        def speed(environment):
            environments.append(dict(environment))
            return (environment[KERNELS], wide_speed) if KERNELS in environment else (own, own_speed)

        monkeypatch.setattr(matrix_kernels, "speed_of_products", speed)
        return environments

    return replace


def test_faster_kernels_are_measured_once_and_stored(wide_processor, measured):
    environments = measured("Haswell", 63.0, 104.0)
    first, second = {}, {}
    set_kernels(first, measure=True)
    assert first == {KERNELS: "SkylakeX", OWN_CHOICE: "1"}
    assert len(environments) == 2
    set_kernels(second, measure=True)
    assert second == first and len(environments) == 2


@pytest.mark.parametrize(("own", "wide_speed"), [("SkylakeX", 104.0), ("Haswell", 65.0), ("Haswell", 40.0)])
def test_the_choice_of_the_library_is_left_without_a_clear_gain(wide_processor, measured, own, wide_speed):
    environments = measured(own, 63.0, wide_speed)
    for _ in range(2):
        environment = {}
        set_kernels(environment, measure=True)
        assert environment == {}
    assert len(environments) <= 2  # the result "leave it" is stored, too


def test_a_choice_of_the_user_is_never_changed(wide_processor, measured):
    environments = measured("Haswell", 63.0, 104.0)
    environment = {KERNELS: "Haswell"}
    set_kernels(environment, measure=True)
    assert environment == {KERNELS: "Haswell"} and not environments


def test_nothing_is_measured_for_a_quick_command_or_without_wide_registers(wide_processor, measured):
    environments = measured("Haswell", 63.0, 104.0)
    environment = {}
    set_kernels(environment, measure=False)
    wide_processor.write_text("model name\t: Another\nflags\t\t: sse avx2\n")
    set_kernels(environment, measure=True)
    assert not environment and not environments


@pytest.mark.parametrize("content", ["", "[", "[1]", '{"kernels": "SkylakeX", "measured on": "elsewhere"}'])
def test_a_damaged_or_foreign_file_is_measured_again(wide_processor, measured, content, tmp_path):
    measured("Haswell", 63.0, 104.0)
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "matrix-kernels.json").write_text(content)
    environment = {}
    set_kernels(environment, measure=True)
    assert environment[KERNELS] == "SkylakeX"


def test_a_measurement_that_fails_and_a_full_disk_change_nothing(wide_processor, monkeypatch, tmp_path):
    def broken(environment):
        raise subprocess.CalledProcessError(1, "python")

    monkeypatch.setattr(matrix_kernels, "speed_of_products", broken)
    (tmp_path / "cache").write_text("a file instead of a folder")
    environment = {}
    set_kernels(environment, measure=True)
    assert environment == {}


def test_the_choice_is_made_before_numpy_is_loaded():
    code = "import sys, benthoscope.__main__; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_speed_is_measured_in_a_process_with_the_given_environment():
    finding = doctor.products()
    assert finding.name == "Matrix products"
    assert "GFLOP/s on one core" in finding.found
    assert float(finding.found.split(" kernels, ")[1].split()[0]) > 0


@pytest.mark.parametrize(("chosen_speed", "state"), [(60.0, "note"), (100.0, "ok"), (108.0, "ok")])
def test_slow_kernels_of_the_environment_are_reported(monkeypatch, chosen_speed, state):
    def speed(environment):
        return ("Haswell", chosen_speed) if KERNELS in environment else ("SkylakeX", 104.0)

    monkeypatch.setenv(KERNELS, "Haswell")
    monkeypatch.setattr(matrix_kernels, "speed_of_products", speed)
    finding = doctor.products()
    assert finding.state == state
    assert "SkylakeX" in finding.found
    assert (KERNELS in finding.remedy) == (state == "note")


def test_nothing_is_compared_if_the_user_chose_no_kernels(monkeypatch):
    monkeypatch.delenv(KERNELS, raising=False)
    monkeypatch.setattr(matrix_kernels, "speed_of_products", lambda environment: ("SkylakeX", 104.0))
    description = "SkylakeX kernels, 104 GFLOP/s on one core"
    assert doctor.products() == doctor.Finding("Matrix products", "ok", description)
    monkeypatch.setenv(KERNELS, "SkylakeX")
    monkeypatch.setenv(OWN_CHOICE, "1")
    assert doctor.products().found == f"{description}; chosen by Benthoscope"


@pytest.mark.skipif(not matrix_kernels.has_wide_registers(), reason="this processor has no AVX-512")
def test_what_the_program_chose_reaches_the_processes_that_it_starts(monkeypatch):
    environment = {**os.environ, KERNELS: "Haswell", OWN_CHOICE: "1"}
    assert matrix_kernels.speed_of_products(environment)[0] == "Haswell"
