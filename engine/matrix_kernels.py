"""Choose the kernels of OpenBLAS that multiply matrices fastest on this processor.

OpenBLAS chooses kernels by the type of the processor. On some processors with AVX-512 it chooses AVX2 kernels, and a
fit takes 1.5 times as long. The first command that computes measures both, in processes of their own, and stores the
faster one. Later commands read the choice. It must be set before NumPy is loaded, so this module imports no other
library. A choice of the user is never changed.
"""

import json
import platform
import subprocess
import sys
from collections.abc import Mapping, MutableMapping
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benthoscope.engine.user_cache import user_cache

KERNELS = "OPENBLAS_CORETYPE"  # names the kernels of OpenBLAS for a type of processor
OWN_CHOICE = "BENTHOSCOPE_CHOSE_KERNELS"  # marks that this program has set it, for the processes that it starts
WIDE = "SkylakeX"  # kernels for AVX-512
FASTER = 1.1  # the kernels of a library version are only replaced for a clear gain
CPU_INFORMATION = Path("/proc/cpuinfo")
SECONDS = 60  # for one measurement

MEASUREMENT = """
import time
import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits
a = np.random.default_rng(0).random((512, 512))
def seconds():
    start = time.process_time()
    a @ a
    return time.process_time() - start
with threadpool_limits(1):
    best = min(seconds() for _ in range(20))
kernels = [pool.get("architecture", "unknown") for pool in threadpool_info() if pool["user_api"] == "blas"]
print(kernels[0] if kernels else "unknown", 2 * 512**3 / max(best, 1e-9) / 1e9)
"""


def set_kernels(environment: MutableMapping[str, str], *, measure: bool) -> None:
    """Set the kernels that were measured to be the fastest in this environment. Measure them first if `measure` is set
    and nothing is stored for this processor and this version of NumPy."""
    if KERNELS in environment or "numpy" in sys.modules or not has_wide_registers():
        return
    kernels = _stored()
    if kernels is None and measure:
        kernels = _measured(environment)
        _store(kernels)
    if kernels:
        environment[KERNELS] = kernels
        environment[OWN_CHOICE] = "1"


def is_choice_of_the_user(environment: Mapping[str, str]) -> bool:
    return KERNELS in environment and OWN_CHOICE not in environment


def without_choice(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name not in (KERNELS, OWN_CHOICE)}


def speed_of_products(environment: Mapping[str, str]) -> tuple[str, float]:
    """Return the kernels and the GFLOP/s on one core of a process with this environment."""
    run = subprocess.run(
        [sys.executable, "-c", MEASUREMENT],
        env=dict(environment),
        capture_output=True,
        text=True,
        check=True,
        timeout=SECONDS,
    )
    kernels, speed = run.stdout.split()
    return kernels, float(speed)


def has_wide_registers() -> bool:
    """Return whether the processor has AVX-512; False on systems that do not report it."""
    return "avx512f" in _processor().split()


def _processor() -> str:
    """Return the name and the flags of the first core."""
    try:
        lines = CPU_INFORMATION.read_text(errors="replace").partition("\n\n")[0].splitlines()
    except OSError:
        return platform.processor()
    return "\n".join(line for line in lines if line.startswith(("model name", "flags")))


def _measured(environment: Mapping[str, str]) -> str:
    """Return the name of the faster kernels; an empty name leaves the choice to OpenBLAS."""
    try:
        chosen, speed = speed_of_products(environment)
        if chosen.lower() == WIDE.lower():
            return ""
        kernels, wide_speed = speed_of_products({**environment, KERNELS: WIDE})
    except (OSError, subprocess.SubprocessError, ValueError):
        return ""
    return WIDE if kernels.lower() == WIDE.lower() and wide_speed > FASTER * speed else ""


def _stored() -> str | None:
    """Return the stored choice, or nothing if there is none for this processor and this version of NumPy."""
    try:
        stored = json.loads(_file().read_text())
    except (OSError, ValueError):
        return None
    if not isinstance(stored, dict) or stored.get("measured on") != _machine():
        return None
    return WIDE if stored.get("kernels") == WIDE else ""


def _store(kernels: str) -> None:
    """A full or read-only disk only means that the next command measures again."""
    with suppress(OSError):
        _file().parent.mkdir(parents=True, exist_ok=True)
        _file().write_text(json.dumps({"kernels": kernels, "measured on": _machine()}))


def _file() -> Path:
    return user_cache() / "matrix-kernels.json"


def _machine() -> str:
    try:
        numpy_version = version("numpy")
    except PackageNotFoundError:
        numpy_version = "none"
    return f"{_processor()}\nNumPy {numpy_version}"
