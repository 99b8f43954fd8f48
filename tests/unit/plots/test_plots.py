"""Every plot: its values, axes with units, what the pointer shows, and that it is drawn."""

import json
import re
import subprocess
import sys

import holoviews as hv
import numpy as np
import pytest
from bokeh.io import curdoc
from bokeh.models import ColorBar, HoverTool

from benthoscope import plots
from benthoscope.engine.problems import BadInput
from benthoscope.plots.colours import distinct
from benthoscope.plots.files import bokeh_figure, bokeh_item, fingerprint
from benthoscope.plots.style import LONGEST_NAME, MOST_ENTRIES, THEMES, short_names

SHARES = np.array([[0.5, 0.5, 0.0], [0.1, 0.2, 0.7], [0.45, 0.55, 0.0]])
DIVES = ["north", "south", "west"]
TABLE = np.array([[8, 2], [0, 10]])
NAMES = [f"Object {number}" for number in range(12)]
COVERAGE = [0.25, 0.5, 1.0]


def cloud(count):
    return np.random.default_rng(0).normal(size=(count, 2))


# Each plot with the labels of its axes and what its hover shows.
PLOTS = {
    "lower_bound": (
        lambda **k: plots.lower_bound([1, 2], [-3.0, -2.0], **k),
        ("Step of the fit", "Lower bound (nats per image)"),
        ["Step", "Lower bound"],
    ),
    "cluster_count": (
        lambda **k: plots.cluster_count([1, 2], [1, 2], **k),
        ("Step of the fit", "Clusters"),
        ["Step", "Clusters"],
    ),
    "cluster_sizes": (
        lambda **k: plots.cluster_sizes([10, 30], **k),
        ("Cluster", "Images"),
        ["Cluster", "Images", "Share of all images"],
    ),
    "width_sweep": (
        lambda **k: plots.width_sweep([0.1, 0.01], [5, 40], ["a", "b"], **k),
        ("Cluster width (prior scale, no unit)", "Clusters"),
        ["Run", "Width", "Clusters"],
    ),
    "held_out_likelihood": (
        lambda **k: plots.held_out_likelihood([0.1, 0.01], [-4.0, None], **k),
        ("Cluster width (prior scale, no unit)", "Log likelihood (nats/image)"),
        ["Run", "Width", "Held-out log likelihood"],
    ),
    "contingency": (
        lambda **k: plots.contingency(TABLE, [3, 1], [0, 4], first="old", other="new", **k),
        ("Cluster of new", "Cluster of old"),
        ["Cluster of old", "Cluster of new", "Share of the row", "Images"],
    ),
    "mixture_bars": (
        lambda **k: plots.mixture_bars(SHARES, DIVES, **k),
        ("Share of the images (%)", "Dive"),
        ["Dive", "Cluster", "Share"],
    ),
    "mixture_heatmap": (
        lambda **k: plots.mixture_heatmap(SHARES, DIVES, **k),
        ("Cluster", "Dive"),
        ["Dive", "Cluster", "Share of the dive"],
    ),
    "group_distances": (
        lambda **k: plots.group_distances(SHARES, DIVES, **k),
        ("Dive", "Dive"),
        ["Dive", "Dive", "Jensen-Shannon distance"],
    ),
    "profile": (
        lambda **k: plots.profile([0, 1, -1], time=[0.0, 2.0, 4.0], depth=[5.0, 6.0, np.nan], **k),
        ("Time (UTC)", "Depth (m)"),
        ["Time", "Cluster", "Depth", "Altitude", "Image"],
    ),
    "track_map": (
        lambda **k: plots.track_map({"north": ([-43.0, -43.1], [147.0, 147.1])}, shares={"north": [0.5, 0.5]}, **k),
        ("Longitude (° east)", "Latitude (° north)"),
        ["Dive", "Longitude", "Latitude"],
    ),
    "cover": (
        lambda **k: plots.cover(["sand", "kelp"], [0.6, None], [0.5, 0.1], [0.7, 0.3], **k),
        ("Cover (% of the images)", "Label"),
        ["Label", "Estimate", "Interval", "Method"],
    ),
    "cover_across_groups": (
        lambda **k: plots.cover_across_groups(DIVES, [0.1] * 3, [0.0] * 3, [0.2] * 3, term="kelp", **k),
        ("Cover (% of the images)", "Dive"),
        ["Dive", "Estimate", "Interval", "Method"],
    ),
    "label_agreement": (
        lambda **k: plots.label_agreement([("Ann", "Bob")], [0.9], [0.8], [50], **k),
        ("Agreement (1 is perfect)", "People"),
        ["People", "Equal labels", "Cohen's kappa", "Images"],
    ),
    "confusion": (
        lambda **k: plots.confusion(TABLE, ["sand", "kelp"], first="Ann", other="Bob", **k),
        ("Label of Bob", "Label of Ann"),
        ["Label of Ann", "Label of Bob", "Share of the row", "Images"],
    ),
    "calibration": (
        lambda **k: plots.calibration([0.5, 0.9], [0.4, 1.0], [0.25, 0.75], **k),
        ("Predicted accuracy (%)", "Observed accuracy (%)"),
        ["Predicted", "Observed", "Share of the images"],
    ),
    "accuracy_coverage": (
        lambda **k: plots.accuracy_coverage(COVERAGE, [1, 0.9, 0.8], [0.9, 0.8, 0.7], decided=0.5, **k),
        ("Images decided (%)", "Accuracy of their suggestions (%)"),
        ["Images decided", "Accuracy", "Confidence from"],
    ),
    "learning_curve": (
        lambda **k: plots.learning_curve([20, 40], [0.5, 0.75], **k),
        ("Labelled images", "Accuracy of the first suggestion (%)"),
        ["Labelled images", "Accuracy"],
    ),
    "extension_curve": (
        lambda **k: plots.extension_curve([1.0, 0.5, 0.0], low=1, high=2, cut=1.5, answers=[(0, True)], **k),
        ("Page of images, most similar first", "Probability to belong (%)"),
        ["Page", "Probability"],
    ),
    "crowd_positions": (
        lambda **k: plots.crowd_positions(cloud(6), [0, 0, 1, 1, 2, 2], **k),
        ("First direction of largest spread", "Second direction"),
        ["Image", "Cluster"],
    ),
    "school": (
        lambda **k: plots.school(np.eye(3), people=2, **k),
        ("Cluster", "Cluster"),
        ["Cluster", "Cluster", "Put together"],
    ),
    "worker_confusion": (
        lambda **k: plots.worker_confusion(np.eye(3), person="person 4", **k),
        ("Cluster", "Cluster"),
        ["Cluster", "Cluster", "Put together"],
    ),
    "cooccurrence": (
        lambda **k: plots.cooccurrence(np.array([[4, 2, 0], [2, 4, 1], [0, 1, 3]]), 10, **k),
        ("Object", "Object"),
        ["Object", "Object", "Observed / chance", "Images with both"],
    ),
    "cluster_members": (
        lambda **k: plots.cluster_members(np.random.default_rng(0).random((4, 2)), [True, False] * 2, **k),
        ("First axis of largest variance (scaled, no unit)", "Second axis (scaled, no unit)"),
        ["Image", "State"],
    ),
    "prediction": (
        lambda **k: plots.prediction(
            [1.0, np.nan, 2.0, 3.0], [0.5, np.nan, 1, 2], [1.5, np.nan, 3, 4], title="Altitude", unit="m", **k
        ),
        ("Image along the dive", "Altitude (m)"),
        ["Position in the dive", "Predicted", "90 % band", "Image"],
    ),
    "topics_along": (
        lambda **k: plots.topics_along(SHARES, images=range(1, len(SHARES) + 1), **k),
        ("Image along the dive", "Share (%)"),
        ["Topic", "Share", "Images in the bar", "Images with it as main topic", "First image"],
    ),
    "live_mixture": (
        lambda **k: plots.live_mixture(
            [0, 60, 120], [[0.5, 0.5], [0, 1]], ["sand", "kelp"], ["#aa0000", "#00aa00"], **k
        ),
        ("Time (UTC)", "Share of the images (%)"),
        ["Time", "Cluster", "Share"],
    ),
    "cluster_lives": (
        lambda **k: plots.cluster_lives(
            [0, 60],
            [{0: 5}, {0: 6, 1: 4}],
            [[("birth", 0, None)], [("split", 1, 0)]],
            {0: "#aa0000", 1: "#00aa00"},
            **k,
        ),
        ("Time (UTC)", "Cluster number"),
        ["Time", "Cluster", "Event"],
    ),
    "memory_use": (
        lambda **k: plots.memory_use([0, 60], [50, 90], [100, 100], [False, True], **k),
        ("Time (UTC)", "Share of the budget (%)"),
        ["Time", "Memory in use"],
    ),
    "fit_of_new_images": (
        lambda **k: plots.fit_of_new_images([0, 60], [-40.5, -38.0], **k),
        ("Time (UTC)", "Log density (nats per image)"),
        ["Time", "Mean log density"],
    ),
    "sailed_path": (
        lambda **k: plots.sailed_path([1, 1.001, 1.002], [5, 5, 5.001], [0, 0, -1], ["sand"], ["#aa0000"], **k),
        ("Longitude (° east)", "Latitude (° north)"),
        ["Cluster", "Image", "Position"],
    ),
    "embedding": (
        lambda **k: plots.embedding(cloud(6), [0, 0, 1, 1, -1, -1], axes=("PC 1 (60 %)", "PC 2 (20 %)"), **k),
        ("PC 1 (60 %)", "PC 2 (20 %)"),
        ["Image", "Cluster"],
    ),
}


@pytest.mark.parametrize("name", PLOTS)
def test_a_plot_has_labelled_axes_values_under_the_pointer_and_tools(name):
    draw, labels, hover = PLOTS[name]
    figure = bokeh_figure(draw())
    assert (figure.xaxis.axis_label, figure.yaxis.axis_label) == labels
    tools = {type(tool).__name__: tool for tool in figure.toolbar.tools}
    assert {"PanTool", "WheelZoomTool", "BoxZoomTool", "ResetTool", "SaveTool", "HoverTool"} <= set(tools)
    assert tools["WheelZoomTool"].modifiers == {"ctrl": True}, "without Ctrl the wheel scrolls the page"
    titles = [
        [title for title, _ in tool.tooltips] for tool in figure.toolbar.tools if type(tool).__name__ == "HoverTool"
    ]
    assert hover in titles


@pytest.mark.parametrize("name", PLOTS)
def test_a_page_gets_only_the_columns_that_its_plot_uses(name):
    figure = PLOTS[name][0]()
    text = json.dumps(bokeh_item(figure, ("row_number",)))
    assert "CustomJS" not in text, "pages refuse scripts in data"
    marks = [tuple(data) for data in columns_of(json.loads(text))]
    hovers = " ".join(str(tool.tooltips) for tool in bokeh_figure(figure).select({"type": HoverTool}))
    for column in {name for data in marks for name in data} & {"cluster", "image", "share", "estimate", "place"}:
        assert f"@{column}" in hovers or f'"field": "{column}"' in text, f"{column} is not shown"


def columns_of(item):
    """Names of the columns of every source in the JSON of a plot."""
    if isinstance(item, list):
        return [names for element in item for names in columns_of(element)]
    if not isinstance(item, dict):
        return []
    tables = [item["attributes"]["data"]] if item.get("name") == "ColumnDataSource" else []
    return [[name for name, _ in table["entries"]] for table in tables] + [
        names for element in item.values() for names in columns_of(element)
    ]


def test_every_plot_is_tested():
    assert set(PLOTS) == set(plots.__all__) - {"data_table", "save"}


def test_a_dark_plot_has_the_colours_of_the_dark_theme():
    figure = bokeh_figure(PLOTS["mixture_bars"][0](theme="dark"))
    assert figure.background_fill_color == figure.border_fill_color == THEMES["dark"].background
    assert figure.legend[0].label_text_color == figure.xaxis.axis_label_text_color == THEMES["dark"].text


def test_an_unknown_theme_is_an_error():
    with pytest.raises(BadInput, match="did you mean 'dark'"):
        plots.lower_bound([1], [1.0], theme="drak")


def test_importing_plots_loads_neither_panel_nor_holoviews():
    code = "import sys, benthoscope.plots; print({'panel', 'bokeh', 'holoviews', 'numpy'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "set()", done.stderr


def test_a_cluster_has_the_same_colour_in_every_plot():
    bars = bokeh_figure(plots.mixture_bars(SHARES, DIVES))
    colours = [set(glyphs.data_source.data["colour"]) for glyphs in bars.renderers]
    assert colours == [{colour} for colour in distinct(3)]
    sizes = plots.cluster_sizes([5, 9, 7])
    by_cluster = dict(zip(sizes.dimension_values("cluster"), sizes.dimension_values("colour"), strict=True))
    assert [by_cluster[number] for number in range(3)] == distinct(3)


def test_the_largest_cluster_comes_first_with_its_share():
    rows = plots.data_table(plots.cluster_sizes([10, 30], [4, 7])).to_dict("list")
    assert rows == {"Images": [30, 10], "Cluster": [7, 4], "Share of all images": [0.75, 0.25]}


def test_a_click_on_the_legend_mutes_one_cluster():
    figure = bokeh_figure(plots.mixture_bars(SHARES, DIVES))
    assert figure.legend[0].click_policy == "mute"
    assert [item.label.value for item in figure.legend[0].items] == ["Cluster 0", "Cluster 1", "Cluster 2"]
    assert all(glyphs.muted_glyph.fill_alpha < 0.2 for glyphs in figure.renderers)


def test_more_clusters_than_a_legend_holds_are_drawn_as_one_layer():
    count = MOST_ENTRIES + 1
    figure = bokeh_figure(plots.mixture_bars(np.full((2, count), 1 / count), ["a", "b"]))
    assert len(figure.renderers) == 1 and not any(legend.items for legend in figure.legend)
    assert figure.renderers[0].data_source.data["colour"][0] == distinct(1)[0]


def test_a_comparison_shows_counts_and_shares_of_rows():
    rows = plots.data_table(plots.contingency(TABLE, [3, 1], [0, 4], row_totals=[20, 10]))
    assert rows["Images"].tolist() == [8, 2, 0, 10]
    assert rows["Share of the row (%)"].tolist() == [40.0, 10.0, 0.0, 100.0]


def test_similar_dives_are_neighbours_in_the_heat_map():
    rows = plots.data_table(plots.mixture_heatmap(SHARES, DIVES))
    order = list(dict.fromkeys(rows["Dive (row)"]))
    assert abs(order.index("north") - order.index("west")) == 1
    south = rows[rows["Dive (row)"] == "south"].set_index("Cluster (column)")["Share of the dive (%)"]
    assert south.to_dict() == pytest.approx({"0": 10.0, "1": 20.0, "2": 70.0})


def test_dives_without_a_common_cluster_have_distance_one():
    rows = plots.data_table(plots.group_distances([[1.0, 0.0], [0.0, 1.0]], ["a", "b"]))
    assert rows["Jensen-Shannon distance"].tolist() == [0, 1, 1, 0]


def test_panels_of_a_page_contain_no_scripts():
    layout = plots.profile([0, 1, 1], depth=[1.0, 2.0, 3.0], altitude=[2.0, 2.0, 2.0])
    assert "CustomJS" not in json.dumps(bokeh_item(layout))


def test_depth_grows_downwards_and_time_is_a_time():
    figure = bokeh_figure(PLOTS["profile"][0]())
    assert figure.y_range.start > figure.y_range.end
    assert type(figure.xaxis[0]).__name__ == "DatetimeAxis"


def test_a_profile_has_one_panel_per_measure_and_leaves_out_images_without_a_time():
    layout = plots.profile([0, 1, 1], time=[10.0, np.nan, 20.0], depth=[1.0, 2.0, 3.0], altitude=[2.0, 2.0, np.nan])
    assert len(layout) == 2
    rows = plots.data_table(layout)
    assert rows["Depth (m)"].tolist() == [1.0, 3.0] and rows["Cluster"].tolist() == ["Cluster 0", "Cluster 1"]


def test_a_profile_without_measures_is_the_sequence_of_clusters():
    figure = plots.profile([2, 0], names={2: "kelp"})
    assert plots.data_table(figure)["Cluster"].tolist() == ["Cluster 0", "kelp"]
    assert bokeh_figure(figure).xaxis.axis_label == "Image along the dive"


def test_a_track_leaves_out_images_without_a_position_and_pies_are_round_on_the_map():
    track = ([-60.0, np.nan, -60.0], [10.0, 11.0, 12.0])
    figure = plots.track_map({"south": track}, shares={"south": [0.25, 0.75]})
    assert plots.data_table(figure)["Longitude (° east)"].tolist() == [10.0, 12.0]
    (pies,) = (layer for layer in figure if type(layer).__name__ == "Polygons")
    x, y = pies.dimension_values("longitude"), pies.dimension_values("latitude")
    assert np.nanmax(x) - np.nanmin(x) == pytest.approx(2 * (np.nanmax(y) - np.nanmin(y)), rel=0.02)  # cos 60° is 1/2


def test_a_long_track_is_thinned_and_keeps_its_ends():
    degrees = np.linspace(-14, -13, 20_000)
    places = plots.data_table(plots.track_map({"north": (degrees, degrees + 135)}))["Latitude (° north)"].tolist()
    assert len(places) <= 6000 and (places[0], places[-1]) == (-14, -13)


def test_a_term_without_an_estimate_shows_its_range_only():
    figure = plots.cover(["sand", "kelp"], [0.6, None], [0.5, 0.1], [0.7, 0.3], methods=["random", "known"])
    rows = plots.data_table(figure).set_index("Label")
    assert rows["Lower limit (%)"].tolist() == [50, 10] and rows["Upper limit (%)"].tolist() == pytest.approx([70, 30])
    assert rows.loc["sand", "Estimate (%)"] == 60 and np.isnan(rows.loc["kelp", "Estimate (%)"])


def test_perfect_calibration_is_a_diagonal_line():
    figure = bokeh_figure(PLOTS["calibration"][0]())
    data = figure.renderers[0].data_source.data
    assert data["predicted"].tolist() == data["observed"].tolist() == [0, 100]


def test_the_share_that_can_be_accepted_is_marked():
    figure = PLOTS["accuracy_coverage"][0]()
    (mark,) = (layer for layer in figure if type(layer).__name__ == "VLine")
    assert mark.data == 50
    assert plots.data_table(figure)["Accuracy"].unique().tolist() == ["Measured", "At least (95 %)"]


def test_runs_without_a_held_out_value_are_left_out_and_widths_ascend():
    rows = plots.data_table(plots.held_out_likelihood([0.3, 0.1, 0.2], [-1.0, None, -2.0], ["a", "b", "c"]))
    assert rows.iloc[:, 0].tolist() == [0.2, 0.3] and rows.iloc[:, 1].tolist() == [-2, -1]


def test_objects_that_never_meet_are_below_chance():
    rows = plots.data_table(plots.cooccurrence(np.array([[50, 0], [0, 50]]), 100))
    assert rows["Observed / chance (log2)"].tolist()[1] == -3  # the end of the scale
    assert rows["Images with both"].tolist() == [50, 0, 0, 50]


def test_many_points_become_an_image_with_a_legend():
    points = np.concatenate([cloud(30_000), cloud(30_000) + 8])
    figure = plots.embedding(points, np.repeat([0, 1], 30_000))
    shown = bokeh_figure(figure)
    assert [type(glyphs.glyph).__name__ for glyphs in shown.renderers] == ["ImageRGBA", "Scatter", "Scatter"]
    assert [item.label.value for item in shown.legend[0].items] == ["Cluster 0", "Cluster 1"]
    low = np.asarray(next(iter(figure)).dimension_values("A", flat=False))
    assert low[: len(low) // 4, : low.shape[1] // 4].any() and not low[: len(low) // 4, -low.shape[1] // 4 :].any()
    with pytest.raises(BadInput, match="too many points"):
        plots.data_table(figure)


@pytest.mark.parametrize("ending", ["svg", "png", "html", "csv"])
def test_a_plot_is_saved_without_a_browser(tmp_path, ending):
    path = plots.save(PLOTS["cover"][0](), tmp_path / f"cover.{ending}")
    start = path.read_bytes()[:20]
    first = {"svg": b"<?xml", "png": b"\x89PNG", "html": b"<!DOCTYPE html>", "csv": b"Lower limit (%)"}
    assert start.startswith(first[ending])
    if ending == "html":
        assert not re.search(r"<(script|link)[^>]+(src|href)=", path.read_text(encoding="utf-8")), "it works offline"


def test_a_file_with_another_ending_is_an_error(tmp_path):
    with pytest.raises(BadInput, match="did you mean 'svg'"):
        plots.save(PLOTS["cover"][0](), tmp_path / "cover.svgg")
    with pytest.raises(BadInput, match="has no ending"):
        plots.save(PLOTS["cover"][0](), tmp_path / "cover")
    with pytest.raises(BadInput, match="cannot be written"):
        plots.save(PLOTS["cover"][0](), tmp_path / "missing" / "cover.csv")


def test_long_names_keep_what_distinguishes_them():
    begin = [f"FK200930_S0{at}_Great_Detached_Reef_northern_wall" for at in range(384, 390)]
    end = [f"FK200930_Great_Detached_Reef_northern_wall_{at}" for at in range(384, 390)]
    middle = [f"FK200930_Great_Detac{at}_Reef_northern_wall" for at in range(384, 390)]
    for names in (begin, end, middle):
        shortened = short_names(names)
        assert len(set(shortened)) == len(names) and max(map(len, shortened)) <= LONGEST_NAME
    assert short_names(["Noggin Pass"]) == ["Noggin Pass"]


def print_of(figure):
    return hv.render(figure, backend="matplotlib").axes[0]


def test_axes_in_print_count_in_whole_numbers_and_widths_are_named_once():
    axes = print_of(plots.width_sweep([0.02, 0.05, 0.15], [11, 12, 12]))
    assert all(tick == round(tick) for tick in axes.get_yticks())
    assert not any(label.get_text() for label in axes.xaxis.get_minorticklabels())
    assert all(tick == round(tick) for tick in print_of(plots.learning_curve([255], [0.5])).get_xticks())


def test_the_title_of_a_colour_bar_is_shorter_than_a_low_heat_map():
    titles = [
        bokeh_figure(
            plots.mixture_heatmap(np.full((rows, 12), 1 / 12), range(rows), whole="segments of the dive", names=NAMES)
        )
        .select_one({"type": ColorBar})
        .title
        for rows in (4, 20)
    ]
    assert titles == ["Share (%)", "Share of the segments of the dive (%)"]


def test_names_below_a_heat_map_do_not_cover_each_other():
    names = [f"Object {number}" for number in range(53)]
    figure = bokeh_figure(plots.cooccurrence(np.eye(53, dtype=int), 60, names=names))
    assert len(figure.xaxis.ticker.ticks) == 27 and len(figure.yaxis.ticker.ticks) == 53


def test_legends_lie_beside_the_marks():
    above, below, right = (bokeh_figure(PLOTS[name][0]()) for name in ("memory_use", "accuracy_coverage", "profile"))
    assert above.legend[0] in above.above and above.legend[0].margin == 0
    assert below.legend[0] in below.below and below.legend[0].margin == 0
    assert right.legend[0] in right.right
    axes = print_of(PLOTS["accuracy_coverage"][0]())
    axes.figure.canvas.draw()
    label, legend = axes.xaxis.label.get_window_extent(), axes.get_legend().get_window_extent()
    assert legend.y1 <= label.y0


def test_a_path_is_interrupted_where_two_images_are_far_apart():
    latitude, longitude = [1, 1.001, 1.002, 1.003, 9, 9.001], [5] * 6
    drawn = plots.sailed_path(latitude, longitude, [0] * 6, ["sand"], ["#aa0000"], novel=[False] * 5 + [True])
    lines = drawn.traverse(len, ["Curve"])
    assert lines == [4, 2]


def test_periods_without_images_have_no_column():
    drawn = plots.live_mixture([0, 60, 120, 180], [[1.0], [0.0], [1.0]], ["sand"], ["#aa0000"])
    (columns,) = drawn.traverse(len, ["Rectangles"])
    assert columns == 2


def test_the_band_of_a_prediction_has_no_height_where_nothing_is_predicted():
    nothing = np.nan
    low, high = [0, nothing, nothing, 3, 4, nothing], [2, nothing, nothing, 5, 6, nothing]
    drawn = plots.prediction([1, nothing, nothing, 4, 5, nothing], low, high, measured=[7] + 5 * [nothing])
    band = next(layer for layer in drawn if isinstance(layer, hv.Area))
    at, ends, others = (band.dimension_values(column).tolist() for column in range(3))
    assert at == [0, 0, 0, 3, 3, 4, 4]
    assert list(zip(ends, others, strict=True)) == [(1, 1), (0, 2), (1, 1), (4, 4), (3, 5), (4, 6), (5, 5)]
    table = plots.data_table(drawn)
    assert table["Predicted value"].tolist() == [1, 4, 5] and table["Measured value"].tolist()[0] == 7


def test_a_drawn_plot_is_not_kept_by_the_document_of_the_process():
    before = len(curdoc().session_destroyed_callbacks)
    bokeh_figure(plots.cluster_sizes([1, 2]))
    assert len(curdoc().session_destroyed_callbacks) == before


def test_equal_plots_have_equal_fingerprints():
    first, again, other = (
        fingerprint(json.dumps(bokeh_item(plots.cluster_sizes(sizes)), separators=(",", ":")))
        for sizes in ([1, 2], [1, 2], [1, 3])
    )
    assert first == again != other


def test_the_columns_of_a_live_mixture_have_a_width_in_print(tmp_path):
    drawn = plots.live_mixture([1e9, 1e9 + 60, 1e9 + 120], [[1.0], [1.0]], ["sand"], ["#aa0000"])
    text = plots.save(drawn, tmp_path / "mixture.svg").read_text()
    (columns,) = re.findall(r'<g id="PatchCollection_1">(.*?)</g>', text, re.S)
    widths = [float(line[2]) - float(line[1]) for line in re.finditer(r'd="M ([\d.]+) [\d.]+ \nL ([\d.]+) ', columns)]
    assert len(widths) == 2 and min(widths) > 100


def test_a_live_dive_with_one_round_has_times_in_minutes_and_whole_cluster_numbers():
    import holoviews as hv

    renderer = hv.renderer("bokeh")
    memory = renderer.get_plot(plots.memory_use([1.7e9], [50], [100], [False])).state
    assert memory.x_range.end - memory.x_range.start == pytest.approx(60_000)  # milliseconds
    lives = renderer.get_plot(
        plots.cluster_lives([1.7e9], [{0: 5, 1: 5}], [[("birth", 0, None)]], {0: "red", 1: "blue"})
    ).state
    assert lives.yaxis[0].ticker.min_interval == 1
