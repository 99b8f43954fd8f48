"""Plots of clusterings, dives, labels and crowds: plain data in, HoloViews objects out.

    from benthoscope import plots
    plots.save(plots.cover(["sand", "kelp"], [0.6, 0.2], [0.5, 0.1], [0.7, 0.3]), "cover.svg")

Every function takes `theme="light"` or `theme="dark"`. HoloViews is loaded when the first function is used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from benthoscope.engine.optional_dependencies import import_optional

if TYPE_CHECKING:
    from benthoscope.plots.crowd import crowd_positions as crowd_positions
    from benthoscope.plots.crowd import school as school
    from benthoscope.plots.crowd import worker_confusion as worker_confusion
    from benthoscope.plots.dives import group_distances as group_distances
    from benthoscope.plots.dives import mixture_bars as mixture_bars
    from benthoscope.plots.dives import mixture_heatmap as mixture_heatmap
    from benthoscope.plots.dives import prediction as prediction
    from benthoscope.plots.dives import profile as profile
    from benthoscope.plots.dives import track_map as track_map
    from benthoscope.plots.files import data_table as data_table
    from benthoscope.plots.files import save as save
    from benthoscope.plots.labels import confusion as confusion
    from benthoscope.plots.labels import cover as cover
    from benthoscope.plots.labels import cover_across_groups as cover_across_groups
    from benthoscope.plots.labels import label_agreement as label_agreement
    from benthoscope.plots.learning import accuracy_coverage as accuracy_coverage
    from benthoscope.plots.learning import calibration as calibration
    from benthoscope.plots.learning import extension_curve as extension_curve
    from benthoscope.plots.learning import learning_curve as learning_curve
    from benthoscope.plots.live import cluster_lives as cluster_lives
    from benthoscope.plots.live import fit_of_new_images as fit_of_new_images
    from benthoscope.plots.live import live_mixture as live_mixture
    from benthoscope.plots.live import memory_use as memory_use
    from benthoscope.plots.live import sailed_path as sailed_path
    from benthoscope.plots.objects import cooccurrence as cooccurrence
    from benthoscope.plots.projections import cluster_members as cluster_members
    from benthoscope.plots.projections import embedding as embedding
    from benthoscope.plots.runs import cluster_count as cluster_count
    from benthoscope.plots.runs import cluster_sizes as cluster_sizes
    from benthoscope.plots.runs import contingency as contingency
    from benthoscope.plots.runs import held_out_likelihood as held_out_likelihood
    from benthoscope.plots.runs import lower_bound as lower_bound
    from benthoscope.plots.runs import width_sweep as width_sweep
    from benthoscope.plots.topics import topics_along as topics_along

FORMATS = ("svg", "png", "html", "csv")  # of files
_NAMES_OF_MODULE = {
    "crowd": ("crowd_positions", "school", "worker_confusion"),
    "dives": ("group_distances", "mixture_bars", "mixture_heatmap", "prediction", "profile", "track_map"),
    "files": ("data_table", "save"),
    "labels": ("confusion", "cover", "cover_across_groups", "label_agreement"),
    "learning": ("accuracy_coverage", "calibration", "extension_curve", "learning_curve"),
    "live": ("cluster_lives", "fit_of_new_images", "live_mixture", "memory_use", "sailed_path"),
    "objects": ("cooccurrence",),
    "projections": ("cluster_members", "embedding"),
    "runs": (
        "cluster_count",
        "cluster_sizes",
        "contingency",
        "held_out_likelihood",
        "lower_bound",
        "width_sweep",
    ),
    "topics": ("topics_along",),
}
_MODULE_OF_NAME = {name: module for module, names in _NAMES_OF_MODULE.items() for name in names}

__all__ = sorted(_MODULE_OF_NAME)


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF_NAME:
        raise AttributeError(f"module 'benthoscope.plots' has no attribute '{name}'")
    import_optional("holoviews")  # the error names the extra
    return getattr(import_module(f"benthoscope.plots.{_MODULE_OF_NAME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
