"""The job that goes from a folder of images to clusters: import, describe, cluster."""

from collections.abc import Mapping, Sequence
from typing import Any

from benthoscope.engine.exchange.navigation.tracks import MAX_GAP
from benthoscope.engine.features import available
from benthoscope.engine.jobs.chain import ChainStep, run_chain
from benthoscope.engine.jobs.cluster.model_catalog import USUAL_MODEL, USUAL_WIDTH, entry_named
from benthoscope.engine.jobs.context import JobContext
from benthoscope.engine.jobs.labels.typical import store_typical
from benthoscope.engine.problems import fail
from benthoscope.engine.workspace import Workspace


def start(
    job: JobContext,
    workspace: Workspace,
    *,
    folder: str,
    collection: str | None = None,
    kind: str | None = None,
    group_level: int | None = None,
    mapping: Mapping[str, str] | None = None,
    metadata: Sequence[str] = (),
    workers: int | None = None,
    check_content: bool = False,
    follow_links: bool = False,
    navigation: Sequence[str] = (),
    clock_offset: float | None = None,
    max_gap: float = MAX_GAP,
    width: float = USUAL_WIDTH,
    name: str | None = None,
    seed: int = 0,
) -> dict[str, Any]:
    """Import the images below `folder` and cluster all images of the workspace.

    The parameters are those of the jobs "import" and "cluster". Returns the counts of the import, the run and the
    number of its clusters.
    """
    import_parameters = {
        "folder": folder,
        "collection": collection,
        "kind": kind,
        "group_level": group_level,
        "mapping": mapping,
        "metadata": list(metadata),
        "workers": workers,
        "check_content": check_content,
        "follow_links": follow_links,
        "navigation": list(navigation),
        "clock_offset": clock_offset,
        "max_gap": max_gap,
    }
    imported, _, run = run_chain(job, workspace, steps(import_parameters, width, name, seed))
    store_typical(workspace, seed)  # the first page of Learn
    return {
        "images": imported["images"],
        "new": imported["new"],
        "bad": imported["bad"],
        "run": run["run"],
        "name": run["name"],
        "clusters": run["clusters"],
        "levels": run["levels"],
    }


def steps(import_parameters: Mapping[str, Any], width: float, name: str | None, seed: int) -> list[ChainStep]:
    """Return the three steps. Their shares of the progress bar are those of typical work."""
    fitted = clustering(width, name, seed)
    return [
        ChainStep("import", "import images", import_parameters, 20, _refuse_no_images),
        ChainStep("features", "describe images", {"kinds": [fitted["features"]], "seed": seed}, 65),
        ChainStep("cluster", "cluster images", fitted, 15),
    ]


def clustering(width: float = USUAL_WIDTH, name: str | None = None, seed: int = 0) -> dict[str, Any]:
    """Return the parameters of the final job "cluster"."""
    word, _ = available("deep")
    return {
        "model": USUAL_MODEL,
        "features": word,
        "width": width,
        "name": name,
        "seed": seed,
        "parameters": {"observation": entry_named(USUAL_MODEL).observation},
    }


def _refuse_no_images(imported: Mapping[str, Any]) -> None:
    if not imported["images"]:
        raise fail("import", "the folder contains no images", "choose another folder")
