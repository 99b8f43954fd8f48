"""Computes and stores: what a script or a notebook needs, by one import.

    from engine import GMC, Workspace
"""

from importlib import import_module
from typing import Any

_HOMES = {
    "BGMM": "engine.mixtures",
    "BayesianCrowdClustering": "engine.crowd",
    "ExemplarLoss": "engine.exemplars",
    "FactorizationCrowdClustering": "engine.crowd",
    "GMC": "engine.mixtures",
    "KernelRIM": "engine.discriminative",
    "MCM": "engine.mixtures",
    "RIM": "engine.discriminative",
    "SCM": "engine.mixtures",
    "StreamGreedy": "engine.exemplars",
    "SymmetricGMC": "engine.mixtures",
    "VDP": "engine.mixtures",
    "Workspace": "engine.workspace",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    """Names are looked up when they are first used: a command that needs no model imports none."""
    if name not in _HOMES:
        raise AttributeError(f"module 'engine' has no attribute '{name}'")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
