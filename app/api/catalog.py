"""The catalogues of models, descriptors and kinds of jobs, for programs that build their own forms."""

from typing import Any

from fastapi import APIRouter

from benthoscope.engine.features import DESCRIPTORS
from benthoscope.engine.jobs import kinds
from benthoscope.engine.jobs.cluster.model_catalog import CATALOG
from benthoscope.engine.jobs.job_parameters import parameter_help

router = APIRouter(tags=["catalogue"])


@router.get("/models")
def models() -> list[dict[str, Any]]:
    """The clustering models: the question each answers, and its parameters with defaults, bounds and help."""
    return [entry.to_dict() for entry in CATALOG]


@router.get("/descriptors")
def descriptors() -> list[dict[str, Any]]:
    """The descriptors that compute image features."""
    return [{"name": spec.word, "level": spec.level, "about": spec.about} for spec in DESCRIPTORS.values()]


@router.get("/job-kinds")
def job_kinds() -> list[dict[str, Any]]:
    """The kinds of jobs that POST /jobs takes, with their parameters."""
    return [
        {
            "name": kind.name,
            "title": kind.title,
            "about": kind.about,
            "heavy": kind.heavy,
            "parameters": [parameter.to_dict() for parameter in kind.parameters(parameter_help(kind.name))],
        }
        for kind in kinds()
    ]
