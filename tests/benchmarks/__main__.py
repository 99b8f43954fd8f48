"""`python -m tests.benchmarks [NAME ...]` prints the tables of the named benchmarks, or of all. A benchmark that takes
long has parts, and NAME:PART prints one of them.
"""

import importlib
import os
import pkgutil
import sys
from collections.abc import Iterator

from benthoscope.engine.matrix_kernels import set_kernels
from tests import benchmarks
from tests.benchmarks.measure import Table, machine

BLAS_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def names() -> list[str]:
    module_names = (module.name for module in pkgutil.iter_modules(benchmarks.__path__))
    return sorted(name.removeprefix("bench_") for name in module_names if name.startswith("bench_"))


def main(requested: list[str]) -> int:
    unknown = sorted({name.partition(":")[0] for name in requested} - set(names()))
    if unknown:
        print(f"no benchmark {', '.join(unknown)}; there are {', '.join(names())}", file=sys.stderr)
        return 2
    for variable in BLAS_THREADS:  # before numpy comes in: CPU seconds are compared, a second thread only adds to them
        os.environ.setdefault(variable, "1")
    set_kernels(os.environ, measure=True)  # as the program does for a command that computes
    print(machine(), flush=True)
    for name in requested or names():
        for table in _tables(*name.split(":")):
            print(f"\n{table}", flush=True)
    return 0


def _tables(name: str, *parts: str) -> Iterator[Table]:
    module = importlib.import_module(f"tests.benchmarks.bench_{name}")
    return module.tables(*parts)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
