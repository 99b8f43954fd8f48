"""How often somebody may ask: a bucket of permits for each caller, filled again at a steady rate."""

import threading
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

KEPT = 20_000  # callers remembered; beyond, the half that has been quiet longest is forgotten


@dataclass(frozen=True)
class Rate:
    burst: float
    per_second: float


@dataclass
class Permits:
    """Safe to use from several threads."""

    clock: Callable[[], float] = time.monotonic
    _held: dict[Hashable, tuple[float, float]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def wait(self, caller: Hashable, rate: Rate) -> float:
        """Takes a permit: 0; or the seconds until there is one."""
        with self._lock:
            now = self.clock()
            left, at = self._held.get(caller, (rate.burst, now))
            left = min(rate.burst, left + (now - at) * rate.per_second)
            if left < 1:
                return (1 - left) / rate.per_second
            self._held[caller] = (left - 1, now)
            if len(self._held) > KEPT:
                self._forget()
            return 0.0

    def _forget(self) -> None:
        oldest = sorted(self._held, key=lambda caller: self._held[caller][1])[: KEPT // 2]
        for caller in oldest:
            del self._held[caller]
