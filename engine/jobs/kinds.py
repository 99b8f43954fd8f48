"""The kinds of jobs there are. Each module is imported only when a job of its kind begins: some are heavy."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from engine.problems import unknown


@dataclass(frozen=True)
class JobKind:
    """`place` is "module:function"; the function takes (JobContext, Workspace, **parameters) and gives a dict."""

    name: str
    title: str
    place: str
    heavy: bool = True  # heavy jobs wait for each other

    def function(self) -> Callable[..., Mapping[str, Any] | None]:
        module, _, name = self.place.partition(":")
        return getattr(import_module(module), name)


_KINDS: dict[str, JobKind] = {}


def register(kind: JobKind) -> JobKind:
    _KINDS[kind.name] = kind
    return kind


def kind_named(name: str) -> JobKind:
    if name not in _KINDS:
        raise unknown("kinds of jobs", name, _KINDS)
    return _KINDS[name]


def kinds() -> list[JobKind]:
    return list(_KINDS.values())


register(JobKind("import", "Import images", "engine.jobs.import_images:import_images"))
register(JobKind("features", "Describe images", "engine.jobs.features:features"))
register(JobKind("cluster", "Cluster images", "engine.jobs.cluster:cluster"))
register(JobKind("crowd", "Cluster what a crowd said", "engine.jobs.crowd:crowd"))
register(JobKind("split cluster", "Split a cluster", "engine.jobs.split_cluster:split_cluster", heavy=False))
register(JobKind("steer", "Cluster again by labels", "engine.jobs.steer_by_labels:steer"))
register(JobKind("relink", "Find moved images", "engine.jobs.relink:relink"))
register(JobKind("projection", "Lay images out by neighbourhoods", "engine.jobs.projection:projection"))
register(JobKind("learn", "Learn from labels", "engine.jobs.learn:learn_labels", heavy=False))
register(JobKind("export", "Export labels", "engine.jobs.export:export", heavy=False))
register(JobKind("import labels", "Import labels", "engine.jobs.import_labels:import_labels", heavy=False))
