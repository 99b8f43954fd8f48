"""Type errors per package: none may gain any, and the allowance falls with them.

python -m tests.checks.mypy_allowance FOLDER            check the package in FOLDER (as `make types` does)
python -m tests.checks.mypy_allowance FOLDER --lower    write the lower counts into mypy_allowance.json
"""

import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

ALLOWANCE = Path(__file__).with_suffix(".json")
ERROR = re.compile(r"benthoscope/(?P<path>[^:]+):\d+: error: ")


def package_of(path: str) -> str:
    """The room of a module: the first two folders, or the one it is in."""
    folders = path.split("/")[:-1]
    return "/".join(folders[:2]) or "top"


def counted(output: str) -> Counter[str]:
    return Counter(package_of(match["path"]) for match in ERROR.finditer(output))


def judged(counts: Mapping[str, int], allowed: Mapping[str, int]) -> list[str]:
    """Return the packages with more errors than allowed, and the allowances that are too high."""
    complaints = []
    for package in sorted({*counts, *allowed}):
        now, limit = counts.get(package, 0), allowed.get(package, 0)
        if now > limit:
            complaints.append(f"{package}: {now} type errors, {limit} allowed; fix the new ones")
        elif now < limit:
            complaints.append(f"{package}: {now} type errors, {limit} allowed; run this command with --lower")
    return complaints


def lowered(counts: Mapping[str, int], allowed: Mapping[str, int]) -> dict[str, int]:
    """The allowance after errors were fixed; it never grows."""
    fewer = {package: min(counts.get(package, 0), limit) for package, limit in allowed.items()}
    return {package: limit for package, limit in sorted(fewer.items()) if limit}


def run_mypy(folder: Path) -> str:
    command = [
        sys.executable,
        "-m",
        "mypy",
        "-p",
        "benthoscope",
        "--config-file",
        str(Path("pyproject.toml").resolve()),
    ]
    environment = {**os.environ, "MYPYPATH": str(folder), "MYPY_CACHE_DIR": str(Path(".mypy_cache").resolve())}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode not in (0, 1):  # 1: there are errors in types
        raise SystemExit(done.stdout + done.stderr)
    return done.stdout


def main(folder: str, *options: str) -> int:
    output = run_mypy(Path(folder))
    counts, allowed = counted(output), json.loads(ALLOWANCE.read_text(encoding="utf-8"))
    if "--lower" in options:
        ALLOWANCE.write_text(json.dumps(lowered(counts, allowed), indent=2) + "\n", encoding="utf-8")
        return 0
    complaints = judged(counts, allowed)
    if complaints:
        print(output)
    print("\n".join(complaints) or f"{sum(counts.values())} type errors, as many as allowed")
    return bool(complaints)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
