"""What a job has described so far, on disk part by part, so that a killed or stopped job goes on where it was."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from engine.jobs.describing import Described
from engine.problems import Problem
from engine.workspace.arrays import load_parts, save_parts


class DescribedParts:
    """A folder of parts; each is there wholly or not at all."""

    def __init__(self, folder: Path):
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        whole = [path for path in sorted(folder.iterdir()) if (path / "parts.json").exists()]
        self._next = 1 + max((int(path.name) for path in folder.iterdir()), default=-1)
        self._paths = whole

    def add(self, described: Described) -> None:
        path = self._folder / f"{self._next:06d}"
        sizes = np.array([len(mask) for mask in described.masks], dtype=np.int64)
        save_parts(path, {
            "ids": described.ids, "counts": described.counts, "rows": described.rows, "mask_sizes": sizes,
            "masks": np.frombuffer(b"".join(described.masks), dtype=np.uint8),
            "problems": [[number, vars(problem)] for number, problem in described.problems.items()],
        })
        self._next += 1
        self._paths = [*self._paths, path]

    def __iter__(self) -> Iterator[Described]:
        """The parts in the order they came; rows are mapped, not read."""
        for path in self._paths:
            held = load_parts(path)
            problems = {int(number): Problem(**problem) for number, problem in held["problems"]}
            masks = _split(held["masks"], held["mask_sizes"])
            yield Described(held["ids"], held["counts"], held["rows"], masks, problems)

    @property
    def images(self) -> frozenset[int]:
        """All that need not be looked at again: described, or found unusable."""
        return frozenset(number for part in self for number in (*part.ids.tolist(), *part.problems))

    @property
    def problems(self) -> dict[int, Problem]:
        """Of images that could not be described."""
        return {number: problem for part in self for number, problem in part.problems.items()}

    @property
    def bytes(self) -> int:
        """Size of all rows."""
        return sum(part.rows.nbytes for part in self)


def _split(data: np.ndarray, sizes: Sequence[int]) -> tuple[bytes, ...]:
    ends = np.cumsum(sizes)
    return tuple(data[end - size:end].tobytes() for end, size in zip(ends, sizes, strict=True))
