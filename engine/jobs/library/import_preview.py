"""Preview of an import: the images and metadata found, how they were understood, and corrections."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from benthoscope.engine.exchange.image_import.import_plan import ImportOptions, ImportPlan
from benthoscope.engine.exchange.image_import.sources import Source
from benthoscope.engine.exchange.metadata.columns import DROP, FIELDS, KEEP
from benthoscope.engine.exchange.parsing.values import moment_in_name
from benthoscope.engine.exchange.records import ImageRecord
from benthoscope.engine.jobs.library.import_images import describe_track, looked_through, planned
from benthoscope.engine.problems import Problem
from benthoscope.engine.progress import OnStep, ignore
from benthoscope.engine.workspace import Workspace

MEANINGS = {
    **{field.name: field.title for field in FIELDS.values()},
    KEEP: "stored unchanged under its own name",
    DROP: "not imported",
}
SAMPLES = 3  # cells shown of each column
SHOWN = 12  # images shown


@dataclass(frozen=True)
class ColumnPreview:
    name: str
    meaning: str  # a key of MEANINGS
    samples: tuple[str, ...]


@dataclass(frozen=True)
class SourcePreview:
    """A metadata file: its kind, the number of images it matches, and the columns if it is a table."""

    file: str
    kind: str
    images: int
    columns: tuple[ColumnPreview, ...]


@dataclass(frozen=True)
class ImagePreview:
    """An image as its metadata would describe it; EXIF is only read by the import itself."""

    path: str
    collection: str
    group: str
    taken_at: str  # "2017-05-26 04:25:55 UTC" or ""
    latitude: float | None
    longitude: float | None
    depth: float | None
    altitude: float | None


@dataclass(frozen=True)
class GroupPreview:
    collection: str
    name: str
    images: int


@dataclass(frozen=True)
class NavigationPreview:
    """Effect of navigation files. Before the import only times from metadata and file names are known."""

    files: tuple[dict[str, Any], ...]
    matched: int
    without_fix: int
    without_time: int
    examples: tuple[str, ...]  # images without a fix
    max_gap: float
    clock_offset: float


@dataclass(frozen=True)
class ImportPreview:
    """An import before it happens. A correction gives a new preview; the folder is scanned only once."""

    plan: ImportPlan
    metadata: tuple[str, ...] = ()
    navigation_files: tuple[str, ...] = ()
    follow_links: bool = False

    @classmethod
    def of(
        cls,
        folder: str | Path,
        options: ImportOptions | None = None,
        *,
        workspace: Workspace | None = None,
        metadata: Sequence[str] = (),
        navigation: Sequence[str] = (),
        follow_links: bool = False,
        on_step: OnStep = ignore,
    ) -> "ImportPreview":
        """Scan the folder. Raises BadInput if an option cannot be applied."""
        scan = looked_through(Path(folder), workspace, on_step, follow_links=follow_links)
        plan = planned(scan, options or ImportOptions(), metadata, on_step, navigation=navigation)
        return cls(plan, tuple(metadata), tuple(navigation), follow_links)

    def with_meaning(self, column: str, meaning: str) -> "ImportPreview":
        """Correct the meaning of a column."""
        return self._with(mapping={**self.plan.options.mapping, column: meaning})

    def with_group_level(self, level: int | None) -> "ImportPreview":
        """Use the folders of this level as dives or albums; None restores the guess."""
        return self._with(group_level=level)

    def with_collection(self, name: str | None, kind: str | None = None) -> "ImportPreview":
        return self._with(collection=name, kind=kind)

    def with_navigation(self, clock_offset: float | None, max_gap: float, file: str = "") -> "ImportPreview":
        """Match navigation files with these settings; `file` is an additional file."""
        new_files = (file,) if file and file not in self.navigation_files else ()
        preview = ImportPreview(self.plan, self.metadata, (*self.navigation_files, *new_files), self.follow_links)
        return preview._with(clock_offset=clock_offset, max_gap=max_gap)

    def _with(self, **options: Any) -> "ImportPreview":
        plan = planned(
            self.plan.survey, replace(self.plan.options, **options), self.metadata, navigation=self.navigation_files
        )
        return ImportPreview(plan, self.metadata, self.navigation_files, self.follow_links)

    @property
    def skipped_links(self) -> int:
        return self.plan.survey.skipped_links

    @cached_property
    def navigation(self) -> NavigationPreview | None:
        """How navigation files would be matched; None if there are none."""
        navigation = self.plan.navigation
        if not navigation.tracks:
            return None
        paths = [file.path for file in self.plan.survey.images]
        times = np.array([self._time(path) for path in paths], np.float64)
        known = np.isfinite(times)
        covered = np.zeros(len(paths), bool)
        covered[known] = navigation.covers(times[known])
        missing = [path for path, bad in zip(paths, known & ~covered, strict=True) if bad]
        return NavigationPreview(
            tuple(map(describe_track, navigation.tracks)),
            int(covered.sum()),
            len(missing),
            int((~known).sum()),
            tuple(missing[:SHOWN]),
            navigation.max_gap,
            navigation.clock_offset or 0.0,
        )

    def _time(self, path: str) -> float:
        """Time of the image from metadata or its file name; NaN if unknown."""
        record = self.plan.records.get(path)
        if record is not None and record.taken_at is not None:
            return record.taken_at
        by_name = moment_in_name(path.rpartition("/")[2])[0]
        return math.nan if by_name is None else by_name + (self.plan.navigation.clock_offset or 0.0)

    @property
    def images(self) -> int:
        return len(self.plan.survey.images)

    @property
    def ignored(self) -> Mapping[str, int]:
        """Number of files that are not images, by file ending."""
        return self.plan.survey.ignored

    @property
    def problems(self) -> tuple[Problem, ...]:
        return self.plan.problems

    @property
    def groups(self) -> tuple[GroupPreview, ...]:
        return tuple(GroupPreview(*group_key, count) for group_key, count in sorted(self.plan.groups().items()))

    @property
    def sources(self) -> tuple[SourcePreview, ...]:
        return tuple(
            SourcePreview(source.name, source.kind.title, len(self.plan.spoken_of[source.name]), _columns(source))
            for source in self.plan.sources
        )

    @property
    def rows(self) -> tuple[ImagePreview, ...]:
        """The first images, those with metadata before the others."""
        paths = sorted((file.path for file in self.plan.survey.images), key=lambda path: path not in self.plan.records)
        return tuple(self._row(path) for path in paths[:SHOWN])

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters of the import job that does what is shown."""
        survey, options = self.plan.survey, self.plan.options
        return {
            "folder": str(survey.folder / survey.start),
            "collection": options.collection,
            "kind": options.kind,
            "group_level": options.group_level,
            "mapping": dict(options.mapping),
            "metadata": list(self.metadata),
            "navigation": list(self.navigation_files),
            "clock_offset": options.clock_offset,
            "max_gap": options.max_gap,
            "follow_links": self.follow_links,
        }

    def _row(self, path: str) -> ImagePreview:
        record, group_key = self._joined(path), self.plan.group_key_of(path)
        if record is None:
            return ImagePreview(path, *group_key, "", None, None, None, None)
        return ImagePreview(
            path, *group_key, _shown(record.taken_at), record.latitude, record.longitude, record.depth, record.altitude
        )

    def _joined(self, path: str) -> ImageRecord | None:
        """Metadata of an image, with values from navigation files."""
        time = self._time(path)
        return self.plan.record_of(path, None if math.isnan(time) else time)


def _columns(source: Source) -> tuple[ColumnPreview, ...]:
    if source.table is None:
        return ()
    rows = [cells for _, cells in source.table.rows[:SAMPLES]]
    return tuple(
        ColumnPreview(name, source.mapping.get(name, KEEP), tuple(row[at] for row in rows if at < len(row)))
        for at, name in enumerate(source.table.header)
    )


def _shown(moment: float | None) -> str:
    return "" if moment is None else datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
