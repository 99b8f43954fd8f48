"""The kinds of jobs. The module of a job is imported only when it starts, because some are heavy."""

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from benthoscope.engine.parameters import Parameter, ParameterHelp, parameters_of, parameters_of_types
from benthoscope.engine.problems import unknown
from benthoscope.engine.workspace import Workspace

CHECKS = "benthoscope.engine.jobs.parameter_checks"


@dataclass(frozen=True)
class JobKind:
    """Paths are "module:function". The job's function takes (JobContext, Workspace, **parameters) and returns a dict.

    The check takes (Workspace, parameters, kinds of unfinished jobs) and raises BadInput for parameters with which the
    job can only fail.
    """

    name: str
    title: str
    function_path: str
    heavy: bool = True  # heavy jobs wait for each other
    check_path: str = ""
    types_path: str = ""  # {name: type} of the parameters, if the function takes any keyword

    def function(self) -> Callable[..., Mapping[str, Any] | None]:
        return _value_at(self.function_path)

    @property
    def about(self) -> str:
        """What the job does: the first paragraph of its function's docstring."""
        return " ".join((inspect.getdoc(self.function()) or "").partition("\n\n")[0].split())

    def parameters(self, helps: Mapping[str, ParameterHelp]) -> tuple[Parameter, ...]:
        """The parameters of the job with these help texts and bounds, and those in `PARAMETERS` of its module. Their
        names come from the signature of its function."""
        of_module = getattr(import_module(self.function_path.partition(":")[0]), "PARAMETERS", {})
        if self.types_path:
            return parameters_of_types(_value_at(self.types_path), {**helps, **of_module})
        return parameters_of(self.function(), {**helps, **of_module}, skipped=2)

    def check_values(self, workspace: Workspace, parameters: Mapping[str, Any], pending: Collection[str]) -> None:
        if self.check_path:
            _value_at(self.check_path)(workspace, parameters, pending)


def _value_at(path: str) -> Any:
    module, _, name = path.partition(":")
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


register(
    JobKind(
        "import",
        "Import images",
        "benthoscope.engine.jobs.library.import_images:import_images",
        check_path=f"{CHECKS}:check_import",
    )
)
register(
    JobKind(
        "features",
        "Describe images",
        "benthoscope.engine.jobs.describe.describe_images:features",
        check_path=f"{CHECKS}:check_features",
        types_path="benthoscope.engine.jobs.describe.describe_images:PARAMETER_TYPES",
    )
)
register(
    JobKind(
        "cluster",
        "Cluster images",
        "benthoscope.engine.jobs.cluster.cluster_images:cluster",
        check_path=f"{CHECKS}:check_cluster",
    )
)
register(
    JobKind(
        "crowd",
        "Cluster the answers of a crowd",
        "benthoscope.engine.jobs.crowd:crowd",
        check_path=f"{CHECKS}:check_crowd",
    )
)
register(
    JobKind(
        "split cluster",
        "Split a cluster",
        "benthoscope.engine.jobs.cluster.split_cluster:split_cluster",
        heavy=False,
        check_path=f"{CHECKS}:check_split",
    )
)
register(
    JobKind(
        "steer",
        "Cluster again by labels",
        "benthoscope.engine.jobs.cluster.constrained:steer",
        check_path=f"{CHECKS}:check_steer",
    )
)
register(
    JobKind(
        "relink",
        "Find moved images",
        "benthoscope.engine.jobs.library.relink:relink",
        check_path=f"{CHECKS}:check_relink",
    )
)
register(
    JobKind(
        "projection",
        "Lay images out by neighbourhoods",
        "benthoscope.engine.jobs.describe.projection:projection",
        check_path=f"{CHECKS}:check_projection",
    )
)
register(
    JobKind(
        "learn",
        "Learn from labels",
        "benthoscope.engine.jobs.labels.learn:learn_labels",
        heavy=False,
        check_path=f"{CHECKS}:check_learn",
    )
)
register(
    JobKind(
        "typical images",
        "Choose typical images",
        "benthoscope.engine.jobs.labels.typical:choose_typical",
        heavy=False,
        check_path=f"{CHECKS}:check_typical",
    )
)
register(
    JobKind(
        "remember",
        "Store labels as a memory",
        "benthoscope.engine.jobs.labels.remember:remember",
        check_path=f"{CHECKS}:check_remember",
    )
)
register(
    JobKind(
        "export",
        "Export labels",
        "benthoscope.engine.jobs.labels.export_labels:export",
        heavy=False,
        check_path=f"{CHECKS}:check_export",
    )
)
register(
    JobKind(
        "import labels",
        "Import labels",
        "benthoscope.engine.jobs.labels.import_labels:import_labels",
        heavy=False,
        check_path=f"{CHECKS}:check_import_labels",
    )
)
register(
    JobKind("chain", "Several jobs in a row", "benthoscope.engine.jobs.chain:chain", check_path=f"{CHECKS}:check_chain")
)
register(
    JobKind(
        "start",
        "Import, describe and cluster images",
        "benthoscope.engine.jobs.library.start:start",
        check_path=f"{CHECKS}:check_start",
    )
)
register(
    JobKind(
        "exemplars",
        "Choose the exemplars of clusters",
        "benthoscope.engine.jobs.cluster.exemplars:exemplars",
        heavy=False,
        check_path=f"{CHECKS}:check_exemplars",
    )
)
register(
    JobKind(
        "levels",
        "Compute finer and coarser clusters",
        "benthoscope.engine.jobs.cluster.levels:levels",
        check_path=f"{CHECKS}:check_levels",
    )
)
register(
    JobKind(
        "extend topics",
        "Add images to topics",
        "benthoscope.engine.jobs.cluster.extend_topics:extend_topics",
        check_path=f"{CHECKS}:check_extend_topics",
    )
)
register(
    JobKind(
        "predict column",
        "Predict a column of numbers",
        "benthoscope.engine.jobs.predict.predict_column:predict",
        check_path=f"{CHECKS}:check_predict",
    )
)
register(
    JobKind(
        "live dive",
        "Watch a live dive",
        "benthoscope.engine.jobs.live.watch_dive:watch_dive",
        heavy=False,
        check_path="benthoscope.engine.jobs.live.starting:check_watch",
    )
)
