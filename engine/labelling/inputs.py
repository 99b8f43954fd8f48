"""What the classifier of labels sees of every image: its descriptor, shortened, and its memberships of clusters."""

from dataclasses import dataclass

import numpy as np

from engine.discriminative.kernels import factored, rbf
from engine.discriminative.scaling import overall
from engine.problems import fail

WIDTH = 64            # columns kept of a descriptor: more cost time and gain nothing where labels are few
LEARN_FROM = 5_000    # rows the principal axes are found on
LANDMARKS = 400       # images whose kernel values the curved columns are made of
CURVED = 128          # of them are kept; boundaries bent by them foretell two to four in a hundred images better
BLOCK = 16_384
MEMBERSHIP = 0.7      # weight of memberships beside descriptors whose mean squared norm is one


@dataclass(frozen=True)
class Inputs:
    """`rows` (N, D') float32, made once and learnt from many times; `clusters` (N,) the cluster of each image."""

    rows: np.ndarray
    clusters: np.ndarray

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def n_clusters(self) -> int:
        return int(self.clusters.max(initial=0)) + 1

    def familiarity(self) -> np.ndarray:
        """How ordinary every image is (N,): minus its squared distance to the mean of its cluster."""
        sizes = np.maximum(np.bincount(self.clusters, minlength=self.n_clusters), 1)
        order = np.argsort(self.clusters, kind="stable")
        starts = np.concatenate([[0], np.cumsum(np.bincount(self.clusters))[:-1]])
        filled = np.bincount(self.clusters) > 0
        means = np.zeros((self.n_clusters, self.rows.shape[1]))
        means[filled] = np.add.reduceat(self.rows[order], starts[filled], axis=0) / sizes[filled, None]
        return -((self.rows - means[self.clusters]) ** 2).sum(1)


def inputs(X: np.ndarray, clusters: np.ndarray | None = None, memberships: np.ndarray | None = None, *,
           width: int = WIDTH, rng: np.random.Generator) -> Inputs:
    """Of descriptors X (N, D); with clusters (N,) or memberships (N, K) of a run, those as further columns."""
    N = len(X)
    if memberships is None and clusters is not None:
        memberships = np.eye(int(np.max(clusters)) + 1, dtype=np.float32)[clusters]
    if memberships is not None and len(memberships) != N:
        raise fail("clusters", f"{len(memberships)} for {N} images", "use the run of this feature set")
    scaled = _bent(_shortened(X, width, rng), rng)
    if memberships is None:
        return Inputs(scaled, np.zeros(N, np.int64))
    owned = np.asarray(memberships, np.float32)
    named = owned.argmax(1) if clusters is None else np.asarray(clusters)
    return Inputs(np.hstack([scaled, MEMBERSHIP * owned]), named.astype(np.int64))


def _bent(rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Rows for which straight boundaries are curved ones of the rows given: their map by a Gaussian kernel."""
    landmarks = np.asarray(rows[rng.permutation(len(rows))[:LANDMARKS]], np.float64)
    kernel = rbf(landmarks, None)
    factor = factored(kernel(landmarks, landmarks), CURVED)
    blocks = (factor(kernel(np.asarray(rows[at : at + BLOCK], np.float64), landmarks)).astype(np.float32)
              for at in range(0, len(rows), BLOCK))
    bent = np.concatenate(list(blocks))
    return overall(bent)(bent)


def _shortened(X: np.ndarray, width: int, rng: np.random.Generator) -> np.ndarray:
    """The leading principal axes (N, width), in blocks so that a mapped file is never held whole."""
    if X.shape[1] <= width:
        return np.asarray(X, np.float32)
    sample = np.sort(rng.choice(len(X), min(LEARN_FROM, len(X)), replace=False))
    rows = np.asarray(X[sample], np.float64)
    mean = rows.mean(0)
    axes = np.linalg.eigh((rows - mean).T @ (rows - mean))[1][:, ::-1][:, :width].astype(np.float32)
    offset = mean.astype(np.float32) @ axes
    blocks = (np.asarray(X[at : at + BLOCK], np.float32) @ axes - offset for at in range(0, len(X), BLOCK))
    return np.concatenate(list(blocks))
