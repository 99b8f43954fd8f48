"""The table of all plots in docs/reference/plots.md, made from the plots themselves.

`python -m tests.unit.plots.plot_table` prints it.
"""

from collections.abc import Callable, Iterator
from typing import Any

from bokeh.models import BoxSelectTool, BoxZoomTool, ColorBar, HoverTool, PanTool, ResetTool, WheelZoomTool

from benthoscope import plots
from benthoscope.app.data.figures import FIGURES
from benthoscope.app.data.plot_images import columns_of_marks
from benthoscope.plots.files import bokeh_figure
from tests.unit.plots.test_plots import DIVES, PLOTS, SHARES

HEADS = ("Plot", "Page", "Values under the pointer", "Axes", "Zoom", "Legend", "Selects images")
# The page that shows a plot, and the function that makes it.
SHOWN = {
    "lower-bound": ("Runs", "lower_bound"),
    "cluster-count": ("Runs", "cluster_count"),
    "cluster-sizes": ("Runs", "cluster_sizes"),
    "width-sweep": ("Runs", "width_sweep"),
    "held-out": ("Runs", "held_out_likelihood"),
    "contingency": ("Runs", "contingency"),
    "mixtures": ("", "mixture_bars"),
    "mixture-heatmap": ("Dive", "mixture_heatmap"),
    "similar-mixtures": ("Dive", "mixture_bars"),
    "distances": ("", "group_distances"),
    "profile": ("Dive", "profile"),
    "prediction": ("Dive", "prediction"),
    "map": ("Library", "track_map"),
    "embedding": ("", "embedding"),
    "cover": ("Labels", "cover"),
    "cover-by-dive": ("Labels", "cover_across_groups"),
    "agreement": ("Labels", "label_agreement"),
    "confusion": ("Labels", "confusion"),
    "calibration": ("Learn", "calibration"),
    "accuracy": ("Learn", "accuracy_coverage"),
    "learning-curve": ("Learn", "learning_curve"),
    "crowd-positions": ("Crowd", "crowd_positions"),
    "school": ("Crowd", "school"),
    "worker": ("Crowd", "worker_confusion"),
    "cooccurrence": ("Objects", "cooccurrence"),
    "objects-by-dive": ("Objects", "mixture_heatmap"),
    "objects-by-cluster": ("Objects", "mixture_bars"),
    "topics-along": ("Topics", "topics_along"),
    "topic-mixtures": ("Topics", "mixture_bars"),
    "live-mixture": ("Live", "live_mixture"),
    "live-clusters": ("Live", "cluster_lives"),
    "live-memory": ("Live", "memory_use"),
    "live-fit": ("Live", "fit_of_new_images"),
    "live-path": ("Live", "sailed_path"),
    "extension": ("Review", "extension_curve"),
    "members": ("Review", "cluster_members"),
}
# With the words that the page gives, or with more than one dive.
DRAWN: dict[str, Callable[[], Any]] = {
    "map": lambda: plots.track_map({"north": ([-43.0, -43.1], [147.0, 147.1]), "south": ([-44.0], [147.0])}),
    "objects-by-dive": lambda: plots.mixture_heatmap(SHARES, DIVES, kind="Object", whole="segments of the dive"),
    "objects-by-cluster": lambda: plots.mixture_bars(
        SHARES, DIVES, kind="Object", group_word="Image cluster", whole="segments"
    ),
    "topic-mixtures": lambda: plots.mixture_bars(SHARES, DIVES, kind="Topic"),
}
ZOOM = {BoxZoomTool: "box", WheelZoomTool: "wheel", PanTool: "pan", ResetTool: "reset"}


def rows() -> Iterator[tuple[str, ...]]:
    for name, (page, function) in SHOWN.items():
        figure = bokeh_figure(DRAWN.get(name, PLOTS[function][0])())
        tools = figure.toolbar.tools
        hovers = [[title for title, _ in tool.tooltips] for tool in tools if isinstance(tool, HoverTool)]
        zoom = [word for kind, word in ZOOM.items() if any(isinstance(tool, kind) for tool in tools)]
        selects = bool(columns_of_marks(name)) if name in FIGURES else any(isinstance(t, BoxSelectTool) for t in tools)
        yield (
            name,
            page or "file only",
            ", ".join(max(hovers, key=len)),
            f"{figure.xaxis.axis_label} / {figure.yaxis.axis_label}",
            ", ".join(zoom),
            _legend(figure),
            "yes" if selects else "its marks are no images",
        )


def _legend(figure: Any) -> str:
    if any(legend.items for legend in figure.legend):
        return "mutes" if all(legend.click_policy == "mute" for legend in figure.legend) else "no effect"
    return "colour bar" if list(figure.select({"type": ColorBar})) else "not needed"


def table() -> str:
    lines = [HEADS, *rows()]
    written = [f"| {' | '.join(line)} |" for line in lines]
    return "\n".join([written[0], "|---" * len(HEADS) + "|", *written[1:]])


if __name__ == "__main__":
    print(table())
