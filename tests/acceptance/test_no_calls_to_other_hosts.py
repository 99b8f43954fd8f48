"""Neither the program nor a library that it uses contacts another host."""

import ast
import os
import sys
from pathlib import Path

import pytest

from benthoscope.app.commands import doctor
from benthoscope.engine.compute import DaskCluster
from benthoscope.engine.jobs.process_pool import ProcessPool
from tests.network_watch import compiler, watched

ROOT = Path(__file__).parents[2]
VARIABLE = "ORT_DISABLE_TELEMETRY"
IN_PYTHON = "import socket; socket.create_connection(('192.0.2.1', 80), 1)"
NATIVE = (
    "import ctypes; ctypes.CDLL(None).getaddrinfo(b'elsewhere.invalid', None, None, ctypes.byref(ctypes.c_void_p()))"
)
IN_CHILD = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {IN_PYTHON!r}])"
NETWORK = """
from onnx import TensorProto, helper
ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in "xy"]
graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "copy", ends[:1], ends[1:])
data = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=9).SerializeToString()
import onnxruntime
onnxruntime.InferenceSession(data)
"""


@pytest.mark.slow
def test_a_whole_session_calls_no_other_host(tmp_path):
    ended = watched(
        [sys.executable, "-m", "tests.network_watch.session", str(tmp_path)], tmp_path / "watch", **{VARIABLE: None}
    )
    assert ended.code == 0 and "finished with" in ended.output, ended.output
    assert ended.calls == ()
    own_files = (".cache/benthoscope/", ".local/state/benthoscope/")  # network and measured durations
    assert [name for name in ended.home_files if not name.startswith(own_files)] == []


@pytest.mark.parametrize(
    ("program", "call"),
    [
        (IN_PYTHON, "192.0.2.1"),
        (IN_CHILD, "192.0.2.1"),
        pytest.param(
            NATIVE,
            "native getaddrinfo elsewhere.invalid",
            marks=pytest.mark.skipif(compiler() is None, reason="no C compiler on this machine"),
        ),
    ],
)
def test_the_watch_sees_calls_in_python_in_child_processes_and_in_native_libraries(tmp_path, program, call):
    assert any(call in line for line in watched([sys.executable, "-c", program], tmp_path / "watch").calls)


def test_the_watch_sees_telemetry_and_importing_the_engine_first_switches_it_off(tmp_path):
    without = watched([sys.executable, "-c", NETWORK], tmp_path / "without", **{VARIABLE: None})
    assert without.code == 0, without.output
    if not (without.calls or without.home_files):
        pytest.skip("this ONNX Runtime has no telemetry")
    guarded = watched(
        [sys.executable, "-c", f"import benthoscope\n{NETWORK}"], tmp_path / "guarded", **{VARIABLE: None}
    )
    assert (guarded.code, guarded.calls, guarded.home_files) == (0, (), ())


def imported(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


def test_onnx_runtime_is_imported_in_one_module_only():
    importers = [
        str(path.relative_to(ROOT))
        for folder in ("app", "engine")
        for path in (ROOT / folder).rglob("*.py")
        if "onnxruntime" in {name.split(".")[0] for name in imported(path)}
    ]
    assert importers == ["engine/features/networks/onnx_network.py"]


def variable(_):
    """Return an environment variable of a worker process."""
    return os.environ.get(VARIABLE)


def test_worker_processes_have_telemetry_switched_off(monkeypatch):
    monkeypatch.delenv(VARIABLE)
    assert dict(ProcessPool(variable, 2).run([1, 2], lambda: None)) == {1: "1", 2: "1"}


def test_dask_workers_have_telemetry_switched_off(monkeypatch):
    distributed = pytest.importorskip("distributed")
    monkeypatch.delenv(VARIABLE)
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1"
        ) as local,
        DaskCluster(local.scheduler_address) as cluster,
    ):
        assert list(cluster.map([1], variable)) == ["1"]


def test_doctor_says_whether_telemetry_is_off(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert doctor.telemetry().state == "ok"
    tmp_path.joinpath(*doctor.TELEMETRY_FILES).mkdir(parents=True)
    assert doctor.telemetry().state == "note" and str(tmp_path) in doctor.telemetry().remedy
    monkeypatch.setenv(VARIABLE, "0")
    assert doctor.telemetry().state == "bad" and f"{VARIABLE}=1" in doctor.telemetry().remedy
    assert any(finding.name == "Telemetry" for finding in doctor.examine())
