"""The plots of a workspace as files, by the command and by REST."""

import json

import pytest
from fastapi.testclient import TestClient
from typer.testing import CliRunner

from benthoscope.app.cli import app
from benthoscope.app.data.figures import FIGURES, FigureChoice, figure
from benthoscope.app.server.application import ServerSettings, create_app
from benthoscope.app.session.app_state import AppState
from benthoscope.engine.problems import BadInput
from benthoscope.engine.workspace import Workspace
from benthoscope.plots.files import bokeh_item

WITHOUT_VALUES = {  # in the sample workspace
    "prediction": "predict a column",
    "calibration": "answer random images",
    "accuracy": "answer random images",
    "learning-curve": "answer random images",
    "cooccurrence": "cluster segments",
    "objects-by-dive": "cluster segments",
    "objects-by-cluster": "cluster segments",
    "topics-along": "find topics first",
    "topic-mixtures": "find topics first",
}


def plot(*words):
    return CliRunner().invoke(app, ["plot", *map(str, words)])


@pytest.fixture(scope="module")
def client(sample_workspace):
    with Workspace.open(sample_workspace) as workspace:
        yield TestClient(create_app(workspace, ServerSettings(token="", run_jobs=False)), base_url="http://127.0.0.1")


def test_every_plot_draws_the_values_of_a_workspace_or_says_what_is_missing(sample_workspace):
    with Workspace.open(sample_workspace) as workspace:
        state = AppState(workspace)
        choice = FigureChoice(against=2)
        for name in FIGURES:
            if name in WITHOUT_VALUES:
                with pytest.raises(BadInput, match=WITHOUT_VALUES[name]):
                    figure(state, name, choice)
            else:
                assert bokeh_item(figure(state, name, choice))["doc"]["roots"]
        state.close()


def test_the_command_lists_the_plots(sample_workspace):
    rows = json.loads(plot("--json").stdout)
    assert [row["plot"] for row in rows] == list(FIGURES)
    assert rows[[row["plot"] for row in rows].index("contingency")]["options"] == ["--run", "--against"]


def test_the_command_writes_a_figure_for_print(sample_workspace, tmp_path):
    done = plot("cover", "--output", tmp_path / "cover.svg", "--workspace", sample_workspace)
    assert done.exit_code == 0, done.output
    assert b"<svg" in (tmp_path / "cover.svg").read_bytes()[:500]


def test_the_values_of_a_plot_are_those_of_the_workspace(sample_workspace, tmp_path):
    plot("cluster-sizes", "--output", tmp_path / "sizes.csv", "--run", 1, "--workspace", sample_workspace)
    header, *rows = (tmp_path / "sizes.csv").read_text(encoding="utf-8").splitlines()
    assert header == "Images,Cluster,Share of all images"
    with Workspace.open(sample_workspace) as workspace:
        sizes = {cluster.number: cluster.size for cluster in workspace.runs.clusters(1)}
    assert {int(row.split(",")[1]): int(row.split(",")[0]) for row in rows} == sizes


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("mixtues", "-o", "m.svg"), "did you mean 'mixtures'"),
        (("mixtures",), "--output: is missing"),
        (("mixtures", "-o", "m.txt"), "choose one of csv, html, png, svg"),
        (("mixtures", "-o", "m.svg", "--dive", "nowhere"), "dive: there is no 'nowhere'"),
        (("mixtures", "-o", "m.svg", "--against", "2"), "--against: does not apply to the plot mixtures"),
        (("contingency", "-o", "m.svg"), "needs two runs"),
        (("mixtures", "-o", "m.svg", "--theme", "drak"), "did you mean 'dark'"),
    ],
)
def test_a_wrong_word_is_one_clear_line(sample_workspace, tmp_path, monkeypatch, words, says):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadInput, match=says.replace("(", r"\(")):
        app(["plot", *words, "--workspace", str(sample_workspace)], standalone_mode=False)
    assert not list(tmp_path.iterdir())


def test_rest_gives_a_plot_for_the_browser_and_its_values(client):
    item = client.get("/api/v1/plots/mixtures?theme=dark").json()
    assert item["doc"]["roots"]
    values = client.get("/api/v1/plots/mixtures?format=csv")
    assert values.headers["content-type"].startswith("text/csv")
    assert values.text.splitlines()[0] == "Dive,Cluster,Share of the images (%)"


def test_a_browser_that_has_an_equal_plot_need_not_draw_it_again(client):
    first = client.get("/api/v1/plots/mixtures")
    dark = client.get("/api/v1/plots/mixtures?theme=dark")
    again = client.get("/api/v1/plots/mixtures", headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert dark.headers["etag"] != first.headers["etag"]
    assert client.get("/api/v1/plots/mixtures", headers={"if-none-match": dark.headers["etag"]}).status_code == 200


def test_rest_explains_what_it_cannot_draw(client):
    assert client.get("/api/v1/plots/nothing").status_code == 422
    assert client.get("/api/v1/plots/mixtures?format=gif").json()["error"]["where"] == "format"
    assert "answer random images" in client.get("/api/v1/plots/calibration").json()["error"]["remedy"]


def test_rest_lists_the_plots(client):
    listed = client.get("/api/v1/plots").json()
    assert [entry["name"] for entry in listed] == list(FIGURES) and listed[0]["uses"] == ["run", "job"]
