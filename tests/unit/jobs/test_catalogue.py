"""The catalogues of models, descriptors and kinds of jobs, and where they are shown."""

from importlib import import_module

import httpx
import pytest
from typer.testing import CliRunner

from benthoscope.app.cli import app
from benthoscope.app.pages.help import topic
from benthoscope.app.pages.library.cluster_form import OF_BOTH, OF_SEGMENTS, QUESTIONS, VARIANTS
from benthoscope.app.server.application import ServerSettings, create_app
from benthoscope.engine import mixtures
from benthoscope.engine.discriminative.validation import SCALES
from benthoscope.engine.features import DESCRIPTORS
from benthoscope.engine.jobs import kinds
from benthoscope.engine.jobs.cluster.model_catalog import CATALOG, PARAMETERS, STREAM_MODELS
from benthoscope.engine.jobs.job_parameters import OF_KIND, parameter_help
from benthoscope.engine.parameters import ParameterHelp, parameters_of
from benthoscope.engine.problems import BadInput
from benthoscope.engine.workspace import Workspace
from tests.loops import outcome


@pytest.fixture
def ask(tmp_path):
    with Workspace.create(tmp_path / "reef") as workspace:
        api = create_app(workspace, ServerSettings(token="", run_jobs=False))

        def send(path):
            async def go():
                transport = httpx.ASGITransport(api)
                async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
                    return (await client.get(f"/api/v1{path}")).json()

            return outcome(go())

        yield send


def shown(*words):
    """The help text without line breaks and frames."""
    output = CliRunner().invoke(app, [*words, "--help"], catch_exceptions=False).output
    return " ".join(output.replace("│", " ").split())


@pytest.mark.parametrize("entry", CATALOG, ids=lambda entry: entry.name)
def test_every_parameter_of_a_model_has_help_and_a_default_within_its_bounds(entry):
    for parameter in entry.parameters:
        assert parameter.help, parameter.name
        assert not parameter.choices or parameter.default in parameter.choices
        if isinstance(parameter.default, int | float):
            assert parameter.minimum is None or parameter.default >= parameter.minimum
            assert parameter.maximum is None or parameter.default <= parameter.maximum


@pytest.mark.parametrize("entry", CATALOG, ids=lambda entry: entry.name)
def test_the_models_accept_the_listed_choices_and_no_others(entry):
    for parameter in entry.parameters:
        if parameter.name == "scale":
            assert set(parameter.choices) == set(SCALES)
        elif parameter.choices:
            for choice in parameter.choices:
                entry.estimator(**{parameter.name: choice})._check_parameters()
            with pytest.raises(BadInput):
                entry.estimator(**{parameter.name: "no such choice"})._check_parameters()


@pytest.mark.parametrize("entry", CATALOG, ids=lambda entry: entry.name)
def test_an_entry_describes_its_estimator(entry):
    parameters = entry.estimator().get_params()
    assert entry.has_search == ("max_clusters" in parameters) and entry.is_stream == ("epoch" in parameters)
    assert entry.two_levels == (entry.estimator in mixtures.TWO_LEVELS.values())


def test_whole_images_have_diagonal_covariances_with_every_mixture_of_one_level():
    shapes = {entry.name: entry.observation for entry in CATALOG if entry.observation}
    assert shapes == dict.fromkeys([*mixtures.MODELS, *STREAM_MODELS], "diagonal")


def test_help_is_written_for_no_parameter_that_does_not_exist():
    used = {parameter.name for entry in CATALOG for parameter in entry.parameters} | {"segment_width"}
    assert set(PARAMETERS) == used


def test_every_parameter_of_a_job_has_help_and_no_help_is_left_over():
    shipped = {kind.name: kind for kind in kinds() if kind.function_path.startswith("benthoscope.")}
    with_own_help = {
        name
        for name, kind in shipped.items()
        if hasattr(import_module(kind.function_path.partition(":")[0]), "PARAMETERS")
    }
    assert set(OF_KIND) == set(shipped) - with_own_help
    for name, kind in shipped.items():
        parameters = kind.parameters(parameter_help(name))
        assert parameters and all(parameter.help for parameter in parameters), name
        assert set(OF_KIND.get(name, ())) <= {parameter.name for parameter in parameters}
        for parameter in parameters:
            if isinstance(parameter.default, int | float) and parameter.minimum is not None:
                assert parameter.default >= parameter.minimum, (name, parameter.name)


def test_the_form_sorts_the_models_as_the_catalogue_does():
    assert sorted(name for name, _ in (*QUESTIONS, *VARIANTS) if name) == sorted(entry.name for entry in CATALOG)
    assert ({"mcm", "scm", "gmc-segments", "iwtm", "lda", "mbtm-segments"}, {"mcm", "scm"}, {"mcm"}) == (
        OF_SEGMENTS,
        {entry.name for entry in CATALOG if entry.two_levels},
        OF_BOTH,
    )
    assert {entry.name for entry in CATALOG if not entry.has_search and not entry.has_topics} == {
        "rim",
        "krim",
        "kmeans",
        "hdbscan",
    }


def test_the_command_line_shows_the_catalogues():
    text = shown("cluster")
    for entry in CATALOG:
        assert f"{entry.name}: {entry.question_for()}" in text
    assert "variance along the longest axis of the data" in text
    assert all(f"{spec.word}: {spec.about[:40]}" in shown("features") for spec in DESCRIPTORS.values())


def test_the_help_page_shows_the_catalogues():
    text = topic("methods").text
    assert "{{" not in text
    assert all(entry.question_for() in text for entry in CATALOG)
    assert all(spec.about in text for spec in DESCRIPTORS.values())


def test_the_api_serves_the_catalogues(ask):
    models = {entry["name"]: entry for entry in ask("/models")}
    assert list(models) == [entry.name for entry in CATALOG]
    width = next(each for each in models["gmc"]["parameters"] if each["name"] == "width")
    assert (width["default"], width["minimum"], width["type"], width["required"]) == (0.05, 0.0001, "float", False)
    assert [entry["name"] for entry in ask("/descriptors")] == list(DESCRIPTORS)
    listed = {entry["name"]: entry for entry in ask("/job-kinds")}
    shipped = {
        kind.name for kind in kinds() if kind.function_path.startswith("benthoscope.")
    }  # other tests register their own
    assert shipped <= set(listed) and all(listed[name]["about"] for name in shipped)
    run = next(each for each in listed["split cluster"]["parameters"] if each["name"] == "run")
    assert run["required"] and run["type"] == "int"


def test_parameters_are_read_from_a_signature():
    def function(first, *, number: int, text: str | None = None, **other): ...

    number, text = parameters_of(function, {"number": ParameterHelp("How many.", 1)}, skipped=1)
    assert (number.name, number.type, number.required, number.minimum) == ("number", "int", True, 1)
    assert (text.name, text.type, text.required, text.default) == ("text", "str | None", False, None)
