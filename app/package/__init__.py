"""Cluster, label and count more seafloor or album images than you could ever label by hand.

    from benthoscope import GMC, Workspace

Names are loaded on first use, so that importing the package is fast. The command line, the pages and the
REST server are installed by `pip install 'benthoscope[app]'`.
"""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from benthoscope.engine.crowd import BayesianCrowdClustering as BayesianCrowdClustering
    from benthoscope.engine.crowd import FactorizationCrowdClustering as FactorizationCrowdClustering
    from benthoscope.engine.discriminative import RIM as RIM
    from benthoscope.engine.discriminative import KernelRIM as KernelRIM
    from benthoscope.engine.exemplars import ExemplarLoss as ExemplarLoss
    from benthoscope.engine.exemplars import SparseGPRegressor as SparseGPRegressor
    from benthoscope.engine.exemplars import SquaredExponential as SquaredExponential
    from benthoscope.engine.exemplars import StreamGreedy as StreamGreedy
    from benthoscope.engine.mixtures import BGMM as BGMM
    from benthoscope.engine.mixtures import GMC as GMC
    from benthoscope.engine.mixtures import MCM as MCM
    from benthoscope.engine.mixtures import SCM as SCM
    from benthoscope.engine.mixtures import VDP as VDP
    from benthoscope.engine.mixtures import SymmetricGMC as SymmetricGMC
    from benthoscope.engine.streaming import MemoryBoundedTopicModel as MemoryBoundedTopicModel
    from benthoscope.engine.streaming import MemoryBoundedVDP as MemoryBoundedVDP
    from benthoscope.engine.topics import InfiniteWordTopicModel as InfiniteWordTopicModel
    from benthoscope.engine.topics import TopicClassifier as TopicClassifier
    from benthoscope.engine.topics import VisualLDA as VisualLDA
    from benthoscope.engine.workspace import Workspace as Workspace

    __version__: str

# ONNX Runtime contacts a telemetry host unless this is set before its import (a call after it does not help). Every
# process of the program imports this package first: the server, worker processes and the workers of a Dask cluster.
NO_TELEMETRY = {"ORT_DISABLE_TELEMETRY": "1"}
os.environ.update(NO_TELEMETRY)

_MODULE_OF_NAME = {
    "BGMM": "benthoscope.engine.mixtures",
    "BayesianCrowdClustering": "benthoscope.engine.crowd",
    "ExemplarLoss": "benthoscope.engine.exemplars",
    "FactorizationCrowdClustering": "benthoscope.engine.crowd",
    "GMC": "benthoscope.engine.mixtures",
    "InfiniteWordTopicModel": "benthoscope.engine.topics",
    "KernelRIM": "benthoscope.engine.discriminative",
    "MCM": "benthoscope.engine.mixtures",
    "MemoryBoundedTopicModel": "benthoscope.engine.streaming",
    "MemoryBoundedVDP": "benthoscope.engine.streaming",
    "RIM": "benthoscope.engine.discriminative",
    "SCM": "benthoscope.engine.mixtures",
    "SparseGPRegressor": "benthoscope.engine.exemplars",
    "SquaredExponential": "benthoscope.engine.exemplars",
    "StreamGreedy": "benthoscope.engine.exemplars",
    "SymmetricGMC": "benthoscope.engine.mixtures",
    "TopicClassifier": "benthoscope.engine.topics",
    "VDP": "benthoscope.engine.mixtures",
    "VisualLDA": "benthoscope.engine.topics",
    "Workspace": "benthoscope.engine.workspace",
}

__all__ = ["__version__", *sorted(_MODULE_OF_NAME)]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("benthoscope")
    if name not in _MODULE_OF_NAME:
        raise AttributeError(f"module 'benthoscope' has no attribute '{name}'")
    return getattr(import_module(_MODULE_OF_NAME[name]), name)


def __dir__() -> list[str]:
    return __all__
