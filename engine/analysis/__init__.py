"""Computations on a clustering that pages and notebooks share.

Nothing here reads a workspace: all functions take NumPy arrays and return arrays or small dataclasses.
"""

from typing import TYPE_CHECKING

# A lazy name must differ from the names of the modules, and `cooccurrence` does not.
from benthoscope.engine.analysis.cooccurrence import (
    Cooccurrence,
    MixtureComparison,
    compare_mixtures,
    cooccurrence,
    jensen_shannon,
)
from benthoscope.engine.lazy_names import lazy_names

if TYPE_CHECKING:
    from benthoscope.engine.analysis.cluster_geometry import (
        ClusterGeometry,
        Outline,
        cluster_outlines,
        measure_clusters,
    )
    from benthoscope.engine.analysis.column_prediction import ColumnPrediction, PredictionQuality, predict_column
    from benthoscope.engine.analysis.exemplars import (
        choose_exemplars,
        cluster_exemplars,
        least_probable,
        most_probable,
        random_members,
        segment_exemplars,
    )
    from benthoscope.engine.analysis.mask_agreement import SegmentationScores, segmentation_scores
    from benthoscope.engine.analysis.point_validation import PointTable, point_table, rows_under_points
    from benthoscope.engine.analysis.projections import fit_principal_plane, principal_plane, step_scale, to_steps
    from benthoscope.engine.analysis.recognition import Recognition, recognise
    from benthoscope.engine.analysis.topic_mixtures import (
        distance_to_mixture,
        distance_to_region,
        distance_to_weights,
        mixture_named,
        mixture_text,
    )
    from benthoscope.engine.analysis.tracks import Tracks, group_positions, track_lines, tracks_in_metres

__all__ = [
    "ClusterGeometry",
    "ColumnPrediction",
    "Cooccurrence",
    "MixtureComparison",
    "Outline",
    "PointTable",
    "PredictionQuality",
    "Recognition",
    "SegmentationScores",
    "Tracks",
    "choose_exemplars",
    "cluster_exemplars",
    "cluster_outlines",
    "compare_mixtures",
    "cooccurrence",
    "distance_to_mixture",
    "distance_to_region",
    "distance_to_weights",
    "fit_principal_plane",
    "group_positions",
    "jensen_shannon",
    "least_probable",
    "measure_clusters",
    "mixture_named",
    "mixture_text",
    "most_probable",
    "point_table",
    "predict_column",
    "principal_plane",
    "random_members",
    "recognise",
    "rows_under_points",
    "segment_exemplars",
    "segmentation_scores",
    "step_scale",
    "to_steps",
    "track_lines",
    "tracks_in_metres",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "ClusterGeometry": "benthoscope.engine.analysis.cluster_geometry",
        "ColumnPrediction": "benthoscope.engine.analysis.column_prediction",
        "Outline": "benthoscope.engine.analysis.cluster_geometry",
        "PointTable": "benthoscope.engine.analysis.point_validation",
        "PredictionQuality": "benthoscope.engine.analysis.column_prediction",
        "Recognition": "benthoscope.engine.analysis.recognition",
        "SegmentationScores": "benthoscope.engine.analysis.mask_agreement",
        "Tracks": "benthoscope.engine.analysis.tracks",
        "choose_exemplars": "benthoscope.engine.analysis.exemplars",
        "cluster_exemplars": "benthoscope.engine.analysis.exemplars",
        "cluster_outlines": "benthoscope.engine.analysis.cluster_geometry",
        "distance_to_mixture": "benthoscope.engine.analysis.topic_mixtures",
        "distance_to_region": "benthoscope.engine.analysis.topic_mixtures",
        "distance_to_weights": "benthoscope.engine.analysis.topic_mixtures",
        "group_positions": "benthoscope.engine.analysis.tracks",
        "least_probable": "benthoscope.engine.analysis.exemplars",
        "measure_clusters": "benthoscope.engine.analysis.cluster_geometry",
        "mixture_named": "benthoscope.engine.analysis.topic_mixtures",
        "mixture_text": "benthoscope.engine.analysis.topic_mixtures",
        "most_probable": "benthoscope.engine.analysis.exemplars",
        "point_table": "benthoscope.engine.analysis.point_validation",
        "predict_column": "benthoscope.engine.analysis.column_prediction",
        "fit_principal_plane": "benthoscope.engine.analysis.projections",
        "principal_plane": "benthoscope.engine.analysis.projections",
        "step_scale": "benthoscope.engine.analysis.projections",
        "random_members": "benthoscope.engine.analysis.exemplars",
        "recognise": "benthoscope.engine.analysis.recognition",
        "rows_under_points": "benthoscope.engine.analysis.point_validation",
        "segment_exemplars": "benthoscope.engine.analysis.exemplars",
        "segmentation_scores": "benthoscope.engine.analysis.mask_agreement",
        "to_steps": "benthoscope.engine.analysis.projections",
        "track_lines": "benthoscope.engine.analysis.tracks",
        "tracks_in_metres": "benthoscope.engine.analysis.tracks",
    },
)
