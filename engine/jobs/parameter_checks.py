"""Check the values of a job's parameters before it is queued, so that a typing error never becomes a stored failed job.

Each check gets the workspace, the parameters, and `pending`: the kinds of waiting or running jobs. Images or feature
sets that such a job may still create need not exist yet. `engine.jobs.kinds` names the check of each kind of job.
"""

from collections.abc import Collection
from pathlib import Path

import numpy as np

from benthoscope.engine.jobs.kinds import kind_named
from benthoscope.engine.jobs.parameter_types import Parameters, check_parameters, check_values
from benthoscope.engine.problems import fail, unknown
from benthoscope.engine.workspace import Workspace


def check_import(workspace: Workspace, parameters: Parameters, pending: Collection[str]) -> None:
    from benthoscope.engine.exchange.image_import.import_plan import check_options
    from benthoscope.engine.jobs.library.import_images import import_options, looked_through, planned

    folder = Path(parameters["folder"]).expanduser()
    if not folder.is_dir():
        raise fail(str(folder), "is not a folder", "give the folder with the images")
    _check_at_least_one("workers", parameters.get("workers"))
    options = import_options(parameters)
    check_options(options)
    extra = [*(parameters.get("metadata") or ()), *(parameters.get("navigation") or ())]
    for path in extra:
        _check_file(path)
    if options.mapping or extra:  # only these tables show whether they are useful
        survey = looked_through(folder, workspace, follow_links=bool(parameters.get("follow_links")))
        planned(survey, options, parameters.get("metadata") or (), navigation=parameters.get("navigation") or ())


def check_features(workspace: Workspace, parameters: Parameters, pending: Collection[str]) -> None:
    from benthoscope.engine.jobs.describe.describe_images import PARAMETER_TYPES, check_request

    check_values(parameters, PARAMETER_TYPES)
    _check_collection(workspace, parameters, pending)
    if not workspace.library.count_images() and "import" not in pending:
        raise fail("images", "there are no images", "import some first with `benthoscope import FOLDER`")
    for name in ("workers", "dimension", "input_size", "learn_from"):
        _check_at_least_one(name, parameters.get(name))
    check_request(workspace, parameters)


def check_cluster(workspace: Workspace, parameters: Parameters, pending: Collection[str]) -> None:
    from benthoscope.engine.jobs.cluster.cluster_images import refuse_for_distances, share
    from benthoscope.engine.jobs.cluster.cluster_segments import refuse_unsuited
    from benthoscope.engine.jobs.cluster.fit_request import FitRequest, estimator_for
    from benthoscope.engine.jobs.cluster.model_catalog import (
        learns_from_stream,
        looks_at_segments,
        with_width,
        with_widths,
    )
    from benthoscope.engine.jobs.cluster.streamed_rows import refuse_for_stream

    model, hold_out, width = (
        parameters.get(name, default) for name, default in (("model", "gmc"), ("hold_out", 0.0), ("width", 0.05))
    )
    parameters_of_model = dict(parameters.get("parameters") or {})
    if looks_at_segments(model):
        refuse_unsuited(model, hold_out, parameters.get("crowd"))
        _check_segments(workspace, model, parameters, pending)
        parameters_of_model = with_widths(model, width, parameters.get("segment_width"), parameters_of_model)
    else:
        if learns_from_stream(model):
            refuse_for_stream(model, hold_out, parameters.get("crowd"))
        _check_image_features(workspace, parameters.get("features", "deep"), pending)
        parameters_of_model = with_width(model, width, parameters_of_model)
    estimator = estimator_for(FitRequest(model, parameters_of_model, "", share(hold_out), parameters.get("seed", 0)))
    getattr(estimator, "_check_parameters", lambda: None)()
    if not looks_at_segments(model):
        refuse_for_distances(estimator, model, hold_out, bool(parameters.get("crowd")))
    if hasattr(estimator, "refuse_many") and "features" not in pending and not parameters.get("collection"):
        estimator.refuse_many(workspace.features.open(parameters.get("features", "deep")).sidecar.rows)
    _check_at_least_one("dimensions", parameters.get("dimensions"))
    _check_collection(workspace, parameters, pending)
    if parameters.get("crowd"):
        workspace.runs.named(parameters["crowd"])


def _check_segments(workspace: Workspace, model: str, parameters: Parameters, pending: Collection[str]) -> None:
    """Check the sets the job will use: segments and, for models of both, whole images."""
    from benthoscope.engine.jobs.cluster.cluster_segments import FITTING, IMAGE_FEATURES
    from benthoscope.engine.jobs.cluster.inputs import segment_set

    if "features" in pending:
        return
    features, segments = parameters.get("features", IMAGE_FEATURES), parameters.get("segments")
    if features in workspace.features and workspace.features.open(features).level == "segment":
        features, segments = IMAGE_FEATURES, segments or features
    segment_set(workspace, segments, FITTING[model].usual_set)
    if FITTING[model].wants_images:
        _check_image_features(workspace, features, pending)


def _check_image_features(workspace: Workspace, name: str, pending: Collection[str]) -> None:
    if name not in workspace.features and "features" in pending:
        return
    if workspace.features.open(name).level != "image":
        raise fail(f"features {name}", "describes segments, not whole images", "choose a feature set of whole images")


def check_extend_topics(workspace: Workspace, parameters: Parameters, pending: Collection[str]) -> None:
    from benthoscope.engine.jobs.cluster.extend_topics import added_images, extendable_run

    _check_collection(workspace, parameters, pending)
    if "cluster" in pending and parameters.get("run") is None:
        return
    run = extendable_run(workspace, parameters.get("run"))
    if "features" not in pending:
        added_images(workspace, run, parameters.get("collection"))


def check_crowd(workspace: Workspace, parameters: Parameters, pending: Collection[str]) -> None:
    from benthoscope.engine.jobs.crowd import METHODS

    method, clusters = parameters.get("method", "bayes"), parameters.get("clusters")
    if method not in METHODS:
        raise unknown("method", method, METHODS)
    if method == "nmf" and clusters is None:
        raise fail("method nmf", "cannot estimate the number of clusters", "give it with --clusters")
    _check_at_least_one("clusters", clusters)
    if parameters.get("more", 0) < 0:
        raise fail("more", f"must be 0 or more (got {parameters['more']})")
    campaign = workspace.crowd.named(str(parameters["campaign"]))
    if not workspace.crowd.answers(campaign.id):
        raise fail(f"crowd campaign {campaign.name}", "has no answers yet", "wait for answers")


def check_split(workspace: Workspace, parameters: Parameters, pending: Collection[str]) -> None:
    from benthoscope.engine.jobs.cluster.split_cluster import members_to_split

    members_to_split(workspace, workspace.runs.get(parameters["run"]), parameters["cluster"])


def check_steer(workspace: Workspace, parameters: Parameters, pending: Collection[str]) -> None:
    from benthoscope.engine.jobs.cluster.constrained import chosen_run

    if "cluster" not in pending:
        chosen_run(workspace, parameters.get("run"))


def check_relink(workspace: Workspace, parameters: Parameters, pending: Collection[str]) -> None:
    from benthoscope.engine.jobs.library.relink import chosen_root, folder_of_images

    folder_of_images(parameters["folder"])
    chosen_root(workspace, parameters.get("root"))


def check_projection(workspace: Workspace, parameters: Parameters, pending: Collection[str]) -> None:
    _check_image_features(workspace, parameters.get("features", "deep"), pending)
    _check_at_least_one("neighbours", parameters.get("neighbours"))


def check_learn(workspace: Workspace, parameters: Parameters, pending: Collection[str]) -> None:
    if parameters.get("run") is not None:
        workspace.runs.get(parameters["run"])
    if parameters.get("features") and "features" not in pending:
        workspace.features.open(parameters["features"])


def check_typical(workspace: Workspace, parameters: Parameters, pending: Collection[str]) -> None:
    from benthoscope.engine.labelling.training_data import chosen_features

    if "features" not in pending:
        chosen_features(workspace)


def check_remember(workspace: Workspace, parameters: Parameters, pending: Collection[str]) -> None:
    from benthoscope.engine.jobs.labels.remember import check_memory

    _check_at_least_one("limit", parameters.get("limit"))
    check_memory(
        workspace,
        parameters["name"],
        parameters.get("features"),
        parameters.get("folder"),
        overwrite=bool(parameters.get("overwrite")),
    )


def check_export(workspace: Workspace, parameters: Parameters, pending: Collection[str]) -> None:
    from benthoscope.engine.exchange.labels.formats import format_named
    from benthoscope.engine.jobs.cluster.inputs import segment_set
    from benthoscope.engine.jobs.labels.export_collect import chosen_images

    format_named(parameters["format"])
    output = Path(parameters["output"]).expanduser()
    if output.exists() and not output.is_dir():
        raise fail(str(output), "is a file, not a folder", "give a folder to write to")
    if "import" not in pending:
        chosen_images(workspace, *(parameters.get(name) for name in ("collection", "dive", "selection")))
    if parameters.get("run") is not None:
        workspace.runs.named(parameters["run"])
    if parameters.get("until"):
        workspace.labels.event(parameters["until"])
    if parameters.get("segments"):
        segment_set(workspace, parameters["segments"])
    if parameters.get("vocabulary") is not None:
        _check_vocabulary(workspace, parameters["vocabulary"])
    _check_at_least_one("level", parameters.get("level"))


def check_import_labels(workspace: Workspace, parameters: Parameters, pending: Collection[str]) -> None:
    from benthoscope.engine.jobs.labels.import_labels import read_sources
    from benthoscope.engine.jobs.labels.label_import import images_of

    if not parameters["files"]:
        raise fail("files", "no file was given", "give one or more files")
    for path in parameters["files"]:
        _check_file(path)
    for meaning in (parameters.get("mapping") or {}).values():
        if meaning not in ("image", "label"):
            raise unknown("mapping", meaning, ("image", "label"))
    if "import" not in pending:
        images_of(workspace, parameters.get("collection"), parameters.get("dive"))
    vocabulary = parameters.get("vocabulary")
    known = {each.name for each in workspace.vocabularies.all()}
    if vocabulary is not None and vocabulary not in known and not parameters.get("add_terms"):
        sources = read_sources(parameters["files"], parameters.get("mapping"))
        known |= {name for source in sources for name in source.reading.vocabularies}
        if vocabulary not in known:
            raise unknown("vocabulary", vocabulary, known)


def _check_vocabulary(workspace: Workspace, name: str) -> None:
    known = [each.name for each in workspace.vocabularies.all()]
    if name not in known:
        raise unknown("vocabulary", name, known)


def _check_collection(workspace: Workspace, parameters: Parameters, pending: Collection[str]) -> None:
    if parameters.get("collection") and "import" not in pending:
        workspace.library.collection_named(parameters["collection"])


def _check_at_least_one(name: str, value: int | None) -> None:
    if value is not None and not value >= 1:
        raise fail(name, f"must be a whole number of at least 1 (got {value})")


def _check_file(path: str) -> None:
    file = Path(path).expanduser()
    if not file.is_file():
        raise fail(str(file), "is not a file" if file.exists() else "does not exist", "check the path")


def check_start(workspace: Workspace, parameters: Parameters, pending: Collection[str]) -> None:
    from benthoscope.engine.jobs.library.start import clustering

    check_import(workspace, parameters, pending)
    fitted = {name: parameters[name] for name in ("width", "name", "seed") if name in parameters}
    check_cluster(workspace, clustering(**fitted), (*pending, "import", "features"))


def check_chain(workspace: Workspace, parameters: Parameters, pending: Collection[str]) -> None:
    from benthoscope.engine.jobs.chain import parsed_step

    before = list(pending)
    if not parameters["steps"]:
        raise fail("chain", "there are no steps", "give at least one")
    for step in map(parsed_step, parameters["steps"]):
        check_parameters(workspace, kind_named(step.kind), step.parameters, before)
        before.append(step.kind)


def check_levels(workspace: Workspace, parameters: Parameters, pending: Collection[str]) -> None:
    from benthoscope.engine.jobs.cluster.levels import usual_run

    if parameters.get("run") is not None or "cluster" not in pending:
        usual_run(workspace, parameters.get("run"))


def check_exemplars(workspace: Workspace, parameters: Parameters, pending: Collection[str]) -> None:
    from benthoscope.engine.jobs.cluster.exemplars import run_of_exemplars

    if parameters.get("run") is not None or "cluster" not in pending:
        run_of_exemplars(workspace, parameters.get("run"))


def check_predict(workspace: Workspace, parameters: Parameters, pending: Collection[str]) -> None:
    from benthoscope.engine.analysis.column_prediction import FEWEST
    from benthoscope.engine.jobs.predict.predict_column import PARAMETERS, column_rows

    for name, about in PARAMETERS.items():
        value = parameters.get(name)
        low, high = about.minimum, about.maximum
        if value is not None and low is not None and not low <= value <= (high or np.inf):
            span = f"from {low:g} to {high:g}" if high else f"of at least {low:g}"
            raise fail(name, f"must be a whole number {span} (got {value})")
    if {"import", "features"} & set(pending):
        return
    scope = {name: parameters.get(name) for name in ("features", "collection", "dive")}
    data = column_rows(workspace, parameters["column"], **scope)
    measured = int(np.isfinite(data.values).sum())
    if measured < FEWEST:
        raise fail(
            f"column {parameters['column']}",
            f"only {measured} images with features have a value",
            f"at least {FEWEST} are needed",
        )
