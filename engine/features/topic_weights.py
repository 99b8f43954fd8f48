"""The descriptor of images by the topics of their patches. The vocabulary of patches is inferred with the topics."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from benthoscope.engine.compute import InOrder
from benthoscope.engine.features import descriptor as projected
from benthoscope.engine.features.compression import PrincipalAxes
from benthoscope.engine.features.descriptor import Projected, Segments
from benthoscope.engine.features.patches import SiftPatches
from benthoscope.engine.problems import fail
from benthoscope.engine.progress import OnStep, Progress, ignore
from benthoscope.engine.topics import InfiniteWordTopicModel

PATCHES, TOPICS = "patches.", "topics."
COLUMNS = 24  # principal axes of the patches; spherical clusters in more columns follow noise
PASSES = 30
MOST_CLUSTERS = 200


def _patches() -> Projected:
    return Projected(SiftPatches(), PrincipalAxes(COLUMNS))


@dataclass(frozen=True)
class TopicWeights:
    """Expected topic weights of dense SIFT patches; the values of an image sum to 1."""

    n_topics: int = 20
    patches: Projected = field(default_factory=_patches)
    topics: InfiniteWordTopicModel | None = field(default=None, repr=False, compare=False)

    name: ClassVar[str] = "topics"
    version: ClassVar[int] = 1
    level: ClassVar[str] = "image"

    @property
    def longest(self) -> int | None:
        return self.patches.longest

    @property
    def width(self) -> int:
        return self.n_topics

    @property
    def parameters(self) -> dict[str, Any]:
        return {"n_topics": self.n_topics, "patches": self.patches.parameters}

    @cached_property
    def arrays(self) -> dict[str, np.ndarray]:
        if self.topics is None:
            return {}
        topics, _ = self.topics.to_arrays()
        del topics["topic_weights"]  # of the training images, which new images do not need
        return {
            **{f"{PATCHES}{name}": value for name, value in self.patches.arrays.items()},
            **{f"{TOPICS}{name}": value for name, value in topics.items()},
        }

    @classmethod
    def restored(cls, parameters: dict[str, Any], arrays: dict[str, np.ndarray]) -> "TopicWeights":
        settings = dict(parameters["patches"])
        reducer = settings.pop("projection")
        base = SiftPatches.restored(settings, {})
        if not arrays:
            return cls(parameters["n_topics"])
        learned = {
            name.removeprefix(f"{PATCHES}projection."): value
            for name, value in arrays.items()
            if name.startswith(f"{PATCHES}projection.")
        }
        of_topics = {name.removeprefix(TOPICS): value for name, value in arrays.items() if name.startswith(TOPICS)}
        model = InfiniteWordTopicModel.from_arrays(of_topics, _metadata(parameters["n_topics"], of_topics))
        return cls(parameters["n_topics"], projected.restored(base, reducer, learned), model)

    def fit(self, images: Iterable[np.ndarray], *, random_state=None, on_step: OnStep = ignore) -> "TopicWeights":
        rng = np.random.default_rng(random_state)
        base = self.patches.base.fit(images, random_state=rng, on_step=on_step)
        rows = []
        for done, image in enumerate(images):
            on_step(Progress(done, None, "describing patches of the training images"))
            rows.append(projected.long_rows(base.describe(image)))
        if not rows:
            raise fail("topics", "there are no training images", "import images first")
        patches = self.patches.onto(base, rows, rng, on_step)
        short = [patches.projection(row) for row in rows]
        model = InfiniteWordTopicModel(
            self.n_topics, inference="svi", n_clusters=_truncation(sum(map(len, short))), max_iter=PASSES, n_init=1,
            random_state=int(rng.integers(2**31)),
        )  # fmt: skip
        model.fit(short, on_step=on_step)
        return replace(self, patches=patches, topics=model)

    def describe(self, image: np.ndarray) -> np.ndarray:
        if self.topics is None:
            raise fail("topics", "there are no topics yet", "call fit, or load a saved descriptor")
        described = self.patches.describe(image)
        assert isinstance(described, Segments)
        return self.topics.transform([described.vectors], compute=InOrder())[0].astype(np.float32)


def _metadata(n_topics: int, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """Return what `InfiniteWordTopicModel.from_arrays` needs besides arrays. All else is fixed."""
    history = arrays["lower_bound_history"]
    arrays["topic_weights"] = np.zeros((0, n_topics))
    return {
        "model": InfiniteWordTopicModel.__name__,
        "params": {"n_topics": n_topics, "inference": "svi", "n_init": 1},
        "n_iter": len(history),
        "converged": False,
        "lower_bound": float(history[-1]),
    }


def _truncation(count: int) -> int:
    return max(1, min(MOST_CLUSTERS, count // 4))
