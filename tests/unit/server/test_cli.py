"""The commands, as a person or a script would call them."""

import hashlib
import inspect
import json
import os
import subprocess
import sys
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from benthoscope.app.cli import app, main
from benthoscope.app.commands.help_text import flowing
from benthoscope.app.commands.old_options import with_new_spellings
from benthoscope.engine.jobs import JobQueue
from benthoscope.engine.workspace import NewImage, Workspace

HEAVY = ("numpy", "scipy", "sqlalchemy", "sklearn", "numba", "panel", "bokeh", "PIL", "onnxruntime", "dask", "fastapi")


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    returncode: int
    stdout: str
    stderr: str


def in_new_process(*words, cwd):
    """Run the command as a shell does."""
    command = [sys.executable, "-c", "from benthoscope.app.cli import main; main()", *words]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, timeout=120, env=environment)


@pytest.fixture
def benthoscope(capsys, monkeypatch):
    """`benthoscope("status", cwd=folder)` runs the command in this process, which saves the imports of a new one."""

    def run(*words, cwd, **environment):
        with monkeypatch.context() as patch:
            patch.chdir(cwd)
            for name, text in environment.items():
                patch.setenv(name, text)
            return Ended(*call(capsys, patch, *words))

    return run


@pytest.fixture
def reef(tmp_path):
    """A workspace with three images of one dive."""
    images = tmp_path / "images"
    images.mkdir()
    with Workspace.create(tmp_path / "reef") as made:
        group = made.library.group(made.library.collection("PS201502").id, "r20150212")
        root = made.library.register_root(images)
        for name in ("a.jpg", "b.jpg", "c.jpg"):
            (images / name).write_bytes(name.encode() * 100)
        hashes = [hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(images.iterdir())]
        made.library.store_images(
            [
                NewImage(root.id, name, group.id, 500, 1, sha, 320, 240, depth=20.0)
                for name, sha in zip(("a.jpg", "b.jpg", "c.jpg"), hashes, strict=True)
            ]
        )
    return tmp_path


def commands(command=None, path=()):
    """Every command there is, with its words."""
    command = command or get_command(app)
    for name, registered in getattr(command, "commands", {}).items():
        yield (*path, name), registered
        yield from commands(registered, (*path, name))


@pytest.mark.parametrize("words", [" ".join(path) for path, _ in commands()])
def test_every_command_has_help_with_an_example_or_says_what_it_does(words):
    path = tuple(words.split())
    command = dict(commands())[path]
    command.get_help(command.make_context(words, [], resilient_parsing=True))  # fills in what comes from the catalogue
    assert command.help and len(command.help.split()) > 3
    if len(path) == 1:
        assert "benthoscope" in command.help, "show an example"
    for parameter in command.params:
        assert getattr(parameter, "help", None) or parameter.name == "help", f"{words}: {parameter.name} has no help"


OLD_OPTIONS = [
    (path, old, new) for path, command in commands() for old, new in getattr(command, "old_options", {}).items()
]


@pytest.mark.parametrize(
    ("path", "old", "new"), OLD_OPTIONS, ids=[f"{' '.join(path)} {old}" for path, old, _ in OLD_OPTIONS]
)
@pytest.mark.parametrize("separator", [" ", "="])
def test_the_old_spelling_of_an_option_means_the_same_but_is_not_in_the_help(path, old, new, separator):
    command = dict(commands())[path]
    arguments = ["1" for parameter in command.params if parameter.param_type_name == "argument"]
    (option,) = [parameter for parameter in command.params if new in parameter.opts]
    words = {word: [word] if option.is_flag else f"{word}{separator}7".split() for word in (old, new)}
    with_old, with_new = (command.make_context("x", [*arguments, *words[word]]).params for word in (old, new))
    assert with_old == with_new
    assert with_old[option.name] not in (None, option.default)
    shown = CliRunner().invoke(app, [*path, "--help"], env={"COLUMNS": "200"}).output
    assert new in shown and f"{old} " not in shown


def test_the_spellings_of_earlier_releases_are_all_accepted():
    assert {(" ".join(path), old) for path, old, _ in OLD_OPTIONS} == {
        ("demo", "--afresh"),
        ("sample", "--force"),
        ("features", "--kind"),
        ("features", "--like"),
        ("features", "--again"),
        ("features", "--dimension"),
        ("cover", "--propose"),
        ("cover", "--together"),
        ("runs assign", "--output"),
        ("runs assign", "-o"),
        ("labels set", "--create"),
        ("crowd create", "--count"),
        ("crowd create", "--gold"),
        ("crowd create", "--most"),
        ("crowd create", "--repeats"),
        ("crowd create", "--size"),
        ("crowd create", "--views"),
        ("crowd cluster", "--more"),
    }


def test_words_after_the_end_of_options_keep_their_spelling():
    assert with_new_spellings(["--kind", "--", "--kind"], {"--kind": "--descriptor"}) == [
        "--descriptor",
        "--",
        "--kind",
    ]


def test_the_old_name_of_a_command_means_the_same_but_is_not_in_the_help():
    steer, recluster = (dict(commands())["crowd", name] for name in ("steer", "recluster"))
    assert steer.hidden and [option.opts for option in steer.params] == [option.opts for option in recluster.params]
    assert "steer" not in CliRunner().invoke(app, ["crowd", "--help"]).output


def call(capsys, monkeypatch, *words):
    """(exit code, standard output, standard error) of a command as the shell sees it, in this process."""
    monkeypatch.setattr("sys.argv", ["benthoscope", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    shown = capsys.readouterr()
    return ended.value.code, shown.out, shown.err


@pytest.mark.parametrize("words", [" ".join(path) for path, _ in commands()])
def test_every_command_prints_json_and_its_usage_errors_are_json_with_code_2(words, capsys, monkeypatch):
    assert "--json" in {
        option for parameter in dict(commands())[tuple(words.split())].params for option in parameter.opts
    }, "every command can print JSON"
    code, out, _ = call(capsys, monkeypatch, *words.split(), "--no-such-option", "--json")
    assert code == 2
    error = json.loads(out)["error"]
    assert error["where"] == f"benthoscope {words}" and "no-such-option" in error["what"]
    assert error["remedy"] == f"see `benthoscope {words} --help`"


@pytest.mark.parametrize("words", [" ".join(path) for path, _ in commands()])
def test_every_command_shows_its_help(words, capsys, monkeypatch):
    code, out, _ = call(capsys, monkeypatch, *words.split(), "--help")
    assert code == 0 and "Usage:" in out


@pytest.mark.parametrize("path", [(), *dict(commands())], ids=" ".join)
def test_the_help_of_every_command_has_no_line_breaks_inside_a_paragraph(path):
    command = dict(commands())[path] if path else get_command(app)
    shown = CliRunner().invoke(app, [*path, "--help"], env={"COLUMNS": "1000"}).output
    lines = [line.strip() for line in shown.splitlines()]
    text = command.help if command.hidden else inspect.getdoc(inspect.unwrap(command.callback))
    assert text
    for paragraph in text.split("\n\n"):
        if not paragraph.startswith(" "):
            assert " ".join(paragraph.split()) in lines


def test_examples_in_the_help_keep_their_lines():
    assert (
        flowing("List\nruns.\n\n    runs\n    jobs\n\nMore\nwords.")
        == "List runs.\n\n    runs\n    jobs\n\nMore words."
    )


@pytest.mark.parametrize("words", [["clustr"], ["cluster", "--width", "wide"], ["runs", "show"], ["--nope"]])
def test_a_wrong_command_value_or_argument_is_json_too(words, capsys, monkeypatch):
    code, out, err = call(capsys, monkeypatch, *words, "--json")
    assert code == 2 and set(json.loads(out)["error"]) == {"where", "what", "remedy"} and err == ""
    code, out, err = call(capsys, monkeypatch, *words)
    assert code == 2 and out == "" and "Error" in err


def test_the_version_is_an_option_and_a_command(capsys, monkeypatch):
    code, out, _ = call(capsys, monkeypatch, "--version")
    assert (code, out) == (0, call(capsys, monkeypatch, "version")[1]) and out.startswith("Benthoscope ")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("words", [["status"], ["status", "--json"], ["--version"], ["--help"], ["jobs", "--json"]])
def test_a_full_device_is_told_in_one_line(reef, words, unbuffered):
    command = [sys.executable, "-c", "from benthoscope.app.cli import main; main()", *words]
    with open("/dev/full", "w") as full:  # noqa: PTH123
        done = subprocess.run(
            command,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            cwd=reef,
            timeout=120,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3]), "PYTHONUNBUFFERED": unbuffered},
        )
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1
    assert "standard output: cannot be written" in done.stderr


def test_an_error_in_our_code_keeps_its_traceback(monkeypatch):
    def broken(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("benthoscope.app.commands.workspaces.describe", broken)
    monkeypatch.setattr("sys.argv", ["benthoscope", "status"])
    monkeypatch.setattr("benthoscope.app.commands.workspaces.open_workspace", lambda values: nullcontext())
    with pytest.raises(OSError, match="No space left"):
        main()


def test_options_of_a_group_hold_for_its_subcommands(reef, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path.parent)
    monkeypatch.setenv("BENTHOSCOPE_WORKSPACE", str(tmp_path / "nowhere"))
    folder = str(reef / "reef")
    for words in (
        ["runs", "-w", folder, "--json", "purge"],
        ["runs", "-w", folder, "purge", "--json"],
        ["runs", "purge", "--json", "-w", folder],
        ["runs", "-w", "x", "purge", "-w", folder, "--json"],
    ):
        assert call(capsys, monkeypatch, *words)[:2] == (0, '{\n  "removed": 0\n}\n'), words
    assert os.environ["BENTHOSCOPE_WORKSPACE"] == str(tmp_path / "nowhere")
    code, _, err = call(capsys, monkeypatch, "runs", "-w", folder, "show", "1")
    assert code == 2 and "no run 1" in err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["cluster", "--model", "gmcc"], "did you mean 'gmc'"),
        (["cluster", "--features", "depe"], "feature sets"),
        (["cluster", "--width", "-1"], "width"),
        (["cluster", "--sweep", "0.1,-1"], "width"),
        (["cluster", "--collection", "nope"], "collection"),
        (["features", "--descriptor", "deeep"], "did you mean 'deep'"),
        (["features", "--collection", "nope"], "collection"),
        (["features", "--onnx", "nope.onnx"], "no such file"),
        (["import", "nowhere"], "is not a folder"),
        (["import", ".", "--kind", "dives"], "kind of collection"),
        (["import", ".", "--metadata", "nope.csv"], "does not exist"),
        (["relink", "nowhere"], "no such folder"),
        (["relink", ".", "--root", "7"], "roots"),
        (["export", "cvs", "out"], "did you mean 'csv'"),
        (["export", "csv", "out", "--dive", "nope"], "dives"),
        (["export", "csv", "out", "--run", "7"], "no run 7"),
        (["export", "csv", "out", "--vocabulary", "nope"], "vocabulary"),
        (["import-labels", "nope.csv"], "does not exist"),
        (["learn", "--run", "7"], "no run 7"),
        (["learn", "--accept", "0.9", "--person", ""], "--person"),
        (["learn", "--accept", "95"], "--accept"),
        (["crowd", "cluster", "nope"], "crowd campaigns"),
        (["labels", "recluster", "--run", "7"], "no run 7"),
    ],
)
def test_a_mistyped_argument_never_becomes_a_stored_job(reef, words, told, capsys, monkeypatch):
    monkeypatch.chdir(reef)
    monkeypatch.delenv("BENTHOSCOPE_WORKSPACE", raising=False)
    with (
        Workspace.open(reef / "reef") as workspace,
        workspace.features.writer("deep", width=2, extractor={}) as features,
    ):
        features.append([1, 2, 3], [[0.5, 1.0], [0.1, 0.2], [0.3, 0.4]])
    code, _, err = call(capsys, monkeypatch, *words)
    assert code == 2 and told in err, err
    with Workspace.open(reef / "reef") as workspace:
        assert JobQueue(workspace).all() == [] and workspace.runs.all() == []


def test_help_loads_nothing_heavy():
    code = (
        "import sys; from benthoscope.app.cli import app; from typer.testing import CliRunner; "
        "assert CliRunner().invoke(app, ['--help']).exit_code == 0; print(*sys.modules)"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[3]
    ).stdout.split()
    assert [name for name in HEAVY if name in loaded] == []


def test_a_new_workspace_says_what_to_do_next(tmp_path, benthoscope):
    made = benthoscope("init", "reef", cwd=tmp_path)
    assert made.returncode == 0 and "benthoscope import" in made.stdout
    shown = benthoscope("status", cwd=tmp_path)
    assert "0 images" in shown.stdout and "benthoscope import" in shown.stdout


def test_status_as_json_tells_dives_counts_and_depths(reef, benthoscope):
    content = json.loads(benthoscope("status", "--json", cwd=reef).stdout)
    assert content["images"] == 3
    assert content["collections"][0]["groups"][0]["depth"] == [20.0, 20.0]


def test_an_error_is_one_line_with_code_2_and_json_for_scripts(tmp_path):
    failed = in_new_process("status", cwd=tmp_path)
    assert (failed.returncode, failed.stdout, len(failed.stderr.splitlines())) == (2, "", 1)
    assert "benthoscope init NAME" in failed.stderr
    as_json = in_new_process("status", "--json", cwd=tmp_path)
    assert as_json.returncode == 2
    assert set(json.loads(as_json.stdout)["error"]) == {"where", "what", "remedy"}


def test_of_several_workspaces_one_has_to_be_named(reef, benthoscope):
    Workspace.create(reef / "other").close()
    failed = benthoscope("status", cwd=reef)
    assert failed.returncode == 2 and "other.benthos, reef.benthos" in failed.stderr
    assert benthoscope("status", cwd=reef, BENTHOSCOPE_WORKSPACE="reef").returncode == 0


def test_relink_finds_moved_and_renamed_images(reef, benthoscope):
    (reef / "images").rename(reef / "disk2")
    (reef / "disk2" / "b.jpg").rename(reef / "disk2" / "renamed.jpg")
    content = json.loads(benthoscope("relink", "disk2", "--json", cwd=reef).stdout)
    assert (content["found"], content["renamed"], content["missing"]) == (2, 1, 0)
    with Workspace.open(reef / "reef") as workspace:
        paths = workspace.library.locate(workspace.library.columns("id")["id"])
    assert sorted(path.name for path in paths.values()) == ["a.jpg", "c.jpg", "renamed.jpg"]
    assert all(path.exists() for path in paths.values())


def test_relink_to_a_folder_without_the_images_changes_nothing(reef, benthoscope):
    (reef / "empty").mkdir()
    failed = benthoscope("relink", "empty", cwd=reef)
    assert failed.returncode == 2 and "contains none of the 3 images" in failed.stderr
    with Workspace.open(reef / "reef") as workspace:
        assert workspace.library.roots()[0].path == str(reef / "images")


def test_relink_does_not_take_a_look_alike_for_the_image(reef, benthoscope):
    (reef / "disk2").mkdir()
    (reef / "disk2" / "a.jpg").write_bytes(b"x" * 500)  # name and size agree, content does not
    (reef / "disk2" / "b.jpg").write_bytes((reef / "images" / "b.jpg").read_bytes())
    content = json.loads(benthoscope("relink", "disk2", "--json", cwd=reef).stdout)
    assert (content["found"], content["missing"]) == (1, 2)


def test_jobs_are_listed_cancelled_and_their_log_read(reef, benthoscope):
    with Workspace.open(reef / "reef") as workspace:
        number = JobQueue(workspace).add("relink", {"folder": str(reef / "images")}).id
    (reef / "images").rename(reef / "elsewhere")
    assert json.loads(benthoscope("jobs", "--json", cwd=reef).stdout)[0]["state"] == "queued"
    assert benthoscope("jobs", "cancel", str(number), cwd=reef).returncode == 0
    assert json.loads(benthoscope("jobs", "--json", cwd=reef).stdout)[0]["state"] == "cancelled"
    failed = benthoscope("jobs", "retry", str(number), cwd=reef)
    assert failed.returncode == 2 and "no such folder" in failed.stderr
    assert "no such folder" in benthoscope("jobs", "log", str(number), cwd=reef).stdout


def test_doctor_reports_on_machine_and_workspace(reef, benthoscope):
    content = json.loads(benthoscope("doctor", "--json", cwd=reef).stdout)
    state_by_name = {finding["name"]: finding["state"] for finding in content}
    assert {"Python", "BLAS", "Cores", "Disk", "Catalogue", "Browser", "Workspace"} <= set(state_by_name)
    assert state_by_name["Catalogue"] == "ok"


def test_doctor_says_what_to_do_about_missing_images_and_damage(reef, benthoscope):
    (reef / "images").rename(reef / "disk2")
    with Workspace.open(reef / "reef") as workspace:
        with workspace.features.writer("deep", width=2, extractor={}) as features:
            features.append([1], [[0.5, 1.0]])
        with workspace.features.open("deep").path.open("r+b") as file:
            file.seek(-2, 2)
            file.write(b"\xff")
    shown = benthoscope("doctor", cwd=reef)
    assert shown.returncode == 2
    assert "benthoscope relink" in shown.stdout and "damaged: deep" in shown.stdout


def test_version_is_that_of_the_package():
    shown = CliRunner().invoke(app, ["version", "--json"])
    assert json.loads(shown.stdout)["version"].count(".") == 2


@pytest.mark.parametrize("other", [("--token", "our-lab"), ("--no-token",)])
def test_a_new_token_cannot_be_combined_with_another(reef, other, benthoscope):
    shown = benthoscope("serve", "--new-token", *other, cwd=reef)
    assert shown.returncode == 2 and "--new-token: cannot be combined" in shown.stderr


def test_a_missing_file_of_known_pairs_is_one_line(reef, benthoscope):
    ended = benthoscope("crowd", "create", "sponges", "--known-pairs", "none.csv", cwd=reef)
    assert ended.returncode == 2 and "none.csv: cannot be read" in ended.stderr


def test_square_brackets_in_names_are_printed(reef, benthoscope):
    with Workspace.open(reef / "reef.benthos") as workspace:
        term = "Sand [/fine]"
        image = int(workspace.library.columns("id")["id"][0])
    ended = benthoscope("labels", "set", term, "--image", str(image), "--add-terms", "--person", "Ann", cwd=reef)
    assert ended.returncode == 0 and "Labelled 1 image Sand [/fine];" in ended.stdout
    assert "Sand [/fine]" in benthoscope("labels", cwd=reef).stdout
    assert (
        benthoscope("labels", "history", str(image), cwd=reef)
        .stdout.strip()
        .endswith("Sand [/fine] of 1 images (manual)")
    )
