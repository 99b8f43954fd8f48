"""Segments and images clustered together: 100,000 and a million segments, compared with the reference, then five
million."""

from collections.abc import Iterator

import numpy as np

from benthoscope.engine.metrics import v_measure
from tests.benchmarks.grouped_rows import REFERENCE
from tests.benchmarks.image_rows import LevelsRun, Survey, fitted, own_survey, reference_survey
from tests.benchmarks.measure import Table

HUNDRED_THOUSAND, MILLION = 100_000, 1_000_000
REFERENCE_CPU = {(HUNDRED_THOUSAND, "scm"): 22.0, (HUNDRED_THOUSAND, "mcm"): 23.0, (MILLION, "mcm"): 258.0}
REFERENCE_LABELS = {(HUNDRED_THOUSAND, "scm"): "SCM", (HUNDRED_THOUSAND, "mcm"): "MCM", (MILLION, "mcm"): "MCM_1m"}
IMAGES, SEGMENTS, COLUMNS, DIVES = 100_000, 50, 15, 20
BOUNDS = "At most 3 CPU s at 100,000 and 25 at a million; segments no worse than .974, images of mcm than .96."


def tables() -> Iterator[Table]:
    for n, names in ((HUNDRED_THOUSAND, ("scm", "mcm", "gmc-segments")), (MILLION, ("mcm",))):
        survey = reference_survey(n)
        yield Table(
            f"Two levels, {n:,} segments x 20 of {n // 100:,} images, complete process including imports and reading",
            [
                "model",
                "CPU s",
                "peak MB",
                "K",
                "T",
                "V segments",
                "V images",
                "reference CPU s",
                "reference V segments",
                "reference V images",
                "times fewer CPU s",
            ],
            [_row(n, name, survey, fitted(name, survey)) for name in names],
            [BOUNDS],
        )
    yield _five_million()


def _row(n: int, name: str, survey: Survey, run: LevelsRun) -> list:
    cells = [
        name,
        run.cpu,
        run.peak,
        run.K,
        run.T or "-",
        f"{v_measure(survey.kinds, run.labels):.5f}",
        f"{v_measure(survey.scenes, run.scenes):.4f}" if run.T else "-",
    ]
    cpu, word = REFERENCE_CPU.get((n, name)), REFERENCE_LABELS.get((n, name))
    if word is None or not (REFERENCE / "reference_labels.npz").exists():
        return [*cells, cpu or "-", "-", "-", "-"]
    with np.load(REFERENCE / "reference_labels.npz") as archive:
        segments, images = (
            v_measure(truth, archive[f"{word}_{level}"]) for truth, level in ((survey.kinds, "z"), (survey.scenes, "y"))
        )
    return [*cells, cpu, f"{segments:.5f}", f"{images:.4f}", cpu / run.cpu]


def _five_million() -> Table:
    survey = own_survey(IMAGES, SEGMENTS, COLUMNS, DIVES)
    run = fitted("mcm", survey)
    row = [
        f"{IMAGES * SEGMENTS:,}",
        run.wall / 60,
        run.cpu,
        run.peak / 1024,
        run.K,
        run.T,
        f"{v_measure(survey.kinds, run.labels):.4f}",
        f"{v_measure(survey.scenes, run.scenes):.4f}",
    ]
    return Table(
        f"MCM on {IMAGES:,} images of {SEGMENTS} segments x {COLUMNS}, {DIVES} dives, from files",
        ["segments", "wall minutes", "CPU s", "peak GB", "K", "T", "V segments", "V images"],
        [row],
        ["To be under 15 minutes and 6 GB on two cores."],
    )
