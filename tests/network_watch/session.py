"""A whole session on a small campaign: import, features, cluster, label, learn, cover, and a server that shows it all.

python -m tests.network_watch.session FOLDER
"""

import re
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

from benthoscope.app.pages.registry import PAGES
from benthoscope.engine.features import available
from benthoscope.engine.jobs import run_now
from benthoscope.engine.workspace import Workspace
from benthoscope.engine.workspace.labels.vocabularies import NewTerm
from benthoscope.sample_data import make_campaign

FLUSH = 12  # seconds after which telemetry of native libraries sends what it collected


def main(folder: Path) -> None:
    make_campaign(folder / "images", dives=2, images=24, size=(160, 120), seed=0)
    descriptor, _ = available("deep")
    with Workspace.create(folder / "session.benthos", name="Session") as workspace:
        _run(workspace, "import", folder=str(folder / "images"), collection="Session")
        _run(workspace, "features", kinds=[descriptor])
        described = time.monotonic()
        _run(workspace, "cluster", model="gmc", features=descriptor, name="First")
        _label(workspace)
        _run(workspace, "learn")
    _serve(folder / "session.benthos", folder)
    time.sleep(max(0.0, described + FLUSH - time.monotonic()))
    print(f"finished with {descriptor}")


def _run(workspace: Workspace, kind: str, **parameters: object) -> None:
    job = run_now(workspace, kind, parameters)
    assert job.state == "done", job.error


def _label(workspace: Workspace) -> None:
    words = workspace.vocabularies.add("words", [NewTerm((name,)) for name in ("sand", "reef")])
    person, ids = workspace.people.named("Ann").id, workspace.library.columns("id")["id"]
    for at, term in enumerate(workspace.vocabularies.terms(words.id)):
        workspace.labels.label(person, ids[at:16:2], term.id)


def _serve(workspace: Path, folder: Path) -> None:
    """Opens every page of `benthoscope serve` and stops it as Ctrl-C does."""
    command = [
        sys.executable,
        "-c",
        "from benthoscope.app.cli import main; main()",
        "serve",
        str(workspace),
        "--no-browser",
    ]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=folder)
    try:
        address = next(match.group() for line in server.stdout if (match := re.search(r"http://\S+", line)))
        threading.Thread(target=server.stdout.read, daemon=True).start()
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPCookieProcessor())
        opener.open(address, timeout=120).read()
        base = address.partition("?")[0]
        for path in (*(page.slug for page in PAGES), "api/v1/images", "api/v1/images/1/around", "health"):
            assert opener.open(base + path, timeout=120).status == 200
    finally:
        server.send_signal(2)
        server.wait(60)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
