"""The images that stand for each cluster, in four kinds; the best kind takes its time and is made in the background."""

import threading
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from app.state.app_state import AppState
from app.state.atlas import Atlas, placed
from app.state.shapes import image_features
from engine.exemplars import StreamGreedy, constant
from engine.problems import unknown
from engine.workspace.features import FeatureSet
from engine.workspace.files import replacing

EACH = 9           # images on a card
LOOKED_AT = 4_000  # members among which exemplars are sought: beyond that they change no more than by chance
SEED = 0


def surest(atlas: Atlas, members: np.ndarray, count: int) -> np.ndarray:
    return _by_probability(atlas, members, count, -1)


def borderline(atlas: Atlas, members: np.ndarray, count: int) -> np.ndarray:
    return _by_probability(atlas, members, count, 1)


def at_random(atlas: Atlas, members: np.ndarray, count: int) -> np.ndarray:
    return np.random.default_rng(SEED).permutation(members)[:count]


KINDS: Mapping[str, str] = {"exemplars": "Exemplars", "sure": "Sure", "borderline": "Borderline", "random": "Random"}
AT_ONCE: Mapping[str, Callable[[Atlas, np.ndarray, int], np.ndarray]] = {
    "sure": surest, "borderline": borderline, "random": at_random}


def _by_probability(atlas: Atlas, members: np.ndarray, count: int, sign: int) -> np.ndarray:
    """Ties, of which there are many at probability 1, are broken by a fixed chance and not by the time of day."""
    chance = np.random.default_rng(SEED).random(len(members))
    sought = np.nan_to_num(sign * atlas.probability[members], nan=0.0)
    return members[np.lexsort((chance, sought))[:count]]


class ExemplarBook:
    """The exemplars of one run, chosen cluster by cluster on one thread; `listeners` are told of every cluster."""

    def __init__(self, app: AppState, atlas: Atlas):
        self._atlas, self._features = atlas, image_features(app, atlas)
        self._path = atlas.run.folder / "exemplars.npy"
        self._found = _kept(self._path, atlas)
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self.listeners: list[Callable[[int], None]] = []

    @property
    def complete(self) -> bool:
        return len(self._found) >= self._atlas.clusters

    def of(self, cluster: int, kind: str = "exemplars", count: int = EACH) -> np.ndarray:
        """Positions; of exemplars not chosen yet, the sure ones."""
        if kind not in KINDS:
            raise unknown("kinds of exemplars", kind, KINDS)
        if kind == "exemplars":
            if cluster in self._found:
                return self._found[cluster][:count]
            kind = "sure"
        return AT_ONCE[kind](self._atlas, self._atlas.members(cluster), count)

    def start(self) -> None:
        """Begins to choose, once; without features there is nothing to choose by."""
        with self._lock:
            if self._thread is None and not self.complete and self._features is not None:
                self._thread = threading.Thread(target=self.choose, name="exemplars", daemon=True)
                self._thread.start()

    def choose(self) -> None:
        """Chooses for all clusters, largest first, and keeps the result beside the run."""
        positions, known = placed(self._atlas.columns, self._features.image_ids)
        row = np.full(len(self._atlas), -1, np.int64)
        row[positions] = np.flatnonzero(known)
        for cluster in np.argsort(-self._atlas.sizes, kind="stable").tolist():
            if cluster not in self._found:
                self._found[cluster] = chosen(self._features, row, self._atlas.members(cluster))
                self._tell(cluster)
        _keep(self._path, self._atlas, self._found)

    def _tell(self, cluster: int) -> None:
        for listener in list(self.listeners):
            listener(cluster)


def chosen(features: FeatureSet, row: np.ndarray, members: np.ndarray, count: int = EACH) -> np.ndarray:
    """Positions of the exemplars among the members, those that stand for most first."""
    members = members[row[members] >= 0]
    if len(members) > LOOKED_AT:
        members = np.sort(np.random.default_rng(SEED).choice(members, LOOKED_AT, replace=False))
    if len(members) <= 1:
        return members
    X = np.asarray(features.X[row[members]], np.float32)
    X = X - X.mean(0)
    far = 2 * float(np.einsum("ij,ij->i", X, X).mean()) + 1e-12  # as far as two members are apart on average:
    fit = StreamGreedy(count, phantom=constant(far), random_state=SEED).fit(X)  # outliers are the phantom's affair
    stands_for = np.bincount(fit.labels_, minlength=len(fit.exemplars_))
    return members[fit.exemplars_[np.argsort(-stands_for, kind="stable")]]


def _kept(path: Path, atlas: Atlas) -> dict[int, np.ndarray]:
    """What was chosen in an earlier session: (clusters, EACH) image ids, -1 where there are fewer."""
    if not path.is_file():
        return {}
    table = np.load(path, allow_pickle=False)
    rows = {cluster: atlas.columns.positions(row[row >= 0]) for cluster, row in enumerate(table)}
    return {cluster: row for cluster, row in rows.items() if len(row) or not len(atlas.members(cluster))}


def _keep(path: Path, atlas: Atlas, found: Mapping[int, np.ndarray]) -> None:
    table = np.full((atlas.clusters, EACH), -1, np.int64)
    for cluster, positions in found.items():
        table[cluster, :len(positions)] = atlas.columns.ids[positions]
    with replacing(path) as file:
        np.save(file, table, allow_pickle=False)


def book_of(app: AppState, atlas: Atlas) -> ExemplarBook | None:
    """The book of a run, shared by all sessions; None where there is no run."""
    if atlas.run is None:
        return None
    return app.lasting.once(("exemplars", atlas.run.id, len(atlas)), lambda: ExemplarBook(app, atlas))
