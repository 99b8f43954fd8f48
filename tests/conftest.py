"""What many tests share: workspaces on both databases, and a private PostgreSQL where its binaries are at hand."""

import os
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.workspace import Workspace

BINARIES = ["/usr/lib/postgresql", "/opt/homebrew/opt", "/usr/local/opt"]


def postgres_binary(name: str) -> str | None:
    """The newest of the installed servers' programs; Debian keeps them off the PATH."""
    found = sorted(path for folder in BINARIES for path in Path(folder).glob(f"*/bin/{name}"))
    return str(found[-1]) if found else shutil.which(name)


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The address of a server of our own on a socket in a private folder; it ends with the tests."""
    initdb, server = postgres_binary("initdb"), postgres_binary("postgres")
    if not initdb or not server:
        pytest.skip("no PostgreSQL binaries on this machine (install the package `postgresql`)")
    pytest.importorskip("psycopg", reason="the extra `postgres` is not installed")
    with tempfile.TemporaryDirectory(prefix="pg") as name:  # short: a socket's path has at most 107 characters
        folder = Path(name)
        user = _unprivileged(folder)
        subprocess.run([initdb, "-D", folder / "data", "-A", "trust", "-U", "bentho", "-E", "UTF8", "--no-sync"],
                       check=True, capture_output=True, user=user, cwd=folder)
        options = ["-D", folder / "data", "-k", folder, "-c", "listen_addresses=", "-c", "fsync=off"]
        running = subprocess.Popen([server, *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, user=user)
        try:
            yield _answering(folder, running)
        finally:
            running.terminate()
            running.wait(20)


def _unprivileged(folder: Path) -> str | None:
    """PostgreSQL refuses to run as root; root lends the folder to somebody who is not."""
    if os.geteuid() != 0:
        return None
    shutil.chown(folder, "nobody")
    return "nobody"


def _answering(folder: Path, running: subprocess.Popen) -> str:
    import time

    import psycopg

    for _ in range(200):
        try:
            psycopg.connect(host=str(folder), user="bentho", dbname="postgres").close()
            return f"postgresql://bentho@/{{}}?host={folder}"
        except psycopg.OperationalError:
            assert running.poll() is None, "PostgreSQL ended at once"
            time.sleep(0.05)
    raise AssertionError("PostgreSQL did not answer within 10 s")


@pytest.fixture
def postgres_database(postgres: str) -> str:
    """The address of a new, empty database."""
    import psycopg

    name = f"w{uuid.uuid4().hex}"
    with psycopg.connect(postgres.format("postgres"), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return postgres.format(name)


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=[pytest.mark.postgres])])
def database(request: pytest.FixtureRequest) -> str | None:
    return request.getfixturevalue("postgres_database") if request.param == "postgresql" else None


@pytest.fixture
def workspace(tmp_path: Path, database: str | None) -> Iterator[Workspace]:
    """An empty workspace, once on each database."""
    with Workspace.create(tmp_path / "reef", database=database) as made:
        yield made
