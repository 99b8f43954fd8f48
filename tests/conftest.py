"""Fixtures of many tests: workspaces on both databases, and a private PostgreSQL where its programs are installed."""

import atexit
import gc
import itertools
import os
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import make_url

from benthoscope.engine.workspace import Workspace

if TYPE_CHECKING:
    import psycopg
    from sqlalchemy import Connection

    from tests.reef_workspace import Reef

MEMORY, ENOUGH_MEMORY = Path("/dev/shm"), 1 << 30  # a file system in memory, and the bytes that it must have free
NEW_OBJECTS = 10_000  # between two searches for garbage; with the default of 700 they take a seventh of the CPU time
TEMPLATE_OF_CATALOGUES = "empty_catalogue"
BINARIES = ["/usr/lib/postgresql", "/opt/homebrew/opt", "/usr/local/opt"]


def pytest_configure(config: pytest.Config) -> None:
    """Parallel test processes get one thread each for matrix products and for the loops of OpenMP in k-means. By
    default every process has as many threads as there are cores, and these wait for each other without pause: some
    tests then need six times the CPU."""
    if config.getoption("numprocesses", None):
        for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
            os.environ.setdefault(name, "1")  # the processes start after this and inherit it


def pytest_collection_finish() -> None:
    """Modules and the list of tests stay until the end: do not search them for garbage again and again, nor at the
    end."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(NEW_OBJECTS, *gc.get_threshold()[1:])
    atexit.register(gc.freeze)


def postgres_binary(name: str) -> str | None:
    """The newest of the installed servers' programs; Debian keeps them off the PATH."""
    paths = sorted(path for folder in BINARIES for path in Path(folder).glob(f"*/bin/{name}"))
    return str(paths[-1]) if paths else shutil.which(name)


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The address of a server of our own on a socket in a private folder; it ends with the tests."""
    initdb, server = postgres_binary("initdb"), postgres_binary("postgres")
    if not initdb or not server:
        pytest.skip("no PostgreSQL binaries on this machine (install the package `postgresql`)")
    pytest.importorskip("psycopg", reason="the extra `postgres` is not installed")
    is_in_memory = MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > ENOUGH_MEMORY
    # A new database has 300 files. The name is short: a socket's path has at most 107 characters.
    with tempfile.TemporaryDirectory(prefix="pg", dir=MEMORY if is_in_memory else None) as name:
        folder = Path(name)
        user = _unprivileged(folder)
        subprocess.run(
            [initdb, "-D", folder / "data", "-A", "trust", "-U", "bentho", "-E", "UTF8", "--no-sync"],
            check=True,
            capture_output=True,
            user=user,
            cwd=folder,
        )
        options = ["-D", folder / "data", "-k", folder, "-c", "listen_addresses=", "-c", "fsync=off"]
        options += ["-c", "min_wal_size=32MB", "-c", "max_wal_size=64MB"]
        running = subprocess.Popen([server, *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, user=user)
        try:
            yield _answering(folder, running)
        finally:
            running.send_signal(signal.SIGQUIT)  # ends at once without writing anything: the folder goes away
            running.wait(60)


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


@pytest.fixture(scope="session", autouse=True)
def private_state(tmp_path_factory) -> Iterator[None]:
    """Tests neither store how long jobs take nor see the memories of the person whose machine this is."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        patch.setenv("BENTHOSCOPE_MEMORIES", str(tmp_path_factory.mktemp("memories")))
        yield


@pytest.fixture(scope="session", autouse=True)
def quick_catalogues(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """New workspaces get a copy of an empty catalogue, and their writes do not wait for the disk.

    The migrations that create a catalogue take 0.1 s of CPU, and the tests create thousands; tests of migrations run
    them. A write to the disk only matters after a power cut. Processes that tests start are as they are for users.
    """
    from benthoscope.engine.workspace import workspace
    from benthoscope.engine.workspace.database import catalogue, connections, writer
    from benthoscope.engine.workspace.database.catalogue_files import merge_log, sqlite_address

    empty = tmp_path_factory.mktemp("catalogue") / "catalogue.sqlite"

    def copied(address: str | Path) -> catalogue.Catalogue:
        if not isinstance(address, Path):
            return copied_in_postgres(address)
        if not empty.exists():
            catalogue.create_catalogue(empty).close()
            merge_log(empty)
        shutil.copyfile(empty, address)
        return catalogue.Catalogue(connections.sqlite_engines(address, create=False))

    def copied_in_postgres(address: str) -> catalogue.Catalogue:
        """Replace an empty database with a copy of one that has a catalogue."""
        with connected(address) as connection:
            query = "SELECT count(*) FROM information_schema.tables WHERE table_schema = 'public'"
            if connection.execute(query).fetchone() != (0,):
                return catalogue.create_catalogue(address)
        name = make_url(address).database
        with connected(address_of_database(address, "postgres")) as server:
            query = "SELECT count(*) FROM pg_database WHERE datname = %s"
            if server.execute(query, [TEMPLATE_OF_CATALOGUES]).fetchone() == (0,):
                create_database(server, TEMPLATE_OF_CATALOGUES)
                catalogue.create_catalogue(address_of_database(address, TEMPLATE_OF_CATALOGUES)).close()
            server.execute(f"DROP DATABASE {name}")
            create_database(server, name, TEMPLATE_OF_CATALOGUES)
        return catalogue.Catalogue(connections.postgres_engines(address))

    def durable_on_servers(connection: "Connection", durable: bool, dialect: str) -> None:
        if dialect != "sqlite":
            make_durable(connection, durable, dialect)

    def merged(path: Path) -> None:
        """Merge without waiting for the disk; what is left to do after that is as for users."""
        address = sqlite_address(path, "rw")
        with suppress(sqlite3.Error), closing(sqlite3.connect(address, uri=True, timeout=0)) as connection:
            connection.execute("PRAGMA synchronous = OFF")
            connection.execute("PRAGMA journal_mode = DELETE")
        merge_log(path)

    pragmas, make_durable = connections._pragmas, connections.make_durable
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(workspace, "create_catalogue", copied)
        patch.setattr(connections, "_pragmas", lambda read_only: [*pragmas(read_only), "synchronous = OFF"])
        patch.setattr(writer, "make_durable", durable_on_servers)
        patch.setattr(workspace, "merge_log", merged)
        patch.setattr(os, "fsync", lambda file: None)
        yield


@pytest.fixture(autouse=True)
def fixed_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same random images are drawn in every run of the tests. Otherwise a test of a bound that may fail with a
    probability of 5 % would fail now and then."""
    numbers = itertools.count(1)
    monkeypatch.setattr("benthoscope.engine.workspace.labels.sampling.new_seed", lambda: next(numbers))


@pytest.fixture(scope="session")
def sample_workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a workspace with the sample campaign, labels, runs and a trained model: copy it, do not change
    it."""
    from tests.sample_workspace import build
    from tests.unit.pages.golden_content import repeatable

    with repeatable():
        return build(tmp_path_factory.mktemp("sample") / "template")


@pytest.fixture(scope="session")
def reef_templates(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], "Reef"]:
    """Workspaces of four hundred images by number of labels: copy them with `copied`, do not change them."""
    from tests.reef_workspace import templates

    return templates(tmp_path_factory.mktemp("reefs"))


def connected(address: str) -> "psycopg.Connection":
    import psycopg

    return psycopg.connect(address, autocommit=True)


def address_of_database(address: str, name: str) -> str:
    """The address of another database on the same server."""
    return make_url(address).set(database=name).render_as_string(hide_password=False)


def create_database(connection: "psycopg.Connection", name: str, template: str = "template1") -> None:
    """Create a database as a copy of the files of another one, which version 15 of PostgreSQL does only on request."""
    strategy = "STRATEGY FILE_COPY" if connection.info.server_version >= 150_000 else ""
    connection.execute(f"CREATE DATABASE {name} TEMPLATE {template} {strategy}")


@pytest.fixture
def postgres_database(postgres: str) -> Iterator[str]:
    """The address of a new, empty database."""
    name = f"w{uuid.uuid4().hex}"
    with connected(postgres.format("postgres")) as server:
        create_database(server, name)
        yield postgres.format(name)
        server.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=[pytest.mark.postgres])])
def database(request: pytest.FixtureRequest) -> str | None:
    return request.getfixturevalue("postgres_database") if request.param == "postgresql" else None


@pytest.fixture
def workspace(tmp_path: Path, database: str | None) -> Iterator[Workspace]:
    """An empty workspace, once on each database."""
    with Workspace.create(tmp_path / "reef", database=database) as made:
        yield made
