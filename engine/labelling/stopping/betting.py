"""A test that at most `allowed` of the labels nobody looked at are wrong, valid after every draw.

Images are drawn without replacement, doubtful ones more often. Before each draw a stake is fixed from the forecast. The
capital multiplies by 1 + stake (allowed - wrong / probability of the draw). If more labels than allowed are wrong, the
expected capital never grows, so it exceeds 1/alpha with a probability of at most alpha (Ville's inequality). Forecast
and weights change how many draws are needed; they never make the claim false.

Wrong labels that are drawn are corrected. The claim is about the labels with these corrections.
"""

from dataclasses import dataclass

import numpy as np

from benthoscope.engine.problems import fail

LARGEST_STAKE = 0.9  # fraction of the stake at which one wrong label would take the whole capital
UNIFORM = 0.7  # fraction of every draw that is uniform, so that a wrong forecast costs little


def draw_weights(doubt: np.ndarray) -> np.ndarray:
    """Return the weights (n,) of undrawn images with this doubt, 1 minus the confidence of their label. They sum to 1
    and are never below `UNIFORM` / n."""
    root = np.sqrt(np.clip(doubt, 0.0, 1.0))
    total = root.sum()
    focused = root / total if total > 0 else np.full(len(root), 1 / len(root))
    return UNIFORM / len(root) + (1 - UNIFORM) * focused


@dataclass
class BettingTest:
    """The test of one version.

    `forecast` (n,) is the probability that each label is wrong, `allowed` the number of wrong labels in the claim.
    `start_page` sets the weights of the undrawn labels, `add` enters one answer.
    """

    forecast: np.ndarray
    allowed: float
    log_capital: float = 0.0
    stake: float = 0.0
    draws: int = 0
    wrong: int = 0

    def __post_init__(self) -> None:
        self.forecast = np.asarray(self.forecast, float)
        if self.allowed < 1:
            raise fail("final check", "fewer than one wrong label is allowed", "label more images first")
        self._undrawn = np.ones(len(self.forecast), bool)
        self._forecast_left = float(self.forecast.sum())
        self.start_page(np.ones(len(self.forecast)))

    @property
    def undrawn(self) -> np.ndarray:
        """Positions of the labels that were not drawn."""
        return np.flatnonzero(self._undrawn)

    def start_page(self, weights: np.ndarray) -> None:
        """Set the weights (n,) with which the next labels are drawn; those of drawn labels are ignored."""
        self._weights = np.where(self._undrawn, np.asarray(weights, float), np.inf)
        remaining = self._weights[self._undrawn]
        self._weight_left = float(remaining.sum())
        self._ratio_left = float((self.forecast[self._undrawn] / remaining).sum())
        self._ascending = self.undrawn[np.argsort(remaining, kind="stable")]
        self._lightest = 0

    def add(self, position: int, is_wrong: bool) -> float:
        """Enter the answer for the next drawn label. Returns the log capital."""
        if not self._undrawn[position]:
            raise fail("final check", f"label {position} was drawn already", "enter each draw once")
        self.stake = self._next_stake()
        probability = self._weights[position] / self._weight_left
        self.log_capital += float(np.log1p(self.stake * (self.allowed - (is_wrong / probability))))
        self._remove(position)
        self.draws, self.wrong = self.draws + 1, self.wrong + bool(is_wrong)
        return self.log_capital

    def holds(self, alpha: float) -> bool:
        """Return whether the claim is proven at this error probability, by the test or by counting."""
        return bool(self.log_capital >= -np.log(alpha) or self._undrawn.sum() <= self.allowed)

    def _next_stake(self) -> float:
        m, expected = self.allowed, self._forecast_left
        spread = self._ratio_left * self._weight_left - 2 * m * expected + m * m
        stake = max(0.0, (m - expected) / spread) if spread > 0 else 0.0
        longest_odds = self._weight_left / self._weights[self._ascending[self._lightest]]
        return min(stake, LARGEST_STAKE / (longest_odds - m)) if longest_odds > m else stake

    def _remove(self, position: int) -> None:
        self._undrawn[position] = False
        self._weight_left -= self._weights[position]
        self._forecast_left -= self.forecast[position]
        self._ratio_left -= self.forecast[position] / self._weights[position]
        while self._lightest < len(self._ascending) - 1 and not self._undrawn[self._ascending[self._lightest]]:
            self._lightest += 1
