"""Units whose rows belong to documents, and the weights of topics in documents (Gomes, ch. 3: MB-TM).

Documents may be merged into groups. The documents of a group share one distribution over topics, and a clump stores how
many of its rows each group has.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.sparse import csr_array, vstack
from scipy.special import gammaln, psi

from benthoscope.engine.distributions import Dirichlet, Weights
from benthoscope.engine.mixtures.model import Scorer
from benthoscope.engine.streaming.splitting import UnitGroups
from benthoscope.engine.streaming.units import UnitRows, Units, do_nothing

SMALLEST_ALPHA = 1e-6


@dataclass(frozen=True, eq=False)
class TopicUnits:
    """Units with the group of documents of each row: of a single row its number, of a clump a count for each group."""

    units: Units
    point_groups: np.ndarray  # (P,)
    clump_groups: np.ndarray  # (C, S) rows of each group
    documents: np.ndarray  # (S,) number of documents in each group

    @property
    def composition(self) -> csr_array:
        """Return the rows of each group in each unit (U, S)."""
        P, S = len(self.point_groups), len(self.documents)
        points = csr_array((np.ones(P), self.point_groups, np.arange(P + 1)), shape=(P, S))
        return vstack([points, csr_array(self.clump_groups.reshape(-1, S))], format="csr")

    def with_rows(self, rows: np.ndarray, groups: np.ndarray, new_groups: int) -> "TopicUnits":
        """Return the units with new rows and with new groups of one document each."""
        return TopicUnits(
            self.units.with_rows(rows),
            np.concatenate([self.point_groups, groups]),
            np.pad(self.clump_groups, ((0, 0), (0, new_groups))),
            np.concatenate([self.documents, np.ones(new_groups)]),
        )

    def regrouped(self, group_of: np.ndarray, count: int) -> "TopicUnits":
        """Return the units after groups were merged; `group_of` (S,) are the new numbers of the groups."""
        merge = np.zeros((len(group_of), count))
        merge[np.arange(len(group_of)), group_of] = 1
        return replace(
            self,
            point_groups=group_of[self.point_groups],
            clump_groups=self.clump_groups @ merge,
            documents=self.documents @ merge,
        )


class TopicRows(UnitRows):
    """The units of one round as the data of a fit, with the groups of documents as groups."""

    def __init__(self, topic_units: TopicUnits, pulse: Callable[[], None] = do_nothing):
        super().__init__(topic_units.units, pulse)
        self.documents, self.n_groups = topic_units.documents, len(topic_units.documents)
        self.composition = topic_units.composition
        self._share = csr_array(self.composition.multiply(1 / self.weights[:, None]))

    @property
    def sizes(self) -> np.ndarray:
        return np.asarray(self.composition.sum(0)).ravel()

    def log_weights(self, scorer: Scorer, block: slice) -> np.ndarray:
        if len(scorer.log_weights) == 1:
            return scorer.log_weights.T
        return (self._share[block] @ scorer.log_weights).T

    def counts(self, owned: np.ndarray, block: slice) -> np.ndarray:
        return self._share[block].T @ owned.T


@dataclass(frozen=True, eq=False)
class TiedDirichlet:
    """The weights of topics in groups of documents. The documents of a group share one Dirichlet posterior, which sees
    the mean of their counts; `documents` (S,) is their number. Without it, a group is one document."""

    alpha: np.ndarray  # (K,)
    documents: np.ndarray | None = None

    def posterior(self, counts, sizes=None, before=None) -> Weights:
        number = self._documents(counts)
        weights = Dirichlet(self.alpha).posterior(counts / number[:, None])
        return replace(weights, kl=number * weights.kl)

    def log_evidence(self, counts: np.ndarray) -> np.ndarray:
        number = self._documents(counts)
        return number * Dirichlet(self.alpha).log_evidence(counts / number[:, None])

    def _documents(self, counts: np.ndarray) -> np.ndarray:
        return np.ones(len(counts)) if self.documents is None else self.documents


@dataclass(frozen=True)
class AlphaPrior:
    """The Gamma prior of each alpha, with the shape `a` and the rate `b`."""

    a: float = 1.0
    b: float = 0.5

    def bound(self, alpha: np.ndarray) -> float:
        """Return the log prior density of all alphas, relative to topics that are not used, which have alpha at the
        mode of the prior."""
        return float(((self.a - 1) * np.log(alpha) - self.b * alpha).sum() - len(alpha) * self._at_mode())

    def _at_mode(self) -> float:
        return (self.a - 1) * (np.log((self.a - 1) / self.b) - 1) if self.a > 1 else 0.0

    def updated(self, alpha: np.ndarray, counts: np.ndarray, documents: np.ndarray) -> np.ndarray:
        """Return alpha after one step of its fixed point, for counts (S, K)."""
        zeta = alpha + counts / documents[:, None]
        step = documents @ (psi(zeta) - psi(alpha))
        rate = self.b + documents @ (psi(zeta.sum(1)) - psi(alpha.sum()))
        return np.maximum((self.a - 1 + alpha * step) / rate, SMALLEST_ALPHA)


@dataclass(eq=False)
class DocumentWeights:
    """The weights of two topics that one topic is split into: every group of documents has its own.

    `rate` (U,) is alpha per row of the topic of each unit. The halves of a split share alpha by their rows.
    """

    rows: TopicRows
    rate: np.ndarray
    magnification: float = 1.0
    _last: tuple | None = field(default=None, repr=False)  # the composition of the last groups

    def contrast(self, groups: UnitGroups, share: np.ndarray) -> np.ndarray:
        alpha, counts = self._halves(groups, share)
        zeta = alpha[:, :, None] + counts / self.rows.documents
        difference = psi(zeta[:, 1]) - psi(zeta[:, 0])
        unit, group, rows = self._entries(groups)
        values = rows * difference[groups.group[unit], group]
        return np.bincount(unit, values, minlength=len(groups.members)) / groups.weights

    def gain(self, groups: UnitGroups, share: np.ndarray) -> np.ndarray:
        alpha, counts = self._halves(groups, share)
        worth_of_halves = sum(document_worth(alpha[:, half], counts[:, half], self.rows.documents) for half in (0, 1))
        return self.magnification * (worth_of_halves - document_worth(alpha.sum(1), counts.sum(1), self.rows.documents))

    def _halves(self, groups: UnitGroups, share: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return alpha (P, 2) and the counts of the groups of documents (P, 2, S) of both halves."""
        unit, group, rows = self._entries(groups)
        S = len(self.rows.documents)
        flat = groups.group[unit] * S + group
        total, second = (
            np.bincount(flat, values, minlength=groups.count * S).reshape(groups.count, S)
            for values in (rows, rows * share[unit])
        )
        counts = np.stack([np.maximum(total - second, 0.0), second], axis=1)
        first_member = groups.members[np.searchsorted(groups.group, np.arange(groups.count))]
        alpha = np.maximum(self.rate[first_member][:, None] * counts.sum(2), SMALLEST_ALPHA)
        return alpha, counts

    def _entries(self, groups: UnitGroups) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return (position among the members, group of documents, rows) of all entries of the composition."""
        if self._last is None or self._last[0] is not groups:
            entries = self.rows.composition[groups.members].tocoo()
            self._last = groups, (entries.row, entries.col, entries.data)
        return self._last[1]


def document_worth(alpha: np.ndarray, counts: np.ndarray, documents: np.ndarray) -> np.ndarray:
    """Return what topics with these alphas (P,) and counts (P, S) add to the log probability of their documents."""
    per_document = gammaln(alpha[:, None] + counts / documents) - gammaln(alpha)[:, None]
    return per_document @ documents
