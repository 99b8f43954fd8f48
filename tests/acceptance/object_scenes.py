"""Images of segments of known objects, in groups of known scenes (methods note 15.4, generator G2L)."""

from dataclasses import dataclass

import numpy as np

FOUR_SCENES = np.array(
    [
        (0.60, 0.30, 0.04, 0.02, 0.02, 0.02),
        (0.02, 0.30, 0.60, 0.04, 0.02, 0.02),
        (0.02, 0.02, 0.04, 0.60, 0.30, 0.02),
        (0.02, 0.02, 0.02, 0.04, 0.30, 0.60),
    ]
)
SIX_SCENES = (
    0.4 * np.vstack([FOUR_SCENES, (0.30, 0.02, 0.02, 0.02, 0.04, 0.60), (0.60, 0.02, 0.30, 0.04, 0.02, 0.02)]) + 0.6 / 6
)


@dataclass(frozen=True)
class Drawn:
    """`X` (S, 4) segments of `objects` (S,), of images of `scenes` (I,), looking like `W` (I, 6)."""

    X: np.ndarray
    image: np.ndarray
    objects: np.ndarray
    scenes: np.ndarray
    dives: np.ndarray
    W: np.ndarray

    @property
    def scaled(self) -> np.ndarray:
        return self.X / self.X.std(0)


def sample_scenes(
    seed: int,
    *,
    images: int,
    segments: int,
    apart: float,
    dives: np.ndarray | None = None,
    scenes: np.ndarray | None = None,
    proportions: np.ndarray = FOUR_SCENES,
    looks_apart: float = 3.5,
) -> Drawn:
    """Sample segments: means in random directions at distance `apart`, unit noise; scenes are uniform by default."""
    rng = np.random.default_rng(seed)
    T, K = proportions.shape
    of_image = rng.integers(T, size=images) if scenes is None else scenes
    of_segment = np.repeat(np.arange(images), segments)
    objects = (rng.random((len(of_segment), 1)) > proportions.cumsum(1)[of_image[of_segment]][:, :-1]).sum(1)
    X = apart * _directions(K, 4, rng)[objects] + rng.standard_normal((len(of_segment), 4))
    W = looks_apart * _directions(T, 6, rng)[of_image] + rng.standard_normal((images, 6))
    return Drawn(X, of_segment, objects, of_image, np.zeros(images, int) if dives is None else dives, W)


def in_subsets(scenes: np.ndarray, J: int, rng: np.random.Generator) -> np.ndarray:
    """Return dives of images. Each scene is in each dive with probability one half, in at least one; an image is in any
    of them."""
    present = rng.random((scenes.max() + 1, J)) < 0.5
    present[np.flatnonzero(~present.any(1)), rng.integers(J, size=(~present.any(1)).sum())] = True
    return np.array([rng.choice(np.flatnonzero(present[scene])) for scene in scenes])


def of_subsets(images: int, T: int, J: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return dives and scenes of images. Proportions of each dive are Dirichlet(1), with entries set to zero with
    probability one half."""
    is_selected = rng.random((J, T)) < 0.5
    is_selected[np.flatnonzero(~is_selected.any(1)), rng.integers(T, size=(~is_selected.any(1)).sum())] = True
    shares = rng.dirichlet(np.ones(T), J) * is_selected
    shares /= shares.sum(1, keepdims=True)
    dives = np.arange(images) % J
    return dives, np.array([rng.choice(T, p=shares[j]) for j in dives])


def _directions(count: int, columns: int, rng: np.random.Generator) -> np.ndarray:
    noise = rng.standard_normal((count, columns))
    return noise / np.linalg.norm(noise, axis=1, keepdims=True)
