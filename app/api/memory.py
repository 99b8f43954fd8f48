"""Answers kept for a moment, so that what two hundred browsers ask at once is read once."""

import threading
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

KEPT = 50_000  # answers; a few hundred bytes each


@dataclass
class Memory:
    """Safe to use from several threads."""

    clock: Callable[[], float] = time.monotonic
    _held: dict[Hashable, tuple[float, Any]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def get(self, key: Hashable) -> Any:
        """What is held and still good, or None."""
        held = self._held.get(key)
        return held[1] if held is not None and held[0] > self.clock() else None

    def keep(self, key: Hashable, value: Any, seconds: float) -> Any:
        with self._lock:
            if len(self._held) >= KEPT:
                self._held.clear()
            self._held[key] = (self.clock() + seconds, value)
        return value

    def obtain(self, key: Hashable, make: Callable[[], Any], seconds: float) -> Any:
        """What is held, or what `make` gives now."""
        held = self.get(key)
        return held if held is not None else self.keep(key, make(), seconds)
