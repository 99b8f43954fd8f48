"""`benthoscope doctor` and `version`: check this machine and a workspace. Every problem comes with a remedy."""

import contextlib
import os
import platform
import shlex
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib import metadata, util
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import psutil
import typer

from benthoscope.app.commands.terminal import (
    ERROR,
    JsonOption,
    WorkspaceOption,
    counted,
    show,
    styled,
    workspace_folder,
)
from benthoscope.engine import matrix_kernels
from benthoscope.engine.problems import BadInput, BenthoscopeError

if TYPE_CHECKING:
    from benthoscope.engine.workspace import Run, Workspace


GB = 2**30
LOW_DISK = 5 * GB  # below it, the features and thumbnails of a campaign may not fit
LOW_MEMORY = 4 * GB  # below it, a hundred thousand images are slow
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "firefox", "safari", "microsoft-edge", "open", "xdg-open")
TELEMETRY_FILES = (".cache", "Microsoft", "DeveloperTools", ".onnxruntime")  # below the home folder
SHARED_DISKS = ("nfs", "cifs", "smb", "fuse.sshfs", "9p", "afpfs")


@dataclass(frozen=True)
class Finding:
    """The result of a check. `state` is ok, note (works with a limitation) or bad (does not work)."""

    name: str
    state: str
    found: str
    remedy: str = ""


def examine(workspace: "Workspace | None" = None) -> list[Finding]:
    """All findings about this machine and, if given, about a workspace."""
    checks: list[Callable[[], Finding]] = [
        python,
        packages,
        blas,
        products,
        threads,
        memory,
        temporary,
        heif,
        deep,
        telemetry,
        browser,
    ]
    findings = [_safely(check) for check in checks]
    return [*findings, *_of_workspace(workspace)] if workspace else findings


def python() -> Finding:
    return Finding("Python", "ok", f"{platform.python_version()} on {platform.system()} {platform.machine()}")


def packages() -> Finding:
    """The versions that matter when results differ between machines."""
    names = ("numpy", "scipy", "scikit-learn", "numba", "pillow", "sqlalchemy", "onnxruntime")
    missing = [name for name in names if not _version(name)]
    versions = ", ".join(f"{name} {_version(name)}" for name in names if name not in missing)
    if missing:
        return Finding("Packages", "bad", f"missing: {', '.join(missing)}", "install again: make clean demo")
    return Finding("Packages", "ok", versions)


def blas() -> Finding:
    import numpy  # noqa: F401  (loads the library that the next call inspects)
    from threadpoolctl import threadpool_info

    pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    description = ", ".join(
        f"{pool['internal_api']} {pool['version']}, {pool['num_threads']} threads" for pool in pools
    )
    if pools:
        return Finding("BLAS", "ok", description)
    return Finding("BLAS", "note", "none found", "matrix products will be slow; install numpy from its wheel")


SLOWER = 0.9  # kernels with less than this share of the speed of the library's own choice are a problem


def products() -> Finding:
    """The kernels of matrix products and their speed, measured in a process of its own. Kernels that the user chose are
    compared with the choice of OpenBLAS."""
    kernels, speed = matrix_kernels.speed_of_products(os.environ)
    description = f"{kernels} kernels, {speed:.0f} GFLOP/s on one core"
    if not matrix_kernels.is_choice_of_the_user(os.environ):
        chosen = "; chosen by Benthoscope" if matrix_kernels.OWN_CHOICE in os.environ else ""
        return Finding("Matrix products", "ok", description + chosen)
    other_kernels, other_speed = matrix_kernels.speed_of_products(matrix_kernels.without_choice(os.environ))
    description = f"{description}; {other_speed:.0f} with the {other_kernels} kernels that OpenBLAS would choose"
    if speed >= SLOWER * other_speed:
        return Finding("Matrix products", "ok", description)
    remedy = f"remove {matrix_kernels.KERNELS} from the environment: fits then run faster"
    return Finding("Matrix products", "note", description, remedy)


def threads() -> Finding:
    from benthoscope.engine.compute import cores

    set_here = [name for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS") if name in os.environ]
    limits = [f"{name}={os.environ[name]}" for name in set_here]
    return Finding("Cores", "ok", " ".join([f"{cores()} of {os.cpu_count()}", *limits]))


def memory() -> Finding:
    machine_memory = psutil.virtual_memory()
    description = f"{machine_memory.total / GB:.1f} GB, {machine_memory.available / GB:.1f} GB free"
    if machine_memory.available > LOW_MEMORY:
        return Finding("Memory", "ok", description)
    return Finding("Memory", "note", description, "close other programs before clustering more than 100,000 images")


def temporary() -> Finding:
    folder = Path(tempfile.gettempdir())
    return _free_disk("Temporary folder", folder)


def heif() -> Finding:
    if util.find_spec("pi_heif"):
        return Finding("HEIF photographs", "ok", f"pi-heif {_version('pi-heif')}")
    return Finding("HEIF photographs", "note", "cannot be read", "run: pip install pi-heif")


def deep() -> Finding:
    from benthoscope.engine.optional_dependencies import EXTRAS, install_command, is_installed

    missing = [module for module, extra in EXTRAS.items() if extra == "deep" and not is_installed(module)]
    if not missing:
        return Finding("Deep descriptor", "ok", "weights and ONNX Runtime are installed")
    description = f"missing: {', '.join(missing)}; the colour and texture descriptor is used instead"
    return Finding("Deep descriptor", "note", description, install_command("deep"))


def telemetry() -> Finding:
    """Whether the telemetry of ONNX Runtime is off, and whether earlier programs left its files."""
    from benthoscope import NO_TELEMETRY

    unset = [f"{name}={value}" for name, value in NO_TELEMETRY.items() if os.environ.get(name) != value]
    if unset:
        return Finding("Telemetry", "bad", "ONNX Runtime may contact its vendor", f"start again with {' '.join(unset)}")
    stored = Path.home().joinpath(*TELEMETRY_FILES)
    if stored.exists():
        return Finding("Telemetry", "note", f"off; an earlier program left files in {stored}", f"delete {stored}")
    return Finding("Telemetry", "ok", "off; nothing is sent to other hosts")


def browser() -> Finding:
    program = os.environ.get("BROWSER") or next((name for name in BROWSERS if shutil.which(name)), None)
    if program:
        return Finding("Browser", "ok", program)
    return Finding("Browser", "note", "none found on this machine", "open the address the app prints on another one")


def unreadable_workspace(error: BenthoscopeError) -> Finding:
    """Why the workspace could not be opened."""
    return Finding("Workspace", "bad", f"{error.problem.where}: {error.problem.what}", error.problem.remedy)


def _of_workspace(workspace: "Workspace") -> Iterator[Finding]:
    checks = (_folder, _disk, _database, _images, _roots, _features, _runs, _learned, _predictions, _thumbnails)
    for check in checks:
        yield _safely(partial(check, workspace), check.__name__.strip("_").capitalize())


def _folder(workspace: "Workspace") -> Finding:
    name = "Workspace"
    try:
        with tempfile.TemporaryFile(dir=workspace.folder):
            pass
    except OSError as error:
        remedy = f"get write permission for {workspace.folder}"
        return Finding(name, "note", f"{workspace.folder}: {error.strerror}; it opens read-only", remedy)
    kind = _file_system(workspace.folder)
    if workspace.catalogue.dialect == "sqlite" and kind.startswith(SHARED_DISKS):
        return Finding(
            name,
            "note",
            f"{workspace.folder} is on a {kind} disk, where SQLite can lose data",
            "move it to a local disk, or store the catalogue in PostgreSQL (init --database)",
        )
    return Finding(name, "ok", f"{workspace.folder} ({kind or 'local disk'}), writable")


def _disk(workspace: "Workspace") -> Finding:
    return _free_disk("Disk", workspace.folder)


def _database(workspace: "Workspace") -> Finding:
    from sqlalchemy import text

    from benthoscope.engine.workspace.workspace import restore_remedy

    if workspace.catalogue.dialect != "sqlite":
        version = workspace.catalogue.value(text("show server_version"))
        return Finding("Catalogue", "ok", f"PostgreSQL {version}")
    answer = workspace.catalogue.value(text("pragma quick_check(1)"))
    version = workspace.catalogue.value(text("select sqlite_version()"))
    if answer == "ok":
        return Finding("Catalogue", "ok", f"SQLite {version}, intact")
    return Finding("Catalogue", "bad", answer, restore_remedy(workspace.folder))


def _images(workspace: "Workspace") -> Finding:
    """Whether the catalogue matches the disk, and the files are unchanged since their import."""
    alarm = workspace.lost_catalogue()
    if alarm:
        return Finding("Images", "bad", alarm.what, alarm.remedy)
    columns = workspace.library.columns("root_id", "path", "size", "mtime_ns")
    roots = {root.id: Path(root.path) for root in workspace.library.roots() if root.present}
    changed: Counter[int] = Counter()
    missing: Counter[int] = Counter()
    for root, path, size, mtime in zip(*columns.values(), strict=True):
        if root not in roots:
            continue
        status = _status(roots[root] / path)
        missing[root] += status is None
        changed[root] += status is not None and (status.st_size, status.st_mtime_ns) != (size, mtime)
    summary = f"{len(columns['path']):,} in the catalogue"
    if changed.total():
        commands = " and ".join(_command("import", workspace, shlex.quote(str(roots[root]))) for root in +changed)
        return Finding(
            "Images",
            "note",
            f"{summary}; {counted(changed.total(), 'image file')} changed since the import",
            f"import them again: {commands}",
        )
    if missing.total():
        return Finding(
            "Images",
            "note",
            f"{summary}; {missing.total():,} files are missing",
            _command("relink", workspace, "NEW-FOLDER"),
        )
    return Finding("Images", "ok", summary)


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None


def _command(words: str, workspace: "Workspace", argument: str = "") -> str:
    """A command line that works in any folder."""
    arguments = ["benthoscope", words, argument, "--workspace", shlex.quote(str(workspace.folder))]
    return " ".join(argument for argument in arguments if argument)


def _roots(workspace: "Workspace") -> Finding:
    missing = [root.path for root in workspace.library.roots() if not root.present]
    if missing:
        return Finding(
            "Image folders", "bad", f"missing: {', '.join(missing)}", _command("relink", workspace, "NEW-FOLDER")
        )
    return Finding("Image folders", "ok", f"{len(workspace.library.roots())}, none missing")


def _features(workspace: "Workspace") -> Finding:
    from benthoscope.engine.jobs.describe.describe_images import command_again
    from benthoscope.engine.jobs.describe.feature_sets import DESCRIPTOR, condition_of

    store, repair = workspace.features, _command("features --repair", workspace)
    unreadable = store.unreadable()
    if unreadable:
        summary = "; ".join(str(problem) for problem in unreadable.values())
        return Finding("Features", "bad", f"cannot be opened: {', '.join(unreadable)} ({summary})", repair)
    damaged, stale, remedies = [], [], []
    for name in store.names():
        features = store.open(name)
        condition = condition_of(workspace, features)
        counts = int(condition.damaged.sum()), int(condition.stale.sum())
        damaged += [f"{name} ({counts[0]:,} images)"] if counts[0] else []
        stale += [f"{name} ({counts[1]:,} images)"] if counts[1] else []
        if any(counts):
            learned = (features.folder / DESCRIPTOR / "descriptor.json").is_file()
            remedies.append(
                repair
                if learned
                else command_again(workspace, name) + f" --workspace {shlex.quote(str(workspace.folder))}"
            )
    remedy = " and ".join(dict.fromkeys(remedies))
    if damaged:
        return Finding("Features", "bad", f"damaged: {', '.join(damaged)}", remedy)
    if stale:
        return Finding("Features", "note", f"computed before image files changed: {', '.join(stale)}", remedy)
    return Finding("Features", "ok", ", ".join(store.names()) or "none yet")


def _runs(workspace: "Workspace") -> Finding:
    from benthoscope.engine.workspace.storage.files import problem_of_parts

    runs = workspace.runs.all(levels=True)
    problems = {run.id: problem for run in runs if (problem := problem_of_parts(run.folder, read=True))}
    if problems:
        summary = "; ".join(
            f"run {number}: {Path(problem.where).name} {problem.what}" for number, problem in problems.items()
        )
        remedies = [_command(f"runs delete {number}", workspace) for number in problems if number in _usual_ids(runs)]
        remedies = [f"cluster again after {' and '.join(remedies)}"] if remedies else []
        lost = {run.clustering for run in runs if run.id in problems} - problems.keys()
        remedies += [_command(f"runs levels {number}", workspace) for number in sorted(lost)]
        return Finding("Runs", "bad", summary, f"restore a backup, or {' and '.join(remedies)}")
    return Finding("Runs", "ok", f"{len(_usual_ids(runs))}, none missing")


def _usual_ids(runs: "list[Run]") -> set[int]:
    """Ids of the runs that are not a finer or coarser level of another run."""
    return {run.id for run in runs if run.id == run.clustering}


def _learned(workspace: "Workspace") -> Finding:
    from benthoscope.engine.labelling.memory.memory_in_use import MemoryUse
    from benthoscope.engine.labelling.suggestions import SuggestionStore

    problem = SuggestionStore(workspace.folder).problem()
    if problem:
        return Finding(
            "Learned model", "bad", f"{Path(problem.where).name} {problem.what}", _command("learn", workspace)
        )
    problem = MemoryUse(workspace.folder).problem()
    if problem:
        where = Path(problem.where).name
        return Finding("Memory in use", "bad", f"{where} {problem.what}", _command("memory use --off", workspace))
    return Finding("Learned model", "ok", "intact" if SuggestionStore(workspace.folder).get() else "none yet")


def _predictions(workspace: "Workspace") -> Finding:
    from benthoscope.engine.workspace.predictions import PredictionStore

    store = PredictionStore(workspace.folder)
    problems = store.problems()
    if problems:
        summary = "; ".join(f"{Path(problem.where).name} {problem.what}" for problem in problems)
        return Finding("Predictions", "bad", summary, _command("predict COLUMN", workspace))
    return Finding("Predictions", "ok", f"{len(store.all())}, none damaged")


def _thumbnails(workspace: "Workspace") -> Finding:
    if workspace.read_only:
        return Finding("Thumbnails", "ok", "not checked: the workspace is read-only")
    packs = workspace.thumbnails.verify()
    damaged, intact = (sum(getattr(pack, name) for pack in packs) for name in ("damaged_bytes", "thumbnails"))
    if damaged:
        return Finding(
            "Thumbnails",
            "note",
            f"{intact:,} are intact, {damaged:,} bytes are damaged and ignored",
            "they are created again when they are needed",
        )
    return Finding("Thumbnails", "ok", f"{intact:,}, intact")


def _free_disk(name: str, folder: Path) -> Finding:
    free = shutil.disk_usage(folder).free
    description = f"{folder}: {free / GB:.1f} GB free"
    return (
        Finding(name, "ok", description) if free > LOW_DISK else Finding(name, "note", description, "free some space")
    )


def _file_system(folder: Path) -> str:
    partitions = [
        partition
        for partition in psutil.disk_partitions(all=True)
        if folder.resolve().is_relative_to(partition.mountpoint)
    ]
    return max(partitions, key=lambda partition: len(partition.mountpoint)).fstype if partitions else ""


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def _safely(check: Callable[[], Finding], name: str = "") -> Finding:
    """The finding of `check`; an exception becomes a finding too."""
    title = name or check.__name__.capitalize()
    try:
        return check()
    except BenthoscopeError as error:
        return Finding(title, "bad", f"{error.problem.where}: {error.problem.what}", error.problem.remedy)
    except Exception as error:
        return Finding(
            title,
            "bad",
            f"could not be checked ({type(error).__name__}: {error})",
            "restore a backup: benthoscope restore BACKUP NAME; if this does not help, report this line",
        )


STYLES = {"ok": "green", "note": "yellow", "bad": "red"}  # by the state of a finding


def doctor(
    accept_catalogue: Annotated[
        bool,
        typer.Option(
            "--accept-catalogue",
            help="Accept a catalogue that was copied without its -wal file. Its newest labels may be missing.",
        ),
    ] = False,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check this machine and the workspace, and print a remedy for each problem.

    Detects lost or damaged files: the catalogue, feature sets, runs, learned models, thumbnails, and images that moved
    or changed. Exits with code 2 if something does not work.

    Example:

        benthoscope doctor --workspace scott-reef
    """
    from benthoscope.engine.workspace import Workspace

    try:
        folder = workspace_folder(workspace)
    except BadInput:  # no workspace here: only the machine is checked
        folder = None
    try:
        with contextlib.ExitStack() as stack:
            opened_workspace = (
                stack.enter_context(Workspace.open(folder, accept_incomplete=accept_catalogue)) if folder else None
            )
            findings = examine(opened_workspace)
    except BenthoscopeError as error:
        findings = [*examine(), unreadable_workspace(error)]
    show([vars(finding) for finding in findings], as_json, _text)
    if any(finding.state == "bad" for finding in findings):
        raise typer.Exit(ERROR)


def version(as_json: JsonOption = False) -> None:
    """Print the version.

    Example:

        benthoscope version
    """
    from importlib.metadata import version as installed

    show({"version": installed("benthoscope")}, as_json, lambda facts: f"Benthoscope {facts['version']}")


def show_version(requested: bool) -> None:
    """The callback of `benthoscope --version`."""
    if requested:
        version(as_json="--json" in sys.argv)
        raise typer.Exit


def _text(findings: list[dict[str, Any]]) -> Any:
    from rich.text import Text

    lines = []
    for finding in findings:
        remedy = f"\n      {' ' * 18}{finding['remedy']}" if finding["remedy"] else ""
        state = styled(f"{finding['state']:<4}", STYLES[finding["state"]])
        lines.append(Text.assemble(state, f"  {finding['name']:<18}{finding['found']}{remedy}"))
    return Text("\n").join(lines)
