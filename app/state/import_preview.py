"""What a person sees before an import: what was found, what it was taken for, and what can be put right."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from engine.exchange.columns import DROP, FIELDS, KEEP
from engine.exchange.plan import Plan, Wishes
from engine.exchange.sources import Source
from engine.jobs.import_images import looked_through, planned
from engine.problems import Problem
from engine.progress import OnStep, ignore
from engine.workspace import Workspace

MEANINGS = {**{field.name: field.title for field in FIELDS.values()},
            KEEP: "kept as it is, under its own name", DROP: "left out"}
SAMPLES = 3  # cells shown of each column
SHOWN = 12   # images shown


@dataclass(frozen=True)
class ColumnPreview:
    name: str
    meaning: str  # a key of MEANINGS
    samples: tuple[str, ...]


@dataclass(frozen=True)
class SourcePreview:
    """A metadata file: what it was taken for, how many images it speaks of, its columns if it is a table."""

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
class ImportPreview:
    """An import before it happens. What a person puts right gives a new preview; the folder is walked only once."""

    plan: Plan
    metadata: tuple[str, ...] = ()

    @classmethod
    def of(cls, folder: str | Path, wishes: Wishes | None = None, *, workspace: Workspace | None = None,
           metadata: Sequence[str] = (), on_step: OnStep = ignore) -> "ImportPreview":
        """Looks at the folder; raises BadInput where a wish cannot be fulfilled."""
        found = looked_through(Path(folder), workspace, on_step)
        return cls(planned(found, wishes or Wishes(), metadata, on_step), tuple(metadata))

    def with_meaning(self, column: str, meaning: str) -> "ImportPreview":
        """The column means something else than was guessed."""
        return self._with(mapping={**self.plan.wishes.mapping, column: meaning})

    def with_group_level(self, level: int | None) -> "ImportPreview":
        """The folders of this level are the dives or albums; None leaves it to the guess."""
        return self._with(group_level=level)

    def with_collection(self, name: str | None, kind: str | None = None) -> "ImportPreview":
        return self._with(collection=name, kind=kind)

    def _with(self, **wishes: Any) -> "ImportPreview":
        return replace(self, plan=planned(self.plan.survey, replace(self.plan.wishes, **wishes), self.metadata))

    @property
    def images(self) -> int:
        return len(self.plan.survey.images)

    @property
    def ignored(self) -> Mapping[str, int]:
        """How many files that are no images there are, by ending."""
        return self.plan.survey.ignored

    @property
    def problems(self) -> tuple[Problem, ...]:
        return self.plan.problems

    @property
    def groups(self) -> tuple[GroupPreview, ...]:
        return tuple(GroupPreview(*place, count) for place, count in sorted(self.plan.groups().items()))

    @property
    def sources(self) -> tuple[SourcePreview, ...]:
        return tuple(SourcePreview(source.name, source.kind.title, len(self.plan.spoken_of[source.name]),
                                   _columns(source)) for source in self.plan.sources)

    @property
    def rows(self) -> tuple[ImagePreview, ...]:
        """The first images, those with metadata before the others."""
        paths = sorted((file.path for file in self.plan.survey.images), key=lambda path: path not in self.plan.records)
        return tuple(self._row(path) for path in paths[:SHOWN])

    @property
    def parameters(self) -> dict[str, Any]:
        """What the import job has to be given to do as shown."""
        survey, wishes = self.plan.survey, self.plan.wishes
        return {"folder": str(survey.folder / survey.start), "collection": wishes.collection, "kind": wishes.kind,
                "group_level": wishes.group_level, "mapping": dict(wishes.mapping), "metadata": list(self.metadata)}

    def _row(self, path: str) -> ImagePreview:
        record, place = self.plan.records.get(path), self.plan.place(path)
        if record is None:
            return ImagePreview(path, *place, "", None, None, None, None)
        return ImagePreview(path, *place, _shown(record.taken_at), record.latitude, record.longitude, record.depth,
                            record.altitude)


def _columns(source: Source) -> tuple[ColumnPreview, ...]:
    if source.table is None:
        return ()
    rows = [cells for _, cells in source.table.rows[:SAMPLES]]
    return tuple(ColumnPreview(name, source.mapping.get(name, KEEP), tuple(row[at] for row in rows if at < len(row)))
                 for at, name in enumerate(source.table.header))


def _shown(moment: float | None) -> str:
    return "" if moment is None else datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
